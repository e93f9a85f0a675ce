"""Tables that another implementation commits by states: read always, written only when that was asked for."""

from __future__ import annotations

import json

import pytest

from indextables import Table
from indextables.core.errors import AccessDenied, ChangesGone, CommitOutcomeUnknown, ForeignTable, StoreUnavailable
from indextables.log.cleanup import clean_up
from indextables.log.history import read_changes
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.checkpoint import checkpoint
from indextables.storage.store import StoredObject
from indextables.storage.testing.faulty import Died, Fault, Faulty, Plan
from indextables.table.handle import TableHandle
from log.support import (
    LOG,
    PROTOCOL,
    FakeClock,
    Hooked,
    MemoryStore,
    make_log,
    put_version,
    raw_versions,
    refused,
    version_key,
)
from state.support import (
    add,
    committed,
    entry,
    foreign_metadata,
    fresh,
    naive_live,
    paths,
    put_foreign_state,
    state_key,
    stated,
    stored_state,
)

ADOPT = {"transaction.adoptForeign": True}
DAY_1 = {"day": "2024-01-01"}
METADATA = foreign_metadata("day")


def foreign(versions: int = 3) -> MemoryStore:
    """Version 0 is the only version file; state n has files f1 … fn, of which f1 is dead from state 3 on."""
    store = MemoryStore()
    put_version(store, 0, PROTOCOL, METADATA)
    manifests = {}
    for number in range(1, versions + 1):
        store.clock.advance(60)
        manifests[f"manifests/manifest-{number}.avro"] = [entry(number, path=f"f{number}", partitionValues=DAY_1)]
        put_foreign_state(store, number, manifests, tombstones=["f1"] if number >= 3 else [], metadata=METADATA)
    return store


def test_each_state_is_a_version() -> None:
    store = foreign()
    assert (fresh(store).version, paths(fresh(store))) == (3, ["f2", "f3"])
    assert fresh(store).state_committed
    assert paths(fresh(store, at=2)) == ["f1", "f2"]
    assert paths(fresh(store, at=1)) == ["f1"]
    log = make_log(store)
    found = read_changes(LogAtVersion(log, open_log(log)), 1)
    assert found.adds["path"].to_pylist() == ["f2", "f3"]
    assert found.removes["path"].to_pylist() == ["f1"], "two states are compared"


def test_a_state_0_counts_only_where_it_is_the_only_one() -> None:
    """The other implementation's CHECKPOINT may leave a state 0 that is newer than its number."""
    store = foreign()
    put_foreign_state(store, 0, {"manifests/manifest-0.avro": [entry(9, path="f9")]}, metadata=METADATA)
    assert paths(fresh(store)) == ["f2", "f3"]
    for number in (1, 2, 3):
        del store.objects[state_key(number)]
    assert paths(fresh(store)) == ["f9"]


def test_writing_is_refused_unless_it_was_asked_for() -> None:
    store = foreign()
    log = make_log(store)
    snapshot = open_log(log)
    with refused(store, ForeignTable, "adoptForeign", "another implementation"):
        committed(log, snapshot, [add("mine", day="2024-01-02")])
    with refused(store, ForeignTable, "adoptForeign"):
        Table(TableHandle(log, snapshot)).commit_files([add("mine", day="2024-01-02")])


@pytest.mark.parametrize("options", [{}, {"state.format": "json"}, ADOPT])
def test_a_checkpoint_is_refused_and_changes_nothing(options: dict[str, object]) -> None:
    """Our pointer has a field more than the other implementation reads: it would lose its state."""
    store = foreign()
    log = make_log(store, options)
    with refused(store, ForeignTable, "adoptForeign"):
        checkpoint(LogAtVersion(log, open_log(log)), compact=True)
    with refused(store, ForeignTable, "adoptForeign"):
        Table(TableHandle(log, open_log(log))).checkpoint()


def test_clean_up_leaves_it_alone() -> None:
    store = foreign()
    store.clock.advance(400 * 86_400)
    log = make_log(store, {"logRetention.duration": 1})
    report = clean_up(LogAtVersion(log, open_log(log)))
    assert report.deleted == []
    assert "another implementation" in (report.stopped or "")


