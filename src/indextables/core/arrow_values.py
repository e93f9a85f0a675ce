"""Python values and numpy arrays as Arrow arrays and scalars, and Arrow arrays as numpy arrays, without pandas.

`pa.array`, `pa.scalar`, `to_numpy` and everything that calls them (a Python value among the arguments of a compute function,
`empty_table`, `from_pylist`, `np.asarray`) import pandas at their first call in a process, where pandas is installed. That takes
a third of the time of a first answer. The functions of this module make and read Arrow's buffers themselves:

    values ── one Python type, perhaps None ──▶ buffers ──▶ array
       └───── any other values or types ──────▶ `pa.array`

The arrays equal those of Arrow's own functions, and so do the errors.
"""

from __future__ import annotations

import datetime as dt
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Context, Decimal
from functools import partial
from itertools import accumulate, chain
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import lib

_NONE: Final = type(None)
_FIRST_DAY: Final = dt.date(1970, 1, 1).toordinal()
_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - arithmetic on UTC without the cost of time zones
_MICROSECOND: Final = dt.timedelta(microseconds=1)
_EXACT: Final = Context(prec=100)
"""Arithmetic without a rounding: no decimal of Arrow has more than 76 digits."""

_MANY_PIECES: Final = 100
"""Texts. The lengths of as many texts are added up by numpy, in half of Python's time; the lengths of fewer by Python."""

_Maker: TypeAlias = Callable[[Sequence[Any], pa.DataType], pa.Array | None]
"""Makes an array of at least one value; None where the values are not those that the maker knows."""


def array_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """The array that `pa.array(values, kind)` gives. Raises what `pa.array` raises."""
    if not len(values):
        return pa.nulls(0, kind)
    maker = _MAKERS.get(kind.id)
    made = None if maker is None else maker(values, kind)
    return pa.array(values, kind) if made is None else made


