"""What this process keeps of tables: index files on disk, open indexes and rows, and logs that it has read.

Flushing is safe while other threads and processes read. An entry of the disk cache that is on lease stays, an index that is open
goes on working, and whoever holds a row or a snapshot keeps it: only the next question has to fetch again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from indextables.core.options import Options
from indextables.log.log_cache import PROCESS_CACHE
from indextables.log.state.manifest_cache import forget_manifests
from indextables.split.cache.cache_location import open_cache, opened_caches
from indextables.split.cache.index_cache import IndexCache
from indextables.split.open_splits import flush_open_splits
from indextables.table.inspect.this_process import DRIVER, answer, hit_rate, host, percent
from indextables.table.open_log import full_url
from indextables.table.read.split_readers import forget_readers

DISK_CACHE: Final = pa.schema(
    [
        ("executor_id", pa.string()),
        ("host", pa.string()),
        ("enabled", pa.bool_()),
        ("total_bytes", pa.int64()),
        ("max_bytes", pa.int64()),
        ("usage_percent", pa.float64()),
        ("splits_cached", pa.int64()),
        ("components_cached", pa.int64()),
    ]
)
"""Columns of `describe_disk_cache`."""
FLUSHED: Final = pa.schema(
    [
        ("cache_type", pa.string()),
        ("status", pa.string()),
        ("cleared_entries", pa.int64()),
        ("message", pa.string()),
    ]
)
"""Columns of `flush_disk_cache` and `flush_searcher_cache`."""
INVALIDATED: Final = pa.schema(
    [
        ("table_path", pa.string()),
        ("result", pa.string()),
        ("cache_hits_before", pa.int64()),
        ("cache_misses_before", pa.int64()),
        ("hit_rate_before", pa.float64()),
    ]
)
"""Columns of `invalidate_log_cache`."""
ALL_TABLES: Final = "ALL"
"""What stands for a table's URL where all tables are meant."""


def describe_disk_cache(options: Mapping[str, Any] | Options | None = None) -> pa.Table:
    """A row for each disk cache that this process uses: its bytes, its bound, its splits and their files.

    A process that has used none yet describes the one that `options` name. Other processes may have filled the cache.
    """
    rows = []
    for cache in _caches(options):
        found = cache.contents()
        usage = percent(found.bytes, found.max_bytes)
        rows.append((DRIVER, host(), found.enabled, found.bytes, found.max_bytes, usage, found.splits, found.files))
    return answer(DISK_CACHE, rows)


def flush_disk_cache(options: Mapping[str, Any] | Options | None = None) -> pa.Table:
    """Delete the index files on disk that nobody uses now, in the caches that `describe_disk_cache` shows."""
    gone = stayed = 0
    for cache in _caches(options):
        deleted, in_use = cache.flush()
        gone, stayed = gone + deleted, stayed + in_use
    message = f"{gone} splits were deleted from the disk cache"
    if stayed:
        message += f", {stayed} are in use and stay until the next flush"
    status = "partial" if stayed else "success" if gone else "no_action"
    return answer(FLUSHED, [("disk", status, gone, message)])


def flush_searcher_cache() -> pa.Table:
    """Close the indexes, rows and footers that this process holds open, and forget the rows that it keeps in memory."""
    forget_readers()
    gone = flush_open_splits()
    message = f"{gone} open indexes, footers, rows and blocks of rows were let go"
    return answer(FLUSHED, [("searcher", "success" if gone else "no_action", gone, message)])


def invalidate_log_cache(table: str | None = None) -> pa.Table:
    """Forget what this process remembers of a table's log, or of all logs, and count its questions anew.

    `table` is a URL or a path. The answer says how often the cache could answer since it was last invalidated.
    """
    url = None if table is None else full_url(table)
    before = PROCESS_CACHE.invalidate(url)
    entries = before.entries + forget_manifests(url)
    rate = hit_rate(before.hits, before.misses)
    result = "success" if entries else "no_action"
    return answer(INVALIDATED, [(url or ALL_TABLES, result, before.hits, before.misses, rate)])


def _caches(options: Mapping[str, Any] | Options | None) -> list[IndexCache]:
    """The caches that this process has opened; where there are none, or options are given, the one of the options."""
    if options is None and (opened := opened_caches()):
        return opened
    return [open_cache(options if isinstance(options, Options) else Options(options))]


__all__ = ["describe_disk_cache", "flush_disk_cache", "flush_searcher_cache", "invalidate_log_cache"]
