"""The actors that go back in time, and the one that gives it up: `Table.restore` and `Table.truncate_time_travel`."""

from __future__ import annotations

import traceback

from indextables.core.errors import (
    CommitError,
    CommitOutcomeUnknown,
    LogReadTimeout,
    ObjectNotFound,
    StorageError,
    VersionNotFound,
)
from indextables.log.snapshot import Snapshot
from indextables.table.handle import TableHandle
from indextables.table.maintain.truncate import truncate_time_travel
from indextables.table.write.restore import restore
from sim.oracle import Began
from sim.process import Actor
from sim.world import Violation


class Restorer(Actor):
    """Makes an older version the newest one, as it finds it or on what it read a while ago."""

    leads = True

    def operate(self) -> None:
        began = self.oracle.began()
        held = self.snapshot if self.snapshot is not None and self.rng.random() < 0.3 else self.look(began)
        if held is None or held.version == 0:
            return
        target = self.rng.randint(max(held.floor, held.version - 5), held.version)
        first = len(self.clock.issued)
        try:
            result = restore(TableHandle(self.log, held), target, None)
        except CommitOutcomeUnknown as error:
            self._told(f"is told: {error}")
            self.sim.counts["unknown"] += 1
        except CommitError as error:
            self._told(f"is told: {type(error).__name__}: {error}")
            self.oracle.has_failed(self.name, self.clock.issued[first:], error)
            self.sim.counts["restores refused"] += 1
        except (VersionNotFound, ObjectNotFound) as error:
            self._told(f"is told: {error}")
            self._judge(began, held, target, error)
            self.sim.counts["restores too late"] += 1
        except (StorageError, LogReadTimeout) as error:
            self._told(f"is told: {error}")
            self.oracle.has_failed(self.name, self.clock.issued[first:], error)
        except Exception as error:
            raise Violation("crashed", f"{self.name}: {''.join(traceback.format_exception(error))}") from error
        else:
            self.sim.counts["restores"] += result.restored.status == "success"
            self._told(f"is told: {result.restored.message}")
            self.snapshot = result.handle.snapshot
            return
        self.snapshot = None

    def _judge(self, began: Began, held: Snapshot, target: int, error: Exception) -> None:
        """A version within the retention that nobody truncated is there."""
        truth = self.oracle.truth
        if truth is None or self.task.slept or not self.oracle.undisturbed(began) or target < truth.floor:
            return
        if self.oracle.promises(target):
            raise Violation("broken", f"{self.name}: version {target}, planned on {held.version}: {error}")

    def _told(self, what: str) -> None:
        self.sim.scheduler.note(what, self.name)


class TimeTruncator(Actor):
    """Gives time travel up by the verb of a table, in a dry run first now and then."""

    cautious = True

    def operate(self) -> None:
        began = self.oracle.began()
        held = self.look(began)
        if held is None:
            return
        handle = TableHandle(self.log, held)
        if self.rng.random() < 0.3:
            self.attempt(began, lambda: truncate_time_travel(handle, dry_run=True))
        done = self.attempt(began, lambda: truncate_time_travel(handle), CommitError)
        if done is None:
            return
        self.sim.counts["truncations"] += done.truncated.status in ("success", "partial")
        self.sim.scheduler.note(f"is told: {done.truncated.message}", self.name)
        self.snapshot = done.handle.snapshot
        if self.oracle.undisturbed(began):
            self.oracle.was_read(self.name, began, done.handle.snapshot, None, newest=False)
