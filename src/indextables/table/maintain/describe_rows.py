"""What a table says of itself, as rows: its files, its history, its partitions, its changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import scalar_of
from indextables.core.errors import ChangesGone
from indextables.log.file_entries import FILE_SCHEMA
from indextables.log.history import HISTORY_SCHEMA, read_changes, read_history
from indextables.table.handle import TableHandle
from indextables.table.maintain.list_partitions import partitions_table

_FILES: Final = [name for name in FILE_SCHEMA.names if name != "docMappingJson"]
"""The columns of `n.files`. The text of a mapping is the same in every row and may have megabytes."""
_CHANGES: Final = pa.schema(
    [
        pa.field("version", pa.int64(), nullable=False),
        pa.field("change", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("partitionValues", pa.map_(pa.string(), pa.string())),
        pa.field("size", pa.int64()),
        pa.field("numRecords", pa.int64()),
    ]
)


def partition_values(handle: TableHandle) -> pa.Table:
    """The partitions of a table that have files, a row each, in the order of their values, with files, rows and bytes."""
    return partitions_table(handle).select(range(len(handle.partition_columns) + 3))


def described_columns(which: str, handle: TableHandle) -> pa.Schema:
    """The columns of what a table says of itself: `files`, `history`, `partitions` or `changes`."""
    if which == "files":
        return pa.schema([FILE_SCHEMA.field(name) for name in _FILES])
    if which == "history":
        return HISTORY_SCHEMA
    if which == "changes":
        return _CHANGES
    values = [handle.schema.field(name).remove_metadata() for name in handle.partition_columns]
    partition = [pa.field("partition", pa.struct(values))] if values else []
    return pa.schema([*partition, *((name, pa.int64()) for name in ("files", "rows", "bytes"))])


def _file_rows(handle: TableHandle) -> pa.Table:
    return handle.files().select(_FILES)


def _history_rows(handle: TableHandle) -> pa.Table:
    return read_history(handle)


def _partition_rows(handle: TableHandle) -> pa.Table:
    found = partition_values(handle)
    facts = [found.column(name) for name in found.column_names[len(handle.partition_columns) :]]
    schema = described_columns("partitions", handle)
    if not handle.partition_columns:
        return pa.table(facts, schema=schema)
    values = found.select(range(len(handle.partition_columns))).combine_chunks()
    kind = schema.field("partition").type
    parts = [column.combine_chunks().cast(field.type) for column, field in zip(values.columns, kind, strict=True)]
    return pa.table([pa.StructArray.from_arrays(parts, fields=list(kind)), *facts], schema=schema)


def _change_rows(handle: TableHandle) -> pa.Table:
    """All changes that the log still knows, oldest first: of one version the removals first."""
    try:
        changes = read_changes(handle, -1)
    except ChangesGone as gone:
        changes = read_changes(handle, gone.details["oldest"])
    adds, removes = changes.adds, changes.removes
    added = pa.table(
        [
            adds.column("addedAtVersion"),
            pa.repeat(scalar_of("add", pa.string()), adds.num_rows),
            *(adds.column(name) for name in ("path", "partitionValues", "size", "numRecords")),
        ],
        names=_CHANGES.names,
    )
    removed = pa.table(
        [
            removes.column("removedAtVersion"),
            pa.repeat(scalar_of("remove", pa.string()), removes.num_rows),
            *(removes.column(name) for name in ("path", "partitionValues", "size")),
            pa.nulls(removes.num_rows, pa.int64()),
        ],
        names=_CHANGES.names,
    )
    whole = pa.concat_tables([removed.cast(_CHANGES), added.cast(_CHANGES)])
    order = pc.sort_indices(whole, [("version", "ascending"), ("change", "descending"), ("path", "ascending")])
    return whole.take(order)


_ROWS: Final[dict[str, Callable[[TableHandle], pa.Table]]] = {
    "files": _file_rows,
    "history": _history_rows,
    "partitions": _partition_rows,
    "changes": _change_rows,
}


def described_rows(which: str, handle: TableHandle) -> pa.Table:
    """The rows of what a table says of itself."""
    return _ROWS[which](handle)
