"""The first n rows in the order of columns, as `ORDER BY ts DESC LIMIT 100` asks.

    ReadPlan ──▶ files in the order of their bounds ──▶ SplitReader.first ──▶ FirstRows ──▶ the winners' rows are read
                       ▲                                                          │
                       └────── no file is begun whose rows all come after the n-th row so far

Of each file only the columns of the order and of the filter are read. Other columns are read of the n winners.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import ZERO_SCALAR, array_of_numbers, empty_table, numpy_of
from indextables.core.row_order import FirstRows, Numbers, Parts, SortKey, compare_rows, first_places
from indextables.core.runtime.ordered_streams import Start, in_order
from indextables.log.pruning.first_files import FileEnds, file_ends, hold_first
from indextables.split.reader import SplitReader
from indextables.table.handle import TableHandle
from indextables.table.read.parallelism import SERIAL_BUDGET_S, ActiveQuery, reading_threads
from indextables.table.read.ranking import read_winners
from indextables.table.read.request import ByColumns, ReadPlan, ReadRequest, plan_read
from indextables.table.read.split_readers import split_readers


def first_rows(handle: TableHandle, request: ReadRequest) -> pa.Table:
    """The first rows in the order of the request's columns: at most `limit` after the first `offset`."""
    with ActiveQuery():
        return first_rows_of(plan_read(handle, request), reading_threads(handle))


def first_rows_of(plan: ReadPlan, threads: int) -> pa.Table:
    """The first rows of a plan's files, read by at most `threads` threads."""
    request, handle = plan.request, plan.handle
    schema = request.output_schema(handle.schema)
    last = request.last
    assert last is not None, "an order by columns has a limit"
    if not last or request.limit == 0:
        return empty_table(schema)
    search = _Search(plan, last)
    rows = search.run(threads)
    owners, numbers = (part.ranks()[request.offset :].tolist() for part in rows[-2:]) if rows else ([], [])
    winners = list(zip(owners, numbers, strict=True))
    if not winners or not request.columns:
        return _without_columns(len(winners)) if not request.columns else empty_table(schema)
    return read_winners(handle, search.splits, winners, request.columns, threads)


def files_of_first_rows(plan: ReadPlan) -> pa.Table:
    """The files of a plan that may hold one of the first rows, as far as the log alone can tell; no file is opened.

    A filter or a query may leave out any rows, and the log does not know how many: then all files stay.
    """
    files, _ = _files_and_ends(plan)
    return files


def _files_and_ends(plan: ReadPlan) -> tuple[pa.Table, FileEnds]:
    """The files of a plan that may hold one of the first rows by what the log says, and the ends of these files."""
    request, files, handle = plan.request, plan.files, plan.handle
    assert request.last is not None, "an order by columns has a limit"
    ends = file_ends(files, _keys(request)[0], handle.schema, handle.partition_columns)
    if request.where is not None or request.query is not None or files.num_rows < 2:
        return files, ends
    kept = hold_first(ends, numpy_of(pc.fill_null(files.column("numRecords"), ZERO_SCALAR)), request.last)
    return (files, ends) if kept.all() else (files.filter(array_of_numbers(kept)), ends.take(kept))


class _Search:
    """A search for the first rows: the files in the order in which they are read, and the rows that were found."""

    def __init__(self, plan: ReadPlan, last: int) -> None:
        files, ends = _files_and_ends(plan)
        self._plan = plan
        self._keys = _keys(plan.request)
        paths = files.column("path").to_pylist()
        owners = np.empty(len(paths), np.int64)
        owners[sorted(range(len(paths)), key=paths.__getitem__)] = np.arange(len(paths))
        order = first_places((*ends.first, Numbers(owners)), len(paths))
        self._files = files.take(array_of_numbers(order))
        self._owners = owners[order]
        self._ends = ends.take(order).first
        self._best = FirstRows(last)
        self._most = last
        self.splits: dict[int, SplitReader] = {}
        """The splits that were begun, by their place in the order of paths."""

    def run(self, threads: int) -> Parts:
        """The first rows of all files: the parts of their keys, then the place of the path, then the row's number."""
        for rows in in_order(self._starts(), threads=threads, patience=SERIAL_BUDGET_S):
            self._best.add(rows)
            self._best.rows()
        return self._best.rows()

    def _starts(self) -> Iterator[Start[Parts]]:
        for place, split in enumerate(split_readers(self._plan.handle, self._files)):
            if self._is_beaten(place):
                return  # and so are all files after this one
            self.splits[int(self._owners[place])] = split
            yield partial(self._first, split, place)

    def _first(self, split: SplitReader, place: int) -> Iterator[Parts]:
        if self._is_beaten(place):
            return
        asked = self._plan.condition
        rows = split.first(
            self._keys,
            asked.predicate,
            asked.query,
            most=self._most,
            owner=int(self._owners[place]),
            limit=self._best.limit,
        )
        if rows:
            yield rows

    def _is_beaten(self, place: int) -> bool:
        """Whether every row of a file comes after the last of the first rows so far.

        Where the order has one key, a row of the same key comes later if its path does. With more keys it may come sooner.
        """
        limit = self._best.limit
        if limit is None:
            return False
        end = tuple(part.take(np.array([place])) for part in self._ends)
        before, same = compare_rows(end, limit)
        if before[0] or not same[0]:
            return not before[0]
        return len(self._keys) == 1 and bool(self._owners[place] > limit[-2])


def _keys(request: ReadRequest) -> tuple[SortKey, ...]:
    assert isinstance(request.order, ByColumns)
    return request.order.keys


def _without_columns(rows: int) -> pa.Table:
    return pa.table({"": pa.nulls(rows)}).select([])


__all__ = ["files_of_first_rows", "first_rows", "first_rows_of"]
