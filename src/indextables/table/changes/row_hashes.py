"""Rows as 128-bit hashes: equal rows have equal hashes, whatever file holds them and however Arrow stores their values.

    values of a column ──▶ one line of bytes for each value ──┐
    values of a column ──▶ one line of bytes for each value ──┴──▶ the lines of a row, side by side ──▶ xxh3, 128 bits

A line begins with a byte that is 0 for null and 1 for a value. After that byte come the bytes of a number, or the hash of a text.
The hash of a list is that of its elements' lines, and the line of a struct has the lines of its fields. The lines of a type have
one length, so different rows have different lines, up to collisions of the hash.

Values are equal as in groups of `Table.aggregate`: null is equal to null, NaN to NaN, -0.0 to 0.0. Texts are equal if their bytes
are, and maps if they have the same entries in any order.

A collision would hide a change. Of n rows, one pair collides with a probability of n² / 2^129: of a billion rows, 10^-21. The
function is not cryptographic. Each comparison has a random seed, so that rows which collided in one do not in the next.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash
from pyarrow import types

from indextables.core.arrow_values import FALSE_SCALAR, numpy_of, scalar_of
from indextables.core.errors import SchemaError

Lines: TypeAlias = npt.NDArray[np.uint8]
"""The bytes of values, a line for each. All lines of an array have the same length."""
Hashes: TypeAlias = npt.NDArray[np.uint64]
"""128-bit hashes, two numbers in a line."""


def row_hashes(batch: pa.RecordBatch, seed: int) -> Hashes:
    """The hash of each row. Hashes of one seed can be compared with each other."""
    lines = [_lines(column, seed) for column in batch.columns]
    return _hashed_lines(_side_by_side(lines, batch.num_rows), seed).view(np.uint64)


def _lines(array: Any, seed: int) -> Lines:
    """The lines of an array. The line of a null is zeros."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _lines(array.storage, seed)
    if types.is_dictionary(kind):
        return _dictionary_lines(array, seed)
    if types.is_null(kind) or not len(array):
        return np.zeros((len(array), 1), np.uint8)
    values = _value_lines(array, seed)
    valid = _valid(array)
    if valid is None:
        valid = np.ones(len(array), np.bool_)
    else:
        values = np.where(valid[:, None], values, np.uint8(0))
    return _side_by_side([valid.view(np.uint8)[:, None], values], len(array))


def _value_lines(array: Any, seed: int) -> Lines:
    """The lines of an array without the byte for null. What stands for a null is undefined."""
    kind = array.type
    if types.is_boolean(kind):
        flags: npt.NDArray[np.bool_] = numpy_of(array.fill_null(FALSE_SCALAR))
        return flags.view(np.uint8)[:, None]
    if types.is_floating(kind):
        return _float_lines(array)
    if types.is_string(kind) or types.is_binary(kind):
        return _text_lines(array, np.dtype(np.int32), seed)
    if types.is_large_string(kind) or types.is_large_binary(kind):
        return _text_lines(array, np.dtype(np.int64), seed)
    if types.is_string_view(kind) or types.is_binary_view(kind):
        return _value_lines(array.cast(pa.large_string() if types.is_string_view(kind) else pa.large_binary()), seed)
    if types.is_map(kind):
        return _map_lines(array, seed)
    if types.is_list(kind) or types.is_large_list(kind):
        return _list_lines(array, seed)
    if types.is_fixed_size_list(kind):
        return _value_lines(array.cast(pa.list_(kind.value_field)), seed)
    if types.is_struct(kind):
        return _side_by_side([_lines(child, seed) for child in array.flatten()], len(array))
    try:
        return _fixed(array, kind.byte_width)
    except ValueError:
        raise SchemaError(f"values of type {kind} cannot be compared: leave out commits that replace rows") from None


