"""`Table.state`: what the table was opened from, as `property` and `value` rows."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of
from indextables.log.state.live_files import StateFiles
from indextables.log.state.write import needs_compaction
from indextables.table.handle import TableHandle


def describe_state(handle: TableHandle) -> pa.Table:
    """The newest state that the table's version stands on; for a table without one, what replay says."""
    snapshot = handle.snapshot
    source = snapshot.file_set.base
    if isinstance(source, StateFiles):
        state = source.state
        tombstones = len(state.tombstones)
        rows = {
            "format": "avro-state",
            "version": state.version,
            "numFiles": state.num_files,
            "totalBytes": state.total_bytes,
            "numManifests": len(state.manifests),
            "numTombstones": tombstones,
            "tombstoneRatio": f"{tombstones / max(state.num_files, 1):.2%}",
            "needsCompaction": str(needs_compaction(state, handle.options)).lower(),
            "skippedFiles": len({skip.path for skip in snapshot.skips}),
            "createdAt": _time(state.created_at),
            "protocolVersion": state.protocol_version,
        }
    else:
        files = handle.files()
        rows = {
            "format": "json" if snapshot.base is not None else "none",
            "version": snapshot.base if snapshot.base is not None else snapshot.version,
            "numFiles": files.num_rows,
            "totalBytes": pc.sum(files.column("size")).as_py() or 0,
            "numManifests": 0,
            "numTombstones": 0,
            "tombstoneRatio": "0.00%",
            "needsCompaction": "false",
            "skippedFiles": len({skip.path for skip in snapshot.skips}),
            "createdAt": _time(snapshot.timestamp),
            "protocolVersion": snapshot.protocol.min_reader_version,
        }
    return pa.table(
        {
            "property": array_of(list(rows), pa.string()),
            "value": array_of([str(value) for value in rows.values()], pa.string()),
        }
    )


def _time(milliseconds: int) -> str:
    if not 0 <= milliseconds < 253_370_764_800_000:
        return f"{milliseconds} ms since 1970"
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
