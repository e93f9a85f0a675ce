"""`Table.append`: rows go in as they are, or nothing does."""

from __future__ import annotations

import datetime as dt
import math
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from effort import EFFORT
from indextables import Table
from indextables.core.errors import (
    CommitError,
    CommitOutcomeUnknown,
    ForeignTable,
    IndexTablesError,
    MetadataChanged,
    OptionError,
    SchemaError,
    StorageError,
    StoreUnavailable,
)
from indextables.core.runtime.threads import IO
from indextables.log.actions import ProtocolAction
from indextables.log.commit import commit
from indextables.log.conflicts import Change
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.split.build.spool import Spool
from indextables.storage.testing.faulty import Died, Fault, Faulty, Plan
from indextables.table.build.ingest import ingest
from indextables.table.build.uploads import partition_directory
from indextables.table.handle import TableHandle
from indextables.table.progress import Progress
from indextables.table.write.create import create_table
from log.support import Hooked, MemoryStore, make_log
from split.bundle_support import exact
from table.written_support import files_end_at, footers, left_in, objects_of, rows_of
from tables import handle_of, store_of

SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("level", pa.string()), ("message", pa.string()), ("day", pa.date32())]
)
DAYS = [dt.date(2024, 1, 30), dt.date(2024, 1, 31), None]
FAULTS = list(Fault)
STEP = 1 if EFFORT > 1 else 2
"""Every other request in every run: which, depends on the fault. Crashes at every call have tests of their own."""


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, temporary_files_in: Callable[[Path], None]) -> Iterator[Path]:
    """Where writes put their temporary files: nothing may be left there."""
    directory = tmp_path / "scratch"
    directory.mkdir()
    temporary_files_in(directory)
    yield directory
    assert left_in(directory) == []


def some(rows: int, first: int = 0) -> pa.Table:
    numbers = range(first, first + rows)
    columns = {
        "id": pa.array(numbers, pa.int64()),
        "level": pa.array([("INFO", "ERROR", None)[number % 3] for number in numbers], pa.string()),
        "message": pa.array([f"message {number}" for number in numbers], pa.string()),
        "day": pa.array([DAYS[number % 3] for number in numbers], pa.date32()),
    }
    return pa.table(columns, schema=SCHEMA)


