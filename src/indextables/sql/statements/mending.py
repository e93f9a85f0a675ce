"""Statements about damaged tables: REPAIR and FSCK."""

from __future__ import annotations

import warnings
from typing import Final

import pyarrow as pa

from indextables.core.errors import LogWarning
from indextables.log.check.findings import FINDINGS_SCHEMA
from indextables.sql.answer import TEXT, WHOLE, Done, Executor, Setting, columns
from indextables.sql.commands import Fsck, RepairLog
from indextables.sql.table_ref import TablePath
from indextables.table import Table
from indextables.table.maintain.fsck import check_table

REPAIR: Final = columns(
    source_path=TEXT,
    target_path=TEXT,
    source_version=WHOLE,
    total_splits=WHOLE,
    valid_splits=WHOLE,
    missing_splits=WHOLE,
    status=TEXT,
)


def repair_log(command: RepairLog, at: Setting) -> Done:
    """Write a new log from what is left of a damaged one.

    The answer has no column for what could not be known and how the logs are swapped: that is a warning.
    """
    done = Table.repair(command.source, command.target, options=at.options, progress=at.progress)
    if done.message:
        warnings.warn(done.message, LogWarning, stacklevel=2)
    return Done([{name: getattr(done, name) for name in REPAIR.names}], done)


def fsck(command: Fsck, at: Setting) -> pa.Table:
    """What is wrong with a table. A table that is named by its path need not be one that can be opened."""
    if isinstance(command.table, TablePath):
        return check_table(command.table.url, at.options, repair=command.repair, progress=at.progress)
    return at.tables(command.table).fsck(repair=command.repair, progress=at.progress)


EXECUTORS: Final[dict[type, Executor]] = {
    RepairLog: Executor(REPAIR, repair_log, changes=True),
    Fsck: Executor(FINDINGS_SCHEMA, fsck, changes=True),
}
