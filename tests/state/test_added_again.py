"""Paths that are added again while they are live, under names that look random: nobody looks for the older entry.

Refreshing the statistics of a file is such an add. What counts is the later entry, whoever asks, before and after compaction.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from indextables.core.predicate import parse_predicate
from indextables.log.actions import AddAction
from indextables.log.commit import commit
from indextables.log.conflicts import Change
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.state import live_files as files_module
from indextables.log.table_log import TableLog
from log.support import MemoryStore, make_log
from state.support import add, committed, entry, fresh, put_foreign_state, state_of, stated, table

RANDOM = "day=x/9a6a4e11-1111-4222-8333-444455556666.split"
OPTIONS = {"state.entriesPerManifest": 4, "state.compaction.maxManifests": 1000}


def day(path: str, value: str, **fields: int) -> AddAction:
    return add(path, day=value, **fields)


def sizes(snapshot: Snapshot, where: str | None = None) -> dict[str, int]:
    if where is None:
        files = snapshot.files
    else:
        files = snapshot.file_set.matching(parse_predicate(where, snapshot.schema), snapshot.schema, ("day",))
    return dict(zip(files.column("path").to_pylist(), files.column("size").to_pylist(), strict=True))


def added_again(log: TableLog, *, compact: bool = False) -> Snapshot:
    """A state with an entry of a path on one day, and one after it with a later entry of it on another day."""
    snapshot = committed(log, table(log, "day"), [day(RANDOM, "2024-01-09", size=100), day("m", "2024-01-05", size=7)])
    snapshot = stated(log, snapshot, compact=True)
    snapshot = committed(log, snapshot, [day(RANDOM, "2024-01-01", size=200)])
    return stated(log, snapshot, compact=compact)


@pytest.mark.parametrize("compact", [False, True])
def test_the_later_entry_counts(compact: bool) -> None:
    store = MemoryStore()
    added_again(make_log(store, OPTIONS), compact=compact)
    assert sizes(fresh(store)) == {RANDOM: 200, "m": 7}
    assert sizes(fresh(store), "day = DATE '2024-01-09'") == {}
    assert sizes(fresh(store), "day = DATE '2024-01-01'") == {RANDOM: 200}


def test_compaction_of_records_keeps_the_later_entry() -> None:
    store = MemoryStore()
    added_again(make_log(store, OPTIONS))
    log = make_log(store, OPTIONS)
    snapshot = stated(log, committed(log, fresh(store, OPTIONS), [day("new", "2024-01-03", size=1)]), compact=True)
    assert state_of(snapshot).num_files == 3
    assert sizes(fresh(store)) == {RANDOM: 200, "m": 7, "new": 1}


def test_a_manifest_that_nobody_compared_says_so_until_it_is_compacted() -> None:
    store = MemoryStore()
    log = make_log(store, OPTIONS)
    snapshot = added_again(log)
    assert [item.may_repeat for item in state_of(snapshot).manifests] == [False, True]
    plain = stated(log, committed(log, snapshot, [day("plain", "2024-01-03")]))
    assert [item.may_repeat for item in state_of(plain).manifests] == [False, True, False]
    again = stated(log, committed(log, plain, [day("other", "2024-01-04")]), compact=True)
    assert not any(item.may_repeat for item in state_of(again).manifests)


@pytest.mark.parametrize("names", ["random", "plain"])
def test_a_removed_file_stays_removed_when_one_of_its_two_manifests_is_rewritten(names: str) -> None:
    store = MemoryStore()
    log = make_log(store, OPTIONS)
    snapshot = added_again(log)
    snapshot = stated(log, commit(LogAtVersion(log, snapshot), Change(removes=(RANDOM,)), operation="DELETE").snapshot)
    again = day("m", "2024-01-05", size=8) if names == "plain" else day(RANDOM.replace("9", "8"), "2024-01-05", size=8)
    snapshot = stated(log, committed(log, snapshot, [again]))
    assert RANDOM not in sizes(fresh(store))
    assert RANDOM not in sizes(fresh(store), "day = DATE '2024-01-01'")
    assert RANDOM not in sizes(fresh(store), "day = DATE '2024-01-09'")


def test_a_dead_path_that_comes_and_goes_is_counted_once() -> None:
    store = MemoryStore()
    log = make_log(store, OPTIONS | {"state.compaction.tombstoneThreshold": 0.9})
    snapshot = stated(
        log, committed(log, table(log, "day"), [day(f"f{n}", "2024-01-05") for n in range(20)]), compact=True
    )
    snapshot = stated(log, commit(LogAtVersion(log, snapshot), Change(removes=("f3",)), operation="DELETE").snapshot)
    for _ in range(3):
        snapshot = committed(log, snapshot, [day("f3", "2024-01-05")])
        snapshot = stated(
            log, commit(LogAtVersion(log, snapshot), Change(removes=("f3",)), operation="DELETE").snapshot
        )
        assert state_of(snapshot).num_files == len(sizes(fresh(store))) == 19


@pytest.mark.parametrize("compact", [False, True])
def test_paths_are_compared_only_where_one_may_be_there_twice(compact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A manifest of ours says whether anybody looked. Those of others do not, and theirs are always compared."""
    store = MemoryStore()
    added_again(make_log(store, OPTIONS), compact=compact)
    compared: list[int] = []
    last_of_each_path = files_module.last_of_each_path

    def spy(files: pa.Table) -> pa.Table:
        compared.append(files.num_rows)
        return last_of_each_path(files)

    monkeypatch.setattr(files_module, "last_of_each_path", spy)
    assert sizes(fresh(store)) == {RANDOM: 200, "m": 7}
    assert compared == ([] if compact else [3])
    others = MemoryStore()
    put_foreign_state(others, 1, {"a.avro": [entry(1)], "b.avro": [entry(1) | {"size": 9, "addedAtVersion": 3}]})
    assert list(sizes(fresh(others)).values()) == [9]
