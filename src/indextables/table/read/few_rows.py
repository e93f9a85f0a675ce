"""A handful of rows of several splits: read as plain Python values, and made into Arrow columns once for all of them.

Columns of three rows cost as much as columns of thirty, and so does a batch. So few rows, as most searches find, are put together
before they become Arrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa

from indextables.core.arrow_values import columns_of_rows, repeated
from indextables.split.index.row_numbers import RowNumberArray
from indextables.split.reader import SplitReader
from indextables.split.rows.projection import Projection
from indextables.split.rows.stored_types import from_stored, stored_type

FEW_ROWS: Final = 100
"""At most so many rows are read on the caller's thread: waking another thread takes longer."""

FewRow: TypeAlias = tuple[Projection, dict[str, Any]]
"""A row: how the split's columns become the table's, and the values that the split has stored."""


def read_few_rows(
    picked: Iterable[tuple[SplitReader, Sequence[int] | RowNumberArray]], names: Sequence[str]
) -> list[FewRow] | None:
    """Rows of some splits by their numbers, which ascend.

    None where the splits store their columns in different ways, or one of them cannot give single values.
    """
    rows: list[FewRow] = []
    for split, numbers in picked:
        found = split.values(numbers, names)
        if found is None or (rows and rows[0][0].stored != found[0].stored):
            return None
        shape, some = found
        rows += [(shape, values) for values in some]
    return rows


def few_rows_batch(rows: Sequence[FewRow], schema: pa.Schema) -> pa.RecordBatch:
    """A batch of this schema from at least one row."""
    stored = rows[0][0].stored
    kinds = [pa.field(name, stored_type(schema.field(name).type, name)) for name in stored]
    read = dict(zip(stored, columns_of_rows([values for _, values in rows], kinds), strict=True))
    columns = [
        from_stored(read[field.name], field.type)
        if field.name in read
        else repeated([shape.constants[field.name] for shape, _ in rows], field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


__all__ = ["FEW_ROWS", "FewRow", "few_rows_batch", "read_few_rows"]
