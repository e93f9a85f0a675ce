"""What the bounds of one split say about a predicate: by Python values if possible, else by Arrow as for many files."""

from __future__ import annotations

from collections.abc import Mapping

from indextables.core.predicate import (
    ColumnBounds,
    In,
    Not,
    Predicate,
    Search,
    leaves_of,
    may_match,
    plainly_always_true,
    plainly_may_match,
)


def may_hold(predicate: Predicate, facts: Mapping[str, ColumnBounds]) -> bool:
    """Whether there may be a row for which the predicate is true. In the predicate NOT stands above leaves only."""
    quick = plainly_may_match(predicate, facts)
    return may_match(predicate, facts) if quick is None else quick


def always_true(predicate: Predicate, facts: Mapping[str, ColumnBounds]) -> bool:
    """Whether bounds say that there is no row for which the predicate is false or null.

    A predicate can be null only where one of its columns is null, and false only where its negation may be true.
    """
    for leaf in leaves_of(predicate):
        if isinstance(leaf, Search):
            return False
        known = facts.get(leaf.column.name)
        nullable = leaf.column.nested or known is None or known.has_nulls is not False
        if nullable or (isinstance(leaf, In) and leaf.has_null):
            return False
    quick = plainly_always_true(predicate, facts)
    return not may_match(Not(predicate), facts) if quick is None else quick
