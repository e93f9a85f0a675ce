"""A table replaced in one commit, partitions taken out by the log, and a table deleted for good."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import MetadataChanged, PredicateError, TableNotFound
from indextables.core.options import Options
from indextables.core.types import arrow_to_spark_json
from indextables.table.arguments import parse_where
from indextables.table.distributed.replace_job import begin_replace
from indextables.table.distributed.write_job import begin_write
from indextables.table.maintain.describe_rows import described_columns, described_rows
from indextables.table.open_log import open_log
from indextables.table.open_table import open_table
from indextables.table.write.drop_partitions import drop_partitions
from indextables.table.write.drop_table import drop_table

OLD = pa.schema([("id", pa.int64()), ("day", pa.string())])
NEW = pa.schema([("word", pa.string()), ("day", pa.string())])
TEXT = {"spark.indextables.indexing.typemap.word": "text"}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = Table.create(tmp_path / "t", OLD, partition_by=["day"])
    table.append(pa.table({"id": [1, 2, 3], "day": ["a", "b", "b"]}))
    return table


def batches(**columns: list[object]) -> list[pa.RecordBatch]:
    return pa.table(columns).to_batches()


def test_columns_properties_and_rows_change_in_one_version(table: Table) -> None:
    job = begin_replace(
        table.url, arrow_to_spark_json(NEW), Options(TEXT), partition_by=["day"], properties={"team": "blue"}
    )
    done = job.commit([job.build(batches(word=["disk full"], day=["c"]))])
    assert done.version == 2
    after = Table.open(table.url)
    assert (after.id, after.schema.names, after.properties) == (table.id, ["word", "day"], {**TEXT, "team": "blue"})
    assert after.count(query="word:full") == 1
    assert sorted(Table.open(table.url, version=1).scan().read_all().column("id").to_pylist()) == [1, 2, 3]
    again = begin_replace(table.url, arrow_to_spark_json(NEW), Options(), partition_by=["day"])
    again.commit([])
    assert Table.open(table.url).properties == {}
    assert Table.open(table.url).count() == 0


def test_a_writer_of_the_old_columns_is_told(table: Table) -> None:
    late = begin_write(table.url, arrow_to_spark_json(OLD), Options(), mode="append")
    built = late.build(batches(id=[9], day=["a"]))
    begin_replace(table.url, arrow_to_spark_json(NEW), Options(), partition_by=["day"]).commit([])
    with pytest.raises(MetadataChanged, match="its schema"):
        late.commit([built])
    assert not list(Path(table.url).rglob(built.keys[0]))


def test_a_replacement_is_told_of_other_metadata(table: Table) -> None:
    job = begin_replace(table.url, arrow_to_spark_json(NEW), Options(), partition_by=["day"])
    table.commit_files(properties={"team": "blue"})
    with pytest.raises(MetadataChanged, match="apply the change again"):
        job.commit([])
    assert Table.open(table.url).schema.names == ["id", "day"]


def test_partition_columns_change_with_all_files(table: Table) -> None:
    job = begin_replace(table.url, arrow_to_spark_json(NEW), Options(), partition_by=["word"])
    job.commit([job.build(batches(word=["x", "y", "y"], day=["a", "b", "c"]))])
    after = Table.open(table.url)
    assert (after.id, after.partition_columns) == (table.id, ("word",))
    assert after.count(where="word = 'y'") == 2
    assert {next(iter(file["partitionValues"]))[0] for file in after.files().to_pylist()} == {"word"}
    assert Table.open(table.url, version=1).count(where="day = 'b'") == 2
    after.checkpoint()
    assert Table.open(table.url).count(where="word = 'y' AND day = 'c'") == 1
    begin_replace(table.url, arrow_to_spark_json(NEW), Options()).commit([])
    assert Table.open(table.url).partition_columns == ()


@pytest.mark.parametrize("checkpoint_every", [1, 3, 100])
def test_any_order_of_replacements_reads_back(tmp_path: Path, checkpoint_every: int) -> None:
    """Partition columns of other names and other types, with states in between: each version reads what was written."""
    url, kinds = str(tmp_path / "t"), [pa.string(), pa.int64(), pa.date32(), pa.int64()]
    Table.create(url, OLD, partition_by=["day"], options={"checkpoint.interval": checkpoint_every})
    expected = {0: []}
    for number, (kind, column) in enumerate(itertools.product(kinds, ["day", "id", None])):
        schema = pa.schema([("id", pa.int64()), ("day", kind)])
        days = pa.array([number, number + 1], pa.int32()).cast(pa.date32() if pa.types.is_date(kind) else pa.int64())
        job = begin_replace(url, arrow_to_spark_json(schema), Options(), partition_by=[column] if column else [])
        rows = pa.table([pa.array([number, -number]), days.cast(kind)], schema=schema)
        job.commit([job.build(rows.to_batches())])
        opened = Table.open(url)
        expected[opened.version] = sorted(rows.to_pylist(), key=str)
        where = f"id = {number}" + (f" AND day = {number}" if pa.types.is_integer(kind) else "")
        assert opened.count(where=where) == (1 if number else 1 + (not pa.types.is_integer(kind)))
    for version, rows in expected.items():
        assert sorted(Table.open(url, version=version).scan().read_all().to_pylist(), key=str) == rows, version


def test_a_writer_of_the_old_partitions_is_told(table: Table) -> None:
    late = begin_write(table.url, arrow_to_spark_json(OLD), Options(), mode="append")
    built = late.build(batches(id=[9], day=["a"]))
    merged = begin_replace(table.url, arrow_to_spark_json(OLD), Options(), partition_by=["id"])
    merged.commit([])
    with pytest.raises(MetadataChanged, match="its partition columns"):
        late.commit([built])
    assert Table.open(table.url).count() == 0


def test_what_others_appended_is_replaced_too(table: Table) -> None:
    job = begin_replace(table.url, arrow_to_spark_json(OLD), Options(), partition_by=["day"])
    table.append(pa.table({"id": [4], "day": ["z"]}))
    job.commit([job.build(batches(id=[5], day=["a"]))])
    assert Table.open(table.url).scan().read_all().column("id").to_pylist() == [5]


def test_partitions_are_taken_out(table: Table) -> None:
    handle = open_table(table.url)
    with pytest.raises(PredicateError):
        drop_partitions(handle, parse_where("id = 1", handle.schema))
    assert not drop_partitions(handle, parse_where("day = 'z'", handle.schema)).written
    assert drop_partitions(handle, parse_where("day = 'b'", handle.schema)).snapshot.version == 2
    assert Table.open(table.url).scan().read_all().column("id").to_pylist() == [1]
    assert drop_partitions(open_table(table.url), None, "TRUNCATE").written
    assert Table.open(table.url).count() == 0
    assert Table.open(table.url).history().column("operation").to_pylist()[:2] == ["TRUNCATE", "DELETE"]


def test_a_table_is_deleted_and_nothing_else(table: Table) -> None:
    (Path(table.url) / "note.txt").write_text("mine")
    log = open_log(table.url)
    drop_table(log)
    assert [path.name for path in Path(table.url).iterdir()] == ["note.txt"]
    with pytest.raises(TableNotFound):
        drop_table(log)
    (Path(table.url) / "note.txt").unlink()
    Table.create(table.url, NEW)
    drop_table(open_log(table.url))
    assert not Path(table.url).exists()


def test_tables_inside_and_hidden_splits_stay(table: Table) -> None:
    root = Path(table.url)
    inner = Table.create(root / "sub", NEW)
    inner.append(pa.table({"word": ["x"], "day": ["a"]}))
    hidden = root / ".trash" / "mine.split"
    hidden.parent.mkdir()
    hidden.write_text("mine")
    drop_table(open_log(table.url))
    assert sorted(path.name for path in root.iterdir()) == [".trash", "sub"]
    assert hidden.read_text() == "mine"
    assert Table.open(inner.url).scan().read_all().column("word").to_pylist() == ["x"]


def test_logs_that_a_repair_moved_go_too(table: Table) -> None:
    damaged = Path(table.url) / "_transaction_log_damaged_1"
    damaged.mkdir()
    (damaged / "00000000000000000000.json").write_text("{}")
    drop_table(open_log(table.url))
    assert not Path(table.url).exists()
    Table.create(table.url, NEW)


def test_what_lies_behind_a_link_stays_and_the_rest_goes(table: Table, tmp_path: Path) -> None:
    directory = next(path for path in Path(table.url).iterdir() if path.name.startswith("day="))
    directory.rename(tmp_path / "elsewhere")
    directory.symlink_to(tmp_path / "elsewhere")
    drop_table(open_log(table.url))
    assert [path.name for path in Path(table.url).iterdir()] == [directory.name]
    assert list((tmp_path / "elsewhere").rglob("*.split"))
    Table.create(table.url, NEW)


@pytest.mark.parametrize("column", ["_day", ".day"])
def test_splits_of_partition_columns_with_hidden_names_go(tmp_path: Path, column: str) -> None:
    made = Table.create(tmp_path / "t", pa.schema([("id", pa.int64()), (column, pa.string())]), partition_by=[column])
    made.append(pa.table({"id": [1, 2], column: ["a", None]}))
    drop_table(open_log(made.url))
    assert not (tmp_path / "t").exists()


def test_rows_have_the_columns_that_were_promised(table: Table) -> None:
    table.overwrite(pa.table({"id": [7], "day": ["a"]}))
    handle = open_table(table.url)
    for which, count in {"files": 1, "history": 3, "partitions": 1, "changes": 5}.items():
        rows = described_rows(which, handle)
        assert rows.schema.equals(described_columns(which, handle)), which
        assert rows.num_rows == count, which
