"""Checks that repair, and repairs, with a failure at every request that they make: the table is as before, or repaired."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache

import pytest

from indextables.core.errors import LogError, TableExists
from indextables.log.log_paths import POINTER
from indextables.log.open_snapshot import open_log
from indextables.log.rebuild.log_elsewhere import LogElsewhere
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.checkpoint import checkpoint
from indextables.log.state.model import state_key
from indextables.log.table_log import TableLog
from indextables.table.maintain.fsck import fsck
from indextables.table.maintain.repair import repair_log
from indextables.table.write.create import create_table
from log.crash import Operation, crashes, files
from log.support import MemoryStore, append, grown, live, make_log, raw_versions, version_key
from table.fsck_support import NEW, Below, change, flip, repair_into, swapped
from table.merge_support import SCHEMA, some, table_in
from table.written_support import rows_of


@pytest.fixture(autouse=True)
def quietly() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def inner(log: TableLog) -> MemoryStore:
    store = log.store
    assert isinstance(store, MemoryStore)
    return store


def with_damaged_state(log: TableLog) -> None:
    snapshot = grown(log, 3)
    assert checkpoint(LogAtVersion(log, snapshot), compact=True).written
    change(inner(log), state_key(3), flip)


def with_damaged_pointer(log: TableLog) -> None:
    snapshot = grown(log, 3)
    assert checkpoint(LogAtVersion(log, snapshot), compact=True).written
    inner(log).put(POINTER, b"{")


def in_place(log: TableLog) -> None:
    fsck(log, repair=True)


STATE = Operation("CHECKPOINT", with_damaged_state, in_place, files(1, 2, 3), files(1, 2, 3))
ONLY_POINTER = Operation("pointer", with_damaged_pointer, in_place, files(1, 2, 3), files(1, 2, 3))


@pytest.mark.parametrize("operation", [STATE, ONLY_POINTER], ids=lambda operation: operation.name)
def test_a_repair_in_place(operation: Operation) -> None:
    before = operation.table().bytes()
    fates = set()
    for store, error, where in crashes(operation):
        left = store.bytes()
        kept = [key for key in before if key != POINTER]
        assert all(left[key] == before[key] for key in kept if not key.endswith(".avro")), where
        versions = list(raw_versions(left))
        assert versions == list(range(len(versions))), where
        assert len(versions) in (4, 5), where
        log = operation.log(store)
        assert live(open_log(log)) == files(1, 2, 3), where
        fates.add((error is None, len(versions), state_key(4) in left))
        in_place(operation.log(store))
        again = {kind for kind in fsck(operation.log(store)).column("kind").to_pylist() if kind.startswith("pointer")}
        assert not again, where
        assert append(log, open_log(log), "later").written, where
    assert False in {acknowledged for acknowledged, *_ in fates}
    assert (operation is ONLY_POINTER) or {True, False} == {written for *_, written in fates}


@cache
def damaged_log() -> MemoryStore:
    store = MemoryStore()
    create_table(make_log(store), SCHEMA, ["day"])
    for number in range(2):
        store.clock.advance(1)
        table_in(store).append(some(2, number * 2))
    change(store, version_key(1), flip)
    return store


def with_damaged_log(log: TableLog) -> None:
    inner(log).objects.update(damaged_log().objects)


def elsewhere(log: TableLog) -> None:
    repair_log(log, make_log(LogElsewhere(log.store, Below(log.store, NEW)), clock=log.clock))


def test_a_new_log() -> None:
    operation = Operation("repair", with_damaged_log, elsewhere, frozenset(), frozenset())
    before = operation.table().bytes()
    fates = set()
    for store, error, where in crashes(operation):
        left = store.bytes()
        assert {key: left[key] for key in before} == before, where
        whole = f"{NEW}/{version_key(0).rpartition('/')[2]}" in left
        assert whole or error is not None, where
        fates.add((error is None, whole))
        if whole:
            ids = rows_of(table_in(swapped(store))).column("id").to_pylist()
            assert ids == [0, 1, 2, 3], where
        else:
            with pytest.raises(LogError):
                open_log(make_log(swapped(store)))
        assert repair_into(store, "_transaction_log_second").valid_splits == 2, where
    assert {acknowledged for acknowledged, _ in fates} == {True, False}
    assert (False, False) in fates


def test_a_second_repair_into_the_same_place_is_refused() -> None:
    operation = Operation("repair", with_damaged_log, elsewhere, frozenset(), frozenset())
    store = operation.table()
    repair_into(store)
    with pytest.raises(TableExists):
        repair_into(store)
