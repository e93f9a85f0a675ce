"""Merges and prewarms of this process, those that run and those that ended last: listed, and waited for."""

from __future__ import annotations

import math
from typing import Any, Final

import pyarrow as pa

from indextables.core.errors import OptionError
from indextables.core.runtime.jobs import JOBS, Job
from indextables.split.cache.cache_results import Prewarmed
from indextables.table.inspect.this_process import DRIVER, answer, host
from indextables.table.open_log import full_url

MERGE_JOBS: Final = pa.schema(
    [
        ("job_id", pa.string()),
        ("table_path", pa.string()),
        ("status", pa.string()),
        ("total_groups", pa.int64()),
        ("completed_groups", pa.int64()),
        ("total_batches", pa.int64()),
        ("completed_batches", pa.int64()),
        ("progress_pct", pa.float64()),
        ("duration_ms", pa.int64()),
        ("error_message", pa.string()),
    ]
)
"""Columns of `describe_merge_jobs`."""
PREWARM_JOBS: Final = pa.schema(
    [
        ("executor_id", pa.string()),
        ("host", pa.string()),
        ("job_id", pa.string()),
        ("table_path", pa.string()),
        ("status", pa.string()),
        ("total_splits", pa.int64()),
        ("completed_splits", pa.int64()),
        ("progress_pct", pa.float64()),
        ("duration_ms", pa.int64()),
        ("error_message", pa.string()),
    ]
)
"""Columns of `describe_prewarm_jobs`."""
WAITED: Final = pa.schema(
    [
        ("executor_id", pa.string()),
        ("host", pa.string()),
        ("job_id", pa.string()),
        ("table_path", pa.string()),
        ("status", pa.string()),
        ("total_splits", pa.int64()),
        ("splits_prewarmed", pa.int64()),
        ("duration_ms", pa.int64()),
        ("error_message", pa.string()),
    ]
)
"""Columns of `wait_for_prewarm`."""
PREWARMED: Final = pa.schema(
    [
        ("host", pa.string()),
        ("splits_prewarmed", pa.int64()),
        ("segments", pa.string()),
        ("fields", pa.string()),
        ("duration_ms", pa.int64()),
        ("status", pa.string()),
        ("skipped_fields", pa.string()),
    ]
)
"""Columns of `prewarm_answer`."""
_ALL_FIELDS: Final = "all"
"""What stands for the columns of a prewarm that named none."""


def describe_merge_jobs(table: str | None = None) -> pa.Table:
    """Merges of this process, newest first: of one table (its URL or path), or of all. Merges after writes are among them."""
    rows = [
        (
            job.job_id,
            job.table,
            job.status,
            job.total,
            job.completed,
            job.total_batches,
            job.completed_batches,
            job.progress_percent,
            job.duration_ms,
            job.error,
        )
        for job in JOBS.value.listed("merge", _url(table))
    ]
    return answer(MERGE_JOBS, rows)


def describe_prewarm_jobs(table: str | None = None) -> pa.Table:
    """Prewarms of this process, newest first: of one table (its URL or path), or of all."""
    machine = host()
    rows = [
        (
            DRIVER,
            machine,
            job.job_id,
            job.table,
            job.status,
            job.total,
            job.completed,
            job.progress_percent,
            job.duration_ms,
            job.error,
        )
        for job in JOBS.value.listed("prewarm", _url(table))
    ]
    return answer(PREWARM_JOBS, rows)


def wait_for_prewarm(table: Any = None, job_id: str | None = None, timeout: float | None = None) -> pa.Table:
    """Wait until the prewarms that run now have ended, of one table or one job if given, for at most `timeout` seconds.

    `table` is a `Table`, a URL or a path. A job that still runs after `timeout` has the status `RUNNING` in the answer, and one
    that failed has `FAILED` and its error. Raises OptionError for a job that this process does not know.
    """
    if timeout is not None and not (isinstance(timeout, int | float) and timeout >= 0 and math.isfinite(timeout)):
        raise OptionError(f"timeout is {timeout!r}, but must be a number of seconds, 0 or more")
    url = _url(getattr(table, "url", table))
    if job_id is not None and not JOBS.value.listed("prewarm", url, job_id):
        raise OptionError(
            f"this process has no prewarm job {job_id!r}: prewarm jobs are listed by describe_prewarm_jobs()"
        )
    machine = host()
    rows = [
        (DRIVER, machine, job.job_id, job.table, job.status, job.total, job.completed, job.duration_ms, job.error)
        for job in JOBS.value.wait("prewarm", url, job_id, timeout)
    ]
    return answer(WAITED, rows)


def prewarm_answer(
    done: Prewarmed | Job, segments: tuple[str, ...] = (), fields: tuple[str, ...] | None = None
) -> pa.Table:
    """What `Table.prewarm` returned as the row of its statement.

    A job that goes on beside the caller has the status `running`; `segments` and `fields` are those that were asked for, which
    a job does not know. What the cache could not hold makes the status `partial`.
    """
    machine = host()
    if isinstance(done, Job):
        begun = (machine, done.completed, ",".join(segments), _names(fields), done.duration_ms, "running", None)
        return answer(PREWARMED, [begun])
    status = "partial" if done.left_out else "success" if done.splits else "no_action"
    skipped = ",".join(done.skipped_fields) or None
    row = (machine, done.splits, ",".join(done.segments), _names(done.fields), done.duration_ms, status, skipped)
    return answer(PREWARMED, [row])


def _names(fields: tuple[str, ...] | None) -> str:
    return _ALL_FIELDS if fields is None else ",".join(fields)


def _url(table: str | None) -> str | None:
    return None if table is None else full_url(table)


__all__ = ["describe_merge_jobs", "describe_prewarm_jobs", "prewarm_answer", "wait_for_prewarm"]
