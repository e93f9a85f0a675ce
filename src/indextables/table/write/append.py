"""`Table.append`: more rows."""

from __future__ import annotations

from typing import Any

from indextables.log.commit import Committed
from indextables.table.build.incoming_rows import rows_in
from indextables.table.build.ingest import ingest
from indextables.table.handle import TableHandle
from indextables.table.progress import Watcher


def append(handle: TableHandle, data: Any, progress: Watcher | None = None) -> Committed:
    """Write the rows of `data` and commit them. Without rows nothing is written."""
    return ingest(handle, rows_in(data, handle.schema), parameters={"mode": "Append"}, progress=progress)
