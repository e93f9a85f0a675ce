"""Arrow values as JSON has them, column by column.

whole numbers, booleans     as they are
floats                      numbers; "NaN", "Infinity" and "-Infinity" are texts, because JSON has no such numbers
decimals                    texts with all their digits: "12.50"
dates, times, timestamps    texts: "2026-01-31", "2026-01-31T12:00:00.5Z"; Z where they are moments, none where they are clocks
binary                      base64
structs and maps            objects; maps whose keys are not texts are lists of {"key", "value"}
durations and intervals     ISO 8601: "PT90S", "P1M2DT0S"
"""

from __future__ import annotations

import base64
import math
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_kinds = pa.types
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def json_values(array: Any) -> list[Any]:
    """The values of an array, or of a chunked one, for JSON."""
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in json_values(chunk)]
    arrow = array.type
    if isinstance(arrow, pa.BaseExtensionType):
        return json_values(array.storage)
    if _kinds.is_dictionary(arrow):
        return json_values(array.dictionary_decode())
    if _kinds.is_floating(arrow):
        return [value if value is None or math.isfinite(value) else _no_number(value) for value in array.to_pylist()]
    if _kinds.is_decimal(arrow):
        return [None if value is None else format(value, "f") for value in array.to_pylist()]
    if _kinds.is_date(arrow) or _kinds.is_time(arrow) or _kinds.is_timestamp(arrow):
        return _times(array)
    if _kinds.is_duration(arrow):
        return [_seconds(value, arrow.unit) for value in array.cast(pa.int64()).to_pylist()]
    if _kinds.is_interval(arrow):
        return [None if value is None else _interval(value) for value in array.to_pylist()]
    if _kinds.is_binary(arrow) or _kinds.is_large_binary(arrow) or _kinds.is_fixed_size_binary(arrow):
        return [None if value is None else base64.b64encode(value).decode() for value in array.to_pylist()]
    if _kinds.is_nested(arrow):
        return _nested(array)
    values: list[Any] = array.to_pylist()
    return values


def _nested(array: Any) -> list[Any]:
    arrow = array.type
    if _kinds.is_struct(arrow):
        names = [part.name for part in arrow]
        parts = [json_values(array.field(number)) for number in range(len(names))]
        rows = zip(*parts, strict=True) if parts else [()] * len(array)
        objects = [dict(zip(names, row, strict=True)) for row in rows]
        return [row if valid else None for row, valid in zip(objects, _valid(array), strict=True)]
    if _kinds.is_map(arrow):
        return [None if pairs is None else _object(pairs) for pairs in _maps(array)]
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_pylist()
    flat = iter(json_values(array.flatten()))
    lists = [[next(flat) for _ in range(length)] for length in lengths]
    return [row if valid else None for row, valid in zip(lists, _valid(array), strict=True)]


def _maps(array: Any) -> list[list[tuple[Any, Any]] | None]:
    lengths = [None if value is None else len(value) for value in array.to_pylist()]
    pairs = array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field.with_name("value")]))).flatten()
    flat = iter(zip(json_values(pairs.field(0)), json_values(pairs.field(1)), strict=True))
    return [None if length is None else [next(flat) for _ in range(length)] for length in lengths]


def _object(pairs: list[tuple[Any, Any]]) -> Any:
    if all(isinstance(key, str) for key, _ in pairs) and len({key for key, _ in pairs}) == len(pairs):
        return dict(pairs)
    return [{"key": key, "value": value} for key, value in pairs]


def _valid(array: Any) -> list[bool]:
    valid: list[bool] = array.is_valid().to_pylist()
    return valid


def _no_number(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _times(array: Any) -> list[str | None]:
    texts = array.cast(pa.string())
    texts = pc.replace_substring_regex(texts, r"(\.\d*?)0+(Z?)$", r"\1\2")
    texts = pc.replace_substring_regex(texts, r"\.(Z?)$", r"\1")
    if _kinds.is_timestamp(array.type):
        texts = pc.replace_substring(texts, " ", "T", max_replacements=1)
    values: list[str | None] = texts.to_pylist()
    return values


def _seconds(value: int | None, unit: str) -> str | None:
    return None if value is None else f"PT{_plain(Decimal(value) / _PER_SECOND[unit])}S"


def _interval(value: Any) -> str:
    months, days, nanoseconds = value
    return f"P{months}M{days}DT{_plain(Decimal(nanoseconds) / 10**9)}S"


def _plain(number: Decimal) -> str:
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
