"""Snapshots travel to other processes as recipes: a few kilobytes, whatever the size of the table, and usable there."""

from __future__ import annotations

import multiprocessing
import pickle
from pathlib import Path

import pytest

from indextables import AddAction, Table
from indextables.core.predicate import parse_predicate
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.state.checkpoint import checkpoint
from indextables.storage.local import LocalStore
from log.support import make_log
from state.support import as_entries, committed, grown, many_files


def big_table(url: Path, files: int) -> Snapshot:
    """A table on disk with a state, and one version after it."""
    log = make_log(LocalStore(str(url)))
    snapshot = grown(log, many_files(files, days=10), "day")
    checkpoint(LogAtVersion(log, snapshot), compact=True)
    log = make_log(LocalStore(str(url)))
    committed(log, open_log(log), [AddAction("late", {"day": "2024-01-03"}, size=7)], ["splits/split-12.split"])
    return open_log(make_log(LocalStore(str(url))))


def test_small_however_large_the_table_is(tmp_path: Path) -> None:
    sizes = []
    for files in (20, 20_000):
        snapshot = big_table(tmp_path / str(files), files)
        sizes.append(len(pickle.dumps(snapshot)))
        assert snapshot.files.num_rows == files
        sizes.append(len(pickle.dumps(snapshot)))
    assert max(sizes) < min(sizes) + 200, "what was read stays at home"
    assert max(sizes) < 12_000


def test_the_copy_is_the_same_table(tmp_path: Path) -> None:
    snapshot = big_table(tmp_path, 300)
    copy = pickle.loads(pickle.dumps(snapshot))
    assert isinstance(copy, Snapshot)
    assert (copy.version, copy.base, copy.table_id, copy.timestamp) == (2, 1, snapshot.table_id, snapshot.timestamp)
    assert copy.schema.equals(snapshot.schema)
    assert as_entries(copy.files) == as_entries(snapshot.files)
    where = parse_predicate("day = DATE '2024-01-03'", copy.schema)
    assert copy.select_files(where).equals(snapshot.select_files(where))
    again = pickle.loads(pickle.dumps(copy))
    assert again.files.equals(copy.files)


def test_the_copy_can_be_committed_on(tmp_path: Path) -> None:
    snapshot = big_table(tmp_path, 30)
    copy = pickle.loads(pickle.dumps(snapshot))
    log = make_log(LocalStore(str(tmp_path)))
    assert committed(log, copy, [AddAction("next", {"day": "2024-01-01"})]).version == 3
    assert Table.open(tmp_path).files().num_rows == 31


def test_a_snapshot_without_a_state_takes_its_files_along(tmp_path: Path) -> None:
    log = make_log(LocalStore(str(tmp_path)))
    snapshot = grown(log, many_files(50), "day")
    assert pickle.loads(pickle.dumps(snapshot)).files.equals(snapshot.files)


def answer(payload: bytes) -> tuple[int, int, list[str]]:
    """Runs in the other process."""
    snapshot: Snapshot = pickle.loads(payload)
    where = parse_predicate("day = DATE '2024-01-03'", snapshot.schema)
    some = snapshot.select_files(where)
    return snapshot.version, snapshot.files.num_rows, sorted(some["path"].to_pylist())[:2]


@pytest.mark.slow
def test_usable_from_a_spawned_process(tmp_path: Path) -> None:
    snapshot = big_table(tmp_path, 1500)
    payload = pickle.dumps(snapshot)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        version, rows, some = pool.apply(answer, (payload,))
    assert (version, rows) == (2, 1500)
    assert some == ["late", "splits/split-1002.split"]
