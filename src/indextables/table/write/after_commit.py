"""What follows a commit: a checkpoint now and then, and clean-up after it. Best effort: a failure never fails the commit."""

from __future__ import annotations

import logging

from indextables.core import options as opt
from indextables.log.cleanup import clean_up
from indextables.log.snapshot import Snapshot
from indextables.log.state.checkpoint import checkpoint
from indextables.log.state.collect import collect_manifests
from indextables.log.table_log import TableLog

logger = logging.getLogger("indextables")


def after_commit(log: TableLog, snapshot: Snapshot) -> Snapshot:
    """Write a state every `checkpoint.interval` versions. Returns the snapshot to go on with."""
    due = snapshot.version > 0 and snapshot.version % log.options[opt.CHECKPOINT_INTERVAL] == 0
    if not due or not log.options[opt.CHECKPOINT_ENABLED]:
        return snapshot
    return _checkpointed(log, snapshot, compact=False)


def after_merge(log: TableLog, snapshot: Snapshot) -> Snapshot:
    """Write a compacted state, if `state.compaction.afterMerge` says so: a merge leaves many removed files behind."""
    if not log.options[opt.STATE_COMPACTION_AFTER_MERGE] or not log.options[opt.CHECKPOINT_ENABLED]:
        return snapshot
    return _checkpointed(log, snapshot, compact=True)


def _checkpointed(log: TableLog, snapshot: Snapshot, *, compact: bool) -> Snapshot:
    try:
        done = checkpoint(log, snapshot, compact=compact)
        if done.written and log.options[opt.CLEANUP_ENABLED]:
            clean_up(log, done.snapshot)
            collect_manifests(log, done.snapshot)
    except Exception as error:  # noqa: BLE001 - the commit has happened, and must be reported as such
        logger.warning("table %s: version %d is there, but what follows failed: %r", log.url, snapshot.version, error)
        return snapshot
    return done.snapshot
