"""Joins, groups and windows by partition columns: Spark exchanges no rows, and the answers are those of Parquet."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from indextables import Table
from spark.support import executed_plan

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("day", pa.date32()), ("zone", pa.string()), ("id", pa.int64()), ("ms", pa.float64())])
DAYS = [dt.date(2026, 3, number) for number in range(1, 7)]
ZONES = ["a", "b", None]


def rows(seed: int, days: list[dt.date], count: int) -> pa.Table:
    dice = random.Random(seed)
    made = [
        {
            "day": dice.choice([*days, None]),
            "zone": dice.choice(ZONES),
            "id": dice.randrange(40),
            "ms": dice.randrange(100) / 4,
        }
        for _ in range(count)
    ]
    return pa.Table.from_pylist(made, SCHEMA)


@pytest.fixture(scope="module")
def places(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """`one` and `two` by day and zone with days of their own each, `days` by day alone; the same rows as Parquet."""
    home = tmp_path_factory.mktemp("partitions")
    out = {}
    for name, seed, days, keys in (
        ("one", 1, DAYS[:5], ["day", "zone"]),
        ("two", 2, DAYS[1:], ["day", "zone"]),
        ("days", 3, DAYS[:4], ["day"]),
    ):
        out[name] = str(home / name)
        table = Table.create(out[name], SCHEMA, partition_by=keys)
        parts = [rows(seed * 10 + number, days, 60) for number in range(2)]
        for part in parts:
            table.append(part)
        out[f"{name}_p"] = str(home / f"{name}.parquet")
        spark.createDataFrame(pa.concat_tables(parts)).coalesce(1).write.parquet(out[f"{name}_p"])
    return out


@pytest.fixture(params=["a task for a partition", "a task for a file"])
def views(
    spark: SparkSession,
    places: dict[str, str],
    request: pytest.FixtureRequest,
    setting: Callable[[str, str], None],
) -> Iterator[None]:
    setting("spark.sql.autoBroadcastJoinThreshold", "-1")
    setting("spark.sql.shuffle.partitions", "30")
    setting("spark.indextables.read.local.enabled", "false")
    if "file" in request.param:
        setting("spark.indextables.read.splitsPerTask", "1")
    for name in ("one", "two", "days"):
        spark.read.format("indextables").load(places[name]).createOrReplaceTempView(name)
        spark.read.parquet(places[f"{name}_p"]).createOrReplaceTempView(f"{name}_p")
    yield
    for name in places:
        spark.catalog.dropTempView(name)


def same(spark: SparkSession, text: str) -> str:
    """The plan of a question to our tables, whose answer is Parquet's."""
    ours, theirs = (spark.sql(text.format(one=f"one{p}", two=f"two{p}", days=f"days{p}")) for p in ("", "_p"))
    found = sorted(str(tuple(row)) for row in ours.collect())
    assert found == sorted(str(tuple(row)) for row in theirs.collect()), text
    assert found, "a test of no rows tests nothing"
    return executed_plan(ours)


KINDS = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"]
BOTH = "a.day = b.day AND a.zone = b.zone"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("clustered", ["fully", "partially"])
def test_joins_by_all_partition_columns(
    spark: SparkSession, views: None, setting: Callable[[str, str], None], kind: str, clustered: str
) -> None:
    partially = str(clustered == "partially").lower()
    setting("spark.sql.sources.v2.bucketing.partiallyClusteredDistribution.enabled", partially)
    taken = "a.*" if "SEMI" in kind or "ANTI" in kind else "a.*, b.*"
    plan = same(
        spark, f"SELECT {taken} FROM {{one}} a {kind} {{two}} b ON b.zone = a.zone AND a.day = b.day AND a.id < b.id"
    )
    assert "Exchange" not in plan, plan
    assert plan.count("by partition") == 2, plan
    if clustered == "partially":
        return
    more = f"SELECT {taken} FROM {{one}} a {kind} {{two}} b ON {BOTH} AND a.id = b.id"
    plan = same(spark, more)
    assert "by partition" not in plan, "Spark would exchange the rows all the same"
    setting("spark.sql.requireAllClusterKeysForCoPartition", "false")
    plan = same(spark, more)
    assert "Exchange" not in plan, plan


