"""What follows a commit: a checkpoint now and then, and clean-up after it. Best effort: a failure never fails the commit."""

from __future__ import annotations

import logging

from indextables.core import options as opt
from indextables.core.errors import IndexTablesError
from indextables.log.checkpoint import write_checkpoint
from indextables.log.cleanup import clean_up
from indextables.log.snapshot import Snapshot
from indextables.log.tablelog import TableLog

logger = logging.getLogger("indextables")


def after_commit(log: TableLog, snapshot: Snapshot) -> None:
    """Write a JSON checkpoint every `checkpoint.interval` versions where `state.format=json` asks for it."""
    due = snapshot.version > 0 and snapshot.version % log.options[opt.CHECKPOINT_INTERVAL] == 0
    if not due or not log.options[opt.CHECKPOINT_ENABLED] or log.options[opt.STATE_FORMAT] != "json":
        return
    try:
        if write_checkpoint(log, snapshot) and log.options[opt.CLEANUP_ENABLED]:
            clean_up(log, snapshot)
    except IndexTablesError as error:
        logger.warning(
            "table %s: version %d is committed, but what follows failed: %s", log.url, snapshot.version, error
        )
