"""`RowSource`: what the package asks of the rows of a split. `Rows`, over Vortex files, is the one implementation."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa

from indextables.core.predicate import Predicate


class RowSource(Protocol):
    """The rows of one split, numbered from 0 in their order. Every method may be called from many threads at once.

    Contract for implementers:

    - Values come in exactly the types of `schema`, except where a method says "in its stored type".
    - Row numbers are integers, strictly increasing, of rows that exist. A method that is given others raises SplitError.
    - A column that is not in `schema` raises SplitError.
    - Bytes are verified before a value of them is returned. A method raises CorruptSplit for damage, ObjectNotFound where the
      split is gone, StorageError where the store fails, and nothing of the library beneath.
    """

    @property
    def schema(self) -> pa.Schema:
        """The columns that are stored, in the types of the table that the split was written for."""

    def __len__(self) -> int:
        """The number of rows."""

    def open(self) -> None:
        """Open the files of the rows, so that the first question finds their layout in memory. No row is read."""

    def take(self, indices: Any, columns: Sequence[str]) -> pa.Table:
        """The rows with these numbers, in their order."""

    def batches(self, indices: Any, columns: Sequence[str]) -> list[pa.RecordBatch]:
        """The rows of `take` as batches, as the implementation has them. No batch is empty."""

    def values(self, indices: Any, columns: Sequence[str]) -> list[dict[str, Any]] | None:
        """A few rows as Python values of the stored types; None where `take` is the better way."""

    def scan(
        self,
        columns: Sequence[str],
        *,
        predicate: Predicate | None = ...,
        batch_rows: int = ...,
        encoded: Collection[str] = ...,
    ) -> Iterator[pa.RecordBatch]:
        """All rows, or those for which the predicate is true, in their order, in batches of about `batch_rows`. None is empty.

        Columns of texts that are `encoded` come as Arrow dictionaries. The predicate does not ask for these columns.
        """

    def column(self, column: str) -> pa.Array:
        """A whole column, in its stored type."""


__all__ = ["RowSource"]
