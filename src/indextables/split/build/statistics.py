"""Bounds, null counts and time range of rows that pass by in batches, as the log and the footer have them.

One extreme of each column is kept while the batches come, in the column's own order; texts are made at the end. The same
columns are asked for and the same cuts made as the log would make, so that footer and log say the same.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from indextables.core.bound_texts import bound_text, extremes, truncated_maximum, truncated_minimum
from indextables.core.values import from_text, has_text_form, is_text
from indextables.split.bundle.footer import Facts

FEW_VALUES: Final = 1_000
"""More different values of a column than this are not counted."""
_SAMPLE: Final = 1_024
"""Rows of a batch that are looked at first."""


@dataclass(frozen=True)
class Summary:
    """What the rows of a split have in common."""

    rows: int
    min_values: dict[str, str]
    max_values: dict[str, str]
    null_counts: dict[str, int]
    distinct: dict[str, int]
    """At most how many different values a string column has, where these are few."""
    uncompressed_bytes: int
    """The bytes of the rows in Arrow."""
    time_range: tuple[str, str] | None
    """The first and the last moment of the time column, None without one, without values or outside the years 1..9999."""


class Statistics:
    """Collects them. `columns` are those to keep bounds for (None: all), `length` is what long texts are cut to.

    The time range is that of `time_column`, or of the first timestamp column.
    """

    def __init__(
        self,
        schema: pa.Schema,
        *,
        columns: Collection[str] | None = None,
        length: int | None = None,
        time_column: str | None = None,
    ) -> None:
        self._length = length
        self._time = time_column if time_column is not None else _first_time(list(schema))
        self._null_counts = dict.fromkeys(schema.names, 0)
        self._bounded = {field.name for field in schema if columns is None or field.name in columns}
        self._columns = [
            _Extremes(field, length)
            for field in schema
            if has_text_form(field.type) and (field.name in self._bounded or field.name == self._time)
        ]
        self._values: dict[str, set[str]] = {field.name: set() for field in schema if is_text(field.type)}
        self._rows = 0
        self._bytes = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Count a batch in. Columns are found by name, those that the batch lacks are null."""
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        for name in self._null_counts:
            index = batch.schema.get_field_index(name)
            self._null_counts[name] += batch.num_rows if index < 0 else batch.column(index).null_count
        for column in self._columns:
            index = batch.schema.get_field_index(column.field.name)
            if index >= 0:
                column.add(batch.column(index))
        for name in list(self._values):
            index = batch.schema.get_field_index(name)
            if index >= 0 and not self._few(self._values[name], batch.column(index)):
                del self._values[name]

    def _few(self, values: set[str], column: pa.Array) -> bool:
        """Take in the values of a batch, unless there are too many."""
        for start in (0, _SAMPLE):
            part = column.slice(start, _SAMPLE if start == 0 else None).drop_null().unique()
            if len(part) + len(values) > 2 * FEW_VALUES:
                return False
            values.update(part.to_pylist())
        return len(values) <= FEW_VALUES

    def finish(self) -> Summary:
        """The statistics of everything that was added."""
        low = {column.field.name: text for column in self._columns if (text := column.minimum()) is not None}
        high = {column.field.name: text for column in self._columns if (text := column.maximum()) is not None}
        time = (low[self._time], high[self._time]) if self._time in low and self._time in high else None
        return Summary(
            rows=self._rows,
            min_values={name: text for name, text in low.items() if name in self._bounded},
            max_values={name: text for name, text in high.items() if name in self._bounded},
            null_counts=dict(self._null_counts),
            distinct={name: len(values) for name, values in self._values.items()},
            uncompressed_bytes=self._bytes,
            time_range=time,
        )


def merged_summary(footers: Sequence[Facts], schema: pa.Schema) -> Summary:
    """The statistics of the rows of several splits together, from what each of them says.

    A split without a bound, though it has values, may hold anything: then there is none for all of them.
    """
    kinds = {field.name: field.type for field in schema}
    low = {name: text for name, kind in kinds.items() if (text := _merged(footers, name, kind, least=True)) is not None}
    high = {
        name: text for name, kind in kinds.items() if (text := _merged(footers, name, kind, least=False)) is not None
    }
    return Summary(
        rows=sum(footer.rows for footer in footers),
        min_values=low,
        max_values=high,
        null_counts={
            name: sum(footer.null_counts[name] for footer in footers)
            for name in kinds
            if all(name in footer.null_counts for footer in footers)
        },
        distinct=_few_together(footers),
        uncompressed_bytes=sum(footer.uncompressed_bytes for footer in footers),
        time_range=_merged_times(footers, schema),
    )


def _few_together(footers: Sequence[Facts]) -> dict[str, int]:
    names = set.intersection(*(set(footer.distinct) for footer in footers)) if footers else set()
    sums = {name: sum(footer.distinct[name] for footer in footers) for name in sorted(names)}
    return {name: count for name, count in sums.items() if count <= FEW_VALUES}


def _merged(footers: Sequence[Facts], name: str, kind: pa.DataType, *, least: bool) -> str | None:
    if not has_text_form(kind):
        return None
    texts = [
        (footer.min_values if least else footer.max_values).get(name) for footer in footers if _has_values(footer, name)
    ]
    return _extreme(texts, kind, least=least)


def _merged_times(footers: Sequence[Facts], schema: pa.Schema) -> tuple[str, str] | None:
    time = _first_time(list(schema))
    if time is None:
        return None
    ranges = [footer.time_range or (None, None) for footer in footers if _has_values(footer, time)]
    kind = schema.field(time).type
    first = _extreme([start for start, _ in ranges], kind, least=True)
    last = _extreme([end for _, end in ranges], kind, least=False)
    return None if first is None or last is None else (first, last)


def _has_values(footer: Facts, name: str) -> bool:
    return footer.null_counts.get(name) != footer.rows


def _extreme(texts: Sequence[str | None], kind: pa.DataType, *, least: bool) -> str | None:
    """The least or the greatest of the values that texts stand for, None where one of them stands for none."""
    best: tuple[Any, str] | None = None
    for text in texts:
        value = from_text(text, kind)
        if value is None or text is None:
            return None
        if (
            best is None
            or (value < best[0] if least else value > best[0])
            or (value == best[0] == 0 and _is_negative(value) == least)
        ):
            best = (value, text)
    return None if best is None else best[1]


class _Extremes:
    """The least and the greatest value of one column so far."""

    def __init__(self, field: pa.Field, length: int | None) -> None:
        self.field = field
        self._cut = length if length is not None and is_text(field.type) else None
        self._low: Any = None
        self._high: Any = None

    def add(self, values: Any) -> None:
        low, high = extremes(values, self.field.type)
        if low is None:
            return
        if self._cut is not None:
            # One character more than is written tells a text that is cut from one that is not.
            low, high = low[: self._cut + 1], high[: self._cut + 1]
        if self._low is None or low < self._low or (low == self._low == 0 and _is_negative(low)):
            self._low = low
        if self._high is None or high > self._high:
            self._high = high

    def minimum(self) -> str | None:
        text = bound_text(self._low, self.field.type)
        return text if text is None or self._cut is None else truncated_minimum(text, self._cut)

    def maximum(self) -> str | None:
        text = bound_text(self._high, self.field.type)
        return text if text is None or self._cut is None else truncated_maximum(text, self._cut)


def _is_negative(value: Any) -> bool:
    return isinstance(value, float) and math.copysign(1.0, value) < 0


def _first_time(fields: Sequence[pa.Field]) -> str | None:
    return next((field.name for field in fields if pa.types.is_timestamp(field.type)), None)
