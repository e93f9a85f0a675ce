"""Executes an access: scan, locate, count, rank, first and aggregate each do what `choose_access` decided.

    choose_access ──▶ NoRows | AllRows | RowNumbers | IndexQuery | Scan ──▶ one function of this module per verb

Each function matches every kind of access, so that a new kind cannot be forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from time import perf_counter_ns
from typing import Final, assert_never

import numpy as np
import pyarrow as pa

from indextables.core.aggregate import Aggregate
from indextables.core.arrow_values import FALSE_SCALAR, array_of_numbers, numpy_of
from indextables.core.predicate import TRUE, Constant, In, Predicate, all_of, columns_of, evaluate, leaves_of
from indextables.core.profiler import PROFILER
from indextables.core.row_order import FirstRows, Limit, Numbers, Parts, SortKey, key_parts
from indextables.split.aggregate.index_groups import from_index, from_log
from indextables.split.aggregate.partial import Partial, condensed, encoded_columns, partial_of
from indextables.split.index.row_numbers import RowNumberArray, count_of, rows_of
from indextables.split.plan.access import (
    AllRows,
    IndexQuery,
    NoRows,
    Purpose,
    RowNumbers,
    Scan,
    choose_access,
    undecided_predicate,
)
from indextables.split.plan.row_sets import RowSet
from indextables.split.query.bound import Bound, Group, Typed, implied
from indextables.split.query.condition import listed_values, undecided
from indextables.split.query.match import Match, Search
from indextables.split.query.rank import NO_HITS, Hits, best_hits
from indextables.split.query.tree import Span
from indextables.split.rows.row_reader import BATCH_ROWS, empty_columns
from indextables.split.split_parts import KeptSearch, SplitAccess, SplitParts

_KEPT_SEARCHES: Final = 4
"""Searches that a reader keeps: the same question to a split is planned once. A process keeps at most a thousand readers."""

_MOST_KEPT_VALUES: Final = 256
"""Values in the lists (IN) of a predicate up to which its search is kept. Each split has its own part of a list, and the lists of
a thousand readers would take gigabytes.
"""

_NUMBER_ROWS: Final = 1 << 18
"""Rows of a batch that is only added up and counted, of at most `_FEW_COLUMNS` numbers a row: 8 MiB. A batch of 65,536 rows costs
as much beside the rows themselves as reading them: half of the time of a sum.
"""
_FEW_COLUMNS: Final = 4
"""Columns of numbers up to which rows are read `_NUMBER_ROWS` at a time."""

_NO_NUMBERS: Final = np.zeros(0, np.int64)
"""The numbers of no rows."""


def access_of(parts: SplitParts, purpose: Purpose, predicate: Predicate | None, query: Bound | None) -> SplitAccess:
    """How the split answers for the rows for which the predicate is true and that the query finds. None stands for every row."""
    filtered_by = TRUE if predicate is None else predicate
    if query is None:
        return choose_access(parts, purpose, filtered_by, parts.opened.costs)
    opened = parts.opened
    for place, kept in enumerate(parts.searches):
        # A table binds a text once, so the same question has the same query. Only the newest one is compared by its parts.
        if (kept.query is query or not place) and kept.is_for(opened, filtered_by, query):
            return kept.access
    began = perf_counter_ns() if PROFILER.enabled else 0
    decided, asked = undecided(query, partial(undecided_predicate, parts))
    remaining = filtered_by if decided is TRUE else all_of((filtered_by, decided))
    if asked is None:
        return choose_access(parts, purpose, remaining, opened.costs)
    search = Search.of(asked)
    access = choose_access(parts, purpose, remaining, opened.costs, search, implied(asked))
    if isinstance(access, IndexQuery) and access.residual is not TRUE and access.residual != TRUE:
        search.bound = Group(must=(asked, Typed(access.residual, Span(0, 0))))
    listed = listed_values(query) + (0 if filtered_by is TRUE else _listed_values(filtered_by))
    if listed <= _MOST_KEPT_VALUES:
        parts.searches = (KeptSearch(opened, filtered_by, query, access), *parts.searches[: _KEPT_SEARCHES - 1])
    if began:
        PROFILER.add("choose access", "plan", began)
    return access


def _listed_values(predicate: Predicate) -> int:
    """The number of values in all lists of a predicate."""
    return sum(len(leaf.values) for leaf in leaves_of(predicate) if isinstance(leaf, In))


def scan(parts: SplitParts, access: SplitAccess, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of an access in their order, with these columns of the table. No batch is empty."""
    match access:
        case NoRows():
            return iter(())
        case AllRows():
            return _all_rows(parts, columns, TRUE) if parts.footer.rows else iter(())
        case RowNumbers():
            return _rows_by_number(parts, columns, access)
        case IndexQuery():
            return _rows_by_number(parts, columns, _search(parts, access))
        case Scan():
            return _all_rows(parts, columns, access.residual)
        case _:
            assert_never(access)


