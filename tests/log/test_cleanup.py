"""Clean-up, rule by rule: what may go, what never goes, and whose clock says so."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from indextables.core.errors import AccessDenied, ObjectNotFound, StorageError
from indextables.core.options import Options
from indextables.core.runtime.threads import Inline
from indextables.log.cleanup import CleanupReport, clean_up
from indextables.log.commit import commit
from indextables.log.conflicts import Change
from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.log_cache import LogCache
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.log.table_log import TableLog
from indextables.storage.local import LocalStore
from log.support import (
    DAY,
    HOUR,
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

RETENTION = {"logRetention.duration": 10 * 86_400_000}
PROBE = f"{LOG}/_probe"


@pytest.fixture
def batches_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """`batches_of(count)`: so many objects go with one delete for the rest of the test."""

    def delete(count: int) -> None:
        monkeypatch.setattr("indextables.log.cleanup._BATCH", count)

    return delete


def daily(days: int, checkpoints: set[int], *, parts: int | None = None, **configuration: str) -> MemoryStore:
    """Version n is n days younger than version 0; a checkpoint is as old as its version. The last commit was today."""
    store = MemoryStore()
    log = make_log(store, {"checkpoint.multipart.maxActionsPerPart": parts} if parts else {})
    snapshot = new_table(log, configuration={f"spark.indextables.{k}": v for k, v in configuration.items()})
    for day in range(1, days + 1):
        store.clock.advance(DAY)
        snapshot = append(log, snapshot, f"f{day}").snapshot
        if day in checkpoints:
            assert write_checkpoint(LogAtVersion(log, snapshot))
    return store


def cleaned(store: Any, options: dict[str, Any] | None = None, **arguments: Any) -> CleanupReport:
    log = make_log(store, RETENTION | (options or {}))
    return clean_up(LogAtVersion(log, open_log(log)), **arguments)


def versions(store: MemoryStore) -> list[int]:
    names = sorted(key.removeprefix(f"{LOG}/") for key in store.objects)
    return [int(name[:20]) for name in names if len(name) == 25]


def checkpoints(store: MemoryStore) -> list[int]:
    return sorted(int(key.removeprefix(f"{LOG}/")[:20]) for key in store.objects if key.endswith(".checkpoint.json"))


def check_time_travel(store: MemoryStore, first: int, last: int) -> None:
    for version in range(first, last + 1):
        assert live(open_log(make_log(store), version)) == {f"f{day}" for day in range(1, version + 1)}


class TestFloor:
    def test_the_newest_checkpoint_at_or_below_the_version_in_force_when_the_retention_began(self) -> None:
        store = daily(30, {5, 18, 25})
        report = cleaned(store)
        assert report.floor == 18
        assert versions(store) == [0, *range(18, 31)]
        check_time_travel(store, 18, 30)

    def test_the_version_in_force_itself(self) -> None:
        store = daily(30, {20, 25})
        assert cleaned(store).floor == 20

    def test_everything_inside_the_retention_can_be_reached(self) -> None:
        store = daily(30, set(range(1, 31)))
        cleaned(store)
        check_time_travel(store, 20, 30)

    def test_no_checkpoint_that_old(self) -> None:
        store = daily(30, {25})
        report = cleaned(store)
        assert (report.floor, report.deleted) == (None, [])
        assert report.stopped == "no usable state is old enough to replace version files"
        assert versions(store) == list(range(31))

    def test_no_checkpoint_at_all(self) -> None:
        store = daily(30, set())
        report = cleaned(store)
        assert report.stopped == "there is no state that could replace version files"
        assert versions(store) == list(range(31))

    def test_a_checkpoint_younger_than_an_hour_is_none(self) -> None:
        store = daily(30, {5})
        assert write_checkpoint(LogAtVersion(make_log(store), open_log(make_log(store), 15)))
        store.clock.advance(HOUR - 1)
        assert cleaned(store).floor == 5
        store.clock.advance(1)
        assert cleaned(store).floor == 15

    def test_a_checkpoint_that_cannot_be_used_is_none(self, caplog: pytest.LogCaptureFixture) -> None:
        store = daily(30, {5, 18})
        damaged = store.objects[checkpoint_key(18)]
        store.put(checkpoint_key(18), damaged.data[:50])
        store.objects[checkpoint_key(18)] = type(damaged)(damaged.data[:50], damaged.modified_ms, "damaged")
        log = make_log(store, RETENTION)
        report = clean_up(LogAtVersion(log, open_log(log, 17)))
        assert report.floor == 5
        assert versions(store) == [0, *range(5, 31)]
        assert "state 18 is no floor for clean-up" in caplog.text

    def test_a_checkpoint_with_a_missing_part_is_none(self) -> None:
        store = daily(30, {5, 18}, parts=6)
        part = next(key for key in store.objects if f"{18:020d}.checkpoint." in key and key.endswith("00002.json"))
        del store.objects[part]
        log = make_log(store, RETENTION)
        report = clean_up(LogAtVersion(log, open_log(log, 17)))
        assert report.floor == 5
        assert versions(store) == [0, *range(5, 31)]

    def test_truncate_raises_it(self) -> None:
        store = daily(30, {5})
        log = make_log(store)
        snapshot = commit(
            LogAtVersion(log, open_log(log)), Change(), operation="TRUNCATE", time_travel_floor=True
        ).snapshot
        assert write_checkpoint(LogAtVersion(log, snapshot))
        assert cleaned(store).floor == 5, "the new checkpoint is not an hour old"
        store.clock.advance(HOUR)
        report = cleaned(store)
        assert report.floor == 31
        assert versions(store) == [0, *range(28, 32)], "what is younger than the safety age goes with a later one"
        store.clock.advance(4 * DAY)
        cleaned(store)
        assert versions(store) == [0, 31]
        assert live(open_log(make_log(store))) == {f"f{day}" for day in range(1, 31)}

    @pytest.mark.parametrize(
        ("options", "floor"),
        [
            ({"logRetention.duration": 5 * 86_400_000}, 25),
            ({"logRetention.duration": 86_400_000, "purge.txLogRetentionHours": 15 * 24}, 15),
            ({"logRetention.duration": 16 * 86_400_000, "purge.txLogRetentionHours": 24}, 14),
        ],
    )
    def test_the_longer_retention_holds(self, options: dict[str, int], floor: int) -> None:
        assert cleaned(daily(30, set(range(1, 31))), options).floor == floor


class TestNeverDeleted:
    def test_version_0_the_newest_and_the_newest_states(self) -> None:
        store = daily(6, {6})
        store.clock.advance(100 * DAY)
        report = cleaned(store)
        assert report.floor == 6
        assert versions(store) == [0, 6]
        assert checkpoints(store) == [6]

    def test_what_is_younger_than_the_safety_age(self) -> None:
        store = daily(30, set(range(1, 31)))
        report = cleaned(store, {"logRetention.duration": 0})
        assert report.floor == 29, "the newest checkpoint is not an hour old"
        assert versions(store) == [0, *range(28, 31)]

    def test_the_safety_age_is_the_tables(self) -> None:
        store = daily(30, set(range(1, 31)), **{"safetyAge.hours": "240"})
        cleaned(store, {"logRetention.duration": 0})
        assert versions(store) == [0, *range(21, 31)]

    def test_the_number_of_the_newest_state(self) -> None:
        store = daily(6, {4})
        store.clock.advance(100 * DAY)
        log = make_log(store)
        commit(LogAtVersion(log, open_log(log)), Change(), operation="TRUNCATE", time_travel_floor=True)
        cleaned(store)
        assert versions(store) == [0, 4, 5, 6, 7]

    def test_a_second_run_finds_nothing(self) -> None:
        store = daily(30, {5, 18, 25})
        assert cleaned(store).deleted
        assert cleaned(store).deleted == []

    def test_the_table_stays_writable(self) -> None:
        store = daily(30, {18})
        early = open_log(make_log(store))
        cleaned(store)
        log = make_log(store)
        assert append(log, early, "new").snapshot.version == 31
        assert live(open_log(make_log(store))) == {f"f{day}" for day in range(1, 31)} | {"new"}


class TestCheckpoints:
    def test_old_ones_are_thinned_above_the_floor_and_go_below_it(self) -> None:
        store = daily(30, set(range(15, 31)))
        report = cleaned(store, {"state.retention.hours": 72})
        assert report.floor == 20
        soon_the_floor = [21]
        successor_is_younger_than_the_safety_age = [27]
        always = [28, 29, 30]
        assert checkpoints(store) == [20, *soon_the_floor, *successor_is_younger_than_the_safety_age, *always]
        check_time_travel(store, 20, 30)

    def test_the_longer_of_the_retentions_holds(self) -> None:
        store = daily(30, set(range(15, 31)))
        cleaned(store, {"state.retention.hours": 72, "checkpointRetention.duration": 6 * 86_400_000})
        assert checkpoints(store) == [20, 21, 24, 25, 26, 27, 28, 29, 30]

    def test_less_than_the_safety_age_has_no_effect(self) -> None:
        store = daily(30, set(range(15, 31)))
        cleaned(store, {"state.retention.hours": 1})
        assert checkpoints(store) == [20, 21, 27, 28, 29, 30]

    @pytest.mark.parametrize(("kept", "expected"), [(1, []), (4, [26]), (6, [24, 25, 26])])
    def test_so_many_are_kept_however_old_they_are(self, kept: int, expected: list[int]) -> None:
        store = daily(30, set(range(15, 31)))
        cleaned(store, {"state.retention.hours": 72, "state.retention.versions": kept})
        assert checkpoints(store) == [20, 21, *expected, 27, 28, 29, 30]

    def test_parts_go_with_their_checkpoint(self) -> None:
        store = daily(30, {5, 10, 15, 20, 25, 30}, parts=3)
        cleaned(store, {"state.retention.hours": 72})
        assert checkpoints(store) == [20, 25, 30]
        numbers = {int(key.removeprefix(f"{LOG}/")[:20]) for key in store.objects if ".checkpoint." in key}
        assert numbers == {20, 25, 30}
        check_time_travel(store, 20, 30)

    def test_parts_that_belong_to_none_go_when_they_are_old(self) -> None:
        store = daily(30, {18, 29})
        old, young, newest = (f"{LOG}/{number:020d}.checkpoint.abc.00001.json" for number in (7, 8, 40))
        for key in (old, young, newest):
            store.put(key, b"half a checkpoint")
        store.age(4 * DAY, lambda key: key in (old, newest))
        store.age(2 * DAY, lambda key: key == young)
        cleaned(store)
        assert old not in store.objects
        assert {young, newest} <= store.objects.keys(), (
            "too young, or above the newest checkpoint: it may be in the making"
        )


class TestClocks:
    def test_only_the_stores_clock_counts(self) -> None:
        store = daily(30, {5, 18, 25})
        wrong = FakeClock()
        wrong.wall_offset_ms = 10**12
        log = make_log(store, RETENTION, clock=wrong)
        assert clean_up(LogAtVersion(log, open_log(log))).floor == 18
        wrong.wall_offset_ms = -(10**12)
        assert clean_up(LogAtVersion(log, open_log(log))).deleted == []

    def test_an_idle_table_grows_older(self) -> None:
        store = daily(6, {3, 6})
        assert cleaned(store).floor is None
        store.clock.advance(20 * DAY)
        assert cleaned(store).floor == 6

    def test_timestamps_in_the_log_do_not_matter(self) -> None:
        store = MemoryStore()
        lying = FakeClock()
        lying.wall_offset_ms = -(10**11)
        log = make_log(store, clock=lying)
        snapshot = grown(log, 6)
        assert write_checkpoint(LogAtVersion(log, snapshot))
        store.clock.advance(2 * HOUR)
        assert cleaned(store).deleted == []

    def test_on_a_local_disk(self, tmp_path: Path) -> None:
        def log() -> TableLog:
            return TableLog(LocalStore(tmp_path), Options(RETENTION), workers=Inline(), cache=LogCache())

        snapshot = grown(log(), 6)
        assert write_checkpoint(LogAtVersion(log(), snapshot))
        assert clean_up(LogAtVersion(log(), open_log(log()))).deleted == []
        old = time.time() - 40 * DAY
        for file in (tmp_path / LOG).iterdir():
            os.utime(file, (old, old))
        report = clean_up(LogAtVersion(log(), open_log(log())))
        assert report.deleted == [version_key(number) for number in range(1, 6)]
        assert not (tmp_path / version_key(3)).exists()
        assert live(open_log(log())) == {f"f{number}" for number in range(1, 7)}


class TestRunning:
    def test_dry_run_reports_and_deletes_nothing(self) -> None:
        store = daily(30, {5, 18, 25})
        before = store.bytes()
        planned = cleaned(store, dry_run=True)
        also = cleaned(store, {"cleanup.dryRun": True})
        after = store.bytes()
        after.pop(PROBE)
        assert after == before
        assert planned.dry_run
        assert planned.deleted == also.deleted
        assert cleaned(store, {"cleanup.dryRun": True}, dry_run=False).deleted == planned.deleted
        assert version_key(17) not in store.objects

    def failing(self, store: MemoryStore, *failing: str) -> Any:
        def delete(keys: Any) -> dict[str, StorageError]:
            store.delete([key for key in keys if key not in failing])
            return {key: AccessDenied(f"{key} is locked") for key in keys if key in failing}

        return Hooked(store, delete=delete)

    def test_a_delete_that_fails_is_reported_and_left_for_the_next_run(self, caplog: pytest.LogCaptureFixture) -> None:
        store = daily(30, {18})
        report = cleaned(self.failing(store, version_key(3)))
        assert list(report.failed) == [version_key(3)]
        assert version_key(3) not in report.deleted
        assert len(report.deleted) == 16
        assert versions(store) == [0, 3, *range(18, 31)]
        assert version_key(3) in caplog.text
        assert cleaned(store).deleted == [version_key(3)]

    def test_or_it_is_an_error(self) -> None:
        store = daily(30, {18})
        with pytest.raises(AccessDenied, match="is locked"):
            cleaned(self.failing(store, version_key(3)), {"cleanup.failurePolicy": "fail"})

    def replaced(self, store: MemoryStore) -> None:
        data = store.objects[version_key(0)].data
        store.put(version_key(0), data)

    def test_a_table_that_was_replaced_before(self) -> None:
        store = daily(30, {18})
        log = make_log(store, RETENTION)
        snapshot = open_log(log)
        self.replaced(store)
        report = clean_up(LogAtVersion(log, snapshot))
        assert report.deleted == []
        assert "table was replaced" in (report.stopped or "")
        assert versions(store) == list(range(31))

    def test_a_table_that_is_replaced_between_two_deletes(self, batches_of: Callable[[int], None]) -> None:
        batches_of(5)
        store = daily(30, {18})

        def delete(keys: Any) -> dict[str, StorageError]:
            self.replaced(store)
            return store.delete(keys)

        report = cleaned(Hooked(store, delete=delete))
        assert len(report.deleted) == 5
        assert "table was replaced" in (report.stopped or "")
        assert versions(store) == [0, *range(6, 31)]

    def interrupted(self, store: MemoryStore, times: int) -> tuple[Any, list[str]]:
        """The first reads of checkpoint 18 find that it is gone."""
        seen: list[str] = []

        def get(key: str) -> Any:
            if key == checkpoint_key(18):
                seen.append(key)
                if 1 < len(seen) <= 1 + times:
                    raise ObjectNotFound(f"{key} is gone")
            return store.get(key)

        return Hooked(store, get=get), seen

    def test_it_starts_again_when_a_listed_object_is_gone(self) -> None:
        store = daily(30, {18})
        hooked, seen = self.interrupted(store, 2)
        report = cleaned(hooked)
        assert len(seen) == 1 + 3
        assert report.floor == 18
        assert versions(store) == [0, *range(18, 31)]

    def test_three_times_at_most(self) -> None:
        store = daily(30, {18})
        report = cleaned(self.interrupted(store, 9)[0])
        assert (report.stopped or "").startswith("no usable"), "what is gone three times over is taken as gone"
        assert versions(store) == list(range(31))

    def test_a_plan_older_than_ten_minutes_is_made_again(self, batches_of: Callable[[int], None]) -> None:
        batches_of(10)
        store = daily(30, {18})
        puts: list[str] = []

        def delete(keys: Any) -> dict[str, StorageError]:
            store.clock.advance(601)
            return store.delete(keys)

        def put(key: str, data: bytes) -> None:
            puts.append(key)
            store.put(key, data)

        report = cleaned(Hooked(store, delete=delete, put=put))
        assert puts == [PROBE, PROBE]
        assert len(report.deleted) == 17
        assert versions(store) == [0, *range(18, 31)]


def test_a_reader_that_is_slower_than_clean_up_starts_again() -> None:
    """Between its listing and its reads, the versions below the floor go."""
    store = daily(30, set())
    gone: list[str] = []

    def get(key: str) -> Any:
        if key == version_key(7) and not gone:
            gone.append(key)
            log = make_log(store)
            assert write_checkpoint(LogAtVersion(log, open_log(log, 18)))
            store.age(DAY, lambda key: ".checkpoint." in key)
            cleaned(store)
        return store.get(key)

    snapshot = open_log(make_log(Hooked(store, get=get)))
    assert version_key(7) not in store.objects
    assert (snapshot.version, snapshot.base) == (30, 18)
    assert live(snapshot) == {f"f{day}" for day in range(1, 31)}
