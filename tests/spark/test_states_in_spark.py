"""Section 10 of the state's test plan, under its names: states and their entries as Spark moves, reads and writes them.

The plan was made for a table format in Java. There, values travel as Kryo or as Java writes them; here, as `cloudpickle` does
(functions and what they hold) or as `pickle` does (a writer, messages of tasks).
"""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from indextables import AddAction, Table
from indextables.core.options import Options
from indextables.log.history import open_at
from indextables.log.table_log import TableLog
from indextables.spark import compact, write
from indextables.spark.tasks import ExecutorWorkers, run_on_executors
from indextables.sql.commands import Checkpoint
from indextables.sql.grammar import parse_statement
from indextables.sql.table_ref import TablePath
from indextables.storage.resolve import resolve
from spark.write_support import ids, logs, save

pytestmark = pytest.mark.spark

SMALL = {"state.entriesPerManifest": "10"}
UNCACHED = Options({"transaction.cache.enabled": "false"})

PLAN = (
    "test_file_entry_kryo_serialization",
    "test_file_entry_java_serialization",
    "test_state_snapshot_serialization",
    "test_distributed_state_read",
    "test_distributed_compaction",
    "test_checkpoint_sql_parsing",
    "test_checkpoint_sql_execution",
    "test_describe_state_command",
    "test_read_with_spark_data_source",
    "test_write_with_spark_data_source",
)


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty splits of three days, with a state of several manifests."""
    place = tmp_path_factory.mktemp("plan") / "table"
    for start in range(0, 60, 30):
        write(logs(spark, 30, start=start, parts=5), str(place), "append", partition_by="day")
    Table.open(place, options=SMALL).checkpoint()
    return place


@pytest.fixture
def table(written: Path, url: str) -> str:
    """A copy of it."""
    shutil.copytree(written, url)
    return url


def opened(url: str, workers: Any = None) -> TableLog:
    store = resolve(url, UNCACHED).open()
    return TableLog(store, UNCACHED) if workers is None else TableLog(store, UNCACHED, workers=workers)


def described(url: str) -> dict[str, str]:
    found = Table.open(url, options=UNCACHED.explicit()).state()
    return dict(zip(*found.to_pydict().values(), strict=True))


def test_every_name_of_the_plan_has_a_test() -> None:
    for name in PLAN:
        assert callable(globals().get(name)), name


@pytest.fixture
def entry() -> AddAction:
    return AddAction(
        path="day=2024-01-01/splits/a.split",
        partition_values={"day": "2024-01-01", "host": None},
        size=2**40,
        modification_time=1,
        min_values={"id": "-1"},
        max_values={"id": "𝄞"},
        num_records=3,
        tags={"a": "b"},
        doc_mapping_json='{"x": 1}',
    )


def test_file_entry_kryo_serialization(spark: SparkSession, entry: AddAction) -> None:
    assert pickle.loads(cloudpickle.dumps(entry)) == entry

    def echo(batches: Any) -> Any:
        for _ in batches:
            yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(entry)])], names=["entry"])

    (row,) = spark.range(0, 1, 1, 1).mapInArrow(echo, "entry binary").collect()
    assert pickle.loads(row.entry) == entry


def test_file_entry_java_serialization(entry: AddAction) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(entry, protocol)) == entry


def test_state_snapshot_serialization(spark: SparkSession, table: str) -> None:
    snapshot = open_at(opened(table))
    there = pickle.loads(cloudpickle.dumps(snapshot))
    assert (there.version, there.table_id, there.schema) == (snapshot.version, snapshot.table_id, snapshot.schema)
    assert there.files.sort_by("path").equals(snapshot.files.sort_by("path"))

    def look(batches: Any) -> Any:
        for _ in batches:
            files = [[snapshot.version], [snapshot.table_id], [snapshot.files.num_rows]]
            yield pa.RecordBatch.from_arrays([pa.array(column) for column in files], names=["version", "id", "files"])

    (seen,) = spark.range(0, 1, 1, 1).mapInArrow(look, "version long, id string, files long").collect()
    assert tuple(seen) == (snapshot.version, snapshot.table_id, 30)


def test_distributed_state_read(spark: SparkSession, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []
    real = run_on_executors

    def counted(session: SparkSession, calls: list[Callable[[], object]]) -> list[object]:
        ran.append(len(calls))
        return real(session, calls)

    monkeypatch.setattr("indextables.spark.tasks.run_on_executors", counted)
    files = open_at(opened(table, ExecutorWorkers(spark))).files
    assert set(files.column("path").to_pylist()) == set(Table.open(table).files().column("path").to_pylist())
    assert ran == [int(described(table)["numManifests"])]


def test_distributed_compaction(spark: SparkSession, table: str) -> None:
    write(logs(spark, 3, start=60), table, "append", options=SMALL | {"checkpoint.interval": "1"})
    fragments = int(described(table)["numManifests"])
    done = compact(spark, table, options=SMALL)
    assert (done.format, done.kind, done.written) == ("avro-state", "compacted", True)
    assert 1 < int(described(table)["numManifests"]) <= fragments
    assert described(table)["numFiles"] == "33"
    assert ids(table) == list(range(63))


def test_checkpoint_sql_parsing(spark: SparkSession, table: str) -> None:
    for text in (f"CHECKPOINT INDEXTABLES '{table}'", f"checkpoint tantivy4spark `{table}` ; -- now"):
        assert parse_statement(text) == Checkpoint(TablePath(table)), text
    with pytest.raises(Exception, match="at position 24"):
        spark.sql("CHECKPOINT INDEXTABLES 7")


def test_checkpoint_sql_execution(spark: SparkSession, table: str) -> None:
    before = Table.open(table).count()
    said = spark.sql(f"CHECKPOINT INDEXTABLES '{table}'").collect()[0]
    assert (said["table_path"], said["status"], said["num_files"]) == (
        table,
        "success",
        Table.open(table).files().num_rows,
    )
    assert described(table)["version"] == str(said["checkpoint_version"])
    assert Table.open(table).count() == before


def test_describe_state_command(spark: SparkSession, table: str) -> None:
    found = {row["property"]: row["value"] for row in spark.sql(f"DESCRIBE INDEXTABLES STATE '{table}'").collect()}
    assert found == described(table)
    assert found["format"] == "avro-state"


def test_read_with_spark_data_source(spark: SparkSession, table: str) -> None:
    state = described(table)
    assert (state["format"], state["numFiles"]) == ("avro-state", "30")
    rows = spark.read.format("indextables").load(table)
    assert sorted(row.id for row in rows.select("id").collect()) == list(range(60))
    assert rows.where("day = '2024-01-02'").count() == 20


def test_write_with_spark_data_source(spark: SparkSession, table: str) -> None:
    before = int(described(table)["version"])
    save(logs(spark, 3, start=60), table, **{"spark.indextables.checkpoint.interval": "1"})
    after = described(table)
    assert (after["format"], int(after["version"]), after["numFiles"]) == ("avro-state", before + 1, "33")
    assert ids(table) == list(range(63))
