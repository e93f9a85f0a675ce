"""What follows a commit: a checkpoint now and then, and clean-up after it. Best effort: a failure never fails the commit."""

from __future__ import annotations

import logging

from indextables.core import options as opt
from indextables.log.cleanup import clean_up
from indextables.log.state.checkpoint import checkpoint
from indextables.log.state.collect import collect_manifests
from indextables.table.handle import TableHandle

logger = logging.getLogger("indextables")


def after_commit(handle: TableHandle) -> TableHandle:
    """Write a state every `checkpoint.interval` versions. Returns the handle to go on with."""
    return _checkpointed(handle, compact=False) if handle.is_state_due else handle


def after_merge(handle: TableHandle) -> TableHandle:
    """Write a compacted state, if `state.compaction.afterMerge` says so: a merge leaves many removed files behind."""
    if not handle.options[opt.STATE_COMPACTION_AFTER_MERGE] or not handle.options[opt.CHECKPOINT_ENABLED]:
        return handle
    return _checkpointed(handle, compact=True)


def _checkpointed(handle: TableHandle, *, compact: bool) -> TableHandle:
    try:
        done = checkpoint(handle, compact=compact)
        after = handle.moved(done.snapshot)
        if done.written and handle.options[opt.CLEANUP_ENABLED]:
            clean_up(after)
            collect_manifests(after)
    except Exception as error:  # noqa: BLE001 - the commit has happened, and must be reported as such
        logger.warning("table %s: version %d is there, but what follows failed: %r", handle.url, handle.version, error)
        return handle
    return after
