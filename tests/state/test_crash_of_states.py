"""Everything that writes or deletes states and manifests, with a failure at every single request it makes.

What is left must be a table: it opens, at its newest version and at every other that was kept, with exactly the files it
should have; every state that is there has all its manifests; the next state can be written, and what the crash left behind is
collected.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import pytest

from indextables.log.cleanup import clean_up
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.checkpoint import checkpoint
from indextables.log.state.collect import collect_manifests
from indextables.log.table_log import TableLog
from indextables.table.handle import TableHandle
from indextables.table.table import Table
from log.crash import Operation, crashes, files, is_certain, leftovers, retried
from log.support import DAY, LOG, MemoryStore, append, commit_infos, live, raw_versions
from state.legacy import put_table
from state.support import add, committed, key_of, naive_live, stated, stored_state, table

SMALL = ("state.entriesPerManifest", 2)
UPGRADE = "UPGRADE PROTOCOL"
OLD_FILES = frozenset(f"part-{number:05d}.split" for number in (*range(12), 14, 15, 16, 17))


def prepare_state(log: TableLog) -> None:
    """A state of version 4 with six files; since then two came, one went, and one came and went."""
    snapshot = table(log, "day")
    for number in (1, 2, 3):
        adds = [add(f"f{2 * number - 1}", day="2024-01-01"), add(f"f{2 * number}", day="2024-01-02")]
        snapshot = committed(log, snapshot, adds)
    snapshot = stated(log, committed(log, snapshot))
    snapshot = committed(log, snapshot, [add("f7", day="2024-01-03"), add("passing", day="2024-01-03")])
    committed(log, snapshot, [add("f8", day="2024-01-01")], ["f2", "passing"])


def prepare_dead(log: TableLog) -> None:
    """Three manifests of four files. In the first one file is dead, in the second three, in the third none."""
    snapshot = table(log)
    for first in (1, 5, 9):
        snapshot = stated(log, committed(log, snapshot, [f"f{number}" for number in range(first, first + 4)]))
    committed(log, snapshot, ["f13"], ["f1", "f5", "f6", "f7"])


def prepare_old(log: TableLog) -> None:
    """Twelve days, a state every other day, and manifests of writers that died. The last day is the day before yesterday."""
    store: MemoryStore = log.store  # type: ignore[assignment]
    snapshot = table(log)
    for number in (1, 2):
        store.put(f"{LOG}/manifests/manifest-dead{number}.avro", b"of a writer that died")
    for number in range(1, 13):
        store.clock.advance(DAY)
        snapshot = committed(log, snapshot, [f"f{number}"])
        if number % 2 == 0:
            snapshot = stated(log, snapshot, compact=number % 4 == 0)
    store.clock.advance(2 * DAY)


def prepare_cleaned(log: TableLog) -> None:
    """The same after a clean-up: manifests are left that no state names."""
    prepare_old(log)
    assert clean_up(LogAtVersion(log, open_log(log))).deleted


def prepare_legacy(log: TableLog) -> None:
    put_table(log.store, 2)  # type: ignore[arg-type]


def sum_up(log: TableLog) -> None:
    checkpoint(LogAtVersion(log, open_log(log)), compact=False)


def compact(log: TableLog) -> None:
    checkpoint(LogAtVersion(log, open_log(log)), compact=True)


def clean_and_collect(log: TableLog) -> None:
    clean_up(LogAtVersion(log, open_log(log)))
    collect_manifests(LogAtVersion(log, open_log(log)))


def append_and_maintain(log: TableLog) -> None:
    Table(TableHandle(log, open_log(log))).commit_files([add("new")], operation="append and maintain")


def untouched(name: str, prepare: object, act: object, live: Iterable[str], *options: tuple[str, object]) -> Operation:
    """An operation that leaves the files as they are."""
    same = frozenset(live)
    return Operation(name, prepare, act, same, same, options, commits=False)  # type: ignore[arg-type]


GENEROUS = (("state.retention.versions", 1), ("state.retention.hours", 0), ("logRetention.duration", 5 * 86_400_000))
KEPT_DAYS = range(9, 13)
"""The versions within that retention."""
INCREMENTAL = untouched(
    "incremental", prepare_state, sum_up, files(1, 3, 4, 5, 6, 7, 8), ("state.compaction.tombstoneThreshold", 0.5)
)
COMPACTED = untouched("compacted", prepare_state, compact, INCREMENTAL.after, SMALL)
SELECTIVE = untouched(
    "selective", prepare_dead, sum_up, files(2, 3, 4, 8, *range(9, 14)), ("state.compaction.tombstoneThreshold", 0.3)
)
UPGRADED = untouched("upgrade", prepare_legacy, sum_up, OLD_FILES, ("state.entriesPerManifest", 8))
CLEANED = untouched("clean up", prepare_old, clean_and_collect, files(*range(1, 13)), *GENEROUS)
COLLECTED = untouched(
    "collect",
    prepare_cleaned,
    lambda log: collect_manifests(LogAtVersion(log, open_log(log))),
    files(*range(1, 13)),
    *GENEROUS,
)
MAINTAINED = Operation(
    "append and maintain",
    prepare_old,
    append_and_maintain,
    files(*range(1, 13)),
    files(*range(1, 13)) | {"new"},
    (*GENEROUS, ("checkpoint.interval", 13), ("state.compaction.maxManifests", 1)),
)
WRITERS = [INCREMENTAL, COMPACTED, SELECTIVE, UPGRADED]
OPERATIONS = [*WRITERS, CLEANED, COLLECTED, MAINTAINED]
each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
each_writer = pytest.mark.parametrize("operation", WRITERS, ids=lambda operation: operation.name)


def states(store: MemoryStore) -> list[int]:
    return sorted(int(key.split("state-v")[1][:20]) for key in store.objects if key.endswith("/_manifest.avro"))


def named(store: MemoryStore) -> set[str]:
    return {
        key_of(item["path"], number) for number in states(store) for item in stored_state(store, number)["manifests"]
    }


def manifests(store: MemoryStore) -> set[str]:
    return {key for key in store.objects if "/manifest-" in key}


@cache
def history(operation: Operation) -> dict[int, frozenset[str]]:
    """The live files of every version of the prepared table that must stay."""
    store = operation.table()
    newest = open_log(operation.log(store)).version
    numbers = range(newest + 1) if operation in WRITERS else KEPT_DAYS
    return {number: frozenset(live(open_log(operation.log(store), number))) for number in numbers}


def test_the_operations_are_what_they_are_called() -> None:
    for operation in WRITERS:
        log = operation.log(operation.table())
        done = checkpoint(LogAtVersion(log, open_log(log)), compact=operation is COMPACTED)
        expected = "compacted" if operation is UPGRADED else operation.name
        assert (done.kind, done.written) == (expected, True)
        assert live(open_log(operation.log(log.store))) == operation.after
    assert stored_state(_done(SELECTIVE), 4)["tombstones"] == ["f1"], "the others went with the manifest of their files"
    assert len(stored_state(_done(COMPACTED), 6)["manifests"]) > 2
    cleaned = _done(CLEANED)
    assert len(states(CLEANED.table())) == 6
    assert states(cleaned) == [8, 10, 12]
    assert manifests(cleaned) == named(cleaned) < manifests(CLEANED.table())


def _done(operation: Operation) -> MemoryStore:
    store = operation.table()
    operation.act(operation.log(store))
    return store


@each_operation
def test_who_acts_is_told_the_truth(operation: Operation) -> None:
    fates = set()
    for store, error, where in crashes(operation):
        names = [info.get("operation") for info in commit_infos(raw_versions(store.bytes())).values()]
        written = names.count(operation.name)
        fates.add(error is None)
        assert written <= operation.commits, where
        assert names.count(UPGRADE) <= (operation is UPGRADED), where
        assert error is not None or written == operation.commits, where
        assert not (is_certain(error) and written), where
    assert fates == {True, False}, "some failures are survived, others are not"


@each_operation
def test_what_is_left_is_a_table(operation: Operation) -> None:
    kept = history(operation)
    different = 0
    for store, where in leftovers(operation):
        different += 1
        names = [info.get("operation") for info in commit_infos(raw_versions(store.bytes())).values()]
        expected = operation.after if operation.name in names else operation.before
        assert live(open_log(operation.log(store))) == expected, where
        assert named(store) <= manifests(store), where
        for number in states(store):
            if number in kept or number > max(kept):
                assert naive_live(store, number).keys() == kept.get(number, expected), (number, where)
        for number, paths_then in kept.items():
            assert live(open_log(operation.log(store), number)) == paths_then, (number, where)
    assert different > 1


@each_operation
def test_it_can_be_written_to_and_summed_up(operation: Operation) -> None:
    for compacted in (False, True):
        for store, where in leftovers(operation):
            log = operation.log(store)
            before = open_log(log)
            following = append(log, before, "later", operation="later").snapshot
            done = checkpoint(LogAtVersion(log, following), compact=compacted)
            assert done.written, where
            expected = live(before) | {"later"}
            assert live(open_log(operation.log(store))) == expected, where
            assert naive_live(store, done.snapshot.version).keys() == expected, where
            assert named(store) <= manifests(store), where


@each_operation
def test_what_is_left_behind_is_collected(operation: Operation) -> None:
    orphans = 0
    for store, where in leftovers(operation):
        store.clock.advance(30 * DAY)
        expected = live(open_log(operation.log(store)))
        orphans += len(manifests(store) - named(store))
        log = operation.log(store)
        collect_manifests(LogAtVersion(log, open_log(log)))
        assert manifests(store) == named(store), where
        assert live(open_log(operation.log(store))) == expected, where
    assert orphans


@each_operation
def test_one_lost_request_or_answer_is_survived_with_retries(operation: Operation) -> None:
    for store, where in retried(operation):
        names = [info.get("operation") for info in commit_infos(raw_versions(store.bytes())).values()]
        assert names.count(UPGRADE) == (operation is UPGRADED), where


@each_writer
def test_the_same_again_makes_it_whole(operation: Operation) -> None:
    had_one = set()
    for store, where in leftovers(operation):
        had_one.add(open_log(operation.log(store)).version in states(store))
        operation.act(operation.log(store))
        snapshot = open_log(operation.log(store))
        assert snapshot.version in states(store), where
        assert naive_live(store, snapshot.version).keys() == live(snapshot) == operation.after, where
        names = [info.get("operation") for info in commit_infos(raw_versions(store.bytes())).values()]
        assert names.count(UPGRADE) == (operation is UPGRADED), where
    assert had_one == {True, False}


@pytest.mark.parametrize("operation", [CLEANED, COLLECTED], ids=lambda operation: operation.name)
def test_clean_up_and_collection_end_where_a_clean_run_ends(operation: Operation) -> None:
    clean = _done(operation).bytes().keys()
    assert len(clean) < len(operation.table().bytes())
    for store, where in leftovers(operation):
        operation.act(operation.log(store))
        assert store.bytes().keys() == clean, where
