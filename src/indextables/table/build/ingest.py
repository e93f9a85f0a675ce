"""What append and overwrite have in common: rows become splits in the store, and the splits a commit.

    rows_in ──▶ build_splits ──▶ Uploads ──▶ AddAction ──▶ commit

Until the commit began, whatever ends the write takes its uploads back, an interrupt included. Afterwards only an error that
says for certain that nothing was committed does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from indextables.log.actions import TxnAction
from indextables.log.commit import Committed
from indextables.log.conflicts import Change, Replace
from indextables.table.build.directories import Directories
from indextables.table.build.split_builder import build_splits
from indextables.table.build.uploads import Uploads, commit_uploads
from indextables.table.handle import TableHandle
from indextables.table.progress import Watcher


def ingest(
    handle: TableHandle,
    batches: Iterable[pa.RecordBatch],
    *,
    parameters: dict[str, Any],
    replaced: Replace | None = None,
    computed_from_all: bool = False,
    txn: TxnAction | None = None,
    progress: Watcher | None = None,
) -> Committed:
    """Write batches of the table's schema and commit them. Without rows and without `replaced` nothing is committed.

    With `computed_from_all` the rows were computed from all rows at the handle's version: a change of any is a conflict.
    With `txn` the rows are a batch of an exactly-once writer: a batch that is in the table already is not written again.
    """
    handle.require_writable("writing")
    uploads = Uploads(handle.log)
    was_removed = handle.is_local and not Path(handle.url).exists()
    made = Directories(handle.log) if was_removed else None
    change = Change(replace=replaced, computed_from_all=computed_from_all, txn=txn)
    try:
        return _written(handle, batches, uploads, change, parameters, progress)
    except BaseException:
        if made is not None:  # the table was removed from the disk, and the uploads made its directory again
            made.remove(uploads.names)
        raise


def _written(
    handle: TableHandle,
    batches: Iterable[pa.RecordBatch],
    uploads: Uploads,
    change: Change,
    parameters: dict[str, Any],
    progress: Watcher | None,
) -> Committed:
    try:
        adds = build_splits(handle.write_plan, batches, uploads, progress)
    except BaseException:
        uploads.discard()
        raise
    if not adds and change.replace is None:
        return Committed(handle.snapshot, "", written=False, reason="the data has no rows", metrics={})
    done = commit_uploads(handle, replace(change, adds=tuple(adds)), uploads, operation="WRITE", parameters=parameters)
    uploads.discard(keep=[add.path for add in adds] if done.written else ())
    return done
