"""The processes of the simulation: ordinary code over the real functions, one class per role.

An actor reports to the oracle what it was told, never what is true. When it dies a new process takes its place: it has
nothing but its name, its store and what it had noted outside (the batch number of an exactly-once writer).
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from typing import TypeVar

from indextables.core.errors import (
    ChangesGone,
    CommitError,
    CommitOutcomeUnknown,
    FilesChanged,
    IndexTablesError,
    LogReadTimeout,
    MetadataChanged,
    ObjectNotFound,
    StorageError,
    TableExists,
    TableNotFound,
    TableReplaced,
    VersionNotFound,
)
from indextables.core.options import Options
from indextables.core.parallel import Inline
from indextables.core.predicate import parse_predicate
from indextables.log.actions import AddAction, TxnAction
from indextables.log.cache import LogCache
from indextables.log.cleanup import clean_up
from indextables.log.commit import commit
from indextables.log.conflicts import Change, MergeGroup, MetadataUpdate, Replace
from indextables.log.create import create_log
from indextables.log.history import open_at, read_changes
from indextables.log.open import open_log
from indextables.log.refresh import open_current, read_files, refresh
from indextables.log.snapshot import Snapshot
from indextables.log.state.checkpoint import checkpoint
from indextables.log.state.collect import collect_manifests
from indextables.log.tablelog import TableLog
from indextables.storage.retrying import Retrying
from indextables.storage.store import Store
from sim.oracle import Began
from sim.simulation import PARTS, SCHEMA, Simulation
from sim.weather import SAFETY_HOURS
from sim.world import HOUR, LOG, SimClock, SimStore, SimWorkers, Violation

T = TypeVar("T")


class Actor:
    """A process that does one operation after the other."""

    leads = False
    """Whether the schedule goes on because of it; the others follow until the last of these has ended."""
    cautious = False

    def __init__(
        self,
        sim: Simulation,
        name: str,
        operations: int = 40,
        skew: float = 3 * HOUR,
        reborn: bool = True,
        alone: bool = False,
        early: bool = False,
    ) -> None:
        self.sim = sim
        self.oracle = sim.oracle
        self.name = name
        self.left = operations if sim.cut.operations is None else min(operations, sim.cut.operations)
        self.rng = random.Random(f"actor/{sim.seed}/{name}")
        self._skew = skew
        self._alone = alone
        """Whether it finishes its operations though all writers have come to their end."""
        self.task = sim.scheduler.add(name, self.life, cautious=self.cautious, reborn=reborn)
        self.snapshot: Snapshot | None = None
        self.log: TableLog
        self._early = early
        """Whether it has opened the table already, while the stage was being set."""
        if early:
            self._boot()
            direct = TableLog(SimStore(sim.world.carry_out), sim.options, self.clock, Inline(), LogCache())
            self.snapshot = open_log(direct)

    def life(self) -> None:
        """A process from its start to its end. Errors that nobody expected end the schedule."""
        if self._early:
            self._early = False
        else:
            self._boot()
        while self.more():
            self.task.idle(self._table_is_there if self.rng.random() < 0.8 else None)
            if not self.more():
                break
            self.left -= 1
            self.operate()

    def _table_is_there(self) -> bool:
        return not self.oracle.dropping

    def more(self) -> bool:
        """Whether there is another operation to begin."""
        return self.left > 0 and self.goes_on()

    def goes_on(self) -> bool:
        return self._alone or self.sim.writing()

    def operate(self) -> None:
        raise NotImplementedError

    def _boot(self) -> None:
        rng, world = self.rng, self.sim.world
        skew = rng.uniform(-self._skew, self._skew) if rng.random() < 0.7 else 0.0
        self.clock = SimClock(world, self.task.call, rng, skew, booted=rng.uniform(0, 1e6))
        store: Store = SimStore(self.task.call)
        if rng.random() < 0.5:
            store = Retrying(store, self.clock, max_attempts=rng.choice((2, 3, 8)))
        self.store = store
        workers = SimWorkers(world, rng, hasty=rng.random() < 0.3)
        self.log = TableLog(store, self.process_options(), self.clock, workers, LogCache())
        self.snapshot = None

    def process_options(self) -> Options:
        return self.sim.options

    def attempt(self, began: Began, call: Callable[[], T], *expected: type[Exception]) -> T | None:
        """Do something that may fail for reasons that lie in the weather, or that are expected; None then."""
        try:
            return call()
        except expected:
            return None
        except ObjectNotFound as error:
            if not self.task.slept:
                self.oracle.gave_up(self.name, began, error)
            return None
        except (StorageError, LogReadTimeout):
            return None
        except (TableNotFound, TableReplaced) as error:
            held, self.snapshot = self.snapshot, None
            truth = self.oracle.truth
            if held is None or (truth is not None and held.table_id == truth.table_id):
                self.oracle.gave_up(self.name, began, error)
            return None
        except IndexTablesError as error:
            self.snapshot = None
            self.oracle.gave_up(self.name, began, error)
            return None
        except Exception as error:
            raise Violation("crashed", f"{self.name}: {''.join(traceback.format_exception(error))}") from error

    def look(self, began: Began) -> Snapshot | None:
        """The newest version, in one of the ways in which a process can ask for it."""
        held = self.snapshot
        way = self.rng.random()
        if held is not None and way < 0.6:
            found = self.attempt(began, lambda: refresh(self.log, held))
        elif way < 0.9:
            found = self.attempt(began, lambda: open_current(self.log))
        else:
            found = self.attempt(began, lambda: open_log(self.log))
        if found is None:
            return None
        paths = self.paths(began, found) if self.rng.random() < 0.5 else None
        self.oracle.was_read(self.name, began, found, paths, newest=True)
        self.snapshot = found
        return found

    def is_old(self, snapshot: Snapshot) -> bool:
        """Whether what the snapshot stands on may be gone by now: it was opened long ago, or it is a dropped table's."""
        truth = self.oracle.truth
        other = truth is None or truth.table_id != snapshot.table_id
        return other or self.clock.boot() - snapshot.checked > SAFETY_HOURS * HOUR / 2

    def paths(self, began: Began, snapshot: Snapshot) -> list[str] | None:
        """The files of a snapshot, read as readers read them."""
        found = self.attempt(began, lambda: read_files(self.log, snapshot, None), VersionNotFound, TableReplaced)
        if found is None:
            return None
        if found[0].table_id != snapshot.table_id or found[0].version != snapshot.version:
            raise Violation(
                "wrong-table", f"{self.name} asked for files of {snapshot.table_id} and got those of another"
            )
        return found[1].column("path").to_pylist()


