"""§8 of the plan: change sets. They come from version files, so states and compaction do not change them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from indextables import Table
from indextables.core.errors import ChangesGone, VersionNotFound
from indextables.log.history import Changes, read_changes
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.storage.testing.counting import Counting
from indextables.table.handle import TableHandle
from log.support import MemoryStore, make_log, version_key
from state.support import add, committed, fresh, grown, many_files, stated, stored_state, table


def story(store: MemoryStore, *, states: bool = True) -> Snapshot:
    """Versions 1 to 6: f1, f2, then f1 goes, f3 comes as f2 goes, a rearrangement, and f4. A state after 2, 4 and 6."""
    log = make_log(store, {"state.compaction.tombstoneThreshold": 0.9})
    snapshot = table(log)
    changes: list[dict[str, object]] = [
        {"adds": ["f1"]},
        {"adds": ["f2"]},
        {"removes": ["f1"]},
        {"adds": ["f3"], "removes": ["f2"]},
        {"adds": ["f3-moved"], "removes": ["f3"], "data_change": False},
        {"adds": ["f4"]},
    ]
    for number, change in enumerate(changes, start=1):
        store.clock.advance(60)
        snapshot = committed(log, snapshot, **change)  # type: ignore[arg-type]
        if states and number % 2 == 0:
            snapshot = stated(log, snapshot)
    return snapshot


def changes(store: MemoryStore, since: int) -> Changes:
    log = make_log(store)
    return read_changes(LogAtVersion(log, open_log(log)), since)


def added(found: Changes) -> list[tuple[str, int]]:
    return list(zip(found.adds["path"].to_pylist(), found.adds["addedAtVersion"].to_pylist(), strict=True))


def removed(found: Changes) -> list[tuple[str, int]]:
    return list(zip(found.removes["path"].to_pylist(), found.removes["removedAtVersion"].to_pylist(), strict=True))


def test_get_changes_since_version() -> None:
    store = MemoryStore()
    story(store)
    assert added(changes(store, 1)) == [("f2", 2), ("f3", 4), ("f4", 6)]
    assert added(changes(store, 4)) == [("f4", 6)], "a rearrangement is no change"
    assert changes(store, 4).version == 6
    with pytest.raises(VersionNotFound):
        changes(store, 7)


def test_get_changes_since_timestamp() -> None:
    store = MemoryStore()
    story(store)
    log = make_log(store)
    t = Table(TableHandle(log, open_log(log)))
    third = open_log(log, 3).timestamp
    assert added(t.changes(datetime.fromtimestamp(third / 1000, UTC))) == [("f3", 4), ("f4", 6)]
    assert removed(t.changes(datetime.fromtimestamp(third / 1000, UTC))) == [("f2", 4)]
    assert added(t.changes(datetime.fromtimestamp((third - 1) / 1000, UTC))) == [("f3", 4), ("f4", 6)]
    assert removed(t.changes(datetime.fromtimestamp((third - 1) / 1000, UTC))) == [("f1", 3), ("f2", 4)]


def test_change_set_includes_removes() -> None:
    store = MemoryStore()
    story(store)
    assert removed(changes(store, 0)) == [("f1", 3), ("f2", 4)]
    assert removed(changes(store, 3)) == [("f2", 4)]
    assert removed(changes(store, 4)) == []


def test_streaming_read_empty_delta() -> None:
    store = MemoryStore()
    snapshot = story(store)
    found = changes(store, snapshot.version)
    assert (found.adds.num_rows, found.removes.num_rows, found.version) == (0, 0, 6)


def test_streaming_read_all_changes() -> None:
    store = MemoryStore()
    story(store)
    found = changes(store, 0)
    assert added(found) == [("f1", 1), ("f2", 2), ("f3", 4), ("f4", 6)]
    assert added(changes(store, -1)) == added(found)
    live = {path for path, _ in added(found)} - {path for path, _ in removed(found)}
    assert live == {"f3", "f4"}


def test_manifest_version_filtering() -> None:
    """No manifest is read for a change set, whatever its version bounds; and those bounds are exact for who wants them."""
    store = MemoryStore()
    story(store)
    counting = Counting(store)
    log = make_log(counting)
    snapshot = open_log(log)
    counting.reset()
    assert added(read_changes(LogAtVersion(log, snapshot), 4)) == [("f4", 6)]
    assert set(counting.keys) == {version_key(5), version_key(6)}
    bounds = [(m["minAddedAtVersion"], m["maxAddedAtVersion"]) for m in stored_state(store, 6)["manifests"]]
    assert [newest for _, newest in bounds if newest > 4] == [6]
    files = fresh(store).files
    newer = {p for p, v in zip(files["path"].to_pylist(), files["addedAtVersion"].to_pylist(), strict=True) if v > 4}
    assert newer == {"f3-moved", "f4"}


def test_streaming_with_compaction() -> None:
    """The same with states, without them, and after a compaction; without its version files a change set is refused."""
    with_states, without = MemoryStore(), MemoryStore()
    log = make_log(with_states)
    snapshot = story(with_states)
    stated(log, committed(log, snapshot, [add("f5")]), compact=True)
    story(without, states=False)
    log = make_log(without)
    committed(log, open_log(log), [add("f5")])
    for since in range(-1, 8):
        ours, theirs = changes(with_states, since), changes(without, since)
        assert (added(ours), removed(ours), ours.version) == (added(theirs), removed(theirs), theirs.version)
    del with_states.objects[version_key(3)]
    assert added(changes(with_states, 3)) == [("f3", 4), ("f4", 6), ("f5", 7)]
    with pytest.raises(ChangesGone) as gone:
        changes(with_states, 2)
    assert gone.value.oldest == 3


def test_streaming_performance() -> None:
    """A change set costs the version files it is about, however many files the table has."""
    costs = []
    for files in (10, 5000):
        store = MemoryStore()
        log = make_log(store)
        snapshot = stated(log, grown(log, many_files(files)))
        snapshot = committed(log, snapshot, ["a"])
        committed(log, snapshot, ["b"])
        counting = Counting(store)
        reader = make_log(counting)
        opened = open_log(reader)
        counting.reset()
        assert added(read_changes(LogAtVersion(reader, opened), 1)) == [("a", 2), ("b", 3)]
        costs.append((dict(counting.counts), counting.bytes_moved["get"]))
    assert costs[0] == costs[1]
    assert costs[0][0] == {}, "opening has read them already"
