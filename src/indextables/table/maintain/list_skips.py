"""`Table.skips`: files that an operation could not handle, and until when they are left alone."""

from __future__ import annotations

import pyarrow as pa

from indextables.core.arrow_values import table_of_rows
from indextables.log.snapshot import Snapshot

SKIPS_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("skipTimestamp", pa.int64(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("operation", pa.string(), nullable=False),
        pa.field("partitionValues", pa.map_(pa.string(), pa.string())),
        pa.field("size", pa.int64()),
        pa.field("retryAfter", pa.int64()),
        pa.field("skipCount", pa.int32(), nullable=False),
        pa.field("inCooldown", pa.bool_(), nullable=False),
    ]
)


def skips_table(snapshot: Snapshot, now_ms: int) -> pa.Table:
    """Skip records by path and time, with whether each still holds."""
    rows = [
        {
            "path": skip.path,
            "skipTimestamp": skip.skip_timestamp,
            "reason": skip.reason,
            "operation": skip.operation,
            "partitionValues": list(skip.partition_values.items()) if skip.partition_values is not None else None,
            "size": skip.size,
            "retryAfter": skip.retry_after,
            "skipCount": skip.skip_count,
            "inCooldown": skip.retry_after is not None and skip.retry_after > now_ms,
        }
        for skip in sorted(snapshot.skips, key=lambda skip: (skip.path, skip.skip_timestamp))
    ]
    return table_of_rows(rows, SKIPS_SCHEMA)
