"""How far a verb that moves rows has come, for whoever wants to watch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """What is done so far."""

    rows_read: int = 0
    """Rows taken from the data."""
    rows_written: int = 0
    """Rows in splits that are in the store."""
    splits: int = 0
    bytes: int = 0
    """The bytes of those splits."""


Watcher = Callable[[Progress], None]
"""Called now and then, one call at a time, perhaps from other threads than the caller's. What it raises ends the verb."""
