"""`Table.checkpoint`: afterwards the newest version has a compact state, whatever was there before, and nothing is orphaned."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from indextables.core.errors import LogWarning
from indextables.log.history import read_changes, read_history
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.state.checkpoint import Checkpointed, checkpoint, compacted_checkpoint
from indextables.log.state.model import manifest_key
from indextables.log.state.write import is_compact
from log.support import LOG, FakeClock, Hooked, MemoryStore, make_log, raw_versions
from state.support import (
    METADATA,
    ORIGINAL_FILE_ENTRY,
    avro_bytes,
    committed,
    entry,
    foreign_item,
    fresh,
    paths,
    state_key,
    state_of,
    stated,
    table,
)


def with_incremental_state(store: MemoryStore, options: Mapping[str, Any] | None = None) -> Snapshot:
    """Version 3 has a state of two manifests and a tombstone, as an automatic checkpoint leaves it."""
    log = make_log(store, options)
    snapshot = stated(log, committed(log, table(log), [f"f{number}" for number in range(10)]))
    snapshot = committed(log, snapshot, ["g1"], removes=["f0"])
    return stated(log, committed(log, snapshot, ["g2"]))


def run(store: MemoryStore, options: Mapping[str, Any] | None = None) -> Checkpointed:
    log = make_log(store, options, clock=FakeClock(seed=8))
    return compacted_checkpoint(LogAtVersion(log, open_log(log)))


def orphans(store: MemoryStore) -> set[str]:
    """Manifests that no state names."""
    states = [int(key.split("state-v")[1][:20]) for key in store.objects if key.endswith("_manifest.avro")]
    named = {
        manifest_key(item.path, version) for version in states for item in state_of(fresh(store, at=version)).manifests
    }
    return {key for key in store.objects if key.startswith(f"{LOG}/manifests/")} - named


LIVE = sorted([*(f"f{number}" for number in range(1, 10)), "g1", "g2"])


def test_a_state_that_is_not_compact_is_followed_by_one_that_is() -> None:
    store = MemoryStore()
    before = with_incremental_state(store)
    assert len(state_of(before).manifests) == 2
    old = store.objects[state_key(3)]
    done = run(store)
    assert (done.version, done.kind, done.written) == (4, "compacted", True)
    state = state_of(done.snapshot)
    assert (state.version, len(state.manifests), len(state.tombstones)) == (4, 1, 0)
    assert store.objects[state_key(3)] == old, "a state is never written twice"
    assert orphans(store) == set()
    assert (fresh(store).version, fresh(store).base, paths(fresh(store))) == (4, 4, LIVE)


def test_the_version_in_between_is_empty_and_changes_nothing() -> None:
    store = MemoryStore()
    with_incremental_state(store)
    run(store)
    (info,) = raw_versions(store.bytes())[4]
    assert info["commitInfo"]["operation"] == "CHECKPOINT"
    log = make_log(store)
    assert read_history(LogAtVersion(log, open_log(log)), 1)["operation"].to_pylist() == ["CHECKPOINT"]
    changes = read_changes(LogAtVersion(log, open_log(log)), 3)
    assert (changes.adds.num_rows, changes.removes.num_rows) == (0, 0)


@pytest.mark.parametrize("files", [0, 1, 7, 40, 41, 99])
@pytest.mark.parametrize("most", [3, 10, 1000])
def test_a_state_that_is_compact_already_is_left_alone(files: int, most: int) -> None:
    store = MemoryStore()
    options = {"state.entriesPerManifest": most}
    log = make_log(store, options)
    committed(log, table(log), [f"f{number}" for number in range(files)])
    first = run(store, options)
    assert (first.version, first.kind, first.written) == (1, "compacted", True)
    before = store.bytes()
    again = run(store, options)
    assert (again.version, again.kind, again.written) == (1, "compacted", False)
    assert store.bytes() == before
    assert is_compact(state_of(again.snapshot), log.options)


def test_a_handle_that_does_not_know_of_the_state() -> None:
    """Another process wrote the state after this one opened the table."""
    store = MemoryStore()
    log = make_log(store)
    snapshot = committed(log, table(log), ["f1"])
    held = open_log(make_log(store))
    stated(log, snapshot)
    done = compacted_checkpoint(LogAtVersion(make_log(store, clock=FakeClock(seed=8)), held))
    assert (done.version, done.written) == (1, False), "a first state is compact"
    assert orphans(store) == set()


def test_a_state_that_another_process_writes_meanwhile() -> None:
    """It is not compact, so the next version gets one that is."""
    store = MemoryStore()
    log = make_log(store)
    snapshot = stated(log, committed(log, table(log), ["f1", "f2"]))
    snapshot = committed(log, snapshot, ["f3"])
    other = make_log(store, clock=FakeClock(seed=5))

    def create(key: str, data: bytes) -> None:
        if key == state_key(2) and key not in store.objects:
            checkpoint(LogAtVersion(other, open_log(other)), compact=False)
        store.create(key, data)

    done = compacted_checkpoint(LogAtVersion(make_log(Hooked(store, create=create), clock=FakeClock(seed=8)), snapshot))
    assert (done.version, done.kind, done.written) == (3, "compacted", True)
    assert len(state_of(fresh(store)).manifests) == 1


def test_a_state_that_lost_a_manifest_is_replaced() -> None:
    store = MemoryStore()
    with_incremental_state(store)
    gone = manifest_key(state_of(fresh(store)).manifests[1].path, 3)
    del store.objects[gone]
    with pytest.warns(LogWarning, match="state 3 cannot be used"):
        done = run(store)
    assert (done.version, done.written) == (4, True)
    assert paths(fresh(store)) == LIVE


def test_another_tables_state_in_its_place() -> None:
    store, alien = MemoryStore(), MemoryStore(FakeClock(seed=3))
    with_incremental_state(alien)
    log = make_log(store)
    snapshot = table(log)
    for number in range(3):
        snapshot = committed(log, snapshot, [f"f{number}"])
    store.objects[state_key(3)] = alien.objects[state_key(3)]
    done = run(store)
    assert (done.version, done.written) == (4, True)
    assert paths(fresh(store)) == ["f0", "f1", "f2"]


def test_an_automatic_one_writes_nothing_where_a_state_is() -> None:
    store = MemoryStore()
    snapshot = with_incremental_state(store)
    before = store.bytes()
    done = checkpoint(LogAtVersion(make_log(store, clock=FakeClock(seed=8)), snapshot), compact=True)
    assert (done.version, done.kind, done.written) == (3, "incremental", False)
    assert store.bytes() == before


def test_a_json_state_of_an_older_writer_is_followed_by_a_compact_one() -> None:
    store = MemoryStore()
    log = make_log(store)
    snapshot = committed(log, table(log), ["f1", "f2"])
    entries = [entry(1, path="f1"), entry(2, path="f2")]
    store.put(f"{LOG}/manifests/m1.avro", avro_bytes(ORIGINAL_FILE_ENTRY, entries))
    record = {
        "formatVersion": 1,
        "stateVersion": 1,
        "numFiles": 2,
        "manifests": [foreign_item("manifests/m1.avro", entries)],
        "metadata": json.dumps({"metaData": {**METADATA["metaData"], "id": snapshot.table_id}}),
    }
    store.put(state_key(1, "_manifest.json"), json.dumps(record).encode())
    assert (fresh(store).base, paths(fresh(store))) == (1, ["f1", "f2"])
    done = run(store)
    assert (done.version, done.kind, done.written) == (2, "compacted", True)
    assert (fresh(store).base, paths(fresh(store))) == (2, ["f1", "f2"])


@pytest.mark.parametrize("pointer", [None, b'{"version":0}'])
def test_a_pointer_that_was_left_behind_is_repaired(pointer: bytes | None) -> None:
    """The process that wrote the compact state stopped before it wrote the pointer."""
    store = MemoryStore()
    with_incremental_state(store)
    run(store)
    right = store.bytes()[f"{LOG}/_last_checkpoint"]
    if pointer is None:
        del store.objects[f"{LOG}/_last_checkpoint"]
    else:
        store.put(f"{LOG}/_last_checkpoint", pointer)
    done = run(store)
    assert (done.version, done.kind, done.written) == (4, "compacted", False)
    found = json.loads(store.bytes()[f"{LOG}/_last_checkpoint"])
    assert (found["version"], found["stateDir"]) == (4, json.loads(right)["stateDir"])


def test_a_handle_that_may_be_stale_writes_the_state_of_the_newest_version() -> None:
    store = MemoryStore()
    options = {"transaction.maxStaleness": 600}
    log = make_log(store)
    snapshot = stated(log, committed(log, table(log), ["f1"]))
    held = open_log(make_log(store, options))
    committed(log, snapshot, ["f2"])
    done = compacted_checkpoint(LogAtVersion(make_log(store, options, clock=FakeClock(seed=8)), held))
    assert (done.version, done.kind, done.written) == (2, "compacted", True)
    assert (fresh(store).base, paths(fresh(store))) == (2, ["f1", "f2"])


def test_what_is_printed_can_be_asked_for() -> None:
    store = MemoryStore()
    with_incremental_state(store)
    done = run(store)
    assert repr(done) == "Checkpointed(version=4, format='avro-state', kind='compacted', written=True)"
    assert done.version == done.snapshot.version == 4
