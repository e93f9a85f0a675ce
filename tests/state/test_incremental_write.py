"""§4 of the plan: a state that costs what changed, not what there is."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from indextables.log.open_snapshot import open_log
from indextables.storage.testing.counting import Counting
from log.support import MemoryStore, make_log, naive_live, raw_versions
from state.support import (
    committed,
    fresh,
    paths,
    state_of,
    stated,
    stored_entries,
    stored_state,
    table,
    written,
)
from state.support import naive_live as live_in_state


def manifests(store: MemoryStore, version: int) -> list[str]:
    return [item["path"] for item in stored_state(store, version)["manifests"]]


def names(count: int) -> list[str]:
    """Names as writers make them."""
    return [f"splits/split-{uuid.UUID(int=number)}.split" for number in range(count)]


def requests(store: MemoryStore, adds: Sequence[str] = (), removes: Sequence[str] = ()) -> tuple[str, Counting]:
    """Commit with one handle, write the state with another, and see what that cost."""
    log = make_log(store)
    committed(log, open_log(log), adds, removes)
    counting = Counting(store)
    writer = make_log(counting)
    snapshot = open_log(writer)
    counting.reset()
    return written(writer, snapshot).kind, counting


def test_incremental_add_files() -> None:
    """One more manifest for what is new; no manifest is read, and none is written again."""
    store = MemoryStore()
    log = make_log(store)
    old = names(50)
    stated(log, committed(log, table(log), old))
    kind, counting = requests(store, ["splits/split-" + str(uuid.UUID(int=10**6)) + ".split"])
    assert kind == "incremental"
    assert counting.counts == {"put": 1, "create": 2}, "the pointer, the manifest and the state"
    assert counting.bytes_moved["put"] < 4000
    assert [len(entries) for entries in stored_entries(store, 2)] == [50, 1]
    assert len(paths(fresh(store))) == 51


def test_incremental_remove_files() -> None:
    """A tombstone, and nothing is written but the state."""
    store = MemoryStore()
    log = make_log(store)
    stated(log, committed(log, table(log), names(50)))
    before = store.bytes()
    kind, counting = requests(store, removes=names(2))
    assert kind == "incremental"
    assert counting.counts["put"] == 1, "the pointer"
    assert manifests(store, 2) == manifests(store, 1)
    assert stored_state(store, 2)["tombstones"] == names(2)
    assert {key: data for key, data in store.bytes().items() if "/manifests/" in key} == {
        key: data for key, data in before.items() if "/manifests/" in key
    }
    assert paths(fresh(store)) == names(50)[2:]


def test_incremental_mixed_add_remove() -> None:
    store = MemoryStore()
    log = make_log(store)
    snapshot = stated(log, committed(log, table(log), names(50)))
    snapshot = committed(log, snapshot, ["new-1", "new-2"], names(1))
    snapshot = committed(log, snapshot, ["new-3"], ["new-1"])
    assert written(log, snapshot).kind == "incremental"
    assert stored_state(store, 3)["tombstones"] == names(1), "what came and went between two states leaves no trace"
    assert paths(fresh(store)) == sorted([*names(50)[1:], "new-2", "new-3"])
    assert set(live_in_state(store, 3)) == set(paths(fresh(store)))
    assert stored_state(store, 3)["numFiles"] == 51


def test_manifest_reuse() -> None:
    store = MemoryStore()
    log = make_log(store)
    snapshot = stated(log, committed(log, table(log), names(5)))
    first = manifests(store, 1)
    for number in range(2, 6):
        snapshot = stated(log, committed(log, snapshot, [f"f{number}"]))
        assert manifests(store, number)[: len(first)] == first
        assert len(manifests(store, number)) == number
        first = manifests(store, number)
    assert all(path.startswith("manifests/manifest-") for path in first)


def test_manifest_reuse_with_partial_overlap() -> None:
    """Adding a path that a manifest holds already rewrites that manifest, and only that one."""
    store = MemoryStore()
    log = make_log(store)
    snapshot = stated(log, committed(log, table(log), ["a1", "a2"]))
    snapshot = stated(log, committed(log, snapshot, ["b1", "b2"]))
    snapshot = stated(log, committed(log, snapshot, ["c1", "c2"]))
    before = manifests(store, 3)
    assert written(log, committed(log, snapshot, ["b1"])).kind == "selective"
    after = manifests(store, 4)
    assert after[0] == before[0]
    assert after[2] == before[2]
    assert before[1] not in after
    assert [sorted(e["path"] for e in entries) for entries in stored_entries(store, 4)] == [
        ["a1", "a2"],
        ["b2"],
        ["c1", "c2"],
        ["b1"],
    ]
    found = fresh(store).files
    versions = dict(zip(found["path"].to_pylist(), found["addedAtVersion"].to_pylist(), strict=True))
    assert versions == {"a1": 1, "a2": 1, "b1": 4, "b2": 2, "c1": 3, "c2": 3}


def test_state_version_increment() -> None:
    """A state has the number of the version it stands for, in its name, in its record and in the pointer."""
    store = MemoryStore()
    log = make_log(store)
    snapshot = table(log)
    for number in range(1, 4):
        snapshot = committed(log, snapshot, [f"f{number}a"])
        snapshot = committed(log, snapshot, [f"f{number}b"])
        snapshot = stated(log, snapshot)
        assert snapshot.version == 2 * number
        assert stored_state(store, 2 * number)["stateVersion"] == 2 * number
        pointer = store.objects["_transaction_log/_last_checkpoint"].data
        assert f'"version":{2 * number},'.encode() in pointer
        assert f'"stateDir":"state-v{2 * number:020d}"'.encode() in pointer
        assert b'"format":"avro-state"' in pointer
        opened = fresh(store)
        assert (opened.version, opened.base, state_of(opened).version) == (2 * number,) * 3
        assert opened.timestamp == snapshot.timestamp


def test_multiple_incremental_writes() -> None:
    """A chain of states: each means what all version files up to it mean, and so does every version between them."""
    store = MemoryStore()
    log = make_log(store, {"state.compaction.tombstoneThreshold": 0.8})
    snapshot = committed(log, table(log), [f"start{number}" for number in range(30)])
    for number in range(2, 41):
        removes = [f"start{number}"] if number < 30 else [f"f{number - 3}"]
        snapshot = committed(log, snapshot, [f"f{number}"], removes if number % 3 else ())
        if number % 3 == 0 or number == 40:
            snapshot = stated(log, snapshot)
    objects = store.bytes()
    versions = raw_versions(objects)
    states = [version for version in range(41) if f"_transaction_log/state-v{version:020d}/_manifest.avro" in objects]
    assert len(states) >= 13
    for version in states:
        assert set(live_in_state(store, version)) == set(naive_live(versions, version)), version
    for version in range(41):
        assert set(paths(fresh(store, at=version))) == set(naive_live(versions, version)), version
