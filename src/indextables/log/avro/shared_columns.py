"""Tables that stay in memory, without what they do not need.

A reader's batches have buffers that grew by doubling, and buffers full of zeros for columns that nobody uses. A million files
take half the memory once each column is copied into one buffer of its size, and columns without values share one of zeros.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.core.runtime.process_state import Lru

_ZEROS = pa.py_buffer(np.zeros(1 << 20, np.uint8))
_WIDEST = 8
"""Bytes of the widest value whose column of nulls can share the zeros."""


def compact_columns(table: pa.Table) -> pa.Table:
    """A table with one chunk for each column. Columns of one chunk are not copied."""
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        if column.null_count == len(column):
            columns.append(all_null(len(column), field.type))
        else:
            whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
            columns.append(_with_shared_keys(field, whole))
    return pa.Table.from_arrays(columns, schema=table.schema)


_MOST_KEYS: Final = 64
"""Arrays of keys that are remembered: more than a manifest has map columns."""
_KEYS: Final[Lru[tuple[str, int], pa.Array]] = Lru(_MOST_KEYS)
"""The keys of the map columns that were read last, by column and by number of keys a map."""


def _with_shared_keys(field: pa.Field, column: pa.Array) -> pa.Array:
    """A map column whose keys, and places of keys, are those of an earlier one where they are the same: most tables have the
    same partition columns and the same columns with bounds in every file.
    """
    if not pa.types.is_map(field.type) or column.null_count or column.offset or not len(column):
        return column
    per_map, rest = divmod(len(column.keys), len(column))
    if rest or not per_map:
        return column
    offsets = _regular_offsets(len(column), per_map)
    if not np.array_equal(offsets, np.frombuffer(column.buffers()[1], np.int32)[: len(offsets)]):
        return column
    known = _KEYS.get((field.name, per_map))
    if known is None or len(known) < len(column.keys) or not known[: len(column.keys)].equals(column.keys):
        known = column.keys
        _KEYS.put((field.name, per_map), known)
    items = column.items
    return pa.MapArray.from_arrays(
        pa.Array.from_buffers(pa.int32(), len(offsets), [None, pa.py_buffer(offsets)]),
        known[: len(items)],
        items,
        type=field.type,
    )


@lru_cache(maxsize=8)
def _regular_offsets(rows: int, per_map: int) -> npt.NDArray[np.int32]:
    offsets: npt.NDArray[np.int32] = np.arange(0, rows * per_map + 1, per_map, dtype=np.int32)
    return offsets


def all_null(rows: int, kind: pa.DataType) -> pa.Array:
    """A column of nulls, made of zeros that all of them share."""
    size = (rows + 1) * _WIDEST
    zeros = _ZEROS if size <= _ZEROS.size else pa.py_buffer(np.zeros(size, np.uint8))
    if pa.types.is_map(kind):
        empty = pa.nulls(0, pa.struct([kind.key_field, kind.item_field]))
        return pa.Array.from_buffers(kind, rows, [zeros, zeros], rows, 0, [empty])
    if pa.types.is_list(kind):
        return pa.Array.from_buffers(kind, rows, [zeros, zeros], rows, 0, [pa.nulls(0, kind.value_type)])
    if pa.types.is_string(kind):
        return pa.Array.from_buffers(kind, rows, [zeros, zeros, zeros], rows)
    return pa.Array.from_buffers(kind, rows, [zeros, zeros], rows)


def integers(values: npt.NDArray[np.int64], absent: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Without `pa.array`, which imports all of numpy.ma when it meets the first numpy array of a process."""
    valid = None if absent is None else pa.py_buffer(np.packbits(~absent, bitorder="little"))
    return pa.Array.from_buffers(pa.int64(), len(values), [valid, pa.py_buffer(np.ascontiguousarray(values))])
