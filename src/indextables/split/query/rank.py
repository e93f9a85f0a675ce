"""The best rows of one split.

A row's score is BM25 within its split, from the words of the query; what is typed (numbers, dates, strings) filters, and counts
nothing. Rows of equal score come in their order. Tantivy orders them by their place in the index, which is the same where
documents come in the order of rows (`IndexView.in_row_order`); elsewhere more hits are asked for, until the last score that
counts has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, assert_never

import numpy as np
import numpy.typing as npt
import tantivy

from indextables.split.bundle.native_errors import translated
from indextables.split.index.row_numbers import RowNumberArray, numbers_of
from indextables.split.query.bound import (
    Addresses,
    AtLeaf,
    AtPath,
    Boosted,
    Bound,
    Elements,
    Filter,
    Group,
    Near,
    Pattern,
    Typed,
    Words,
)
from indextables.split.query.index_queries import leaf_query
from indextables.split.query.match import Match
from indextables.split.query.tree import All

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Hits:
    """The best hits of one split: best first, those of equal score in the order of their rows."""

    scores: list[float]
    rows: Callable[[Sequence[int]], RowNumberArray]
    """The numbers of the rows of some hits, by their places here. Of most hits nobody wants to know: other splits have better."""

    def arrays(self) -> tuple[Scores, RowNumberArray]:
        """The scores of all hits and the numbers of their rows, best first."""
        return np.array(self.scores, np.float64), self.rows(range(len(self.scores)))


NO_HITS: Final = Hits([], lambda _: np.zeros(0, np.int64))


def best_hits(match: Match, bound: Bound, limit: int) -> Hits:
    """The best hits of a split, at most `limit`."""
    view = match.view
    if not view.rows or limit < 1:
        return NO_HITS
    if not has_words(bound):
        rows = match.rows(bound)[:limit]
        return Hits([0.0] * len(rows), rows.__getitem__)
    exact = isinstance(bound, Words) or match.row_set(bound).exact
    query = _scored_once(match, bound)
    if exact and view.in_row_order:
        scores, documents = _search(match, query, min(limit, view.rows))
        return Hits(scores, lambda places: _numbers(match, [documents[place] for place in places]))
    best, numbers = _ordered(match, query, limit, None if exact else match.rows(bound))
    return Hits(best.tolist(), numbers.__getitem__)


def _ordered(
    match: Match, query: tantivy.Query, limit: int, allowed: RowNumberArray | None
) -> tuple[Scores, RowNumberArray]:
    """The best hits where the order of hits is not that of rows, or where some hits may be wrong: more are searched for until
    the last score that counts has ended.
    """
    wanted = limit
    while True:
        most = min(wanted, match.view.rows)
        found, documents = _search(match, query, most)
        scores, numbers = np.array(found, np.float64), _numbers(match, documents)
        complete = len(numbers) < most or most == match.view.rows
        if allowed is not None:
            kept = np.isin(numbers, allowed)
            scores, numbers = scores[kept], numbers[kept]
        if complete or (len(numbers) >= limit and (match.view.in_row_order or scores[-1] < scores[limit - 1])):
            order = np.lexsort((numbers, -scores))[:limit]
            return scores[order], numbers[order]
        wanted *= 4


def _search(match: Match, query: tantivy.Query, limit: int) -> tuple[list[float], list[Any]]:
    with translated(match.view.split, "searching its index"):
        found: Any = match.view.searcher.search(query, limit=limit, count=False)
        hits = found.hits
    return [hit[0] for hit in hits], [hit[1] for hit in hits]


def _numbers(match: Match, documents: Sequence[Any]) -> RowNumberArray:
    return numbers_of(match.view.searcher, documents, match.sources, split=match.view.split)


def _scored_once(match: Match, bound: Bound) -> tantivy.Query:
    """The query with scores, kept with the search that it is part of."""
    search = match.search
    if search is None or bound is not search.bound:
        return scored(match, bound)
    if search.scored is None:
        search.scored = scored(match, bound)
    return search.scored


def has_words(bound: Bound) -> bool:
    """Whether rows can have different scores."""
    match bound:
        case Words() | Pattern() | Near() | AtPath():
            return True
        case Group():
            return any(map(has_words, (*bound.must, *bound.should)))
        case Boosted():
            return has_words(bound.child)
        case All() | Typed() | Elements() | Addresses() | AtLeaf() | Filter():
            return False
        case _:
            assert_never(bound)


def scored(match: Match, bound: Bound) -> tantivy.Query:
    """The Tantivy query with scores. It finds the rows of `Match.row_set`."""
    query = tantivy.Query
    occur = tantivy.Occur
    match bound:
        case Boosted():
            return query.boost_query(scored(match, bound.child), bound.factor)
        case Group():
            if bound.must:
                parts = [(occur.Must, scored(match, child)) for child in bound.must]
                parts += [(occur.Should, scored(match, child)) for child in bound.should]
            elif bound.should:
                any_of = query.boolean_query([(occur.Should, scored(match, child)) for child in bound.should])
                parts = [(occur.Must, any_of)]
            else:
                parts = [(occur.Must, _unscored(None))]
            excluded = match.row_set(Group(should=bound.must_not)) if bound.must_not else None
            if excluded is not None and excluded.exact:
                parts.append((occur.MustNot, excluded.query or query.all_query()))
            return query.boolean_query(parts)
        case Words() | Pattern() | Near() | AtPath():
            return query.empty_query() if bound.field.column in match.constants else leaf_query(match.view, bound)
        case All() | Typed() | Elements() | Addresses() | AtLeaf() | Filter():
            return _unscored(match.row_set(bound).query)
        case _:
            assert_never(bound)


def _unscored(query: tantivy.Query | None) -> tantivy.Query:
    return tantivy.Query.const_score_query(query or tantivy.Query.all_query(), 0.0)
