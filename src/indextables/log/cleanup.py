"""Clean-up: deleting version files and checkpoints that nothing needs any more.

What may go is decided by what others could still be doing, never by hope:

    0 ············· floor ··················· newest
      may go          │ stays: time travel inside the retention starts here

The **floor** is the newest usable checkpoint that is at least an hour old and at or below the version that was in force when
the retention began, so that every version inside the retention can still be reached. Below it, version files go once they
are older than the safety age; version 0 (the table's identity), the newest version and the newest checkpoint's version
never go. Other checkpoints are thinned only above the floor that half a safety age more would give, and only a safety age
after their successor was written: a reader that found one has that long to finish.

All ages are by the store's clock: a probe object tells what time it is there. Version 0 is looked at before each delete
call, and a plan older than ten minutes is made again: somebody may have dropped the table and created another in its place.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from indextables.core import options as opt
from indextables.core.errors import LogError, LogReadTimeout, ObjectNotFound, StorageError
from indextables.core.metrics import METRICS
from indextables.log.json_checkpoint import NotThisTable, load_checkpoint
from indextables.log.listing import Listing, list_states, list_versions
from indextables.log.log_paths import LOG_DIR, PROBE, checkpoint_key, version_key
from indextables.log.reachability import has_all_manifests, read_whole
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.read import decode_state
from indextables.log.table_log import TableLog
from indextables.storage.local import sweep
from indextables.storage.store import ObjectMeta

logger = logging.getLogger("indextables")

_SETTLED_MS = 3_600_000
"""Milliseconds that a checkpoint must have existed before what lies below it may go: an hour."""
_PLAN_SECONDS = 600.0
"""Seconds after which a plan to delete is too old to be carried out."""
_ROUNDS = 3
"""Times that a clean-up or a collection is planned, at most: an object that vanishes meanwhile makes a plan void."""
_BATCH = 1000
"""Objects of a delete call: S3 takes at most 1,000."""


@dataclass
class CleanupReport:
    """What a clean-up deleted, or would delete (`dry_run`), and what it could not."""

    dry_run: bool
    floor: int | None = None
    deleted: list[str] = field(default_factory=list)
    failed: dict[str, StorageError] = field(default_factory=dict)
    stopped: str | None = None
    """Why it ended early: the table was replaced, or there is nothing that may go."""
    unfinished: bool = False
    """True if objects that may go were left, because the table was replaced or the log changed all the time."""


@METRICS.measured("cleanup", objects_deleted=lambda report: 0 if report.dry_run else len(report.deleted))
def clean_up(at: LogAtVersion, *, dry_run: bool | None = None, retention_ms: int | None = None) -> CleanupReport:
    """Delete what the rules allow. `dry_run` overrules `cleanup.dryRun`, `retention_ms` overrules `logRetention.duration`."""
    preview = is_preview(at.log, dry_run)

    def plan_once(patient: bool) -> Plan:
        return make_plan(at, patient=patient, retention_ms=retention_ms, preview=preview)

    return plan_and_delete(at, plan_once, dry_run=preview)


def is_preview(log: TableLog, dry_run: bool | None) -> bool:
    """Whether nothing may be deleted: what the caller says, else the option `cleanup.dryRun`."""
    return log.options[opt.CLEANUP_DRY_RUN] if dry_run is None else dry_run


def plan_and_delete(at: LogAtVersion, plan_once: Callable[[bool], Plan], *, dry_run: bool) -> CleanupReport:
    """Plan and delete, and plan again while listed objects vanish or the plan grows too old, a few times.

    `plan_once(patient)` raises ObjectNotFound where something vanished; `patient` is False when it is asked for the last time.
    """
    log = at.log
    report = CleanupReport(dry_run)
    for rounds_left in reversed(range(_ROUNDS)):
        planned = log.clock.boot()
        try:
            plan = plan_once(rounds_left > 0)
        except ObjectNotFound as gone:
            logger.info("table %s: planning what to delete again: %s", log.url, gone)
            continue
        report.floor = plan.floor
        report.stopped = plan.stopped
        if dry_run:
            report.deleted = plan.keys
            return report
        if plan.swept_before_ms is not None:
            sweep(log.store, LOG_DIR, plan.swept_before_ms)
        if carry_out(at, plan, planned, report):
            return report
    report.stopped = "the log changed, or deleting took too long, three times over; the rest is left for the next run"
    report.unfinished = True
    return report


@dataclass(frozen=True)
class Plan:
    """What may go, in the order in which it goes."""

    keys: list[str]
    floor: int | None = None
    stopped: str | None = None
    swept_before_ms: int | None = None
    """Temporary files that killed writers left behind go, where they are older than this."""


def make_plan(
    at: LogAtVersion, *, patient: bool = False, retention_ms: int | None = None, preview: bool = False
) -> Plan:
    """List the log and decide what may go. Without `retention_ms`, the retention is the options'.

    With `patient` it raises ObjectNotFound when something vanishes meanwhile: plan again. Otherwise what is gone is gone.
    """
    log, snapshot = at.log, at.snapshot
    now = store_time(log, preview=preview)
    listing = list_versions(log.store, 0)
    listing.states = list_states(log.store, 0)
    zero = log.head(version_key(0))
    if (zero.etag if zero else None) != snapshot.anchor:
        return Plan([], stopped="version 0 is not the one that was opened: the table was replaced")
    if snapshot.state_committed:
        return Plan([], stopped="another implementation commits states to this table, and cleans it up itself")
    if not listing.versions or not listing.bases:
        return Plan([], stopped="there is no state that could replace version files")
    if retention_ms is None:
        retention_ms = opt.log_retention_ms(log.options)
    floor = _floor(at, listing, now, retention_ms, patient=patient)
    if floor is None:
        return Plan([], stopped="no usable state is old enough to replace version files")
    safety_ms = int(snapshot.safety_age_seconds * 1000)
    keys = _versions_to_go(listing, floor, now, safety_ms)
    keys += _states_to_go(at, listing, floor, now, retention_ms, safety_ms)
    return Plan(keys, floor, swept_before_ms=now - safety_ms)


def store_time(log: TableLog, *, preview: bool = False) -> int:
    """What time it is at the store.

    A preview deletes nothing: where it may not write a probe, the time of this machine is good enough for it.
    """
    try:
        log.store.put(PROBE, b"clean-up asks what time it is here\n")
    except StorageError as refused:
        if not preview:
            raise
        logger.info("table %s: previewed by the time of this machine: %s", log.url, refused)
        return log.clock.wall_ms()
    return log.store.head(PROBE).last_modified_ms


def _floor(at: LogAtVersion, listing: Listing, now: int, retention_ms: int, *, patient: bool) -> int | None:
    in_force = _in_force(listing, now - retention_ms)
    highest = max(in_force if in_force is not None else -1, at.snapshot.floor)
    for version, metas in sorted(listing.bases.items(), reverse=True):
        settled = [meta.key for meta in metas if now - meta.last_modified_ms >= _SETTLED_MS]
        if version <= highest and any(_usable(at, version, key, patient=patient) for key in settled):
            return version
    return None


def _in_force(listing: Listing, moment_ms: int) -> int | None:
    """The newest version that was there at a moment, by the store's clock, with all that are listed below it.

    A late version of a dropped table can lie above the newest one, with an earlier time than those that reach it.
    """
    found = None
    for number in sorted(listing.versions):
        if listing.versions[number].last_modified_ms > moment_ms:
            break
        found = number
    return found


def _usable(at: LogAtVersion, version: int, key: str, *, patient: bool) -> bool:
    """Whether a state can be read, is this table's, and has all its manifests."""
    log, table_id = at.log, at.snapshot.table_id
    try:
        found = log.store.get(key)
        if key == checkpoint_key(version):
            load_checkpoint(log, version, found, table_id)
            return True
        state = decode_state(f"{log.url}/{key}", found.data, version)
    except LogReadTimeout:
        raise  # a slow store says nothing about the state
    except (NotThisTable, LogError, ObjectNotFound) as error:
        if patient and isinstance(error, ObjectNotFound):
            raise
        logger.warning("table %s: state %d is no floor for clean-up: %s", log.url, version, error)
        return False
    if state.metadata is not None and state.metadata.id != table_id:
        return False
    return has_all_manifests(log, state)


