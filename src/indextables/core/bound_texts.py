"""Bounds of columns: the least and the greatest value, their texts, and how long texts are cut.

A cut must stay correct for readers that compare plainly: a minimum becomes a prefix, which is never above its text; a
maximum is rounded **up** to a short text above everything that begins as it did, or left out where there is none.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.values import has_text_form, is_text, timestamp_text, to_text

_LAST_CODE_POINT: Final = 0x10FFFF
"""The largest code point of Unicode: no text follows a text of nothing else."""
_DAY: Final = 86_400_000_000
"""Microseconds of a day."""


def column_stats(
    data: pa.Table | pa.RecordBatch, schema: pa.Schema
) -> tuple[dict[str, str], dict[str, str], dict[str, int]]:
    """Minima, maxima (as the log's texts) and null counts of the columns of `schema` that the data has.

    NaN is left out of the bounds. Columns without an order, without values, or whose bound has no text (a timestamp
    beyond the year 9999) have no bound; every column has a null count.
    """
    minima: dict[str, str] = {}
    maxima: dict[str, str] = {}
    null_counts: dict[str, int] = {}
    for field in schema:
        index = data.schema.get_field_index(field.name)
        if index < 0:
            continue
        values = data.column(index)
        null_counts[field.name] = values.null_count
        if not has_text_form(field.type):
            continue
        low, high = (bound_text(bound, field.type) for bound in extremes(values, field.type))
        if low is not None:
            minima[field.name] = low
        if high is not None:
            maxima[field.name] = high
    return minima, maxima, null_counts


def extremes(values: Any, arrow_type: pa.DataType) -> tuple[Any, Any]:
    """The least and the greatest value, None where there is none. NaN does not count, of the zeros -0.0 is the least.

    Dates and timestamps come as the number of days or microseconds since 1970, because Python's end at the year 9999.
    """
    if is_text(arrow_type):
        values = values.cast(pa.large_string())
    elif values.type != arrow_type:
        values = values.cast(arrow_type)
    if pa.types.is_floating(arrow_type):
        return _float_extremes(values)
    found = pc.min_max(values)
    low, high = found["min"], found["max"]
    if pa.types.is_timestamp(arrow_type) or pa.types.is_date32(arrow_type):
        return (low.value, high.value) if low.is_valid else (None, None)
    return low.as_py(), high.as_py()


def bound_text(value: Any, arrow_type: pa.DataType) -> str | None:
    """The text of one of the `extremes`. None if there is none, or the value has no text."""
    if value is None:
        return None
    if pa.types.is_timestamp(arrow_type):
        return timestamp_text(value, arrow_type)
    if pa.types.is_date32(arrow_type):
        text = timestamp_text(value * _DAY, pa.timestamp("us"))
        return None if text is None else text[:10]
    return to_text(value, arrow_type)


def truncated_minimum(text: str, length: int) -> str:
    """The first characters: a text that is not above this one."""
    return text[:length]


def truncated_maximum(text: str, length: int) -> str | None:
    """A text of at most `length` characters that is not below this one or any that begins with the same characters.

    The last character that has a successor is raised by one, and what follows it dropped. None if there is no such
    character: nothing short is above U+10FFFF.
    """
    if len(text) <= length:
        return text
    for end in range(length, 0, -1):
        code = ord(text[end - 1])
        if code < _LAST_CODE_POINT:
            following = 0xE000 if 0xD7FF <= code <= 0xDFFF else code + 1  # surrogates are not characters
            return text[: end - 1] + chr(following)
    return None


def _float_extremes(values: Any) -> tuple[Any, Any]:
    nan = pc.is_nan(values)
    numbers = values.filter(pc.invert(nan)) if pc.any(nan).as_py() else values
    found = pc.min_max(numbers)
    low, high = found["min"].as_py(), found["max"].as_py()
    if low == 0.0:  # the two zeros are equal, so Arrow may return either: the bounds cover both
        low = -0.0 if np.signbit(numbers.filter(pc.equal(numbers, 0.0)).to_numpy()).any() else 0.0
    return low, 0.0 if high == 0.0 else high
