"""New splits as the log has them."""

from __future__ import annotations

import uuid

import msgspec

from indextables.log.actions import AddAction
from indextables.split.bundle.bundle_writer import Sealed


def source_number(identifier: str) -> int:
    """The number that tells the rows of a new split from those of all others, from a random UUID."""
    return uuid.UUID(identifier).int % 2**63


def added(key: str, sealed: Sealed) -> AddAction:
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
        doc_mapping_json=footer.doc_mapping,
        uncompressed_size_bytes=footer.uncompressed_bytes,
    )
