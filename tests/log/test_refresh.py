"""Refreshing a handle whose table is not the same any more."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import TableNotFound, TableReplaced
from indextables.log.open_snapshot import open_log
from indextables.log.refresh import open_current, refresh
from indextables.log.snapshot import LogAtVersion
from log.support import FakeClock, MemoryStore, append, grown, live, make_log, new_table


def replaced(store: MemoryStore, versions: int = 0) -> None:
    """The table is dropped, and another one is created in its place."""
    store.objects.clear()
    log = make_log(store, clock=FakeClock(seed=77))
    snapshot = new_table(log)
    for number in range(versions):
        snapshot = append(log, snapshot, f"other{number}").snapshot


@pytest.mark.parametrize("versions", [0, 1, 2, 5])
def test_a_table_that_was_created_anew_is_another_table(versions: int) -> None:
    store = MemoryStore()
    log = make_log(store)
    held = grown(log, 2)
    replaced(store, versions)
    with pytest.raises(TableReplaced, match="dropped and created again since it was opened; open it anew"):
        refresh(LogAtVersion(log, held))
    with pytest.raises(TableReplaced):
        refresh(LogAtVersion(log, held))


def test_opening_the_url_finds_the_new_table() -> None:
    """What the process remembers of the URL is only a place to start from."""
    store = MemoryStore()
    log = make_log(store)
    held = grown(log, 2)
    replaced(store, 1)
    opened = open_current(log)
    assert opened.table_id != held.table_id
    assert live(opened) == {"other0"}


def test_a_stale_snapshot_that_may_be_used_is_not_looked_at() -> None:
    store = MemoryStore()
    log = make_log(store, {"transaction.maxStaleness": 60})
    held = grown(log, 2)
    replaced(store)
    assert refresh(LogAtVersion(log, held)) is held
    store.clock.advance(61)
    with pytest.raises(TableReplaced):
        refresh(LogAtVersion(log, held))


def test_a_table_that_was_dropped() -> None:
    store = MemoryStore()
    log = make_log(store)
    held = grown(log, 2)
    store.objects.clear()
    with pytest.raises(TableNotFound):
        refresh(LogAtVersion(log, held))


def test_after_the_error_the_handle_is_where_it_was(tmp_path: Path) -> None:
    url = str(tmp_path / "table")
    Table.create(url, pa.schema([("id", pa.int64())]))
    held = Table.open(url)
    (tmp_path / "table").rename(tmp_path / "away")
    Table.create(url, pa.schema([("other", pa.string())]))
    for _ in range(2):
        with pytest.raises(TableReplaced):
            held.refresh()
    assert held.schema.names == ["id"]
    assert Table.open(url).schema.names == ["other"]


def test_the_same_table_is_refreshed() -> None:
    store = MemoryStore()
    log = make_log(store)
    held = grown(log, 2)
    append(make_log(store), open_log(make_log(store)), "more")
    assert live(refresh(LogAtVersion(log, held))) == {"f1", "f2", "more"}
