"""Statements about damaged tables: REPAIR and FSCK."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from indextables.sql.answer import TEXT, WHOLE, Executor, Setting, columns
from indextables.sql.commands import Fsck, RepairLog
from indextables.table import Table

REPAIR: Final = columns(
    source_path=TEXT,
    target_path=TEXT,
    source_version=WHOLE,
    total_splits=WHOLE,
    valid_splits=WHOLE,
    missing_splits=WHOLE,
    status=TEXT,
)
FSCK: Final = columns(severity=TEXT, kind=TEXT, path=TEXT, message=TEXT)


def repair_log(command: RepairLog, at: Setting) -> list[dict[str, Any]]:
    """Write a new log from what is left of a damaged one."""
    done = Table.repair(command.source, command.target, options=at.options)
    return [{name: getattr(done, name) for name in REPAIR.names}]


def fsck(command: Fsck, at: Setting) -> pa.Table:
    """What is wrong with a table."""
    return at.tables(command.table).fsck(repair=command.repair, progress=at.progress)


EXECUTORS: Final[dict[type, Executor]] = {
    RepairLog: Executor(REPAIR, repair_log, changes=True),
    Fsck: Executor(FSCK, fsck, changes=True),
}
