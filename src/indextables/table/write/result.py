"""`Commit`: the answer of every verb that writes."""

from __future__ import annotations

from dataclasses import dataclass, field

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


def as_commit(committed: Committed) -> Commit:
    """The caller's answer for what the log committed."""
    return Commit(
        committed.snapshot.version, committed.txn_id, committed.metrics or {}, committed.written, committed.reason
    )
