"""§13 of the plan: states that may go, manifests that nobody names, and all that stays.

Time is the store's: every object is as old as the clock says that was moved by hand.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from indextables.core.errors import ObjectNotFound
from indextables.log.cleanup import CleanupReport, clean_up
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.collect import collect_manifests
from indextables.table.maintain.purge import purge, purge_ages
from log.support import DAY, LOG, PROTOCOL, Hooked, MemoryStore, make_log, put_version, version_key
from state.support import (
    committed,
    entry,
    foreign_metadata,
    fresh,
    paths,
    put_foreign_state,
    state_key,
    stated,
    stored_state,
    table,
)

OPTIONS = {"logRetention.duration": 10 * 86_400_000, "state.retention.hours": 72}
COMPACTING = {"state.compaction.maxManifests": 1, "cleanup.enabled": False}


def daily(days: int, first_state: int = 1, **options: Any) -> MemoryStore:
    """Version n is n days younger than version 0, and has a state of that age from `first_state` on."""
    store = MemoryStore()
    log = make_log(store, {"cleanup.enabled": False, **options})
    snapshot = table(log)
    for day in range(1, days + 1):
        store.clock.advance(DAY)
        snapshot = committed(log, snapshot, [f"f{day:02d}"])
        if day >= first_state:
            snapshot = stated(log, snapshot)
    return store


def cleaned(store: Any, **options: Any) -> CleanupReport:
    log = make_log(store, OPTIONS | options)
    return clean_up(LogAtVersion(log, open_log(log)))


def collected(store: Any, **options: Any) -> CleanupReport:
    log = make_log(store, OPTIONS | options)
    return collect_manifests(LogAtVersion(log, open_log(log)))


def states(store: MemoryStore) -> list[int]:
    return sorted(int(m[1]) for key in store.objects if (m := re.search(r"state-v(\d+)/_manifest\.avro", key)))


def manifests(store: MemoryStore) -> set[str]:
    return {key for key in store.objects if re.search(r"/manifest-[^/]*\.avro$", key)}


def named(store: MemoryStore) -> set[str]:
    return {f"{LOG}/{item['path']}" for version in states(store) for item in stored_state(store, version)["manifests"]}


def check_all_readable(store: MemoryStore, first: int, last: int) -> None:
    for version in range(first, last + 1):
        assert paths(fresh(store, at=version)) == [f"f{day:02d}" for day in range(1, version + 1)]


def test_cleanup_old_state_dirs() -> None:
    store = daily(30, first_state=15)
    report = cleaned(store)
    assert report.floor == 20
    assert states(store) == [20, 21, 27, 28, 29, 30]
    assert not [key for key in store.objects if f"state-v{22:020d}" in key]
    check_all_readable(store, 20, 30)
    assert cleaned(store).deleted == []


@pytest.mark.parametrize(("kept", "expected"), [(1, [20, 21, 27, 28, 29, 30]), (5, [20, 21, 25, 26, 27, 28, 29, 30])])
def test_retention_by_version_count(kept: int, expected: list[int]) -> None:
    store = daily(30, first_state=15)
    cleaned(store, **{"state.retention.versions": kept})
    assert states(store) == expected
    check_all_readable(store, 20, 30)


def test_retention_by_age() -> None:
    """A state's age counts from its successor: until that was written, readers were still sent to it."""
    store = daily(30, first_state=15)
    cleaned(store, **{"state.retention.hours": 6 * 24})
    assert states(store) == [20, 21, 24, 25, 26, 27, 28, 29, 30]

    store = MemoryStore()
    log = make_log(store)
    snapshot = table(log)
    for day in range(1, 41):
        store.clock.advance(DAY)
        snapshot = committed(log, snapshot, [f"f{day:02d}"])
        if day in (5, 10, 38, 39, 40):
            snapshot = stated(log, snapshot)
    cleaned(store, **{"state.retention.versions": 1, "logRetention.duration": 1})
    assert states(store) == [10, 38, 39, 40], "10 is a month old, and was in use until two days ago"


def test_cleanup_preserves_current_state() -> None:
    """However old it is, and whatever is allowed: the newest state, its manifests and the version it stands for."""
    store = daily(5)
    store.clock.advance(400 * DAY)
    generous = {"logRetention.duration": 1, "state.retention.versions": 1, "state.retention.hours": 0}
    cleaned(store, **generous)
    collected(store, **generous)
    assert states(store)[-1] == 5
    assert {f"{LOG}/{item['path']}" for item in stored_state(store, 5)["manifests"]} <= manifests(store)
    assert version_key(5) in store.objects
    assert version_key(0) in store.objects
    assert paths(fresh(store)) == [f"f{day:02d}" for day in range(1, 6)]
    log = make_log(store)
    assert committed(log, open_log(log), ["f06"]).version == 6


