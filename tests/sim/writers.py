"""The actors that the schedules are about: those who commit."""

from __future__ import annotations

import traceback

from indextables.core.errors import (
    CommitError,
    CommitOutcomeUnknown,
    FilesChanged,
    IndexTablesError,
    LogReadTimeout,
    MetadataChanged,
    ObjectNotFound,
    StorageError,
    TableNotFound,
    TableReplaced,
)
from indextables.core.predicate import parse_predicate
from indextables.log.actions import AddAction, TxnAction
from indextables.log.commit import commit
from indextables.log.conflicts import Change, MetadataUpdate, Replace, Rewrite
from indextables.log.snapshot import LogAtVersion, Snapshot
from sim.oracle import Began
from sim.process import Actor
from sim.simulation import PARTS, Simulation
from sim.world import Violation


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
        uploads = [add.path for add in change.new_files]
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
                change = Change(rewrites=(Rewrite(sources, result, data_change=False),))
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
                LogAtVersion(self.log, snapshot),
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
                since = truth.entries[snapshot.version :]  # a restore brings back what another commit removed
                if all(path in entry.live for entry in since for path in change.removes):
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
