"""Which files may hold one of the first rows in the order of a column, by what the log says about each file.

    column_bounds ──▶ file_ends: between which two rows the rows of a file lie ──▶ hold_first

The rules of `file_pruning` hold here, too: what is not known keeps its file. A file whose nulls are not counted may have nulls,
and a column of floats may have NaN in every file, which comes after all numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of_numbers, numpy_of, scalar_of
from indextables.core.predicate import Column, VectorBounds, VectorValues
from indextables.core.row_order import (
    Mask,
    Numbers,
    Parts,
    SortKey,
    compare_rows,
    first_places,
    joined,
    key_parts,
    row_at,
)
from indextables.log.pruning.file_pruning import column_bounds


@dataclass(frozen=True)
class FileEnds:
    """Between which two keys the rows of each file lie, both included. A key is that of the order's first column."""

    first: Parts
    last: Parts

    def take(self, places: Any) -> FileEnds:
        """The ends of some files: by their places, or by a mask."""
        return FileEnds(tuple(part.take(places) for part in self.first), tuple(part.take(places) for part in self.last))


def file_ends(files: pa.Table, key: SortKey, schema: pa.Schema, partition_columns: tuple[str, ...]) -> FileEnds:
    """The ends of the files, in the order of the files."""
    kind = schema.field(key.column).type
    known = column_bounds(files, Column((key.column,), kind), schema, partition_columns)
    bounds = _constant(known) if isinstance(known, VectorValues) else known
    low, high = (_array(side, kind, files.num_rows) for side in (bounds.min, bounds.max))
    low, high = _without_contradictions(low, high, key.column)
    nulls = _known(bounds.has_nulls, True, files.num_rows) & schema.field(key.column).nullable
    values = ~_known(bounds.all_null, False, files.num_rows)
    if pa.types.is_floating(kind) and not isinstance(known, VectorValues):
        low = pc.if_else(pc.is_nan(low), scalar_of(None, kind), low)  # some writer's idea of a minimum
        high = pa.nulls(files.num_rows, kind)  # NaN comes after the maximum
    start, end = (high, low) if key.descending else (low, high)
    return FileEnds(_first_end(start, nulls, values, key), _last_end(end, nulls, values, key))


def hold_first(ends: FileEnds, rows: npt.NDArray[np.int64], count: int) -> Mask:
    """Which files may hold one of the first `count` rows, if `rows` are the rows of each file, and all of them count."""
    order = first_places(ends.last, len(rows))
    totals = np.cumsum(rows[order])
    if not len(rows) or totals[-1] < count:
        return np.ones(len(rows), np.bool_)
    before, same = compare_rows(ends.first, row_at(ends.last, int(order[np.searchsorted(totals, count)])))
    return before | same


def _first_end(start: pa.Array, nulls: Mask, values: Mask, key: SortKey) -> Parts:
    """What no row of a file comes before. Where the first value is not known, the end is before all values."""
    known = numpy_of(start.is_valid())
    if key.nulls_lead:
        ranks = np.where(nulls | ~known, 0, 1)
        return _parts(start, ranks == 1, ranks, key)
    ranks = np.where(values, np.where(known, 0, -1), 1)
    return _parts(start, ranks == 0, ranks, key)


def _last_end(end: pa.Array, nulls: Mask, values: Mask, key: SortKey) -> Parts:
    """What no row of a file comes after. Where the last value is not known, the end is after all values."""
    known = numpy_of(end.is_valid())
    if key.nulls_lead:
        ranks = np.where(values, np.where(known, 1, 2), 0)
        return _parts(end, ranks == 1, ranks, key)
    ranks = np.where(nulls | ~known, 1, 0)
    return _parts(end, ranks == 0, ranks, key)


def _parts(side: pa.Array, used: Mask, ranks: Any, key: SortKey) -> Parts:
    """The parts of bounds: a value where it is used, else only its rank beside nulls (0 and 1, in the order of the key)."""
    _, *others = key_parts(pc.if_else(array_of_numbers(used), side, scalar_of(None, side.type)), key)
    return Numbers(ranks.astype(np.int8)), *others


def _constant(known: VectorValues) -> VectorBounds:
    """A partition column's value as both bounds. A value that could not be read is unknown, an absent one is null."""
    null = known.values.is_null()
    if known.known is None:
        return VectorBounds(min=known.values, max=known.values, has_nulls=null, all_null=null)
    null = pc.if_else(known.known, null, scalar_of(None, pa.bool_()))
    return VectorBounds(min=known.values, max=known.values, has_nulls=null, all_null=null)


def _array(side: Any, kind: pa.DataType, length: int) -> pa.Array:
    if side is None:
        return pa.nulls(length, kind)
    return side.combine_chunks() if isinstance(side, pa.ChunkedArray) else side


def _without_contradictions(low: pa.Array, high: pa.Array, name: str) -> tuple[pa.Array, pa.Array]:
    """The bounds, without those of files whose minimum is above their maximum."""
    both = numpy_of(pc.and_(low.is_valid(), high.is_valid()))
    wrong, same = np.zeros(len(both), np.bool_), both
    sides = zip(key_parts(low, SortKey(name)), key_parts(high, SortKey(name)), strict=True)
    for least, greatest in islice(sides, 1, None):
        ranks = joined([(least,), (greatest,)])[0].ranks()
        lows, highs = ranks[: len(both)], ranks[len(both) :]
        wrong, same = wrong | (same & (lows > highs)), same & (lows == highs)
    if not wrong.any():
        return low, high
    usable = array_of_numbers(~wrong)
    nothing_of = [scalar_of(None, side.type) for side in (low, high)]
    return pc.if_else(usable, low, nothing_of[0]), pc.if_else(usable, high, nothing_of[1])


def _known(facts: Any, otherwise: bool, length: int) -> Mask:
    if facts is None:
        return np.full(length, otherwise)
    return numpy_of(_array(facts, pa.bool_(), length).fill_null(scalar_of(otherwise, pa.bool_())))
