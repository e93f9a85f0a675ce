"""Statements about figures of this process: requests to stores, skipped files, times, and what the process runs on."""

from __future__ import annotations

from typing import Final

from indextables.sql.answer import Executor
from indextables.sql.commands import (
    DescribeDataSkipping,
    DescribeEnvironment,
    DescribeProfiler,
    DescribeProfilerCache,
    DescribeStorageStats,
    DisableProfiler,
    EnableProfiler,
    FlushDataSkipping,
    InvalidateDataSkipping,
    ResetProfiler,
    ResetProfilerCache,
)
from indextables.table.inspect.data_skipping import (
    DATA_SKIPPING,
    describe_data_skipping,
    flush_data_skipping,
    invalidate_data_skipping_cache,
)
from indextables.table.inspect.environment import ENVIRONMENT, describe_environment
from indextables.table.inspect.profiles import (
    CACHES,
    SECTIONS,
    SWITCHED,
    describe_profiler,
    describe_profiler_cache,
    disable_profiler,
    enable_profiler,
    reset_profiler,
    reset_profiler_cache,
)
from indextables.table.inspect.storage_requests import STORAGE_STATS, describe_storage_stats

EXECUTORS: Final[dict[type, Executor]] = {
    DescribeStorageStats: Executor(STORAGE_STATS, lambda _command, _at: describe_storage_stats()),
    DescribeDataSkipping: Executor(DATA_SKIPPING, lambda _command, _at: describe_data_skipping()),
    FlushDataSkipping: Executor(DATA_SKIPPING, lambda _command, _at: flush_data_skipping()),
    InvalidateDataSkipping: Executor(DATA_SKIPPING, lambda _command, _at: invalidate_data_skipping_cache()),
    DescribeEnvironment: Executor(ENVIRONMENT, lambda _command, at: describe_environment(at.options)),
    DescribeProfiler: Executor(SECTIONS, lambda _command, _at: describe_profiler()),
    DescribeProfilerCache: Executor(CACHES, lambda _command, _at: describe_profiler_cache()),
    EnableProfiler: Executor(SWITCHED, lambda _command, _at: enable_profiler()),
    DisableProfiler: Executor(SWITCHED, lambda _command, _at: disable_profiler()),
    ResetProfiler: Executor(SWITCHED, lambda _command, _at: reset_profiler()),
    ResetProfilerCache: Executor(SWITCHED, lambda _command, _at: reset_profiler_cache()),
}
