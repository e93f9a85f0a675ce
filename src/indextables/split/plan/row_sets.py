"""Sets of rows that an index can be asked for, and how they are put together.

An `Answer` to "for which rows is this true?" never loses a row. It is *exact* where it has no other row either: then it can
also be taken away from another one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import tantivy


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows that a query finds, or (None) all rows."""

    query: tantivy.Query | None
    exact: bool
    at_most: int
    """No more rows than this are found."""
    ranges: int = 0
    """How many ranges over fast fields the search takes."""
    share: float = 1.0
    """Which part of all rows it probably is, 1 where nothing is known. It decides about speed only."""


NOTHING = Answer(tantivy.Query.empty_query(), True, 0, share=0.0)


def all_answers(answers: Iterable[Answer], rows: int) -> Answer:
    """The rows that all answers have."""
    parts = list(answers)
    if any(part is NOTHING for part in parts):
        return NOTHING
    exact = all(part.exact for part in parts)
    queries = [part.query for part in parts if part.query is not None]
    at_most = min((part.at_most for part in parts), default=rows)
    if len(queries) < 2:
        query = queries[0] if queries else None
    else:
        query = tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in queries])
    share = min((part.share for part in parts), default=1.0)
    return Answer(query, exact, at_most, sum(part.ranges for part in parts), share)


def any_answer(answers: Iterable[Answer], rows: int) -> Answer:
    """The rows that one of the answers has."""
    parts = [part for part in answers if part is not NOTHING]
    if len(parts) < 2:
        return parts[0] if parts else NOTHING
    queries = [(tantivy.Occur.Should, part.query) for part in parts if part.query is not None]
    if len(queries) < len(parts):
        return Answer(None, any(part.exact for part in parts if part.query is None), rows)
    at_most = min(rows, sum(part.at_most for part in parts))
    exact, share = all(part.exact for part in parts), min(1.0, sum(part.share for part in parts))
    query = tantivy.Query.boolean_query(queries)
    return Answer(query, exact, at_most, sum(part.ranges for part in parts), share)


def without(answer: Answer, taken: Answer) -> Answer:
    """The rows of an answer that are not among those of another one, which has to be exact to be taken away.

    Tantivy finds nothing for a NOT that stands alone: there is always something that it is taken from.
    """
    if not taken.exact:
        return superset(answer)
    if taken is NOTHING or answer is NOTHING:
        return answer
    if taken.query is None:
        return NOTHING
    query = tantivy.Query.boolean_query(
        [(tantivy.Occur.Must, answer.query or tantivy.Query.all_query()), (tantivy.Occur.MustNot, taken.query)]
    )
    share = max(0.0, answer.share - taken.share)
    return Answer(query, answer.exact, answer.at_most, answer.ranges + taken.ranges, share)


def superset(answer: Answer) -> Answer:
    """The same rows, as a bound only. Where there is nothing, nothing is still exact."""
    return answer if answer is NOTHING else replace(answer, exact=False)
