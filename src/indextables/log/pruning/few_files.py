"""Data skipping for a handful of files: their bounds are read once, and compared as plain values.

The rules are those of `skipping`, which reads the bounds; only the comparing is done here, and only where it comes out the same.
A table of ten files is asked far more often than it changes, and for each question the other way would make a hundred Arrow
calls: twice the time that finding one row in the right file takes.
"""

from __future__ import annotations

import datetime as dt
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa

from indextables.core.arrow_values import array_of
from indextables.core.predicate import Column, ColumnBounds, Predicate, VectorBounds, VectorValues, plainly_may_match
from indextables.log.pruning.skipping_counts import NOTHING_SKIPPED, Skipped

MOST_FILES: Final = 64
"""Up to so many files are compared as Python values, which takes less time than calls of Arrow."""
_MOST_COLUMNS: Final = 64
"""Columns whose bounds are remembered for a list of files, at most."""

Vectors: TypeAlias = VectorBounds | VectorValues
_Facts: TypeAlias = list[ColumnBounds]
_NOTHING: Final = ColumnBounds()


class _Memory:
    """The bounds of columns, for as long as somebody has the table of files that they were read from.

    Without a lock, which a fork could leave taken for ever: where two threads read the same bounds, one of them read in vain.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], dict[Column, _Facts]]] = {}

    def of(self, files: pa.Table) -> dict[Column, _Facts]:
        key = id(files)
        known = self._known.get(key)
        if known is None or known[0]() is not files:
            known = self._known[key] = weakref.ref(files, lambda _: self._known.pop(key, None)), {}
        return known[1]

    def clear(self) -> int:
        """Forget all bounds. Returns for how many lists of files some were known."""
        known, self._known = self._known, {}
        return len(known)


_MEMORY: Final = _Memory()


def forget_bounds() -> int:
    """Forget the bounds that are remembered. Returns for how many lists of files some were."""
    return _MEMORY.clear()


def prune_few(
    files: pa.Table,
    predicate: Predicate,
    columns: Sequence[Column],
    read: Callable[[Column], Vectors],
    partitions: Collection[str],
) -> tuple[pa.Table, Skipped] | None:
    """The files that may hold a matching row, in their order, and what ruled out the others; None where plain values do not tell.

    `columns` are those of the predicate that the log may know something about, `read` says what. `partitions` are the names of
    those among them that files are partitioned by.
    """
    memory = _MEMORY.of(files)
    facts: dict[str, _Facts] = {}
    for column in columns:
        known = memory.get(column)
        if known is None:
            if len(memory) >= _MOST_COLUMNS:
                memory.clear()
            known = memory[column] = _plain(read(column), files.num_rows)
        facts[column.name] = known
    kept, gone = list[int](), list[int]()
    for number in range(files.num_rows):
        may = plainly_may_match(predicate, {name: known[number] for name, known in facts.items()})
        if may is None:
            return None
        (kept if may else gone).append(number)
    if not gone:
        return files, NOTHING_SKIPPED
    skipped = _skipped(gone, predicate, facts, partitions)
    if not kept or kept[-1] - kept[0] + 1 == len(kept):
        return files.slice(kept[0] if kept else 0, len(kept)), skipped
    return files.take(array_of(kept, pa.int64())), skipped


def _skipped(
    gone: Sequence[int], predicate: Predicate, facts: dict[str, _Facts], partitions: Collection[str]
) -> Skipped:
    """Whether partition values alone rule these files out, or only the bounds of other columns do.

    Files of one partition have the same values, so that each partition is asked about once. A null partition value counts as
    unknown here, so that its files are counted as ruled out by bounds.
    """
    if not partitions or len(partitions) == len(facts):
        return Skipped(by_bounds=len(gone)) if not partitions else Skipped(by_partition=len(gone))
    known = {name: facts[name] for name in partitions}
    asked: dict[tuple[Any, ...], bool] = {}
    by_partition = 0
    for number in gone:
        values = {name: bounds[number] for name, bounds in known.items()}
        key = tuple(bounds.min for bounds in values.values())
        if key not in asked:
            asked[key] = plainly_may_match(predicate, values) is False
        by_partition += asked[key]
    return Skipped(by_partition, len(gone) - by_partition)


def _plain(vectors: Vectors, length: int) -> _Facts:
    """Bounds of each file as Python values. A null partition value, or a value that Python cannot hold, counts as unknown."""
    if isinstance(vectors, VectorValues):
        low, high = vectors.values, vectors.values
    else:
        low, high = vectors.min, vectors.max
    if low is None or high is None:
        return [_NOTHING] * length
    try:
        lows, highs = _python_values(low), _python_values(high)
    except (OverflowError, ValueError):  # a year that Python does not have
        return [_NOTHING] * length
    return [ColumnBounds(*pair) for pair in zip(lows, highs, strict=True)]


def _python_values(values: pa.Array) -> list[Any]:
    """Values as Python has them, moments with a zone in UTC: pyarrow loads pandas to make any other."""
    kind = values.type
    if not pa.types.is_timestamp(kind) or kind.tz is None:
        return list(values.to_pylist())
    return [moment and moment.replace(tzinfo=dt.UTC) for moment in values.view(pa.timestamp(kind.unit)).to_pylist()]
