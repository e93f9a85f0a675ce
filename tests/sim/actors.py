"""The actors around the writers: who sums up, cleans up, reads, creates and drops."""

from __future__ import annotations

from indextables.core.errors import (
    ChangesGone,
    CommitError,
    CommitOutcomeUnknown,
    CorruptLog,
    IndexTablesError,
    LogError,
    LogReadTimeout,
    ObjectNotFound,
    StorageError,
    TableExists,
    TableNotFound,
)
from indextables.core.options import Options
from indextables.log.cleanup import clean_up
from indextables.log.commit import commit
from indextables.log.conflicts import Change
from indextables.log.create_log import create_log
from indextables.log.history import open_at, read_changes
from indextables.log.refresh import open_current, refresh
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.state.checkpoint import checkpoint
from indextables.log.state.collect import collect_manifests
from indextables.log.table_log import TableLog
from indextables.table.maintain.purge import purge
from indextables.table.maintain.purging.orphans import Ages
from sim.oracle import Began
from sim.process import NOT_KEPT, Actor
from sim.simulation import Simulation
from sim.weather import SAFETY_HOURS
from sim.world import HOUR, LOG, Violation


class Checkpointer(Actor):
    """Sums the log up, sometimes from a snapshot that is not the newest any more."""

    def __init__(
        self,
        sim: Simulation,
        name: str,
        hold: float = 0.15,
        compact: float = 0.3,
        state_format: str | None = None,
        **more: int,
    ) -> None:
        self._format = state_format
        """What it writes, where that is not what all others do."""
        super().__init__(sim, name, **more)
        self._hold = hold
        self._compact = compact
        """How often it asks for a compaction."""

    def process_options(self) -> Options:
        return self.sim.options.merged({"state.format": self._format}) if self._format else self.sim.options

    def operate(self) -> None:
        began = self.oracle.began()
        snapshot = self.snapshot if self.snapshot is not None and self.rng.random() < self._hold else self.look(began)
        if snapshot is None or snapshot.version == 0:
            return
        compact = self.rng.random() < self._compact
        old = self.is_old(snapshot)
        done = self.attempt(
            began,
            lambda: checkpoint(LogAtVersion(self.log, snapshot), compact=compact),
            *([ObjectNotFound, LogError] if old else []),
        )
        if done is not None and done.written:
            self.sim.counts["checkpoints"] += 1
            self.sim.counts[done.kind] += 1
            self.snapshot = done.snapshot


class Cleaner(Actor):
    """Cleans the log up."""

    cautious = True

    def more(self) -> bool:
        owed = self.sim.cut.is_whole and self.sim.counts["cleanups"] < self.sim.quota.cleanups
        return (owed and self.left > -30) or super().more()

    def operate(self) -> None:
        began = self.oracle.began()
        snapshot = self.snapshot if self.snapshot is not None and self.rng.random() < 0.15 else self.look(began)
        if snapshot is None:
            return
        report = self.attempt(began, lambda: clean_up(LogAtVersion(self.log, snapshot)))
        if report is not None:
            self.sim.counts["cleanups"] += 1
            self.sim.counts["log objects deleted"] += len(report.deleted)
            why = f", {report.stopped}" if report.stopped else ""
            self.sim.scheduler.note(f"cleaned up: floor {report.floor}, {len(report.deleted)} deleted{why}", self.name)
        collected = self.attempt(began, lambda: collect_manifests(LogAtVersion(self.log, snapshot)))
        if collected is not None:
            self.sim.counts["manifests collected"] += len(collected.deleted)
            if collected.deleted or collected.stopped:
                why = f", {collected.stopped}" if collected.stopped else ""
                self.sim.scheduler.note(f"collected {len(collected.deleted)} manifests{why}", self.name)


class Purger(Actor):
    """Deletes splits that no version names, and what clean-up may delete."""

    cautious = True

    def operate(self) -> None:
        began = self.oracle.began()
        snapshot = self.snapshot if self.snapshot is not None and self.rng.random() < 0.3 else self.look(began)
        if snapshot is None:
            return
        ages = Ages(split_hours=0, log_hours=self.sim.retention / HOUR)
        dry_run = self.rng.random() < 0.1
        done = self.attempt(began, lambda: purge(LogAtVersion(self.log, snapshot), ages, dry_run=dry_run), CorruptLog)
        if done is not None:
            self.sim.counts["purges"] += 1
            self.sim.counts["splits purged"] += done.orphaned_files_deleted
            self.sim.scheduler.note(f"purged: {done.message}", self.name)


class SlowPurger(Purger):
    """The same on a machine that stands still for hours, while others go on and time passes."""

    cautious = False


class Truncator(Actor):
    """Gives up time travel: commits a floor, sums up, cleans up."""

    cautious = True

    def operate(self) -> None:
        began = self.oracle.began()
        snapshot = self.look(began)
        if snapshot is None:
            return
        done = self.attempt(
            began,
            lambda: commit(LogAtVersion(self.log, snapshot), Change(), operation="TRUNCATE", time_travel_floor=True),
            CommitError,
        )
        if done is None:
            return
        self.oracle.was_acked(self.name, done.snapshot, done.txn_id)
        if self.attempt(began, lambda: checkpoint(LogAtVersion(self.log, done.snapshot), compact=True)):
            self.attempt(began, lambda: clean_up(LogAtVersion(self.log, done.snapshot)))


