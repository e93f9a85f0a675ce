"""Arrow columns → Avro records, column by column.

Each column becomes an array of the bytes that its values have in Avro: numbers as zig-zag varints with numpy, texts as length
and bytes, maps and lists by joining the bytes of their items. Gluing the columns together row by row then is one call.
Nothing runs once per row in Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_ROWS_AT_ONCE = 8192
_BLOCK_BYTES = 1 << 20
_BINARY = pa.large_binary()


def encode_blocks(table: pa.Table, schema: dict[str, Any]) -> Iterator[tuple[int, pa.Buffer]]:
    """The rows as blocks of records: how many, and their bytes. A few thousand rows are in memory at a time."""
    names = [field["name"] for field in schema["fields"]]
    kinds = [field["type"] for field in schema["fields"]]
    for start in range(0, table.num_rows, _ROWS_AT_ONCE):
        rows = table.slice(start, _ROWS_AT_ONCE)
        columns = [_encode(_one(rows.column(name)), kind) for name, kind in zip(names, kinds, strict=True)]
        yield from _cut(_join(columns))


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _cut(records: pa.Array) -> Iterator[tuple[int, pa.Buffer]]:
    """Cut records into blocks of about a mebibyte."""
    _, offset_buffer, data = records.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[records.offset : records.offset + len(records) + 1]
    start = 0
    while start < len(records):
        end = int(np.searchsorted(offsets, offsets[start] + _BLOCK_BYTES, "right")) - 1
        end = min(max(end, start + 1), len(records))
        yield end - start, data.slice(int(offsets[start]), int(offsets[end] - offsets[start]))
        start = end


def _encode(values: pa.Array, kind: Any) -> pa.Array:
    if isinstance(kind, list):
        return _optional(values, kind[1])
    match kind:
        case "long" | "int":
            return varints(_numbers(values))
        case "boolean":
            return _fixed(values.cast(pa.uint8()).to_numpy(zero_copy_only=False).astype(np.uint8))
        case "string":
            return _texts(values)
        case {"type": "map"}:
            return _maps(values)
        case {"type": "array"}:
            return _lists(values)
    raise ValueError(f"type {kind!r} is not written")


def _numbers(values: pa.Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    numbers: np.ndarray[Any, np.dtype[np.int64]] = values.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return numbers.astype(np.int64, copy=False)


def _optional(values: pa.Array, kind: Any) -> pa.Array:
    """A union with null: branch 0 and nothing, or branch 1 and the value."""
    nothing = pa.scalar(b"\x00", _BINARY)
    if values.null_count == len(values):
        return pa.repeat(nothing, len(values))
    if values.null_count == 0:
        return _join([pa.scalar(b"\x02", _BINARY), _encode(values, kind)])
    there = pc.indices_nonzero(values.is_valid())
    encoded = _join([pa.scalar(b"\x02", _BINARY), _encode(values.drop_null(), kind)])
    return pc.replace_with_mask(pa.repeat(nothing, len(values)), values.is_valid(), encoded.slice(0, len(there)))


def _texts(values: pa.Array) -> pa.Array:
    raw = values.cast(_BINARY)
    return _join([varints(_numbers(pc.binary_length(raw))), raw])


def _maps(values: pa.Array) -> pa.Array:
    """Entries with a null value are left out: Avro's maps cannot hold them, and absent means the same."""
    offsets = np.asarray(values.offsets)
    first, last = int(offsets[0]), int(offsets[-1])
    keys = values.keys.slice(first, last - first)
    items = values.items.slice(first, last - first)
    lengths = np.diff(offsets)
    if items.null_count:
        kept = items.is_valid()
        rows = np.repeat(np.arange(len(values)), lengths)[np.asarray(kept)]
        lengths = np.bincount(rows, minlength=len(values))
        keys, items = keys.filter(kept), items.filter(kept)
    return _counted(_join([_texts(keys), _texts(items)]), lengths)


def _lists(values: pa.Array) -> pa.Array:
    offsets = np.asarray(values.offsets)
    first, last = int(offsets[0]), int(offsets[-1])
    return _counted(_texts(values.values.slice(first, last - first)), np.diff(offsets))


def _counted(items: pa.Array, lengths: np.ndarray[Any, Any]) -> pa.Array:
    """Items as Avro blocks: a count, the items, and a 0; only the 0 where there are none."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    joined = pc.binary_join(pa.LargeListArray.from_arrays(pa.array(offsets), items), pa.scalar(b"", _BINARY))
    counts = varints(lengths.astype(np.int64))
    ends = np.where(lengths > 0, 1, 0).astype(np.int64)
    tail_offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(ends, out=tail_offsets[1:])
    tail = _binary(tail_offsets, np.zeros(int(ends.sum()), np.uint8))
    return _join([counts, joined, tail])


def _fixed(values: np.ndarray[Any, np.dtype[np.uint8]]) -> pa.Array:
    return _binary(np.arange(len(values) + 1, dtype=np.int64), values)


def _binary(offsets: np.ndarray[Any, Any], data: np.ndarray[Any, Any]) -> pa.Array:
    return pa.Array.from_buffers(_BINARY, len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def varints(values: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Array:
    """Zig-zag varints, all at once: byte k of every number that has one, for k = 0 … 9."""
    zigzag = ((values << 1) ^ (values >> 63)).view(np.uint64)
    lengths = np.ones(len(values), np.int64)
    for k in range(1, 10):
        longer = zigzag >= np.uint64(1) << np.uint64(7 * k)
        if not longer.any():
            break
        lengths += longer
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    data = np.empty(int(offsets[-1]), np.uint8)
    for k in range(int(lengths.max(initial=0))):
        there = lengths > k
        byte = ((zigzag[there] >> np.uint64(7 * k)) & np.uint64(0x7F)).astype(np.uint8)
        byte |= np.where(lengths[there] > k + 1, 0x80, 0).astype(np.uint8)
        data[offsets[:-1][there] + k] = byte
    return _binary(offsets, data)


def _join(columns: list[Any]) -> pa.Array:
    return pc.binary_join_element_wise(*columns, pa.scalar(b"", _BINARY))
