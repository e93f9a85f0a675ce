"""`Table.append`: more rows."""

from __future__ import annotations

from typing import Any

from indextables.log.actions import TxnAction
from indextables.log.commit import Committed
from indextables.table.build.incoming_rows import rows_in
from indextables.table.build.ingest import ingest
from indextables.table.handle import TableHandle
from indextables.table.open_table import at_read_version
from indextables.table.progress import Watcher


def append(handle: TableHandle, data: Any, progress: Watcher | None = None, if_version: int | None = None) -> Committed:
    """Write the rows of `data` and commit them. Without rows nothing is written.

    With `if_version` the table must have the rows of that version when the commit is made, or FilesChanged is raised.
    """
    if if_version is not None:
        handle = at_read_version(handle, if_version)
    return ingest(
        handle,
        rows_in(data, handle.schema),
        parameters={"mode": "Append"},
        computed_from_all=if_version is not None,
        progress=progress,
    )


def append_once(handle: TableHandle, data: Any, txn: TxnAction, progress: Watcher | None = None) -> Committed:
    """Write the rows of `data` as a batch of an exactly-once writer, unless the batch is in the table already."""
    return ingest(handle, rows_in(data, handle.schema), parameters={"mode": "Append"}, txn=txn, progress=progress)
