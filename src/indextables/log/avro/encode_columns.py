"""Arrow columns → Avro records, column by column.

Each column becomes the bytes that its values have in Avro, as parts of one of three shapes: the same bytes in every row, as
many bytes in every row (a matrix), or anything (a binary array). Neighbours of the first two shapes are laid side by side in
one matrix, which costs little; gluing what is left together row by row then is one call. Most columns of most tables are
constant or of one width for thousands of rows. Nothing runs once per row in Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import numpy_of, scalar_of
from indextables.log.avro.avro_file import encode_bytes, encode_long

_ROWS_AT_ONCE = 8192
"""Rows that are encoded together, which bounds the memory of encoding."""
_BLOCK_BYTES = 1 << 20
"""Bytes of a block before compression, at most, unless one record is larger."""
_SHORT = 64
"""Texts below this length have a length of one byte."""
_BINARY = pa.large_binary()
_EMPTY = scalar_of(b"", _BINARY)
_NULL, _PRESENT, _END = b"\x00", b"\x02", b"\x00"

RECORD_FIELD = pa.field("record", _BINARY, nullable=False)
"""A column of entries as they stand in a manifest."""

_Bytes = npt.NDArray[np.uint8]
_Numbers = npt.NDArray[np.int64]
_Part: TypeAlias = bytes | _Bytes | pa.Array
"""The same in every row; one row of the matrix each; one value of the array each."""


def encode_blocks(table: pa.Table, schema: dict[str, Any]) -> Iterator[tuple[int, pa.Buffer]]:
    """The rows as blocks of records: how many, and their bytes."""
    for records in encode_records(table, schema):
        yield from cut(records)


def encode_records(table: pa.Table, schema: dict[str, Any]) -> Iterator[pa.Array]:
    """The rows as records, some thousand at a time. A table that has them already (`RECORD_FIELD`) is only taken apart."""
    for start in range(0, table.num_rows, _ROWS_AT_ONCE):
        rows = table.slice(start, _ROWS_AT_ONCE)
        if RECORD_FIELD.name in table.column_names:
            yield _one(rows.column(RECORD_FIELD.name))
            continue
        parts: list[_Part] = []
        for field in schema["fields"]:
            parts += _encode(_one(rows.column(field["name"])), field["type"])
        yield _glue(parts, rows.num_rows)


def record_lengths(records: pa.Array) -> _Numbers:
    """The number of bytes of each record."""
    lengths: _Numbers = np.diff(_raw(records)[0])
    return lengths


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def cut(records: pa.Array) -> Iterator[tuple[int, pa.Buffer]]:
    """Cut records into blocks of about a mebibyte."""
    _, offset_buffer, data = records.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[records.offset : records.offset + len(records) + 1]
    start = 0
    while start < len(records):
        end = int(np.searchsorted(offsets, offsets[start] + _BLOCK_BYTES, "right")) - 1
        end = min(max(end, start + 1), len(records))
        yield end - start, data.slice(int(offsets[start]), int(offsets[end] - offsets[start]))
        start = end


def _encode(values: pa.Array, kind: Any) -> list[_Part]:
    if isinstance(kind, list):
        return _optional(values, kind[1])
    match kind:
        case "long" | "int":
            return [_numbers(numpy_of(values).astype(np.int64, copy=False))]
        case "boolean":
            return [_matrix(numpy_of(values.cast(pa.uint8())), 1)]
        case "string":
            return _texts(values)
        case {"type": "map"}:
            return _maps(values)
        case {"type": "array"}:
            return _lists(values)
        case _:
            raise ValueError(f"type {kind!r} is not written")


def _optional(values: pa.Array, kind: Any) -> list[_Part]:
    """A union with null: branch 0 and nothing, or branch 1 and the value."""
    if values.null_count == len(values):
        return [_NULL]
    if values.null_count == 0:
        return [_PRESENT, *_encode(values, kind)]
    there = numpy_of(values.is_valid())
    encoded = _glue(_encode(values.drop_null(), kind), int(there.sum()))
    return [np.where(there, 2, 0).astype(np.uint8).reshape(-1, 1), _spread(encoded, there)]


def _spread(encoded: pa.Array, there: npt.NDArray[np.bool_]) -> pa.Array:
    """The values in their rows, and nothing in the other rows."""
    offsets, data = _raw(encoded)
    lengths = np.zeros(len(there), np.int64)
    lengths[there] = np.diff(offsets)
    return _binary(_ends(lengths, int(offsets[0])), data)


def _texts(values: pa.Array) -> list[_Part]:
    offsets, data = _raw(values)
    lengths = np.diff(offsets)
    if len(lengths) and lengths[0] == lengths[-1] and (lengths == lengths[0]).all():
        return [encode_long(int(lengths[0])), _matrix(data[offsets[0] : offsets[-1]], int(lengths[0]))]
    return [_numbers(lengths), _binary(offsets, data)]


def _maps(values: pa.Array) -> list[_Part]:
    """Entries with a null value are left out: Avro's maps cannot hold them, and absent means the same."""
    offsets = numpy_of(values.offsets)
    first, last = int(offsets[0]), int(offsets[-1])
    keys = values.keys.slice(first, last - first)
    items = values.items.slice(first, last - first)
    lengths = np.diff(offsets).astype(np.int64)
    if items.null_count:
        kept = items.is_valid()
        rows = np.repeat(np.arange(len(values)), lengths)[numpy_of(kept)]
        lengths = np.bincount(rows, minlength=len(values)).astype(np.int64)
        keys, items = keys.filter(kept), items.filter(kept)
    alike = _alike(keys, lengths)
    if alike is None:
        return _counted(_glue(_texts(keys) + _texts(items), len(keys)), lengths)
    if len(alike) == 1:
        return [encode_long(1) + encode_bytes(alike[0]), *_texts(items), _END]
    return _counted(_entries(alike, items), lengths)


