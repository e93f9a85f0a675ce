"""What became of a commit whose create failed, was answered late, or lost a race. Time and chance are moved by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from indextables.core.errors import (
    AccessDenied,
    CommitOutcomeUnknown,
    InvalidKey,
    ObjectExists,
    ObjectNotFound,
    StorageError,
    StoreMisconfigured,
    StoreUnavailable,
    TableReplaced,
    TooManyConflicts,
    UploadTooOld,
)
from indextables.log.commit import Committed, commit
from indextables.log.conflicts import Change
from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion, Snapshot
from log.support import (
    HOUR,
    FakeClock,
    Hooked,
    MemoryStore,
    add,
    append,
    commit_infos,
    grown,
    live,
    make_log,
    new_table,
    raw_versions,
    version_key,
)

MINUTE = 60.0


def table(versions: int = 2) -> MemoryStore:
    store = MemoryStore()
    grown(make_log(store), versions)
    return store


class Script:
    """A store whose creates follow a script: one function a call, then as usual."""

    def __init__(self, inner: MemoryStore, *steps: Callable[[str, bytes], None]) -> None:
        self.inner = inner
        self.steps = list(steps)
        self.created: list[str] = []
        self.bodies: list[bytes] = []
        self.store = Hooked(inner, create=self.create)

    def create(self, key: str, data: bytes) -> None:
        self.created.append(key)
        self.bodies.append(data)
        if self.steps:
            self.steps.pop(0)(key, data)
        else:
            self.inner.create(key, data)

    def append(self, path: str = "mine", **options: Any) -> Committed:
        log = make_log(self.store, options.pop("options", None), clock=options.pop("clock", self.inner.clock))
        return append(log, open_log(log), path, **options)


def fails(error: StorageError) -> Callable[[str, bytes], None]:
    def step(key: str, data: bytes) -> None:
        raise error

    return step


def after(store: MemoryStore, error: StorageError) -> Callable[[str, bytes], None]:
    """It happens, and then it fails."""

    def step(key: str, data: bytes) -> None:
        store.create(key, data)
        raise error

    return step


def overtaken(store: MemoryStore, path: str = "theirs") -> Callable[[str, bytes], None]:
    """Somebody else is faster."""

    def step(key: str, data: bytes) -> None:
        append(make_log(store, clock=FakeClock(seed=len(store.objects))), open_log(make_log(store)), path)
        store.create(key, data)

    return step


LOST = StoreUnavailable("time-out")
EXISTS = ObjectExists("it exists")


def the_only_commit(store: MemoryStore, done: Committed) -> bool:
    """Whether the commit is in the log, once."""
    ids = [info["txnId"] for info in commit_infos(raw_versions(store.bytes())).values()]
    return ids.count(done.txn_id) == 1


class TestFailedCreate:
    @pytest.mark.parametrize("error", [LOST, EXISTS, StorageError("?"), ObjectNotFound("no bucket")])
    def test_our_own_write_was_reported_as_failed(self, error: StorageError) -> None:
        store = table()
        script = Script(store, after(store, error))
        done = script.append()
        assert done.snapshot.version == 3
        assert script.created == [version_key(3)], "it is not written again"
        assert the_only_commit(store, done)
        assert live(open_log(make_log(store))) == {"f1", "f2", "mine"}

    @pytest.mark.parametrize("error", [LOST, EXISTS, StorageError("?"), ObjectNotFound("no bucket")])
    def test_nothing_is_there_the_same_number_with_the_same_body(self, error: StorageError) -> None:
        store = table()
        script = Script(store, fails(error), fails(error))
        done = script.append()
        assert script.created == [version_key(3)] * 3
        assert len(set(script.bodies)) == 1
        assert done.snapshot.version == 3
        assert the_only_commit(store, done)

    @pytest.mark.parametrize("error", [LOST, EXISTS])
    def test_another_version_is_there(self, error: StorageError) -> None:
        store = table()

        def step(key: str, data: bytes) -> None:
            append(make_log(store, clock=FakeClock(seed=5)), open_log(make_log(store)), "theirs")
            raise error

        script = Script(store, step)
        done = script.append()
        assert script.created == [version_key(3), version_key(4)]
        assert done.snapshot.version == 4
        assert done.metrics is not None
        assert done.metrics["numAttempts"] == 2
        assert live(open_log(make_log(store))) == {"f1", "f2", "theirs", "mine"}

    def test_a_foreign_version_is_there(self) -> None:
        store = table()

        def step(key: str, data: bytes) -> None:
            store.put(key, b'{"add":{"path":"foreign","size":1}}\n')
            raise EXISTS

        done = Script(store, step).append()
        assert done.snapshot.version == 4
        assert live(open_log(make_log(store))) == {"f1", "f2", "foreign", "mine"}

    def test_the_request_arrives_after_it_was_read_back(self) -> None:
        """The first request was believed lost; the second one meets what it wrote."""
        store = table()
        late: list[tuple[str, bytes]] = []

        def lost_for_now(key: str, data: bytes) -> None:
            late.append((key, data))
            raise LOST

        def meets_it(key: str, data: bytes) -> None:
            store.create(*late[0])
            store.create(key, data)

        done = Script(store, lost_for_now, meets_it).append()
        assert done.snapshot.version == 3
        assert the_only_commit(store, done)

    def test_no_answer_at_all_is_unknown(self) -> None:
        store = table()
        script = Script(store, *[fails(LOST)] * 50)
        with pytest.raises(CommitOutcomeUnknown) as unknown:
            script.append()
        assert set(script.created) == {version_key(3)}, "a second number is never tried while one is open"
        assert unknown.value.version == 3
        assert unknown.value.txn_id in str(unknown.value)
        assert "history()" in str(unknown.value)

    @pytest.mark.parametrize("error", [LOST, AccessDenied("no"), StorageError("?")])
    def test_reading_back_fails(self, error: StorageError) -> None:
        store = table()
        log = make_log(store)
        snapshot = open_log(log)

        def get(key: str) -> Any:
            if key == version_key(3) and key in store.objects:
                raise error
            return store.get(key)

        broken = make_log(Hooked(store, create=after(store, LOST), get=get))
        with pytest.raises(CommitOutcomeUnknown, match="reading it back failed"):
            append(broken, snapshot, "mine")

    def test_what_is_read_back_is_damaged(self) -> None:
        store = table()

        def step(key: str, data: bytes) -> None:
            store.put(key, b"\x00")
            raise LOST

        with pytest.raises(CommitOutcomeUnknown, match="reading it back failed"):
            Script(store, step).append()

    @pytest.mark.parametrize("error", [AccessDenied("no"), InvalidKey("no"), StoreMisconfigured("no")])
    def test_a_refusal_is_a_definite_failure(self, error: StorageError) -> None:
        store = table()
        before = store.bytes()
        with pytest.raises(type(error)):
            Script(store, *[fails(error)] * 9).append()
        assert store.bytes() == before

    def test_a_refusal_after_an_open_request_is_none(self) -> None:
        script = Script(table(), fails(LOST), *[fails(AccessDenied("expired"))] * 9)
        with pytest.raises(CommitOutcomeUnknown):
            script.append()
        assert set(script.created) == {version_key(3)}

    def test_a_refusal_of_what_is_there(self) -> None:
        store = table()
        done = Script(store, after(store, AccessDenied("no"))).append()
        assert done.snapshot.version == 3


class TestRaces:
    @pytest.mark.parametrize("times", [1, 3, 9])
    def test_every_lost_race_is_tried_again(self, times: int) -> None:
        store = table()
        script = Script(store, *(overtaken(store, f"theirs{n}") for n in range(times)))
        done = script.append()
        assert done.snapshot.version == 3 + times
        assert done.metrics is not None
        assert done.metrics["numAttempts"] == 1 + times
        assert live(open_log(make_log(store))) == {"f1", "f2", "mine", *(f"theirs{n}" for n in range(times))}

    @pytest.mark.parametrize("attempts", [1, 3, 10])
    def test_until_there_were_too_many(self, attempts: int) -> None:
        store = table()
        script = Script(store, *(overtaken(store, f"theirs{n}") for n in range(attempts)))
        with pytest.raises(TooManyConflicts, match=f"won {attempts} times in a row") as raised:
            script.append(options={"transaction.retry.maxAttempts": attempts})
        assert raised.value.retryable
        assert "spark.indextables.transaction.retry.maxAttempts" in str(raised.value)
        assert "mine" not in live(open_log(make_log(store)))

    @pytest.mark.parametrize(
        ("jitter", "expected"),
        [(1.0, [0.1, 0.2, 0.4, 0.5, 0.5]), (0.5, [0.05, 0.1, 0.2, 0.25, 0.25]), (0.0, [0.0] * 5)],
    )
    def test_the_waits_grow_with_full_jitter(self, jitter: float, expected: list[float]) -> None:
        store = table()
        clock = FakeClock(jitter)
        options = {"transaction.retry.baseDelayMs": 100, "transaction.retry.maxDelayMs": 500}
        Script(store, *(overtaken(store, f"t{n}") for n in range(5))).append(options=options, clock=clock)
        assert clock.slept == pytest.approx(expected)

    def test_the_waits_for_an_answer_grow_too(self) -> None:
        store = table()
        clock = FakeClock(1.0)
        options = {"transaction.retry.baseDelayMs": 1000, "transaction.retry.maxDelayMs": 3000}
        with pytest.raises(CommitOutcomeUnknown):
            Script(store, *[fails(LOST)] * 9).append(options=options, clock=clock)
        assert clock.slept == pytest.approx([1.0, 2.0, 3.0, 3.0])

    def test_timestamps_grow_whatever_the_clocks_say(self) -> None:
        store = table()
        for offset in (-5_000_000, 3_000_000, 0):
            clock = FakeClock(seed=abs(offset))
            clock.wall_offset_ms = offset
            log = make_log(store, clock=clock)
            append(log, open_log(log), f"at{offset}")
        stamps = [info["timestamp"] for info in commit_infos(raw_versions(store.bytes())).values()]
        assert stamps == sorted(set(stamps))
        assert stamps[-1] == stamps[-2] + 1, "behind a clock that is ahead, a commit is one millisecond later"


class TestReplacedTable:
    def recreate(self, store: MemoryStore) -> None:
        store.objects.clear()
        new_table(make_log(store, clock=FakeClock(seed=77)))

    def test_a_table_that_was_created_anew_is_not_written_to(self) -> None:
        store = table()
        log = make_log(store)
        snapshot = open_log(log)
        self.recreate(store)
        before = store.bytes()
        with pytest.raises(TableReplaced, match="open it anew"):
            append(log, snapshot, "mine")
        assert store.bytes() == before

    def test_not_even_between_the_look_and_the_create(self) -> None:
        """Version 3 of the old table lands in the new one, where it counts as empty."""
        store = table()
        log = make_log(store)
        snapshot = open_log(log)

        def step(key: str, data: bytes) -> None:
            self.recreate(store)
            for number in (1, 2):
                append(make_log(store, clock=FakeClock(seed=number)), open_log(make_log(store)), f"new{number}")
            store.create(key, data)

        append(make_log(Hooked(store, create=step)), snapshot, "mine")
        assert live(open_log(make_log(store))) == {"new1", "new2"}


class TestLateAnswers:
    def late(self, store: MemoryStore, seconds: float, meanwhile: Callable[[], Any] = lambda: None) -> Any:
        def step(key: str, data: bytes) -> None:
            store.create(key, data)
            meanwhile()
            store.clock.advance(seconds)

        return Script(store, step)

    def test_within_ten_minutes_it_is_believed(self) -> None:
        store = table()
        assert self.late(store, 10 * MINUTE).append().snapshot.version == 3

    def test_later_it_is_verified(self) -> None:
        store = table()
        done = self.late(store, 11 * MINUTE).append()
        assert done.snapshot.version == 3
        assert live(open_log(make_log(store))) == {"f1", "f2", "mine"}

    def test_a_state_at_its_number_makes_it_unknown(self) -> None:
        store = table()
        script = self.late(
            store, 11 * MINUTE, lambda: write_checkpoint(LogAtVersion(make_log(store), open_log(make_log(store))))
        )
        with pytest.raises(CommitOutcomeUnknown, match="answered so late"):
            script.append()

    def test_a_table_that_is_gone_makes_it_unknown(self) -> None:
        store = table()
        with pytest.raises(CommitOutcomeUnknown, match="cannot be opened to verify"):
            self.late(store, 11 * MINUTE, store.objects.clear).append()

    def test_another_table_makes_it_unknown(self) -> None:
        store = table()
        script = self.late(store, 11 * MINUTE, lambda: TestReplacedTable().recreate(store))
        with pytest.raises(CommitOutcomeUnknown):
            script.append()

    def test_a_version_that_was_not_written_in_the_end(self) -> None:
        store = table()
        script = self.late(store, 11 * MINUTE, lambda: store.objects.pop(version_key(3)))
        with pytest.raises(CommitOutcomeUnknown):
            script.append()

    def test_an_old_look_is_repeated_before_the_next_try(self) -> None:
        """Between two tries the machine sleeps for half an hour, and somebody else takes the number."""
        store = table()
        other = store.copy()
        append(make_log(other, clock=FakeClock(seed=4)), open_log(make_log(other)), "theirs")
        reads: list[str] = []

        def lost_and_slept(key: str, data: bytes) -> None:
            store.clock.advance(30 * MINUTE)
            raise LOST

        def get(key: str) -> Any:
            if key == version_key(3) and script.created:
                reads.append(key)
                if len(reads) == 2:
                    store.objects[key] = other.objects[key]
            return store.get(key)

        script = Script(store, lost_and_slept)
        script.store = Hooked(store, create=script.create, get=get)
        done = script.append()
        assert script.created == [version_key(3), version_key(4)]
        assert done.snapshot.version == 4
        assert live(open_log(make_log(store))) == {"f1", "f2", "theirs", "mine"}

    @pytest.mark.parametrize("hours", [37, 1000])
    def test_a_look_older_than_half_the_safety_age_with_an_open_request_is_unknown(self, hours: float) -> None:
        store = table()

        def lost_and_slept(key: str, data: bytes) -> None:
            store.clock.advance(hours * HOUR)
            raise LOST

        script = Script(store, lost_and_slept)
        with pytest.raises(CommitOutcomeUnknown, match="not looked at for too long"):
            script.append()
        assert script.created == [version_key(3)]


class TestUploadAge:
    def upload(self, store: MemoryStore, began_hours_ago: float, script: Script | None = None) -> Snapshot:
        log = make_log(script.store if script else store)
        began = log.clock.boot() - began_hours_ago * HOUR
        change = Change(adds=(add("mine"),))
        return commit(LogAtVersion(log, open_log(log)), change, operation="WRITE", uploads_began=began).snapshot

    def test_within_half_the_safety_age(self) -> None:
        assert self.upload(table(), 36).version == 3

    def test_later_it_is_refused(self) -> None:
        store = table()
        with pytest.raises(UploadTooOld, match=r"began 36\.1 hours ago.*safety age of 72 hours"):
            self.upload(store, 36.1)
        assert open_log(make_log(store)).version == 2

    def test_the_tables_own_safety_age_counts(self) -> None:
        store = MemoryStore()
        new_table(make_log(store), configuration={"spark.indextables.safetyAge.hours": "2"})
        self.upload(store, 1)
        with pytest.raises(UploadTooOld, match="safety age of 2 hours"):
            self.upload(store, 1.1)

    def test_it_is_checked_before_every_attempt(self) -> None:
        store = table()

        def slow(key: str, data: bytes) -> None:
            overtaken(store)(key, data)

        def sleepy(key: str, data: bytes) -> None:
            store.clock.advance(2 * HOUR)
            slow(key, data)

        script = Script(store, sleepy)
        with pytest.raises(UploadTooOld):
            self.upload(store, 35, script)
        assert len(script.created) == 1
        assert "mine" not in live(open_log(make_log(store)))