def test_cleanup_with_purge_integration() -> None:
    """A purge does what clean-up and collection do, and deletes splits that no version, state or manifest names."""
    store, same = daily(30, first_state=15, **COMPACTING), daily(30, first_state=15, **COMPACTING)
    for each in (store, same):
        each.put("splits/split-orphan.split", b"of a writer that died")
        each.clock.advance(8 * DAY)
    cleaned(same)
    collected(same)
    log = make_log(store, OPTIONS)
    done = purge(LogAtVersion(log, open_log(log)), purge_ages(log.options))
    assert set(store.objects) == set(same.objects) - {"splits/split-orphan.split"}
    assert done.states_deleted > 0
    assert done.manifests_deleted > 0
    assert done.orphaned_files_deleted == 1
    check_all_readable(store, states(store)[0], 30)


def test_cleanup_orphaned_manifests() -> None:
    """Manifests that no state names, once they are a safety age old. Those that a state names stay, in every form of a path."""
    store = daily(30, first_state=15, **COMPACTING)
    assert named(store) == manifests(store)
    cleaned(store)
    left = named(store)
    orphans = manifests(store) - left
    young, old = f"{LOG}/manifests/manifest-young.avro", f"{LOG}/manifests/manifest-old.avro"
    store.put(old, b"of a writer that died")
    store.clock.advance(2 * DAY)
    store.put(young, b"of a writer that is still at it")
    assert orphans
    report = collected(store)
    assert young in manifests(store)
    assert old in manifests(store), "two days old: the safety age is three"
    gone = set(report.deleted)
    assert gone <= orphans
    assert left <= manifests(store)
    store.clock.advance(2 * DAY)
    gone |= set(collected(store).deleted)
    assert gone == orphans | {old}
    assert manifests(store) == left | {young}
    check_all_readable(store, 20, 30)
    preview = collect_manifests(LogAtVersion(make_log(store), fresh(store)), dry_run=True)
    assert (preview.dry_run, preview.deleted) == (True, [])


def test_concurrent_cleanup() -> None:
    """Two clean up at once, and a state vanishes while manifests are collected: both come to the same end."""
    store = daily(30, first_state=15, **COMPACTING)
    log = make_log(store, OPTIONS)
    snapshot = open_log(log)
    nested: list[CleanupReport] = []

    def delete(keys: Any) -> Any:
        if not nested:
            nested.append(clean_up(LogAtVersion(make_log(store, OPTIONS), snapshot)))
        return store.delete(keys)

    clean_up(LogAtVersion(make_log(Hooked(store, delete=delete), OPTIONS), snapshot))
    assert len(nested) == 1
    assert states(store) == [20, 21, 27, 28, 29, 30]
    store.clock.advance(4 * DAY)

    once: list[str] = []

    def get(key: str) -> Any:
        if "state-v" in key and not once:
            once.append(key)
            raise ObjectNotFound(f"{key} was just deleted", key=key)
        return store.get(key)

    log = make_log(Hooked(store, get=get), OPTIONS)
    report = collect_manifests(LogAtVersion(log, snapshot))
    assert once
    assert report.stopped is None
    assert manifests(store) == named(store)
    check_all_readable(store, 20, 30)


