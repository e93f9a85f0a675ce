"""Rows by the numbers in one column, without the index.

Vortex hands out a column of 200,000 numbers in 0.1 ms, a fraction of what Tantivy needs for one range over a fast field; and
where nothing is here yet, a column is a small part of the download that an index is. So values, lists and narrow ranges of
whole numbers, dates and moments are looked up in the column itself. Columns that were asked for are kept, up to a bound; in one
that ascends with its rows, as numbers and times of events mostly do, a question is a binary search.

What is left of a predicate beside these is checked on the rows that were found.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.predicate import And, Column, ColumnBounds, Comparison, In, Or, Predicate, all_of
from indextables.split.index.doc_mapping import DocMapping
from indextables.split.index.row_numbers import RowNumbers
from indextables.split.plan.order_keys import HIGHEST, LOWEST, Run, run_of, whole_key
from indextables.split.plan.predicate_plan import MOST_SHARE, conjuncts, disjuncts

Integers: TypeAlias = npt.NDArray[Any]
"""Of any width."""

_MOST_BYTES: Final = 1 << 27
"""Of all columns that are kept."""
_FEW: Final = 64
"""So few rows are looked at as they are, whatever else is asked."""
_ENOUGH: Final = 1 / 64
"""If there is more to ask, rows are only looked at up to this part of all: the index may know better."""


class Numbers:
    """The values of a column, in the order of the rows."""

    def __init__(self, column: pa.Array) -> None:
        self._places: RowNumbers | None = None
        if column.null_count:
            self._places = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
            column = column.drop_null()
        self._values: Integers = column.to_numpy()
        self._ascending = bool((self._values[1:] >= self._values[:-1]).all())

    @property
    def nbytes(self) -> int:
        """What it takes to keep them."""
        return self._values.nbytes + (0 if self._places is None else self._places.nbytes)

    def rows_in(self, runs: Sequence[Run]) -> RowNumbers:
        """The numbers of the rows, ascending, whose value lies in one of the runs, which ascend and do not overlap."""
        limits = np.iinfo(self._values.dtype)
        cut = [(max(low, limits.min), min(high, limits.max)) for low, high in runs]
        bounds = np.array([run for run in cut if run[0] <= run[1]], self._values.dtype).reshape(-1, 2)
        found = self._searched(bounds) if self._ascending else np.flatnonzero(self._compared(bounds))
        return found if self._places is None else self._places[found]

    def _searched(self, bounds: Integers) -> RowNumbers:
        starts = np.searchsorted(self._values, bounds[:, 0], "left")
        lengths = np.searchsorted(self._values, bounds[:, 1], "right") - starts
        if len(starts) == 1:
            return np.arange(starts[0], starts[0] + lengths[0], dtype=np.int64)
        ends = np.cumsum(lengths)
        placed: RowNumbers = np.repeat(starts - (ends - lengths), lengths) + np.arange(lengths.sum(), dtype=np.int64)
        return placed

    def _compared(self, bounds: Integers) -> npt.NDArray[np.bool_]:
        if len(bounds) > 1 and (bounds[:, 0] == bounds[:, 1]).all():
            listed = pc.is_in(pa.array(self._values), value_set=pa.array(bounds[:, 0]))
            return np.asarray(listed.to_numpy(zero_copy_only=False), np.bool_)
        mask = np.zeros(len(self._values), np.bool_)
        for low, high in bounds:
            mask |= self._values == low if low == high else (self._values >= low) & (self._values <= high)
        return mask


class KeptNumbers:
    """The columns that were asked for last, as many as fit."""

    def __init__(self) -> None:
        self._columns: OrderedDict[Hashable, Numbers] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self._turns: dict[Hashable, threading.Lock] = {}

    def read(self, mark: Hashable, read: Callable[[], Numbers]) -> Numbers:
        """A column that is not here yet. Who asks first reads it, the others wait for that, and not for other columns."""
        with self._lock:
            turn = self._turns.setdefault(mark, threading.Lock())
        with turn:
            try:
                found = self.get(mark)
                if found is None:
                    found = read()
                    self.put(mark, found)
                return found
            finally:
                with self._lock:
                    self._turns.pop(mark, None)

    def get(self, mark: Hashable) -> Numbers | None:
        """A column, if it is here."""
        with self._lock:
            found = self._columns.get(mark)
            if found is not None:
                self._columns.move_to_end(mark)
            return found

    def put(self, mark: Hashable, column: Numbers) -> None:
        """Keep a column, and let go of others for it."""
        with self._lock:
            if mark in self._columns:
                return
            self._columns[mark] = column
            self._bytes += column.nbytes
            while self._bytes > _MOST_BYTES:
                self._bytes -= self._columns.popitem(last=False)[1].nbytes

    def __len__(self) -> int:
        return len(self._columns)


@dataclass(frozen=True)
class Columns:
    """The columns of one split that rows may be looked up in."""

    kept: KeptNumbers
    mark: Hashable
    """The split's."""
    rows: int
    mapping: DocMapping
    facts: Mapping[str, ColumnBounds]
    """What the footer says of the columns that are asked for."""
    read: Callable[[str], pa.Array]
    """A whole column, as the numbers that the row store has."""

    def look_up(self, predicate: Predicate) -> tuple[RowNumbers, Predicate] | None:
        """Rows, among them all for which a folded predicate is true, and what has to be asked of them; None for no few rows."""
        found: RowNumbers | None = None
        left: list[Predicate] = []
        for part in _parts(predicate):
            runs = None if found is not None and len(found) <= _FEW else _runs_of(part)
            rows = None if runs is None else self._rows_in(*runs)
            if rows is None:
                left.append(part)
            else:
                found = rows if found is None else np.intersect1d(found, rows, assume_unique=True)
        if found is None or (left and len(found) > max(_FEW, self.rows * _ENOUGH)):
            return None
        return found, all_of(left)

    def _rows_in(self, column: Column, runs: list[Run]) -> RowNumbers | None:
        mark = (self.mark, column.name)
        numbers = self.kept.get(mark)
        if numbers is None:
            if not self._worth_reading(column, runs):
                return None
            numbers = self.kept.read(mark, lambda: Numbers(self.read(column.name)))
        return numbers.rows_in(runs)

    def _worth_reading(self, column: Column, runs: Sequence[Run]) -> bool:
        """Whether few rows can be expected. A column that is indexed by its values was meant to be asked there."""
        field = self.mapping.field(column.name)
        if (field is not None and field.indexed) or self.rows * 8 > _MOST_BYTES // 4:
            return False
        known = self.facts.get(column.name)
        if all(low == high for low, high in runs):
            return True
        if known is None or known.min is None or known.max is None:
            return False
        low, high = whole_key(known.min), whole_key(known.max)
        inside = sum(max(0, min(last, high) - max(first, low) + 1) for first, last in runs)
        return inside <= (high - low + 1) * MOST_SHARE


