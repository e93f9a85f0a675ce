"""Figures of this process as Arrow tables: caches, requests, skipped files, jobs, times, and what the process runs on.

Each function is a statement of the format: `describe_disk_cache()` is `DESCRIBE INDEXTABLES DISK CACHE`. Importing this module
loads what reads tables; `indextables.metrics` does not.
"""

from indextables.core.runtime.jobs import Job
from indextables.table.inspect.data_skipping import (
    describe_data_skipping,
    flush_data_skipping,
    invalidate_data_skipping_cache,
)
from indextables.table.inspect.disk_and_memory import (
    describe_disk_cache,
    flush_disk_cache,
    flush_searcher_cache,
    invalidate_log_cache,
)
from indextables.table.inspect.environment import describe_environment
from indextables.table.inspect.profiles import (
    describe_profiler,
    describe_profiler_cache,
    disable_profiler,
    enable_profiler,
    reset_profiler,
    reset_profiler_cache,
)
from indextables.table.inspect.running_jobs import (
    describe_merge_jobs,
    describe_prewarm_jobs,
    prewarm_answer,
    wait_for_prewarm,
)
from indextables.table.inspect.storage_requests import describe_storage_stats

__all__ = [
    "Job",
    "describe_data_skipping",
    "describe_disk_cache",
    "describe_environment",
    "describe_merge_jobs",
    "describe_prewarm_jobs",
    "describe_profiler",
    "describe_profiler_cache",
    "describe_storage_stats",
    "disable_profiler",
    "enable_profiler",
    "flush_data_skipping",
    "flush_disk_cache",
    "flush_searcher_cache",
    "invalidate_data_skipping_cache",
    "invalidate_log_cache",
    "prewarm_answer",
    "reset_profiler",
    "reset_profiler_cache",
    "wait_for_prewarm",
]
