"""What the bounds of a single file say about a predicate, worked out on plain values.

`bounds.py` answers for many files at once, with a dozen Arrow calls a leaf. For one file, or a handful, these are most of the
time that a look-up takes. So comparisons and lists, which are nearly all that is asked, are worked out here. Floats are not,
because of NaN, nor is anything that Python orders in another way than Spark: the answer is then None, and the other way has to
be taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from indextables.core.predicate.ast import (
    And,
    Comparison,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Like,
    Not,
    Op,
    Or,
    Predicate,
    Search,
)
from indextables.core.predicate.bounds import ColumnBounds

_OPPOSITE: Final[Mapping[Op, tuple[Op, ...]]] = {
    "=": ("<", ">"),
    "<": (">=",),
    "<=": (">",),
    ">": ("<=",),
    ">=": ("<",),
}


def plainly_may_match(predicate: Predicate, facts: Mapping[str, ColumnBounds]) -> bool | None:
    """Whether there may be a row for which it is true."""
    match predicate:
        case Comparison():
            known = _plain(predicate, facts, (predicate.value.value,))
            return None if known is None else _may(predicate.op, known, predicate.value.value)
        case In():
            values = [literal.value for literal in predicate.values]
            known = _plain(predicate, facts, values)
            return None if known is None else any(known.min <= value <= known.max for value in values)
        case And(children):
            parts = [plainly_may_match(child, facts) for child in children]
            return False if False in parts else None if None in parts else True
        case Or(children):
            parts = [plainly_may_match(child, facts) for child in children]
            return True if True in parts else None if None in parts else False
        case Search() | Not(child=Search()):
            return True
        case Like() | IsNull() | IsNotNull() | Not() | Constant():
            return None


def plainly_always_true(leaf: Predicate, facts: Mapping[str, ColumnBounds]) -> bool | None:
    """Whether there is no value within the bounds for which it is not: the opposite may not be true."""
    match leaf:
        case In():
            values = [literal.value for literal in leaf.values]
            known = _plain(leaf, facts, values)
            return None if known is None else bool(known.min == known.max and known.min in values)
        case Comparison(op="=" | "<" | "<=" | ">" | ">="):
            value = leaf.value.value
            known = _plain(leaf, facts, (value,))
            return None if known is None else not any(_may(op, known, value) for op in _OPPOSITE[leaf.op])
        case Comparison() | Like() | IsNull() | IsNotNull() | Search() | And() | Or() | Not() | Constant():
            return None


def _may(op: Op, known: ColumnBounds, value: Any) -> bool | None:
    match op:
        case "=":
            return bool(known.min <= value <= known.max)
        case "<":
            return bool(known.min < value)
        case "<=":
            return bool(known.min <= value)
        case ">":
            return bool(known.max > value)
        case ">=":
            return bool(known.max >= value)
        case "<>" | "<=>":
            return None


def _plain(leaf: Comparison | In, facts: Mapping[str, ColumnBounds], values: Any) -> ColumnBounds | None:
    """Both bounds, if they and the values are of one kind, in an order that Python has, too."""
    column = leaf.column
    known = None if column.nested or pa.types.is_floating(column.type) else facts.get(column.name)
    if known is None or known.min is None or known.max is None or known.max_is_prefix or known.all_null is True:
        return None
    kind = _kind(known.min)
    if kind != _kind(known.max) or any(_kind(value) != kind for value in values):
        return None
    return known if not known.min > known.max else None


def _kind(value: Any) -> tuple[type, bool]:
    return type(value), getattr(value, "tzinfo", None) is None
