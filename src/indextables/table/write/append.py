"""`Table.append`: more rows."""

from __future__ import annotations

from typing import Any

from indextables.log.commit import Committed
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.table.build.incoming_rows import rows_in
from indextables.table.build.ingest import ingest
from indextables.table.progress import Watcher


def append(log: TableLog, snapshot: Snapshot, data: Any, progress: Watcher | None = None) -> Committed:
    """Write the rows of `data` and commit them. Without rows nothing is written."""
    return ingest(log, snapshot, rows_in(data, snapshot.schema), parameters={"mode": "Append"}, progress=progress)
