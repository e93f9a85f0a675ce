"""The numbers that decide how a split is read. They decide about speed only: every choice finds the same rows.

Each number has its unit and its reason in the sentences below it, and its measurement, or the word that the number is a guess.
Where the sentences give milliseconds, these are CPU time for one split of 200,000 log rows with five columns (number, level,
host, message, size) on a local disk.

`COSTS` is what a process uses. `OpenSplits(costs=…)` opens splits under other costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Costs:
    """What the ways to read a split cost against each other."""

    small_split_rows: int = 8_192
    """Rows. A split of at most this number of rows is scanned: Vortex decodes 8,192 rows as one block, so knowing which of
    them are needed saves nothing."""
    index_is_free: bool = False
    """True if opening an index costs nothing, so that every index which knows a column of the predicate is asked. False: an
    index that is not open may be a download as large as the rows, and is opened only if it probably finds few rows."""
    most_share: float = 0.25
    """Share of a split's rows. Up to this share rows are read by number; above it a scan of all rows is faster. A scan took
    10 ms; a quarter of the rows took 6 ms by number, after an index had listed their numbers in about as long."""
    few_rows: int = 100
    """Rows. Up to this number of rows is read by number, whatever share of the split it is: 100 rows took 0.8 ms."""
    hopeless_times: float = 2.0
    """Times `most_share`. If the assumed share of an index query is above this multiple and its bound on rows does not say
    otherwise, the index is not searched. Assumed shares are guesses, so a guess of twice the limit is believed, no less."""
    count_first_times: float = 0.1
    """Times `most_share`. If the assumed share of an index query is above this multiple, its rows are counted before they are
    listed: counting took a fifth to a thirtieth of the time of listing (4,000 to 66,000 rows), which may be in vain."""
    scan_batch_bytes: int = 1 << 26
    """Bytes. A scan holds about this much of uncompressed rows at a time: 64 MiB, so that eight scans side by side fit into the
    memory of a small executor. A guess: narrow rows reach their largest batches far below."""
    least_batch_rows: int = 256
    """Rows. A batch of a scan has at least this number of rows, however wide a row is: each batch costs 0.12 ms, so that a scan
    in batches of 256 took ten times as long as one in batches of 65,536."""
    lookup_bytes: int = 1 << 27
    """Bytes. All columns that are kept for look-ups together take at most this much memory: 128 MiB, the numbers of sixteen
    million rows. A guess of what a process can spare; the row cache is larger."""
    lookup_column_share: float = 0.25
    """Share of `lookup_bytes`. A column that would take more than this share of the memory is not read for look-ups: one
    column would drive most others out. A guess."""
    lookup_few_rows: int = 64
    """Rows. If a look-up leaves at most this number of rows, the rest of the predicate is evaluated on these rows and no other
    column is looked up: to read 64 rows takes less than 1 ms."""
    lookup_share: float = 1 / 64
    """Share of a split's rows. If a part of the predicate cannot be looked up in a column, rows from a look-up are read only up
    to this share: above it the index may find fewer rows."""
    most_ranges: int = 4
    """Ranges. At most this number of ranges over a fast field stands for a list of values: one range takes 0.1 ms for 100,000
    rows, however few of them match."""
    most_scans: int = 16
    """Ranges. A disjunction with more ranges over fast fields than this is evaluated on the rows: reading the columns is
    faster than 16 ranges."""
    listed_terms: int = 1_000
    """Terms. The terms of a string column are listed, and any predicate evaluated on them, if there are at most this number:
    listing took 0.5 µs a term, 2.3 ms for 5,000 terms."""
    counted_terms: int = 256
    """Terms. The rows of at most this number of terms are counted while planning, at 0.7 µs a term."""
    longest_prefix: int = 100
    """Characters. A longer prefix is cut to this length and its rows are checked: Tantivy builds an automaton of the prefix."""
    longest_at_path: int = 1_000
    """Characters. A longer text at a JSON path is not cut into words while planning; the rows are checked instead: nobody looks
    for such a text word by word. A guess."""
    most_words: int = 8
    """Words. Of the words that a row must have, the rarest ones, at most this number, are asked of the index: more of them
    hardly leave fewer rows."""
    most_share_between: float = 0.5
    """Share of a split's rows. If a list of values, joined to `most_ranges` ranges, spans more than this share of the column's
    bounds, the list is evaluated on the rows: ranges that leave half of the rows out save less than their rows cost to list. A
    guess between `most_share` and all rows."""
    assumed_prefix_share: float = 0.01
    """Share of a split's rows that a prefix probably has. There are no statistics of prefixes, so this is a guess: 1%."""
    assumed_range_share: float = 0.1
    """Share of a split's rows that a range probably has if the footer has no bounds of the column. A guess: a tenth."""
    assumed_present_share: float = 0.9
    """Share of a split's rows that probably have a value if the footer has no null count. A guess: columns are mostly filled."""
    most_assumed_share: float = 0.2
    """Share of a split's rows. An assumed share of a range is cut to this number, below `most_share`: few rows may lie in a wide
    range, so that bounds alone never rule the index out."""

    def are_picked_from_a_scan(self, found: int, rows: int) -> bool:
        """Whether this number of rows of a split is read faster by a scan of all its rows than by their numbers."""
        return found > rows * self.most_share


COSTS: Final = Costs()
"""The costs of this process, as measured."""

__all__ = ["COSTS", "Costs"]
