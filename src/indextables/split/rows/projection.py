"""Batches of a split as batches of the table: what is the same in all rows is put in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from indextables.core.runtime.cached_property import cached_property
from indextables.split.rows.row_reader import empty_columns


@dataclass(frozen=True)
class Shape:
    """Which columns are wanted, and which of them are read."""

    schema: pa.Schema
    stored: tuple[str, ...]
    constants: Mapping[str, pa.Scalar]

    def completed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The same rows with all columns, in their order."""
        rows = batch.num_rows
        if not len(self.schema):
            return batch if not batch.num_columns else empty_columns(rows)
        if batch.num_columns != len(self.stored):  # some were only read to be looked at
            batch = batch.select(list(self.stored))
        columns = batch.columns
        for place, value in self._others:
            columns.insert(place, pa.repeat(value, rows) if value.is_valid else pa.nulls(rows, value.type))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    @cached_property
    def _others(self) -> list[tuple[int, pa.Scalar]]:
        """What is put in, and where."""
        fields = enumerate(self.schema.names)
        return [(place, self.constants[name]) for place, name in fields if name in self.constants]