class Writer(Actor):
    """Appends, overwrites, replaces partitions, removes and merges files, sets properties."""

    leads = True
    kinds = ("append", "append", "append", "overwrite", "replace", "set", "remove", "merge")

    def __init__(
        self,
        sim: Simulation,
        name: str,
        kinds: tuple[str, ...] | None = None,
        hold: float = 0.3,
        dawdle: float = 0.0,
        **more: int,
    ) -> None:
        super().__init__(sim, name, **more)
        self.kinds = kinds or self.kinds
        self._hold = hold
        """How often it plans on the snapshot it has, however old."""
        self._dawdle = dawdle
        """How often time passes between its upload and its commit."""

    def goes_on(self) -> bool:
        return not (self.sim.quota.commits and self.sim.cut.is_whole) or not self.sim.satisfied

    def operate(self) -> None:
        began = self.oracle.began()
        snapshot = self.snapshot if self.snapshot is not None and self.rng.random() < self._hold else self.look(began)
        if snapshot is None:
            return
        self.write(began, snapshot, self.rng.choice(self.kinds))

    def write(self, began: Began, snapshot: Snapshot, kind: str) -> str:
        uploads_began = self.clock.boot()
        live: list[str] = []
        if kind in ("remove", "merge"):
            live = self.paths(began, snapshot) or []
        planned = self.plan(snapshot, kind, live)
        if planned is None:
            return "nothing"
        change, meant = planned
        uploads = [add.path for add in change.adds] + [add.path for group in change.groups for add in group.results]
        if not all(self.upload(path) for path in uploads):
            return "failed"
        if self.rng.random() < self._dawdle:
            self.task.idle()
        return self.commit(began, snapshot, change, kind, meant, uploads_began, uploads)

    def plan(self, snapshot: Snapshot, kind: str, live: list[str]) -> tuple[Change, dict[str, object]] | None:
        """What to do, and what it means in words that the oracle can check."""
        match kind:
            case "append":
                return Change(adds=self.new_adds(self.rng.randint(1, 2))), {}
            case "overwrite":
                return Change(adds=self.new_adds(1), replace=Replace()), {"replaces": "*"}
            case "replace":
                part = self.rng.choice(PARTS)
                where = parse_predicate(f"part = '{part}'", snapshot.schema)
                return Change(adds=self.new_adds(1, part), replace=Replace(where)), {"replaces": part}
            case "set":
                key = self.rng.choice(("owner", "note", "note", "spark.indextables.sim.flag"))
                sets = {key: f"{self.name}{self.left}"}
                return Change(metadata=MetadataUpdate(properties=sets)), {"sets": sets}
            case "remove" if live:
                return Change(removes=(self.rng.choice(live),)), {"removes": True}
            case "merge" if len(live) > 1:
                sources = tuple(sorted(self.rng.sample(live, 2)))
                result = self.new_adds(1)
                change = Change(groups=(MergeGroup(sources, result),), data_change=False)
                return change, {"merges": {result[0].path: sources}}
        return None

    def new_adds(self, count: int, part: str | None = None) -> tuple[AddAction, ...]:
        return tuple(self.sim.new_add(self.name, part) for _ in range(count))

    def upload(self, path: str) -> bool:
        for _ in range(4):
            try:
                self.store.put(path, b"data")
            except StorageError:
                continue
            return True
        return False

    def commit(
        self,
        began: Began,
        snapshot: Snapshot,
        change: Change,
        kind: str,
        meant: dict[str, object],
        uploads_began: float,
        uploads: list[str],
    ) -> str:
        first_id = len(self.clock.issued)
        try:
            done = commit(
                self.log,
                snapshot,
                change,
                operation=kind.upper(),
                parameters=meant,
                uploads_began=uploads_began if uploads else None,
            )
        except CommitOutcomeUnknown as error:
            self.sim.counts["unknown"] += 1
            self.sim.scheduler.note(f"is told: {error}", self.name)
            self.snapshot = None
            self.left_open(uploads)
            return "unknown"
        except IndexTablesError as error:
            self.sim.counts["failed"] += 1
            self.sim.scheduler.note(f"is told: {type(error).__name__}: {error}", self.name)
            self.oracle.has_failed(self.name, self.clock.issued[first_id:], error)
            self._judge(began, snapshot, change, error)
            self.snapshot = None
            self.abort(uploads)
            return "failed"
        except Exception as error:
            raise Violation("crashed", f"{self.name}: {''.join(traceback.format_exception(error))}") from error
        self.snapshot = done.snapshot
        if self.oracle.undisturbed(began):
            self.oracle.was_read(self.name, began, done.snapshot, None, newest=False)
        if not done.written:
            self.sim.scheduler.note(f"is told: nothing written, {done.reason}", self.name)
            self.oracle.has_failed(self.name, self.clock.issued[first_id:], ValueError(done.reason))
            if change.txn is not None:
                self.oracle.was_skipped(self.name, began, done.snapshot, change.txn.app_id, change.txn.version)
            self.abort(uploads)
            return "skipped"
        self.sim.counts["acked"] += 1
        self.sim.scheduler.note(f"is told: version {done.snapshot.version} is written", self.name)
        self.oracle.was_acked(self.name, done.snapshot, done.txn_id)
        return "acked"

    def _judge(self, began: Began, snapshot: Snapshot, change: Change, error: IndexTablesError) -> None:
        """Whether the error is one that can have happened."""
        truth = self.oracle.truth
        if truth is None or not self.oracle.undisturbed(began) or truth.table_id != snapshot.table_id:
            return
        match error:
            case TableReplaced() | TableNotFound():
                self.oracle.gave_up(self.name, began, error)
            case FilesChanged():
                if all(path in truth.newest.live for path in change.removes):
                    raise Violation("false-conflict", f"{self.name}: {error}")
            case MetadataChanged():
                if all(
                    entry.properties == snapshot.metadata.configuration for entry in truth.entries[snapshot.version :]
                ):
                    raise Violation("false-conflict", f"{self.name}: {error}")
            case ObjectNotFound():
                self.oracle.gave_up(self.name, began, error)
            case CommitError() | StorageError() | LogReadTimeout():
                pass
            case _:
                self.oracle.gave_up(self.name, began, error)

    def abort(self, uploads: list[str]) -> None:
        """The commit failed for certain: what was uploaded for it is of no use."""
        if uploads:
            try:
                self.store.delete(uploads)
            except StorageError:
                self.sim.counts["orphans"] += len(uploads)

    def left_open(self, uploads: list[str]) -> None:
        """Nobody knows what became of the commit: what it names is left alone."""
        self.sim.counts["left alone"] += len(uploads)


