"""`Table.partitions`: the partitions of a table that have files, a row each."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import scalar_of
from indextables.core.values import column_from_text, is_text
from indextables.table.handle import TableHandle

PARTITION_FACTS: Final = pa.schema(
    [
        pa.field("files", pa.int64(), nullable=False),
        pa.field("rows", pa.int64()),
        pa.field("bytes", pa.int64()),
        pa.field("oldest_file", pa.timestamp("ms", "UTC")),
        pa.field("newest_file", pa.timestamp("ms", "UTC")),
        pa.field("version", pa.int64()),
    ]
)
"""What is known of a partition, beside the values of its columns. `version` is the newest one that added one of its files."""


def partitions_table(handle: TableHandle) -> pa.Table:
    """The partitions that have files, in the order of their values, nulls last: typed values, then `PARTITION_FACTS`.

    A table without partition columns has one partition, or none where it has no files.
    """
    files = handle.files()
    values = [_typed(files, name, handle.schema.field(name).type) for name in handle.partition_columns]
    keys = [f"k{number}" for number in range(len(values))]
    grouped = pa.table([*values, *_facts(handle, files)], names=[*keys, *PARTITION_FACTS.names])
    how = zip(PARTITION_FACTS.names, ("sum", "sum", "sum", "min", "max", "max"), strict=True)
    sums = grouped.group_by(keys, use_threads=False).aggregate(list(how))
    if keys:
        sums = sums.sort_by([(key, "ascending") for key in keys])
    elif not files.num_rows:
        sums = sums.slice(0, 0)
    facts = [sums.column(place) for place in _places(sums, len(keys))]
    shown = [sums.column(key) for key in keys] + [
        column.cast(field.type) for column, field in zip(facts, PARTITION_FACTS, strict=True)
    ]
    named = [handle.schema.field(name).remove_metadata() for name in handle.partition_columns]
    return pa.table(
        [column.cast(field.type) for column, field in zip(shown, [*named, *PARTITION_FACTS], strict=True)],
        schema=pa.schema([*(field.with_nullable(True) for field in named), *PARTITION_FACTS]),
    )


def _places(sums: pa.Table, keys: int) -> list[int]:
    """Where the facts are: releases of Arrow differ in whether keys come before what was summed up."""
    places = [number for number, name in enumerate(sums.column_names) if not name.startswith("k")]
    assert len(places) == sums.num_columns - keys
    return places


def _facts(handle: TableHandle, files: pa.Table) -> list[pa.ChunkedArray | pa.Array]:
    times = files.column("modificationTime")
    known = not handle.snapshot.state_committed  # another implementation's states say nothing true of versions
    return [
        pa.repeat(scalar_of(1, pa.int64()), files.num_rows),
        files.column("numRecords"),
        files.column("size"),
        times,
        times,
        files.column("addedAtVersion") if known else pa.nulls(files.num_rows, pa.int64()),
    ]


def _typed(files: pa.Table, name: str, kind: pa.DataType) -> pa.Array:
    texts = pc.map_lookup(files.column("partitionValues").combine_chunks(), scalar_of(name, pa.string()), "last").cast(
        pa.string()
    )
    return texts if is_text(kind) else column_from_text(texts, kind)


__all__ = ["PARTITION_FACTS", "partitions_table"]
