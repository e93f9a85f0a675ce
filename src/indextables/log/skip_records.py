"""Skip records: files that an operation could not handle, left alone for a while so that it does not fail on them each time.

A skipped file stays live and readable; only the operation passes it over until `retryAfter`. Each new record of a path
counts one more. The count is taken at the version that the record lands in, so two writers that skip the same file count 1
and 2, not 1 and 1.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of
from indextables.log.actions import SkipAction
from indextables.log.commit import Committed, commit
from indextables.log.conflicts import Change
from indextables.log.snapshot import HOUR_MS, LogAtVersion, Snapshot

COOLDOWN_HOURS = 24.0
"""Hours for which a file is left alone after a merge could not read it."""


def record_skips(
    at: LogAtVersion,
    paths: Iterable[str],
    *,
    reason: str,
    operation: str = "merge",
    cooldown_hours: float = COOLDOWN_HOURS,
) -> Committed:
    """Commit a skip record for each path."""
    now_ms = at.log.clock.wall_ms()
    skips = tuple(skip_record(path, reason, now_ms, operation, cooldown_hours) for path in dict.fromkeys(paths))
    return commit(at, Change(skips=skips), operation="SKIP", parameters={"operation": operation})


def skip_record(
    path: str, reason: str, now_ms: int, operation: str = "merge", cooldown_hours: float = COOLDOWN_HOURS
) -> SkipAction:
    """A record that keeps a file out of an operation for a while."""
    return SkipAction(
        path=path,
        skip_timestamp=now_ms,
        reason=reason,
        operation=operation,
        retry_after=now_ms + int(cooldown_hours * HOUR_MS),
    )


def in_cooldown(snapshot: Snapshot, now_ms: int, operation: str | None = None) -> dict[str, int]:
    """Paths to be left alone now, each with the time from which it may be tried again."""
    until: dict[str, int] = {}
    for skip in snapshot.skips:
        wanted = operation is None or skip.operation == operation
        if wanted and skip.retry_after is not None and skip.retry_after > now_ms:
            until[skip.path] = max(skip.retry_after, until.get(skip.path, 0))
    return until


def without_cooldown(files: pa.Table, snapshot: Snapshot, now_ms: int, operation: str | None = None) -> pa.Table:
    """The files that an operation may try now."""
    resting = in_cooldown(snapshot, now_ms, operation)
    if not resting:
        return files
    return files.filter(pc.invert(pc.is_in(files.column("path"), value_set=array_of(list(resting), pa.string()))))
