"""Tasks hand columns over to Spark, or rows: the same answers either way, and no memory of Arrow is left behind."""

from __future__ import annotations

import datetime as dt
import logging
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from indextables import Table
from indextables.core.errors import IndexTablesError
from indextables.spark.connector import classes
from spark.conftest import MASTER
from spark.support import executed_plan, java

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(
        not MASTER.startswith("local["), reason="executors have no class of ours, so tasks hand rows over"
    ),
]

SCHEMA = pa.schema(
    [
        ("part", pa.string()),
        ("id", pa.int64()),
        ("flag", pa.bool_()),
        ("tiny", pa.int8()),
        ("small", pa.int16()),
        ("whole", pa.int32()),
        ("single", pa.float32()),
        ("double", pa.float64()),
        ("price", pa.decimal128(7, 2)),
        ("huge", pa.decimal128(38, 3)),
        ("word", pa.string()),
        ("raw", pa.binary()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("wall", pa.timestamp("us")),
        ("list", pa.list_(pa.int64())),
    ]
)
FLAT = [name for name in SCHEMA.names if name != "list"]
ROWS = 150_000
"""Rows of a split: more than a batch has, so that batches follow each other in one task."""
LOCAL = "spark.indextables.read.local.enabled"
COLUMNAR = "spark.indextables.read.columnar.enabled"


def rows(first: int, count: int) -> pa.Table:
    """Rows whose values follow from their numbers; every seventh value of a column is null, at other rows for each column."""
    numbers = range(first, first + count)
    start = dt.datetime(2024, 1, 30, 12)  # noqa: DTZ001 - on a wall

    def column(place: int, value: Callable[[int], Any]) -> list[Any]:
        return [None if (number + place) % 7 == 0 else value(number) for number in numbers]

    values: list[list[Any]] = [
        [f"p{number % 3}" for number in numbers],
        list(numbers),
        column(2, lambda n: n % 2 == 0),
        column(3, lambda n: n % 256 - 128),
        column(4, lambda n: n % 65_536 - 32_768),
        column(5, lambda n: n * 7 - 2**31),
        column(6, lambda n: n / 4),
        column(7, lambda n: -n / 3),
        column(8, lambda n: Decimal(n % 1_000_000) / 100),
        column(9, lambda n: Decimal(n) * 10**30 / 1000),
        column(10, lambda n: f"é{n % 1000:03}" * (n % 3)),
        column(11, lambda n: bytes([n % 256]) * (n % 5)),
        column(12, lambda n: dt.date(1900, 1, 1) + dt.timedelta(days=n % 90_000)),
        column(13, lambda n: (start + dt.timedelta(seconds=n)).replace(tzinfo=dt.UTC)),
        column(14, lambda n: start - dt.timedelta(microseconds=n)),
        column(15, lambda n: [n, None] if n % 2 else []),
    ]
    return pa.table([pa.array(value, kind) for value, kind in zip(values, SCHEMA.types, strict=True)], schema=SCHEMA)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    table = Table.create(tmp_path_factory.mktemp("columnar") / "table", SCHEMA, partition_by=["part"])
    table.append(rows(0, ROWS))
    table.append(rows(ROWS, 1_000))
    return table.url


KEPT: dict[str, int] = {}
"""Bytes of Arrow that other tests had left in the driver before the first test of this module."""


@pytest.fixture(scope="module", autouse=True)
def before(spark: SparkSession) -> None:
    KEPT["before"] = arrow_memory(spark)


def loaded(spark: SparkSession, url: str, columnar: bool) -> DataFrame:
    options = {LOCAL: "false", COLUMNAR: str(columnar).lower()}
    return spark.read.format("indextables").options(**options).load(url)


def arrow_memory(spark: SparkSession) -> int:
    """Bytes of Arrow that the driver, where the tasks ran, has not released."""
    return int(java(spark)[0].org.apache.spark.sql.util.ArrowUtils.rootAllocator().getAllocatedMemory())


def both(spark: SparkSession, url: str, ask: Callable[[DataFrame], DataFrame]) -> list[Any]:
    """The answer by columns, after it was compared with the answer by rows."""
    columns, plain = ask(loaded(spark, url, True)), ask(loaded(spark, url, False))
    found: list[Any] = columns.collect()
    assert found == plain.collect()
    assert "ColumnarToRow" in executed_plan(columns)  # adaptive execution decides while the query runs
    assert "ColumnarToRow" not in executed_plan(plain)
    assert arrow_memory(spark) <= KEPT.get("before", 0)
    return found


QUESTIONS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "every flat type": lambda df: df.select(*FLAT).where("id % 50 = 0").orderBy("id"),
    "digests of all values": lambda df: df.select(sql.expr(f"sum(xxhash64({', '.join(FLAT)}) % 1000003)")),
    "texts that are kept": lambda df: df.groupBy(sql.expr("id % 3")).agg(
        sql.max("word"), sql.min("word"), sql.max_by("word", "id"), sql.max("raw"), sql.max("huge")
    ),
    "one text that is kept": lambda df: df.where("id % 2 = 0").agg(sql.max_by("word", "id"), sql.min_by("raw", "id")),
    "no columns": lambda df: df.selectExpr("7 AS seven").groupBy("seven").agg(sql.sum("seven")),
    "a sort": lambda df: df.select("word", "id").orderBy(sql.desc("word"), "id").limit(500),
    "a window": lambda df: df.where("id % 100 = 1").selectExpr(
        "id", "lag(word) OVER (PARTITION BY id % 5 ORDER BY id) AS before"
    ),
    "distinct": lambda df: df.select("word").distinct().orderBy("word"),
    "a join with itself": lambda df: (
        df.select("id", "word")
        .join(df.selectExpr("id + 140000 AS id", "word AS other"), "id")
        .agg(sql.count("other"), sql.sum("id"), sql.max("other"))
    ),
    "a union": lambda df: df.select("id").union(df.selectExpr("id + 1")).agg(sql.sum("id")),
    "several tasks in one": lambda df: df.select("id", "word").coalesce(1).selectExpr("sum(id)", "max(word)"),
    "by partition": lambda df: df.groupBy("part").agg(sql.sum("id"), sql.max_by("word", "id")).orderBy("part"),
    "a function of Python": lambda df: df.where("id % 1000 = 3").select(
        sql.udf(lambda word, day: f"{word} {day}", "string")("word", "day").alias("said"), "id"
    ),
}


