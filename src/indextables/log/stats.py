"""Statistics that the log writes: bounds computed from rows, and which of them are kept, and how long.

Bounds make every entry of the log larger, so only the first columns have them (or those that the table lists), and long
texts are cut. A cut must stay correct for readers that compare plainly: a minimum becomes a prefix, which is never above
its text; a maximum is rounded **up** to a short text above everything that begins as it did, or left out where there is
none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.options import (
    DATA_SKIPPING_NUM_INDEXED_COLS,
    DATA_SKIPPING_STATS_COLUMNS,
    STATS_TRUNCATION_ENABLED,
    STATS_TRUNCATION_MAX_LENGTH,
    Options,
)
from indextables.core.values import has_text_form, is_text, timestamp_text, to_text

_LAST_CODE_POINT: Final = 0x10FFFF
_DAY: Final = 86_400_000_000


class StatsLimits:
    """Which bounds a table keeps: of the indexed columns only, long texts cut.

    Partition columns keep theirs, uncut, and do not count among the first columns. Names match in any letter case.
    """

    def __init__(self, schema: pa.Schema, partition_columns: Sequence[str], options: Options) -> None:
        self._partitions = {name.lower() for name in partition_columns}
        self._length = options[STATS_TRUNCATION_MAX_LENGTH] if options[STATS_TRUNCATION_ENABLED] else None
        fields = [field for field in schema if field.name.lower() not in self._partitions]
        listed, limit = options[DATA_SKIPPING_STATS_COLUMNS], options[DATA_SKIPPING_NUM_INDEXED_COLS]
        if listed is not None:
            chosen = {name.lower() for name in listed}
            fields = [field for field in fields if field.name.lower() in chosen]
        elif limit >= 0:
            fields = fields[:limit]
        self._is_text = {field.name.lower(): is_text(field.type) for field in fields}

    def minima(self, values: Mapping[str, str | None] | None) -> dict[str, str] | None:
        """The minima to write. None if nothing is left."""
        return self._limited(values, truncated_minimum)

    def maxima(self, values: Mapping[str, str | None] | None) -> dict[str, str] | None:
        """The maxima to write. None if nothing is left."""
        return self._limited(values, truncated_maximum)

    def _limited(
        self, values: Mapping[str, str | None] | None, truncated: Callable[[str, int], str | None]
    ) -> dict[str, str] | None:
        kept: dict[str, str] = {}
        for name, text in (values or {}).items():
            key = name.lower()
            if text is None or (key not in self._is_text and key not in self._partitions):
                continue
            short: str | None = text
            if self._length is not None and self._is_text.get(key, False):
                short = truncated(text, self._length)
            if short is not None:
                kept[name] = short
        return kept or None


def limit_stats(
    min_values: Mapping[str, str | None] | None,
    max_values: Mapping[str, str | None] | None,
    *,
    schema: pa.Schema,
    partition_columns: Sequence[str],
    options: Options,
) -> tuple[dict[str, str] | None, dict[str, str] | None]:
    """One file's bounds as they are written. For many files, `StatsLimits` settles the columns once."""
    limits = StatsLimits(schema, partition_columns, options)
    return limits.minima(min_values), limits.maxima(max_values)


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
        low, high = _bounds(values, field.type)
        if low is not None:
            minima[field.name] = low
        if high is not None:
            maxima[field.name] = high
    return minima, maxima, null_counts


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


def _bounds(values: Any, arrow_type: pa.DataType) -> tuple[str | None, str | None]:
    if is_text(arrow_type):
        values = values.cast(pa.large_string())
    elif values.type != arrow_type:
        values = values.cast(arrow_type)
    if pa.types.is_floating(arrow_type):
        return _float_bounds(values, arrow_type)
    found = pc.min_max(values)
    low, high = found["min"], found["max"]
    if pa.types.is_timestamp(arrow_type) or pa.types.is_date32(arrow_type):
        return _time_text(low, arrow_type), _time_text(high, arrow_type)
    return to_text(low.as_py(), arrow_type), to_text(high.as_py(), arrow_type)


def _time_text(scalar: Any, arrow_type: pa.DataType) -> str | None:
    """The text of a date or timestamp that may lie outside the years that Python knows."""
    if not scalar.is_valid:
        return None
    if pa.types.is_timestamp(arrow_type):
        return timestamp_text(scalar.value, arrow_type)
    text = timestamp_text(scalar.value * _DAY, pa.timestamp("us"))
    return None if text is None else text[:10]


def _float_bounds(values: Any, arrow_type: pa.DataType) -> tuple[str | None, str | None]:
    numbers = values.filter(pc.invert(pc.is_nan(values)))
    found = pc.min_max(numbers)
    low, high = found["min"].as_py(), found["max"].as_py()
    if low == 0.0:  # the two zeros are equal, so Arrow may return either: the bounds cover both
        low = -0.0 if np.signbit(numbers.filter(pc.equal(numbers, 0.0)).to_numpy()).any() else 0.0
    return to_text(low, arrow_type), to_text(0.0 if high == 0.0 else high, arrow_type)