def test_adopting_commits_a_state_and_then_its_version() -> None:
    store = foreign()
    log = make_log(store, ADOPT)
    order = Faulty(store, mutations_only=True)
    snapshot = committed(make_log(order, ADOPT), open_log(log), [add("mine", day="2024-01-02")], ["f2"])
    created = [key for verb, key in order.calls if verb == "create" and "/manifests/" not in key]
    assert created == [state_key(4), version_key(4)]
    assert (snapshot.version, snapshot.state_committed) == (4, False)
    assert paths(snapshot) == ["f3", "mine"]
    assert set(naive_live(store, 4)) == {"f3", "mine"}
    assert stored_state(store, 4)["tombstones"] == []
    assert json.loads(stored_state(store, 4)["metadata"])["metaData"]["id"] == METADATA["metaData"]["id"]
    opened = fresh(store)
    assert (opened.version, opened.state_committed, paths(opened)) == (4, False, ["f3", "mine"])
    info, remove, added = raw_versions(store.bytes())[4]
    assert info["commitInfo"]["tableId"] == METADATA["metaData"]["id"]
    assert (remove["remove"]["path"], added["add"]["path"]) == ("f2", "mine")
    assert {item["boundsOrder"] for item in stored_state(store, 4)["manifests"]} == {"typed"}


def test_from_then_on_it_is_a_table_like_any_other() -> None:
    store = foreign()
    log = make_log(store, ADOPT)
    snapshot = committed(log, open_log(log), [add("mine", day="2024-01-02")])
    plain = make_log(store)
    snapshot = committed(plain, open_log(plain), [add("more", day="2024-01-03")])
    assert snapshot.version == 5
    assert [key for key in store.objects if "state-v" in key][-1] == state_key(4), "commits are versions now"
    stated(plain, snapshot)
    assert paths(fresh(store)) == ["f2", "f3", "mine", "more"]
    assert [paths(fresh(store, at=v)) for v in (1, 2, 3, 4)] == [
        ["f1"],
        ["f1", "f2"],
        ["f2", "f3"],
        ["f2", "f3", "mine"],
    ]
    found = read_changes(LogAtVersion(plain, open_log(plain)), 4)
    assert found.adds["path"].to_pylist() == ["more"]
    with pytest.raises(ChangesGone):
        read_changes(LogAtVersion(plain, open_log(plain)), 2)


@pytest.mark.parametrize("fault", list(Fault))
def test_a_fault_anywhere_while_adopting(fault: Fault) -> None:
    """At each request: the table is at 3 without the file, or at 4 with it, and the next writer goes on."""
    start = foreign()
    whole = Faulty(start.copy(), mutations_only=True)
    committed(make_log(whole, ADOPT), open_log(make_log(whole)), [add("mine", day="2024-01-02")])
    for at in range(1, len(whole.calls) + 1):
        store = start.copy()
        faulty = Faulty(store, Plan(at, fault), mutations_only=True)
        log = make_log(faulty, ADOPT)
        outcome: object = None
        try:
            outcome = committed(log, open_log(log), [add("mine", day="2024-01-02")]).version
        except (Died, Exception) as error:
            outcome = error
        opened = fresh(store)
        expected = ["f2", "f3", "mine"] if opened.version == 4 else ["f2", "f3"]
        assert paths(opened) == expected
        if isinstance(outcome, int):
            assert "mine" in paths(opened), "what was promised is there"
        other = make_log(store, ADOPT, clock=FakeClock(seed=50 + at))
        after = committed(other, open_log(other), [add("next", day="2024-01-03")])
        assert paths(fresh(store)) == sorted([*expected, "next"]) == paths(after)


def test_two_adopt_at_once() -> None:
    store = foreign()
    first, second = make_log(store, ADOPT), make_log(store, ADOPT, clock=FakeClock(seed=9))
    read = open_log(first)
    other = open_log(second)
    committed(first, read, [add("one", day="2024-01-02")])
    committed(second, other, [add("two", day="2024-01-02")])
    opened = fresh(store)
    assert opened.version == 5
    assert paths(opened) == ["f2", "f3", "one", "two"]


