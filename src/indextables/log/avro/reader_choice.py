"""Which reader a manifest is read by. See `manifest_readers.py` for the readers."""

from __future__ import annotations

from enum import Enum, auto

FEW_ENTRIES = 70
"""Up to this many entries are read one by one: numpy takes as long for one entry as for this many, about 1 ms for all fields."""
SMALL_MANIFEST = 1000
"""Up to this many entries are read on the caller's thread and never by DataFusion: handing work to threads costs more than they
save, and DataFusion takes 43 ms to load and a temporary file for each call."""
ROWS_PER_THREAD = 22_000
"""Entries that one thread decodes, about 20 ms of work. A manifest of 50,000 entries is read by three threads, one of 70,000 by
four: two processors then end together."""


class Reader(Enum):
    """The readers, the reference first."""

    ONE_BY_ONE = auto()
    COLUMNS = auto()
    DATAFUSION = auto()


def choose_reader(entries: int, *, by_length: bool, datafusion: bool) -> Reader:
    """The reader for a manifest of so many entries.

    `by_length`: the header notes the lengths of the records, and all fields are of kinds that the column reader knows.
    `datafusion`: DataFusion can be used in this process.
    """
    if by_length and entries > FEW_ENTRIES:
        return Reader.COLUMNS
    if datafusion and entries > SMALL_MANIFEST:
        return Reader.DATAFUSION
    return Reader.ONE_BY_ONE