def _alike(keys: pa.Array, lengths: _Numbers) -> list[bytes] | None:
    """The keys of every map, where all have the same ones in the same order."""
    per_map = int(lengths[0]) if len(lengths) else 0
    if not per_map or not (lengths == per_map).all():
        return None
    offsets, data = _raw(keys)
    sizes = np.diff(offsets).reshape(-1, per_map)
    if not (sizes == sizes[0]).all():
        return None
    texts = data[offsets[0] : offsets[-1]].reshape(len(lengths), -1)
    if not (texts == texts[0]).all():
        return None
    return [key.encode() for key in keys.slice(0, per_map).to_pylist()]


def _entries(keys: list[bytes], items: pa.Array) -> pa.Array:
    """The entries of maps with the same keys. What comes before a value differs in nothing but the value's length."""
    offsets, data = _raw(items)
    lengths = np.diff(offsets)
    if int(lengths.max()) >= _SHORT:
        before = [encode_bytes(key) for key in keys]
        sizes: list[_Part] = [_numbers(lengths)]
    else:
        before = [encode_bytes(key) + b"?" for key in keys]
        sizes = []
    rows = len(items) // len(keys)
    widths = np.array([len(text) for text in before], np.int64)
    pattern = np.tile(np.frombuffer(b"".join(before), np.uint8), (rows, 1))
    if not sizes:
        pattern[:, np.cumsum(widths) - 1] = (lengths << 1).reshape(rows, len(keys))
    prefixes = _binary(_ends(np.tile(widths, rows)), pattern)
    return _glue([prefixes, *sizes, _binary(offsets, data)], len(items))


def _lists(values: pa.Array) -> list[_Part]:
    offsets = numpy_of(values.offsets)
    first, last = int(offsets[0]), int(offsets[-1])
    items = values.values.slice(first, last - first)
    return _counted(_glue(_texts(items), len(items)), np.diff(offsets).astype(np.int64))


def _counted(items: pa.Array, lengths: _Numbers) -> list[_Part]:
    """Items as Avro blocks: a count, the items, and a 0; only the 0 where there are none."""
    offsets, data = _raw(items)
    joined = _binary(offsets[_ends(lengths)], data)
    some = lengths > 0
    if some.all():
        return [_numbers(lengths), joined, _END]
    if not some.any():
        return [_END]
    return [_spread(_glue([_numbers(lengths[some])], int(some.sum())), some), joined, _END]


