"""JSON values as columns: Python's objects become Arrow arrays of exactly the type asked for, or Misfit says which does not."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from itertools import accumulate
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.cli.load.texts import Misfit, expected, read_texts

_kinds = pa.types
_NONE: Final = type(None)
_EXACT: Final = 1 << 53
"""Whole numbers up to this size are exact as doubles."""
_NO_NUMBERS: Final = ("NaN", "Infinity", "-Infinity")
_ENCODE: Final = msgspec.json.Encoder(decimal_format="number").encode


def column(values: Sequence[Any], arrow: pa.DataType) -> pa.Array:
    """Values as an array. Texts hold dates, times and bytes; a column of texts takes other values as their JSON."""
    found = set(map(type, values))
    found.discard(_NONE)
    if _kinds.is_string(arrow):
        return pa.array(values if found <= {str} else [_text(value) for value in values], arrow)
    if _kinds.is_boolean(arrow):
        _check(values, found, (bool,), arrow)
        return pa.array(values, arrow)
    if _kinds.is_integer(arrow):
        _check(values, found, (int,), arrow)
        return _whole_numbers(values, arrow)
    if _kinds.is_floating(arrow):
        return _floats(values, pa.array(_numbers(values, found, arrow), pa.float64()), arrow)
    if _kinds.is_decimal(arrow):
        return _decimals(values, found, arrow)
    if _kinds.is_list(arrow):
        _check(values, found, (list,), arrow)
        return _lists(values, arrow)
    if _kinds.is_struct(arrow):
        _check(values, found, (dict,), arrow)
        return _structs(values, arrow)
    if _kinds.is_map(arrow):
        _check(values, found, (dict, list), arrow)
        return _maps([_entries(value, index) for index, value in enumerate(values)], arrow)
    _check(values, found, (str,), arrow)
    return read_texts(pa.array(values, pa.string()), arrow)


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else _ENCODE(value).decode()


def _check(values: Sequence[Any], found: set[type], allowed: tuple[type, ...], arrow: pa.DataType) -> None:
    if not found <= set(allowed):
        index = next(n for n, value in enumerate(values) if value is not None and type(value) not in allowed)
        raise Misfit(index, values[index], expected(arrow))


def _whole_numbers(values: Sequence[int | None], arrow: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, arrow)
    except (pa.ArrowInvalid, OverflowError):
        limit = 1 << (arrow.bit_width - 1)
        index = next(n for n, value in enumerate(values) if value is not None and not -limit <= value < limit)
    raise Misfit(index, values[index], expected(arrow))


def _numbers(values: Sequence[Any], found: set[type], arrow: pa.DataType) -> list[float | None]:
    if found <= {float}:
        return list(values)
    numbers: list[float | None] = []
    for index, value in enumerate(values):
        kind = type(value)
        if value is None or kind is float:
            numbers.append(value)
        elif kind is Decimal or (kind is int and abs(value) <= _EXACT) or value in _NO_NUMBERS:
            numbers.append(float(value))
        else:
            raise Misfit(index, value, expected(arrow) + (" that is kept exactly" if kind is int else ""))
    return numbers


def _floats(values: Sequence[Any], numbers: pa.Array, arrow: pa.DataType) -> pa.Array:
    made = numbers.cast(arrow)
    lost = pc.and_(pc.is_inf(made), pc.is_finite(numbers))
    if pc.any(lost).as_py():
        index = pc.index(lost, True).as_py()
        raise Misfit(index, values[index], expected(arrow))
    return made


def _decimals(values: Sequence[Any], found: set[type], arrow: pa.DataType) -> pa.Array:
    _check(values, found, (int, str, Decimal), arrow)
    numbers = []
    for index, value in enumerate(values):
        try:
            number = None if value is None else Decimal(value)
            pa.scalar(number, arrow)
        except (pa.ArrowInvalid, InvalidOperation):
            raise Misfit(index, value, expected(arrow)) from None
        numbers.append(number)
    return pa.array(numbers, arrow)


def _lists(values: Sequence[list[Any] | None], arrow: pa.DataType) -> pa.Array:
    flat = [item for value in values if value is not None for item in value]
    try:
        items = column(flat, arrow.value_type)
    except Misfit as misfit:
        raise _inside(misfit, values, "element") from None
    return pa.ListArray.from_arrays(_offsets(values), items, arrow, mask=_mask(values))


def _entries(value: Any, index: int) -> list[tuple[Any, Any]] | None:
    """The keys and values of a map: an object, or a list of {"key", "value"} where keys are no texts."""
    if value is None or isinstance(value, dict):
        return None if value is None else list(value.items())
    pairs = []
    for entry in value:
        if type(entry) is not dict or not {"key"} <= entry.keys() <= {"key", "value"}:
            raise Misfit(index, entry, 'an entry of a map, such as {"key":1,"value":2}')
        pairs.append((entry["key"], entry.get("value")))
    return pairs


def _maps(values: Sequence[list[tuple[Any, Any]] | None], arrow: pa.DataType) -> pa.Array:
    keys = [key for value in values if value is not None for key, _ in value]
    items = [item for value in values if value is not None for _, item in value]
    try:
        key_array, item_array = _keys(keys, arrow.key_type), column(items, arrow.item_type)
    except Misfit as misfit:
        raise _inside(misfit, values, "value") from None
    return pa.MapArray.from_arrays(_offsets(values), key_array, item_array, arrow, mask=_mask(values))


def _keys(keys: Sequence[Any], arrow: pa.DataType) -> pa.Array:
    """Keys of maps. Those of objects are texts, whatever the type is; those of entries have their own form."""
    if None in keys:
        raise Misfit(keys.index(None), None, "a key: a map has no null among its keys")
    if set(map(type, keys)) <= {str} and not pa.types.is_nested(arrow):
        return read_texts(pa.array(keys, pa.string()), arrow)
    return column(keys, arrow)


def _structs(values: Sequence[dict[str, Any] | None], arrow: pa.DataType) -> pa.Array:
    children = []
    known = {part.name for part in arrow}
    for index, value in enumerate(values):
        if value is not None and not value.keys() <= known:
            extra = next(key for key in value if key not in known)
            raise Misfit(index, value[extra], f"one of its fields ({', '.join(sorted(known))})", extra)
    for part in arrow:
        try:
            children.append(column([None if value is None else value.get(part.name) for value in values], part.type))
        except Misfit as misfit:
            raise Misfit(misfit.index, misfit.value, misfit.expected, _joined(part.name, misfit.path)) from None
    return pa.StructArray.from_arrays(children, fields=list(arrow), mask=_mask(values))


def _inside(misfit: Misfit, values: Sequence[Any], name: str) -> Misfit:
    """A misfit among elements: which of the values has it."""
    ends = accumulate(0 if value is None else len(value) for value in values)
    index = next(n for n, end in enumerate(ends) if misfit.index < end)
    return Misfit(index, misfit.value, misfit.expected, _joined(name, misfit.path))


def _joined(name: str, path: str) -> str:
    return f"{name}.{path}" if path else name


def _offsets(values: Sequence[Any]) -> pa.Array:
    return pa.array([0, *accumulate(0 if value is None else len(value) for value in values)], pa.int32())


def _mask(values: Sequence[Any]) -> pa.Array | None:
    return pa.array([value is None for value in values]) if None in values else None
