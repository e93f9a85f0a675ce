"""Collecting manifests that no state names any more.

Manifests are listed first and states read after that: a state that is written meanwhile names manifests that were listed
or are too young to go. A state that cannot be read might name any of them, so then nothing is deleted.
"""

from __future__ import annotations

import logging
from functools import partial

from indextables.core import options as opt
from indextables.core.errors import LogError, ObjectNotFound
from indextables.log.cleanup import CleanupReport, Plan, carry_out, store_time
from indextables.log.log_paths import LOG_DIR, STATES_PREFIX, parse_state_key, version_key
from indextables.log.refresh import head_or_none
from indextables.log.snapshot import HOUR_MS, Snapshot
from indextables.log.state.model import manifest_key
from indextables.log.state.read import decode_state
from indextables.log.table_log import TableLog
from indextables.storage.store import ObjectMeta

logger = logging.getLogger("indextables")

_ROUNDS = 3
_MANIFESTS_PREFIX = f"{LOG_DIR}/manifests/"


def collect_manifests(log: TableLog, snapshot: Snapshot, *, dry_run: bool | None = None) -> CleanupReport:
    """Delete the manifests that may go. `dry_run` overrules `cleanup.dryRun`."""
    preview = log.options[opt.CLEANUP_DRY_RUN] if dry_run is None else dry_run
    report = CleanupReport(preview)
    for _ in range(_ROUNDS):
        planned = log.clock.boot()
        try:
            plan = _plan(log, snapshot)
        except ObjectNotFound as gone:
            logger.info("table %s: planning the collection again: %s", log.url, gone)
            continue
        report.stopped = plan.stopped
        if preview:
            report.deleted = plan.keys
            return report
        if carry_out(log, snapshot, plan, planned, report):
            return report
    report.stopped = "the log changed, or deleting took too long, three times over; the rest is left for the next run"
    return report


def _plan(log: TableLog, snapshot: Snapshot) -> Plan:
    now = store_time(log)
    manifests, states = _list(log)
    zero = head_or_none(log, version_key(0))
    if (zero.etag if zero else None) != snapshot.anchor:
        return Plan([], stopped="version 0 is not the one that was opened: the table was replaced")
    if snapshot.state_committed:
        return Plan(
            [], stopped="another implementation commits states to this table, and collects its manifests itself"
        )
    try:
        named = log.side_by_side([partial(_named_by, log, version, meta) for version, meta in states])
    except LogError as error:
        return Plan([], stopped=f"a state cannot be read, and might name any manifest: {error}")
    reachable = set().union(*named)
    young = int(max(snapshot.safety_age_seconds * 1000, log.options[opt.STATE_GC_MIN_MANIFEST_AGE_HOURS] * HOUR_MS))
    gone = [m.key for m in manifests if m.key not in reachable and now - m.last_modified_ms >= young]
    return Plan(gone)


def _list(log: TableLog) -> tuple[list[ObjectMeta], list[tuple[int, ObjectMeta]]]:
    """Manifests, wherever they lie, and then states."""
    manifests = [meta for meta in log.store.list(_MANIFESTS_PREFIX) if meta.key.endswith(".avro")]
    states: list[tuple[int, ObjectMeta]] = []
    for meta in log.store.list(STATES_PREFIX):
        version = parse_state_key(meta.key)
        if version is not None:
            states.append((version, meta))
        elif meta.key.endswith(".avro"):
            manifests.append(meta)
    return manifests, states


def _named_by(log: TableLog, version: int, meta: ObjectMeta) -> set[str]:
    state = decode_state(f"{log.url}/{meta.key}", log.store.get(meta.key).data, version)
    return {manifest_key(item.path, version) for item in state.manifests}