def _numbers(values: _Numbers) -> _Part:
    """Zig-zag varints, of one shape or another."""
    if not len(values):
        return varints(values)
    zigzag = _zigzag(values)
    low, high = int(zigzag.min()), int(zigzag.max())
    if low == high:
        return encode_long(int(values[0]))
    width = _width(high)
    if _width(low) != width:
        return varints(values)
    same = np.empty((len(values), width), np.uint8)
    for k in range(width):
        same[:, k] = (zigzag >> np.uint64(7 * k)).astype(np.uint8) | np.uint8(0x80)
    same[:, width - 1] &= 0x7F
    return same


def varints(values: _Numbers) -> pa.Array:
    """Zig-zag varints, all at once: byte k of every number that has one, for k = 0 … 9."""
    zigzag = _zigzag(values)
    width = _width(int(zigzag.max(initial=0)))
    lengths = np.ones(len(values), np.int64)
    for k in range(1, width):
        lengths += zigzag >= np.uint64(1) << np.uint64(7 * k)
    offsets = _ends(lengths)
    data = np.empty(int(offsets[-1]), np.uint8)
    for k in range(width):
        there = lengths > k
        byte = (zigzag[there] >> np.uint64(7 * k)).astype(np.uint8) & np.uint8(0x7F)
        byte |= np.where(lengths[there] > k + 1, 0x80, 0).astype(np.uint8)
        data[offsets[:-1][there] + k] = byte
    return _binary(offsets, data)


def _zigzag(values: _Numbers) -> npt.NDArray[np.uint64]:
    return ((values << 1) ^ (values >> 63)).view(np.uint64)


def _width(number: int) -> int:
    return max(1, -(-number.bit_length() // 7))


def _matrix(data: _Bytes, width: int) -> _Part:
    """Bytes of one width as a matrix, or as constant bytes where all rows are the same."""
    rows = data.reshape(-1, width) if width else data.reshape(0, 0)
    if not width or bool((rows[0] == rows[-1]).all() and (rows == rows[0]).all()):
        return rows[0].tobytes() if width else b""
    return rows


def _raw(values: pa.Array) -> tuple[_Numbers, _Bytes]:
    """Where the texts of an array begin and end, and the bytes."""
    if not len(values):
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    _, ends, data = values.buffers()
    large = pa.types.is_large_binary(values.type)
    offsets = np.frombuffer(ends, np.int64 if large else np.int32)[values.offset : values.offset + len(values) + 1]
    return offsets.astype(np.int64), np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)


def _ends(lengths: _Numbers, start: int = 0) -> _Numbers:
    offsets = np.empty(len(lengths) + 1, np.int64)
    offsets[0] = start
    np.cumsum(lengths, out=offsets[1:])
    offsets[1:] += start
    return offsets


def _binary(offsets: _Numbers, data: _Bytes) -> pa.Array:
    return pa.Array.from_buffers(_BINARY, len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _glue(parts: list[_Part], rows: int) -> pa.Array:
    """The parts of each row, one behind the other."""
    columns: list[Any] = []
    run: list[bytes | _Bytes] = []
    for part in parts:
        if isinstance(part, pa.Array):
            columns += [*_side_by_side(run, rows), part]
            run = []
        else:
            run.append(part)
    columns += _side_by_side(run, rows)
    return columns[0] if len(columns) == 1 else pc.binary_join_element_wise(*columns, _EMPTY)


def _side_by_side(run: list[bytes | _Bytes], rows: int) -> list[pa.Array]:
    """Constant bytes and matrices as one array."""
    width = sum(len(part) if isinstance(part, bytes) else part.shape[1] for part in run)
    if not width:
        return []
    whole = np.empty((rows, width), np.uint8)
    at = 0
    for part in run:
        if isinstance(part, bytes):
            whole[:, at : at + len(part)] = np.frombuffer(part, np.uint8)
            at += len(part)
        else:
            whole[:, at : at + part.shape[1]] = part
            at += part.shape[1]
    return [_binary(np.arange(0, rows * width + 1, width, dtype=np.int64), whole)]
