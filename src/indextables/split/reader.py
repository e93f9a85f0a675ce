"""`SplitReader`: questions to one split of a table, answered in the table's columns and types.

    question ──▶ choose_access (plan/access.py) ──▶ execute.py ──▶ rows, numbers, groups or hits
                        │                                │
                        └──────── SplitParts ────────────┘   footer, rows and index, opened when they are needed

Partition columns have one value in all rows of a split. A column that the table got after the split was written is null in all
its rows. Neither is stored in the split or its index; both are in the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from time import perf_counter_ns
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import pyarrow as pa

from indextables.core.aggregate import Aggregate
from indextables.core.errors import ObjectNotFound, SplitError
from indextables.core.predicate import Predicate
from indextables.core.profiler import PROFILER
from indextables.core.row_order import Limit, Parts, SortKey
from indextables.split import execute
from indextables.split.aggregate.partial import Partial
from indextables.split.bundle.bundle_reader import Pages
from indextables.split.bundle.footer import Footer
from indextables.split.cache.index_cache import IndexCache, WarmUp
from indextables.split.execute import access_of
from indextables.split.index.row_numbers import RowNumberArray
from indextables.split.open_splits import OpenSplits
from indextables.split.plan.access import IndexQuery, Purpose, RowNumbers
from indextables.split.query.bound import Bound
from indextables.split.query.rank import Hits
from indextables.split.rows.projection import Projection
from indextables.split.split_parts import SplitAccess, SplitParts
from indextables.storage.store import Store

T = TypeVar("T")
P = ParamSpec("P")


def _naming_missing_split(
    method: Callable[Concatenate[SplitReader, P], T],
) -> Callable[Concatenate[SplitReader, P], T]:
    """A method that raises SplitError, with what to do, where the file of the split is gone."""

    @wraps(method)
    def call(self: SplitReader, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except ObjectNotFound as error:
            raise _missing_split(self, error) from error

    return call


def _naming_missing_split_in(
    method: Callable[Concatenate[SplitReader, P], Iterator[T]],
) -> Callable[Concatenate[SplitReader, P], Iterator[T]]:
    """A method that returns a stream, which raises SplitError, with what to do, where the file of the split is gone."""

    @wraps(method)
    def stream(self: SplitReader, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        try:
            yield from method(self, *args, **kwargs)
        except ObjectNotFound as error:
            raise _missing_split(self, error) from error

    return stream


class SplitReader:
    """A split of a table. The parts of the split are opened when a question needs them. Safe to use from many threads.

    `predicate=None` stands for a predicate that is true for every row, `query=None` for a query that finds every row. Every
    method raises SplitError where the split is gone, damaged, or not readable as a part of the table.
    """

    def __init__(
        self,
        store: Store,
        key: str,
        *,
        size: int | None,
        footer_start: int | None,
        table_schema: pa.Schema,
        partition_values: Mapping[str, pa.Scalar],
        cache: IndexCache,
        table: str,
        rows: int | None = None,
        path: str | None = None,
        opened: OpenSplits | None = None,
    ) -> None:
        """`key` is the split's key in the store, `table` the table's URL, `rows` the log's number of rows.

        `path` is the split's name in the log, where the name is not the key. `opened` holds the open parts of splits and the
        costs to plan with; None stands for those of the process.
        """
        self.key = key
        """The split's key in the store."""
        self.path = key if path is None else path
        """The split's name in the log: its key in the store, or an absolute path or URL of the same place."""
        self.parts = SplitParts(
            store,
            key,
            size=size,
            footer_start=footer_start,
            table_schema=table_schema,
            partition_values=partition_values,
            cache=cache,
            table=table,
            rows=rows,
            opened=opened,
        )

    @property
    @_naming_missing_split
    def footer(self) -> Footer:
        """The footer of the split: row count, bounds, and the places of its parts."""
        return self.parts.footer

    @_naming_missing_split
    def access(self, purpose: Purpose, predicate: Predicate | None = None, query: Bound | None = None) -> SplitAccess:
        """How the split would answer; `describe` (plan/access.py) puts the access into words. This may open the index."""
        return access_of(self.parts, purpose, predicate, query)

    @_naming_missing_split_in
    def scan(
        self, columns: Sequence[str], predicate: Predicate | None = None, query: Bound | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows for which the predicate is true and that the query finds, in their order, with these columns of the table.

        No batch is empty.
        """
        return execute.scan(self.parts, access_of(self.parts, Purpose.SCAN, predicate, query), columns)

    @_naming_missing_split
    def locate(self, predicate: Predicate | None, query: Bound | None) -> RowNumbers | None:
        """The rows that `scan` would read, not read yet; None if finding their numbers is as much work as reading them."""
        return execute.locate(self.parts, access_of(self.parts, Purpose.LOCATE, predicate, query))

    @_naming_missing_split_in
    def rows(self, columns: Sequence[str], located: RowNumbers) -> Iterator[pa.RecordBatch]:
        """The rows that `locate` found, as `scan` returns them."""
        return execute.scan(self.parts, located, columns)

    @_naming_missing_split
    def count(self, predicate: Predicate | None = None, query: Bound | None = None) -> int:
        """The number of rows for which the predicate is true and that the query finds."""
        access = access_of(self.parts, Purpose.COUNT, predicate, query)
        if isinstance(access, IndexQuery):
            return execute.count_in_index(self.parts, access)
        return sum(execute.count(self.parts, access))

    @_naming_missing_split_in
    def counts(self, predicate: Predicate | None = None, query: Bound | None = None) -> Iterator[int]:
        """The parts of the sum that `count` returns, so that a long count can be interrupted."""
        return execute.count(self.parts, access_of(self.parts, Purpose.COUNT, predicate, query))

    @_naming_missing_split
    def hits(self, predicate: Predicate | None, query: Bound, limit: int) -> Hits:
        """The best rows, at most `limit`, that the query finds and for which the predicate is true, with their scores."""
        return execute.rank(self.parts, access_of(self.parts, Purpose.SCAN, predicate, query), limit)

    @_naming_missing_split
    def first(
        self,
        keys: Sequence[SortKey],
        predicate: Predicate | None,
        query: Bound | None,
        *,
        most: int,
        owner: int,
        limit: Limit | None,
    ) -> Parts:
        """The first rows in the order of some columns, at most `most`, none of them after `limit`: see `execute.first`."""
        access = access_of(self.parts, Purpose.SCAN, predicate, query)
        return execute.first(self.parts, access, keys, most, owner, limit)

    @_naming_missing_split_in
    def aggregate(
        self, aggregate: Aggregate, predicate: Predicate | None = None, query: Bound | None = None
    ) -> Iterator[Partial]:
        """The groups of the rows for which the predicate is true and that the query finds; nothing if there are no rows."""
        return execute.aggregate(self.parts, aggregate, predicate, query)

    @_naming_missing_split
    def take(self, numbers: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Rows by number, ascending, with these columns of the table."""
        return execute.take(self.parts, np.asarray(numbers, np.int64), columns)

    @_naming_missing_split
    def values(
        self, numbers: Sequence[int] | RowNumberArray, columns: Sequence[str]
    ) -> tuple[Projection, list[dict[str, Any]]] | None:
        """A few rows as Python values of the stored columns, and their projection; None where `take` is the better way."""
        began = perf_counter_ns() if PROFILER.enabled else 0
        projection = self.parts.adapter.projection(columns)
        values = self.parts.rows.values(np.asarray(numbers, np.int64), projection.stored)
        if began:
            PROFILER.add("read rows", "rows", began)
        return None if values is None else (projection, values)

    @_naming_missing_split
    def pages(self) -> Pages:
        """The bytes of the rows, verified."""
        return self.parts.pages()

    @_naming_missing_split
    def warm_up(self, *, positions: bool = True, rows: bool = False) -> WarmUp:
        """What the cache has to know to copy the index before a question needs the index, with or without positions.

        With `rows` the row files are opened, too: their layout stays in memory.
        """
        if rows:
            self.parts.rows.open()
        return self.parts.cached_index.warm_up(positions=positions)


def _missing_split(reader: SplitReader, error: ObjectNotFound) -> SplitError:
    split = reader.parts.split
    return SplitError(
        f"{split} is missing, and the table has rows in it: if it was purged, refresh the table or open a newer "
        f"version, else bring the file back ({error})",
        split=split,
    )


__all__ = ["SplitReader"]
