"""`Table.overwrite`: all rows, or those of some partitions, are replaced at once."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import CommitOutcomeUnknown, PredicateError, SchemaError, StoreUnavailable
from indextables.log.open_snapshot import open_log
from indextables.table.handle import TableHandle
from indextables.table.write.create import create_table
from log.support import Hooked, MemoryStore, make_log
from table.written_support import objects_of, rows_of

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("host", pa.string())])


def some(ids: range, day: int | None, host: str | None = "a") -> pa.Table:
    date = None if day is None else dt.date(2024, 1, day)
    columns = [list(ids), [date] * len(ids), [host] * len(ids)]
    return pa.table(columns, schema=SCHEMA)


def ids(table: Table) -> list[int]:
    found: list[int] = rows_of(table).column("id").to_pylist()
    return found


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = Table.create(tmp_path / "t", SCHEMA, partition_by=["day", "host"])
    table.append([some(range(3), 1), some(range(3, 6), 2), some(range(6, 9), 2, "b"), some(range(9, 10), None, None)])
    return table


class TestEverything:
    def test_is_replaced(self, table: Table) -> None:
        done = table.overwrite(some(range(100, 103), 5))
        assert (done.version, done.metrics["numRemovedFiles"], done.metrics["numAddedFiles"]) == (2, 4, 1)
        assert ids(table) == [100, 101, 102]
        assert len(ids(Table.open(table.url, version=1))) == 10, "history stays readable"

    @pytest.mark.parametrize("data", [[], some(range(0), 1)])
    def test_by_nothing_at_all(self, table: Table, data: Any) -> None:
        done = table.overwrite(data)
        assert (done.written, done.version) == (True, 2)
        assert ids(table) == []

    def test_of_an_empty_table(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path / "empty", SCHEMA)
        table.overwrite(some(range(3), 1))
        assert ids(table) == [0, 1, 2]

    def test_that_others_appended_meanwhile_too(self, table: Table) -> None:
        other = Table.open(table.url)
        other.append(some(range(50, 60), 7))
        assert table.overwrite(some(range(100, 101), 5)).version == 3
        assert ids(table) == [100]

    def test_the_log_says_what_was_done(self, table: Table) -> None:
        table.overwrite(some(range(1), 1), where="day = '2024-01-01'")
        [row] = table.history(1).to_pylist()
        assert row["operation"] == "WRITE"
        assert dict(row["parameters"]) == {"mode": "Overwrite", "predicate": "`day` = DATE '2024-01-01'"}


class TestWhere:
    @pytest.mark.parametrize(
        ("where", "data", "left"),
        [
            ("day = '2024-01-02'", some(range(100, 101), 2, "c"), [0, 1, 2, 9, 100]),
            ("day = '2024-01-02' AND host = 'b'", some(range(100, 101), 2, "b"), [0, 1, 2, 3, 4, 5, 9, 100]),
            ("day IS NULL", some(range(100, 101), None), [0, 1, 2, 3, 4, 5, 6, 7, 8, 100]),
            ("day > '2024-01-01'", some(range(0), 2), [0, 1, 2, 9]),
            ("day = '2030-01-01'", some(range(0), 2), list(range(10))),
            ("true", some(range(100, 101), 9), [100]),
        ],
    )
    def test_replaces_the_partitions_it_selects(
        self, table: Table, where: str, data: pa.Table, left: list[int]
    ) -> None:
        table.overwrite(data, where=where)
        assert ids(table) == left

    def test_selects_at_the_version_of_the_commit(self, table: Table) -> None:
        other = Table.open(table.url)
        other.append([some(range(20, 22), 2, "new"), some(range(30, 32), 3)])
        table.overwrite(some(range(100, 101), 2), where="day = '2024-01-02'", if_changed="replace")
        assert ids(table) == [0, 1, 2, 9, 30, 31, 100]

    @pytest.mark.parametrize(
        ("where", "message"),
        [
            ("id = 3", "asks for id, but only whole partitions"),
            ("day = '2024-01-02' OR id > 3", "asks for id"),
            ("dya = '2024-01-02'", "dya"),
            ("day = ", "end of the text|nothing|expected"),
            (7, "where is SQL text"),
        ],
    )
    def test_over_anything_else_is_refused(self, table: Table, where: Any, message: str) -> None:
        before = objects_of(table)
        with pytest.raises(PredicateError, match=message):
            table.overwrite(some(range(1), 2), where=where)
        assert (objects_of(table), table.refresh().version) == (before, 1)

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            ([some(range(3), 2), some(range(3, 4), 1)], r"row 3 of the data has day=2024-01-01.* does not select"),
            ([some(range(1), None)], "row 0 of the data has day=None"),
        ],
    )
    def test_must_hold_for_every_new_row(self, table: Table, data: Any, message: str) -> None:
        before = objects_of(table)
        with pytest.raises(PredicateError, match=message):
            table.overwrite(data, where="day = '2024-01-02'")
        assert (objects_of(table), table.refresh().version) == (before, 1)

    def test_on_a_table_without_partitions(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path / "plain", SCHEMA)
        with pytest.raises(PredicateError, match="this table has none"):
            table.overwrite(some(range(1), 1), where="id = 0")


class TestFailures:
    def test_of_the_data_replace_nothing(self, table: Table) -> None:
        before = objects_of(table)
        with pytest.raises(SchemaError):
            table.overwrite([some(range(100, 200), 1), pa.table({"id": ["x"]})])
        assert (objects_of(table), ids(table.refresh())) == (before, list(range(10)))

    def test_an_outcome_that_nobody_knows_leaves_the_new_splits(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        Table(TableHandle(log, create_table(log, SCHEMA, []))).append(some(range(3), 1))

        def create(key: str, data: bytes) -> None:
            if not key.endswith(".split"):
                raise StoreUnavailable("no answer")
            store.create(key, data)

        hooked = make_log(Hooked(store, create=create))
        with pytest.raises(CommitOutcomeUnknown):
            Table(TableHandle(hooked, open_log(hooked))).overwrite(some(range(5), 1))
        found = Table(TableHandle(log, open_log(make_log(store))))
        assert ids(found) == [0, 1, 2]
        assert len(objects_of(found)) == 2
