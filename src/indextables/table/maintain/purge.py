"""Purge: what nobody can need any more is deleted.

    orphaned splits              no version, state or checkpoint names them, and they are past their retention
    versions, states,            by the rules of clean-up, with a retention of the caller's choice
    checkpoints, manifests
    temporary files              of writers that were killed, on a local disk

The whole log is read before anything is deleted: a log object that cannot be read might name any split. Splits go last, after
the log was read once more without the versions that went. A dry run does the same without the deletes, and tells what would go.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from indextables.core import options as opt
from indextables.core.errors import OptionError, StorageError
from indextables.core.metrics import METRICS
from indextables.core.options import Options
from indextables.log.cleanup import CleanupReport, clean_up
from indextables.log.log_paths import parse_state_key
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import HOUR_MS, LogAtVersion, check_same_table
from indextables.log.state.collect import collect_manifests
from indextables.table.arguments import hours
from indextables.table.maintain.purging.delete import Deleted, delete_objects
from indextables.table.maintain.purging.orphans import Ages, PurgePlan, named_splits, plan_purge
from indextables.table.progress import ProgressCounter, Watcher

logger = logging.getLogger("indextables")

_BINARY_MEGABYTE: Final = 1 << 20
"""Bytes of a megabyte in `size_mb_deleted`."""
_MEGABYTE: Final = 1_000_000
"""Bytes of a megabyte, as messages count them."""


@dataclass(frozen=True)
class Purged:
    """What a purge deleted, or would delete."""

    status: Literal["success", "no_action", "dry_run", "partial"]
    """`partial`: something that may go is left, and `message` says why."""
    orphaned_files_found: int
    """Splits that no version names and that are past their retention."""
    orphaned_files_deleted: int
    bytes_deleted: int
    """Bytes of the splits and temporary files that were deleted."""
    retention_hours: float
    """The age that a split must have to be deleted: what was asked for, or the table's safety age where that is longer."""
    transaction_logs_found: int
    """Versions and JSON checkpoints with their parts that are past their time."""
    transaction_logs_deleted: int
    states_deleted: int
    manifests_deleted: int
    temporary_files_deleted: int
    dry_run: bool
    duration_ms: int
    message: str
    paths: tuple[str, ...]
    """The keys of all objects that were deleted, or would be."""

    @property
    def size_mb_deleted(self) -> float:
        """`bytes_deleted` in units of 1,048,576 bytes, as the statement has it."""
        return self.bytes_deleted / _BINARY_MEGABYTE


def purge_ages(
    options: Options,
    older_than: float | str | timedelta | None = None,
    log_retention: float | str | timedelta | None = None,
) -> Ages:
    """The retentions that a caller asks for, or those of the options. Raises OptionError where a retention is too short."""
    default = options[opt.PURGE_DEFAULT_RETENTION_HOURS]
    split_hours = default if older_than is None else hours("older_than", older_than)
    _check_retention(options, "older_than", split_hours)
    if log_retention is None:
        return Ages(split_hours, opt.log_retention_ms(options) / HOUR_MS)
    log_hours = hours("log_retention", log_retention)
    _check_retention(options, "log_retention", log_hours)
    return Ages(split_hours, log_hours)


@METRICS.measured(
    "purge", splits_deleted=lambda done: done.orphaned_files_deleted, bytes_deleted=lambda done: done.bytes_deleted
)
def purge(at: LogAtVersion, ages: Ages, *, dry_run: bool = False, progress: Watcher | None = None) -> Purged:
    """Delete what may go, and tell what became of it. See `Table.purge`. Raises TableReplaced.

    The table is opened anew: a snapshot that was only refreshed does not know that an older version is missing.
    """
    counter = ProgressCounter(progress)
    clock = at.log.clock
    began = clock.boot()
    newest = open_log(at.log)
    check_same_table(at.snapshot, newest)
    at = LogAtVersion(at.log, newest)
    work = _Work(at, ages, plan_purge(at, ages, counter, preview=dry_run))
    if not dry_run:
        work.delete(counter)
    purged = work.result(dry_run, round((clock.boot() - began) * 1000))
    logger.info("table %s: purge: %s", at.log.url, purged.message)
    return purged


