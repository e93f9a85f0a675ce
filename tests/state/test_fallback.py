"""A state that cannot be read, and manifests that go or break after the table was opened."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest

from indextables import Table
from indextables.core.errors import CorruptLog, LogWarning, VersionNotFound
from indextables.core.predicate import parse_predicate
from indextables.log.commit import commit
from indextables.log.conflicts import Change, Replace
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.state.checkpoint import checkpoint
from indextables.storage.store import StoredObject
from indextables.table.handle import TableHandle
from log.support import LOG, Hooked, MemoryStore, checkpoint_key, make_log, version_key
from state.support import add, committed, entry, fresh, paths, put_foreign_state, state_key, stated, stored_state, table


def opened(store: MemoryStore) -> Table:
    log = make_log(store)
    return Table(TableHandle(log, open_log(log)))


def two_states(store: MemoryStore) -> Snapshot:
    """Versions 1 to 5, one file and one day in each; states 2 and 4."""
    log = make_log(store)
    snapshot = table(log, "day")
    for number in range(1, 6):
        snapshot = committed(log, snapshot, [add(f"f{number}", day=f"2024-01-{number:02d}")])
        if number in (2, 4):
            snapshot = stated(log, snapshot)
    return snapshot


BREAK: dict[str, Callable[[MemoryStore, str], None]] = {
    "gone": lambda store, key: store.objects.pop(key) and None,
    "empty": lambda store, key: store.put(key, b""),
    "cut": lambda store, key: store.put(key, store.objects[key].data[:-20]),
    "rubbish": lambda store, key: store.put(key, b"rubbish"),
    "another": lambda store, key: store.put(key, store.objects[state_key(2)].data),
}


class TestTheNewestState:
    @pytest.mark.parametrize("how", ["empty", "cut", "rubbish", "another"])
    def test_older_states_and_versions_replace_it(self, how: str) -> None:
        store = MemoryStore()
        two_states(store)
        BREAK[how](store, state_key(4))
        with pytest.warns(LogWarning, match=r"state 4 cannot be used .*reading older states and version files"):
            snapshot = fresh(store)
        assert (snapshot.version, snapshot.base, len(paths(snapshot))) == (5, 2, 5)

    @pytest.mark.parametrize("how", ["empty", "cut", "rubbish"])
    def test_without_the_versions_that_would_replace_it_reading_is_an_error(self, how: str) -> None:
        store = MemoryStore()
        two_states(store)
        BREAK[how](store, state_key(4))
        del store.objects[version_key(3)]
        with pytest.warns(LogWarning), pytest.raises(CorruptLog, match=r"newest state, 4,.*are gone after 2; repair"):
            fresh(store)

    def test_both_states_unreadable(self) -> None:
        store = MemoryStore()
        two_states(store)
        for version in (2, 4):
            BREAK["rubbish"](store, state_key(version))
        with pytest.warns(LogWarning) as caught:
            snapshot = fresh(store)
        assert {str(each.message).split(" cannot")[0].split(": ")[1] for each in caught} == {"state 4", "state 2"}
        assert (snapshot.base, len(paths(snapshot))) == (None, 5)

    def test_an_older_version_is_not_disturbed_by_a_newer_broken_state(self) -> None:
        store = MemoryStore()
        two_states(store)
        BREAK["rubbish"](store, state_key(4))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert paths(fresh(store, at=3)) == ["f1", "f2", "f3"]

    def test_another_tables_state_is_ignored_without_a_word(self) -> None:
        store, other = MemoryStore(), MemoryStore()
        two_states(store)
        put_foreign_state(other, 9, {"manifests/m.avro": [entry(1, path="alien")]})
        for key, stored in other.objects.items():
            if "_last_checkpoint" not in key:
                store.objects[key] = stored
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            snapshot = fresh(store)
        assert (snapshot.version, snapshot.base, len(paths(snapshot))) == (5, 4, 5)

    def test_the_next_checkpoint_heals(self) -> None:
        store = MemoryStore()
        two_states(store)
        BREAK["rubbish"](store, state_key(4))
        log = make_log(store)
        with pytest.warns(LogWarning):
            stated(log, open_log(log))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert (fresh(store).base, len(paths(fresh(store)))) == (5, 5)


class TestAStateAndACheckpointOfOneVersion:
    """Two writers with different options, or one that slept: what one file lacks, the other has."""

    def both(self, store: MemoryStore) -> None:
        """States and a checkpoint of version 4, and no version 3 to do without them."""
        two_states(store)
        log = make_log(store, {"state.format": "json"})
        checkpoint(LogAtVersion(log, open_log(log, 4)), compact=False)
        assert {state_key(4), checkpoint_key(4)} <= store.objects.keys()
        del store.objects[version_key(3)]

    @pytest.mark.parametrize("how", ["empty", "cut", "rubbish", "another"])
    def test_the_checkpoint_stands_in_for_the_state(self, how: str) -> None:
        store = MemoryStore()
        self.both(store)
        BREAK[how](store, state_key(4))
        with pytest.warns(LogWarning, match="state 4 cannot be used"):
            snapshot = fresh(store)
        assert (snapshot.version, snapshot.base, len(paths(snapshot))) == (5, 4, 5)

    @pytest.mark.parametrize("how", ["gone", "empty", "cut", "rubbish"])
    def test_the_checkpoint_stands_in_for_manifests(self, how: str) -> None:
        """Collected while the state's writer slept between writing them and naming them."""
        store = MemoryStore()
        self.both(store)
        break_manifest(store, how, 0)
        with pytest.warns(LogWarning):
            assert opened(store).files().num_rows == 5
        with pytest.warns(LogWarning):
            assert opened(store).files("day = '2024-01-01'").num_rows == 1

    @pytest.mark.parametrize("how", ["gone", "empty", "cut", "rubbish"])
    def test_the_state_needs_no_checkpoint(self, how: str) -> None:
        store = MemoryStore()
        self.both(store)
        BREAK[how](store, checkpoint_key(4))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert (fresh(store).base, len(paths(fresh(store)))) == (4, 5)

    def test_neither_of_them_can_be_read(self) -> None:
        store = MemoryStore()
        self.both(store)
        BREAK["rubbish"](store, state_key(4))
        BREAK["rubbish"](store, checkpoint_key(4))
        with pytest.warns(LogWarning), pytest.raises(CorruptLog, match=r"newest state, 4,.*are gone after 2; repair"):
            fresh(store)