def array_of_numbers(numbers: npt.NDArray[Any], mask: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """The array that `pa.array(numbers, mask=mask)` gives: null where the mask is true. Numbers are shared, not copied."""
    kind = _NUMPY_KINDS.get(numbers.dtype)
    if kind is None or numbers.ndim != 1 or type(numbers) is not np.ndarray:
        return pa.array(numbers, mask=mask)
    data = _bits(numbers) if kind.id == lib.Type_BOOL else pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(kind, len(numbers), [None if mask is None else _bits(~mask), data])


def numpy_of(values: Any) -> npt.NDArray[Any]:
    """The numpy array that `values.to_numpy(zero_copy_only=False)` gives, for an array or a chunked array."""
    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
    dtype = _NUMPY_TYPES.get(values.type.id)
    if dtype is None or values.null_count or not len(values):
        return _foreign(values)
    data, offset, length = values.buffers()[1], values.offset, len(values)
    if dtype != np.bool_:
        numbers = np.frombuffer(data, dtype, length, offset * dtype.itemsize)
        numbers.flags.writeable = False
        return numbers
    first, begin = divmod(offset, 8)
    bits = np.unpackbits(np.frombuffer(data, np.uint8, offset=first), count=begin + length, bitorder="little")
    return bits[begin:].view(np.bool_)


def _foreign(values: pa.Array) -> npt.NDArray[Any]:
    """Values that numpy has no type for, and no values. Texts and bytes become Python objects."""
    dtype = _NUMPY_TYPES.get(values.type.id)
    if dtype is not None and not len(values):
        return np.empty(0, dtype)
    if values.type.id in {lib.Type_STRING, lib.Type_BINARY, lib.Type_LARGE_STRING, lib.Type_LARGE_BINARY}:
        return np.array(values.to_pylist(), np.object_)
    found: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return found


def scalar_of(value: Any, kind: pa.DataType) -> Any:
    """The scalar that `pa.scalar(value, kind)` gives."""
    return (pa.nulls(1, kind) if value is None else array_of((value,), kind))[0]


def repeated(scalars: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """An array of Arrow scalars of one type. Neighbours that are one object are made together."""
    if not scalars:
        return pa.nulls(0, kind)
    ends = [place for place in range(1, len(scalars)) if scalars[place] is not scalars[place - 1]]
    pieces = [
        pa.repeat(scalars[begin], end - begin) if scalars[begin].is_valid else pa.nulls(end - begin, kind)
        for begin, end in zip([0, *ends], [*ends, len(scalars)], strict=True)
    ]
    return pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)


def columns_of_rows(rows: Sequence[Mapping[str, Any]], fields: Iterable[pa.Field]) -> list[pa.Array]:
    """The columns of rows that have a value under the name of every field."""
    return [array_of([row[field.name] for row in rows], field.type) for field in fields]


def table_of_rows(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """The table that `pa.Table.from_pylist(rows, schema)` gives, for rows that have a value under the name of every field."""
    return pa.Table.from_arrays(columns_of_rows(rows, schema), schema=schema)


def empty_table(schema: pa.Schema) -> pa.Table:
    """The table that `schema.empty_table()` gives."""
    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def distinct(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The different whole numbers of an array with one dimension, in order. `np.unique` loads numpy's masked arrays, in 60 ms."""
    ordered = np.sort(numbers)
    return ordered[_differs(ordered)]


def distinct_codes(numbers: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """The different whole numbers in order, and for each number of the array its place among them."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    is_new = _differs(ordered)
    codes = np.empty(len(numbers), np.int64)
    codes[order] = np.cumsum(is_new) - 1
    return ordered[is_new], codes


def _differs(ordered: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """True where a number differs from the one before it."""
    is_new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return is_new


def _bits(flags: npt.NDArray[np.bool_] | list[bool]) -> pa.Buffer:
    """Booleans as Arrow has them: one bit each, the first one lowest. A list becomes bytes first, in half of numpy's time."""
    flags = np.frombuffer(bytes(flags), np.bool_) if isinstance(flags, list) else flags
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def _without_nulls(values: Sequence[Any], filler: Any) -> tuple[set[type], Sequence[Any], pa.Buffer | None]:
    """The types of the values but None, the values with a filler in place of None, and which of the values are not None."""
    types = set(map(type, values))
    if _NONE not in types:
        return types, values, None
    types.discard(_NONE)
    validity = _bits([value is not None for value in values])
    return types, [filler if value is None else value for value in values], validity


def _numbers(values: Sequence[Any], kind: pa.DataType, *, code: str, python: type) -> pa.Array | None:
    """Integers or floats. `code` is the type of a number in Python's `array`."""
    types, values, validity = _without_nulls(values, python())
    return _packed(values, kind, code, validity) if types <= {python} else None


def _packed(values: Iterable[Any], kind: pa.DataType, code: str, validity: pa.Buffer | None) -> pa.Array | None:
    try:
        data = array(code, values)
    except OverflowError:
        return None
    return pa.Array.from_buffers(kind, len(data), [validity, pa.py_buffer(data)])


def _dates(values: Sequence[Any], kind: pa.DataType) -> pa.Array | None:
    """Dates, or days since 1970."""
    types, values, validity = _without_nulls(values, 0)
    if types == {dt.date}:
        values = [value and value.toordinal() - _FIRST_DAY for value in values]
    return _packed(values, kind, "i", validity) if types <= {dt.date} or types == {int} else None


def _moments(values: Sequence[Any], kind: pa.DataType) -> pa.Array | None:
    """Moments in microseconds, or numbers since 1970. A moment without a zone counts as UTC."""
    types, values, validity = _without_nulls(values, 0)
    if types == {dt.datetime} and kind.unit == "us":
        try:
            values = [value and _micros(value) for value in values]
        except OverflowError:
            return None
    elif not types <= {int}:
        return None
    return _packed(values, kind, "q", validity)


def _micros(moment: dt.datetime) -> int:
    if moment.tzinfo is not None:
        moment = moment.replace(tzinfo=None) - (moment.utcoffset() or dt.timedelta())
    return (moment - _EPOCH) // _MICROSECOND


def _decimals(values: Sequence[Any], kind: pa.DataType) -> pa.Array | None:
    """Decimals that have no more digits than the type, before and after the point."""
    types, values, validity = _without_nulls(values, Decimal(0))
    if not types <= {Decimal}:
        return None
    width, scale, data = kind.bit_width // 8, kind.scale, bytearray()
    for value in values:
        _, digits, exponent = value.as_tuple()
        if isinstance(exponent, str) or exponent < -scale or len(digits) + exponent + scale > kind.precision:
            return None
        data += int(value.scaleb(scale, _EXACT)).to_bytes(width, "little", signed=True)
    return pa.Array.from_buffers(kind, len(values), [validity, pa.py_buffer(data)])


def _booleans(values: Sequence[Any], kind: pa.DataType) -> pa.Array | None:
    types, values, validity = _without_nulls(values, False)
    return pa.Array.from_buffers(kind, len(values), [validity, _bits(list(values))]) if types <= {bool} else None


def _texts(values: Sequence[Any], kind: pa.DataType, *, code: str) -> pa.Array | None:
    """Texts as UTF-8. `code` is the type of an offset in Python's `array`."""
    validity = None
    try:
        text = "".join(values)
    except TypeError:  # not all values are texts
        types, values, validity = _without_nulls(values, "")
        if not types <= {str}:
            return None
        text = "".join(values)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return None
    pieces = values if len(data) == len(text) else [value.encode() for value in values]
    return _joined(pieces, data, kind, code, validity)


def _bytes(values: Sequence[Any], kind: pa.DataType, *, code: str) -> pa.Array | None:
    types, values, validity = _without_nulls(values, b"")
    return _joined(values, b"".join(values), kind, code, validity) if types <= {bytes} else None


def _joined(
    pieces: Sequence[Any], data: bytes, kind: pa.DataType, code: str, validity: pa.Buffer | None
) -> pa.Array | None:
    """Texts or bytes that lie one after the other in `data`; None for a text whose class counts its length in another way."""
    offsets = _offsets(pieces, code)
    if offsets is None or offsets[-1] != len(data):
        return None
    return pa.Array.from_buffers(kind, len(pieces), [validity, pa.py_buffer(offsets), pa.py_buffer(data)])


def _offsets(pieces: Sequence[Any], code: str) -> Any:
    """Where each piece begins and the last one ends; None if that is too far for the type of the offsets."""
    if len(pieces) < _MANY_PIECES:
        try:
            return array(code, accumulate(map(len, pieces), initial=0))
        except OverflowError:
            return None
    ends = np.cumsum(np.fromiter(chain((0,), map(len, pieces)), np.int64, len(pieces) + 1))
    return ends.astype(code) if ends[-1] <= np.iinfo(code).max else None


def _structs(values: Sequence[Any], kind: pa.DataType) -> pa.Array | None:
    """Structs of dicts. A key that a dict does not have is null."""
    names = kind.names
    types, values, validity = _without_nulls(values, {})
    if not types <= {dict} or len(set(names)) < len(names):
        return None
    children = [array_of([value.get(field.name) for value in values], field.type) for field in kind]
    return pa.Array.from_buffers(kind, len(values), [validity], children=children)


def _lists(values: Sequence[Any], kind: pa.DataType) -> pa.Array | None:
    types, values, validity = _without_nulls(values, ())
    offsets = _offsets(values, "i") if types <= {list, tuple} else None
    if offsets is None:
        return None
    elements = array_of(list(chain.from_iterable(values)), kind.value_type)
    return pa.Array.from_buffers(kind, len(values), [validity, pa.py_buffer(offsets)], children=[elements])


def _maps(values: Sequence[Any], kind: pa.DataType) -> pa.Array | None:
    """Maps of dicts, or of lists of pairs."""
    types, values, validity = _without_nulls(values, ())
    offsets = _offsets(values, "i") if types in ({dict}, {list}, set()) else None
    if offsets is None:
        return None
    pairs = list(chain.from_iterable(value.items() if type(value) is dict else value for value in values))
    if any(type(pair) is not tuple or len(pair) != 2 or pair[0] is None for pair in pairs):
        return None
    sides = [array_of([pair[side] for pair in pairs], field.type) for side, field in enumerate(_map_fields(kind))]
    entries = pa.StructArray.from_arrays(sides, fields=_map_fields(kind))
    return pa.Array.from_buffers(kind, len(values), [validity, pa.py_buffer(offsets)], children=[entries])


def _map_fields(kind: pa.DataType) -> list[pa.Field]:
    return [kind.key_field, kind.item_field]


_MAKERS: Final[dict[int, _Maker]] = {
    **{
        getattr(lib, f"Type_{name}"): partial(_numbers, code=code, python=int)
        for name, code in [("INT8", "b"), ("INT16", "h"), ("INT32", "i"), ("INT64", "q")]
    },
    **{
        getattr(lib, f"Type_{name}"): partial(_numbers, code=code, python=int)
        for name, code in [("UINT8", "B"), ("UINT16", "H"), ("UINT32", "I"), ("UINT64", "Q")]
    },
    lib.Type_FLOAT: partial(_numbers, code="f", python=float),
    lib.Type_DOUBLE: partial(_numbers, code="d", python=float),
    lib.Type_BOOL: _booleans,
    lib.Type_DECIMAL128: _decimals,
    lib.Type_DECIMAL256: _decimals,
    lib.Type_DATE32: _dates,
    lib.Type_TIMESTAMP: _moments,
    lib.Type_STRING: partial(_texts, code="i"),
    lib.Type_LARGE_STRING: partial(_texts, code="q"),
    lib.Type_BINARY: partial(_bytes, code="i"),
    lib.Type_LARGE_BINARY: partial(_bytes, code="q"),
    lib.Type_STRUCT: _structs,
    lib.Type_LIST: _lists,
    lib.Type_MAP: _maps,
}
"""The makers by the numbers that Arrow gives its types."""

_NUMPY_KINDS: Final[dict[np.dtype[Any], pa.DataType]] = {
    np.dtype(np.bool_): pa.bool_(),
    np.dtype(np.int8): pa.int8(),
    np.dtype(np.int16): pa.int16(),
    np.dtype(np.int32): pa.int32(),
    np.dtype(np.int64): pa.int64(),
    np.dtype(np.uint8): pa.uint8(),
    np.dtype(np.uint16): pa.uint16(),
    np.dtype(np.uint32): pa.uint32(),
    np.dtype(np.uint64): pa.uint64(),
    np.dtype(np.float32): pa.float32(),
    np.dtype(np.float64): pa.float64(),
}
"""The Arrow types of numpy's numbers."""

_NUMPY_TYPES: Final[dict[int, np.dtype[Any]]] = {kind.id: dtype for dtype, kind in _NUMPY_KINDS.items()}
"""The numpy types of Arrow's numbers, by the numbers that Arrow gives its types."""

TRUE_SCALAR: Final = scalar_of(True, pa.bool_())
"""Arrow's true. A Python value among the arguments of a compute function would become a scalar at each call."""
FALSE_SCALAR: Final = scalar_of(False, pa.bool_())
"""Arrow's false."""
ZERO_SCALAR: Final = scalar_of(0, pa.int64())
"""Arrow's 0, a whole number of 64 bits."""
ZERO_FLOAT_SCALAR: Final = scalar_of(0.0, pa.float64())
"""Arrow's 0.0, a double."""
