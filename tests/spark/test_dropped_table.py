"""A table that is dropped while a DataFrame of it is around, and perhaps created again: the error names what happened."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from indextables import Table
from indextables.spark import read

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), ("message", pa.string())])
REPLACED = r"TableReplaced: table .* was dropped and created again since it was loaded; load it anew"


def create(url: str, rows: int) -> None:
    table = Table.create(url, SCHEMA, options={"spark.indextables.indexing.typemap.message": "text"})
    table.append(pa.table({"id": range(rows), "message": [f"line {n}" for n in range(rows)]}, SCHEMA))


def through_source(spark: SparkSession, url: str) -> DataFrame:
    return spark.read.format("indextables").load(url)


def searched(spark: SparkSession, url: str) -> DataFrame:
    return spark.read.format("indextables").option("query", "message:line").load(url)


def through_helper(spark: SparkSession, url: str) -> DataFrame:
    return read(spark, url)


@pytest.mark.parametrize("load", [through_source, searched, through_helper])
@pytest.mark.parametrize("asked_before", [False, True])
def test_created_again(
    spark: SparkSession, url: str, load: Callable[[SparkSession, str], DataFrame], asked_before: bool
) -> None:
    """Processes that plan remember the version, if the DataFrame was asked before."""
    create(url, 10)
    df = load(spark, url)
    if asked_before:
        assert df.select("id").count() == 10
    shutil.rmtree(url)
    create(url, 20)
    assert_one_line(df, REPLACED)
    assert load(spark, url).select("id").count() == 20


@pytest.mark.parametrize("load", [through_source, through_helper])
def test_dropped_for_good(spark: SparkSession, url: str, load: Callable[[SparkSession, str], DataFrame]) -> None:
    create(url, 10)
    df = load(spark, url)
    assert df.select("id").count() == 10
    shutil.rmtree(url)
    assert_one_line(df, "TableNotFound: there is no table at ")


def test_a_split_that_is_missing_is_still_called_that(spark: SparkSession, url: str) -> None:
    create(url, 10)
    df = through_source(spark, url)
    shutil.rmtree(f"{url}/splits")
    assert_one_line(df, r"SplitError: .*is missing, and the table has rows in it")


def assert_one_line(df: DataFrame, message: str) -> None:
    with pytest.raises(PySparkException, match=message) as caught:
        df.collect()
    text: Any = str(caught.value)
    assert 'File "' not in text, "no traceback of ours"
