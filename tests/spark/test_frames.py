"""`read`, `count` and `aggregate`: what the embedded table says, from Spark's tasks, in classic and Connect sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from indextables import Table
from indextables.spark import aggregate, count, read
from indextables.spark.reading import frames
from indextables.spark.reading.arrow_types import arrow_schema, spark_schema
from indextables.spark.reading.source_reader import FIRST_ROWS, read_task
from indextables.split.reader import SplitReader
from indextables.table.distributed.read_tasks import make_request, plan_tasks
from indextables.table.open_table import pin_version
from tables import handle_of

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("part", pa.string()), ("id", pa.int64()), ("size", pa.float64()), ("message", pa.string())])
TEXT = {"spark.indextables.indexing.typemap.message": "text"}
SPLITS, ROWS = 6, 5_000
ONE_EACH = {"spark.indextables.read.splitsPerTask": 1}


def rows_of(number: int) -> pa.Table:
    ids = range(number * ROWS, number * ROWS + ROWS)
    texts = [f"node {row % 7} is {'down' if row % 100 == 0 else 'up'}" for row in ids]
    return pa.table([[f"p{number % 2}"] * ROWS, ids, [row / 4 for row in ids], texts], schema=SCHEMA)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Table:
    table = Table.create(tmp_path_factory.mktemp("frames") / "nodes", SCHEMA, partition_by=["part"], options=TEXT)
    for number in range(SPLITS):
        table.append(rows_of(number))
    return table


@pytest.fixture(params=["classic", "connect"])
def session(request: pytest.FixtureRequest) -> SparkSession:
    return request.getfixturevalue("spark" if request.param == "classic" else "remote")


def test_what_the_embedded_table_says(session: SparkSession, nodes: Table) -> None:
    url, where, query = nodes.url, "part = 'p1' AND id >= 6000", "down AND message:3"
    df = read(session, url, ["id", "message"], where, query)
    assert df.columns == ["id", "message"]
    assert df.toArrow().sort_by("id").to_pylist() == nodes.scan(["id", "message"], where, query).read_all().to_pylist()
    assert count(session, url, where, query).collect() == [(nodes.count(where, query),)]
    assert count(session, url).first()["count"] == SPLITS * ROWS
    groups = aggregate(session, url, ["part"], {"n": "count", "most": "max(size)"}, where, query)
    assert (
        groups.toArrow().to_pylist()
        == nodes.aggregate(["part"], {"n": "count", "most": "max(size)"}, where, query).to_pylist()
    )


def test_versions_limits_and_scores(spark: SparkSession, nodes: Table) -> None:
    url = nodes.url
    assert count(spark, url, version=2).first()[0] == 2 * ROWS
    assert count(spark, url, query="down", version=1).first()[0] == ROWS // 100
    assert count(spark, url, timestamp="2199-01-01").first()[0] == SPLITS * ROWS
    first = read(spark, url, ["id"], limit=7).collect()
    assert [row.id for row in first] == nodes.scan(["id"], limit=7).read_all().column("id").to_pylist()
    best = read(spark, url, ["id"], query="node OR down", score=True, limit=5).collect()
    wanted = nodes.search("node OR down", ["id"], limit=5)
    assert [tuple(row) for row in best] == list(zip(*(column.to_pylist() for column in wanted.columns), strict=True))
    assert read(spark, url, query="message:nowhere").collect() == []
    assert aggregate(spark, url, ["part"], where="id < 0").collect() == []
    assert aggregate(spark, url, (), {"n": "count", "top": "max(id)"}, "id < 0").collect() == [(0, None)]


def test_a_frame_is_one_version(spark: SparkSession, url: str) -> None:
    table = Table.create(url, SCHEMA, options=TEXT)
    table.append(rows_of(0))
    df = read(spark, url, ["id"])
    table.append(rows_of(1))
    assert df.count() == ROWS
    assert df.where("id < 10").count() == 10, "other filters are Spark's"
    assert read(spark, url).count() == 2 * ROWS


def test_splits_are_packed_into_tasks(spark: SparkSession, nodes: Table) -> None:
    tasks = [read(spark, nodes.url, options=given).rdd.getNumPartitions() for given in (ONE_EACH, {})]
    assert tasks[0] == SPLITS
    assert tasks[1] < SPLITS, "small splits share a task"
    assert read(spark, nodes.url, where="part = 'p0'", options=ONE_EACH).rdd.getNumPartitions() == SPLITS // 2
    assert read(spark, nodes.url, where="id >= 29000", options=ONE_EACH).rdd.getNumPartitions() == 1
    assert read(spark, nodes.url, limit=5, options=ONE_EACH).rdd.getNumPartitions() == 1


def test_what_the_log_knows_is_not_asked_of_tasks(
    spark: SparkSession, nodes: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_tasks(_spark: Any, plan: Any, *_: Any) -> Any:
        raise AssertionError(plan.tasks)

    monkeypatch.setattr(frames, "_map_tasks", no_tasks)
    assert count(spark, nodes.url).first()[0] == SPLITS * ROWS
    assert count(spark, nodes.url, "part = 'p0'").first()[0] == SPLITS * ROWS // 2
    assert count(spark, nodes.url, "id < 10000").first()[0] == 10_000, "bounds say that no row of two splits fails it"
    with pytest.raises(AssertionError):
        count(spark, nodes.url, "id < 12000")


def test_only_doubtful_files_are_counted_by_tasks(spark: SparkSession, nodes: Table) -> None:
    assert count(spark, nodes.url, "id < 12000 OR part = 'p0'").first()[0] == nodes.count("id < 12000 OR part = 'p0'")


def test_the_first_rows_come_before_the_rest_is_read(nodes: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    scan = SplitReader.scan

    def noted(self: SplitReader, *asked: Any) -> Any:
        opened.append(self.key)
        return scan(self, *asked)

    monkeypatch.setattr(SplitReader, "scan", noted)
    handle = pin_version(nodes.url, handle_of(nodes).options)
    plan = plan_tasks(handle, make_request(handle, "reading"), most_tasks=1)
    batches = read_task(plan.tasks[0], arrow_schema(spark_schema(SCHEMA, SCHEMA.names)))
    assert next(batches).num_rows == FIRST_ROWS
    assert len(opened) == 1
    assert FIRST_ROWS + sum(batch.num_rows for batch in batches) == SPLITS * ROWS
    assert len(opened) == SPLITS


@pytest.mark.parametrize("local", ["true", "false"])
def test_the_first_rows_do_not_need_the_whole_table(
    spark: SparkSession, tmp_path: Path, format_name: str, local: str
) -> None:
    """All files but the first are gone, and nobody notices: they are not read."""
    table = Table.create(tmp_path / "half", SCHEMA, options=TEXT)
    for number in range(4):
        table.append(rows_of(number))
    for path in table.files().column("path").to_pylist()[1:]:
        (tmp_path / "half" / path).unlink()
    options = ONE_EACH | {"spark.indextables.read.local.enabled": local}
    df = spark.read.format(format_name).options(**options).load(table.url)
    assert [row.id for row in df.take(200)] == list(range(200))
    df.createOrReplaceTempView("half")
    assert len(spark.sql("SELECT * FROM half LIMIT 200").collect()) == 200
    assert len(read(spark, table.url, options=ONE_EACH).take(200)) == 200


def test_connect_reads_as_classic_does(remote: SparkSession, nodes: Table) -> None:
    df = remote.read.format("indextables").option("columns", "id").load(nodes.url)
    assert df.where("id = 7").collect() == [(7,)]
    assert df.count() == SPLITS * ROWS, "after a filter too"
    df.createOrReplaceTempView("nodes_view")
    assert remote.sql("SELECT count(*) FROM nodes_view WHERE id < 10").first()[0] == 10
