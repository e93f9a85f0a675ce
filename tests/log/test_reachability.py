"""What the log names, in every way in which it can name something, and what happens when that cannot be told."""

from __future__ import annotations

import pytest

from indextables.core.errors import CorruptLog, ObjectNotFound
from indextables.log.cleanup import clean_up
from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.open_snapshot import open_log
from indextables.log.reachability import (
    has_all_manifests,
    list_state_objects,
    manifests_of,
    reachable_data_files,
    reachable_manifests,
)
from indextables.log.snapshot import LogAtVersion
from log.support import DAY, LOG, ROOT, Hooked, MemoryStore, make_log, put_version, raw_add, version_key
from state.support import committed, entry, fresh, put_foreign_state, state_key, state_of, stated, table

OTHERS = frozenset(f"g{number}" for number in range(20))


def with_two_states(store: MemoryStore) -> None:
    """f1 is added and removed again, f3 is added later, the others stay; states at versions 1 and 3."""
    log = make_log(store)
    snapshot = stated(log, committed(log, table(log), ["f1", "f2", *OTHERS]))
    snapshot = committed(log, snapshot, ["f3"])
    stated(log, committed(log, snapshot, removes=["f1"]))


def manifests(store: MemoryStore) -> set[str]:
    return {key for key in store.objects if "/manifest" in key and "_manifest." not in key}


class TestManifests:
    def test_all_that_any_state_names(self) -> None:
        store = MemoryStore()
        with_two_states(store)
        log = make_log(store)
        assert [version for version, _ in list_state_objects(log)] == [1, 3]
        assert reachable_manifests(log, list_state_objects(log)) == manifests(store)

    @pytest.mark.parametrize(
        "path", ["manifests/manifest-a.avro", "state-v00000000000000000001/manifest-b.avro", "c.avro"]
    )
    def test_each_form_of_a_path(self, path: str) -> None:
        store = MemoryStore()
        put_foreign_state(store, 1, {path: [entry(1)]})
        log = make_log(store)
        (key,) = reachable_manifests(log, list_state_objects(log))
        assert key in store.objects
        assert key.endswith(path.rpartition("/")[2])

    def test_a_state_that_cannot_be_read_names_anything(self) -> None:
        store = MemoryStore()
        with_two_states(store)
        store.put(state_key(1), b"rubbish")
        log = make_log(store)
        with pytest.raises(CorruptLog, match="state-v00000000000000000001"):
            reachable_manifests(log, list_state_objects(log))

    def test_a_state_that_vanishes_means_planning_again(self) -> None:
        store = MemoryStore()
        with_two_states(store)
        log = make_log(store)
        states = list_state_objects(log)
        del store.objects[state_key(1)]
        with pytest.raises(ObjectNotFound):
            reachable_manifests(log, states)

    def test_whether_they_are_all_there(self) -> None:
        store = MemoryStore()
        with_two_states(store)
        state = state_of(fresh(store))
        assert has_all_manifests(make_log(store), state)
        for key in manifests_of(state):
            part = store.copy()
            del part.objects[key]
            assert not has_all_manifests(make_log(part), state)


class TestDataFiles:
    def test_adds_and_removes_of_versions(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        snapshot = committed(log, table(log), ["f1", "f2"])
        committed(log, snapshot, ["f3"], removes=["f1"])
        assert reachable_data_files(log) == {"f1", "f2", "f3"}

    @pytest.mark.parametrize("keep", [1, 3])
    def test_what_only_a_state_names(self, keep: int) -> None:
        """Its version files are gone; entries that a tombstone hides are named all the same."""
        store = MemoryStore()
        with_two_states(store)
        for number in (1, 2, 3):
            del store.objects[version_key(number)]
        del store.objects[state_key(4 - keep)]
        assert reachable_data_files(make_log(store)) == OTHERS | ({"f1", "f2"} if keep == 1 else {"f1", "f2", "f3"})

    @pytest.mark.parametrize("limit", [1, 50_000])
    def test_what_only_a_checkpoint_names(self, limit: int) -> None:
        store = MemoryStore()
        log = make_log(store, {"state.format": "json", "checkpoint.multipart.maxActionsPerPart": limit})
        write_checkpoint(LogAtVersion(log, committed(log, table(log), ["f1", "f2", "f3"])))
        del store.objects[version_key(1)]
        assert reachable_data_files(make_log(store)) == {"f1", "f2", "f3"}

    def test_a_path_is_the_key_that_it_means(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        committed(log, table(log), ["plain/f1"])
        put_version(store, 2, raw_add(f"{ROOT}/day=1/f2"))
        assert reachable_data_files(log) == {"plain/f1", "day=1/f2"}

    def test_a_version_that_vanishes_means_planning_again(self) -> None:
        store = MemoryStore()
        with_two_states(store)

        def get(key: str) -> object:
            if key == version_key(2):
                raise ObjectNotFound("gone")
            return store.get(key)

        with pytest.raises(ObjectNotFound, match="gone"):
            reachable_data_files(make_log(Hooked(store, get=get)))

    @pytest.mark.parametrize("key", [version_key(2), state_key(1)])
    def test_what_cannot_be_read_names_anything(self, key: str) -> None:
        store = MemoryStore()
        with_two_states(store)
        store.put(key, b"rubbish")
        with pytest.raises(CorruptLog):
            reachable_data_files(make_log(store))

    def test_live_files_stay_reachable_after_clean_up(self) -> None:
        store = MemoryStore()
        with_two_states(store)
        store.clock.advance(60 * DAY)
        log = make_log(store)
        committed(log, open_log(log), ["late"])
        deleted = clean_up(LogAtVersion(log, open_log(log))).deleted
        assert any(key.startswith(f"{LOG}/0") for key in deleted)
        assert reachable_data_files(log) >= OTHERS | {"f2", "f3", "late"}
