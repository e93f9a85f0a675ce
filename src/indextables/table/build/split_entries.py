"""New splits as the log has them."""

from __future__ import annotations

import uuid

import msgspec
import pyarrow as pa

from indextables.log.actions import AddAction
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.split.bundle.bundle_writer import Sealed


def stored_columns(snapshot: Snapshot) -> pa.Schema:
    """The columns that are in splits: all but the partition columns."""
    partitions = snapshot.metadata.partition_columns
    return pa.schema([field for field in snapshot.schema if field.name not in partitions])


def new_number(log: TableLog) -> int:
    """The number that tells the rows of a new split from those of all others."""
    return uuid.UUID(log.clock.uuid()).int % 2**63


def added(key: str, sealed: Sealed, mapping_json: str) -> AddAction:
    """The log's entry for a split in the store."""
    footer = sealed.footer
    start, end = footer.time_range or (None, None)
    return AddAction(
        path=key,
        partition_values={name: text for name, text in footer.partition_values.items() if text is not None},
        size=sealed.size,
        modification_time=footer.created_ms,
        stats=msgspec.json.encode({"numRecords": footer.rows, "nullCount": footer.null_counts}).decode(),
        min_values=dict(footer.min_values) or None,
        max_values=dict(footer.max_values) or None,
        num_records=footer.rows,
        footer_start_offset=sealed.footer_start,
        footer_end_offset=sealed.size,
        has_footer_offsets=True,
        time_range_start=start,
        time_range_end=end,
        num_merge_ops=footer.num_merge_ops,
        doc_mapping_json=mapping_json,
        uncompressed_size_bytes=footer.uncompressed_bytes,
    )