@pytest.mark.parametrize(
    "text",
    [
        "SELECT day, zone, collect_set(id % 3) IS NULL, count(DISTINCT id), max_by(id, ms + id) FROM {one} GROUP BY day, zone",
        "SELECT day, zone, id, sum(ms) OVER (PARTITION BY day, zone ORDER BY id, ms) FROM {one}",
        "SELECT day, sum(a.ms * x) FROM {days} a JOIN (SELECT day AS d, ms AS x FROM {days} WHERE ms > 5) ON day=d GROUP BY 1",
        "SELECT a.day, b.n FROM {days} a JOIN (SELECT day, count(DISTINCT id) AS n FROM {days} GROUP BY day) b ON a.day = b.day",
    ],
)
def test_groups_and_windows_by_partition_columns(spark: SparkSession, views: None, text: str) -> None:
    plan = same(spark, text)
    assert "Exchange" not in plan, plan


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a.id, b.ms FROM {one} a JOIN {two} b ON a.day = b.day AND a.id = b.id",
        "SELECT a.id, b.ms FROM {one} a JOIN {days} b ON a.day = b.day AND a.id = b.id",
        "SELECT a.id, b.ms FROM {one} a JOIN {two} b ON a.id = b.id",
        "SELECT a.id, b.ms FROM {one} a JOIN {two} b ON a.day = b.day AND a.zone = concat(b.zone, '') AND a.id = b.id",
        "SELECT zone, count(DISTINCT id) FROM {one} GROUP BY zone",
        "SELECT a.id FROM (SELECT day, id FROM {days} UNION ALL SELECT day, id FROM {one}) a JOIN {days} b ON a.day = b.day",
    ],
)
def test_other_keys_are_exchanged(spark: SparkSession, views: None, text: str) -> None:
    plan = same(spark, text)
    assert "Exchange" in plan, plan


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_partitions_that_vanish_while_the_query_runs(
    spark: SparkSession, views: None, setting: Callable[[str, str], None], adaptive: str
) -> None:
    """A runtime filter leaves some partitions of one side; the others stay in their places, empty."""
    setting("spark.sql.adaptive.enabled", adaptive)
    setting("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly", "false")
    for kind in ("JOIN", "LEFT JOIN", "FULL JOIN"):
        for key in ("day", "id"):
            plan = same(
                spark,
                f"SELECT a.day, a.zone, a.id, b.ms FROM (SELECT x.* FROM {{one}} x JOIN days_p s ON x.{key} = s.{key} "
                f"WHERE s.ms = 3.5) a {kind} {{two}} b ON {BOTH} AND a.id = b.id",
            )
            assert "dynamicpruning" in plan, plan


def test_a_read_that_needs_no_partitions_has_few_tasks(
    spark: SparkSession, places: dict[str, str], setting: Callable[[str, str], None]
) -> None:
    setting("spark.indextables.read.local.enabled", "false")
    df = spark.read.format("indextables").load(places["one"])
    assert df.rdd.getNumPartitions() <= 2
    assert df.where("id > 3").select("day", "zone", "id").rdd.getNumPartitions() <= 2
    assert "by partition" not in executed_plan(df.join(df.limit(3).select("id"), "id"))


def test_many_partitions_are_exchanged(spark: SparkSession, views: None, setting: Callable[[str, str], None]) -> None:
    setting("spark.sql.shuffle.partitions", "3")
    plan = same(spark, f"SELECT a.id, b.id FROM {{one}} a JOIN {{two}} b ON {BOTH}")
    assert "by partition" not in plan, plan
    setting("spark.sql.shuffle.partitions", "30")
    setting("spark.sql.sources.v2.bucketing.enabled", "false")
    plan = same(spark, f"SELECT a.id, b.id FROM {{one}} a JOIN {{two}} b ON {BOTH}")
    assert "by partition" not in plan, plan


def test_a_small_side_is_sent_to_all_tasks(
    spark: SparkSession, views: None, setting: Callable[[str, str], None]
) -> None:
    setting("spark.sql.autoBroadcastJoinThreshold", "10m")
    plan = same(spark, f"SELECT a.id, b.id FROM {{one}} a JOIN {{two}} b ON {BOTH}")
    assert "BroadcastHashJoin" in plan, plan
    assert "by partition" not in plan, plan
