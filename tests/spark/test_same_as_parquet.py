"""Random filters and groups: the same rows and numbers as from Parquet, through Spark."""

from __future__ import annotations

import random
from functools import reduce
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from indextables import Table
from indextables.spark import aggregate, read
from spark.support import Questions, build_twins

pytestmark = pytest.mark.spark

SPLITS, ROWS, SEED = 4, 100, 20_240_130
FILTERS, PUSHED, GROUPS, AT_ONCE = 200, 60, 60, 50


@pytest.fixture(scope="module")
def twins(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, DataFrame]:
    url, parquet = build_twins(spark, tmp_path_factory.mktemp("twins"), random.Random(SEED), SPLITS, ROWS)
    return url, spark.read.parquet(parquet).cache()


def by_filter(df: DataFrame, filters: list[str]) -> list[list[int]]:
    """The ids for which each filter is true, all in one question."""
    lists = [f"sort_array(collect_list(id) FILTER (WHERE {text})) AS c{n}" for n, text in enumerate(filters)]
    return [list(ids) for ids in df.selectExpr(*lists).first()]


def by_frame(frames: list[DataFrame]) -> list[list[int]]:
    """The ids of each frame, some frames in one question."""
    found: list[list[int]] = [[] for _ in frames]
    for start in range(0, len(frames), AT_ONCE):
        numbered = [
            df.select(sql.lit(start + n).alias("n"), "id") for n, df in enumerate(frames[start : start + AT_ONCE])
        ]
        for number, row_id in reduce(DataFrame.union, numbered).collect():
            found[number].append(row_id)
    return [sorted(ids) for ids in found]


def test_filters_that_we_apply(spark: SparkSession, twins: tuple[str, DataFrame]) -> None:
    url, parquet = twins
    questions = Questions(random.Random(1))
    filters = [questions.filter() for _ in range(FILTERS)]
    frames = [
        read(spark, url, ["id"], text, options={"spark.indextables.read.splitsPerTask": int(number % 10 == 1)})
        for number, text in enumerate(filters)
    ]
    assert_same(filters, by_frame(frames), by_filter(parquet, filters))


def test_filters_that_spark_pushes(spark: SparkSession, twins: tuple[str, DataFrame]) -> None:
    url, parquet = twins
    questions = Questions(random.Random(2))
    filters = [questions.conjunction() for _ in range(PUSHED)]
    df = spark.read.format("indextables").load(url)
    frames = [df.where(text) for text in filters]
    assert_same(filters, by_frame(frames), by_filter(parquet, filters))


def test_filters_that_spark_applies(spark: SparkSession, python_source: str, twins: tuple[str, DataFrame]) -> None:
    url, parquet = twins
    questions = Questions(random.Random(3))
    filters = [questions.filter() for _ in range(FILTERS)]
    df = spark.read.format(python_source).load(url)
    assert_same(filters, by_filter(df, filters), by_filter(parquet, filters))


def assert_same(filters: list[str], found: list[list[int]], wanted: list[list[int]]) -> None:
    for text, mine, theirs in zip(filters, found, wanted, strict=True):
        assert mine == theirs, text
    sizes = {len(ids) for ids in wanted}
    assert len(sizes) > len(filters) // 5, "filters that all find the same say little"


def test_groups(spark: SparkSession, twins: tuple[str, DataFrame]) -> None:
    url, parquet = twins
    questions = Questions(random.Random(4))
    asked = [(questions.filter(1), *questions.groups()) for _ in range(GROUPS)]
    wanted = expected(parquet, asked)
    for number, (where, by, metrics, *_) in enumerate(asked):
        groups = aggregate(spark, url, by, metrics, where)
        assert sorted(row[0] for row in told(groups, by).collect()) == wanted[number], asked[number]


def told(groups: DataFrame, keys: dict[str, str]) -> DataFrame:
    """Each group as one text. Both zeros and all of Spark's types of numbers have one."""
    columns = [
        f"IF({name} = 0, '0', CAST({name} AS STRING))" if numeric(groups, name) else name for name in groups.columns
    ]
    named = ", ".join(f"{text} AS {name}" for text, name in zip(columns, groups.columns, strict=True))
    return groups.selectExpr(f"to_json(struct({named}))")


def numeric(groups: DataFrame, name: str) -> bool:
    return groups.schema[name].dataType.typeName() in {"float", "double"}


def expected(parquet: DataFrame, asked: list[tuple[Any, ...]]) -> list[list[str]]:
    found: list[list[str]] = [[] for _ in asked]
    frames = []
    for number, (where, _, _, keys, metrics) in enumerate(asked):
        grouped = parquet.where(where).groupBy(*(sql.expr(text).alias(name) for name, text in keys.items()))
        groups = grouped.agg(*(sql.expr(text).alias(name) for name, text in metrics.items()))
        text = told(groups, keys)
        frames.append(text.select(sql.lit(number), *text.columns))
    for start in range(0, len(frames), 20):
        for number, group in reduce(DataFrame.union, frames[start : start + 20]).collect():
            found[number].append(group)
    return [sorted(groups) for groups in found]


def test_groups_are_those_of_the_embedded_table(spark: SparkSession, twins: tuple[str, DataFrame]) -> None:
    url, _ = twins
    by, metrics = ["word", "range(price, 0, 2.5)"], ["count", "sum(score)", "avg(ratio)", "max(at)"]
    options = {"spark.indextables.read.splitsPerTask": 1}
    groups = aggregate(spark, url, by, metrics, "id > 10", "disk", options=options)
    wanted = Table.open(url).aggregate(by, metrics, "id > 10", "disk")
    found = groups.toArrow()
    assert found.column_names == wanted.column_names
    assert repr(found.to_pylist()) == repr(wanted.to_pylist()), "in the same order too"
