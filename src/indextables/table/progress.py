"""How far a verb that moves rows has come, for whoever wants to watch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from indextables.core.errors import OptionError


@dataclass(frozen=True)
class Progress:
    """What is done so far."""

    rows_read: int = 0
    """Rows taken from the data."""
    rows_indexed: int = 0
    """Rows that were put into the index of a split that is being built, or was. 0 where rows are not indexed again."""
    rows_written: int = 0
    """Rows in splits that are in the store."""
    splits: int = 0
    bytes: int = 0
    """The bytes of those splits."""
    rows_total: int | None = None
    """How many rows there are to do, where that is known."""


Watcher = Callable[[Progress], None]
"""Called now and then, one call at a time, perhaps from other threads than the caller's. What it raises ends the verb."""


class Teller:
    """Adds up what is done, and tells the watcher if there is one. Safe to use from many threads."""

    def __init__(self, watcher: Watcher | None, rows_total: int | None = None) -> None:
        if watcher is not None and not callable(watcher):
            raise OptionError(f"progress is called with what is done so far, {watcher!r} cannot be")
        self._watcher = watcher
        self._progress = Progress(rows_total=rows_total)
        self._lock = threading.Lock()

    def tell(
        self, *, rows_read: int = 0, rows_indexed: int = 0, rows_written: int = 0, splits: int = 0, size: int = 0
    ) -> None:
        """Some more is done; or nothing yet, and the watcher may end it."""
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
            )
            self._watcher(self._progress)
