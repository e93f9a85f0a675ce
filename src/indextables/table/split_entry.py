"""`SplitEntry`: what the log says of a split, as far as reading and merging need it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from indextables.log.file_entries import FILE_SCHEMA

ENTRY_COLUMNS: Final = ("path", "partitionValues", "size", "footerStartOffset", "numRecords")
"""The columns of the log's list of files that a `SplitEntry` is made of."""
ENTRY_SCHEMA: Final = pa.schema([FILE_SCHEMA.field(name) for name in ENTRY_COLUMNS])
_ENTRIES_AT_A_TIME: Final = 1024
"""Entries that become Python values in one step: few enough that a stream of a million files begins at once."""


@dataclass(frozen=True, slots=True)
class SplitEntry:
    """A split of a table as the log names it. A value: hashable, and equal for equal entries of the log."""

    path: str
    partition_values: tuple[tuple[str, str | None], ...]
    """Partition columns and their values as text, as the log spells them."""
    size: int | None
    """Bytes of the split."""
    footer_start: int | None
    """Where the footer begins, in bytes; None where the log does not say."""
    rows: int | None
    """None where the log does not say."""


def split_entries(files: pa.Table) -> Iterator[SplitEntry]:
    """The entries of some files, in their order."""
    chosen = files.select(ENTRY_COLUMNS)
    for start in range(0, chosen.num_rows, _ENTRIES_AT_A_TIME):
        columns = (column.to_pylist() for column in chosen.slice(start, _ENTRIES_AT_A_TIME).columns)
        for path, values, size, footer_start, rows in zip(*columns, strict=True):
            yield SplitEntry(path, tuple(values or ()), size, footer_start, rows)
