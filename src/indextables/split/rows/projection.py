"""Rows of a split as rows of the table: a table may have columns that the split does not store.

    stored columns ── Rows ──▶ batch ── Projection.complete ──▶ batch with all columns of the table that are needed

`ColumnAdapter` decides for each column of the table where its values come from. `Projection` is that decision for the columns of
one question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from indextables.core.arrow_values import scalar_of
from indextables.core.errors import SplitError
from indextables.core.runtime.cached_property import cached_property
from indextables.split.rows.row_reader import empty_columns

MOST_PROJECTIONS: Final = 32
"""Projections that one reader keeps, so that the same columns are worked out once. A process keeps a thousand readers."""


@dataclass(frozen=True)
class Projection:
    """The columns of the table that are needed, and which of them are read from the split."""

    schema: pa.Schema
    """All columns of the result, in their order."""
    stored: tuple[str, ...]
    """The columns among them that are read, in their order."""
    constants: Mapping[str, pa.Scalar]
    """The columns that have one value in all rows of the split. They are not read."""

    def complete(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch of stored columns with all columns of `schema`. Other columns of the batch are dropped."""
        rows = batch.num_rows
        if not len(self.schema):
            return batch if not batch.num_columns else empty_columns(rows)
        if batch.num_columns != len(self.stored):  # a filter needed the others
            batch = batch.select(list(self.stored))
        columns = batch.columns
        for place, value in self._constant_places:
            columns.insert(place, pa.repeat(value, rows) if value.is_valid else pa.nulls(rows, value.type))
        if any(column.type != field.type for column, field in zip(columns, self.schema, strict=True)):
            return pa.RecordBatch.from_arrays(columns, names=self.schema.names)  # texts that come with a dictionary
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    @cached_property
    def _constant_places(self) -> list[tuple[int, pa.Scalar]]:
        """The columns that are not read, as places in `schema` and values."""
        fields = enumerate(self.schema.names)
        return [(place, self.constants[name]) for place, name in fields if name in self.constants]


@dataclass(frozen=True)
class ColumnAdapter:
    """From the columns that a split stores to the columns of its table.

    A column of the table is one of three:

    - *constant*: a partition column, with the split's partition value in all rows;
    - *missing*: a column that the table got after the split was written, null in all rows;
    - *stored*: a column of the row store, which must have exactly the table's type.

    Everything else raises SplitError: another type in the row store, and a missing column that may not be null.
    """

    table_schema: pa.Schema
    stored_schema: pa.Schema
    partition_values: Mapping[str, pa.Scalar]
    split: str
    """The place of the split, for messages."""
    projections: dict[tuple[str, ...], Projection] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Projections that are kept, by their columns, at most `MOST_PROJECTIONS`."""

    @cached_property
    def missing(self) -> dict[str, pa.Scalar]:
        """The columns that the table got after the split was written, each with its null. Raises SplitError."""
        missing: dict[str, pa.Scalar] = {}
        for column in self.table_schema:
            place = self.stored_schema.get_field_index(column.name)
            if place >= 0:
                self._check_type(column, self.stored_schema.field(place))
            elif column.name not in self.partition_values:
                missing[column.name] = self._null(column)
        return missing

    @cached_property
    def constants(self) -> dict[str, pa.Scalar]:
        """The missing columns and the partition columns, which have one value in all rows. Raises SplitError."""
        return {**self.missing, **self.partition_values}

    def projection(self, columns: Sequence[str]) -> Projection:
        """The projection to these columns of the table, in this order. Raises SplitError."""
        names = tuple(columns)
        projection = self.projections.get(names)
        if projection is None:
            schema = pa.schema([self.table_schema.field(name) for name in names])
            stored = tuple(name for name in names if name not in self.constants)
            if len(self.projections) >= MOST_PROJECTIONS:
                self.projections.clear()
            projection = self.projections[names] = Projection(schema, stored, self.constants)
        return projection

    def _check_type(self, column: pa.Field, stored: pa.Field) -> None:
        if stored.type != column.type:
            raise SplitError(
                f"{self.split} has the column {column.name} as {stored.type}, the table has it as {column.type}",
                split=self.split,
                column=column.name,
            )

    def _null(self, column: pa.Field) -> pa.Scalar:
        if not column.nullable:
            raise SplitError(
                f"{self.split} has no column {column.name}, which may not be null in the table",
                split=self.split,
                column=column.name,
            )
        return scalar_of(None, column.type)


__all__ = ["ColumnAdapter", "Projection"]
