"""Creating an object once: what becomes of the request, and that every caller draws the same conclusions from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from indextables.core.clock import BackOff
from indextables.core.errors import (
    AccessDenied,
    CommitOutcomeUnknown,
    CorruptLog,
    InvalidKey,
    ObjectExists,
    StorageError,
    StoreMisconfigured,
    StoreUnavailable,
    TableExists,
)
from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.open_snapshot import open_log
from indextables.log.put_once import (
    Absent,
    Outcome,
    Refused,
    Theirs,
    Unknown,
    Won,
    create_and_read_back,
    put_under_new_name,
    read_back,
)
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.state.write import write_state
from indextables.log.table_log import TableLog
from indextables.storage.store import StoredObject
from log.support import (
    LOG,
    FakeClock,
    Hooked,
    MemoryStore,
    append,
    checkpoint_key,
    grown,
    live,
    make_log,
    new_table,
    version_key,
)
from state.support import state_key

LOST = StoreUnavailable("time-out")
DENIED = AccessDenied("no")
FULL = StorageError("no space left on device", written=False)
UNSYNCED = StorageError("cannot sync the directory", written=True)
REFUSALS = [DENIED, InvalidKey("no"), StoreMisconfigured("no"), FULL]


class TestOutcomes:
    def created(self, failure: StorageError | None, *, there: bytes | None = None, get: Any = None) -> Outcome:
        """What is said of a create of `mine` that fails after `there` has come to lie at the key."""
        store = MemoryStore()

        def create(key: str, data: bytes) -> None:
            if there is not None:
                store.put(key, there)
            if failure is not None:
                raise failure
            store.create(key, data)

        hooked: Any = Hooked(store, create=create, **({"get": get} if get else {}))
        return create_and_read_back(hooked, "key", b"mine", self.is_mine)

    def is_mine(self, found: StoredObject) -> bool:
        if found.data == b"rubbish":
            raise CorruptLog("cannot be read")
        return found.data == b"mine"

    def broken(self, key: str) -> StoredObject:
        raise LOST

    def test_answered(self) -> None:
        assert self.created(None) == Won()

    @pytest.mark.parametrize("failure", [LOST, ObjectExists("there"), *REFUSALS])
    def test_our_object_is_there(self, failure: StorageError) -> None:
        assert self.created(failure, there=b"mine") == Won()

    @pytest.mark.parametrize("failure", [LOST, ObjectExists("there"), UNSYNCED, *REFUSALS])
    def test_another_object_is_there(self, failure: StorageError) -> None:
        outcome = self.created(failure, there=b"other")
        assert isinstance(outcome, Theirs)
        assert outcome.found.data == b"other"

    @pytest.mark.parametrize("failure", [LOST, ObjectExists("there"), UNSYNCED])
    def test_nothing_is_there(self, failure: StorageError) -> None:
        assert self.created(failure) == Absent(failure)

    @pytest.mark.parametrize("failure", REFUSALS)
    def test_refused(self, failure: StorageError) -> None:
        assert self.created(failure) == Refused(failure)
        assert self.created(failure, get=self.broken) == Refused(failure), "a refusal needs no second witness"
        assert self.created(failure, there=b"rubbish") == Refused(failure)

    def test_unknown(self) -> None:
        assert self.created(LOST, get=self.broken) == Unknown(LOST, "reading it back failed: time-out")
        damaged = self.created(LOST, there=b"rubbish")
        assert isinstance(damaged, Unknown)
        assert isinstance(damaged.error, CorruptLog)

    def test_what_may_not_survive_a_power_cut_is_unknown(self) -> None:
        outcome = self.created(UNSYNCED, there=b"mine")
        assert isinstance(outcome, Unknown)
        assert outcome.error is UNSYNCED
        assert "power cut" in outcome.why

    def test_reading_back_alone(self) -> None:
        store = MemoryStore()
        assert read_back(store, "key", self.is_mine) is None
        store.put("key", b"mine")
        assert read_back(store, "key", self.is_mine) == Won()
        store.put("key", b"other")
        assert isinstance(read_back(store, "key", self.is_mine), Theirs)


class TestNewNames:
    def put(self, *failures: StorageError, attempts: int = 3) -> tuple[str, list[str], list[float]]:
        clock, names, pending = FakeClock(1.0), iter("abcdef"), list(failures)
        tried: list[str] = []

        def put(key: str) -> None:
            tried.append(key)
            if pending:
                raise pending.pop(0)

        back_off = BackOff(100, 150)
        key = put_under_new_name(lambda: next(names), put, clock=clock, attempts=attempts, back_off=back_off)
        return key, tried, clock.slept

    def test_each_try_has_a_name_of_its_own_and_waits_longer(self) -> None:
        assert self.put() == ("a", ["a"], [])
        assert self.put(LOST, LOST) == ("c", ["a", "b", "c"], [0.1, 0.15])

    def test_the_last_failure_is_raised(self) -> None:
        with pytest.raises(StoreUnavailable):
            self.put(LOST, LOST, LOST)

    @pytest.mark.parametrize("refusal", REFUSALS)
    def test_a_refusal_is_not_repeated(self, refusal: StorageError) -> None:
        with pytest.raises(type(refusal)):
            self.put(refusal)


@dataclass(frozen=True)
class Caller:
    """One of those who create an object once: what it creates, and how it is called."""

    name: str
    key: str
    call: Callable[[TableLog, Snapshot | None], object]
    versions: int | None = 2
    tried: list[str] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)

    def attempt(self, *failures: StorageError, times: int = 1, arrives: bool = False) -> tuple[MemoryStore, list[str]]:
        """The store and the keys that were created, where the first creates of the key fail."""
        store = MemoryStore()
        snapshot = grown(make_log(store), self.versions) if self.versions is not None else None
        pending = list(failures) * times
        created: list[str] = []

        def create(key: str, data: bytes) -> None:
            if key != self.key:
                return store.create(key, data)
            created.append(key)
            if pending:
                if arrives:
                    store.put(key, data)
                raise pending.pop(0)
            return store.create(key, data)

        clock = FakeClock(1.0, seed=9)
        self.slept.clear()
        try:
            self.call(make_log(Hooked(store, create=create), clock=clock), snapshot)
        finally:
            self.slept.extend(clock.slept)
            self.tried[:] = created
        return store, created


def _commit(log: TableLog, snapshot: Snapshot | None) -> object:
    assert snapshot is not None
    return append(log, snapshot, "mine")


def _create_table(log: TableLog, snapshot: Snapshot | None) -> object:
    return new_table(log)


def _json_checkpoint(log: TableLog, snapshot: Snapshot | None) -> object:
    assert snapshot is not None
    return write_checkpoint(LogAtVersion(log, snapshot))


def _state(log: TableLog, snapshot: Snapshot | None) -> object:
    assert snapshot is not None
    return write_state(LogAtVersion(log, snapshot))


CALLERS = [
    Caller("commit", version_key(3), _commit),
    Caller("create", version_key(0), _create_table, versions=None),
    Caller("JSON checkpoint", checkpoint_key(2), _json_checkpoint),
    Caller("state", state_key(2), _state),
]
each_caller = pytest.mark.parametrize("caller", CALLERS, ids=lambda caller: caller.name)


@each_caller
class TestEveryCaller:
    @pytest.mark.parametrize("refusal", REFUSALS, ids=lambda error: f"{type(error).__name__} {error}")
    def test_a_refusal_is_raised_and_not_repeated(self, caller: Caller, refusal: StorageError) -> None:
        with pytest.raises(type(refusal)) as raised:
            caller.attempt(refusal, times=9)
        assert raised.value is refusal
        assert caller.tried == [caller.key]
        assert caller.slept == []

    def test_the_waits_between_tries_grow(self, caller: Caller) -> None:
        store, created = caller.attempt(LOST, times=3)
        assert len(created) == 4
        assert caller.slept == pytest.approx([0.1, 0.2, 0.4])
        assert caller.key in store.objects

    def test_a_refusal_after_an_open_request_proves_nothing(self, caller: Caller) -> None:
        _, created = caller.attempt(LOST, DENIED)
        assert len(created) == 3

    def test_what_may_not_survive_a_power_cut_is_no_success(self, caller: Caller) -> None:
        with pytest.raises((StorageError, CommitOutcomeUnknown)):
            caller.attempt(UNSYNCED, arrives=True)
        assert caller.tried == [caller.key]

    def test_our_own_object_is_success(self, caller: Caller) -> None:
        _, created = caller.attempt(LOST, arrives=True)
        assert created == [caller.key]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda error: f"{type(error).__name__} {error}")
def test_a_manifest_that_was_refused_is_not_tried_again(refusal: StorageError) -> None:
    store = MemoryStore()
    snapshot = grown(make_log(store), 2)
    created: list[str] = []

    def create(key: str, data: bytes) -> None:
        created.append(key)
        raise refusal

    with pytest.raises(type(refusal)):
        write_state(LogAtVersion(make_log(Hooked(store, create=create)), snapshot))
    assert len(created) == 1
    assert created[0].startswith(f"{LOG}/manifests/")


def test_creating_a_table_that_was_refused_and_cannot_be_read_back_is_refused() -> None:
    store = MemoryStore()

    def create(key: str, data: bytes) -> None:
        raise DENIED

    def get(key: str) -> StoredObject:
        raise DENIED

    with pytest.raises(AccessDenied):
        new_table(make_log(Hooked(store, create=create, get=get)))


def test_a_table_that_another_process_creates_meanwhile_exists() -> None:
    store = MemoryStore()

    def create(key: str, data: bytes) -> None:
        new_table(make_log(store, clock=FakeClock(seed=3)))
        store.create(key, data)

    with pytest.raises(TableExists):
        new_table(make_log(Hooked(store, create=create)))
    assert live(open_log(make_log(store))) == set()
