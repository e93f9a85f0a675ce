"""Purge, rule by rule: what may go, what never goes, whose clock says so, and what happens when something fails."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import (
    AccessDenied,
    CommitError,
    CorruptLog,
    ForeignTable,
    ObjectNotFound,
    OptionError,
    StorageError,
    StoreUnavailable,
    TableReplaced,
    VersionGap,
)
from indextables.core.runtime.threads import Pool
from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.checkpoint import checkpoint
from indextables.log.table_log import TableLog
from indextables.table.handle import TableHandle
from indextables.table.maintain.fsck import fsck
from indextables.table.maintain.purge import purge, purge_ages
from indextables.table.progress import Progress
from log.support import (
    DAY,
    HOUR,
    LOG,
    METADATA,
    PROTOCOL,
    FakeClock,
    Hooked,
    MemoryStore,
    checkpoint_key,
    foreign_table,
    lines,
    live,
    make_log,
    new_table,
    raw_add,
    raw_remove,
    version_key,
)
from state.support import committed, entry, put_foreign_state, state_key, stated
from table.purge_support import RETENTION, SHORT, add, old_table, purged, split, splits, upload

PROBE = f"{LOG}/_probe"


@pytest.fixture
def batches_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """`batches_of(count)`: so many objects go with one delete for the rest of the test."""
    return lambda count: monkeypatch.setattr("indextables.table.maintain.purging.delete._BATCH", count)


class TestOrphans:
    def test_go(self) -> None:
        store = old_table()
        done = purged(store)
        assert splits(store) == {"s1", "s2"}
        assert (done.status, done.orphaned_files_found, done.orphaned_files_deleted) == ("success", 3, 3)
        assert done.bytes_deleted == 30
        assert set(done.paths) == {split("o1"), split("o2"), split("o3")}
        assert done.message == "deleted 3 orphaned splits (0.0 MB)"
        again = purged(store)
        assert (again.status, again.message, again.paths) == ("no_action", "deleted nothing", ())

    @pytest.mark.parametrize(
        ("hours_old", "older_than", "retention", "goes"),
        [
            (168, None, 168, True),
            (167.99, None, 168, False),
            (100, 100, 100, True),
            (99, "100 hours", 100, False),
            (100, timedelta(days=4), 96, True),
            (200, "9 days", 216, False),
            (73, 24, 72, True),
            (71, 24, 72, False),
        ],
    )
    def test_by_age(self, hours_old: float, older_than: Any, retention: float, goes: bool) -> None:
        """The last two: nothing goes that is younger than the safety age of 72 hours."""
        store = old_table(days=hours_old / 24)
        assert purged(store, older_than=older_than).retention_hours == retention
        assert splits(store) == ({"s1", "s2"} if goes else {"s1", "s2", "o1", "o2", "o3"})

    def test_the_safety_age_is_the_tables(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        new_table(log, configuration={"spark.indextables.safetyAge.hours": "200"})
        upload(store, "old")
        store.clock.advance(199 * HOUR)
        upload(store, "young")
        assert purged(store, older_than=24).retention_hours == 200
        assert splits(store) == {"old", "young"}
        store.clock.advance(HOUR)
        purged(store, older_than=24)
        assert splits(store) == {"young"}

    def test_a_dry_run_writes_nothing_where_it_may_not(self) -> None:
        store = old_table(versions=12)
        log = make_log(store)
        checkpoint(LogAtVersion(log, open_log(log)), compact=True)
        store.clock.advance(60 * DAY)

        def put(key: str, data: bytes) -> None:
            raise AccessDenied(f"{key} cannot be written")

        locked = Hooked(store, put=put, create=put)
        before = store.bytes()
        table = Table(TableHandle(make_log(locked, RETENTION), open_log(make_log(locked))))
        planned = table.purge(dry_run=True)
        assert (planned.status, planned.orphaned_files_found) == ("dry_run", 3)
        assert planned.transaction_logs_found > 0
        assert table.optimize(dry_run=True).status == "dry_run"
        assert table.truncate_time_travel(dry_run=True).versions_deleted > 0
        assert store.bytes() == before
        for verb in (table.purge, table.optimize, table.truncate_time_travel):
            with pytest.raises(AccessDenied):
                verb()
        assert store.bytes() == before

    def test_only_the_stores_clock_counts(self) -> None:
        store = old_table(days=1)
        wrong = FakeClock()
        wrong.wall_offset_ms = 10**12
        log = make_log(store, clock=wrong)
        assert purge(LogAtVersion(log, open_log(log)), purge_ages(log.options)).status == "no_action"
        store.clock.advance(30 * DAY)
        wrong.wall_offset_ms = -(10**12)
        assert purge(LogAtVersion(log, open_log(log)), purge_ages(log.options)).orphaned_files_deleted == 3


class TestNamed:
    """What an existing log object names stays, however old it is."""

    def test_by_the_remove_of_a_version(self) -> None:
        """The version that added the split is gone, as far as its content goes."""
        store = old_table()
        log = make_log(store)
        committed(log, open_log(log), removes=[split("s1")])
        store.put(version_key(1), lines({"commitInfo": {"timestamp": 1}}))
        store.clock.advance(60 * DAY)
        purged(store)
        assert splits(store) == {"s1", "s2"}

    def with_states(self) -> MemoryStore:
        """States at versions 1 and 2: the second hides `s3`, which the first added, behind a tombstone."""
        store = MemoryStore()
        log = make_log(store)
        snapshot = stated(log, add(log, new_table(log), *(f"s{number}" for number in range(20))))
        stated(log, committed(log, snapshot, removes=[split("s3")]))
        upload(store, "o1")
        store.clock.advance(60 * DAY)
        return store

    @pytest.mark.parametrize("gone", [1, 2])
    def test_by_a_state_alone(self, gone: int) -> None:
        """The versions say nothing any more. Both states name `s3`: one has it, the other hides it."""
        store = self.with_states()
        for number in (1, 2):
            store.put(version_key(number), lines({"commitInfo": {"timestamp": number}}))
        del store.objects[state_key(gone)]
        assert (split("s3") in live(open_log(make_log(store)))) == (gone == 2)
        purged(store)
        assert splits(store) == {f"s{number}" for number in range(20)}

    @pytest.mark.parametrize("parts", [1, 2, 50_000])
    def test_by_a_checkpoint_and_by_its_parts(self, parts: int) -> None:
        store = MemoryStore()
        log = make_log(store, {"state.format": "json", "checkpoint.multipart.maxActionsPerPart": parts})
        snapshot = add(log, new_table(log), "s1", "s2", "s3", "s4", "s5")
        assert write_checkpoint(LogAtVersion(log, snapshot))
        add(log, snapshot, "s6")
        upload(store, "o1")
        store.clock.advance(60 * DAY)
        store.put(version_key(1), lines({"commitInfo": {"timestamp": 1}}))
        purged(store)
        assert splits(store) == {"s1", "s2", "s3", "s4", "s5", "s6"}

    @pytest.mark.parametrize("shape", ["lines", "object", "parts"])
    def test_by_a_remove_in_a_checkpoint_of_others(self, shape: str) -> None:
        store = MemoryStore()
        foreign_table(store, [raw_add(split("s1"))])
        adds, removes = [raw_add(split("s2"))["add"]], [raw_remove(split("s3"))["remove"]]
        whole = lines(PROTOCOL, METADATA, {"add": adds[0]}, {"remove": removes[0]})
        if shape == "object":
            whole = lines({**PROTOCOL, **METADATA, "add": adds, "remove": removes})
        if shape == "parts":
            part = f"{1:020d}.checkpoint.abc.00001.json"
            store.put(f"{LOG}/{part}", whole)
            whole = lines({"parts": [part]})
        store.put(checkpoint_key(1), whole)
        upload(store, "s1", "s2", "s3", "o1")
        store.clock.advance(60 * DAY)
        purged(store)
        assert splits(store) == {"s1", "s2", "s3"}

    def test_by_an_absolute_path(self) -> None:
        store = MemoryStore()
        foreign_table(store, [raw_add(f"s3a://bucket/table/{split('s1')}")])
        upload(store, "s1", "o1")
        store.clock.advance(60 * DAY)
        purged(store)
        assert splits(store) == {"s1"}

    def test_by_a_late_version_of_a_table_that_was_here_before(self) -> None:
        store = old_table(orphans=0)
        other = lines({"commitInfo": {"tableId": "another"}}, raw_add(split("theirs")))
        store.put(version_key(3), other)
        upload(store, "theirs", "o1")
        store.clock.advance(60 * DAY)
        purged(store)
        assert splits(store) == {"s1", "s2", "theirs"}

    def test_a_state_of_another_table_need_not_be_whole(self) -> None:
        store = old_table(orphans=1)
        gone = "manifests/manifest-gone.avro"
        other = {"metaData": METADATA["metaData"] | {"id": "another"}}
        put_foreign_state(store, 9, {gone: [entry(1)]}, metadata=other)
        del store.objects[f"{LOG}/{gone}"]
        purged(store)
        assert splits(store) == {"s1", "s2"}


class TestOthers:
    """Only splits of this table go; everything else at its place belongs to somebody."""

    @pytest.mark.parametrize(
        "key",
        [
            "splits/notes.txt",
            "splits/split-1.split.bak",
            "_delta_log/split-1.split",
            ".trash/split-1.split",
            "day=1/_tmp/split-1.split",
            "splits/.split-1.split",
            f"{LOG}/split-1.split",
            f"{LOG}_old/split-1.split",
            "split",
            "readme.md",
        ],
    )
    def test_stay(self, key: str) -> None:
        store = old_table()
        store.put(key, b"mine")
        store.clock.advance(60 * DAY)
        purged(store)
        assert key in store.objects
        assert splits(store) - {"s1", "s2"} <= {key.removesuffix(".split")}

    @pytest.mark.parametrize("key", ["x.split", "day=1/splits/split-1.split", "a b/ü/x.split", "_p=1/splits/x.split"])
    def test_splits_anywhere_else_go(self, key: str) -> None:
        store = MemoryStore()
        schema = METADATA["metaData"]["schemaString"].replace('"day"', '"_p"')
        new_table(make_log(store), partition_columns=("_p",), schema_string=schema)
        store.put(key, b"orphan")
        store.clock.advance(60 * DAY)
        purged(store)
        assert key not in store.objects

    @pytest.mark.parametrize("place", ["inner", "Inner", "a/b", "splits"])
    def test_another_table_inside_is_left_alone(self, place: str) -> None:
        store = old_table()
        for key in (f"{place}/{version_key(0)}", f"{place}/splits/split-1.split", f"{place}/A/x.split"):
            store.put(key, b"theirs")
        store.clock.advance(60 * DAY)
        purged(store)
        assert f"{place}/splits/split-1.split" in store.objects
        assert f"{place}/A/x.split" in store.objects
        assert (split("o1") in store.objects) == (place == "splits")

    def test_a_repaired_log_beside_the_log(self) -> None:
        store = old_table()
        store.put(f"{LOG}_repaired_20260101/{0:020d}.json", b"")
        before = store.bytes()
        with pytest.raises(CorruptLog, match="_transaction_log_repaired_20260101, which may name splits"):
            purged(store)
        assert splits(store) == {"s1", "s2", "o1", "o2", "o3"}
        assert before.keys() == store.bytes().keys() - {PROBE}


class TestRefusals:
    def nothing_deleted(self, store: MemoryStore, error: type[Exception], says: str) -> None:
        before = store.bytes().keys() | {PROBE}
        for dry_run in (True, False):
            with pytest.raises(error, match=says):
                purged(store, dry_run=dry_run, log_retention=24)
            assert store.bytes().keys() | {PROBE} == before

    def with_states(self) -> MemoryStore:
        store = MemoryStore()
        log = make_log(store)
        snapshot = stated(log, add(log, new_table(log), "s1"))
        stated(log, add(log, snapshot, "s2"))
        add(log, open_log(log), "s3")
        upload(store, "o1")
        store.clock.advance(4 * DAY)
        return store

    def test_a_version_that_cannot_be_read(self) -> None:
        store = old_table()
        store.objects[version_key(1)] = store.objects[split("o1")]
        self.nothing_deleted(store, CorruptLog, f"{1:020d}.json")

    def test_a_state_that_cannot_be_read(self) -> None:
        store = self.with_states()
        store.objects[state_key(1)] = store.objects[split("o1")]
        self.nothing_deleted(store, CorruptLog, "state-v00000000000000000001")

    def test_a_manifest_that_cannot_be_read(self) -> None:
        store = self.with_states()
        key = next(key for key in store.objects if "/manifests/" in key)
        store.objects[key] = store.objects[split("o1")]
        self.nothing_deleted(store, CorruptLog, "manifest-")

    @pytest.mark.filterwarnings("ignore:.*cannot be used:indextables.core.errors.LogWarning")
    @pytest.mark.parametrize("damaged", ["/_manifest.avro", "/manifests/"])
    def test_it_ends_where_the_table_was_repaired_and_stands_idle(self, damaged: str) -> None:
        """A damaged state is among the newest of a table that nobody writes to, and goes all the same."""
        store = self.with_states()
        key = max(key for key in store.objects if damaged in key)
        before = live(open_log(make_log(store)))
        store.objects[key] = store.objects[split("o1")]
        self.nothing_deleted(store, CorruptLog, "FSCK REPAIR")
        assert "warning" in fsck(make_log(store), repair=True).column("severity").to_pylist()
        self.nothing_deleted(store, CorruptLog, "goes by itself when it is past the retention of the log")
        store.clock.advance(40 * DAY)
        assert purged(store).orphaned_files_deleted > 0
        assert key not in store.objects
        assert live(open_log(make_log(store))) == before

    def test_a_manifest_that_is_gone(self) -> None:
        store = self.with_states()
        named = [key for key in store.objects if "/manifests/" in key]
        del store.objects[named[0]]
        self.nothing_deleted(store, CorruptLog, "purge has deleted no split.* missing, 3 times over")

    @pytest.mark.parametrize("damage", ["rubbish", "part gone", "part rubbish"])
    def test_a_checkpoint_that_cannot_be_read(self, damage: str) -> None:
        store = MemoryStore()
        log = make_log(store, {"checkpoint.multipart.maxActionsPerPart": 1})
        assert write_checkpoint(LogAtVersion(log, add(log, new_table(log), "s1", "s2")))
        part = next(key for key in store.objects if ".checkpoint." in key and key != checkpoint_key(1))
        upload(store, "o1")
        store.clock.advance(60 * DAY)
        if damage == "part gone":
            del store.objects[part]
        else:
            store.put(checkpoint_key(1) if damage == "rubbish" else part, b"rubbish")
        with pytest.warns(UserWarning, match="checkpoint"):
            self.nothing_deleted(store, CorruptLog, "checkpoint")

    def test_a_gap(self) -> None:
        store = old_table(versions=5)
        del store.objects[version_key(3)]
        with pytest.warns(UserWarning, match="3 is missing"):
            self.nothing_deleted(store, VersionGap, "version 3 is missing, and might name any split")

    def test_a_gap_that_a_handle_of_before_does_not_see(self) -> None:
        store = old_table(versions=5)
        log = make_log(store)
        snapshot = open_log(log)
        del store.objects[version_key(3)]
        with pytest.raises(VersionGap), pytest.warns(UserWarning, match="3 is missing"):
            purge(LogAtVersion(log, snapshot), purge_ages(log.options))
        assert splits(store) >= {"o1", "o2", "o3"}

    def test_a_table_that_others_commit_by_states(self) -> None:
        store = MemoryStore()
        foreign_table(store)
        put_foreign_state(store, 1, {"manifests/manifest-a.avro": [entry(1)]})
        upload(store, "o1")
        store.clock.advance(60 * DAY)
        self.nothing_deleted(store, ForeignTable, "another implementation")

    @pytest.mark.parametrize("name", ["older_than", "log_retention"])
    def test_a_retention_that_is_too_short(self, name: str) -> None:
        store = old_table()
        with pytest.raises(OptionError) as refused:
            purged(store, **{name: 23.9})
        for text in (name, "23.9", "purge.minRetentionHours=24", "purge.retentionCheckEnabled=false"):
            assert text in str(refused.value)
        assert splits(store) >= {"o1"}
        assert purged(store, SHORT, **{name: 1}).orphaned_files_deleted == 3
        assert purged(store, {"purge.minRetentionHours": 1}, **{name: 1}).status == "no_action"

    def test_a_default_that_is_too_short(self) -> None:
        with pytest.raises(OptionError, match="older_than of a purge is 2 hours"):
            purged(old_table(), {"purge.defaultRetentionHours": 2})
        assert purged(old_table(), {"purge.defaultRetentionHours": 80}).retention_hours == 80

    @pytest.mark.parametrize("value", ["soon", -1, True, "-3 days", float("nan"), [1], b"1"])
    def test_what_is_no_duration(self, value: Any) -> None:
        with pytest.raises(OptionError, match=r"older_than is .*, expected a number of hours"):
            purged(old_table(), older_than=value)

    def test_a_handle_of_the_past(self, tmp_path: Path) -> None:
        Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]))
        with pytest.raises(CommitError, match="open it without a version to purge"):
            Table.open(tmp_path / "t", version=0).purge()


class TestLog:
    def test_old_versions_go_and_with_them_the_splits_that_only_they_name(self) -> None:
        store = MemoryStore()
        log = make_log(store, {"state.format": "json"})
        snapshot = add(log, new_table(log), "s1")
        store.clock.advance(DAY)
        snapshot = add(log, snapshot, "s2", removes=["s1"])
        store.clock.advance(40 * DAY)
        snapshot = add(log, snapshot, "s3")
        assert write_checkpoint(LogAtVersion(log, snapshot))
        store.clock.advance(5 * DAY)
        early = purged(store, log_retention="60 days")
        assert (early.status, splits(store)) == ("no_action", {"s1", "s2", "s3"})
        add(log, snapshot, "s4")
        planned = purged(store, log_retention="4 days", dry_run=True)
        done = purged(store, log_retention="4 days")
        assert planned.paths == done.paths == (version_key(1), version_key(2), split("s1"))
        assert splits(store) == {"s2", "s3", "s4"}
        assert (done.transaction_logs_found, done.transaction_logs_deleted) == (2, 2)
        assert live(open_log(make_log(store))) == {split(name) for name in ("s2", "s3", "s4")}

    def test_a_version_that_cannot_be_deleted_keeps_its_splits(self) -> None:
        store = MemoryStore()
        log = make_log(store, {"state.format": "json"})
        snapshot = add(log, new_table(log), "s1")
        snapshot = add(log, add(log, snapshot, "s2", removes=["s1"]), "s3")
        assert write_checkpoint(LogAtVersion(log, snapshot))
        add(log, snapshot, "s4")
        store.clock.advance(40 * DAY)
        done = purged(refusing(store, version_key(1)))
        assert done.status == "partial"
        assert f"1 objects could not be deleted, the first is {version_key(1)}" in done.message
        assert "s1" in splits(store)
        assert purged(store).paths == (version_key(1), split("s1"))

    def test_states_and_manifests(self) -> None:
        store = MemoryStore()
        log = make_log(store, {"state.retention.versions": 1})
        snapshot = new_table(log)
        for day in range(1, 31):
            store.clock.advance(DAY)
            snapshot = add(log, snapshot, f"s{day}")
            if day % 3 == 0:
                snapshot = stated(log, snapshot, compact=True)
        options = {"state.retention.hours": 72, "state.retention.versions": 1}
        planned = purged(store, options, log_retention="10 days", dry_run=True)
        done = purged(store, options, log_retention="10 days")
        assert sorted(planned.paths) == sorted(done.paths)
        assert done.states_deleted > 3
        assert done.manifests_deleted > 3
        assert done.transaction_logs_deleted > 10
        assert (planned.states_deleted, planned.manifests_deleted, planned.transaction_logs_deleted) == (0, 0, 0)
        assert planned.transaction_logs_found == done.transaction_logs_found == done.transaction_logs_deleted
        assert f"{done.states_deleted} states, {done.manifests_deleted} manifests" in done.message
        for version in range(21, 31):
            assert live(open_log(make_log(store), version)) == {split(f"s{n}") for n in range(1, version + 1)}

    def test_a_restore_between_the_plan_and_the_clean_up(self) -> None:
        """While old versions are deleted, somebody commits a split again that only they named."""
        store = MemoryStore()
        log = make_log(store, {"state.format": "json"})
        snapshot = add(log, new_table(log), "s1")
        snapshot = add(log, snapshot, "s2", removes=["s1"])
        assert write_checkpoint(LogAtVersion(log, snapshot))
        snapshot = add(log, snapshot, "s3")
        store.clock.advance(40 * DAY)

        def delete(keys: Any) -> dict[str, StorageError]:
            if version_key(1) in keys:
                committed(make_log(store), open_log(make_log(store)), [split("s1")])
            return store.delete(keys)

        done = purged(Hooked(store, delete=delete))
        assert version_key(1) in done.paths
        assert "s1" in splits(store), "it is live again"


def refusing(store: MemoryStore, *keys: str, error: type[StorageError] = AccessDenied, times: int = 10**6) -> Any:
    """A store that does not delete some keys, the first so many times."""
    left = dict.fromkeys(keys, times)

    def delete(asked: Any) -> dict[str, StorageError]:
        failed = {key: error(f"{key} is locked") for key in asked if left.get(key, 0) > 0}
        for key in failed:
            left[key] -= 1
        store.delete([key for key in asked if key not in failed])
        return failed

    return Hooked(store, delete=delete)


class TestRunning:
    def test_a_dry_run_deletes_nothing_and_tells_what_would_go(self) -> None:
        store = old_table()
        before = store.bytes()
        done = purged(store, dry_run=True)
        assert {key: data for key, data in store.bytes().items() if key != PROBE} == before
        assert (done.status, done.dry_run) == ("dry_run", True)
        assert (done.orphaned_files_found, done.orphaned_files_deleted, done.bytes_deleted) == (3, 0, 0)
        assert done.message == "would delete 3 orphaned splits (0.0 MB)"
        assert purged(store).paths == done.paths

    def test_data_files_are_listed_before_the_log_is_read(self) -> None:
        store = old_table()
        calls: list[str] = []

        def get(key: str) -> Any:
            calls.append(f"get {key}")
            return store.get(key)

        def listed(prefix: str, after: str | None = None) -> Any:
            calls.append(f"list {prefix}")
            return store.list(prefix, after)

        log = make_log(Hooked(store, get=get, list=listed))
        at = LogAtVersion(log, open_log(log))
        calls.clear()
        purge(at, purge_ages(log.options))
        reads = [number for number, call in enumerate(calls) if call == f"get {version_key(1)}"]
        assert len(reads) == 1, "opening the table anew takes what the process remembers of it"
        assert calls.index("list ") < reads[0]

    def test_version_0_is_looked_at_before_each_delete(self, batches_of: Callable[[int], None]) -> None:
        batches_of(4)
        store = old_table(orphans=30)
        calls: list[str] = []

        def head(key: str) -> Any:
            calls.append(key)
            return store.head(key)

        def delete(keys: Any) -> Any:
            calls.append(f"delete {len(keys)}")
            return store.delete(keys)

        purged(Hooked(store, head=head, delete=delete))
        deletes = [number for number, call in enumerate(calls) if call.startswith("delete")]
        assert [calls[number] for number in deletes] == ["delete 4"] * 7 + ["delete 2"]
        assert all(calls[number - 1] == version_key(0) for number in deletes)

    def test_a_table_that_was_replaced_before(self) -> None:
        store = old_table()
        log = make_log(store)
        snapshot = open_log(log)
        for key in [key for key in store.objects if key.startswith(LOG)]:
            del store.objects[key]
        new_table(make_log(store, clock=FakeClock(seed=5)))
        with pytest.raises(TableReplaced):
            purge(LogAtVersion(log, snapshot), purge_ages(log.options))
        assert splits(store) >= {"o1", "o2", "o3"}

    def test_a_table_that_is_replaced_between_two_deletes(self, batches_of: Callable[[int], None]) -> None:
        batches_of(5)
        store = old_table(orphans=12)

        def delete(keys: Any) -> Any:
            store.put(version_key(0), store.objects[version_key(0)].data)
            return store.delete(keys)

        done = purged(Hooked(store, delete=delete), {"purge.parallelism": 1})
        assert (done.status, done.orphaned_files_deleted) == ("partial", 5)
        assert "the table was replaced meanwhile" in done.message
        assert len(splits(store)) == 2 + 7

    def test_a_delete_that_fails_is_reported_and_left(self) -> None:
        store = old_table()
        done = purged(refusing(store, split("o2")))
        assert (done.status, done.orphaned_files_found, done.orphaned_files_deleted) == ("partial", 3, 2)
        assert f"1 objects could not be deleted, the first is {split('o2')}: {split('o2')} is locked" in done.message
        assert done.bytes_deleted == 20
        assert split("o2") not in done.paths
        assert purged(store).paths == (split("o2"),)

    @pytest.mark.parametrize(("retries", "status"), [(None, "success"), (2, "success"), (1, "partial"), (0, "partial")])
    def test_a_delete_that_fails_for_now_is_tried_again(self, retries: int | None, status: str) -> None:
        store = old_table()
        hooked = refusing(store, split("o2"), error=StoreUnavailable, times=2)
        done = purged(hooked, {} if retries is None else {"purge.deleteRetries": retries})
        assert done.status == status
        assert (split("o2") in store.objects) == (status == "partial")
        assert sorted(done.paths) == sorted(set(done.paths))

    def test_a_store_that_answers_no_delete_at_all(self) -> None:
        store = old_table()

        def delete(keys: Any) -> Any:
            raise StoreUnavailable("no answer")

        done = purged(Hooked(store, delete=delete))
        assert (done.status, done.orphaned_files_deleted) == ("partial", 0)
        assert "3 objects could not be deleted" in done.message

    def test_a_cap(self) -> None:
        store = old_table(orphans=7)
        options = {"purge.maxFilesToDelete": 5}
        planned = purged(store, options, dry_run=True)
        done = purged(store, options)
        assert planned.paths == done.paths
        assert (done.status, done.orphaned_files_found, done.orphaned_files_deleted) == ("partial", 7, 5)
        assert "2 more orphaned splits than spark.indextables.purge.maxFilesToDelete=5 are left" in done.message
        assert purged(store, options).orphaned_files_deleted == 2

    def test_it_starts_again_when_a_listed_object_is_gone(self) -> None:
        store = old_table(versions=3)
        asked: list[str] = []

        def get(key: str) -> Any:
            asked.append(key)
            if key == version_key(2) and asked.count(key) in (2, 3):
                raise ObjectNotFound(f"{key} is gone")
            return store.get(key)

        assert purged(Hooked(store, get=get)).orphaned_files_deleted == 3
        assert asked.count(version_key(2)) == 4, "once to open the table, and until it was there"

    def test_listings_that_a_sleep_tore_apart_are_taken_again(self) -> None:
        store = old_table()
        listed: list[str] = []

        def list_slowly(prefix: str, after: str | None = None) -> Any:
            listed.append(prefix)
            if prefix == f"{LOG}/state-v" and listed.count(prefix) in (5, 6):
                store.clock.advance(HOUR)
            return store.list(prefix, after)

        assert purged(Hooked(store, list=list_slowly)).orphaned_files_deleted == 3
        assert listed.count(f"{LOG}/state-v") == 7, "two to open, two to plan, and three to read the log"

    def test_deletes_run_side_by_side(self, batches_of: Callable[[int], None]) -> None:
        batches_of(10)
        store = old_table(orphans=1000)
        log = TableLog(store, make_log(store, {"purge.parallelism": 4}).options, store.clock, Pool(8))
        seen: list[Progress] = []
        done = purge(LogAtVersion(log, open_log(log)), purge_ages(log.options), progress=seen.append)
        assert done.orphaned_files_deleted == 1000
        assert len(done.paths) == len(set(done.paths)) == 1000
        assert splits(store) == {"s1", "s2"}
        assert [each.looked_at for each in seen[:3]] == [1000, 1001, 1002]
        assert {each.splits_total for each in seen if each.splits} == {1000}
        assert len(seen) == 102 + seen[-1].looked_at - 1000, (
            "one for the listing, one for each log object, one for the plan, one for each batch"
        )
        assert (seen[-1].splits, seen[-1].bytes) == (1000, 10_000)
        assert [each.splits for each in seen] == sorted(each.splits for each in seen)

    def test_ctrl_c_leaves_a_table(self, batches_of: Callable[[int], None]) -> None:
        batches_of(2)
        store = old_table(orphans=8)

        def stop(progress: Progress) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            purged(store, progress=stop)
        assert live(open_log(make_log(store))) == {split("s1"), split("s2")}
        purged(store)
        assert splits(store) == {"s1", "s2"}

    def test_what_is_no_callback(self) -> None:
        with pytest.raises(OptionError, match="progress is called"):
            purged(old_table(), progress=3)


class TestLocalDisk:
    SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string())])

    def old(self, root: Path) -> Table:
        """A table whose files are forty days old: versions, splits of two partitions, and one that was overwritten."""
        table = Table.create(root, self.SCHEMA, partition_by=["day"], options={"checkpoint.interval": 1})
        table.append(pa.table({"id": [1, 2], "day": ["a", "b"]}))
        table.overwrite(pa.table({"id": [3], "day": ["a"]}), where="day = 'a'")
        make_old(root)
        return table

    def test_a_real_table(self, tmp_path: Path) -> None:
        table = self.old(tmp_path / "t")
        orphan = tmp_path / "t" / "day=a" / "splits" / "split-orphan.split"
        orphan.write_bytes(b"x" * 1000)
        assert table.purge().orphaned_files_deleted == 0, "version 2 names the split that was overwritten"
        assert orphan.exists(), "it was written just now"
        make_old(tmp_path / "t")
        planned = table.purge(dry_run=True)
        done = table.purge()
        assert planned.paths == done.paths
        assert not orphan.exists()
        assert (done.orphaned_files_deleted, done.bytes_deleted) == (1, 1000)
        assert table.scan().read_all().sort_by("id").to_pydict() == {"id": [2, 3], "day": ["b", "a"]}
        assert Table.open(tmp_path / "t").count() == 2

    def test_temporary_files_of_killed_writers(self, tmp_path: Path) -> None:
        root = tmp_path / "t"
        table = self.old(root)
        ours = [
            root / LOG / ".indextables-0123456789abcdef.tmp",
            root / LOG / "00000000000000000009.json#1",
            root / "day=a" / "splits" / ".indextables-0123456789abcdef.tmp",
            root / "day=a" / "splits" / "split-1.split#3",
        ]
        others = [root / "notes#1", root / "_hidden" / ".indextables-0123456789abcdef.tmp", root / ".indextables-1.tmp"]
        for path in [*ours, *others]:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"half")
        assert table.purge().temporary_files_deleted == 0, "writers may be at work"
        make_old(root)
        planned = table.purge(dry_run=True)
        assert {root / path for path in planned.paths} >= set(ours)
        done = table.purge()
        assert done.temporary_files_deleted == 4
        assert done.paths == planned.paths
        assert not any(path.exists() for path in ours)
        assert all(path.exists() for path in others)

    def test_what_lies_behind_a_symbolic_link_stays_and_is_not_promised(self, tmp_path: Path) -> None:
        root = tmp_path / "t"
        table = self.old(root)
        elsewhere = tmp_path / "elsewhere"
        (elsewhere / "deep").mkdir(parents=True)
        theirs = [elsewhere / "x.split", elsewhere / "deep" / "y.split", elsewhere / "split-1.split#3"]
        for path in theirs:
            path.write_bytes(b"theirs")
        (root / "linked").symlink_to(elsewhere)
        (root / "twin").symlink_to(root / "day=b")
        ours = root / "day=a" / "splits" / "split-orphan.split"
        ours.write_bytes(b"ours")
        make_old(elsewhere)
        make_old(root)
        planned = table.purge(dry_run=True)
        done = table.purge()
        assert planned.paths == done.paths
        assert [path for path in done.paths if not path.startswith(LOG)] == ["day=a/splits/split-orphan.split"]
        assert (done.status, table.purge().status) == ("success", "no_action")
        assert all(path.exists() for path in theirs)
        assert not ours.exists()
        assert table.scan().read_all().sort_by("id").to_pydict() == {"id": [2, 3], "day": ["b", "a"]}

    def test_a_table_at_a_place_with_another_table_inside(self, tmp_path: Path) -> None:
        self.old(tmp_path / "t" / "inner")
        outer = self.old(tmp_path / "t")
        make_old(tmp_path / "t")
        outer.purge()
        assert Table.open(tmp_path / "t" / "inner").scan().read_all().num_rows == 2


def make_old(root: Path, days: float = 40) -> None:
    moment = time.time() - days * DAY
    for path in root.rglob("*"):
        if path.is_file() and not path.name.startswith("_probe"):
            os.utime(path, (moment, moment))
