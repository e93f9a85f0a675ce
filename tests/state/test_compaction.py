"""§5 of the plan: when a state is written anew, what it is then, and what selective compaction may not forget."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
import pytest

from indextables.log.conflicts import Rewrite
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.state.write import needs_compaction, write_state
from indextables.log.table_log import TableLog
from log.support import FakeClock, MemoryStore, make_log
from state.support import (
    add,
    as_entries,
    committed,
    files_of,
    fresh,
    full_entry,
    grown,
    many_files,
    naive_live,
    paths,
    peak_of,
    state_of,
    stated,
    stored_entries,
    stored_state,
    table,
    written,
)

MIB = 1 << 20


def hundred(log: TableLog) -> Snapshot:
    """A state of a hundred files."""
    return stated(log, committed(log, table(log), [f"f{number:03d}" for number in range(100)]))


def test_compaction_trigger_by_tombstone_ratio() -> None:
    for removes, kind in ((10, "incremental"), (11, "compacted")):
        log = make_log(MemoryStore())
        snapshot = committed(log, hundred(log), removes=[f"f{number:03d}" for number in range(removes)])
        assert written(log, snapshot).kind == kind, "more than a tenth"
    log = make_log(MemoryStore(), {"state.compaction.tombstoneThreshold": 0.5})
    snapshot = stated(log, committed(log, hundred(log), removes=[f"f{number:03d}" for number in range(50)]))
    assert len(state_of(snapshot).tombstones) == 50
    assert needs_compaction(state_of(snapshot), log.options), "50 tombstones over 50 files"


def test_compaction_trigger_by_manifest_count() -> None:
    store = MemoryStore()
    log = make_log(store)
    snapshot = table(log)
    counts = []
    for number in range(1, 24):
        snapshot = stated(log, committed(log, snapshot, [f"f{number}"]))
        counts.append(len(state_of(snapshot).manifests))
        assert needs_compaction(state_of(snapshot), log.options) == (counts[-1] > 20)
    assert counts == [*range(1, 22), 1, 2], "with 21 small manifests the next state is compacted"
    full = make_log(MemoryStore(), {"state.entriesPerManifest": 2, "state.compaction.maxManifests": 1})
    snapshot = table(full)
    kinds = []
    for number in range(1, 6):
        kinds.append(written(full, committed(full, snapshot, [f"f{number}"])).kind)
        snapshot = open_log(full)
    assert kinds == ["compacted", *["incremental"] * 4], "the first; and half full is not a fragment"
    assert len(state_of(snapshot).manifests) == 5


def test_compaction_trigger_after_merge() -> None:
    """A merge removes many files for one: the next state is compacted, by the ratio or by the number that is set."""
    for options in ({}, {"state.compaction.tombstoneThreshold": 0.99, "state.compaction.largeRemoveThreshold": 59}):
        store = MemoryStore()
        log = make_log(store, options)
        sources = tuple(f"f{number:03d}" for number in range(60))
        group = Rewrite(sources, (add("merged", size=6000),), data_change=False)
        snapshot = committed(log, hundred(log), rewrites=(group,))
        done = written(log, snapshot)
        assert done.kind == "compacted"
        assert set(naive_live(store, 2)) == {"merged", *(f"f{number:03d}" for number in range(60, 100))}
    log = make_log(
        MemoryStore(), {"state.compaction.tombstoneThreshold": 0.99, "state.compaction.largeRemoveThreshold": 60}
    )
    snapshot = committed(log, hundred(log), rewrites=(Rewrite(sources, (add("merged"),), data_change=False),))
    assert written(log, snapshot).kind == "incremental"


def test_compaction_produces_clean_state() -> None:
    store = MemoryStore()
    log = make_log(store)
    snapshot = stated(log, committed(log, hundred(log), removes=["f001", "f002"]))
    assert stored_state(store, 2)["tombstones"] == ["f001", "f002"]
    snapshot = stated(log, committed(log, snapshot, ["new"]), compact=True)
    record = stored_state(store, 3)
    assert record["tombstones"] == []
    assert [item["tombstoneCount"] for item in record["manifests"]] == [0]
    assert [item["liveEntryCount"] for item in record["manifests"]] == [99]
    assert not {"f001", "f002"} & {entry["path"] for entries in stored_entries(store, 3) for entry in entries}
    assert not needs_compaction(state_of(snapshot), log.options)


def test_compaction_preserves_all_files() -> None:
    """Every field of every live file, also those that an incremental state took over from another manifest."""
    store = MemoryStore()
    log = make_log(store)
    entries = [full_entry(number, partitionValues={"day": f"2024-01-{number % 28 + 1:02d}"}) for number in range(200)]
    snapshot = stated(log, grown(log, files_of(entries), "day"))
    snapshot = stated(log, committed(log, snapshot, [add("late", day="2024-01-05")], [entries[3]["path"]]))
    before = {row["path"]: row for row in as_entries(fresh(store).files)}
    stated(log, committed(log, snapshot), compact=True)
    after = {row["path"]: row for row in as_entries(fresh(store).files)}
    assert before == after
    assert len(after) == 200
    assert [after[entry["path"]] for entry in entries if entry["path"] in after] == entries[:3] + entries[4:]


def test_compaction_splits_large_manifests() -> None:
    store = MemoryStore()
    log = make_log(store, {"state.entriesPerManifest": 40})
    done = written(log, grown(log, many_files(1000, days=1)))
    assert [item.num_entries for item in done.state.manifests] == [40] * 25
    assert sum(len(entries) for entries in stored_entries(store, 1)) == 1000
    by_partition = written(make_log(MemoryStore(), {"state.entriesPerManifest": 40}), _by_day(1000, days=33))
    sizes = [item.num_entries for item in by_partition.state.manifests]
    assert max(sizes) <= 40
    assert min(sizes[:-1]) >= 20
    assert sum(sizes) == 1000


def _by_day(count: int, days: int) -> Snapshot:
    return grown(make_log(), many_files(count, days), "day")


def test_compaction_merges_small_manifests() -> None:
    store = MemoryStore()
    log = make_log(store)
    snapshot = table(log)
    for number in range(1, 9):
        snapshot = stated(log, committed(log, snapshot, [f"f{number}"]))
    assert len(state_of(snapshot).manifests) == 8
    snapshot = stated(log, committed(log, snapshot), compact=True)
    (item,) = state_of(snapshot).manifests
    assert item.num_entries == 8
    assert (item.min_added_at_version, item.max_added_at_version) == (1, 8)
    assert paths(fresh(store)) == [f"f{number}" for number in range(1, 9)]


def test_compaction_with_partitioned_data() -> None:
    """Files lie in the order of their partition values, by type: 9 before 10."""
    store = MemoryStore()
    log = make_log(store)
    levels = [10, 9, 100, -1, 9, 10, 2, 1]
    adds = [add(f"f{place}", level=str(level)) for place, level in enumerate(levels)]
    adds.append(add("nothing"))
    stated(log, committed(log, table(log, "level"), adds))
    (entries,) = stored_entries(store, 1)
    assert [entry["partitionValues"].get("level") for entry in entries] == [
        *map(str, sorted(levels)),
        None,
    ]


def test_compaction_skips_clean_state() -> None:
    """A clean state is left as it is: the next one adds to it, and a second checkpoint of one version changes nothing."""
    store = MemoryStore()
    log = make_log(store)
    snapshot = hundred(log)
    (item,) = state_of(snapshot).manifests
    assert not needs_compaction(state_of(snapshot), log.options)
    again = written(log, snapshot, compact=True)
    before = store.objects["_transaction_log/state-v00000000000000000001/_manifest.avro"]
    assert not again.ours
    assert again.state == state_of(snapshot)
    assert store.objects["_transaction_log/state-v00000000000000000001/_manifest.avro"] == before
    following = written(log, committed(log, snapshot, ["new"]))
    assert following.kind == "incremental"
    assert following.state.manifests[0] == item


def test_concurrent_compaction() -> None:
    """Two compact the same version. Both succeed, one state counts, and readers of either see the same files."""
    store = MemoryStore()
    log = make_log(store)
    snapshot = committed(log, hundred(log), ["new"], [f"f{number:03d}" for number in range(30)])
    other = FakeClock(seed=7)
    other.seconds = store.clock.seconds
    first = written(log, snapshot, compact=True)
    second = write_state(LogAtVersion(make_log(store, clock=other), snapshot), compact=True)
    assert second is not None
    assert (first.ours, second.ours) == (True, False)
    assert second.state == first.state
    assert len(paths(fresh(store))) == 71
    assert set(naive_live(store, 2)) == set(paths(fresh(store)))


def test_compaction_performance_70k() -> None:
    """70,000 files, a tenth of them dead (how long it may take is the benchmarks' business)."""
    store = MemoryStore()
    log = make_log(store, {"state.compaction.tombstoneThreshold": 0.2})
    files = many_files(70_000, days=90)
    snapshot = stated(log, grown(log, files, "day"))
    gone = files["path"].to_pylist()[::10]
    snapshot = stated(log, committed(log, snapshot, removes=gone))
    assert len(state_of(snapshot).tombstones) == 7000
    snapshot = stated(log, committed(log, snapshot), compact=True)
    found = fresh(store).files
    assert found.num_rows == 63_000
    assert pc.sum(found["size"]).as_py() == pc.sum(files["size"]).as_py() - sum(range(1, 70_001, 10))
    assert not set(gone) & set(found["path"].to_pylist())
    assert state_of(snapshot).tombstones == frozenset()


def test_compaction_memory_efficiency() -> None:
    """Sorting needs the files once more; encoding them only a few blocks at a time."""
    store = MemoryStore()
    log = make_log(store, {"state.entriesPerManifest": 100_000})
    files = many_files(100_000, days=90)
    snapshot = grown(log, files, "day")
    done, peak = peak_of(lambda: written(log, snapshot))
    assert done.state.num_files == 100_000
    assert peak < 1.8 * files.nbytes


def test_compaction_preserves_partition_locality() -> None:
    """A partition that fits into one manifest is in one, or in two where it crosses the end of a full one."""
    store = MemoryStore()
    log = make_log(store, {"state.entriesPerManifest": 100})
    stated(log, grown(log, many_files(1000, days=40), "day"))
    days = [{entry["partitionValues"]["day"] for entry in entries} for entries in stored_entries(store, 1)]
    assert all(len(each) <= 4 for each in days)
    assert len(days) == 10
    shared = [day for day in set().union(*days) if sum(day in each for each in days) > 1]
    assert shared == [], "25 files a day: four days fill a manifest"
    order = [entry["partitionValues"]["day"] for entries in stored_entries(store, 1) for entry in entries]
    assert order == sorted(order)


def test_compaction_computes_partition_bounds() -> None:
    store = MemoryStore()
    log = make_log(store, {"state.entriesPerManifest": 100})
    stated(log, grown(log, many_files(1000, days=40), "day"))
    for item, entries in zip(stored_state(store, 1)["manifests"], stored_entries(store, 1), strict=True):
        days = sorted(entry["partitionValues"]["day"] for entry in entries)
        assert item["partitionBounds"] == {"day": {"min": days[0], "max": days[-1]}}
        assert item["boundsOrder"] == "typed"


class TestSelective:
    """Only manifests with many dead entries are rewritten, and only their tombstones go."""

    def start(self, store: MemoryStore) -> tuple[TableLog, Snapshot]:
        log = make_log(store, {"state.entriesPerManifest": 50})
        files = many_files(500)
        return log, stated(log, grown(log, files))

    def path(self, number: int) -> str:
        return f"splits/split-{number}.split"

    def test_only_the_tombstones_of_what_was_rewritten_are_dropped(self) -> None:
        store = MemoryStore()
        log, snapshot = self.start(store)
        mostly_dead = [self.path(number) for number in range(48)]
        few = [self.path(number) for number in (100, 101, 200, 499)]
        done = written(log, committed(log, snapshot, removes=[*mostly_dead, *few]))
        assert done.kind == "selective"
        assert done.state.tombstones == set(few)
        assert set(naive_live(store, 2)) == {self.path(n) for n in range(500)} - {*mostly_dead, *few}
        assert set(paths(fresh(store))) == set(naive_live(store, 2))
        before, after = (stored_state(store, version)["manifests"] for version in (1, 2))
        assert [item["path"] for item in after[1:]] == [item["path"] for item in before[1:]]
        assert after[0]["path"] != before[0]["path"]
        assert after[0]["numEntries"] == 2
        assert done.state.num_files == 500 - 52

    def test_tombstones_of_an_older_state_are_dropped_too_where_their_manifest_is_rewritten(self) -> None:
        store = MemoryStore()
        log, snapshot = self.start(store)
        snapshot = stated(log, committed(log, snapshot, removes=[self.path(n) for n in (0, 1, 400)]))
        assert len(state_of(snapshot).tombstones) == 3
        done = written(log, committed(log, snapshot, removes=[self.path(number) for number in range(2, 50)]))
        assert done.kind == "selective"
        assert done.state.tombstones == {self.path(400)}
        assert len(done.state.manifests) == 9, "nothing is left of the first"
        assert len(paths(fresh(store))) == 449

    def test_rewriting_half_of_everything_is_no_bargain(self) -> None:
        log, snapshot = self.start(MemoryStore())
        every_third = [self.path(number) for number in range(0, 500, 3)]
        assert written(log, committed(log, snapshot, removes=every_third)).kind == "compacted"

    @pytest.mark.parametrize("seed", range(5))
    def test_any_removal_means_the_same(self, seed: int) -> None:
        store = MemoryStore()
        log, snapshot = self.start(store)
        chance = np.random.default_rng(seed)
        alive = {self.path(number) for number in range(500)}
        kinds = []
        for _ in range(4):
            manifest = int(chance.integers(10))
            near = {self.path(50 * manifest + n) for n in range(50)} & alive
            gone = set(sorted(near)[: int(chance.integers(51))]) | set(
                chance.choice(sorted(alive), 3, replace=False).tolist()
            )
            alive -= gone
            snapshot = committed(log, snapshot, [f"new-{seed}-{snapshot.version}"], sorted(gone))
            alive.add(f"new-{seed}-{snapshot.version - 1}")
            done = written(log, snapshot)
            kinds.append(done.kind)
            snapshot = fresh(store, {"state.entriesPerManifest": 50})
            assert set(naive_live(store, snapshot.version)) == alive == set(paths(snapshot))
            assert done.state.num_files == len(alive)
        assert "selective" in kinds or "compacted" in kinds
