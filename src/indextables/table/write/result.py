"""`Commit`: the answer of every verb that writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from indextables.log.commit import Committed


@dataclass(frozen=True)
class Commit:
    """A commit that succeeded, or that had nothing to write (`written` is False, and `reason` says why)."""

    version: int
    """The version that the commit became; where nothing was written, the version that the verb looked at."""
    txn_id: str
    metrics: dict[str, int] = field(default_factory=dict)
    written: bool = True
    reason: str = ""


def _figure(name: str) -> Callable[[Commit], float]:
    return lambda done: done.metrics.get(name, 0)


WRITTEN: Final[dict[str, Callable[[Any], float]]] = {
    "rows": _figure("numAddedRecords"),
    "bytes": _figure("numAddedBytes"),
    "files_added": _figure("numAddedFiles"),
    "files_removed": _figure("numRemovedFiles"),
}
"""The figures of a `Commit` that the metrics of a write show, by their names there."""


def as_commit(committed: Committed) -> Commit:
    """The caller's answer for what the log committed."""
    return Commit(
        committed.snapshot.version, committed.txn_id, committed.metrics or {}, committed.written, committed.reason
    )