def _parts(predicate: Predicate) -> list[Predicate]:
    """The conjunction that a predicate is, with all comparisons of a column in one part."""
    if isinstance(predicate, Or):
        joined = disjuncts(predicate.children)
        return joined if len(joined) == 1 else [predicate]
    return conjuncts(predicate.children if isinstance(predicate, And) else (predicate,))


def _runs_of(part: Predicate) -> tuple[Column, list[Run]] | None:
    """The column of a part and the runs of numbers for which it is true, if it is of that kind."""
    match part:
        case In() if _whole_numbers(part.column):
            keys = sorted({whole_key(literal.value) for literal in part.values})
            return part.column, [(key, key) for key in keys]
        case Comparison():
            comparisons = [part]
        case And():
            comparisons = [child for child in part.children if isinstance(child, Comparison)]
            if len(comparisons) < len(part.children):
                return None
        case _:
            return None
    column = comparisons[0].column
    if not _whole_numbers(column) or any(each.op == "<>" or each.column != column for each in comparisons):
        return None
    low, high = run_of(comparisons, whole_key, LOWEST, HIGHEST)
    return column, [(low, high)] if low <= high else []


def _whole_numbers(column: Column) -> bool:
    kinds, arrow = pa.types, column.type
    moment = kinds.is_timestamp(arrow) and arrow.unit == "us"
    return not column.nested and bool(kinds.is_signed_integer(arrow) or kinds.is_date32(arrow) or moment)
