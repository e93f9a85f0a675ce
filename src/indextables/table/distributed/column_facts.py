"""What the log knows of a column of some files: its least and greatest value, whether it has nulls, how many different values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.predicate import Column
from indextables.core.predicate.bounds import VectorBounds, VectorValues
from indextables.log.pruning.file_pruning import column_bounds
from indextables.table.handle import TableHandle


@dataclass(frozen=True)
class ColumnFacts:
    """Facts of a column. Values lie between the bounds; rows that a filter leaves out may have been the ones at the bounds."""

    least: Any
    greatest: Any
    nulls: int | None
    """0 for no nulls; None where the log does not know."""
    different: int | None
    """How many different values there are; None where the log does not know."""


def column_facts(handle: TableHandle, files: pa.Table, name: str) -> ColumnFacts | None:
    """The facts of a column of numbers, dates or times; None for other columns, and where a file does not say its bounds."""
    kind = handle.schema.field(name).type
    if not files.num_rows or not _is_ordered(kind):
        return None
    known = column_bounds(files, Column((name,), kind), handle.schema, handle.partition_columns)
    if isinstance(known, VectorBounds):
        return _within(known)
    if not pc.all(known.known).as_py():
        return None
    return ColumnFacts(
        *_ends(known.values, known.values),
        nulls=None if known.values.null_count else 0,
        different=pc.count_distinct(known.values).as_py(),
    )


def partition_keys(handle: TableHandle, files: pa.Table) -> pa.Table | None:
    """The partition values of files, a row for a file; None where a value cannot be read."""
    columns = {}
    for name in handle.partition_columns:
        column = Column((name,), handle.schema.field(name).type)
        known = column_bounds(files, column, handle.schema, handle.partition_columns)
        if not isinstance(known, VectorValues) or not pc.all(known.known, min_count=0).as_py():
            return None
        columns[name] = known.values
    return pa.table(columns)


def _within(known: VectorBounds) -> ColumnFacts | None:
    if known.min is None or known.max is None or known.min.null_count or known.max.null_count:
        return None
    no_nulls = known.has_nulls is not None and pc.all(pc.invert(known.has_nulls), skip_nulls=False).as_py()
    return ColumnFacts(*_ends(known.min, known.max), nulls=0 if no_nulls else None, different=None)


def _ends(low: pa.Array, high: pa.Array) -> tuple[Any, Any]:
    return pc.min(low).as_py(), pc.max(high).as_py()


def _is_ordered(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_decimal(kind) or types.is_date(kind) or types.is_timestamp(kind))


__all__ = ["ColumnFacts", "column_facts", "partition_keys"]
