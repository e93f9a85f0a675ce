"""Spark's filters as ours: every kind of them, and those that stay with Spark."""

from __future__ import annotations

import base64
import datetime as dt
import json
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from indextables.core.predicate import to_sql
from indextables.core.types import spark_json_to_arrow
from indextables.spark import write
from indextables.spark.connector.planning.filters import answer_tree
from indextables.table.distributed.filter_answers import UNSUPPORTED, Exactness
from spark.support import executed_plan

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("ratio", pa.float64()),
        ("flag", pa.bool_()),
        ("word", pa.string()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("wall", pa.timestamp("us")),
        ("price", pa.decimal128(7, 2)),
        ("raw", pa.binary()),
        ("s", pa.struct([("a", pa.int32())])),
        ("list", pa.list_(pa.int64())),
    ]
)
NOON = int(dt.datetime(2024, 1, 2, 12, tzinfo=dt.UTC).timestamp()) * 1_000_000
"""Noon of a day, in microseconds."""
DAY = dt.date(2024, 1, 2).toordinal() - dt.date(1970, 1, 1).toordinal()


def told(operator: str, *arguments: Any) -> dict[str, Any]:
    """An expression, as `Trees.java` writes it."""
    return {"operator": operator, "arguments": list(arguments)}


def column(*path: str) -> dict[str, Any]:
    return {"column": list(path)}


def value(kind: str, text: Any) -> dict[str, Any]:
    return {"type": json.dumps(kind), "value": None if text is None else str(text)}


def seven(operator: str = "=") -> dict[str, Any]:
    return told(operator, column("id"), value("long", 7))


WORDS = [value("string", "a"), value("string", "b")]
TAKEN: list[tuple[dict[str, Any], str]] = [
    (seven(), "`id` = 7"),
    (seven("<=>"), "`id` <=> 7"),
    (seven("<>"), "NOT `id` = 7"),
    (told(">", column("ratio"), value("double", 0.5)), "`ratio` > 0.5D"),
    (told("<", value("double", 0.5), column("ratio")), "`ratio` > 0.5D"),
    (told(">=", column("price"), value("decimal(7,2)", "1.50")), "`price` >= 1.50"),
    (told("<", column("day"), value("date", DAY)), "`day` < DATE '2024-01-02'"),
    (told("<=", column("wall"), value("timestamp_ntz", NOON)), "`wall` <= TIMESTAMP_NTZ '2024-01-02 12:00:00.000000'"),
    (told("=", column("at"), value("timestamp", NOON)), "`at` = TIMESTAMP '2024-01-02 12:00:00.000000Z'"),
    (told("IN", column("word"), *WORDS), "`word` IN ('a', 'b')"),
    (told("IN", column("id"), value("long", 1), value("long", None)), "`id` IN (1, NULL)"),
    (told("IS_NULL", column("list")), "`list` IS NULL"),
    (told("IS_NOT_NULL", column("s", "a")), "`s`.`a` IS NOT NULL"),
    (told("=", column("s", "a"), value("integer", 3)), "`s`.`a` = 3"),
    (told("=", column("raw"), value("binary", base64.b64encode(b"\x01").decode())), "`raw` = X'01'"),
    (told("=", column("flag"), value("boolean", "true")), "`flag` = TRUE"),
    (told("BOOLEAN_EXPRESSION", column("flag")), "`flag` = TRUE"),
    (told("STARTS_WITH", column("word"), value("string", "a%_\\")), "`word` LIKE 'a\\\\%\\\\_\\\\\\\\%'"),
    (told("ENDS_WITH", column("word"), value("string", "z")), "`word` LIKE '%z'"),
    (told("CONTAINS", column("word"), value("string", "m")), "`word` LIKE '%m%'"),
    (told("NOT", seven()), "NOT `id` = 7"),
    (told("NOT", told("IN", column("word"), *WORDS)), "NOT `word` IN ('a', 'b')"),
    (told("AND", seven(">"), seven("<")), "`id` > 7 AND `id` < 7"),
    (told("OR", seven(">"), told("AND", seven("<"), seven())), "`id` > 7 OR (`id` < 7 AND `id` = 7)"),
    (told("ALWAYS_TRUE"), "TRUE"),
    (told("ALWAYS_FALSE"), "FALSE"),
]
NOWHERE = told("=", column("nowhere"), value("long", 1))
LEFT: list[dict[str, Any]] = [
    NOWHERE,
    told("=", column("s", "b"), value("long", 1)),
    told("=", column("id"), value("string", "7")),
    told("=", column("id"), value("boolean", "true")),
    told("=", column("flag"), value("integer", 1)),
    told("=", column("wall"), value("timestamp", NOON)),
    told("=", column("at"), value("timestamp_ntz", NOON)),
    told("=", column("at"), value("timestamp", 2**62)),
    told("=", column("day"), value("timestamp_ntz", NOON)),
    told("=", column("day"), value("date", 2**30)),
    told("IN", column("id"), value("long", 1), value("string", "2")),
    told("=", column("list"), value("binary", "")),
    told("=", column("id"), column("id")),
    told("=", told("UPPER", column("word")), value("string", "A")),
    told("CONTAINS", column("raw"), value("string", "a")),
    told("NOT", NOWHERE),
    told("OR", seven(), NOWHERE),
    told("NOT", told("AND", seven(), NOWHERE)),
    told("RLIKE", column("word"), value("string", "a")),
]


