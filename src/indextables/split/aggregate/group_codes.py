"""`GroupCodes`: the groups of some rows, numbered from 0, so that numpy can count and add up by number.

    key columns ──▶ dictionary of each ──▶ one number a row ──▶ add.at: rows, counts and sums of each group

Arrow's hash of all keys and all inputs at once takes five times as long for the same groups. `np.bincount` takes 1.9 ms for two
million numbers where `np.add.at` takes 1.3, because it looks for the least and the greatest number first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of_numbers, distinct_codes, numpy_of, scalar_of
from indextables.split.aggregate.arrow_groups import grouped, sorted_by

Codes = npt.NDArray[np.int64]

RowCodes = npt.NDArray[np.int32] | npt.NDArray[np.int64]
"""The number of each row's group: Arrow's own, where one key has a dictionary. Copies of two million cost 2 ms in page faults."""

_MOST_CELLS: Final = 1 << 20
"""Combinations of groups and values up to which those that occur are found by counting; more are sorted."""

_MOST_GAPS: Final = 4
"""Flags for each value up to which whole numbers are marked: a flag is a byte, a hash takes some 20 ns."""


@dataclass(frozen=True)
class GroupCodes:
    """The groups of some rows. Without keys all rows are one group."""

    keys: Mapping[str, pa.Array]
    """The values of the keys, one a group."""
    codes: RowCodes | None
    """The number of each row's group; None where there is one group."""
    groups: int
    rows: int
    counts: Codes
    """The rows of each group."""

    @classmethod
    def of(cls, keys: Mapping[str, pa.Array], rows: int) -> GroupCodes:
        """The groups of rows with these keys, of which there is at least one, and at least one row."""
        (numbers, first), *others = [_encoded(values) for values in keys.values()]
        codes, places, counts = _without_gaps(numbers, len(first))
        chosen = [first.take(array_of_numbers(places))]
        for numbers, dictionary in others:
            cells = len(places) * len(dictionary)
            codes, places, counts = _without_gaps(codes.astype(np.int64) * len(dictionary) + numbers, cells)
            groups, values = np.divmod(places, len(dictionary))
            chosen = [each.take(array_of_numbers(groups)) for each in chosen]
            chosen.append(dictionary.take(array_of_numbers(values)))
        return cls(dict(zip(keys, chosen, strict=True)), codes, len(places), rows, counts)

    @classmethod
    def one(cls, name: str, rows: int) -> GroupCodes:
        """All rows as one group, whose key has no value."""
        return cls({name: pa.nulls(1, pa.int8())}, None, 1, rows, np.array([rows], np.int64))

    def count(self, valid: npt.NDArray[np.bool_] | None = None) -> Codes:
        """The rows of each group; with `valid`, those for which it is true."""
        if valid is None:
            return self.counts
        if self.codes is None:
            return np.array([np.count_nonzero(valid)], np.int64)
        return _counted(self.codes[valid], self.groups)

    def add(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The sums of each group. They are exact where no sum of any of the numbers needs more than 53 bits."""
        if self.codes is None:
            return np.array([numbers.sum()])
        return added(self.codes, numbers, self.groups)

    def total(self, values: pa.Array) -> pa.Array:
        """The sums of each group in the type of the values, which Arrow adds up; null where a group has no value."""
        return self._arrow(values, "sum")

    def extreme(self, values: pa.Array, function: str) -> pa.Array:
        """The least (`min`) or the greatest (`max`) value of each group; null where a group has none."""
        return self._arrow(values, function)

    def _arrow(self, values: pa.Array, function: str) -> pa.Array:
        if self.codes is None:
            return pa.repeat(pc.call_function(function, [values]), 1)
        found = grouped(pa.table({"c": array_of_numbers(self.codes), "v": values}), ["c"], [("v", function, "found")])
        return sorted_by(found, ["c"]).column("found").combine_chunks()


def different_values(values: Any) -> pa.Array:
    """Each value once, null too. Whole numbers that lie close together are marked in a row of flags, without a hash."""
    if pa.types.is_signed_integer(values.type) and len(values) and not values.null_count:
        least, greatest = (end.as_py() for end in pc.min_max(values).values())
        if greatest - least < _MOST_GAPS * len(values):
            numbers = np.concatenate([numpy_of(chunk) for chunk in _chunks(values)]).astype(np.int64, copy=False)
            found = np.zeros(greatest - least + 1, np.bool_)
            found[numbers - least] = True
            return array_of_numbers(np.flatnonzero(found) + least).cast(values.type)
    if isinstance(values, pa.DictionaryArray):
        codes, dictionary = _encoded(values)
        occurs = np.zeros(len(dictionary), np.bool_)
        occurs[codes.astype(np.int64)] = True
        return dictionary.take(array_of_numbers(np.flatnonzero(occurs)))
    return pc.unique(values)


def added(codes: RowCodes, numbers: npt.NDArray[np.float64], groups: int) -> npt.NDArray[np.float64]:
    """The sums of the numbers of each group. Every code is below `groups`."""
    sums = np.zeros(groups)
    np.add.at(sums, codes, numbers)
    return sums


def _counted(codes: RowCodes, cells: int) -> Codes:
    """How often each number below `cells` occurs. Every code is below `cells`."""
    counts = np.zeros(cells, np.int64)
    np.add.at(counts, codes, 1)
    return counts


def plain(values: Any) -> Any:
    """Values without a dictionary."""
    return values.cast(values.type.value_type) if isinstance(values, pa.DictionaryArray) else values


def has_nulls(values: Any) -> bool:
    """Whether some value is null. The dictionary of a column may have a null too."""
    return bool(values.null_count) or (isinstance(values, pa.DictionaryArray) and bool(values.dictionary.null_count))


def _chunks(values: Any) -> list[pa.Array]:
    chunks: list[pa.Array] = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    return chunks


def _encoded(values: Any) -> tuple[RowCodes, pa.Array]:
    """A number for each value, and what each number stands for: different values, of which one may be null."""
    if not isinstance(values, pa.DictionaryArray):
        encoded = values.dictionary_encode(null_encoding="encode")
        return numpy_of(encoded.indices), encoded.dictionary
    # a dictionary may have a value twice, where it was put together, and values may be null beside it
    if not values.null_count:
        once = values.dictionary.dictionary_encode(null_encoding="encode")
        if len(once.dictionary) == len(values.dictionary):
            return numpy_of(values.indices), values.dictionary
    known = pa.concat_arrays([values.dictionary, pa.nulls(1, values.type.value_type)])
    places = numpy_of(pc.fill_null(values.indices, scalar_of(len(values.dictionary), values.indices.type)))
    once = known.dictionary_encode(null_encoding="encode")
    return numpy_of(once.indices).astype(np.int64)[places], once.dictionary


def _without_gaps(codes: RowCodes, cells: int) -> tuple[RowCodes, Codes, Codes]:
    """Numbers without gaps in place of numbers below `cells`, the number that each stands for, and how often each occurs."""
    if cells > _MOST_CELLS:
        used, numbers = distinct_codes(codes)
        return numbers, used, _counted(numbers, len(used))
    counts = _counted(codes, cells)
    used = np.flatnonzero(counts)
    if len(used) == cells:
        return codes, used, counts
    numbers = np.zeros(cells, codes.dtype)
    numbers[used] = np.arange(len(used))
    return numbers[codes], used, counts[used]


__all__ = ["Codes", "GroupCodes", "RowCodes", "added", "different_values", "has_nulls", "plain"]