class _Work:
    """A purge that goes on: its plan, and what was deleted so far."""

    def __init__(self, at: LogAtVersion, ages: Ages, plan: PurgePlan) -> None:
        self._at = at
        self._ages = ages
        self._plan = plan
        self._orphans = plan.orphans
        self._most = at.log.options[opt.PURGE_MAX_FILES_TO_DELETE]
        self._splits = Deleted()
        self._temporaries = Deleted()
        self._cleaned = CleanupReport(dry_run=False)
        self._collected = CleanupReport(dry_run=False)

    def delete(self, counter: ProgressCounter) -> None:
        """Temporary files, the log, and then splits: a version that stays because it cannot be deleted keeps its splits."""
        at, plan = self._at, self._plan
        stale = plan.temporaries
        silent = ProgressCounter(None)
        self._temporaries = delete_objects(at, [each.key for each in stale], [each.size for each in stale], silent)
        if plan.log_keys:
            self._cleaned = clean_up(at, dry_run=False, retention_ms=self._ages.log_ms)
        if plan.log_keys or plan.manifest_keys:
            self._collected = collect_manifests(at, dry_run=False)
        if plan.log_keys:
            self._orphans = plan.splits.without(named_splits(at, counter))
        chosen = self._orphans.first(self._most)
        counter.plan(len(chosen))
        self._splits = delete_objects(at, chosen.keys(), chosen.sizes(), counter)

    def result(self, dry_run: bool, duration_ms: int) -> Purged:
        """What was done, or in a dry run what would be."""
        plan = self._plan
        found = [key for key in plan.log_keys if parse_state_key(key) is None]
        deleted = [key for key in self._cleaned.deleted if parse_state_key(key) is None]
        paths = self._planned_paths() if dry_run else self._deleted_paths()
        left = [] if dry_run else self._left()
        status: Literal["success", "no_action", "dry_run", "partial"] = "success" if paths else "no_action"
        if left:
            status = "partial"
        return Purged(
            status="dry_run" if dry_run else status,
            orphaned_files_found=len(self._orphans),
            orphaned_files_deleted=len(self._splits.keys),
            bytes_deleted=self._splits.bytes + self._temporaries.bytes,
            retention_hours=max(self._ages.split_hours, self._at.snapshot.safety_age_seconds / 3600),
            transaction_logs_found=max(len(found), len(deleted)),
            transaction_logs_deleted=len(deleted),
            states_deleted=len(self._cleaned.deleted) - len(deleted),
            manifests_deleted=len(self._collected.deleted),
            temporary_files_deleted=len(self._temporaries.keys),
            dry_run=dry_run,
            duration_ms=duration_ms,
            message="; ".join([self._summary(dry_run), *left]),
            paths=paths,
        )

    def _planned_paths(self) -> tuple[str, ...]:
        plan = self._plan
        stale = (each.key for each in plan.temporaries)
        return (*stale, *plan.log_keys, *plan.manifest_keys, *plan.orphans.first(self._most).keys())

    def _deleted_paths(self) -> tuple[str, ...]:
        return (*self._temporaries.keys, *self._cleaned.deleted, *self._collected.deleted, *self._splits.keys)

    def _summary(self, dry_run: bool) -> str:
        plan = self._plan
        log_keys: Collection[str] = plan.log_keys if dry_run else self._cleaned.deleted
        states = sum(1 for key in log_keys if parse_state_key(key) is not None)
        orphans = plan.orphans.first(self._most) if dry_run else None
        size = self._splits.bytes if orphans is None else orphans.bytes
        counts = {
            f"orphaned splits ({size / _MEGABYTE:,.1f} MB)": len(self._splits.keys if orphans is None else orphans),
            "versions and checkpoints": len(log_keys) - states,
            "states": states,
            "manifests": len(plan.manifest_keys if dry_run else self._collected.deleted),
            "temporary files": len(plan.temporaries if dry_run else self._temporaries.keys),
        }
        parts = [f"{count:,} {what}" for what, count in counts.items() if count]
        return f"{'would delete' if dry_run else 'deleted'} {', '.join(parts) or 'nothing'}"

    def _left(self) -> list[str]:
        """Why something that may go is still there."""
        reasons = []
        more = len(self._orphans) - self._most
        if more > 0:
            limit = f"{opt.PURGE_MAX_FILES_TO_DELETE.key}={self._most}"
            reasons.append(f"{more:,} more orphaned splits than {limit} are left, purge again")
        failed = {**self._temporaries.failed, **self._cleaned.failed, **self._collected.failed, **self._splits.failed}
        reasons += _failures(failed)
        if self._splits.replaced or self._temporaries.replaced:
            reasons.append("the table was replaced meanwhile, and the rest left alone")
        reasons += [
            report.stopped for report in (self._cleaned, self._collected) if report.unfinished and report.stopped
        ]
        return reasons


def _failures(failed: dict[str, StorageError]) -> Iterable[str]:
    for key, error in failed.items():
        return [f"{len(failed):,} objects could not be deleted, the first is {key}: {error}"]
    return []


def _check_retention(options: Options, name: str, value: float) -> None:
    least = options[opt.PURGE_MIN_RETENTION_HOURS]
    if options[opt.PURGE_RETENTION_CHECK_ENABLED] and value < least:
        raise OptionError(
            f"{name} of a purge is {value:g} hours, less than {opt.PURGE_MIN_RETENTION_HOURS.key}={least:g}: ask for a longer "
            f"one, or set {opt.PURGE_RETENTION_CHECK_ENABLED.key}=false",
            key=opt.PURGE_MIN_RETENTION_HOURS.key,
        )


__all__ = ["Purged", "purge", "purge_ages"]