class Exactly(Writer):
    """Writes numbered batches. It notes the number outside, sometimes too late: then it writes the same batch again."""

    kinds = ("append",)

    def __init__(self, sim: Simulation, name: str, app_id: str | None = None, **more: int) -> None:
        super().__init__(sim, name, **more)
        self._app_id = app_id or f"app{name}"
        self._batch = 0

    def plan(self, snapshot: Snapshot, kind: str, live: list[str]) -> tuple[Change, dict[str, object]] | None:
        return Change(adds=self.new_adds(1), txn=TxnAction(self._app_id, self._batch)), {}

    def write(self, began: Began, snapshot: Snapshot, kind: str) -> str:
        outcome = super().write(began, snapshot, kind)
        if outcome in ("acked", "skipped"):
            if self.rng.random() < 0.6:
                self._batch += 1
            else:
                self._boot()  # it died before it could note it: the next process knows nothing
        return outcome


class Checkpointer(Actor):
    """Sums the log up, sometimes from a snapshot that is not the newest any more."""

    def __init__(self, sim: Simulation, name: str, hold: float = 0.15, **more: int) -> None:
        super().__init__(sim, name, **more)
        self._hold = hold

    def operate(self) -> None:
        began = self.oracle.began()
        snapshot = self.snapshot if self.snapshot is not None and self.rng.random() < self._hold else self.look(began)
        if snapshot is None or snapshot.version == 0:
            return
        compact = self.rng.random() < 0.3
        old = self.is_old(snapshot)
        done = self.attempt(
            began,
            lambda: checkpoint(self.log, snapshot, compact=compact),
            *([ObjectNotFound, VersionNotFound] if old else []),
        )
        if done is not None and done.written:
            self.sim.counts["checkpoints"] += 1
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
        report = self.attempt(began, lambda: clean_up(self.log, snapshot))
        if report is not None:
            self.sim.counts["cleanups"] += 1
            self.sim.counts["log objects deleted"] += len(report.deleted)
            why = f", {report.stopped}" if report.stopped else ""
            self.sim.scheduler.note(f"cleaned up: floor {report.floor}, {len(report.deleted)} deleted{why}", self.name)
        collected = self.attempt(began, lambda: collect_manifests(self.log, snapshot))
        if collected is not None:
            self.sim.counts["log objects deleted"] += len(collected.deleted)


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
            lambda: commit(self.log, snapshot, Change(), operation="TRUNCATE", time_travel_floor=True),
            CommitError,
        )
        if done is None:
            return
        self.oracle.was_acked(self.name, done.snapshot, done.txn_id)
        if self.attempt(began, lambda: checkpoint(self.log, done.snapshot, compact=True)):
            self.attempt(began, lambda: clean_up(self.log, done.snapshot))


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
            found = self.attempt(began, lambda: refresh(self.log, held))
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
        found = self.attempt(began, lambda: open_at(self.log, **wanted), VersionNotFound)
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
        changes = self.attempt(began, lambda: read_changes(self.log, snapshot, since), ChangesGone)
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
            made = make_table(self.log)
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
                make_table(self.log)
            except (StorageError, CommitOutcomeUnknown, TableExists, TableNotFound, LogReadTimeout):
                pass
            if not self.oracle.dropping:
                self.sim.scheduler.note(f"created another table after {began_commits} commits", self.name)
                return


def make_table(log: TableLog) -> Snapshot:
    """Version 0, as every table of the simulation has it."""
    return create_log(
        log,
        schema_string=SCHEMA,
        partition_columns=("part",),
        configuration={"spark.indextables.safetyAge.hours": str(SAFETY_HOURS)},
    )
