"""`explain` of what the driver answered: the table, its version, files and bytes, what was handed over, and who answered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from indextables import Table
from spark.support import executed_plan

pytestmark = pytest.mark.spark


@pytest.fixture
def frame(spark: SparkSession, tmp_path: Path) -> DataFrame:
    table = Table.create(
        str(tmp_path / "t"),
        pa.schema([("id", pa.int64()), ("message", pa.string()), ("day", pa.string())]),
        partition_by=["day"],
        options={"indexing.typemap.message": "text"},
    )
    for day in "abc":
        table.append(pa.table({"id": [1, 2, 3], "message": ["disk full", "disk", "fan"], "day": [day] * 3}))
    return spark.read.format("indextables").load(table.url)


@pytest.fixture
def explained(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What `explain` prints."""

    def text(frame: DataFrame, mode: str = "extended") -> str:
        frame.explain(mode)
        return capsys.readouterr().out

    return text


@pytest.fixture
def lines(explained: Callable[..., str]) -> Callable[[DataFrame], list[str]]:
    """The line about an answer in the optimized plan, in the executed plan, and in its formatted form."""

    def found(frame: DataFrame) -> list[str]:
        optimized = explained(frame).partition("== Optimized Logical Plan ==")[2].partition("== Physical Plan ==")[0]
        texts = [optimized, explained(frame, "simple"), explained(frame, "formatted")]
        return [next((line for line in text.splitlines() if " indextables " in line), text) for text in texts]

    return found


def test_a_search(frame: DataFrame, lines: Callable[[DataFrame], list[str]]) -> None:
    found = frame.where("message INDEXQUERY 'disk AND full' AND day < 'c'").select("id")
    for line in lines(found):
        assert "version 3; 2 of 3 files, " in line
        assert "where " in line
        assert "message" in line
        assert line.endswith("2 rows by the driver")
    assert "LocalRelation [id#" in lines(found)[0]
    assert "LocalTableScan [id#" in lines(found)[1]
    assert [row.id for row in found.collect()] == [1, 1]


def test_groups_limits_and_what_spark_computes_of_them(
    frame: DataFrame, lines: Callable[[DataFrame], list[str]]
) -> None:
    counted = frame.groupBy("day").count().selectExpr("day", "count * 2 AS twice")
    for line in lines(counted):
        assert "groups [count(*)] by [day]; 3 rows by the driver" in line
    assert sorted(map(tuple, counted.collect())) == [("a", 6), ("b", 6), ("c", 6)]
    for line in lines(frame.orderBy("id").limit(2)):
        assert "ordered; limit 2; 2 rows by the driver" in line


def test_both_sides_of_a_join_are_named(frame: DataFrame, explained: Callable[..., str]) -> None:
    both = frame.where("id = 1").alias("a").join(frame.where("id = 2").alias("b"), "day")
    assert explained(both).count("rows by the driver") == 4, "in the optimized plan, and in the one that is carried out"
    assert both.count() == 3


def test_copies_of_a_plan_keep_the_line(spark: SparkSession, frame: DataFrame) -> None:
    """Cached, reused and adaptive plans copy their nodes."""
    small = frame.where("id = 1").cache()
    assert small.unionAll(small).count() == 6
    small.unpersist()
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    try:
        joined = frame.where("id = 1").join(spark.range(5).repartition(2), "id")
        assert joined.count() == 3
        assert "rows by the driver" in executed_plan(joined)
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", "false")
    assert frame.where("id = 1").toArrow().shape == (3, 3)
    assert frame.where("id = 1").limit(2).count() == 2
    assert frame.where("id = 77").collect() == []


def test_other_local_rows_look_as_before(spark: SparkSession) -> None:
    assert "indextables" not in executed_plan(spark.sql("VALUES (1), (2)"))