def test_columns_beside_a_function_of_pandas(spark: SparkSession, url: str) -> None:
    """Spark keeps columns of Arrow beside batches that a function has not answered yet, so they must not be filled again."""

    def double(numbers: pd.Series) -> pd.Series:
        return numbers * 2

    doubled: Any = sql.pandas_udf(double, "bigint")
    df = loaded(spark, url, True).select("id", "word", doubled("id").alias("twice")).where("twice >= 0")
    wrong = df.where("twice <> 2 * id OR (word IS NULL) <> ((id + 10) % 7 = 0) OR length(word) <> 4 * (id % 3)")
    assert wrong.count() == 0
    assert df.agg(sql.count("id"), sql.countDistinct("id")).collect() == [(ROWS + 1_000, ROWS + 1_000)]
    assert arrow_memory(spark) <= KEPT.get("before", 0)


@pytest.mark.parametrize("name", QUESTIONS)
def test_columns_and_rows_say_the_same(spark: SparkSession, url: str, name: str) -> None:
    assert both(spark, url, lambda df: QUESTIONS[name](df.repartition(1) if name == "a window" else df))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sql.codegen.wholeStage", "false"),
        ("spark.sql.adaptive.enabled", "true"),
        pytest.param(
            "spark.sql.execution.arrow.maxRecordsPerOutputBatch",
            "1000",
            marks=pytest.mark.skipif(
                pyspark.__version__ < "4.3",
                reason="Spark 4.2 fails to cut the batches of Python sources, rows or columns",
            ),
        ),
        ("spark.sql.execution.arrow.useLargeVarTypes", "true"),
        ("spark.sql.session.timeZone", "America/New_York"),
    ],
)
def test_however_the_session_is_set(
    spark: SparkSession, url: str, setting: Callable[[str, str], None], key: str, value: str
) -> None:
    setting(key, value)
    found = both(spark, url, lambda df: df.select(*FLAT).where("id % 9000 = 0").orderBy("id"))
    assert [row.id for row in found] == list(range(0, ROWS + 1_000, 9_000))


