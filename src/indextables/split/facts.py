"""What the bounds of one split say about a predicate.

`core.predicate` answers this for many files at once, with a dozen Arrow calls a leaf; for a single split that is most of the time
that a look-up takes. So comparisons, which are nearly all that is asked, are worked out here on plain values. Floats are not,
because of NaN.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from indextables.core.predicate import And, ColumnBounds, Comparison, In, Not, Or, Predicate, leaves_of, may_match


def may_hold(predicate: Predicate, facts: Mapping[str, ColumnBounds]) -> bool:
    """Whether there may be a row for which it is true. NOT stands above leaves only."""
    quick = _quick(predicate, facts)
    return may_match(predicate, facts) if quick is None else quick


def always_true(predicate: Predicate, facts: Mapping[str, ColumnBounds]) -> bool:
    """Whether bounds say that there is no row for which it is false or null.

    It can only be null for a null, and so not at all where its columns have none, and false only where its negation may be
    true.
    """
    for leaf in leaves_of(predicate):
        known = facts.get(leaf.column.name)
        nullable = leaf.column.nested or known is None or known.has_nulls is not False
        if nullable or (isinstance(leaf, In) and leaf.has_null):
            return False
    if isinstance(predicate, Comparison):
        quick = _holds_everywhere(predicate, facts)
        if quick is not None:
            return quick
    return not may_match(Not(predicate), facts)


def _quick(predicate: Predicate, facts: Mapping[str, ColumnBounds]) -> bool | None:
    """The answer for comparisons; None where it takes more than that."""
    match predicate:
        case Comparison():
            return _compared(predicate, facts)
        case And(children):
            parts = [_quick(child, facts) for child in children]
            return False if False in parts else None if None in parts else True
        case Or(children):
            parts = [_quick(child, facts) for child in children]
            return True if True in parts else None if None in parts else False
    return None


def _compared(leaf: Comparison, facts: Mapping[str, ColumnBounds]) -> bool | None:
    known = _plain(leaf, facts)
    if known is None:
        return None
    low, high, value = known.min, known.max, leaf.value.value
    match leaf.op:
        case "=":
            return bool(low <= value <= high)
        case "<":
            return bool(low < value)
        case "<=":
            return bool(low <= value)
        case ">":
            return bool(high > value)
        case ">=":
            return bool(high >= value)
    return None


def _holds_everywhere(leaf: Comparison, facts: Mapping[str, ColumnBounds]) -> bool | None:
    known = _plain(leaf, facts)
    if known is None:
        return None
    low, high, value = known.min, known.max, leaf.value.value
    match leaf.op:
        case "=":
            return bool(low == value == high)
        case "<":
            return bool(high < value)
        case "<=":
            return bool(high <= value)
        case ">":
            return bool(low > value)
        case ">=":
            return bool(low >= value)
    return None


def _plain(leaf: Comparison, facts: Mapping[str, ColumnBounds]) -> ColumnBounds | None:
    """Both bounds, if they are plain values in an order that Python has, too."""
    column = leaf.column
    known = None if column.nested or pa.types.is_floating(column.type) else facts.get(column.name)
    if known is None or known.min is None or known.max is None or known.max_is_prefix or known.all_null is True:
        return None
    values = (known.min, known.max, leaf.value.value)
    if len({(type(value), getattr(value, "tzinfo", None) is None) for value in values}) > 1:
        return None
    return known if not known.min > known.max else None