class Reader(Actor):
    """Opens, refreshes, travels, and asks what changed."""

    def __init__(self, sim: Simulation, name: str, stale: float = 0.0, travels: float = 0.4, **more: int) -> None:
        self._stale = stale
        super().__init__(sim, name, **more)
        self._travels = travels

    def process_options(self) -> Options:
        return (
            self.sim.options.merged({"transaction.maxStaleness": int(self._stale)}) if self._stale else self.sim.options
        )

    def operate(self) -> None:
        began = self.oracle.began()
        way = self.rng.random()
        if way < self._travels:
            self._travel(began)
        elif way < 0.9 or self.snapshot is None:
            self._read(began)
        else:
            self._changes(began, self.snapshot)

    def _read(self, began: Began) -> None:
        held = self.snapshot
        if held is not None and self.rng.random() < 0.7:
            found = self.attempt(began, lambda: refresh(LogAtVersion(self.log, held)))
        else:
            found = self.attempt(began, lambda: open_current(self.log))
        if found is not None:
            self.oracle.was_read(self.name, began, found, None, newest=True, stale=self._stale)
            self.snapshot = found
            self._look_inside(began, found)

    def _look_inside(self, began: Began, found: Snapshot) -> None:
        """Read its files, sometimes long after it was opened."""
        opened = self.sim.world.now
        if self.rng.random() < 0.3:
            self.task.idle()
        paths = self.paths(began, found)
        if paths is not None:
            self.oracle.was_read(self.name, began, found, paths, newest=False)
        elif self.sim.world.now - opened < SAFETY_HOURS * HOUR / 2 and self.oracle.undisturbed(began):
            self.sim.counts["unread"] += 1

    def _travel(self, began: Began) -> None:
        """To a version that is kept, by its number or by its time; now and then to any other."""
        truth = self.oracle.truth
        if truth is None or began.disturbed:
            return
        number = self.rng.randint(0, truth.version)
        entry = truth.entries[number]
        by_time = self.rng.random() < 0.4 and entry.txn_id is not None and not self._stale
        wanted = {"timestamp_ms": entry.timestamp} if by_time else {"version": number}
        found = self.attempt(began, lambda: open_at(self.log, **wanted), *NOT_KEPT)
        kept = truth.left_at(number) > self.sim.world.now - self.oracle.retention and number >= truth.floor
        self.sim.scheduler.note(f"travelled to {number}: {found.version if found else 'not there'}", self.name)
        if found is None:
            if kept and self.oracle.undisturbed(began):
                self._again(number)
            return
        self.oracle.was_read(self.name, began, found, self.paths(began, found), newest=False)
        if self.oracle.undisturbed(began) and found.table_id == truth.table_id and found.version != number:
            newer = truth.entries[found.version]
            if newer.timestamp != entry.timestamp:
                raise Violation("wrong-travel", f"{self.name} travelled to {number}, got {found.version}")

    def _again(self, number: int) -> None:
        """It may have been the weather. Asked at once and without faults, a version that is kept must open."""
        error = self.oracle.opens(number)
        if error is not None:
            raise Violation("travel", f"{self.name}: version {number} is within the retention: {error}")

    def _changes(self, began: Began, snapshot: Snapshot) -> None:
        truth = self.oracle.truth
        if truth is None or began.disturbed or truth.table_id != snapshot.table_id:
            return
        since = self.rng.randint(0, snapshot.version)
        changes = self.attempt(began, lambda: read_changes(LogAtVersion(self.log, snapshot), since), ChangesGone)
        if changes is None or not self.oracle.undisturbed(began) or truth.ghosts:
            return
        added = sorted(path for entry in truth.entries[since + 1 : snapshot.version + 1] for path in entry.added)
        removed = sorted(path for entry in truth.entries[since + 1 : snapshot.version + 1] for path in entry.removed)
        told = sorted(changes.adds.column("path").to_pylist()), sorted(changes.removes.column("path").to_pylist())
        if told != (added, removed):
            raise Violation(
                "wrong-changes", f"{self.name}: changes since {since} are {told}, should be {added}, {removed}"
            )


class Creator(Actor):
    """Creates the table where there is none, and must not where there is one."""

    def operate(self) -> None:
        began = self.oracle.began()
        try:
            made = make_table(self.log, self.sim.schema_string)
        except (TableExists, CommitOutcomeUnknown, StorageError):
            return
        except IndexTablesError as error:
            self.oracle.gave_up(self.name, began, error)
            return
        if self.oracle.undisturbed(began):
            raise Violation("created-over", f"{self.name} was told that it created table {made.table_id}")


class Dropper(Actor):
    """Removes the log from outside and creates another table in its place.

    Between a clean-up's look at version 0 and its delete lies one request: who drops a table waits until no such delete is
    under way before creating the next, because no store can take a delete back.
    """

    cautious = True

    def _table_is_there(self) -> bool:
        return True

    def more(self) -> bool:
        return self.oracle.dropping or super().more()

    def operate(self) -> None:
        began_commits = self.oracle.commits
        self.sim.counts["drops"] += 1
        while True:
            try:
                keys = [meta.key for meta in self.store.list(LOG)]
                if keys:
                    self.oracle.drop_begins()
                    self.store.delete(keys)
                    continue
                self.task.idle(lambda: not self.sim.scheduler.log_deletes_under_way())
                make_table(self.log, self.sim.schema_string)
            except (StorageError, CommitOutcomeUnknown, TableExists, TableNotFound, LogReadTimeout):
                pass
            if not self.oracle.dropping:
                self.sim.scheduler.note(f"created another table after {began_commits} commits", self.name)
                return


def make_table(log: TableLog, schema_string: str) -> Snapshot:
    """Version 0, as every table of the simulation has it."""
    return create_log(
        log,
        schema_string=schema_string,
        partition_columns=("part",),
        configuration={"spark.indextables.safetyAge.hours": str(SAFETY_HOURS)},
    )
