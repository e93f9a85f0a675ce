"""A condition with searches (`where`) → what a split is asked: a predicate, and a bound query for the rest.

    where ── NOT moved down to the leaves ──▶ parts that must all be true ─┬─ without a search ──▶ predicate
                                                                           └─ with one ─────────▶ Filter(bound query)

SQL has three values, a query has two. With NOT above leaves only, a condition is true exactly if AND, OR and "this leaf is true"
say so, and for a search of a column the two leaves are:

    column INDEXQUERY 'text'        the query finds the row, and the column has a value
    NOT column INDEXQUERY 'text'    the query does not find the row, and the column has a value

So a condition becomes a tree of searches and predicates that a split answers as it answers every query (match.py): by one search
of the index where the index knows all leaves exactly, else by candidates, for which the tree is worked out leaf by leaf.

Before that, each split leaves out what its partition values and its footer decide (`undecided`): `day = '…' OR <search>` needs no
index in the partition of that day.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias, assert_never

from indextables.core.predicate import (
    FALSE,
    TRUE,
    And,
    Column,
    Comparison,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Like,
    Not,
    Or,
    Predicate,
    Search,
    all_of,
    any_of,
    has_search,
    leaves_of,
    push_down_not,
)
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
from indextables.split.query.tree import All, Span

_NOWHERE: Final = Span(0, 0)
"""The span of what stands in no query text."""

Decide: TypeAlias = Callable[[Predicate], Predicate]
"""What a split leaves of a predicate: TRUE or FALSE where partition values and footer decide it."""


class Condition(NamedTuple):
    """What the splits of a table are asked for: the rows for which the predicate is true and that the query finds."""

    predicate: Predicate | None = None
    """None is true for every row."""
    query: Bound | None = None
    """None finds every row."""


def bind_condition(where: Predicate, bind: Callable[[Search], Bound], query: Bound | None = None) -> Condition:
    """The condition that is `where`, and what `query` finds. `bind` makes a bound query of the text of a search.

    A query has the scores of its rows alone: searches of `where` add nothing.
    """
    folded = push_down_not(where)
    plain, searching = _divided(folded.children if isinstance(folded, And) else (folded,))
    if not searching:
        return Condition(all_of(plain), query)
    parts = [_bound(part, bind) for part in searching]
    condition = Filter(parts[0] if len(parts) == 1 else Group(must=tuple(parts)))
    return Condition(all_of(plain) if plain else None, condition if query is None else Group(must=(query, condition)))


def undecided(query: Bound, decide: Decide) -> tuple[Predicate, Bound | None]:
    """What a split has to work out of a query: a predicate, and a query for the other part (None: the predicate says it all).

    Only the part of `where` (`Filter`) is looked at.
    """
    match query:
        case Filter():
            return _as_predicate(_simplified(query.child, decide))
        case Group(must=(asked, Filter(child=child)), should=(), must_not=()):
            predicate, left = _as_predicate(_simplified(child, decide))
            return predicate, asked if left is None else Group(must=(asked, Filter(left)))
        case _:
            return TRUE, query


def listed_values(query: Bound) -> int:
    """The number of values in all lists (IN) of the part of `where`."""
    match query:
        case Filter():
            return _listed(query.child)
        case Group(must=(_, Filter(child=child)), should=(), must_not=()):
            return _listed(child)
        case _:
            return 0


def _listed(query: Bound) -> int:
    match query:
        case Typed():
            return sum(len(leaf.values) for leaf in leaves_of(query.predicate) if isinstance(leaf, In))
        case Group():
            return sum(map(_listed, (*query.must, *query.should, *query.must_not)))
        case _:
            return 0


def _divided(parts: Iterable[Predicate]) -> tuple[list[Predicate], list[Predicate]]:
    """The parts without a search, and those with one."""
    plain: list[Predicate] = []
    searching: list[Predicate] = []
    for part in parts:
        (searching if has_search(part) else plain).append(part)
    return plain, searching


def _bound(predicate: Predicate, bind: Callable[[Search], Bound]) -> Bound:
    """A predicate with NOT above leaves only, as a query that finds the rows for which the predicate is true."""
    match predicate:
        case And():
            plain, searching = _divided(predicate.children)
            typed = [Typed(all_of(plain), _NOWHERE)] if plain else []
            return Group(must=(*typed, *(_bound(part, bind) for part in searching)))
        case Or():
            plain, searching = _divided(predicate.children)
            typed = [Typed(any_of(plain), _NOWHERE)] if plain else []
            return Group(should=(*typed, *(_bound(part, bind) for part in searching)))
        case Search():
            query = bind(predicate)
            if predicate.column is None or _needs_value(query, predicate.column):
                return query
            return Group(must=(query, _present(predicate.column)))
        case Not(child=Search() as search):
            must = () if search.column is None else (_present(search.column),)
            return Group(must=must, must_not=(bind(search),))
        case Comparison() | In() | Like() | IsNull() | IsNotNull() | Not() | Constant():
            return Typed(predicate, _NOWHERE)
        case _:
            assert_never(predicate)


def _present(column: Column) -> Typed:
    return Typed(IsNotNull(column), _NOWHERE)


def _needs_value(query: Bound, column: Column) -> bool:
    """Whether the column has a value in every row that the query finds, as the query alone shows."""
    match query:
        case Words() | Pattern() | Near() | Addresses() | AtPath() | AtLeaf():
            return query.field.column == column.name and not column.nested
        case Elements():
            return query.column == column
        case Typed():
            return _rejects_null(query.predicate, column)
        case Group():
            if query.must:
                return any(_needs_value(child, column) for child in query.must)
            return bool(query.should) and all(_needs_value(child, column) for child in query.should)
        case Boosted() | Filter():
            return _needs_value(query.child, column)
        case All():
            return False
        case _:
            assert_never(query)


def _rejects_null(predicate: Predicate, column: Column) -> bool:
    """Whether the predicate is true for no row in which the column is null, as far as that is plain to see."""
    match predicate:
        case Comparison():
            return predicate.column == column and predicate.op != "<=>"
        case In() | Like() | IsNotNull():
            return predicate.column == column
        case And():
            return any(_rejects_null(child, column) for child in predicate.children)
        case Or():
            return all(_rejects_null(child, column) for child in predicate.children)
        case Constant():
            return predicate.value is not True
        case IsNull() | Not() | Search():
            return False
        case _:
            assert_never(predicate)


def _as_predicate(query: Bound | bool) -> tuple[Predicate, Bound | None]:
    """A simplified query as a predicate where it is one."""
    match query:
        case bool():
            return TRUE if query else FALSE, None
        case Typed():
            return query.predicate, None
        case _:
            return TRUE, query


def _simplified(query: Bound, decide: Decide) -> Bound | bool:
    """A query that finds the same rows of a split: True for all of them, False for none."""
    match query:
        case Typed():
            left = decide(query.predicate)
            return left == TRUE if isinstance(left, Constant) else query
        case All():
            return True
        case Group():
            return _simplified_group(query, decide)
        case Boosted() | Filter():
            return _simplified(query.child, decide)
        case Words() | Pattern() | Near() | Elements() | Addresses() | AtPath() | AtLeaf():
            return query
        case _:
            assert_never(query)


def _simplified_group(group: Group, decide: Decide) -> Bound | bool:
    must = [_simplified(child, decide) for child in group.must]
    should = [] if group.must else [_simplified(child, decide) for child in group.should]
    must_not = [_simplified(child, decide) for child in group.must_not]
    open_must = tuple(child for child in must if not isinstance(child, bool))
    open_should = tuple(child for child in should if not isinstance(child, bool))
    open_not = tuple(child for child in must_not if not isinstance(child, bool))
    if False in must or True in must_not or (should and True not in should and not open_should):
        return False
    if True in should:
        open_should = ()
    if open_not:
        return Group(open_must, open_should, open_not)
    left = open_must or open_should
    if len(left) < 2:
        return left[0] if left else True
    return Group(open_must, open_should)


__all__ = ["Condition", "bind_condition", "listed_values", "undecided"]
