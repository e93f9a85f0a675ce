"""`Table.scan` and `Table.count`: equal to brute force, in order, and stopped when nobody reads on."""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import predicate_data as data
from effort import examples
from indextables import AddAction, Table
from indextables.core.errors import (
    AccessDenied,
    CorruptLog,
    ForeignTable,
    OptionError,
    PredicateError,
    SchemaError,
    SplitError,
)
from indextables.core.predicate import evaluate, parse_predicate, to_sql
from indextables.core.runtime.threads import Inline
from indextables.log.actions import ProtocolAction
from indextables.log.file_entries import rows_to_adds
from indextables.split import open_splits
from indextables.split.plan.costs import COSTS, Costs
from indextables.storage.testing.counting import Counting
from split.reader_support import EVERY_INDEX, costs_of
from table.rows_support import add_rows
from tables import at_snapshot, handle_of, on_store, reopened, store_of

SCHEMA = pa.schema([("id", pa.int64()), ("level", pa.string()), ("cost", pa.float64()), ("day", pa.date32())])
START = dt.date(2024, 1, 1)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    open_splits.close_all()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))


@pytest.fixture(params=["local", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "table") if request.param == "local" else f"memory://{uuid.uuid4().hex}/table"


def log_rows(first: int, rows: int) -> pa.Table:
    numbers = np.arange(first, first + rows)
    return pa.table(
        {
            "id": numbers,
            "level": [None if n % 50 == 7 else ("ERROR", "INFO", "DEBUG")[n % 3] for n in numbers.tolist()],
            "cost": [None if n % 11 == 3 else float("nan") if n % 97 == 0 else n / 10 for n in numbers.tolist()],
            "day": [None if n % 60 == 59 else START + dt.timedelta(days=n // 40 % 3) for n in numbers.tolist()],
        },
        SCHEMA,
    )


@pytest.fixture(scope="module", params=["local", "memory"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Table, pa.Table]:
    """A table of nine splits in four partitions (one of them null), and its rows in the order of its files."""
    local = request.param == "local"
    url = str(tmp_path_factory.mktemp("logs")) if local else f"memory://{uuid.uuid4().hex}/table"
    table = Table.create(url, SCHEMA, partition_by=["day"])
    for first in (0, 100, 200):
        add_rows(table, log_rows(first, 100))
    return table, table.scan().read_all()


@pytest.fixture
def logs(made: tuple[Table, pa.Table]) -> tuple[Table, pa.Table]:
    """The same for reading only."""
    table, rows = made
    return reopened(table), rows


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Table:
    table = Table.create(tmp_path_factory.mktemp("local") / "table", SCHEMA, partition_by=["day"])
    for first in (0, 100, 200):
        add_rows(table, log_rows(first, 100))
    return table


@pytest.fixture
def own(local: Table, tmp_path: Path) -> Table:
    """A copy to be changed."""
    shutil.copytree(local.url, tmp_path / "own")
    return Table.open(tmp_path / "own")


def matching(rows: pa.Table, where: str | None) -> pa.Table:
    return rows if where is None else rows.filter(evaluate(parse_predicate(where, rows.schema), rows))


def same(found: pa.Table, expected: pa.Table) -> bool:
    return str(found.to_pylist()) == str(expected.to_pylist()) and found.schema.equals(
        expected.schema, check_metadata=True
    )


WHERES = [
    None,
    "id = 42",
    "id IN (1, 142, 299, 300)",
    "id BETWEEN 90 AND 110",
    "day = DATE '2024-01-02'",
    "day IS NULL",
    "day IS NOT NULL AND level = 'ERROR'",
    "day > DATE '2024-01-01' OR id < 5",
    "NOT (day = DATE '2024-01-02')",
    "level IS NULL",
    "level = 'ERROR' AND cost > 20",
    "cost > 1000",
    "cost >= 0",
    "level IN ('ERROR', NULL)",
    "level NOT IN ('ERROR', NULL)",
    "NOT (level = 'ERROR' OR id > 150)",
    "level LIKE 'E%' OR level LIKE '%FO'",
    "TRUE",
    "FALSE",
    "NULL",
    "id >= 0",
]


@pytest.mark.parametrize("costs", [COSTS, EVERY_INDEX], ids=["scan", "index"])
def test_scan_and_count(logs: tuple[Table, pa.Table], costs: Costs) -> None:
    table, rows = logs
    assert sorted(rows.column("id").to_pylist()) == list(range(300))
    with costs_of(costs):
        for where in WHERES:
            expected = matching(rows, where)
            assert same(table.scan(where=where).read_all(), expected), where
            assert same(table.scan(["level", "day"], where).read_all(), expected.select(["level", "day"])), where
            assert table.count(where) == expected.num_rows, where


def test_the_rows_are_those_that_were_written(url: str) -> None:
    table = Table.create(url, SCHEMA)
    first, second = log_rows(0, 100), log_rows(100, 50)
    add_rows(table, first)
    add_rows(table, second)
    found = table.scan()
    assert isinstance(found, pa.RecordBatchReader)
    assert found.schema == SCHEMA
    assert same(found.read_all(), pa.concat_tables([first, second]))


@given(source=st.data())
@settings(max_examples=examples(15), deadline=None, suppress_health_check=list(HealthCheck))
def test_random_tables_equal_brute_force(source: st.DataObject) -> None:
    rows = source.draw(data.rows(data.SCHEMA.names, max_size=25))
    partition_by = source.draw(st.sampled_from([(), ("day",), ("text", "flag"), ("tiny",)]))
    for row in rows:
        if "day" in partition_by and row["day"] is not None:
            row["day"] %= 3
        if "text" in partition_by and row["text"] is not None:
            row["text"] = row["text"][:1]
        if "tiny" in partition_by and row["tiny"] is not None:
            row["tiny"] %= 4
    cut = source.draw(st.integers(0, len(rows)))
    predicates = source.draw(st.lists(data.predicates(data.SCHEMA.names, rows), min_size=8, max_size=8))
    stats = source.draw(st.booleans(), label="stats")
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", data.SCHEMA, partition_by=partition_by)
    for piece in (rows[:cut], rows[cut:]):
        add_rows(table, data.to_table(piece), stats=stats)
    with costs_of(EVERY_INDEX if source.draw(st.booleans(), label="ask every index") else COSTS):
        whole = table.scan().read_all()
        assert whole.schema == data.SCHEMA
        assert Counter(cells(whole)) == Counter(cells(data.to_table(rows)))
        for predicate in predicates:
            where = to_sql(predicate)
            expected = whole.filter(evaluate(predicate, whole))
            assert list(cells(table.scan(where=where).read_all())) == list(cells(expected)), where
            assert table.count(where) == expected.num_rows, where


def cells(rows: pa.Table) -> Any:
    """Each row as a text that is the same for the same bits."""
    columns = []
    for column in rows.columns:
        if pa.types.is_temporal(column.type):
            column = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
        columns.append(map(repr, column.to_pylist()))
    return zip(*columns, strict=True)


def test_rows_that_were_appended_and_replaced(url: str) -> None:
    table = Table.create(url, SCHEMA, partition_by=["day"])
    rows = log_rows(0, 100)
    table.append(rows)
    table.append(log_rows(100, 20).to_batches())
    everything = pa.concat_tables([rows, log_rows(100, 20)])
    assert Counter(cells(table.scan().read_all())) == Counter(cells(everything))
    for where in WHERES:
        assert table.count(where) == matching(everything, where).num_rows, where
        assert table.scan(where=where).read_all().num_rows == matching(everything, where).num_rows, where
    other = matching(log_rows(500, 100), "day = DATE '2024-01-02'")
    table.overwrite(other, where="day = DATE '2024-01-02'")
    kept = matching(everything, "day IS NULL OR day <> DATE '2024-01-02'")
    assert Counter(cells(table.scan().read_all())) == Counter(cells(pa.concat_tables([kept, other])))
    assert table.count() == kept.num_rows + other.num_rows
    assert Table.open(url, version=2).count() == 120


class TestColumns:
    def test_in_any_order_and_letter_case(self, logs: tuple[Table, pa.Table]) -> None:
        table, rows = logs
        assert same(table.scan(["day", "ID"]).read_all(), rows.select(["day", "id"]))
        assert same(table.scan(iter(["cost"])).read_all(), rows.select(["cost"]))  # type: ignore[arg-type]
        assert same(table.scan(["day"], "id < 10").read_all(), matching(rows, "id < 10").select(["day"]))

    def test_none_at_all(self, logs: tuple[Table, pa.Table]) -> None:
        table, _ = logs
        batches = list(table.scan([]))
        assert sum(batch.num_rows for batch in batches) == 300
        assert {batch.num_columns for batch in batches} == {0}
        assert sum(batch.num_rows for batch in table.scan([], "id < 10")) == 10

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            (["idd"], "the table has no column idd; did you mean id?"),
            (["zzzzzz"], "the table has no column zzzzzz; the columns are id, level, cost, day"),
            (["id", "ID"], "column id is asked for twice"),
            ("id", "columns is a list of names, not 'id'"),
            (5, "columns is a list of names, not 5"),
            ([5], "a column is asked for by its name, not by 5"),
        ],
    )
    def test_that_do_not_exist(self, logs: tuple[Table, pa.Table], columns: Any, message: str) -> None:
        with pytest.raises(SchemaError) as raised:
            logs[0].scan(columns)
        assert str(raised.value) == message

    def test_that_came_later(self, url: str) -> None:
        table = Table.create(url, pa.schema([("id", pa.int64()), ("day", pa.date32())]), partition_by=["day"])
        add_rows(table, pa.table({"id": [1, 2], "day": pa.array([START, None], pa.date32())}))
        wider = pa.schema([("id", pa.int64()), ("note", pa.string()), ("day", pa.date32())])
        table = widened(table, wider)
        add_rows(table, pa.table({"id": [3], "note": ["x"], "day": [START]}, wider))
        found = table.scan().read_all()
        assert found.schema == wider
        assert found.sort_by("id").column("note").to_pylist() == [None, None, "x"]
        assert table.count("note IS NULL") == 2
        assert table.count("note = 'x' OR day IS NULL") == 2


def widened(table: Table, schema: pa.Schema) -> Table:
    """What a later verb will do: the same metadata with another schema."""
    from dataclasses import replace

    from indextables.core.types import arrow_to_spark_json

    snapshot = handle_of(table).snapshot
    metadata = msgspec.structs.replace(snapshot.metadata, schema_string=arrow_to_spark_json(schema))
    changed = replace(snapshot, metadata=metadata)
    changed.__dict__.pop("schema", None)
    return at_snapshot(table, changed)


class TestLimit:
    @pytest.mark.parametrize("limit", [0, 1, 39, 40, 41, 299, 300, 301, 10**12])
    def test_the_first_rows(self, logs: tuple[Table, pa.Table], limit: int) -> None:
        table, rows = logs
        assert same(table.scan(limit=limit).read_all(), rows.slice(0, limit))
        assert same(table.scan(where="id >= 50", limit=limit).read_all(), matching(rows, "id >= 50").slice(0, limit))

    def test_stops_early(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path, SCHEMA)
        (path,) = add_rows(table, log_rows(0, 3))
        whole = store_of(table).get(path).data
        for number in range(40):
            store_of(table).create(f"{number}.split", whole)
        (add,) = rows_to_adds(table.files())
        table.commit_files([msgspec.structs.replace(add, path=f"{number}.split") for number in range(40)])
        store = Counting(store_of(table))
        counted = on_store(table, store)
        assert counted.scan(limit=4).read_all().num_rows == 4
        assert len({key for key in store.keys if key.endswith(".split")}) < 30

    def test_beyond_64_bits(self, logs: tuple[Table, pa.Table]) -> None:
        assert logs[0].scan(limit=1 << 70).read_all().num_rows == logs[0].count()

    @pytest.mark.parametrize("limit", [-1, True, 1.5, "3"])
    def test_that_is_no_number(self, logs: tuple[Table, pa.Table], limit: Any) -> None:
        with pytest.raises(OptionError, match="limit is"):
            logs[0].scan(limit=limit)


class TestWhere:
    @pytest.mark.parametrize("verb", ["scan", "count"])
    @pytest.mark.parametrize("where", [5, "lvel = 'x'", "id = ", "id = 'x'"])
    def test_that_is_wrong(self, logs: tuple[Table, pa.Table], where: Any, verb: str) -> None:
        with pytest.raises(PredicateError):
            getattr(logs[0], verb)(where=where)


class TestCountFromTheLog:
    @pytest.mark.parametrize(
        ("where", "opened_splits"),
        [
            (None, 0),
            ("day = DATE '2024-01-02'", 0),
            ("day IS NULL OR day > DATE '2024-01-02'", 0),
            ("id >= 0", 0),
            ("id < 200", 0),
            ("id BETWEEN -5 AND 1000 AND day IS NOT NULL", 0),
            ("id < 0", 0),
            ("id = 105", 1),
            ("level <= 'ZZZ' AND day = DATE '2024-01-01'", 3),
        ],
    )
    def test_splits_that_are_opened(self, local: Table, where: str | None, opened_splits: int) -> None:
        store = Counting(store_of(local))
        counted = on_store(local, store)
        found = counted.count(where)
        asked = {key for key in store.keys if key.endswith(".split")}
        assert len(asked) == opened_splits
        assert found == matching(local.scan().read_all(), where).num_rows

    def test_files_without_a_number_of_rows(self, own: Table) -> None:
        table, rows = own, own.scan().read_all()
        add_rows(table, log_rows(300, 10), num_records=None, stats=False)
        assert table.count() == 310
        assert table.count("day IS NULL") == matching(rows, "day IS NULL").num_rows
        assert table.count("id >= 5") == 305

    def test_nulls_and_nan_are_not_counted_by_bounds(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path, SCHEMA)
        rows = pa.table(
            {"id": [1, 2, None], "level": ["a", None, "b"], "cost": [1.0, float("nan"), 2.0], "day": [None] * 3}, SCHEMA
        )
        add_rows(table, rows)
        for where in (
            "id >= 1",
            "cost <= 2",
            "cost >= 1",
            "NOT (cost > 5)",
            "id <=> 1",
            "level IN ('a', 'b', NULL)",
            "cost IS NOT NULL",
        ):
            assert table.count(where) == matching(rows, where).num_rows, where

    def test_an_unfinished_list(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path, SCHEMA)
        add_rows(
            table, pa.table({"id": [1, 1], "level": ["a", "a"], "cost": [1.0, 1.0], "day": [START, START]}, SCHEMA)
        )
        for where, rows in (
            ("id NOT IN (2, NULL)", 0),
            ("id IN (2, NULL)", 0),
            ("id IN (1, NULL)", 2),
            ("NULL OR id = 1", 2),
        ):
            assert table.count(where) == rows, where


def test_an_empty_table(url: str) -> None:
    table = Table.create(url, SCHEMA)
    assert same(table.scan().read_all(), SCHEMA.empty_table())
    assert same(table.scan(["day"], "id = 1", limit=5).read_all(), SCHEMA.empty_table().select(["day"]))
    assert (table.count(), table.count("id = 1")) == (0, 0)


def test_an_older_version(logs: tuple[Table, pa.Table]) -> None:
    table, _ = logs
    old = Table.open(table.url, version=1)
    assert sorted(old.scan(["id"]).read_all().column("id").to_pylist()) == list(range(100))
    assert old.count() == 100
    assert old.count("id >= 50") == 50


def test_after_a_checkpoint(own: Table) -> None:
    table, rows = own, own.scan().read_all()
    table.checkpoint()
    again = Table.open(table.url)
    assert Counter(cells(again.scan().read_all())) == Counter(cells(rows))
    assert again.count("level = 'ERROR'") == matching(rows, "level = 'ERROR'").num_rows


def test_without_threads(logs: tuple[Table, pa.Table]) -> None:
    table, rows = logs
    inline = on_store(table, workers=Inline())
    before = threading.active_count()
    with inline.scan() as found:
        first = found.read_next_batch()
        assert threading.active_count() == before
        assert first.num_rows + found.read_all().num_rows == rows.num_rows
    assert inline.count("level = 'ERROR'") == matching(rows, "level = 'ERROR'").num_rows


class TestWhatIsWrong:
    def test_a_foreign_table(self, logs: tuple[Table, pa.Table]) -> None:
        table, _ = logs
        from dataclasses import replace

        table = at_snapshot(table, replace(handle_of(table).snapshot, protocol=ProtocolAction(2, 2)))
        reason = "was written by another implementation: its protocol lacks the feature bundleSplits"
        with pytest.raises(ForeignTable, match=reason):
            table.scan()
        with pytest.raises(ForeignTable, match=reason):
            table.count("level = 'ERROR'")
        assert table.count() == 300, "the log knows"

    def test_a_split_that_is_missing(self, own: Table) -> None:
        table = own
        (path,) = add_rows(table, log_rows(1000, 10).set_column(3, SCHEMA.field("day"), pa.array([START] * 10)))
        store_of(table).delete([path])
        with pytest.raises(SplitError, match=rf"{path} is missing, and the table has rows in it"):
            table.scan().read_all()
        with pytest.raises(SplitError, match=rf"{path} is missing"):
            table.count("cost > 100.05")
        assert table.count() == 310
        assert table.scan(where="id < 100").read_all().num_rows == 100, "it is not needed"

    def test_a_split_of_another_size(self, own: Table) -> None:
        table = own
        (path,) = add_rows(table, log_rows(1000, 1), size=77)
        with pytest.raises(SplitError, match=path):
            table.scan().read_all()

    def test_a_file_that_is_no_split(self, url: str) -> None:
        table = Table.create(url, SCHEMA)
        store_of(table).put("a.parquet", b"PAR1" + bytes(200) + b"PAR1")
        table.commit_files([AddAction("a.parquet", size=208, num_records=5)])
        with pytest.raises(SplitError, match=r"a\.parquet is damaged: it ends with .*, expected b'ITSPLIT"):
            table.scan().read_all()

    def test_a_partition_value_that_is_none(self, url: str) -> None:
        table = Table.create(url, SCHEMA, partition_by=["day"])
        add_rows(table, log_rows(0, 1), partition_values={"day": "someday"})
        with pytest.raises(CorruptLog, match=r"partition value day='someday' of splits/.* is no date32"):
            table.scan().read_all()

    def test_the_store_says_no(self, logs: tuple[Table, pa.Table]) -> None:
        table, _ = logs

        class Refusing(Counting):
            def get_range(self, key: str, start: int, end: int) -> bytes:
                raise AccessDenied(f"{key} is not yours")

        broken = on_store(table, Refusing(store_of(table)))
        with pytest.raises(AccessDenied, match="is not yours"):
            broken.scan().read_all()


class TestStopping:
    @pytest.fixture
    def many(self, local: Table) -> Table:
        return reopened(local)

    @staticmethod
    def threads() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name == "indextables-scan"]

    def ended(self) -> bool:
        deadline = time.monotonic() + 5
        while self.threads() and time.monotonic() < deadline:
            time.sleep(0.01)
        return not self.threads()

    def test_after_the_last_row(self, many: Table) -> None:
        assert many.scan().read_all().num_rows == 300
        assert not self.threads()

    def test_when_the_reader_is_closed(self, many: Table) -> None:
        with many.scan() as found:
            found.read_next_batch()
        assert self.ended()

    def test_when_the_reader_is_forgotten(self, many: Table) -> None:
        found = many.scan()
        found.read_next_batch()
        del found
        assert not self.threads()

    def test_when_nobody_reads_on(self, many: Table) -> None:
        found = many.scan()
        first = found.read_next_batch()
        assert self.ended()
        assert first.num_rows + found.read_all().num_rows == 300

    def test_after_an_error(self, own: Table) -> None:
        path = own.files().column("path")[5].as_py()
        store_of(own).delete([path])
        with pytest.raises(SplitError, match="is missing"):
            own.scan().read_all()
        assert not self.threads()

    def test_an_interrupt(self, many: Table) -> None:
        """In a process of its own: the signal comes while it waits for a slow store."""
        script = f"""
            import os, signal, sys, threading, time
            sys.path.append({str(Path(__file__).parents[1])!r})
            from indextables import Table
            from indextables.storage.testing.counting import Counting
            from tables import on_store, store_of

            table = Table.open({many.url!r})
            slow = on_store(table, Counting(store_of(table), latency_seconds=0.2))
            for ask in (lambda: slow.scan().read_all(), lambda: slow.count("level = 'ERROR'")):
                threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
                began = time.monotonic()
                try:
                    ask()
                    sys.exit("it was not interrupted")
                except KeyboardInterrupt:
                    took = time.monotonic() - began
                left = [thread.name for thread in threading.enumerate() if thread.name == "indextables-scan"]
                if took > 1.5 or left:
                    sys.exit(f"after {{took}} s there is {{left}}")
            print("stopped")
        """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout) == (0, "stopped\n"), done.stderr


