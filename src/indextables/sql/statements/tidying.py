"""Statements that keep a table fast and small: MERGE SPLITS, PURGE, CHECKPOINT, COMPACT, TRUNCATE TIME TRAVEL, OPTIMIZE."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any, Final

import pyarrow as pa

from indextables.log.json_checkpoint import has_parts
from indextables.sql.answer import FLAG, NUMBER, TEXT, WHOLE, Done, Executor, Setting, columns
from indextables.sql.commands import Checkpoint, Compact, MergeSplits, Optimize, Purge, TruncateTimeTravel
from indextables.table.at_version import handle_of
from indextables.table.maintain.optimize import STEPS_SCHEMA

_SOURCES_PER_MERGE: Final = 1000
"""Splits that become one split, at most, where the statement says nothing: the default of `Table.merge_splits`."""

MERGE: Final = columns(
    table_path=TEXT,
    status=TEXT,
    sources=WHOLE,
    results=WHOLE,
    rows=WHOLE,
    bytes_before=WHOLE,
    bytes_after=WHOLE,
    skipped=WHOLE,
    version=WHOLE,
    duration_ms=WHOLE,
    message=TEXT,
)
PURGE: Final = columns(
    table_path=TEXT,
    status=TEXT,
    orphaned_files_found=WHOLE,
    orphaned_files_deleted=WHOLE,
    size_mb_deleted=NUMBER,
    retention_hours=NUMBER,
    transaction_logs_found=WHOLE,
    transaction_logs_deleted=WHOLE,
    states_deleted=WHOLE,
    manifests_deleted=WHOLE,
    temporary_files_deleted=WHOLE,
    dry_run=FLAG,
    duration_ms=WHOLE,
    message=TEXT,
)
CHECKPOINT: Final = columns(
    table_path=TEXT,
    status=TEXT,
    checkpoint_version=WHOLE,
    num_actions=WHOLE,
    num_files=WHOLE,
    protocol_version=WHOLE,
    is_multi_part=FLAG,
)
TRUNCATE: Final = columns(
    table_path=TEXT,
    status=TEXT,
    checkpoint_version=WHOLE,
    versions_deleted=WHOLE,
    checkpoints_deleted=WHOLE,
    files_preserved=WHOLE,
    message=TEXT,
)


def merge_splits(command: MergeSplits, at: Setting) -> list[dict[str, Any]]:
    """Few large splits in place of many small ones. PRECOMMIT changes nothing: every merge is whole before it is committed."""
    table = at.tables(command.table)
    began = time.monotonic()
    done = table.merge_splits(
        command.target_size,
        where=command.where,
        max_dest_splits=command.max_dest_splits,
        max_source_splits_per_merge=command.max_source_splits_per_merge or _SOURCES_PER_MERGE,
        progress=at.progress,
    )
    return [
        {
            "table_path": table.url,
            "status": done.status,
            "sources": done.sources,
            "results": done.results,
            "rows": done.rows,
            "bytes_before": done.bytes_before,
            "bytes_after": done.bytes_after,
            "skipped": len(done.skipped),
            "version": done.version,
            "duration_ms": int((time.monotonic() - began) * 1000),
            "message": done.message,
        }
    ]


def purge(command: Purge, at: Setting) -> Done:
    """Delete files that no version needs any more."""
    table = at.tables(command.table)
    done = table.purge(
        older_than=_hours(command.older_than_hours),
        log_retention=_hours(command.log_retention_hours),
        dry_run=command.dry_run,
        progress=at.progress,
    )
    return Done([{"table_path": table.url, **{name: getattr(done, name) for name in PURGE.names[1:]}}], done)


def _hours(given: float | str | None) -> timedelta | str | None:
    return timedelta(hours=given) if isinstance(given, int | float) else given


def checkpoint(command: Checkpoint | Compact, at: Setting) -> list[dict[str, Any]]:
    """A compact state of the newest version."""
    table = at.tables(command.table)
    done = table.checkpoint()
    files = table.files().num_rows
    snapshot = done.snapshot
    beside = 2 + len(snapshot.transactions) + len(snapshot.skips)  # the protocol and the metadata
    return [
        {
            "table_path": table.url,
            "status": "success" if done.written else "partial" if done.kind == "none" else "no_action",
            "checkpoint_version": done.version,
            "num_actions": files + beside,
            "num_files": files,
            "protocol_version": snapshot.protocol.min_reader_version,
            "is_multi_part": done.format == "json" and has_parts(handle_of(table).log, done.version),
        }
    ]


def truncate_time_travel(command: TruncateTimeTravel, at: Setting) -> list[dict[str, Any]]:
    """Give up all older versions."""
    table = at.tables(command.table)
    done = table.truncate_time_travel(dry_run=command.dry_run)
    return [{"table_path": table.url, **{name: getattr(done, name) for name in TRUNCATE.names[1:]}}]


def optimize(command: Optimize, at: Setting) -> pa.Table:
    """The maintenance that a table needs now, a row for each step."""
    table = at.tables(command.table)
    return table.optimize(dry_run=command.dry_run, progress=at.progress, prewarm=command.prewarm).table()


EXECUTORS: Final[dict[type, Executor]] = {
    MergeSplits: Executor(MERGE, merge_splits, changes=True),
    Purge: Executor(PURGE, purge, changes=True),
    Checkpoint: Executor(CHECKPOINT, checkpoint, changes=True),
    Compact: Executor(CHECKPOINT, checkpoint, changes=True),
    TruncateTimeTravel: Executor(TRUNCATE, truncate_time_travel, changes=True),
    Optimize: Executor(STEPS_SCHEMA, optimize, changes=True),
}
