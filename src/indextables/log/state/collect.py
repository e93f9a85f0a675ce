"""Collecting manifests that no state names any more.

Manifests are listed first and states read after that: a state that is written meanwhile names manifests that were listed
or are too young to go. A state that cannot be read might name any of them, so then nothing is deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Container

from indextables.core import options as opt
from indextables.core.errors import LogError
from indextables.log.cleanup import CleanupReport, Plan, is_preview, plan_and_delete, store_time
from indextables.log.log_paths import LOG_DIR, STATES_PREFIX, parse_state_key, version_key
from indextables.log.reachability import StateObject, reachable_manifests
from indextables.log.snapshot import HOUR_MS, LogAtVersion
from indextables.log.table_log import TableLog
from indextables.storage.store import ObjectMeta

logger = logging.getLogger("indextables")

_MANIFESTS_PREFIX = f"{LOG_DIR}/manifests/"


def collect_manifests(at: LogAtVersion, *, dry_run: bool | None = None, without: Container[str] = ()) -> CleanupReport:
    """Delete the manifests that may go. `dry_run` overrules `cleanup.dryRun`. States in `without` count as gone already."""
    preview = is_preview(at.log, dry_run)
    return plan_and_delete(at, lambda _patient: _plan(at, without, preview=preview), dry_run=preview)


def _plan(at: LogAtVersion, without: Container[str], *, preview: bool) -> Plan:
    log, snapshot = at.log, at.snapshot
    now = store_time(log, preview=preview)
    manifests, states = _list(log)
    states = [(version, meta) for version, meta in states if meta.key not in without]
    zero = log.head(version_key(0))
    if (zero.etag if zero else None) != snapshot.anchor:
        return Plan([], stopped="version 0 is not the one that was opened: the table was replaced")
    if snapshot.state_committed:
        return Plan(
            [], stopped="another implementation commits states to this table, and collects its manifests itself"
        )
    try:
        reachable = reachable_manifests(log, states)
    except LogError as error:
        return Plan([], stopped=f"a state cannot be read, and might name any manifest: {error}")
    young = int(max(snapshot.safety_age_seconds * 1000, log.options[opt.STATE_GC_MIN_MANIFEST_AGE_HOURS] * HOUR_MS))
    gone = [m.key for m in manifests if m.key not in reachable and now - m.last_modified_ms >= young]
    return Plan(gone)


def _list(log: TableLog) -> tuple[list[ObjectMeta], list[StateObject]]:
    """Manifests, wherever they lie, and then states."""
    manifests = [meta for meta in log.store.list(_MANIFESTS_PREFIX) if meta.key.endswith(".avro")]
    states: list[StateObject] = []
    for meta in log.store.list(STATES_PREFIX):
        version = parse_state_key(meta.key)
        if version is not None:
            states.append((version, meta))
        elif meta.key.endswith(".avro"):
            manifests.append(meta)
    return manifests, states