def test_a_cached_frame(spark: SparkSession, url: str) -> None:
    kept = loaded(spark, url, True).select("id", "word", "price").cache()
    try:
        assert kept.count() == ROWS + 1_000
        plain = loaded(spark, url, False).select("id", "word", "price")
        digest = "sum(xxhash64(id, word, price) % 1000003)"
        assert kept.selectExpr(digest).collect() == plain.selectExpr(digest).collect()
    finally:
        kept.unpersist(blocking=True)
    assert arrow_memory(spark) <= KEPT.get("before", 0)


def test_a_task_that_is_ended_early(spark: SparkSession, url: str) -> None:
    df = loaded(spark, url, True).select("id", "word")
    assert len(df.where("id % 3 > 0").take(5)) == 5
    assert df.where("length(word) % 2 = 0").limit(7).agg(sql.count("id")).first()[0] == 7
    assert arrow_memory(spark) <= KEPT.get("before", 0)


def test_texts_with_a_collation(spark: SparkSession, tmp_path: Path) -> None:
    spark.createDataFrame([("A", 1), ("b", 2), ("a", 3)], "name string COLLATE UTF8_LCASE, id long").write.format(
        "indextables"
    ).save(str(tmp_path / "t"))
    frame = loaded(spark, str(tmp_path / "t"), True)
    assert "ColumnarToRow" in executed_plan(frame)
    assert sorted(frame.selectExpr("count(name)", "count(DISTINCT name)").collect()) == [(3, 2)]
    assert frame.where("name = 'a' AND id + 0 > 1").collect() == [("a", 3)]


def test_nested_columns_are_rows(spark: SparkSession, url: str) -> None:
    df = loaded(spark, url, True)
    assert "ColumnarToRow" not in executed_plan(df)
    found = df.select("id", "list").where("id % 10000 = 1").orderBy("id")
    assert "ColumnarToRow" not in executed_plan(found)
    assert [row.list for row in found.collect()] == [
        [n, None] if (n + 15) % 7 else None for n in range(1, ROWS + 1_000, 10_000)
    ]


def test_the_option_of_a_session(spark: SparkSession, url: str, setting: Callable[[str, str], None]) -> None:
    setting(COLUMNAR, "false")
    df = spark.read.format("indextables").option(LOCAL, "false").load(url).select("id")
    assert "ColumnarToRow" not in executed_plan(df)


@pytest.mark.parametrize("columnar", [True, False])
def test_an_error_is_one_line(spark: SparkSession, tmp_path: Path, columnar: bool) -> None:
    table = Table.create(tmp_path / "damaged", SCHEMA)
    table.append(rows(0, 100))
    [split] = tmp_path.rglob("*.split")
    split.write_bytes(b"\0" * split.stat().st_size)
    with pytest.raises(PySparkException) as caught:
        loaded(spark, table.url, columnar).select("id", "word").collect()
    intro, line = (line for line in str(caught.value).splitlines() if line.strip())  # all of it
    who = "while the driver read a task" if columnar else "from the Python worker"
    assert intro.strip() == f"An exception was thrown {who}:"
    assert re.match(r"indextables\.(core\.)?errors\.(SplitError|CorruptSplit): \S+\.split is damaged: ", line), line
    assert arrow_memory(spark) <= KEPT.get("before", 0)


def test_a_spark_without_a_class_does_without(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[set[str]] = []

    def compiled(_jvm: Any, _gateway: Any, _loader: Any, text: dict[str, str]) -> dict[str, bytes]:
        asked.append(set(text))
        if "AnswerScan.java" in text:
            raise IndexTablesError("the connector does not compile for this Spark: no LocalTableScanExec")
        return {"indextables/Python.class": b"x"}

    monkeypatch.setattr(classes, "compile_sources", compiled)
    with caplog.at_level(logging.WARNING):
        assert classes.compiled_for(None, None, None, classes.sources()) == {"indextables/Python.class": b"x"}
    assert asked[0] - asked[1] == set(classes.OPTIONAL) == {"AnswerScan.java"}
    assert asked[2] - asked[1] == {"AnswerScan.java"}
    assert "explain() shows the driver's answers in the optimized plan alone" in caplog.text
    assert "no LocalTableScanExec" in caplog.text


def test_the_connector_compiles_without_the_classes(spark: SparkSession) -> None:
    jvm, gateway = java(spark)
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader().getParent()  # Spark alone
    needed = {name: text for name, text in classes.sources().items() if name not in classes.OPTIONAL}
    made = classes.compile_sources(jvm, gateway, loader, needed)
    assert "indextables/Columns.class" in made
    assert "indextables/AnswerScan.class" not in made
