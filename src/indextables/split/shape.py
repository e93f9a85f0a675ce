"""Batches of a split as batches of the table: what is the same in all rows is put in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from indextables.split.rows import empty_columns


@dataclass(frozen=True)
class Shape:
    """Which columns are wanted, and which of them are read."""

    schema: pa.Schema
    stored: tuple[str, ...]
    constants: Mapping[str, pa.Scalar]

    def completed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The same rows with all columns, in their order."""
        if not len(self.schema):
            return batch if not batch.num_columns else empty_columns(batch.num_rows)
        columns = [
            batch.column(field.name) if field.name not in self.constants else self._repeated(field, batch.num_rows)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _repeated(self, field: pa.Field, rows: int) -> Any:
        value = self.constants[field.name]
        return pa.repeat(value, rows) if value.is_valid else pa.nulls(rows, field.type)
