"""Spark's filters as ours: every class of them, and those that stay with Spark."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import datasource as ds

from indextables.core.predicate import to_sql
from indextables.core.types import spark_json_to_arrow
from indextables.spark import write
from indextables.spark.filters import as_predicate

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
NOON = dt.datetime(2024, 1, 2, 12)  # noqa: DTZ001 - on a wall
TAKEN: list[tuple[ds.Filter, str]] = [
    (ds.EqualTo(("id",), 7), "`id` = 7"),
    (ds.EqualNullSafe(("id",), 7), "`id` <=> 7"),
    (ds.GreaterThan(("ratio",), 0.5), "`ratio` > 0.5D"),
    (ds.GreaterThanOrEqual(("price",), Decimal("1.50")), "`price` >= 1.50"),
    (ds.LessThan(("day",), dt.date(2024, 1, 2)), "`day` < DATE '2024-01-02'"),
    (ds.LessThanOrEqual(("wall",), NOON), "`wall` <= TIMESTAMP_NTZ '2024-01-02 12:00:00.000000'"),
    (ds.EqualTo(("at",), NOON.replace(tzinfo=dt.UTC)), "`at` = TIMESTAMP '2024-01-02 12:00:00.000000Z'"),
    (ds.In(("word",), ("a", "b")), "`word` IN ('a', 'b')"),
    (ds.In(("id",), (1, None)), "`id` IN (1, NULL)"),
    (ds.IsNull(("list",)), "`list` IS NULL"),
    (ds.IsNotNull(("s", "a")), "`s`.`a` IS NOT NULL"),
    (ds.EqualTo(("s", "a"), 3), "`s`.`a` = 3"),
    (ds.EqualTo(("raw",), b"\x01"), "`raw` = X'01'"),
    (ds.EqualTo(("flag",), True), "`flag` = TRUE"),
    (ds.StringStartsWith(("word",), "a%_\\"), "`word` LIKE 'a\\\\%\\\\_\\\\\\\\%'"),
    (ds.StringEndsWith(("word",), "z"), "`word` LIKE '%z'"),
    (ds.StringContains(("word",), "m"), "`word` LIKE '%m%'"),
    (ds.Not(ds.EqualTo(("id",), 7)), "NOT `id` = 7"),
    (ds.Not(ds.In(("word",), ("a", "b"))), "NOT `word` IN ('a', 'b')"),
]
LEFT: list[ds.Filter] = [
    ds.EqualTo(("nowhere",), 1),
    ds.EqualTo(("s", "b"), 1),
    ds.EqualTo(("id",), "7"),
    ds.EqualTo(("id",), True),
    ds.EqualTo(("flag",), 1),
    ds.EqualTo(("wall",), NOON.replace(tzinfo=dt.UTC)),
    ds.EqualTo(("at",), NOON),
    ds.EqualTo(("day",), NOON),
    ds.In(("id",), (1, "2")),
    ds.EqualTo(("list",), [1]),
    ds.GreaterThan(("s",), {"a": 1}),
    ds.StringContains(("raw",), "a"),
    ds.Not(ds.EqualTo(("nowhere",), 1)),
]


@pytest.mark.parametrize(("given", "text"), TAKEN, ids=[text for _, text in TAKEN])
def test_taken(given: ds.Filter, text: str) -> None:
    predicate = as_predicate(given, SCHEMA)
    assert predicate is not None
    assert to_sql(predicate) == text


def test_every_class_of_filters_is_taken() -> None:
    known = {kind for kind in vars(ds).values() if isinstance(kind, type) and issubclass(kind, ds.Filter)}
    assert {type(given) for given, _ in TAKEN} == known - {ds.Filter}


@pytest.mark.parametrize("given", LEFT, ids=repr)
def test_left_to_spark(given: ds.Filter) -> None:
    assert as_predicate(given, SCHEMA) is None


@pytest.mark.parametrize(
    "kind", ["string collate UNICODE_CI", "char(5)", "interval year to month", "interval day to second", "time(6)"]
)
def test_types_that_only_spark_compares(kind: str) -> None:
    collated = kind.startswith("string")
    metadata: dict[str, Any] = {"__COLLATIONS": {"c": "icu.UNICODE_CI"}} if collated else {}
    field = {"name": "c", "type": "string" if collated else kind, "nullable": True, "metadata": metadata}
    schema = spark_json_to_arrow(json.dumps({"type": "struct", "fields": [field]}))
    value = {"interval year to month": 3, "interval day to second": dt.timedelta(1), "time(6)": dt.time(1)}.get(
        kind, "a"
    )
    assert as_predicate(ds.EqualTo(("c",), value), schema) is None
    assert to_sql(as_predicate(ds.IsNull(("c",)), schema)) == "`c` IS NULL"  # type: ignore[arg-type]


def test_what_reaches_the_source(spark: SparkSession, url: str) -> None:
    """One question with each class of filters: nothing is left for Spark to filter, and the rows are right."""
    write(spark.sql("SELECT id, concat('w', id % 10) AS word, IF(id = 3, NULL, id / 4) AS ratio FROM range(100)"), url)
    source = spark.read.format("indextables").option("pushFilters", "true")
    df = source.load(url).where(
        "id >= 10 AND id <= 90 AND id > 11 AND id < 89 AND id <> 50 AND ratio IS NOT NULL AND word IN ('w1', 'w2', 'w5') "
        "AND word LIKE 'w%' AND word LIKE '%2' AND word LIKE '%2%' AND NOT (word = 'w7') AND ratio <=> 15.5D"
    )
    plan = df._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    assert "Filter (" not in plan, plan
    assert [row.id for row in df.collect()] == [62]


def test_what_spark_compares_by_its_own_rules_is_left_to_it(spark: SparkSession, url: str) -> None:
    write(
        spark.sql(
            "SELECT id, element_at(array('a', 'A', 'b'), CAST(id AS INT)) COLLATE UTF8_LCASE AS c FROM range(1, 4)"
        ),
        url,
    )
    df = spark.read.format("indextables").option("pushFilters", "true").load(url)
    assert sorted(row.id for row in df.where("c = 'A'").collect()) == [1, 2]