@pytest.fixture(params=["local", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "table") if request.param == "local" else f"memory://{uuid.uuid4().hex}/table"


def table_in(store: Any, options: dict[str, Any] | None = None) -> Table:
    log = make_log(store, options)
    return Table(TableHandle(log, open_log(log)))


class TestRows:
    def test_come_back_from_every_partition(self, url: str) -> None:
        table = Table.create(url, SCHEMA, partition_by=["day"])
        done = table.append(some(100))
        assert (done.version, done.written, table.version) == (1, True, 1)
        assert done.metrics["numAddedRecords"] == 100
        assert done.metrics["numAddedFiles"] == 3
        table.append(some(20, 100))
        assert rows_of(table) == some(120)
        assert rows_of(Table.open(url)) == some(120)
        assert rows_of(Table.open(url, version=1)) == some(100)
        assert table.history(1).column("operation").to_pylist() == ["WRITE"]

    def test_the_log_knows_what_the_footer_knows(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path / "t", SCHEMA, partition_by=["day"])
        table.append(some(90))
        files = {file["path"]: file for file in table.files().to_pylist()}
        for path, footer in footers(table).items():
            file = files[path]
            day = footer.partition_values["day"]
            assert dict(file["partitionValues"]) == ({"day": day} if day else {}), "a null value is absent"
            assert path.startswith(f"day={day or '__HIVE_DEFAULT_PARTITION__'}/splits/split-")
            assert (file["numRecords"], file["footerEndOffset"]) == (footer.rows, file["size"])
            assert file["hasFooterOffsets"]
            assert (dict(file["minValues"]), dict(file["maxValues"])) == (footer.min_values, footer.max_values)
            assert file["docMappingJson"] == footer.doc_mapping
            assert file["uncompressedSizeBytes"] == footer.uncompressed_bytes
            assert footer.rows == 30
        assert table.files("id > 1000").num_rows == 0
        assert table.files("day = '2024-01-30'").num_rows == 1

    def test_all_types(self, tmp_path: Path) -> None:
        values: dict[str, tuple[pa.DataType, list[Any]]] = {
            "byte": (pa.int8(), [-128, None]),
            "short": (pa.int16(), [32767, None]),
            "whole": (pa.int32(), [-1, None]),
            "long": (pa.int64(), [2**63 - 1, None]),
            "float": (pa.float32(), [math.nan, -0.0]),
            "double": (pa.float64(), [math.inf, -0.0]),
            "flag": (pa.bool_(), [True, None]),
            "decimal": (pa.decimal128(38, 2), [Decimal("1.50"), None]),
            "string": (pa.string(), ["x" * 70_000, ""]),
            "binary": (pa.binary(), [b"\0\xff", None]),
            "date": (pa.date32(), [dt.date(1, 1, 1), None]),
            "at": (pa.timestamp("us", "UTC"), [pa.scalar(2**62, pa.timestamp("us", "UTC")).value, None]),
            "local": (pa.timestamp("us"), [dt.datetime(2024, 1, 1), None]),  # noqa: DTZ001
            "list": (pa.list_(pa.field("element", pa.int32())), [[1, None], None]),
            "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1)], None]),
            "struct": (pa.struct([("x", pa.int64()), ("y", pa.list_(pa.string()))]), [{"x": 1, "y": ["z"]}, None]),
        }
        schema = pa.schema([(name, arrow) for name, (arrow, _) in values.items()])
        table = Table.create(tmp_path / "t", schema)
        data = pa.table([pa.array(column, arrow) for arrow, column in values.values()], schema=table.schema)
        table.append(data)
        found = rows_of(table, order_by=None)
        for name in schema.names:
            assert exact(found.column(name)) == exact(data.column(name)), name

    def test_partition_values_that_need_escapes(self, tmp_path: Path) -> None:
        schema = pa.schema([("id", pa.int64()), ("host/x", pa.string())])
        table = Table.create(tmp_path / "t", schema, partition_by=["host/x"])
        hosts = ["a/b", "..", "", None, "100%", "ü=1", "y" * 3000, "a b"]
        data = pa.table({"id": range(len(hosts)), "host/x": hosts}, schema=schema)
        table.append(data)
        assert rows_of(table) == data
        assert any(path.startswith("host%2Fx=a%2Fb/splits/") for path in objects_of(table))

    def test_a_partition_that_is_large_enough_is_several_splits(self, tmp_path: Path) -> None:
        table = Table.create(
            tmp_path / "t", SCHEMA, options={"indexWriter.splitSize": "20kb", "indexWriter.threads": 2}
        )
        seen: list[Progress] = []
        table.append((some(100, first) for first in range(0, 3000, 100)), progress=seen.append)
        assert table.files().num_rows > 3
        assert rows_of(table) == some(3000)
        assert max(footer.uncompressed_bytes for footer in footers(table).values()) < 30_000
        assert (seen[-1].rows_read, seen[-1].rows_written) == (3000, 3000)
        assert seen[-1].splits == table.files().num_rows
        assert seen[-1].bytes == sum(table.files().column("size").to_pylist())
        assert seen[0].rows_written == 0
        assert any(0 < step.rows_written < step.rows_read < 3000 for step in seen), "splits are built on the way"

    def test_more_rows_than_memory_go_through_the_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(Spool.__init__.__kwdefaults__, "memory", 1000)
        table = Table.create(tmp_path / "t", SCHEMA, partition_by=["day"])
        table.append(some(50, first) for first in range(0, 500, 50))
        assert rows_of(table) == some(500)

    def test_two_writers(self, tmp_path: Path) -> None:
        first = Table.create(tmp_path / "t", SCHEMA, partition_by=["day"])
        second = Table.open(tmp_path / "t")
        first.append(some(10))
        assert second.append(some(10, 10)).version == 2
        assert rows_of(first.refresh()) == some(20)

    def test_properties_are_followed(self, tmp_path: Path) -> None:
        Table.create(tmp_path / "t", SCHEMA, options={"indexing.typemap.text": "message"})
        table = Table.open(tmp_path / "t")
        table.append(some(5))
        [footer] = footers(table).values()
        assert '"column":"message","kind":"text"' in footer.doc_mapping


class TestNoRows:
    @pytest.mark.parametrize("data", [some(0), [], [some(0), some(0)]])
    def test_nothing_is_written(self, tmp_path: Path, data: Any) -> None:
        table = Table.create(tmp_path / "t", SCHEMA)
        done = table.append(data)
        assert (done.written, done.version, done.reason) == (False, 0, "the data has no rows")
        assert Table.open(tmp_path / "t").version == 0
        assert objects_of(table) == []


class TestData:
    @pytest.mark.parametrize(
        "form",
        [
            lambda data: data,
            lambda data: data.combine_chunks().to_batches()[0],
            lambda data: data.to_reader(7),
            lambda data: data.to_batches(7),
            lambda data: iter(data.to_batches(7)),
            lambda data: [data.slice(0, 5), data.slice(5)],
            lambda data: type(
                "Stream", (), {"__arrow_c_stream__": lambda _, schema=None: data.__arrow_c_stream__(schema)}
            )(),
        ],
    )
    def test_in_every_form(self, tmp_path: Path, form: Any) -> None:
        table = Table.create(tmp_path / "t", SCHEMA)
        table.append(form(some(20)))
        assert rows_of(table) == some(20)

    @pytest.mark.parametrize("data", [None, 7, "text", {"id": [1]}, [{"id": 1}], [[1]]])
    def test_that_is_none(self, tmp_path: Path, data: Any) -> None:
        table = Table.create(tmp_path / "t", SCHEMA)
        with pytest.raises(SchemaError, match=r"data is an Arrow table.*, not .*from_pylist"):
            table.append(data)
        assert objects_of(table) == []

    def test_columns_by_name_in_any_case_and_order_and_missing_ones_null(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path / "t", SCHEMA)
        table.append(pa.table({"Message": ["x"], "ID": pa.array([1], pa.uint8())}))
        assert rows_of(table).to_pylist() == [{"id": 1, "level": None, "message": "x", "day": None}]


class TestWhatDoesNotFit:
    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"id": [1], "levle": ["x"]}, r"a column levle, the table has no such column: did you mean level\?"),
            ({"id": [1], "zzz": [1]}, "it has id, level, message, day"),
            ({"level": ["x"]}, "no column id, which the table requires"),
            ({"id": [1], "ID": [1]}, "column ID twice"),
            ({"id": [1, None]}, "column id is required, and the data has 1 nulls"),
            ({"id": ["1"]}, r"column id is long \(int64\), the data has string, .* cast it to int64 first"),
            ({"id": [1.0]}, r"column id is long \(int64\), the data has double"),
            ({"id": pa.array([1], pa.uint64())}, "the data has uint64"),
            ({"id": [1], "level": [b"x"]}, r"column level is string \(string\), the data has binary"),
            ({"id": [1], "day": ["2024-01-01"]}, r"column day is date \(date32\[day\]\), the data has string"),
            (
                {"id": [1], "day": pa.array([1], pa.date64())},
                "column day of the data is not valid Arrow .*whole number of",
            ),
            ({"id": [1], "message": [["x"]]}, "column message is string .* build a column of type string"),
        ],
    )
    def test_is_refused_and_leaves_nothing(self, tmp_path: Path, columns: dict[str, Any], message: str) -> None:
        table = Table.create(tmp_path / "t", SCHEMA)
        with pytest.raises(SchemaError, match=message):
            table.append([some(5), pa.table(columns)])
        assert objects_of(table) == []
        assert table.refresh().version == 0

    def test_text_that_is_no_utf8(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path / "t", pa.schema([("s", pa.string())]))
        buffers = [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
        bad = pa.record_batch([pa.Array.from_buffers(pa.string(), 1, buffers)], ["s"])
        with pytest.raises(SchemaError, match=r"column s of the data is not valid Arrow.*UTF8"):
            table.append(bad)

    def test_a_partition_value_without_a_text(self, tmp_path: Path) -> None:
        schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
        table = Table.create(tmp_path / "t", schema, partition_by=["at"])
        data = pa.table({"id": [1], "at": pa.array([2**62], pa.timestamp("us", "UTC"))})
        with pytest.raises(SchemaError, match="partition column at"):
            table.append(data)

    def test_a_null_in_a_required_field_inside(self, tmp_path: Path) -> None:
        inner = pa.struct([pa.field("x", pa.int64(), nullable=False)])
        table = Table.create(tmp_path / "t", pa.schema([("s", inner)]))
        with pytest.raises(SchemaError, match=r"column s\.x is required"):
            table.append(pa.table({"s": [{"x": None}]}))
        with pytest.raises(SchemaError, match=r"no column s\.x, which column s requires"):
            table.append(pa.table({"s": pa.array([{}], pa.struct([]))}))
        assert objects_of(table) == []

    def test_a_schema_that_changed_meanwhile(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path / "t", SCHEMA)
        Table.open(tmp_path / "t").commit_files(properties={"safetyAge.hours": 100})
        with pytest.raises(MetadataChanged):
            table.append(some(3))
        assert objects_of(table) == [], "the commit certainly did not happen, so its splits are gone"
        table.refresh().append(some(3))

    def test_history_is_not_written_to(self, tmp_path: Path) -> None:
        Table.create(tmp_path / "t", SCHEMA)
        with pytest.raises(CommitError, match="which is history"):
            Table.open(tmp_path / "t", version=0).append(some(1))


class TestOptions:
    @pytest.mark.parametrize(
        "options",
        [
            {"indexing.typemap.message": "string"},
            {"indexing.typemap.text": "level"},
            {"indexing.typemap.text": "message,nobody"},
            {"indexing.tokenizer.en_stem": "message"},
            {"indexing.indexrecordoption.basic": "message"},
            {"indexing.fastfields": "level"},
            {"indexing.lookupfields": "id"},
            {"indexing.text.maxTokenLength": 10},
        ],
    )
    def test_that_contradict_the_table_are_refused(self, tmp_path: Path, options: dict[str, Any]) -> None:
        Table.create(tmp_path / "t", SCHEMA, options={"indexing.typemap.message": "text"})
        table = Table.open(tmp_path / "t", options=options)
        with pytest.raises(OptionError, match=r"asks for .*leave the option out") as raised:
            table.append(some(1))
        assert next(iter(options)).split(".")[1] in str(raised.value)
        assert objects_of(table) == []

    @pytest.mark.parametrize(
        "options",
        [
            {"indexing.typemap.MESSAGE": "text", "indexing.tokenizer.default": "message"},
            {"indexing.typemap.text": "message", "indexing.fastfields": "id", "indexing.text.maxTokenLength": 255},
        ],
    )
    def test_that_say_the_same_are_not(self, tmp_path: Path, options: dict[str, Any]) -> None:
        Table.create(tmp_path / "t", SCHEMA, options={"indexing.typemap.message": "text"})
        assert Table.open(tmp_path / "t", options=options).append(some(1)).written

    def test_a_table_is_not_created_with_options_that_do_not_fit(self, tmp_path: Path) -> None:
        with pytest.raises(OptionError, match="column nobody, which does not exist"):
            Table.create(tmp_path / "t", SCHEMA, options={"indexing.typemap.text": "nobody"})
        assert not (tmp_path / "t").exists()


def test_a_foreign_table_is_refused(tmp_path: Path) -> None:
    table = Table.create(tmp_path / "t", SCHEMA)
    log = handle_of(table).log
    commit(
        LogAtVersion(log, open_log(log)),
        Change(protocol=ProtocolAction(4, 4, ("avroState",), ("avroState",))),
        operation="X",
    )
    with pytest.raises(ForeignTable, match=r"written by another implementation.*bundleSplits.*writing rows"):
        table.refresh().append(some(1))
    assert objects_of(table) == []


class TestFailures:
    def test_of_the_data(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path / "t", SCHEMA, options={"indexWriter.splitSize": 1000, "indexWriter.threads": 1})

        def failing() -> Iterator[pa.Table]:
            yield some(100)
            yield some(100)
            assert objects_of(table), "some splits are in the store already"
            raise ZeroDivisionError("the source")

        with pytest.raises(ZeroDivisionError, match="the source"):
            table.append(failing())
        assert objects_of(table) == []
        assert table.refresh().version == 0

    @pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
    def test_of_whoever_watches(self, tmp_path: Path, error: type[BaseException]) -> None:
        table = Table.create(tmp_path / "t", SCHEMA, partition_by=["day"])

        def watch(progress: Progress) -> None:
            if progress.splits == 2:
                raise error("stop")

        threads = threading.active_count()
        with pytest.raises(error, match="stop"):
            table.append(some(30), progress=watch)
        assert objects_of(table) == []
        assert threading.active_count() <= threads + 32, "only the shared pool may have grown"

    @pytest.mark.parametrize("size", [100, 2_000, 9_000])
    def test_of_the_disk(self, tmp_path: Path, size: int) -> None:
        table = Table.create(tmp_path / "t", SCHEMA)
        with files_end_at(size), pytest.raises(IndexTablesError):
            table.append(some(5000))
        assert objects_of(table) == []
        assert table.append(some(5)).version == 1

    def test_of_one_of_several_splits_is_what_is_reported(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path / "t", SCHEMA, partition_by=["id"])
        uploads = 0
        store = store_of(table)

        def create(key: str, data: bytes) -> None:
            nonlocal uploads
            uploads += key.endswith(".split")
            if uploads == 4:
                raise StorageError("the fourth is refused", written=False)
            store.create(key, data)

        log = make_log(Hooked(store, create=create), {"indexWriter.threads": 4}, workers=IO)
        with pytest.raises(StorageError, match="the fourth is refused"):
            Table(TableHandle(log, open_log(log))).append(some(40))
        assert objects_of(table) == []
        assert uploads < 40, "the others were not built"

    def test_the_first_one_is_reported_whoever_is_heard_first(self, tmp_path: Path) -> None:
        class LastWord:
            """Runs all, whatever happens, and raises what was raised last."""

            def together(self, calls: Sequence[Callable[[], Any]], **_: Any) -> list[Any]:
                errors: list[BaseException] = []
                for call in calls:
                    try:
                        call()
                    except IndexTablesError as error:
                        errors.append(error)
                assert len(errors) == 3
                raise errors[-1]

        def create(key: str, data: bytes) -> None:
            raise StorageError(f"{key} is refused: {len(data)} bytes", written=False)

        table = Table.create(tmp_path / "t", SCHEMA, partition_by=["day"])
        log = make_log(Hooked(store_of(table), create=create), workers=LastWord())
        with pytest.raises(StorageError, match="is refused"):
            ingest(TableHandle(log, open_log(make_log(store_of(table)))), some(9).to_batches(), parameters={})

    def test_an_upload_without_an_answer_gets_another_name(self) -> None:
        store = MemoryStore()
        create_table(make_log(store), SCHEMA, ["day"])
        lost: list[str] = []

        def create(key: str, data: bytes) -> None:
            store.create(key, data)
            if key.endswith(".split") and len(lost) < 2:
                lost.append(key)
                raise StoreUnavailable("no answer")

        table = table_in(Hooked(store, create=create))
        table.append(some(30))
        assert rows_of(table) == some(30)
        assert sorted(objects_of(table)) == sorted(table.files().column("path").to_pylist()), "the lost ones are gone"
        assert len(lost) == 2

    def test_an_outcome_that_nobody_knows_leaves_the_splits(self) -> None:
        store = MemoryStore()
        create_table(make_log(store), SCHEMA, [])

        def create(key: str, data: bytes) -> None:
            if not key.endswith(".split"):
                raise StoreUnavailable("no answer")
            store.create(key, data)

        with pytest.raises(CommitOutcomeUnknown):
            table_in(Hooked(store, create=create)).append(some(3))
        assert len(objects_of(table_in(store))) == 1

    def test_uploads_that_are_too_old(self) -> None:
        store = MemoryStore()
        create_table(make_log(store), SCHEMA, [])
        table = table_in(store, {"indexWriter.splitSize": 100, "indexWriter.threads": 1})

        def slow() -> Iterator[pa.Table]:
            yield some(100)
            store.clock.advance(40 * 3600)
            yield some(100)

        with pytest.raises(CommitError, match=r"began 40\.0 hours ago"):
            table.append(slow())
        assert objects_of(table) == []


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("verb", ["append", "overwrite"])
def test_a_failure_at_every_request(fault: Fault, verb: str) -> None:
    """Of an append to three partitions, at each write; of an overwrite of one file, at each request at all."""
    clean = MemoryStore()
    create_table(make_log(clean), SCHEMA, ["day"] if verb == "append" else [])
    table_in(clean).append(some(6))
    new, both = some(6, 6), some(12) if verb == "append" else some(6, 6)
    counted = Faulty(clean.copy(), mutations_only=verb == "append")
    getattr(table_in(counted), verb)(new)
    assert len(counted.calls) >= 4
    for number in range(1 + FAULTS.index(fault) % STEP, len(counted.calls) + 1, STEP):
        faulty = Faulty(store := clean.copy(), Plan(number, fault), mutations_only=verb == "append")
        outcome: BaseException | None = None
        try:
            getattr(table_in(faulty), verb)(new)
        except (IndexTablesError, Died) as error:
            outcome = error
        assert faulty.fired
        after = table_in(store)
        found = rows_of(after)
        if outcome is None:
            assert found == both
        elif isinstance(outcome, Died | CommitOutcomeUnknown):
            assert found in (some(6), both)
        else:
            assert found == some(6), "what failed for certain is not there"
        if not isinstance(outcome, Died | CommitOutcomeUnknown):
            old = {"append": set(), "overwrite": set(table_in(clean).files().column("path").to_pylist())}[verb]
            assert set(objects_of(after)) - old == set(after.files().column("path").to_pylist()) - old, "no orphans"
        after.append(some(1, 100))
        assert rows_of(after).num_rows == found.num_rows + 1


def test_an_interrupt_from_the_keyboard(tmp_path: Path) -> None:
    table = Table.create(tmp_path / "t", SCHEMA, partition_by=["id"])

    def interrupt(progress: Progress) -> None:
        if progress.splits == 1:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        table.append(some(40), progress=interrupt)
    assert objects_of(table) == []
    assert table.append(some(3)).version == 1


def test_opening_and_creating_tables_needs_no_engine(tmp_path: Path) -> None:
    code = f"""
import sys, indextables, pyarrow
indextables.Table.create({str(tmp_path / "t")!r}, pyarrow.schema([("id", pyarrow.int64())]))
indextables.Table.open({str(tmp_path / "t")!r}).files()
loaded = {{"tantivy", "vortex"}} & set(sys.modules)
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("values", "directory"),
    [
        ({}, ""),
        ({"day": "2024-01-31"}, "day=2024-01-31/"),
        ({"a": None, "b": ""}, "a=__HIVE_DEFAULT_PARTITION__/b=__HIVE_DEFAULT_PARTITION__/"),
        ({"at": "2024-01-31T12:00:00.000000Z"}, "at=2024-01-31T12%3A00%3A00.000000Z/"),
        ({"p": "a/b%c'd\x01é"}, "p=a%2Fb%25c%27d%01é/"),
    ],
)
def test_directories_of_partitions(values: dict[str, str | None], directory: str) -> None:
    assert partition_directory(values) == directory


def test_long_partition_values_have_short_directories() -> None:
    first, second = (partition_directory({"p": "é" * 5000 + end}) for end in "ab")
    assert first != second
    assert len(first.encode()) < 220
