"""What append and overwrite have in common: rows become splits in the store, and the splits a commit.

    rows_in ──▶ build_splits ──▶ Uploads ──▶ AddAction ──▶ commit

Until the commit began, whatever ends the write takes its uploads back, an interrupt included. Afterwards only an error that
says for certain that nothing was committed does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from indextables.log.commit import Committed
from indextables.log.conflicts import Change, Replace
from indextables.log.protocol import check_writable
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.table.build.split_builder import build_splits, plan_write
from indextables.table.build.uploads import Uploads, commit_uploads
from indextables.table.format_gate import check_bundles
from indextables.table.progress import Watcher


def ingest(
    log: TableLog,
    snapshot: Snapshot,
    batches: Iterable[pa.RecordBatch],
    *,
    parameters: dict[str, Any],
    replaced: Replace | None = None,
    progress: Watcher | None = None,
) -> Committed:
    """Write batches of the table's schema and commit them. Without rows and without `replaced` nothing is committed."""
    check_bundles(snapshot, "writing")
    check_writable(log.url, snapshot.protocol)
    uploads = Uploads(log)
    try:
        adds = build_splits(plan_write(log, snapshot), batches, uploads, progress)
    except BaseException:
        uploads.discard()
        raise
    if not adds and replaced is None:
        return Committed(snapshot, "", written=False, reason="the data has no rows", metrics={})
    change = Change(adds=tuple(adds), replace=replaced)
    done = commit_uploads(log, snapshot, change, uploads, operation="WRITE", parameters=parameters)
    uploads.discard(keep=[add.path for add in adds] if done.written else ())
    return done
