"""Tables of many small splits, for tests of merging them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from indextables import Table
from indextables.log.open_snapshot import open_log
from indextables.split.build import split_merge
from indextables.table.handle import TableHandle
from indextables.table.write.create import create_table
from log.support import MemoryStore, make_log, raw_lines, version_key
from table.written_support import objects_of, rows_of
from tables import store_of

SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("level", pa.string()), ("day", pa.date32()), ("host", pa.string())]
)
DAYS = [dt.date(2024, 1, 30), dt.date(2024, 1, 31), None]


def join_indexes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merges join the indexes of all splits, as they do for splits of 1,024 rows and more."""
    join_indexes_from(monkeypatch, rows=0)


def join_indexes_from(monkeypatch: pytest.MonkeyPatch, rows: int = split_merge.PartSizes().indexed) -> None:
    """Merges join the indexes of splits of so many rows and more, and index the rows of smaller splits anew."""
    monkeypatch.setattr(split_merge, "PART_SIZES", split_merge.PartSizes(indexed=rows))


def some(rows: int, first: int = 0) -> pa.Table:
    numbers = range(first, first + rows)
    columns = {
        "id": pa.array(numbers, pa.int64()),
        "level": pa.array([("INFO", "ERROR", None)[number % 3] for number in numbers], pa.string()),
        "day": pa.array([DAYS[number // 2 % 3] for number in numbers], pa.date32()),
        "host": pa.array([("a", "b", "")[number // 2 % 3] for number in numbers], pa.string()),
    }
    return pa.table(columns, schema=SCHEMA)


def table_in(store: Any, options: dict[str, Any] | None = None, **more: Any) -> Table:
    log = make_log(store, options, **more)
    return Table(TableHandle(log, open_log(log)))


def store_with(appends: int, partition_by: list[str] | None = None, rows: int = 6) -> MemoryStore:
    """A table of `appends` times `rows` rows; time goes on by a second between them."""
    store = MemoryStore()
    create_table(make_log(store), SCHEMA, partition_by or [])
    for number in range(appends):
        store.clock.advance(1)
        table_in(store).append(some(rows, number * rows))
    return store


def grown(table: Table, appends: int, rows: int = 6) -> Table:
    for number in range(appends):
        table.append(some(rows, number * rows))
    return table


def live(table: Table, where: str | None = None) -> list[str]:
    paths: list[str] = table.files(where).column("path").to_pylist()
    return paths


def size_of(table: Table) -> int:
    size: int = max(table.files().column("size").to_pylist())
    return size


def actions_of(table: Table, version: int | None = None) -> list[dict[str, Any]]:
    """The lines of a version file, as JSON."""
    return raw_lines(store_of(table).get(version_key(table.version if version is None else version)).data)


def orphans(table: Table) -> set[str]:
    """Data files that were never live in a version that can still be read."""
    ever: set[str] = set()
    for version in range(table.version + 1):
        ever |= {action["add"]["path"] for action in actions_of(table, version) if "add" in action}
    return set(objects_of(table)) - ever


def check(store: Any, expected: pa.Table) -> Table:
    """Every row once, as everybody sees it who opens the table now, and no file that nobody knows of."""
    table = table_in(store)
    assert rows_of(table) == expected
    assert orphans(table) == set()
    assert table.count() == expected.num_rows
    return table
