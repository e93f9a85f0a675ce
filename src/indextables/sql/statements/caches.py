"""Statements about what this process keeps of tables: caches described, emptied and filled, and the jobs that fill them."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from indextables.sql.answer import Done, Executor, Setting
from indextables.sql.commands import (
    DescribeDiskCache,
    DescribeMergeJobs,
    DescribePrewarmJobs,
    FlushDiskCache,
    FlushSearcherCache,
    InvalidateLogCache,
    Prewarm,
    WaitForPrewarm,
)
from indextables.sql.table_ref import TablePath
from indextables.table.inspect.disk_and_memory import (
    DISK_CACHE,
    FLUSHED,
    INVALIDATED,
    describe_disk_cache,
    flush_disk_cache,
    flush_searcher_cache,
    invalidate_log_cache,
)
from indextables.table.inspect.running_jobs import (
    MERGE_JOBS,
    PREWARM_JOBS,
    PREWARMED,
    WAITED,
    describe_merge_jobs,
    describe_prewarm_jobs,
    prewarm_answer,
    wait_for_prewarm,
)


def prewarm(command: Prewarm, at: Setting) -> Done:
    """Bring parts of splits to local disk, now or beside the caller."""
    segments, fields = command.segments or None, command.fields or None
    done = at.tables(command.table).prewarm(
        command.where,
        segments=segments,
        fields=fields,
        parallelism=command.parallelism,
        wait=not command.in_background,
        progress=at.progress,
    )
    return Done(prewarm_answer(done, command.segments, fields), done)


def wait(command: WaitForPrewarm, at: Setting) -> pa.Table:
    """Wait until prewarming in the background has ended."""
    table = None if command.table is None else at.tables(command.table)
    return wait_for_prewarm(table, command.job, command.timeout)


def invalidate(command: InvalidateLogCache, at: Setting) -> pa.Table:
    """Forget log objects of one table, or of all. A path need not hold a table that can be opened."""
    if command.table is None:
        return invalidate_log_cache()
    if isinstance(command.table, TablePath):
        return invalidate_log_cache(command.table.url)
    return invalidate_log_cache(at.tables(command.table).url)


EXECUTORS: Final[dict[type, Executor]] = {
    DescribeDiskCache: Executor(DISK_CACHE, lambda _command, at: describe_disk_cache(at.options or None)),
    DescribeMergeJobs: Executor(MERGE_JOBS, lambda _command, _at: describe_merge_jobs()),
    DescribePrewarmJobs: Executor(PREWARM_JOBS, lambda _command, _at: describe_prewarm_jobs()),
    FlushDiskCache: Executor(FLUSHED, lambda _command, at: flush_disk_cache(at.options or None)),
    FlushSearcherCache: Executor(FLUSHED, lambda _command, _at: flush_searcher_cache()),
    InvalidateLogCache: Executor(INVALIDATED, invalidate),
    Prewarm: Executor(PREWARMED, prewarm, moves=True),
    WaitForPrewarm: Executor(WAITED, wait),
}
