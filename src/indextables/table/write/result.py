"""`Commit`: the answer of every verb that writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from indextables.core.metrics import member_of
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


WRITTEN: Final[dict[str, Callable[[Any], float]]] = {
    "rows": member_of("metrics", "numAddedRecords"),
    "bytes": member_of("metrics", "numAddedBytes"),
    "files_added": member_of("metrics", "numAddedFiles"),
    "files_removed": member_of("metrics", "numRemovedFiles"),
}
"""The figures of a `Commit` that the metrics of a write show, by their names there."""


def as_commit(committed: Committed) -> Commit:
    """The caller's answer for what the log committed."""
    return Commit(
        committed.snapshot.version, committed.txn_id, committed.metrics or {}, committed.written, committed.reason
    )
