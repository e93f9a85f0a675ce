"""Purges that follow writes and merges of this process: `purgeOnWrite.enabled`.

    commit ──▶ every `purgeOnWrite.triggerAfterWrites` writes ──┐
    merge  ──▶ `purgeOnWrite.triggerAfterMerge` ────────────────┴─▶ purge, on a thread of its own

The purge runs beside the caller's next writes, and a program that ends waits for the purge. The write has happened by then: a purge
that fails is a warning in the log and never fails the write. One purge runs at a time for each table of a process. Purges of several
processes may run at the same time: each deletes only what no log object names.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import Final

from indextables.core import options as opt
from indextables.core.runtime.process_state import ProcessLocal
from indextables.core.runtime.threads import Inline
from indextables.table.handle import TableHandle
from indextables.table.maintain.purge import purge, purge_ages

logger = logging.getLogger("indextables")


class _Tables:
    """The writes of this process since the last purge of each table, and the tables that a thread is purging now."""

    def __init__(self) -> None:
        self._writes: dict[str, int] = {}
        self._running: set[str] = set()
        self._lock = threading.Lock()

    def count_write(self, url: str, every: int) -> bool:
        """Count a write. True if it is the last of `every` writes."""
        with self._lock:
            writes = self._writes.get(url, 0) + 1
            self._writes[url] = writes % every
            return writes >= every

    def begin(self, url: str) -> bool:
        """True if the caller may purge the table; False if another thread does."""
        with self._lock:
            if url in self._running:
                return False
            self._running.add(url)
            return True

    def end(self, url: str) -> None:
        """The purge of the table has ended."""
        with self._lock:
            self._running.discard(url)


_TABLES: Final[ProcessLocal[_Tables]] = ProcessLocal(_Tables)


def purge_after_write(handle: TableHandle) -> None:
    """Purge the table if enough writes of this process went by. Never raises."""
    every = handle.options[opt.PURGE_ON_WRITE_TRIGGER_AFTER_WRITES]
    if every and _TABLES.value.count_write(handle.url, every):
        _begin(handle)


def purge_after_merge(handle: TableHandle) -> None:
    """Purge the table if the options ask for a purge after merges. Never raises."""
    if handle.options[opt.PURGE_ON_WRITE_ENABLED] and handle.options[opt.PURGE_ON_WRITE_TRIGGER_AFTER_MERGE]:
        _begin(handle)


def _begin(handle: TableHandle) -> None:
    if not _TABLES.value.begin(handle.url):
        return
    # at the end of a program its pools of threads end first, so a purge that outlives the caller must not need one
    alone = TableHandle(replace(handle.log, workers=Inline()), handle.snapshot)
    try:
        threading.Thread(target=_purge, args=(alone,), name="indextables-purge-on-write").start()
    except RuntimeError as error:  # the machine has no threads left
        _TABLES.value.end(handle.url)
        logger.warning("table %s: the purge after version %d did not begin: %s", handle.url, handle.version, error)


def _purge(handle: TableHandle) -> None:
    options = handle.options
    try:
        ages = purge_ages(
            options,
            options[opt.PURGE_ON_WRITE_SPLIT_RETENTION_HOURS],
            options[opt.PURGE_ON_WRITE_TX_LOG_RETENTION_HOURS],
        )
        done = purge(handle, ages)
        if done.status == "partial":
            logger.warning("table %s: the purge after version %d: %s", handle.url, handle.version, done.message)
    except Exception as error:  # noqa: BLE001 - the write has happened, and must be reported as such
        logger.warning("table %s: the purge after version %d failed: %s", handle.url, handle.version, error)
    finally:
        _TABLES.value.end(handle.url)


__all__ = ["purge_after_merge", "purge_after_write"]
