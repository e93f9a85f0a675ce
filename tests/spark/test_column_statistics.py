"""What Spark's cost-based optimizer learns of columns, from the log alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from indextables import Table
from indextables.spark.connector import bridge
from spark.support import query_execution

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("day", pa.date32()), ("id", pa.int64()), ("few", pa.int32()), ("word", pa.string())])


@pytest.fixture
def df(spark: SparkSession, url: str) -> DataFrame:
    table = Table.create(url, SCHEMA, partition_by=["day"])
    for number in range(3):
        day, ids = dt.date(2026, 3, 1 + number), range(number * 10, number * 10 + 10)
        table.append(pa.table([[day] * 10, ids, [None] * 5 + [number] * 5, ["a"] * 10], schema=SCHEMA))
    return spark.read.format("indextables").option("spark.indextables.read.local.enabled", "false").load(url)


def statistics(df: DataFrame) -> dict[str, Any]:
    """What Spark knows of each column, as Spark spells it."""
    found = query_execution(df).optimizedPlan().stats().attributeStats().iterator()
    out = {}
    while found.hasNext():
        pair = found.next()
        out[pair.productElement(0).name()] = str(pair.productElement(1).toString())
    return out


def test_bounds_and_nulls(df: DataFrame, setting: Callable[[str, str], None]) -> None:
    setting("spark.sql.cbo.enabled", "true")
    first = (dt.date(2026, 3, 1) - dt.date(1970, 1, 1)).days
    found = statistics(df)
    assert found["day"].startswith(f"ColumnStat(Some(3),Some({first}),Some({first + 2}),Some(0)"), found
    assert found["id"].startswith("ColumnStat(None,Some(0),Some(29),"), found
    assert found["few"].startswith("ColumnStat(None,Some(0),Some(2),None"), found
    assert "word" not in found
    assert statistics(df.where(f"day = '{dt.date(2026, 3, 2)}'"))["id"].startswith("ColumnStat(None,Some(10),Some(19),")
    assert df.where("id > 12").count() == 17


def test_nothing_is_asked_without_the_optimizer(df: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(asked: object) -> list[bytes]:
        raise AssertionError(asked)

    monkeypatch.setitem(bridge.VERBS, "statistics", fails)
    assert statistics(df) == {}
