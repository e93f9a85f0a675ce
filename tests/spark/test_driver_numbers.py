"""What the SQL page of Spark's UI says of a read: files, bytes and the version, beside Spark's own metrics of Python sources."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from indextables import Table
from spark.conftest import MASTER

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("day", pa.string()), ("id", pa.int64())])


@pytest.fixture
def df(spark: SparkSession, url: str) -> DataFrame:
    table = Table.create(url, SCHEMA, partition_by=["day"])
    for number in range(3):
        table.append(pa.table([[f"d{number}"] * 10, range(number * 10, number * 10 + 10)], schema=SCHEMA))
    return spark.read.format("indextables").option("spark.indextables.read.local.enabled", "false").load(url)


def shown(spark: SparkSession, df: DataFrame) -> dict[str, str]:
    """The metrics of a query, as the SQL page shows them."""
    store: Any = spark._jsparkSession.sharedState().statusStore()
    before = store.executionsCount()
    df.collect()
    for _ in range(100):  # the listener writes a little later
        last = store.executionsList().last()
        values = store.executionMetrics(last.executionId())
        if store.executionsCount() > before and last.completionTime().isDefined() and values.nonEmpty():
            break
        time.sleep(0.1)
    metrics = last.metrics()
    names = [metrics.apply(number) for number in range(metrics.length())]
    found = {metric.name(): values.get(metric.accumulatorId()) for metric in names}
    return {name: value.get() for name, value in found.items() if value.isDefined()}


def test_files_bytes_and_version(spark: SparkSession, df: DataFrame, url: str) -> None:
    found = shown(spark, df.where("day <> 'd1'"))
    assert (found["files read"], found["files left out"], found["version of the table"]) == ("2", "1", "3"), found
    size = sum(Table.open(url).files().column("size").to_pylist()[i] for i in (0, 2))
    assert found["bytes of the files read"] == str(size), found
    if MASTER.startswith("local["):
        assert int(found["bytes of rows from the driver's Python"]) > 200, found
    else:
        assert "data returned from Python workers" in found, found


def test_a_filter_of_a_join_is_counted(spark: SparkSession, df: DataFrame) -> None:
    keys = spark.createDataFrame(pa.table({"k": [21, 22, 7_000]}))
    assert shown(spark, df.join(keys, df.id == keys.k))["files read"] == "1"


def test_files_that_hold_none_of_the_first_rows_are_left_out(spark: SparkSession, df: DataFrame) -> None:
    first = df.orderBy(df.id.desc()).limit(5)
    assert shown(spark, first)["files read"] == "1"
    assert [row.id for row in first.collect()] == [29, 28, 27, 26, 25]
    assert shown(spark, df.orderBy("id").limit(11))["files read"] == "2"