def test_opening_a_table_loads_no_engine() -> None:
    script = """
        import sys
        from indextables import Table
        import uuid, pyarrow as pa
        table = Table.create(f"memory://{uuid.uuid4().hex}/t", pa.schema([("id", pa.int64())]))
        assert table.count() == 0
        print(sorted({"tantivy", "vortex"} & sys.modules.keys()))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "[]\n", done.stderr


def test_first_rows_are_read_by_their_numbers(url: str) -> None:
    """Across splits and partitions, as a scan of everything gives them."""
    table = Table.create(url, SCHEMA, partition_by=["day"])
    for start in range(0, 150, 50):
        table.append(log_rows(start, 50))
    every = table.scan().read_all()
    for limit in (0, 1, 7, 40, 41, 99, every.num_rows, every.num_rows + 5):
        found = table.scan(limit=limit).read_all()
        assert str(found.to_pylist()) == str(every.slice(0, limit).to_pylist())  # as texts, because of NaN
    assert table.scan(columns=[], limit=4).read_all().num_rows == 4


def test_first_rows_before_a_split_that_is_gone(tmp_path: Path) -> None:
    """The rows before the split come; the split is an error in its turn."""
    table = Table.create(tmp_path / "table", SCHEMA)
    for start in (0, 10):
        table.append(log_rows(start, 10))
    _, second = table.files().column("path").to_pylist()
    (tmp_path / "table" / second).unlink()
    assert table.scan(columns=["id"], limit=10).read_all().column("id").to_pylist() == list(range(10))
    with pytest.raises(SplitError, match=second):
        table.scan(limit=11).read_all()
