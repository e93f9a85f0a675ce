"""Reading a table as a DataFrame, by the connector and by the pure Python source: columns, versions, limits, scores."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from indextables import Table
from spark.support import query_execution

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


@pytest.fixture
def load(spark: SparkSession, format_name: str) -> Callable[..., DataFrame]:
    def loaded(url: str, schema: str | None = None, **options: Any) -> DataFrame:
        reader = spark.read.format(format_name).options(**options)
        return (reader if schema is None else reader.schema(schema)).load(url)

    return loaded


def ids(df: DataFrame) -> list[int]:
    return [row.id for row in df.select("id").collect()]


def test_all_rows_in_the_order_of_the_files(load: Callable[..., DataFrame], logs: str) -> None:
    df = load(logs)
    assert df.columns == SCHEMA.names
    assert ids(df) == list(range(100, 400))
    assert df.where("id = 205").collect() == [(dt.date(2026, 1, 2), 205, "INFO", "disk 5 is full")]


def test_a_dataframe_can_be_asked_again_whatever_it_was_asked_before(
    spark: SparkSession, load: Callable[..., DataFrame], logs: str
) -> None:
    """Spark keeps the plan of a Python source's last question for the next one, and makes a new one of the connector's."""
    df = load(logs)
    assert ids(df.where("id = 150")) == [150]
    assert df.count() == 300
    assert sorted(ids(df.where("id = 150").union(df.where("id = 250")))) == [150, 250]
    other = df.where("id = 350").select(df.id.alias("other"))
    assert df.where("id = 150").join(other).select("id", "other").collect() == [(150, 350)]
    df.createOrReplaceTempView("asked_again")
    assert spark.sql("SELECT count(*) FROM asked_again WHERE level = 'ERROR'").first()[0] == 30
    assert spark.sql("SELECT count(*) FROM asked_again").first()[0] == 300


@pytest.mark.parametrize("local", ["true", "false"])
def test_the_connector_takes_filters_and_spark_applies_the_others(spark: SparkSession, logs: str, local: str) -> None:
    table = spark.read.format("indextables").option("spark.indextables.read.local.enabled", local).load(logs)
    df = table.where("level = 'ERROR' AND id > 350 AND id % 20 = 0")
    plan = query_execution(df).optimizedPlan().toString()
    if local == "true":
        assert plan.startswith("LocalRelation"), "rows that are here already are filtered while Spark plans"
    else:
        assert "Filter ((id" in plan
        assert "level" not in plan.split("RelationV2")[0], "the remainder is Spark's"
    assert ids(df) == [360, 380]


def test_what_an_option_selects(load: Callable[..., DataFrame], logs: str) -> None:
    assert ids(load(logs, where="level = 'ERROR' AND day = DATE '2026-01-02'")) == list(range(200, 300, 10))
    assert ids(load(logs, query="message:7")) == [107, 207, 307]
    assert ids(load(logs, query="message:(7 OR 8)", where="id < 200")) == [107, 108]
    assert ids(load(logs, query='message:"disk 7"').where("id > 200")) == [207, 307]


def test_columns_by_option_and_by_schema(load: Callable[..., DataFrame], logs: str) -> None:
    df = load(logs, columns="MESSAGE, id", where="id = 101")
    assert df.columns == ["message", "id"]
    assert df.collect() == [("disk 1 is full", 101)]
    by_schema = load(logs, "level STRING, id BIGINT")
    assert by_schema.where("id = 110").collect() == [("ERROR", 110)]
    assert load(logs).select("level").distinct().count() == 2


def test_older_versions(load: Callable[..., DataFrame], logs: str) -> None:
    assert load(logs, versionAsOf=1).count() == 100
    assert load(logs, versionAsOf="0").count() == 0
    history = Table.open(logs).history().to_pylist()
    second = next(commit["timestamp"] for commit in history if commit["version"] == 2)
    assert load(logs, timestampAsOf=second.isoformat()).count() == 200
    assert load(logs, timestampAsOf="2199-01-01").count() == 300


def test_the_version_is_pinned_when_it_is_loaded(load: Callable[..., DataFrame], url: str) -> None:
    table = Table.create(url, SCHEMA, partition_by=["day"], options=TEXT)
    table.append(rows_of(1))
    df = load(url)
    assert df.count() == 100
    table.append(rows_of(2))
    assert df.count() == 100, "a DataFrame is one version"
    assert df.where("id >= 200").count() == 0
    assert df.join(df.select("id"), "id").count() == 100
    assert load(url).count() == 200


def test_a_limit(load: Callable[..., DataFrame], logs: str) -> None:
    assert ids(load(logs, limit=105)) == list(range(100, 205))
    assert load(logs, limit=0).count() == 0
    assert ids(load(logs, limit=3, query="message:7")) == [107, 207, 307]
    limited = load(logs, limit=2, query="message:7")
    assert ids(limited.where("id > 200")) == [207], "the limit comes first"
    assert limited.where("id > 200").count() == 1
    assert limited.count() == 2
    assert limited.agg({"id": "max"}).first()[0] == 207
    assert sorted(ids(limited.orderBy("id", ascending=False).limit(5))) == [107, 207]
    assert limited.limit(1).count() == 1


def test_scores(load: Callable[..., DataFrame], logs: str) -> None:
    df = load(logs, query="message:7", score="true", columns="id")
    assert df.columns == ["id", "_score"]
    found = {row.id: row["_score"] for row in df.collect()}
    embedded = Table.open(logs).search("message:7", columns=["id"]).to_pylist()
    assert found == {row["id"]: pytest.approx(row["_score"]) for row in embedded}
    best = load(logs, query="message:(7 OR 8) AND level:INFO", score="true", limit=4, columns="id").collect()
    wanted = Table.open(logs).search("message:(7 OR 8) AND level:INFO", columns=["id"], limit=4).to_pylist()
    assert [(row.id, row["_score"]) for row in best] == [(row["id"], row["_score"]) for row in wanted]
    four = load(logs, query="message:(7 OR 8) AND level:INFO", score="true", limit=4)
    assert ids(four) == [row["id"] for row in wanted], "the best ones, also where nobody looks at the score"
    assert four.count() == 4
    turned = load(logs, "_score DOUBLE, id BIGINT", query="message:7", score="true").collect()
    assert {row.id: row["_score"] for row in turned} == found


def test_an_empty_table(load: Callable[..., DataFrame], url: str) -> None:
    Table.create(url, SCHEMA, options=TEXT)
    assert load(url).count() == 0
    assert load(url, query="message:disk", score="true").collect() == []