@pytest.mark.parametrize(("given", "text"), TAKEN, ids=[text for _, text in TAKEN])
def test_taken(given: dict[str, Any], text: str) -> None:
    answer = answer_tree(given, SCHEMA)
    assert answer.predicate is not None
    assert to_sql(answer.predicate) == text
    assert answer.exactness is Exactness.EXACT


@pytest.mark.parametrize("given", LEFT, ids=repr)
def test_left_to_spark(given: dict[str, Any]) -> None:
    assert answer_tree(given, SCHEMA) == UNSUPPORTED


def test_half_of_a_conjunction_is_applied_and_spark_applies_it_again() -> None:
    answer = answer_tree(told("AND", seven(), NOWHERE), SCHEMA)
    assert (to_sql(answer.predicate), answer.exactness) == ("`id` = 7", Exactness.INEXACT)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "kind", ["string collate UNICODE_CI", "char(5)", "interval year to month", "interval day to second", "time(6)"]
)
def test_types_that_only_spark_compares(kind: str) -> None:
    collated = kind.startswith("string")
    metadata: dict[str, Any] = {"__COLLATIONS": {"c": "icu.UNICODE_CI"}} if collated else {}
    field = {"name": "c", "type": "string" if collated else kind, "nullable": True, "metadata": metadata}
    schema = spark_json_to_arrow(json.dumps({"type": "struct", "fields": [field]}))
    number = kind.startswith(("interval", "time"))
    given = value(kind if number else "string", 3 if number else "a")
    assert answer_tree(told("=", column("c"), given), schema) == UNSUPPORTED
    assert to_sql(answer_tree(told("IS_NULL", column("c")), schema).predicate) == "`c` IS NULL"  # type: ignore[arg-type]


def test_what_reaches_the_source(spark: SparkSession, url: str) -> None:
    """One question with each kind of filters: nothing is left for Spark to filter, and the rows are right."""
    write(spark.sql("SELECT id, concat('w', id % 10) AS word, IF(id = 3, NULL, id / 4) AS ratio FROM range(100)"), url)
    df = (
        spark.read.format("indextables")
        .load(url)
        .where(
            "id >= 10 AND id <= 90 AND id > 11 AND id < 89 AND id <> 50 AND ratio IS NOT NULL AND word IN ('w1', 'w2', 'w5') "
            "AND word LIKE 'w%' AND word LIKE '%2' AND word LIKE '%2%' AND NOT (word = 'w7') AND ratio <=> 15.5D"
        )
    )
    plan = executed_plan(df)
    assert "Filter (" not in plan, plan
    assert "LocalTableScan" in plan, "few rows need no job"
    assert [row.id for row in df.collect()] == [62]


def test_what_spark_compares_by_its_own_rules_is_left_to_it(spark: SparkSession, url: str) -> None:
    write(
        spark.sql(
            "SELECT id, element_at(array('a', 'A', 'b'), CAST(id AS INT)) COLLATE UTF8_LCASE AS c FROM range(1, 4)"
        ),
        url,
    )
    df = spark.read.format("indextables").load(url)
    assert sorted(row.id for row in df.where("c = 'A'").collect()) == [1, 2]


@pytest.mark.parametrize(
    "condition", ["raw = CAST(NULL AS BINARY)", "raw IN (X'01', NULL)", "raw <=> NULL", "NOT raw IN (X'02', NULL)"]
)
def test_nulls_that_an_older_spark_fails_to_print(spark: SparkSession, url: str, condition: str) -> None:
    rows = spark.sql("SELECT id, IF(id = 3, NULL, unhex(concat('0', id))) AS raw FROM VALUES (1), (2), (3) AS t(id)")
    write(rows, url)
    rows.createOrReplaceTempView("v")
    spark.read.format("indextables").load(url).createOrReplaceTempView("ours")
    for where in (condition, f"id < 9 OR {condition}", f"id < 2 OR {condition}"):
        own, theirs = (
            spark.sql(f"SELECT id FROM {name} WHERE {where} ORDER BY id").collect() for name in ("ours", "v")
        )
        assert own == theirs, where