def test_the_other_implementation_commits_meanwhile() -> None:
    """Its state took our number: ours is the next."""
    store = foreign()
    log = make_log(store, ADOPT)
    read = open_log(log)
    manifests = {f"manifests/manifest-{n}.avro": [entry(n, path=f"f{n}", partitionValues=DAY_1)] for n in range(1, 5)}
    put_foreign_state(store, 4, manifests, tombstones=["f1"], metadata=METADATA)
    snapshot = committed(log, read, [add("mine", day="2024-01-02")])
    assert snapshot.version == 5
    assert paths(fresh(store)) == ["f2", "f3", "f4", "mine"]
    assert version_key(4) not in store.objects


def test_a_table_committed_by_versions_is_no_such_table() -> None:
    """A state over version files is a checkpoint, whoever wrote it."""
    store = MemoryStore()
    put_version(store, 0, PROTOCOL, METADATA)
    put_version(store, 1, {"add": entry(1, path="f1", partitionValues=DAY_1)})
    put_foreign_state(store, 1, {"manifests/m.avro": [entry(1, path="f1", partitionValues=DAY_1)]}, metadata=METADATA)
    log = make_log(store)
    snapshot = open_log(log)
    assert not snapshot.state_committed
    snapshot = stated(log, committed(log, snapshot, [add("mine", day="2024-01-02")]))
    assert paths(fresh(store)) == ["f1", "mine"]
    assert f"{LOG}/manifests/m.avro" in store.objects


class TestAdoptionWithoutAnAnswer:
    """The state is the commit: while nobody can tell whether it was written, nothing that it names may be deleted."""

    def take_over(self, store: MemoryStore, **verbs: object) -> None:
        log = make_log(Hooked(store, **verbs), ADOPT)  # type: ignore[arg-type]
        committed(log, open_log(log), [add("mine", **DAY_1)])

    def test_a_state_that_cannot_be_read_back(self) -> None:
        store = foreign()

        def create(key: str, data: bytes) -> None:
            store.create(key, data)
            if key == state_key(4):
                raise StoreUnavailable("time-out")

        def get(key: str) -> StoredObject:
            if key == state_key(4):
                raise StoreUnavailable("time-out")
            return store.get(key)

        with pytest.raises(CommitOutcomeUnknown, match="version 4"):
            self.take_over(store, create=create, get=get)
        assert paths(fresh(store)) == ["f2", "f3", "mine"]

    def test_a_state_that_no_request_brought_to_its_place(self) -> None:
        store = foreign()

        def create(key: str, data: bytes) -> None:
            if key == state_key(4):
                raise StoreUnavailable("time-out")
            store.create(key, data)

        with pytest.raises(CommitOutcomeUnknown, match="requests failed"):
            self.take_over(store, create=create)
        assert paths(fresh(store)) == ["f2", "f3"]

    def test_a_state_that_was_refused_is_no_commit(self) -> None:
        store = foreign()

        def create(key: str, data: bytes) -> None:
            if key == state_key(4):
                raise AccessDenied("no")
            store.create(key, data)

        with pytest.raises(AccessDenied):
            self.take_over(store, create=create)
        assert paths(fresh(store)) == ["f2", "f3"]

    @pytest.mark.parametrize("what", ["the pointer", "the version file"])
    def test_what_follows_the_state_may_fail(self, what: str) -> None:
        store = foreign()

        def create(key: str, data: bytes) -> None:
            if what == "the version file" and key == version_key(4):
                raise StoreUnavailable("time-out")
            store.create(key, data)

        def put(key: str, data: bytes) -> None:
            if what == "the pointer":
                raise StoreUnavailable("time-out")
            store.put(key, data)

        def get(key: str) -> StoredObject:
            if what == "the version file" and key == version_key(4) and state_key(4) in store.objects:
                raise StoreUnavailable("time-out")
            return store.get(key)

        self.take_over(store, create=create, put=put, get=get)
        assert paths(fresh(store)) == ["f2", "f3", "mine"]
