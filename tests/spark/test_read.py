"""Reading a table as a DataFrame: columns, versions, limits, scores, and what a DataFrame remembers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from indextables import Table
from indextables.spark.session import PUSH_DOWN

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("day", pa.date32()), ("id", pa.int64()), ("level", pa.string()), ("message", pa.string())])
TEXT = {"spark.indextables.indexing.typemap.message": "text"}
ROWS = 100


def rows_of(day: int) -> pa.Table:
    return pa.table(
        [
            pa.array([dt.date(2026, 1, day)] * ROWS),
            pa.array(range(day * ROWS, day * ROWS + ROWS), pa.int64()),
            ["ERROR" if number % 10 == 0 else "INFO" for number in range(ROWS)],
            [f"disk {number} is full" for number in range(ROWS)],
        ],
        schema=SCHEMA,
    )


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three days, each a version and a split of its own."""
    url = str(tmp_path_factory.mktemp("read") / "logs")
    table = Table.create(url, SCHEMA, partition_by=["day"], options=TEXT)
    for day in (1, 2, 3):
        table.append(rows_of(day))
    return url


def load(spark: SparkSession, url: str, **options: Any) -> DataFrame:
    return spark.read.format("indextables").options(**options).load(url)


def ids(df: DataFrame) -> list[int]:
    return [row.id for row in df.select("id").collect()]


def test_all_rows_in_the_order_of_the_files(spark: SparkSession, logs: str) -> None:
    df = load(spark, logs)
    assert df.columns == SCHEMA.names
    assert ids(df) == list(range(100, 400))
    assert df.where("id = 205").collect() == [(dt.date(2026, 1, 2), 205, "INFO", "disk 5 is full")]


def test_a_dataframe_can_be_asked_again_whatever_it_was_asked_before(spark: SparkSession, logs: str) -> None:
    """Spark keeps the plan of a Python source's last question for the next one, filters included."""
    df = load(spark, logs)
    assert ids(df.where("id = 150")) == [150]
    assert df.count() == 300
    assert sorted(ids(df.where("id = 150").union(df.where("id = 250")))) == [150, 250]
    other = df.where("id = 350").select(df.id.alias("other"))
    assert df.where("id = 150").join(other).select("id", "other").collect() == [(150, 350)]
    df.createOrReplaceTempView("asked_again")
    assert spark.sql("SELECT count(*) FROM asked_again WHERE level = 'ERROR'").first()[0] == 30
    assert spark.sql("SELECT count(*) FROM asked_again").first()[0] == 300


@pytest.mark.parametrize("push_down", ["true", "false"])
def test_filters_are_pushed_where_the_dataframe_is_asked_once(
    spark: SparkSession, logs: str, setting: Callable[[str, str], None], push_down: str
) -> None:
    setting(PUSH_DOWN, push_down)
    df = load(spark, logs, pushFilters="true").where("level = 'ERROR' AND id > 350 AND id % 20 = 0")
    plan = df._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    assert ("Filter" in plan) is True, "the remainder is Spark's"
    assert ("level" in plan.split("BatchScan")[0].split("Filter")[1]) is (push_down == "false")
    assert ids(df) == [360, 380]


def test_what_an_option_selects(spark: SparkSession, logs: str) -> None:
    assert ids(load(spark, logs, where="level = 'ERROR' AND day = DATE '2026-01-02'")) == list(range(200, 300, 10))
    assert ids(load(spark, logs, query="message:7")) == [107, 207, 307]
    assert ids(load(spark, logs, query="message:(7 OR 8)", where="id < 200")) == [107, 108]
    assert ids(load(spark, logs, query='message:"disk 7"').where("id > 200")) == [207, 307]


def test_columns_by_option_and_by_schema(spark: SparkSession, logs: str) -> None:
    df = load(spark, logs, columns="MESSAGE, id", where="id = 101")
    assert df.columns == ["message", "id"]
    assert df.collect() == [("disk 1 is full", 101)]
    by_schema = spark.read.format("indextables").schema("level STRING, id BIGINT").load(logs)
    assert by_schema.where("id = 110").collect() == [("ERROR", 110)]
    assert load(spark, logs).select("level").distinct().count() == 2


def test_older_versions(spark: SparkSession, logs: str) -> None:
    assert load(spark, logs, versionAsOf=1).count() == 100
    assert load(spark, logs, versionAsOf="0").count() == 0
    history = Table.open(logs).history().to_pylist()
    second = next(commit["timestamp"] for commit in history if commit["version"] == 2)
    assert load(spark, logs, timestampAsOf=second.isoformat()).count() == 200
    assert load(spark, logs, timestampAsOf="2199-01-01").count() == 300


def test_the_version_is_pinned_when_it_is_loaded(spark: SparkSession, url: str) -> None:
    table = Table.create(url, SCHEMA, partition_by=["day"], options=TEXT)
    table.append(rows_of(1))
    df = load(spark, url)
    assert df.count() == 100
    table.append(rows_of(2))
    assert df.count() == 100, "a DataFrame is one version"
    assert df.where("id >= 200").count() == 0
    assert df.join(df.select("id"), "id").count() == 100
    assert load(spark, url).count() == 200


def test_a_limit(spark: SparkSession, logs: str) -> None:
    assert ids(load(spark, logs, limit=105)) == list(range(100, 205))
    assert load(spark, logs, limit=0).count() == 0
    assert ids(load(spark, logs, limit=3, query="message:7")) == [107, 207, 307]
    limited = load(spark, logs, limit=2, query="message:7", pushFilters="true")
    assert ids(limited.where("id > 200")) == [207], "the limit comes first"


def test_scores(spark: SparkSession, logs: str) -> None:
    df = load(spark, logs, query="message:7", score="true", columns="id")
    assert df.columns == ["id", "_score"]
    found = {row.id: row["_score"] for row in df.collect()}
    embedded = Table.open(logs).search("message:7", columns=["id"]).to_pylist()
    assert found == {row["id"]: pytest.approx(row["_score"]) for row in embedded}
    best = load(spark, logs, query="message:(7 OR 8) AND level:INFO", score="true", limit=4, columns="id").collect()
    wanted = Table.open(logs).search("message:(7 OR 8) AND level:INFO", columns=["id"], limit=4).to_pylist()
    assert [(row.id, row["_score"]) for row in best] == [(row["id"], row["_score"]) for row in wanted]


def test_an_empty_table(spark: SparkSession, url: str) -> None:
    Table.create(url, SCHEMA, options=TEXT)
    assert load(spark, url).count() == 0
    assert load(spark, url, query="message:disk", score="true").collect() == []