def locate(parts: SplitParts, access: SplitAccess) -> RowNumbers | None:
    """The numbers of the rows of an access, not read yet; None if finding the numbers is as much work as reading the rows."""
    match access:
        case NoRows():
            return RowNumbers(_NO_NUMBERS, TRUE, "footer")
        case RowNumbers():
            return access
        case IndexQuery():
            return _search(parts, access)
        case AllRows() | Scan():
            return None
        case _:
            assert_never(access)


def count(parts: SplitParts, access: SplitAccess) -> Iterator[int]:
    """The number of rows of an access, as parts of a sum, so that a long count can be interrupted."""
    match access:
        case NoRows():
            pass
        case AllRows():
            yield parts.total_rows
        case RowNumbers():
            yield from (batch.num_rows for batch in _take(parts, access, ()))
        case IndexQuery():
            yield count_in_index(parts, access)
        case Scan():
            yield from (batch.num_rows for batch in _read(parts, (), access.residual))
        case _:
            assert_never(access)


def count_in_index(parts: SplitParts, access: IndexQuery[Search]) -> int:
    """The number of rows that the index finds."""
    began = perf_counter_ns() if PROFILER.enabled else 0
    if isinstance(access.question, RowSet):
        view = parts.open_index()
        found = count_of(view.searcher, access.question.query, split=view.split)
    else:
        found = _match(parts, access.question).count(access.question.bound)
    if began:
        PROFILER.add("query index", "query", began)
    return found


def rank(parts: SplitParts, access: SplitAccess, limit: int) -> Hits:
    """The best rows of a search, at most `limit`."""
    match access:
        case NoRows():
            return NO_HITS
        case IndexQuery() if not isinstance(access.question, RowSet):
            began = perf_counter_ns() if PROFILER.enabled else 0
            hits = best_hits(_match(parts, access.question), access.question.bound, limit)
            if began:
                PROFILER.add("query index", "query", began)
            return hits
        case AllRows() | RowNumbers() | IndexQuery() | Scan():
            raise AssertionError("a search query is always asked of the index")
        case _:
            assert_never(access)


def first(
    parts: SplitParts, access: SplitAccess, keys: Sequence[SortKey], most: int, owner: int, limit: Limit | None
) -> Parts:
    """The first rows of an access in the order of some columns, at most `most`, none of them after `limit`.

    Rows come as the parts of their keys, then `owner`, then their numbers, and are ordered by all of these.
    """
    best = FirstRows(most, limit)
    for numbers, batch in _numbered(parts, access, list(dict.fromkeys(key.column for key in keys))):
        found = [part for key in keys for part in key_parts(batch.column(key.column), key)]
        best.add((*found, Numbers(np.full(len(numbers), owner)), Numbers(numbers)))
    return best.rows()


