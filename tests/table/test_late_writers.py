"""Writers that sleep: none may be told that rows are in the table whose files a purge took for orphans."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import CommitOutcomeUnknown, FilesChanged, StoreUnavailable, UnsafePath, UploadTooOld
from indextables.log.commit import commit
from indextables.log.conflicts import Change, Rewrite
from indextables.log.deciding.unchanged_rows import check_unchanged
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.checkpoint import checkpoint
from log.support import Hooked, MemoryStore, add, append, make_log, new_table, version_key
from table.purge_support import add as add_split
from table.purge_support import purged, split, upload

HOUR = 3600.0
SAFETY_HOURS = 72


@pytest.fixture
def store() -> MemoryStore:
    """A table with a split, and the split of a writer that has not committed yet."""
    made = MemoryStore()
    log = make_log(made)
    add_split(log, new_table(log), "first")
    upload(made, "mine")
    return made


def write_late(store: MemoryStore, create: Callable[[str, bytes], object]) -> bool:
    """Commit the upload of the fixture, which begins now, by requests that `create` sends."""
    log = make_log(Hooked(store, create=create))
    change = Change(adds=(add(split("mine")),))
    began = store.clock.boot()
    return commit(LogAtVersion(log, open_log(log)), change, operation="WRITE", uploads_began=began).written


@pytest.mark.parametrize("hours", [1, SAFETY_HOURS + 1, 200])
def test_a_create_that_sleeps(store: MemoryStore, hours: int) -> None:
    def create(key: str, data: bytes) -> object:
        if key == version_key(2):
            store.clock.advance(hours * HOUR)
            purged(store, {"purge.retentionCheckEnabled": False}, older_than=1)
        return store.create(key, data)

    if hours < SAFETY_HOURS:
        assert write_late(store, create)
        return
    with pytest.raises(CommitOutcomeUnknown, match=r"mine\.split was purged meanwhile"):
        write_late(store, create)


def test_requests_that_fail_with_sleep_between_them(store: MemoryStore) -> None:
    """Each request comes soon after a look at the table, but the upload grows old."""
    ages = []
    began = store.clock.boot()

    def create(key: str, data: bytes) -> object:
        if key == version_key(2):
            ages.append((store.clock.boot() - began) / HOUR)
            if len(ages) < 4:
                store.clock.advance(35 * HOUR)
                raise StoreUnavailable("no network", key=key)
        return store.create(key, data)

    with pytest.raises(CommitOutcomeUnknown, match="more than half the safety age of 72 hours"):
        write_late(store, create)
    assert max(ages) <= SAFETY_HOURS / 2
    assert open_log(make_log(store)).version == 1


def test_an_upload_that_is_too_old_is_never_sent(store: MemoryStore) -> None:
    log = make_log(store)
    change = Change(adds=(add(split("mine")),))
    began = store.clock.boot() - 37 * HOUR
    with pytest.raises(UploadTooOld):
        commit(LogAtVersion(log, open_log(log)), change, operation="WRITE", uploads_began=began)


def test_rows_that_came_and_were_merged_out_of_sight_are_a_change() -> None:
    """The version that added them is not known after an opening from a state, only the merge that took them in."""
    store = MemoryStore()
    log = make_log(store)
    read = append(log, new_table(log), "a").snapshot
    other = append(log, read, "b").snapshot
    checkpoint(LogAtVersion(log, other), compact=False)
    merged = Change(rewrites=(Rewrite(("a", "b"), (add("c"),), data_change=False),))
    commit(LogAtVersion(log, other), merged, operation="MERGE SPLITS")
    current = open_log(make_log(store))
    assert current.base == 2
    with pytest.raises(FilesChanged, match="computed from version 1"):
        check_unchanged(None, read, current)


def test_a_merge_alone_is_no_change() -> None:
    log = make_log(MemoryStore())
    read = append(log, append(log, new_table(log), "a").snapshot, "b").snapshot
    merged = Change(rewrites=(Rewrite(("a", "b"), (add("c"),), data_change=False),))
    check_unchanged(None, read, commit(LogAtVersion(log, read), merged, operation="MERGE SPLITS").snapshot)


@pytest.mark.parametrize("path", ["splits//a.split", "splits/./a.split", "splits/a.split/"])
def test_a_path_with_two_spellings_is_refused(path: str) -> None:
    """On a local disk such a path names another path's file, which a purge would take for an orphan."""
    log = make_log(MemoryStore())
    with pytest.raises(UnsafePath):
        append(log, new_table(log), path)
    with pytest.raises(UnsafePath):
        Table.create("memory://late/t", "id long", if_exists="open").commit_files([add(path)])


@pytest.mark.parametrize("log_name", ["_transaction_log", "_transaction_log_damaged_x", "_transaction_log_repaired_x"])
def test_a_table_inside_of_a_table_is_left_alone(tmp_path: Path, log_name: str) -> None:
    """Also while the log of the inner table is swapped, as a repair says."""
    options = {"purge.retentionCheckEnabled": False, "safetyAge.hours": 1}
    outer = Table.create(tmp_path / "o", "id long", options=options)
    inner = Table.create(tmp_path / "o" / "inner", "id long", options=options)
    inner.append(pa.table({"id": [1]}))
    (tmp_path / "o" / "inner" / "_transaction_log").rename(tmp_path / "o" / "inner" / log_name)
    for file in (tmp_path / "o" / "inner").rglob("*"):
        os.utime(file, (0, 0))
    assert outer.purge(older_than=1).paths == ()
    assert outer.fsck().num_rows == 0
    assert len(list((tmp_path / "o" / "inner").rglob("*.split"))) == 1
