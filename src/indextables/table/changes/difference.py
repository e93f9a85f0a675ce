"""The difference of two multisets of rows, by their hashes: rows that are on both sides cancel each other, one for one.

    removed   a a a b c           a row is three times on one side and once on the other: two of it remain
    added     a b b
    remain    a a c  |  b

Of equal rows the last ones remain, in the order of the files: so the difference is the same each time.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from indextables.table.changes.hash_store import HashStore, RowNumbers, Side
from indextables.table.changes.row_hashes import Hashes

_Places: TypeAlias = npt.NDArray[np.int64]
"""Where hashes are in a list of distinct ones."""
_SIDES: tuple[Side, Side] = (0, 1)


class RowMarks:
    """Rows of one side that are marked: one bit for each row, so that a hundred million rows take 12 MB."""

    def __init__(self, rows: int) -> None:
        self._bits = np.zeros(-(-rows // 8), np.uint8)

    def mark(self, rows: RowNumbers) -> None:
        """Mark some rows."""
        np.bitwise_or.at(self._bits, rows >> 3, np.left_shift(1, rows & 7).astype(np.uint8))

    def between(self, begin: int, end: int) -> RowNumbers:
        """The marked rows from `begin` to before `end`, counted from `begin` on."""
        first = begin // 8
        bits = np.unpackbits(self._bits[first : -(-end // 8)], bitorder="little")
        return np.flatnonzero(bits[begin - 8 * first : end - 8 * first]).astype(np.int64)


def remaining(hashes: HashStore) -> tuple[RowMarks, RowMarks]:
    """The rows of each side that no row of the other side cancels."""
    marks = RowMarks(hashes.rows[0]), RowMarks(hashes.rows[1])
    for bucket in range(hashes.buckets):
        counts = _Counts()
        for side in _SIDES:
            for chunk, _ in hashes.chunks(bucket, side):
                counts.add(side, chunk)
        for side in _SIDES:
            others = counts.rows[1 - side]
            seen = np.zeros_like(others)
            for chunk, numbers in hashes.chunks(bucket, side):
                places = counts.places(chunk)
                ranks = seen[places] + _ranks(places)
                marks[side].mark(numbers[ranks >= others[places]])
                seen += np.bincount(places, minlength=len(seen))
    return marks


class _Counts:
    """How often each hash is on each side."""

    def __init__(self) -> None:
        self.hashes: Hashes = np.empty((0, 2), np.uint64)
        """Distinct hashes, sorted."""
        self.rows: list[_Places] = [np.empty(0, np.int64)] * 2
        """For each side, how many rows have each of the hashes."""

    def add(self, side: Side, hashes: Hashes) -> None:
        """Count the rows of a chunk."""
        known = len(self.hashes)
        self.hashes, places = _distinct(np.concatenate([self.hashes, hashes]))
        for each in _SIDES:
            rows = np.zeros(len(self.hashes), np.int64)
            rows[places[:known]] = self.rows[each]
            self.rows[each] = rows
        self.rows[side] += np.bincount(places[known:], minlength=len(self.hashes))

    def places(self, hashes: Hashes) -> _Places:
        """Where some hashes, which were all counted, are in `hashes`."""
        return _distinct(np.concatenate([self.hashes, hashes]))[1][len(self.hashes) :]


def _distinct(hashes: Hashes) -> tuple[Hashes, _Places]:
    """The distinct hashes, sorted, and where each of the given ones is among them."""
    if not len(hashes):
        return hashes, np.empty(0, np.int64)
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    ordered = hashes[order]
    is_new = np.ones(len(ordered), np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    places = np.empty(len(hashes), np.int64)
    places[order] = np.cumsum(is_new) - 1
    return ordered[is_new], places


def _ranks(places: _Places) -> _Places:
    """For each entry, how many entries before it are equal to it."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.searchsorted(ordered, ordered)
    ranks = np.empty(len(places), np.int64)
    ranks[order] = np.arange(len(places)) - starts
    return ranks


__all__ = ["RowMarks", "remaining"]