def _fixed(array: Any, width: int) -> Lines:
    """The bytes of values of one width."""
    data = array.buffers()[1]
    if data is None:
        return np.zeros((len(array), width), np.uint8)
    return np.frombuffer(data, np.uint8, len(array) * width, array.offset * width).reshape(len(array), width)


def _float_lines(array: Any) -> Lines:
    """The bytes of floats: every NaN as one NaN, and -0.0 as 0.0."""
    width = array.type.bit_width // 8
    with np.errstate(invalid="ignore"):  # some kinds of NaN
        numbers = _fixed(array, width).reshape(-1).view(np.dtype(f"f{width}")) + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers.view(np.uint8).reshape(len(array), width)


def _text_lines(array: Any, offset_type: np.dtype[Any], seed: int) -> Lines:
    """The hashes of texts or bytes."""
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, offset_type, len(array) + 1, array.offset * offset_type.itemsize)
    return _hashed(b"" if data is None else data, ends, seed)


def _list_lines(array: Any, seed: int) -> Lines:
    """The hashes of lists, each made of the lines of its elements."""
    ends = numpy_of(array.offsets)
    elements = _lines(array.values.slice(int(ends[0]), int(ends[-1] - ends[0])), seed)
    return _hashed_groups(elements, ends - ends[0], seed)


def _map_lines(array: Any, seed: int) -> Lines:
    """The hashes of maps, each made of the hashes of its entries, which are sorted, because a map has no order."""
    ends = numpy_of(array.offsets)
    begin, count = int(ends[0]), int(ends[-1] - ends[0])
    pairs = [_lines(part.slice(begin, count), seed) for part in (array.keys, array.items)]
    entries = _hashed_lines(_side_by_side(pairs, count), seed)
    numbers = entries.view(np.uint64)
    owners = np.repeat(np.arange(len(array)), np.diff(ends))
    order = np.lexsort((numbers[:, 1], numbers[:, 0], owners))
    return _hashed_groups(entries[order], ends - ends[0], seed)


def _dictionary_lines(array: Any, seed: int) -> Lines:
    """The lines of texts that come with a dictionary: each text of the dictionary is hashed once."""
    texts = _lines(array.dictionary, seed)
    if not len(texts):
        return _lines(pa.nulls(len(array), array.type.value_type), seed)
    valid = _valid(array.indices)
    lines: Lines = texts[
        numpy_of(array.indices if valid is None else array.indices.fill_null(scalar_of(0, array.indices.type)))
    ]
    if valid is None:
        return lines
    return np.where(valid[:, None], lines, np.uint8(0))


def _valid(array: Any) -> npt.NDArray[np.bool_] | None:
    """Which values are not null; None if none is."""
    return numpy_of(array.is_valid()) if array.null_count else None


def _side_by_side(parts: list[Lines], rows: int) -> Lines:
    """The lines of several arrays as one line each."""
    return np.concatenate([np.zeros((rows, 0), np.uint8), *parts], axis=1)


def _hashed_lines(lines: Lines, seed: int) -> Lines:
    """The hash of each line."""
    return _hashed_groups(lines, np.arange(len(lines) + 1), seed)


def _hashed_groups(lines: Lines, ends: npt.NDArray[Any], seed: int) -> Lines:
    """The hash of each group of lines that follow each other; group i has the lines from `ends[i]` to `ends[i + 1]`."""
    return _hashed(np.ascontiguousarray(lines).reshape(-1), ends.astype(np.int64) * lines.shape[1], seed)


def _hashed(data: Any, ends: npt.NDArray[Any], seed: int) -> Lines:
    """The hash of each piece of some bytes; piece i lies from `ends[i]` to `ends[i + 1]`."""
    view, digest = memoryview(data), xxhash.xxh3_128_digest
    hashes = b"".join([digest(view[begin:end], seed) for begin, end in pairwise(ends.tolist())])
    return np.frombuffer(hashes, np.uint8).reshape(len(ends) - 1, 16)


__all__ = ["Hashes", "row_hashes"]