def break_manifest(store: MemoryStore, how: str, place: int) -> str:
    path = stored_state(store, 4)["manifests"][place]["path"]
    BREAK[how](store, f"{LOG}/{path}")
    return path


@pytest.mark.parametrize("place", [0, 1])
def test_a_manifest_that_vanishes_after_opening(place: int) -> None:
    """The table is read from whatever else can give the same version, and goes on from that."""
    store = MemoryStore()
    two_states(store)
    t = opened(store)
    break_manifest(store, "gone", place)
    with pytest.warns(LogWarning) as caught:
        assert sorted(t.files()["path"].to_pylist()) == [f"f{n}" for n in range(1, 6)]
    assert "state 4 cannot be used" in str(caught[0].message)
    assert len(caught) == (2 if place == 0 else 1), "state 2 names the first manifest, too"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert t.files().num_rows == 5, "and the second look costs nothing"
    assert t.version == 5


@pytest.mark.parametrize("how", ["empty", "cut", "rubbish", "another"])
def test_a_manifest_that_breaks_after_opening(how: str) -> None:
    store = MemoryStore()
    two_states(store)
    t = opened(store)
    break_manifest(store, how, 1)
    with pytest.warns(LogWarning, match="state 4 cannot be used"):
        assert t.files().num_rows == 5


