"""Purges with random retentions, at random moments, among everything else that happens to a table.

Splits are fakes: the bytes of a split are the names of its rows. The model knows the rows of every version, when the version was
followed by the next one, and how far back the retentions so far have promised time travel. Verbs also die at any of their calls:
then the model takes over whether a version was committed, and nothing else. After every step each promised version
reads back its rows, whoever opened the newest version within the safety age can still read all of it, and after a purge nothing
is left that could have gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from effort import examples
from indextables.core.errors import FilesChanged, UploadTooOld
from indextables.core.predicate import parse_predicate
from indextables.log.actions import AddAction
from indextables.log.cleanup import clean_up
from indextables.log.commit import commit
from indextables.log.conflicts import Change, Replace, Rewrite
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.state.checkpoint import checkpoint
from indextables.log.state.collect import collect_manifests
from indextables.log.table_log import TableLog
from indextables.storage.testing.faulty import Died, Fault, Faulty, Plan
from indextables.table.handle import TableHandle
from indextables.table.maintain.purge import purge
from indextables.table.maintain.purging.orphans import Ages
from indextables.table.maintain.truncate import truncate_time_travel
from indextables.table.write.drop_partitions import drop_selected
from indextables.table.write.restore import restore
from log.support import HOUR, LOG, START_MS, MemoryStore, make_log, new_table, unpacked
from state.support import avro_records

SAFETY_HOURS = 2.0
OPTIONS = {
    "state.retention.versions": 1,
    "state.retention.hours": 0,
    "checkpointRetention.duration": 0,
    "state.gc.minManifestAgeHours": 0,
    "logRetention.duration": 1000 * 86_400_000,
    "checkpoint.multipart.maxActionsPerPart": 3,
    "state.entriesPerManifest": 4,
}
DAYS = ("a", "b")
HOURS = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 6.0, 24.0])
CALLS = st.integers(1, 40)
"""Requests of a verb. The longest of them, a purge of a table with many states, makes about as many."""
DEATHS = st.sampled_from([Fault.DIE_BEFORE, Fault.DIE_AFTER])
WAITS = st.sampled_from([60.0, 0.5 * HOUR, 61 * 60.0, 1.9 * HOUR, 2.1 * HOUR, 7 * HOUR, 30 * HOUR])


@dataclass(frozen=True)
class Version:
    """What the model knows of a version."""

    files: dict[str, str]
    """The partition of each live split."""
    landed_at: float


@dataclass(frozen=True)
class Held:
    """A version that somebody has opened as the newest."""

    at: float
    paths: frozenset[str]


@dataclass(frozen=True)
class Upload:
    """Splits of a writer that has not committed them yet."""

    began: float
    adds: tuple[AddAction, ...]


class PurgedTable(RuleBasedStateMachine):
    """A table, its model, and all that can happen to both."""

    @initialize()
    def create(self) -> None:
        self.store = MemoryStore()
        self.versions = [Version({}, self.now)]
        self.promised_since = -1e9
        """Versions that were in force after this moment are promised to be readable."""
        self.floor = 0
        """Versions below were truncated."""
        self.rows: dict[str, str] = {}
        self.held: list[Held] = []
        self.uploads: list[Upload] = []
        self.snapshots: list[Snapshot] = []
        self.made = 0
        new_table(
            self.log(),
            partition_columns=("day",),
            configuration={"spark.indextables.safetyAge.hours": str(SAFETY_HOURS)},
        )

    @property
    def now(self) -> float:
        return self.store.clock.seconds

    def log(self, **options: Any) -> TableLog:
        return make_log(self.store, OPTIONS | options)

    def handle(self) -> TableHandle:
        log = self.log()
        return TableHandle(log, open_log(log))

    def uploaded(self, count: int, day: str) -> tuple[AddAction, ...]:
        adds = []
        for _ in range(count):
            self.made += 1
            path = f"day={day}/splits/split-{self.made:04d}.split"
            self.rows[path] = f"row {self.made}"
            self.store.put(path, self.rows[path].encode())
            adds.append(AddAction(path, {"day": day}, size=9, modification_time=START_MS, num_records=1))
        return tuple(adds)

    def commit(self, change: Change, began: float | None, live: dict[str, str], *, held: bool = False) -> bool:
        """Commit on the newest version, or on one that a writer has held for a while."""
        snapshot = self.snapshots[-1] if held and self.snapshots else open_log(self.log())
        try:
            done = commit(LogAtVersion(self.log(), snapshot), change, operation="WRITE", uploads_began=began)
        except (UploadTooOld, FilesChanged):
            return False
        if done.written:
            self.versions.append(Version(live, self.now))
            self.snapshots.append(done.snapshot)
        return done.written

    @property
    def live(self) -> dict[str, str]:
        return self.versions[-1].files

    # what writers do

    @rule(count=st.integers(1, 3), day=st.sampled_from(DAYS), held=st.booleans())
    def append(self, count: int, day: str, held: bool) -> None:
        began = self.store.clock.boot()
        adds = self.uploaded(count, day)
        self.commit(Change(adds=adds), began, {**self.live, **{add.path: day for add in adds}}, held=held)

    @rule(day=st.sampled_from([*DAYS, None]), held=st.booleans())
    def overwrite(self, day: str | None, held: bool) -> None:
        began = self.store.clock.boot()
        adds = self.uploaded(1, day or "a")
        where = None if day is None else parse_predicate(f"day = '{day}'", open_log(self.log()).schema)
        kept = {path: each for path, each in self.live.items() if day is not None and each != day}
        self.commit(Change(adds=adds, replace=Replace(where)), began, {**kept, adds[0].path: day or "a"}, held=held)

    @precondition(lambda self: len(self.live) > 1)
    @rule(data=st.data())
    def merge(self, data: st.DataObject) -> None:
        """Two splits of a partition become one that has the rows of both."""
        day = data.draw(st.sampled_from(sorted(self.live.values())))
        sources = sorted(path for path, each in self.live.items() if each == day)[:2]
        began = self.store.clock.boot()
        (result,) = self.uploaded(1, day)
        self.rows[result.path] = ", ".join(self.rows[path] for path in sources)
        self.store.put(result.path, self.rows[result.path].encode())
        kept = {path: each for path, each in self.live.items() if path not in sources}
        change = Change(rewrites=(Rewrite(tuple(sources), (result,), data_change=False),))
        self.commit(change, began, {**kept, result.path: day})

    @rule(count=st.integers(1, 2), day=st.sampled_from(DAYS))
    def upload(self, count: int, day: str) -> None:
        """A writer that is slow, or that dies now and leaves orphans."""
        began = self.store.clock.boot()
        self.uploads.append(Upload(began, self.uploaded(count, day)))

    @precondition(lambda self: self.uploads)
    @rule(data=st.data())
    def commit_upload(self, data: st.DataObject) -> None:
        upload = self.uploads.pop(data.draw(st.integers(0, len(self.uploads) - 1)))
        files = {add.path: add.partition_values["day"] or "" for add in upload.adds}
        self.commit(Change(adds=upload.adds), upload.began, {**self.live, **files})

    @precondition(lambda self: len(self.versions) > 1)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        """An older version that is promised becomes the newest, though all of it may be older than any age."""
        promised = [number for number in range(len(self.versions)) if self.is_promised(number)]
        number = data.draw(st.sampled_from(promised))
        done = restore(self.handle(), number, None).restored
        if done.status == "success":
            self.versions.append(Version(self.versions[number].files, self.now))
        assert done.version == len(self.versions) - 1

    @rule(day=st.sampled_from(DAYS))
    def drop_partition(self, day: str) -> None:
        done = drop_selected(self.handle(), f"day = '{day}'").dropped
        if done.status == "success":
            kept = {path: each for path, each in self.live.items() if each != day}
            self.versions.append(Version(kept, self.now))
        assert done.version == len(self.versions) - 1

    @rule()
    def truncate(self) -> None:
        """Only the newest version is promised afterwards."""
        done = truncate_time_travel(self.handle()).truncated
        if done.checkpoint_version == len(self.versions):
            self.versions.append(Version(self.live, self.now))
        self.floor = len(self.versions) - 1

    # who sums up, and who deletes

    @rule(compact=st.booleans(), form=st.sampled_from(["avro", "json"]))
    def checkpoint(self, compact: bool, form: str) -> None:
        log = self.log(**{"state.format": form})
        snapshot = open_log(log)
        if snapshot.version:
            checkpoint(LogAtVersion(log, snapshot), compact=compact)

    @rule(hours=HOURS)
    def clean_up(self, hours: float) -> None:
        log = self.log()
        at = LogAtVersion(log, open_log(log))
        clean_up(at, retention_ms=round(hours * HOUR * 1000))
        collect_manifests(at)
        self.promised_since = max(self.promised_since, self.now - hours * HOUR)

    @rule(split_hours=HOURS, log_hours=HOURS, dry_run=st.booleans())
    def purge(self, split_hours: float, log_hours: float, dry_run: bool) -> None:
        before = set(self.store.objects)
        planned = None
        ages = Ages(split_hours, log_hours)
        if dry_run:
            log = self.log()
            planned = purge(LogAtVersion(log, open_log(log)), ages, dry_run=True)
            assert set(self.store.objects) - {f"{LOG}/_probe"} == before - {f"{LOG}/_probe"}
        log = self.log()
        done = purge(LogAtVersion(log, open_log(log)), ages)
        assert done.status in ("success", "no_action"), done.message
        assert set(done.paths) == before - set(self.store.objects)
        assert planned is None or sorted(planned.paths) == sorted(done.paths)
        self.promised_since = max(self.promised_since, self.now - log_hours * HOUR)
        self.nothing_is_left(max(split_hours, SAFETY_HOURS) * HOUR)

    def nothing_is_left(self, age: float) -> None:
        """Every split that is old enough is named somewhere in the log, as a reader of raw bytes finds it."""
        text = self.names()
        moment = self.store.clock.wall_ms() - age * 1000
        for key, stored in self.store.objects.items():
            if key.endswith(".split") and stored.modified_ms <= moment:
                assert key in text, f"{key} is an orphan, and still there"

    def names(self) -> str:
        found = []
        for key, stored in self.store.objects.items():
            if not key.startswith(f"{LOG}/"):
                continue
            if "/manifests/" in key:
                found += [record["path"] for record in avro_records(stored.data)]
            elif key.endswith(".json"):
                found.append(unpacked(stored.data).decode())
        return "\n".join(found)

    # who dies half way

    @rule(
        verb=st.sampled_from(["purge", "clean up", "checkpoint", "truncate"]),
        call=CALLS,
        fault=DEATHS,
        hours=HOURS,
        compact=st.booleans(),
        form=st.sampled_from(["avro", "json"]),
    )
    def die(self, verb: str, call: int, fault: Fault, hours: float, compact: bool, form: str) -> None:
        """A verb ends at one of its requests. What a retention allowed to go may be gone, and what was not begun is there."""
        with self.dying(call, fault, form) as log:
            at = TableHandle(log, open_log(log))
            match verb:
                case "purge":
                    self.promised_since = max(self.promised_since, self.now - hours * HOUR)
                    purge(at, Ages(hours, hours))
                case "clean up":
                    self.promised_since = max(self.promised_since, self.now - hours * HOUR)
                    clean_up(at, retention_ms=round(hours * HOUR * 1000))
                    collect_manifests(at)
                case "checkpoint" if at.version:
                    checkpoint(at, compact=compact)
                case "truncate":
                    truncate_time_travel(at)
        if self.was_committed(self.live):
            assert verb == "truncate"
            self.floor = len(self.versions) - 1

    @precondition(lambda self: len(self.versions) > 1)
    @rule(call=CALLS, fault=DEATHS, data=st.data())
    def die_restoring(self, call: int, fault: Fault, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from([each for each in range(len(self.versions)) if self.is_promised(each)]))
        with self.dying(call, fault) as log:
            restore(TableHandle(log, open_log(log)), number, None)
        self.was_committed(self.versions[number].files)

    @contextmanager
    def dying(self, call: int, fault: Fault, form: str = "avro") -> Iterator[TableLog]:
        """A log of a process that dies at its request number `call`, unless it has done its work before."""
        faulty = Faulty(self.store, Plan(call, fault))
        try:
            yield make_log(faulty, OPTIONS | {"state.format": form})
        except Died as death:
            event(f"died {str(death).split()[0]}")
            assert faulty.fired
        else:
            assert not faulty.fired

    def was_committed(self, files: dict[str, str]) -> bool:
        """Take over the next version, which has these files, if there is one. There are never two."""
        newest = open_log(self.log()).version
        assert newest in (len(self.versions) - 1, len(self.versions))
        if newest == len(self.versions):
            self.versions.append(Version(files, self.now))
            return True
        return False

    # time, and who reads

    @rule(seconds=WAITS)
    def wait(self, seconds: float) -> None:
        self.store.clock.advance(seconds)

    @rule()
    def read(self) -> None:
        self.held.append(Held(self.now, frozenset(self.live)))

    def is_promised(self, number: int) -> bool:
        """Whether the version is the newest, or was in force at a moment that a retention covers."""
        newest = len(self.versions) - 1
        in_force = number == newest or self.versions[number + 1].landed_at > self.promised_since
        return in_force and number >= self.floor

    @invariant()
    def promised_versions_read_back_their_rows(self) -> None:
        for number, version in enumerate(self.versions):
            if not self.is_promised(number):
                continue
            snapshot = open_log(self.log(), number)
            paths = snapshot.files.column("path").to_pylist()
            assert sorted(paths) == sorted(version.files), number
            assert [self.read_split(path) for path in paths] == [self.rows[path] for path in paths], number

    @invariant()
    def whoever_opened_the_newest_version_can_read_it(self) -> None:
        self.held = [held for held in self.held if self.now - held.at < SAFETY_HOURS * HOUR]
        for held in self.held:
            for path in held.paths:
                assert self.read_split(path) == self.rows[path]

    def read_split(self, path: str) -> str:
        return self.store.get(path).data.decode()


TestPurgedTable = PurgedTable.TestCase
TestPurgedTable.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