def aggregate(
    parts: SplitParts, question: Aggregate, predicate: Predicate | None, query: Bound | None
) -> Iterator[Partial]:
    """The groups of the rows for which the predicate is true and that the query finds; nothing if there are none."""
    access = access_of(parts, Purpose.AGGREGATE, predicate, query)
    groups: Partial | None = None
    match access:
        case NoRows():
            return
        case AllRows():
            groups = from_log(question, parts.total_rows, parts.partition_values)
        case IndexQuery():
            groups = _aggregate_in_index(parts, question, access)
        case RowNumbers() | Scan():
            pass
        case _:
            assert_never(access)
    if groups is not None:
        yield groups
        return
    access = access_of(parts, Purpose.SCAN, predicate, query)
    if isinstance(access, AllRows) and parts.footer.rows:
        batches = _rows_of_groups(parts, question)
    else:
        batches = scan(parts, access, question.columns)
    groups_of_batches: Iterator[Partial] = (partial_of(question, batch) for batch in batches)
    if PROFILER.enabled:  # reading the batches included
        groups_of_batches = PROFILER.stream("aggregate rows", "aggregate", groups_of_batches)
    yield from condensed(question, groups_of_batches)


def take(parts: SplitParts, numbers: RowNumberArray, columns: Sequence[str]) -> pa.Table:
    """Rows by number, ascending, with these columns of the table."""
    projection = parts.adapter.projection(columns)
    batches = _take(parts, RowNumbers(numbers, TRUE, "index"), projection.stored)
    return pa.Table.from_batches(map(projection.complete, batches), projection.schema)


def _aggregate_in_index(parts: SplitParts, question: Aggregate, access: IndexQuery[Search]) -> Partial | None:
    """The groups from the index, without reading rows; None if the index does not have what the aggregate needs."""
    began = perf_counter_ns() if PROFILER.enabled else 0
    if isinstance(access.question, RowSet):
        groups = from_index(question, parts.open_index(), access.question, parts.adapter.constants)
    else:
        found = _match(parts, access.question)
        row_set = found.row_set(access.question.bound)
        groups = from_index(question, found.view, row_set, found.constants) if row_set.exact else None
    if began:
        PROFILER.add("aggregate in index", "aggregate", began)
    return groups


def _match(parts: SplitParts, search: Search) -> Match:
    """The index of the split, opened with what the search needs."""
    view = parts.open_index(search.needs)
    return Match(view, parts.sources, parts.adapter.constants, parts.take, search)


def _search(parts: SplitParts, access: IndexQuery[Search]) -> RowNumbers:
    """The rows that the index finds, as row numbers."""
    began = perf_counter_ns() if PROFILER.enabled else 0
    if isinstance(access.question, RowSet):
        view = parts.open_index()
        question = access.question
        numbers = rows_of(view.searcher, question.query, parts.sources, at_most=question.at_most, split=view.split)
    else:
        numbers = _match(parts, access.question).rows(access.question.bound)
    if began:
        PROFILER.add("query index", "query", began)
    return RowNumbers(numbers, TRUE, "index")


def _rows_by_number(parts: SplitParts, columns: Sequence[str], rows: RowNumbers) -> Iterator[pa.RecordBatch]:
    """Rows by number, or, if they are a large share of all rows, picked from a scan."""
    projection = parts.adapter.projection(columns)
    many = parts.opened.costs.are_picked_from_a_scan(len(rows.numbers), parts.footer.rows)
    if many and rows.residual == TRUE and projection.stored:
        batches = _pick(parts, rows.numbers, projection.stored)
    else:
        batches = _take(parts, rows, projection.stored)
    return map(projection.complete, batches)


def _rows_of_groups(parts: SplitParts, question: Aggregate) -> Iterator[pa.RecordBatch]:
    """All rows, with the columns that an aggregate needs: many at a time where they are a few numbers each."""
    encoded, schema = encoded_columns(question), parts.rows.schema
    stored = parts.adapter.projection(question.columns).stored
    narrow = all(name in encoded or pa.types.is_primitive(schema.field(name).type) for name in stored)
    many = narrow and len(stored) <= _FEW_COLUMNS and parts.batch_rows >= BATCH_ROWS
    return _all_rows(parts, question.columns, TRUE, encoded, _NUMBER_ROWS if many else None)


def _all_rows(
    parts: SplitParts,
    columns: Sequence[str],
    residual: Predicate,
    encoded: Collection[str] = (),
    batch_rows: int | None = None,
) -> Iterator[pa.RecordBatch]:
    projection = parts.adapter.projection(columns)
    some = [name for name in encoded if name in projection.stored]
    return map(projection.complete, _read(parts, projection.stored, residual, some, batch_rows))


