"""Small splits merged after writes of this process: `mergeOnWrite.enabled`.

    append ──▶ every `mergeOnWrite.minSplits` versions ──▶ plan_tiers ──▶ merge, on a thread of its own

Splits of like size are merged, `mergeOnWrite.minSplits` or more at a time, so that a row is written again only as often as its
split can grow tenfold: a thousand appends of a hundred rows write each row three times more, and leave some twenty splits.

The merge runs beside the caller's next appends, and a program that ends waits for the merge. With
`mergeOnWrite.async.enabled=false` the write waits. The write has happened by then: a merge that fails is a warning in the log and
never fails the write. One merge runs at a time for each table of a process; merges of several processes take in only splits that
are still live when they commit.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import Final

from indextables.core import options as opt
from indextables.core.runtime.process_state import ProcessLocal
from indextables.core.runtime.threads import Inline
from indextables.log.skip_records import without_cooldown
from indextables.table.build.job_group import scratch
from indextables.table.handle import TableHandle
from indextables.table.maintain.merge import Merge
from indextables.table.maintain.merge_plan import Group, merge_limits, plan_tiers

logger = logging.getLogger("indextables")


class _Running:
    """The tables that a thread of this process is merging now."""

    def __init__(self) -> None:
        self._urls: set[str] = set()
        self._lock = threading.Lock()

    def begin(self, url: str) -> bool:
        """True if the caller may merge the table; False if another thread does."""
        with self._lock:
            if url in self._urls:
                return False
            self._urls.add(url)
            return True

    def end(self, url: str) -> None:
        """The merge of the table has ended."""
        with self._lock:
            self._urls.discard(url)


_RUNNING: Final[ProcessLocal[_Running]] = ProcessLocal(_Running)


def merge_after_write(before: int, handle: TableHandle, every: int) -> None:
    """Merge small splits if a multiple of `every` versions was passed since version `before`. Never raises."""
    if before // every == handle.version // every:
        return
    if not _RUNNING.value.begin(handle.url):
        return
    if not handle.options[opt.MERGE_ON_WRITE_ASYNC_ENABLED]:
        _merge(handle)
        return
    # at the end of a program its pools of threads end first, so a merge that outlives the caller must not need one
    alone = TableHandle(replace(handle.log, workers=Inline()), handle.snapshot)
    try:
        threading.Thread(target=_merge, args=(alone,), name="indextables-merge-on-write").start()
    except RuntimeError as error:  # the machine has no threads left
        _RUNNING.value.end(handle.url)
        logger.warning("table %s: the merge after version %d did not begin: %s", handle.url, handle.version, error)


def _merge(handle: TableHandle) -> None:
    try:
        after = handle.refreshed()
        groups = groups_of_like_size(after)
        if groups:
            with scratch("merge") as directory:
                done = Merge(after, directory).run(groups).merged
            logger.info("table %s: %d splits became %d after a write", handle.url, done.sources, done.results)
    except Exception as error:  # noqa: BLE001 - the write has happened, and must be reported as such
        logger.warning("table %s: the merge after version %d failed: %s", handle.url, handle.version, error)
    finally:
        _RUNNING.value.end(handle.url)


def groups_of_like_size(handle: TableHandle) -> list[Group]:
    """The groups of splits of like size that should become one: `mergeOnWrite.minSplits` or more of them in each."""
    handle.require_writable("merging")
    files = without_cooldown(handle.files(), handle.snapshot, handle.log.clock.wall_ms(), "merge")
    least = handle.options[opt.MERGE_ON_WRITE_MIN_SPLITS]
    return plan_tiers(files, handle.partition_columns, merge_limits(handle.options), least)


__all__ = ["groups_of_like_size", "merge_after_write"]