def _is_whole(at: LogAtVersion, version: int, meta: ObjectMeta) -> bool:
    """Whether a state is usable, and its manifests can be read, too."""
    if not _usable(at, version, meta.key, patient=False):
        return False
    try:
        if meta.key != checkpoint_key(version):
            read_whole(at.log, version, meta)
    except LogReadTimeout:
        raise
    except (LogError, ObjectNotFound) as error:
        logger.warning("table %s: state %d is not kept: %s", at.log.url, version, error)
        return False
    return True


def _versions_to_go(listing: Listing, floor: int, now: int, safety_ms: int) -> list[str]:
    protected = {0, listing.newest_version, max(listing.bases)}
    return [
        version_key(number)
        for number, meta in sorted(listing.versions.items())
        if number < floor and number not in protected and now - meta.last_modified_ms >= safety_ms
    ]


def _states_to_go(
    at: LogAtVersion, listing: Listing, floor: int, now: int, retention_ms: int, safety_ms: int
) -> list[str]:
    """A checkpoint goes before its parts, so that one that is there is whole; then parts that belong to none.

    The newest few stay (`state.retention.versions`), but not those that cannot be used: they are of no use to any reader, and
    a purge deletes no split while one of them is there.
    """
    log, bases = at.log, listing.bases
    versions = sorted(bases)
    moment = now - retention_ms + safety_ms // 2
    margin = max((number for number, meta in listing.versions.items() if meta.last_modified_ms <= moment), default=None)
    thin_above = max((number for number in versions if margin is None or number <= margin), default=floor)
    kept = log.options[opt.STATE_RETENTION_VERSIONS]
    keep_ms = max(safety_ms, opt.state_retention_ms(log.options))
    keys: list[str] = []
    for index, number in enumerate(versions[:-1]):
        if number == floor or (floor < number <= thin_above):
            continue
        succeeded = min(meta.last_modified_ms for meta in bases[versions[index + 1]])
        is_among_newest = index >= len(versions) - 1 - kept
        if now - succeeded < keep_ms:
            continue
        if not is_among_newest or not any(_is_whole(at, number, meta) for meta in bases[number]):
            keys += [meta.key for meta in bases[number]]
            keys += _old_keys(listing.parts.get(number, ()), now, safety_ms)
    for number, parts in listing.parts.items():
        if number not in listing.checkpoints and number < versions[-1]:
            keys += _old_keys(parts, now, safety_ms)
    return keys


def _old_keys(metas: Iterable[ObjectMeta], now: int, safety_ms: int) -> list[str]:
    return [meta.key for meta in metas if now - meta.last_modified_ms >= safety_ms]


def carry_out(at: LogAtVersion, plan: Plan, planned: float, report: CleanupReport) -> bool:
    """Delete in batches. False when the plan grew too old on the way."""
    log = at.log
    strict = log.options[opt.CLEANUP_FAILURE_POLICY] == "fail"
    todo = [key for key in plan.keys if key not in report.failed]
    for start in range(0, len(todo), _BATCH):
        batch = todo[start : start + _BATCH]
        if log.clock.boot() - planned > _PLAN_SECONDS:
            return False
        zero = log.head(version_key(0))
        if (zero.etag if zero else None) != at.snapshot.anchor:
            report.stopped = "version 0 changed: the table was replaced"
            report.unfinished = True
            return True
        failed = log.store.delete(batch)
        report.deleted += [key for key in batch if key not in failed]
        report.failed.update(failed)
        for key, error in failed.items():
            logger.warning("table %s: clean-up could not delete %s: %s", log.url, key, error)
        if failed and strict:
            raise next(iter(failed.values()))
    return True