def _pick(parts: SplitParts, numbers: RowNumberArray, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Rows by number out of a scan of all rows."""
    first = begin = 0
    for batch in _timed(parts.rows.scan(columns, batch_rows=parts.batch_rows)):
        end = begin + int(np.searchsorted(numbers[begin:], first + batch.num_rows))
        if end > begin:
            yield batch.take(array_of_numbers(numbers[begin:end] - first))
        first, begin = first + batch.num_rows, end


def _take(parts: SplitParts, rows: RowNumbers, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Rows by number for which the residual is true, with the columns and those of the residual."""
    residual = rows.residual
    if residual != TRUE and isinstance(residual, Constant):
        return
    for batch in _taken(parts, rows.numbers, _with_residual(columns, residual)):
        matching = batch if residual == TRUE else batch.filter(evaluate(residual, batch))
        if matching.num_rows:
            yield matching


def _taken(parts: SplitParts, numbers: RowNumberArray, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Rows by number, in their order."""
    if not columns:
        yield from _without_columns(len(numbers))
        return
    step, source = parts.batch_rows, parts.rows
    for start in range(0, len(numbers), step):
        began = perf_counter_ns() if PROFILER.enabled else 0
        batches = source.batches(numbers[start : start + step], columns)
        if began:
            PROFILER.add("read rows", "rows", began)
        yield from batches


def _with_residual(columns: Sequence[str], residual: Predicate) -> list[str]:
    """The names of the given columns and of those that a residual needs, each once."""
    return list(dict.fromkeys([*columns, *(column.name for column in columns_of(residual))]))


def _numbered(
    parts: SplitParts, access: SplitAccess, columns: Sequence[str]
) -> Iterator[tuple[RowNumberArray, pa.RecordBatch]]:
    """The rows of an access in their order, with their numbers and these columns of the table."""
    projection = parts.adapter.projection(columns)
    numbers: RowNumberArray | None = None
    residual: Predicate = TRUE
    match access:
        case NoRows():
            return
        case AllRows():
            pass
        case Scan():
            residual = access.residual
        case RowNumbers():
            numbers, residual = access.numbers, access.residual
        case IndexQuery():
            numbers = _search(parts, access).numbers
        case _:
            assert_never(access)
    if residual != TRUE and isinstance(residual, Constant):
        return
    names = _with_residual(projection.stored, residual)
    if numbers is None:
        batches = _read(parts, names, TRUE)
    elif names and parts.opened.costs.are_picked_from_a_scan(len(numbers), parts.footer.rows):
        batches = _pick(parts, numbers, names)
    else:
        batches = _taken(parts, numbers, names)
    start = 0
    for batch in batches:
        end = start + batch.num_rows
        mine = np.arange(start, end) if numbers is None else numbers[start:end]
        start = end
        if residual == TRUE:
            yield mine, projection.complete(batch)
            continue
        matches = evaluate(residual, batch).fill_null(FALSE_SCALAR)
        if matches.true_count:
            yield mine[numpy_of(matches)], projection.complete(batch.filter(matches))


def _read(
    parts: SplitParts,
    columns: Sequence[str],
    residual: Predicate,
    encoded: Collection[str] = (),
    batch_rows: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """All rows for which the residual is true, in their order, so many at a time, or as many as the split's batches have.

    Some texts may come `encoded`, as numbers and a dictionary.
    """
    if residual == TRUE and not columns:
        return _without_columns(parts.footer.rows)
    asked = None if residual == TRUE else residual
    rows = batch_rows or parts.batch_rows
    return _timed(parts.rows.scan(columns, predicate=asked, batch_rows=rows, encoded=encoded))


def _timed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches of a scan, timed while the profiler is enabled."""
    return PROFILER.stream("scan rows", "rows", batches) if PROFILER.enabled else batches


def _without_columns(rows: int) -> Iterator[pa.RecordBatch]:
    """Batches of rows without columns."""
    for start in range(0, rows, BATCH_ROWS):
        yield empty_columns(min(BATCH_ROWS, rows - start))


__all__ = ["access_of", "aggregate", "count", "count_in_index", "first", "locate", "rank", "scan", "take"]
