"""A purge with a failure at every single request that it makes.

A clean run counts the requests. Then, for each of them and for each kind of failure, the purge runs again on a copy of the same
table. What is left is the same table, everything that may be read is there, and the next purge ends where a clean one ends.
"""

from __future__ import annotations

import pytest

from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.log.table_log import TableLog
from indextables.table.maintain.purge import purge, purge_ages
from log.crash import Operation, crashes, retried
from log.support import DAY, MemoryStore, live, new_table
from state.support import stated
from table.purge_support import add, split, splits, upload

OPTIONS = (
    ("state.retention.versions", 1),
    ("state.retention.hours", 0),
    ("checkpointRetention.duration", 0),
    ("checkpoint.multipart.maxActionsPerPart", 2),
    ("logRetention.duration", 86_400_000),
)
LIVE = frozenset(split(f"s{number}") for number in (2, 4, 5, 6, 7, 8))


def prepare(log: TableLog) -> None:
    """Nine versions, of which two remove, with states and a checkpoint in parts between them, and orphans. All of it is old."""
    snapshot = new_table(log)
    for number in range(1, 9):
        removes = {3: ["s1"], 5: ["s3"]}.get(number, [])
        snapshot = add(log, snapshot, f"s{number}", removes=removes)
        if number == 2:
            assert write_checkpoint(LogAtVersion(log, snapshot))
        if number in (4, 6, 7):
            snapshot = stated(log, snapshot, compact=number == 7)
        log.store.age(2 * DAY)  # type: ignore[attr-defined]
    upload(log.store, "o1", "o2", "o3")
    log.store.age(30 * DAY)  # type: ignore[attr-defined]


def act(log: TableLog) -> None:
    purge(LogAtVersion(log, open_log(log)), purge_ages(log.options))


PURGE = Operation("purge", prepare, act, LIVE, LIVE, OPTIONS, commits=False)


def everything_is_there(store: MemoryStore, where: str) -> None:
    """Every file that a fresh reader finds in a version that opens is in the store."""
    snapshot = open_log(PURGE.log(store))
    assert live(snapshot) == LIVE, where
    assert all(path in store.objects for path in LIVE), where
    for version in (7, 8):
        assert live(open_log(PURGE.log(store), version)) <= store.objects.keys(), where


def test_the_table_is_whole_after_every_failure() -> None:
    fates = set()
    for store, error, where in crashes(PURGE):
        everything_is_there(store, where)
        fates.add(error is None)
    assert fates == {True, False}, "some failures are survived, others are not"


def test_it_can_be_written_to_after_every_failure() -> None:
    for store, _, where in crashes(PURGE):
        log = PURGE.log(store)
        assert add(log, open_log(log), "later").version == 9, where
        assert live(open_log(PURGE.log(store))) == LIVE | {split("later")}, where


def test_the_next_purge_ends_where_a_clean_one_ends() -> None:
    clean = PURGE.table()
    act(PURGE.log(clean))
    assert splits(clean) == {"s2", "s4", "s5", "s6", "s7", "s8"}
    for store, _, where in crashes(PURGE):
        act(PURGE.log(store))
        assert clean.bytes().keys() == store.bytes().keys(), where
        everything_is_there(store, where)


def test_one_lost_request_or_answer_is_survived_with_retries() -> None:
    assert list(retried(PURGE))


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_dry_run_tells_what_a_purge_deletes(dry_run: bool) -> None:
    store = PURGE.table()
    log = PURGE.log(store)
    before = set(store.objects)
    done = purge(LogAtVersion(log, open_log(log)), purge_ages(log.options), dry_run=dry_run)
    gone = before - set(store.objects)
    assert gone == (set() if dry_run else set(done.paths))
    other = PURGE.table()
    again = purge(LogAtVersion(PURGE.log(other), open_log(PURGE.log(other))), purge_ages(log.options))
    named = {path for path in done.paths if "/manifests/" not in path}
    assert named == {path for path in again.paths if "/manifests/" not in path}
    assert len(done.paths) == len(again.paths) > 10