class TestEveryFormOfAPath:
    """A manifest is named by its shared path, by the directory of the state that wrote it, or by its bare name inside it."""

    def start(self) -> MemoryStore:
        store = MemoryStore()
        metadata = foreign_metadata()
        put_version(store, 0, PROTOCOL, metadata)
        for number in (1, 2, 3):
            put_version(store, number, {"add": entry(number, path=f"v{number}")})
        own = f"state-v{1:020d}/manifest-own.avro"
        bare = [entry(1, path="bare")]
        shared = [entry(2, path="shared")]
        put_foreign_state(store, 1, {"manifest-own.avro": bare}, metadata=metadata)
        put_foreign_state(store, 2, {own: bare, "manifests/manifest-shared.avro": shared}, metadata=metadata)
        put_foreign_state(
            store,
            3,
            {own: bare, "manifests/manifest-shared.avro": shared, "manifest-third.avro": [entry(3, path="third")]},
            metadata=metadata,
        )
        for key in (
            f"{LOG}/manifests/manifest-x.avro",
            state_key(1, "manifest-y.avro"),
            state_key(9, "manifest-z.avro"),
        ):
            store.put(key, b"nobody's")
        store.clock.advance(30 * DAY)
        return store

    def test_all_of_them_are_read(self) -> None:
        assert paths(fresh(self.start())) == ["bare", "shared", "third"]
        assert paths(fresh(self.start(), at=1)) == ["bare"]

    def test_none_of_them_is_collected_while_a_state_names_it(self) -> None:
        store = self.start()
        report = collected(store)
        assert sorted(report.deleted) == [
            f"{LOG}/manifests/manifest-x.avro",
            state_key(1, "manifest-y.avro"),
            state_key(9, "manifest-z.avro"),
        ]
        assert paths(fresh(store)) == ["bare", "shared", "third"]

    @pytest.mark.parametrize("gone", [(2, 3), (1, 3), (1, 2), (1,)])
    def test_each_form_alone_keeps_its_manifest(self, gone: tuple[int, ...]) -> None:
        """State 1 names the bare form alone, state 2 the other two, state 3 all of them."""
        store = self.start()
        for number in gone:
            del store.objects[state_key(number)]
        left = ({1, 2, 3} - set(gone)).pop() if len(gone) == 2 else None
        collected(store)
        kept = {key.rpartition("manifest-")[2].removesuffix(".avro") for key in manifests(store)}
        expected = {1: {"own"}, 2: {"own", "shared"}, 3: {"own", "shared", "third"}, None: {"own", "shared", "third"}}
        assert kept == expected[left]

    def test_our_next_state_names_them_so_that_every_later_one_finds_them(self) -> None:
        store = self.start()
        log = make_log(store)
        snapshot = committed(log, open_log(log), ["new"])
        stated(log, snapshot)
        assert paths(fresh(store)) == ["bare", "new", "shared", "third"]
        collected(store)
        assert paths(fresh(store)) == ["bare", "new", "shared", "third"]


class TestCollectionStops:
    def orphaned(self) -> MemoryStore:
        store = daily(3)
        store.put(f"{LOG}/manifests/manifest-orphan.avro", b"nobody's")
        store.clock.advance(30 * DAY)
        return store

    def test_with_nothing_in_the_way_the_orphan_goes(self) -> None:
        assert collected(self.orphaned()).deleted == [f"{LOG}/manifests/manifest-orphan.avro"]

    @pytest.mark.parametrize("body", [b"", b"rubbish", b"{}", b"Obj\x01"])
    def test_at_a_state_that_cannot_be_read(self, body: bytes) -> None:
        """It might name any of them: also an old one that nobody would open."""
        for version in (1, 2):
            store = self.orphaned()
            store.put(state_key(version), body)
            before = store.bytes()
            report = collected(store)
            assert report.deleted == []
            assert report.stopped is not None
            assert "cannot be read" in report.stopped
            assert {k: v for k, v in store.bytes().items() if "_probe" not in k} == {
                k: v for k, v in before.items() if "_probe" not in k
            }

    def test_when_the_table_was_replaced(self) -> None:
        store = self.orphaned()
        log = make_log(store)
        snapshot = open_log(log)
        put_version(store, 0, PROTOCOL, foreign_metadata())
        report = collect_manifests(LogAtVersion(log, snapshot))
        assert report.deleted == []
        assert "replaced" in (report.stopped or "")

    def test_at_a_table_that_another_implementation_commits_to(self) -> None:
        store = MemoryStore()
        put_version(store, 0, PROTOCOL, foreign_metadata())
        put_foreign_state(store, 1, {"manifests/manifest-a.avro": [entry(1)]}, metadata=foreign_metadata())
        store.put(f"{LOG}/manifests/manifest-orphan.avro", b"nobody's")
        store.clock.advance(30 * DAY)
        report = collected(store)
        assert report.deleted == []
        assert "another implementation" in (report.stopped or "")

    def test_a_state_that_is_written_meanwhile_loses_nothing(self) -> None:
        """Manifests are listed before states: a state written in between may name one that nobody named before."""
        store = self.orphaned()
        log = make_log(store)
        snapshot = open_log(log)
        following = committed(log, snapshot, ["late"])
        shared = f"{LOG}/{stored_state(store, 3)['manifests'][0]['path']}"
        for version in (1, 2, 3):
            del store.objects[state_key(version)]
        listings: list[str] = []

        def listing(prefix: str, after: str | None = None) -> Any:
            listings.append(prefix)
            if len(listings) == 2:
                stated(log, following)
            return store.list(prefix, after)

        report = collect_manifests(LogAtVersion(make_log(Hooked(store, list=listing)), snapshot))
        assert len(listings) == 2
        assert report.deleted == [f"{LOG}/manifests/manifest-orphan.avro"]
        assert shared in store.objects
        assert paths(fresh(store)) == ["f01", "f02", "f03", "late"]
