"""A process of the simulation: its clock, its store, its memory, and how it takes errors.

An actor is ordinary code over the real functions. It reports to the oracle what it was told, never what is true. When it dies
a new process takes its place: it has nothing but its name, its store and what it had noted outside.
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from typing import TypeVar

from indextables.core.errors import (
    CorruptLog,
    IndexTablesError,
    LogReadTimeout,
    ObjectNotFound,
    StorageError,
    TableNotFound,
    TableReplaced,
    VersionNotFound,
)
from indextables.core.options import Options
from indextables.core.runtime.threads import Inline
from indextables.log.log_cache import LogCache
from indextables.log.open_snapshot import open_log
from indextables.log.refresh import open_current, refresh
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.snapshot_files import read_files
from indextables.log.table_log import TableLog
from indextables.storage.retrying import Retrying
from indextables.storage.store import Store
from sim.oracle import Began
from sim.simulation import Simulation
from sim.weather import SAFETY_HOURS
from sim.world import HOUR, SimClock, SimStore, SimWorkers, Violation

T = TypeVar("T")

NOT_KEPT = (VersionNotFound, CorruptLog, TableReplaced)
"""What a version that is not kept any more may answer; which ones are kept, and can be read, the oracle checks itself."""


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
        after: str | None = None,
    ) -> None:
        self.sim = sim
        self.oracle = sim.oracle
        self.name = name
        self.left = operations if sim.cut.operations is None else min(operations, sim.cut.operations)
        self.rng = random.Random(f"actor/{sim.seed}/{name}")
        self._skew = skew
        self._alone = alone
        """Whether it finishes its operations though all writers have come to their end."""
        self._after = after
        """Whom it waits for before it begins."""
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
        if self._after is not None:
            self.task.idle(lambda: self.sim.has_ended(self._after))
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
        except (ObjectNotFound, VersionNotFound) as error:
            if not self.task.slept:  # what it stood on may be gone when it wakes up
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
            found = self.attempt(began, lambda: refresh(LogAtVersion(self.log, held)))
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
        found = self.attempt(began, lambda: read_files(LogAtVersion(self.log, snapshot), None), *NOT_KEPT)
        if found is None:
            return None
        if found[0].table_id != snapshot.table_id or found[0].version != snapshot.version:
            raise Violation(
                "wrong-table", f"{self.name} asked for files of {snapshot.table_id} and got those of another"
            )
        return found[1].column("path").to_pylist()