def test_a_manifest_that_the_question_is_not_about_is_not_missed() -> None:
    store = MemoryStore()
    two_states(store)
    t = opened(store)
    break_manifest(store, "gone", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert t.files("day = DATE '2024-01-04'")["path"].to_pylist() == ["f4"]
    with pytest.warns(LogWarning):
        assert t.files("day = DATE '2024-01-01'")["path"].to_pylist() == ["f1"]


def test_a_manifest_that_nothing_can_replace() -> None:
    store = MemoryStore()
    two_states(store)
    t = opened(store)
    path = break_manifest(store, "rubbish", 0)
    for number in (1, 2):
        del store.objects[version_key(number)]
    with pytest.warns(LogWarning) as caught, pytest.raises((CorruptLog, VersionNotFound)) as raised:
        t.files()
    assert path in str(caught[0].message)
    assert "repair" in str(raised.value) or "cannot be reached" in str(raised.value)


def test_a_table_at_an_older_version_stays_there() -> None:
    store = MemoryStore()
    two_states(store)
    log = make_log(store)
    t = Table(TableHandle(log, open_log(log, 4)), travelled=True)
    break_manifest(store, "gone", 1)
    with pytest.warns(LogWarning):
        assert sorted(t.files()["path"].to_pylist()) == ["f1", "f2", "f3", "f4"]
    assert t.version == 4


def test_nothing_is_read_before_files_are_asked_for() -> None:
    """A broken manifest does not stand in the way of opening, of history, or of an append."""
    store = MemoryStore()
    two_states(store)
    break_manifest(store, "rubbish", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        t = opened(store)
        assert t.version == 5
        assert t.history().num_rows == 6
        assert t.commit_files([add("f6", day="2024-01-06")]).version == 6


def test_an_older_state_without_its_version_file_is_not_another_implementations() -> None:
    """Clean-up keeps a state longer than the version file of its number. Falling back to it must not turn the table into one
    that is committed by states: the next commit would then be a state, and shadow a version that someone else wrote.
    """
    store = MemoryStore()
    two_states(store)
    log = make_log(store)
    held = open_log(log)
    for number in (1, 2):
        del store.objects[version_key(number)]
    older, newer = ({item["path"] for item in stored_state(store, number)["manifests"]} for number in (2, 4))
    for path in newer - older:
        del store.objects[f"{LOG}/{path}"]
    with pytest.warns(LogWarning):
        again = open_log(make_log(store), whole=True)
    assert (again.version, again.base, again.state_committed) == (5, 2, False)
    change = Change(adds=(add("new", day="2024-01-09"),), replace=Replace())
    with pytest.warns(LogWarning):
        done = commit(LogAtVersion(log, held), change, operation="OVERWRITE")
    assert done.snapshot.version == 6
    assert version_key(6) in store.objects
    assert state_key(6) not in store.objects


class TestWhatAHandleStandsOnIsCleanedUp:
    """A process that slept for days between looking at the table and reading its manifests."""

    def moved_on(self, store: MemoryStore) -> None:
        """Somebody else goes on to version 6 and its state, and everything below it is cleaned up."""
        log = make_log(store)
        stated(log, committed(log, open_log(log), ["f6"]), compact=True)
        keep = {f"{LOG}/{item['path']}" for item in stored_state(store, 6)["manifests"]}
        keep |= {state_key(6), version_key(0), version_key(6), f"{LOG}/_last_checkpoint"}
        for key in [key for key in store.objects if key.startswith(LOG) and key not in keep]:
            del store.objects[key]

    def slept(self, store: MemoryStore) -> Hooked:
        """A store that all this happens to when the first manifest is asked for."""
        asked: list[str] = []

        def get(key: str) -> StoredObject:
            if "manifests/" in key and not asked:
                asked.append(key)
                self.moved_on(store)
            return store.get(key)

        return Hooked(store, get=get)

    @pytest.mark.parametrize("where", [None, "day = '2024-01-01'"])
    def test_a_commit_begins_anew_with_what_is_there(self, where: str | None) -> None:
        store = MemoryStore()
        two_states(store)
        log = make_log(self.slept(store))
        read = open_log(log)
        replaced = Replace(None if where is None else parse_predicate(where, read.schema))
        done = commit(
            LogAtVersion(log, read), Change(adds=(add("new", day="2024-01-01"),), replace=replaced), operation="WRITE"
        )
        assert (read.version, done.snapshot.version) == (5, 7)
        left = ["f2", "f3", "f4", "f5", "f6", "new"] if where else ["new"]
        assert paths(fresh(store)) == left == paths(done.snapshot)

    def test_a_reader_is_told_to_refresh(self) -> None:
        store = MemoryStore()
        two_states(store)
        log = make_log(self.slept(store))
        handle = Table(TableHandle(log, open_log(log)))
        with pytest.raises(VersionNotFound, match=r"version 5 was cleaned up since it was opened; refresh the table"):
            handle.files()
        assert handle.refresh().files().num_rows == 6
