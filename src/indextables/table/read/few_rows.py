"""A handful of rows of several splits: read as plain values, and made into columns once for all of them.

Columns of three rows cost as much as columns of thirty, and so does a batch. So few rows, as most searches find, are put together
before they become Arrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa

from indextables.split.index.row_numbers import RowNumbers
from indextables.split.reader import SplitReader
from indextables.split.rows.projection import Shape
from indextables.split.rows.stored_types import from_stored, stored_type

FEW: Final = 100
"""Rows that are sooner read than another thread is woken."""

PlainRow: TypeAlias = tuple[Shape, dict[str, Any]]
"""The values that its split has stored, and what they are part of."""


def plain_rows(
    picked: Iterable[tuple[SplitReader, Sequence[int] | RowNumbers]], names: Sequence[str]
) -> list[PlainRow] | None:
    """Rows of some splits, by their numbers, which ascend; None where a split has its rows in another way."""
    rows: list[PlainRow] = []
    for split, numbers in picked:
        found = split.values(numbers, names)
        if found is None or (rows and rows[0][0].stored != found[0].stored):
            return None
        shape, some = found
        rows += [(shape, values) for values in some]
    return rows


def plain_batch(rows: Sequence[PlainRow], schema: pa.Schema) -> pa.RecordBatch:
    """These rows, of which there is at least one, as a batch of this schema."""
    stored = rows[0][0].stored
    kinds = [pa.field(name, stored_type(schema.field(name).type, name)) for name in stored]
    read = dict(zip(stored, pa.array([values for _, values in rows], pa.struct(kinds)).flatten(), strict=True))
    columns = [
        from_stored(read[field.name], field.type)
        if field.name in read
        else pa.array([shape.constants[field.name] for shape, _ in rows], field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


__all__ = ["FEW", "PlainRow", "plain_batch", "plain_rows"]
