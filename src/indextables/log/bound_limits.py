"""Statistics that the log writes: which bounds are kept, and how long.

Bounds make every entry of the log larger, so only the first columns have them (or those that the table lists), and long
texts are cut (`core.stats` says how a cut stays correct).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from indextables.core.bound_texts import truncated_maximum, truncated_minimum
from indextables.core.options import (
    DATA_SKIPPING_NUM_INDEXED_COLS,
    DATA_SKIPPING_STATS_COLUMNS,
    STATS_TRUNCATION_ENABLED,
    STATS_TRUNCATION_MAX_LENGTH,
    Options,
)
from indextables.core.values import is_text


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
        self.columns = frozenset(field.name for field in fields)

    @property
    def length(self) -> int | None:
        """The characters that long texts are cut to. None: they are not."""
        return self._length

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
    """The bounds of a file as the log keeps them. For many files, make a `StatsLimits` once."""
    limits = StatsLimits(schema, partition_columns, options)
    return limits.minima(min_values), limits.maxima(max_values)
