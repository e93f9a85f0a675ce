"""Writers of rows: the real verbs of a table, with their uploads, and the stage that they need."""

from __future__ import annotations

import traceback
from dataclasses import replace

import pyarrow as pa

from indextables.core.errors import (
    CommitError,
    CommitOutcomeUnknown,
    IndexTablesError,
    LogReadTimeout,
    MetadataChanged,
    ObjectNotFound,
    StorageError,
    TableReplaced,
)
from indextables.core.types import arrow_to_spark_json
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import Snapshot
from indextables.table.handle import TableHandle
from indextables.table.table import Table
from sim.oracle import Began
from sim.process import Actor
from sim.rows_truth import Kind, Operation, RowsTruth
from sim.simulation import PARTS, Simulation
from sim.weather import Cut, Weather
from sim.world import Violation
from tables import handle_of

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("part", pa.string())])


def data_of(operation: Operation) -> pa.Table:
    return pa.table({"id": list(operation.rows), "part": list(operation.rows.values())}, schema=SCHEMA)


class RowsSimulation(Simulation):
    """A table with rows. States are written by those who commit; clean-up is left to others."""

    schema_string = arrow_to_spark_json(SCHEMA)

    def __init__(self, seed: int, cut: Cut, weather: Weather, **options: object) -> None:
        more = {"cache.disk.enabled": False, "cleanup.enabled": False, "storage.retry.maxAttempts": 3, **options}
        super().__init__(seed, cut, weather, **more)
        self.rows = RowsTruth(self.world, self.oracle, self.scheduler)
        self._appends = 0
        self._damaged = False

    def stage(self, appends: int, *, damaged: bool = False) -> None:
        """A table with some small splits in each partition, of which one may be damaged. It is there when the run begins."""
        self._appends, self._damaged = appends, damaged

    def run(self) -> None:
        self._set_the_stage()
        super().run()
        self.rows.finish()
        self.counts["orphans"] += self.rows.orphans()

    def _set_the_stage(self) -> None:
        self.create()
        table = Table(TableHandle(self.direct, open_log(self.direct)))
        for _ in range(self._appends):
            self.pass_time(30.0)
            operation = self.rows.begin("setup", "append", PARTS)
            self.rows.was_acked(operation, table.append(data_of(operation)).version)
            operation.outcome = "acked"
        if self._damaged:
            self._damage_a_split()

    def _damage_a_split(self) -> None:
        """Bytes rot: the file is there, and cannot be merged."""
        assert self.oracle.truth is not None
        path = self.rng.choice(sorted(self.oracle.truth.newest.live))
        stored = self.world.objects[path]
        stored.data = b"?" + stored.data[1:]
        self.rows.damaged.add(path)


class RowWriter(Actor):
    """Appends, overwrites, replaces partitions and merges splits, as a user of `Table` does."""

    leads = True
    kinds: tuple[Kind, ...] = ("append", "append", "append", "overwrite", "replace", "merge")
    sim: RowsSimulation

    def __init__(
        self, sim: Simulation, name: str, kinds: tuple[Kind, ...] | None = None, hold: float = 0.5, **more: int
    ) -> None:
        super().__init__(sim, name, **more)
        self.kinds = kinds or self.kinds
        self._hold = hold
        """How often it goes on with the snapshot it has, however old."""

    def operate(self) -> None:
        began = self.oracle.began()
        snapshot = self.snapshot if self.snapshot is not None and self.rng.random() < self._hold else self.look(began)
        if snapshot is None:
            return
        self.snapshot = None
        table = Table(TableHandle(self.log, snapshot))
        operation = self._plan(self.rng.choice(self.kinds))
        first = len(self.clock.issued)
        try:
            self._act(began, table, operation, first)
        except CommitOutcomeUnknown as error:
            self._told(operation, "unknown", str(error))
        except IndexTablesError as error:
            self._told(operation, "failed", f"{type(error).__name__}: {error}")
            self.oracle.has_failed(self.name, self.clock.issued[max(first, self.clock.settled) :], error)
            self._judge(began, snapshot, error)
        except Exception as error:
            raise Violation("crashed", f"{self.name}: {''.join(traceback.format_exception(error))}") from error
        else:
            self.snapshot = handle_of(table).snapshot

    def _plan(self, kind: Kind) -> Operation:
        rng, rows = self.rng, self.sim.rows
        parts = [rng.choice(PARTS) for _ in range(rng.randint(1, 3))]
        match kind:
            case "append":
                operation = rows.begin(self.name, kind, parts)
            case "overwrite":
                operation = rows.begin(self.name, kind, parts, "*")
            case "replace":
                part = parts[0]
                operation = rows.begin(self.name, kind, [part] * rng.randint(0, 2), part)
            case "merge":
                operation = rows.begin(self.name, kind)
        self.sim.scheduler.note(f"begins {operation}: {operation.rows or ''}", self.name)
        return operation

    def _act(self, began: Began, table: Table, operation: Operation, first: int) -> None:
        if operation.kind == "merge":
            where = f"part = '{self.rng.choice(PARTS)}'" if self.rng.random() < 0.2 else None
            merged = table.merge_splits(where=where, max_source_splits_per_merge=self.rng.choice((2, 3, 1000)))
            if self.oracle.undisturbed(began):
                self.sim.rows.was_merged(operation, merged, self.clock.issued[first:])
            self.sim.counts["splits merged"] += merged.sources
            self.sim.counts["overtaken"] += merged.overtaken
            self._told(operation, "acked" if merged.written else "skipped", str(merged))
            return
        data = data_of(operation)
        if operation.kind == "append":
            done = table.append(data)
        else:
            where = None if operation.scope == "*" else f"part = '{operation.scope}'"
            done = table.overwrite(data, where=where, if_changed="replace")
        self.oracle.was_acked(self.name, replace(handle_of(table).snapshot, version=done.version), done.txn_id)
        if self.oracle.undisturbed(began):
            self.sim.rows.was_acked(operation, done.version)
        self._told(operation, "acked", f"version {done.version} is written")

    def _told(self, operation: Operation, outcome: str, what: str) -> None:
        operation.outcome = outcome  # type: ignore[assignment]
        self.sim.counts[outcome] += 1
        self.sim.scheduler.note(f"is told: {what}", self.name)

    def _judge(self, began: Began, snapshot: Snapshot, error: IndexTablesError) -> None:
        """Whether the error is one that can have happened."""
        truth = self.oracle.truth
        if truth is None or truth.table_id != snapshot.table_id or not self.oracle.undisturbed(began):
            return
        match error:
            case ObjectNotFound():
                if not self.task.slept:
                    self.oracle.gave_up(self.name, began, error)
            case MetadataChanged():
                raise Violation("false-conflict", f"{self.name}: {error}")
            case TableReplaced():
                self.oracle.gave_up(self.name, began, error)
            case CommitError() | StorageError() | LogReadTimeout():
                pass
            case _:
                self.oracle.gave_up(self.name, began, error)
