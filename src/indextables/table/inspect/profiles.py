"""The profiler of this process, and how often its caches could answer."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from indextables.core.profiler import PROFILER
from indextables.core.runtime.process_state import ProcessLocal
from indextables.log.log_cache import PROCESS_CACHE
from indextables.log.state.manifest_cache import ANSWERS, MANIFESTS
from indextables.split.cache.cache_location import opened_caches
from indextables.split.open_splits import OPEN
from indextables.split.rows.block_cache import BLOCKS
from indextables.table.inspect.this_process import answer, hit_rate

SWITCHED: Final = pa.schema([("status", pa.string()), ("host_count", pa.int64()), ("message", pa.string())])
"""Columns of the answers to enabling, disabling and resetting."""
SECTIONS: Final = pa.schema(
    [
        ("section", pa.string()),
        ("category", pa.string()),
        ("calls", pa.int64()),
        ("total_ms", pa.float64()),
        ("avg_us", pa.float64()),
        ("min_us", pa.float64()),
        ("max_us", pa.float64()),
    ]
)
"""Columns of `describe_profiler`."""
CACHES: Final = pa.schema(
    [("cache", pa.string()), ("hits", pa.int64()), ("misses", pa.int64()), ("hit_rate", pa.float64())]
)
"""Columns of `describe_profiler_cache`."""
_Asked = dict[str, tuple[int, int]]
_BEFORE: Final[ProcessLocal[_Asked]] = ProcessLocal(dict)
"""Hits and misses of each cache when they were last reset. A forked child counts from 0, and so has none."""


def enable_profiler() -> pa.Table:
    """Begin to time the sections of questions in this process."""
    return _switched(PROFILER.enable(), "the profiler times sections now", "the profiler was enabled already")


def disable_profiler() -> pa.Table:
    """End it. What was timed can still be described."""
    return _switched(
        PROFILER.disable(), "the profiler is disabled, and keeps what it timed", "the profiler was not enabled"
    )


def reset_profiler() -> pa.Table:
    """Forget what was timed; the profiler stays enabled or disabled."""
    gone = PROFILER.reset()
    return _switched(gone > 0, f"{gone} sections were forgotten", "there were no sections to forget")


def describe_profiler() -> pa.Table:
    """Sections that were timed, those that took most time first. Sections overlap: an index may be opened inside of a query."""
    rows = [
        (
            section.name,
            section.category,
            section.calls,
            section.total_ns / 1e6,
            section.total_ns / section.calls / 1e3,
            section.least_ns / 1e3,
            section.most_ns / 1e3,
        )
        for section in PROFILER.sections()
    ]
    return answer(SECTIONS, rows)


def describe_profiler_cache() -> pa.Table:
    """How often each cache of this process could answer, since the process began or since the last reset.

    Caches count whether the profiler is enabled or not.
    """
    before = _BEFORE.value
    rows = []
    for name, (hits, misses) in sorted(_asked().items()):
        hits_before, misses_before = before.get(name, (0, 0))
        found, missed = max(0, hits - hits_before), max(0, misses - misses_before)
        rows.append((name, found, missed, hit_rate(found, missed)))
    return answer(CACHES, rows)


def reset_profiler_cache() -> pa.Table:
    """Count the questions to caches from 0 on. What the caches hold stays."""
    now = _asked()
    counted = sum(map(sum, now.values())) - sum(map(sum, _BEFORE.value.values()))
    _BEFORE.value = now
    return _switched(counted > 0, f"{len(now)} caches count from 0 on", "no cache had been asked")


def _asked() -> _Asked:
    """Hits and misses of every cache since the process began."""
    logs = {f"log {kind}s": (stats.hits, stats.misses) for kind, stats in PROCESS_CACHE.stats().items()}
    disk = [cache.counts() for cache in opened_caches()]
    on_disk = (sum(counts.hits for counts in disk), sum(counts.misses for counts in disk))
    rows = {"blocks of rows": BLOCKS.value.asked, "chosen files": ANSWERS.asked, "manifests": MANIFESTS.asked}
    return {**logs, **rows, **OPEN.value.asked, "disk cache": on_disk}


def _switched(done: bool, message: str, otherwise: str) -> pa.Table:
    return answer(SWITCHED, [("success" if done else "no_action", 1, message if done else otherwise)])


__all__ = [
    "describe_profiler",
    "describe_profiler_cache",
    "disable_profiler",
    "enable_profiler",
    "reset_profiler",
    "reset_profiler_cache",
]
