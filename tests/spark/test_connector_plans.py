"""What Spark's planner makes of the connector's answers: scans that run once, filters of joins, fields that are left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from indextables import Table
from spark.support import executed_plan

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("service", pa.string()),
        ("ms", pa.float64()),
        ("at", pa.struct([("host", pa.string()), ("rack", pa.struct([("row", pa.int32()), ("name", pa.string())]))])),
    ]
)
SPLITS, ROWS = 4, 500
TASKS = {"spark.indextables.read.local.enabled": "false"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = str(tmp_path_factory.mktemp("plans") / "calls")
    table = Table.create(url, SCHEMA)
    for number in range(SPLITS):
        ids = range(number * ROWS, number * ROWS + ROWS)
        racks = [{"host": f"h{row % 5}", "rack": {"row": row % 3, "name": f"r{row}"}} for row in ids]
        table.append(pa.table([ids, [f"s{row % 10}" for row in ids], [row / 4 for row in ids], racks], schema=SCHEMA))
    return url


@pytest.fixture
def calls(spark: SparkSession, place: str) -> DataFrame:
    """The table, read by tasks: an answer of the driver's has no scan."""
    return spark.read.format("indextables").options(**TASKS).load(place)


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_equal_scans_are_run_once(
    spark: SparkSession, calls: DataFrame, setting: Callable[[str, str], None], adaptive: str
) -> None:
    setting("spark.sql.adaptive.enabled", adaptive)
    setting("spark.sql.autoBroadcastJoinThreshold", "-1")
    shared = calls.where("ms > 100").select("id", "service").repartition(2, "service")
    both = (
        shared.groupBy("service")
        .agg(sql.max("id").alias("most"))
        .join(shared.groupBy("service").agg(sql.min("id").alias("least")), "service")
    )
    assert sorted(tuple(row) for row in both.collect()) == [
        (f"s{n}", 1990 + n, 400 + n if n else 410) for n in range(10)
    ]
    assert "Reused" in executed_plan(both), executed_plan(both)
    other = shared.union(calls.where("ms > 200").select("id", "service").repartition(2, "service"))
    assert other.count() == 1599 + 1199
    assert "Reused" not in executed_plan(other), "other filters are other scans"


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_join_filters_the_rows_that_are_read(
    spark: SparkSession, calls: DataFrame, tmp_path: Path, setting: Callable[[str, str], None], adaptive: str
) -> None:
    setting("spark.sql.adaptive.enabled", adaptive)
    setting("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly", "true")
    names = spark.range(1, 1000).selectExpr("id AS k", "concat('x', id) AS name", "id % 7 AS day")
    names.write.parquet(str(tmp_path / "names"))
    small = spark.read.parquet(str(tmp_path / "names")).where("name = 'x7' OR name = 'x700'")
    joined = calls.join(small, calls.id == small.k).select("id", "ms", "name")
    assert sorted(tuple(row) for row in joined.collect()) == [(7, 1.75, "x7"), (700, 175.0, "x700")]
    plan = executed_plan(joined)
    assert "RuntimeFilters: [dynamicpruningexpression(id" in plan, plan
    assert sorted(row.id for row in joined.select("id").collect()) == [7, 700]
    none = calls.join(spark.read.parquet(str(tmp_path / "names")).where("name = 'y'"), calls.id == sql.col("k"))
    assert none.collect() == []
    assert calls.count() == SPLITS * ROWS, "a filter of a join is the join's alone"


def test_only_the_fields_that_are_asked_for_are_read(calls: DataFrame) -> None:
    df = calls.where("id < 3").select("at.rack.row", "service")
    plan = executed_plan(df)
    assert "name" not in plan.split("BatchScan")[1].split("version")[0], plan
    assert sorted(tuple(row) for row in df.collect()) == [(0, "s0"), (1, "s1"), (2, "s2")]
    assert calls.select("at.rack").where("rack.row = 1 AND id = 4").collect() == [((1, "r4"),)]


def test_a_cached_frame_is_found_again(spark: SparkSession, place: str) -> None:
    df = spark.read.format("indextables").options(**TASKS).load(place)
    cached = df.where("service = 's3'").cache()
    try:
        assert cached.count() == 200
        again = spark.read.format("indextables").options(**TASKS).load(place).where("service = 's3'")
        assert "InMemoryTableScan" in executed_plan(again), "equal tables at equal versions are equal"
        assert again.where("id < 100").count() == 10
    finally:
        cached.unpersist()


def test_no_job_runs_for_a_small_answer(spark: SparkSession, place: str) -> None:
    df = spark.read.format("indextables").load(place)
    spark.sparkContext.setJobGroup("small", "small answers")
    try:
        assert df.where("id = 5").collect() == [(5, "s5", 1.25, ("h0", (2, "r5")))]
        assert df.count() == SPLITS * ROWS
        assert sorted(row["count"] for row in df.groupBy("service").count().collect()) == [200] * 10
        assert len(df.limit(7).collect()) == 7
        assert spark.sparkContext.statusTracker().getJobIdsForGroup("small") == []
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


def test_groups_by_tasks(calls: DataFrame) -> None:
    groups = calls.where("id >= 10").groupBy("service").agg(sql.count("*").alias("n"), sql.max("ms").alias("most"))
    plan = executed_plan(groups)
    assert "groups [count(*), max(ms)] by [service]" in plan, plan
    assert min(tuple(row) for row in groups.collect()) == ("s0", 199, 497.5)
    assert calls.where("id < 0").agg(sql.count("*"), sql.sum("ms")).collect() == [(0, None)]
