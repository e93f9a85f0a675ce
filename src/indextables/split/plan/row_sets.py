"""Sets of rows that an index can be asked for, and the operations on them: intersection, union, difference.

A `RowSet` for "the rows for which this predicate is true" never misses a row. A row set is *exact* if it has no other row
either. Only an exact row set can be subtracted from another one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import tantivy


@dataclass(frozen=True, slots=True)
class RowSet:
    """The rows that a Tantivy query finds. Without a query: every row of the split."""

    query: tantivy.Query | None
    """The query to ask the index; None stands for every row."""
    exact: bool
    """True if every row of this set is a right one. False if the set may have too many rows."""
    at_most: int
    """The query finds at most this number of rows."""
    ranges: int = 0
    """The number of ranges over fast fields that the search has to evaluate."""
    share: float = 1.0
    """The share of all rows that this set probably has, 0 to 1; 1 where nothing is known. It decides about speed only."""


EMPTY_SET: Final = RowSet(tantivy.Query.empty_query(), True, 0, share=0.0)
"""The row set without rows. Functions of this module compare with `is`, so every empty set must be this value."""


def intersection(row_sets: Iterable[RowSet], rows: int) -> RowSet:
    """The rows that are in every one of the row sets, of a split of `rows` rows."""
    parts = list(row_sets)
    if any(part is EMPTY_SET for part in parts):
        return EMPTY_SET
    exact = all(part.exact for part in parts)
    queries = [part.query for part in parts if part.query is not None]
    at_most = min((part.at_most for part in parts), default=rows)
    if len(queries) < 2:
        query = queries[0] if queries else None
    else:
        query = tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in queries])
    share = min((part.share for part in parts), default=1.0)
    return RowSet(query, exact, at_most, sum(part.ranges for part in parts), share)


def union(row_sets: Iterable[RowSet], rows: int) -> RowSet:
    """The rows that are in at least one of the row sets, of a split of `rows` rows."""
    parts = [part for part in row_sets if part is not EMPTY_SET]
    if len(parts) < 2:
        return parts[0] if parts else EMPTY_SET
    queries = [(tantivy.Occur.Should, part.query) for part in parts if part.query is not None]
    if len(queries) < len(parts):
        return RowSet(None, any(part.exact for part in parts if part.query is None), rows)
    at_most = min(rows, sum(part.at_most for part in parts))
    exact, share = all(part.exact for part in parts), min(1.0, sum(part.share for part in parts))
    query = tantivy.Query.boolean_query(queries)
    return RowSet(query, exact, at_most, sum(part.ranges for part in parts), share)


def difference(row_set: RowSet, removed: RowSet) -> RowSet:
    """The rows of `row_set` that are not in `removed`. An inexact `removed` cannot be subtracted, so the result is inexact then.

    Tantivy finds nothing for a NOT that stands alone, so the query always has a positive part to subtract from.
    """
    if not removed.exact:
        return as_bound(row_set)
    if removed is EMPTY_SET or row_set is EMPTY_SET:
        return row_set
    if removed.query is None:
        return EMPTY_SET
    query = tantivy.Query.boolean_query(
        [(tantivy.Occur.Must, row_set.query or tantivy.Query.all_query()), (tantivy.Occur.MustNot, removed.query)]
    )
    share = max(0.0, row_set.share - removed.share)
    return RowSet(query, row_set.exact, row_set.at_most, row_set.ranges + removed.ranges, share)


def as_bound(row_set: RowSet) -> RowSet:
    """The row set marked as possibly too large. An empty row set stays exact."""
    return row_set if row_set is EMPTY_SET else replace(row_set, exact=False)
