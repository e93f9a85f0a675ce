"""Progress of a verb that moves rows: the totals so far, and the callback that gets them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from indextables.core.errors import OptionError


@dataclass(frozen=True)
class Progress:
    """Totals of one verb so far."""

    rows_read: int = 0
    """Rows taken from the data."""
    rows_indexed: int = 0
    """Rows that are in the index of a split, finished or not. 0 where rows are not indexed again."""
    rows_written: int = 0
    """Rows in splits that are in the store."""
    splits: int = 0
    bytes: int = 0
    """Bytes of the splits that are in the store."""
    rows_total: int | None = None
    """Rows that the verb has to do; None where nobody knows."""
    looked_at: int = 0
    """Objects that were looked at to find out what there is to do: those of a listing and of the log, footers of splits."""
    splits_total: int | None = None
    """Splits that the verb has to do; None where nobody knows, or where rows are counted."""


Watcher = Callable[[Progress], None]
"""A callback. The verb calls it now and then, one call at a time, from any thread. An exception from it ends the verb."""


class ProgressCounter:
    """Adds up the totals of one verb, and calls the watcher if there is one. Safe to use from many threads."""

    def __init__(self, watcher: Watcher | None, rows_total: int | None = None) -> None:
        if watcher is not None and not callable(watcher):
            raise OptionError(f"progress is called with what is done so far, {watcher!r} cannot be")
        self._watcher = watcher
        self._progress = Progress(rows_total=rows_total)
        self._lock = threading.Lock()

    def plan(self, splits_total: int) -> None:
        """Say how many splits there are to do, where that was not known when the verb began."""
        if self._watcher is None:
            return
        with self._lock:
            self._progress = replace(self._progress, splits_total=splits_total)
            self._watcher(self._progress)

    def look(self, count: int) -> None:
        """Add to the objects that were looked at, and call the watcher."""
        self.add(looked_at=count)

    def add(
        self,
        *,
        rows_read: int = 0,
        rows_indexed: int = 0,
        rows_written: int = 0,
        splits: int = 0,
        size: int = 0,
        looked_at: int = 0,
    ) -> None:
        """Add to the totals and call the watcher; an exception from the watcher ends the verb."""
        if self._watcher is None:
            return
        with self._lock:
            now = self._progress
            self._progress = replace(
                now,
                rows_read=now.rows_read + rows_read,
                rows_indexed=now.rows_indexed + rows_indexed,
                rows_written=now.rows_written + rows_written,
                splits=now.splits + splits,
                bytes=now.bytes + size,
                looked_at=now.looked_at + looked_at,
            )
            self._watcher(self._progress)
