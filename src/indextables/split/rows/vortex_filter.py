"""Which filters Vortex may apply while it reads: those for which it can never lose a row.

What comes out is filtered again, exactly, so a translation may let too much through, and leaves out whatever is not plain:
floats (NaN, the two zeros), decimals, booleans, fields inside structs, patterns that do not begin with a text. In a
predicate with NOT pushed down to its leaves only the truth of each leaf matters; a conjunction may lose any of its parts,
a disjunction is translated whole or not at all.

Vortex compares equal types only, so every literal is given the column's type in the row store.
"""

from __future__ import annotations

from typing import Any, Final, assert_never

import pyarrow as pa

from indextables.core.bound_texts import truncated_maximum
from indextables.core.predicate import (
    And,
    Column,
    Comparison,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Leaf,
    Like,
    Not,
    Or,
    Predicate,
    Search,
    Wildcard,
    push_down_not,
)
from indextables.core.values import EPOCH, micros
from indextables.split.rows import vortex_library as vx

_LONGEST_LIST: Final = 1000
"""Values of an `IN` that Vortex gets as a list, at most: longer lists become a range."""
_LONGEST_TEXT: Final = 1000
"""Longer texts are cut to a prefix, or not pushed down: the filter is parsed again for every chunk of rows."""


def pushed_down(predicate: Predicate) -> Any:
    """A Vortex expression that is true for every row of a match, or None if there is nothing that it could leave out."""
    return _expression(push_down_not(predicate))


def _expression(predicate: Predicate) -> Any:
    match predicate:
        case And():
            parts = [part for child in predicate.children if (part := _expression(child)) is not None]
            return vx.expr.and_collect(parts) if parts else None
        case Or():
            parts = [_expression(child) for child in predicate.children]
            return None if not parts or any(part is None for part in parts) else vx.expr.or_collect(parts)
        case Not() | Constant() | Search():
            return None
        case Comparison() | In() | Like() | IsNull() | IsNotNull():
            return None if predicate.column.nested else _leaf(predicate)
        case _:
            assert_never(predicate)


def _leaf(leaf: Leaf) -> Any:
    match leaf:
        case IsNull():
            return (
                vx.expr.is_null(vx.expr.column(leaf.column.name))
                if _literal_type(leaf.column.type) is not None
                else None
            )
        case IsNotNull():
            return (
                vx.expr.is_not_null(vx.expr.column(leaf.column.name))
                if _literal_type(leaf.column.type) is not None
                else None
            )
        case Comparison():
            return _comparison(leaf)
        case In():
            return _in(leaf)
        case Like():
            return _like(leaf)
        case _:
            assert_never(leaf)


def _comparison(leaf: Comparison) -> Any:
    value = _literal(leaf.column, leaf.value.value)
    if value is None:
        return None
    column = vx.expr.column(leaf.column.name)
    match leaf.op:
        case "=" | "<=>":
            return column == value
        case "<":
            return column < value
        case "<=":
            return column <= value
        case ">":
            return column > value
        case ">=":
            return column >= value
        case "<>":
            return None
        case _:
            assert_never(leaf.op)


def _in(leaf: In) -> Any:
    form = _literal_type(leaf.column.type)
    if form is None or not leaf.values:
        return None
    column = vx.expr.column(leaf.column.name)
    values = [_stored_value(value.value, leaf.column.type) for value in leaf.values]
    if any(isinstance(value, str) and len(value) > _LONGEST_TEXT for value in values):
        return None
    if len(values) <= _LONGEST_LIST:
        return vx.expr.in_list(column, vx.expr.literal(vx.list_(form), values))
    return (column >= vx.expr.literal(form, min(values))) & (column <= vx.expr.literal(form, max(values)))


def _like(leaf: Like) -> Any:
    parts = leaf.parts()
    if not parts:
        return _between(leaf.column, "", None)
    if not isinstance(parts[0], str):
        return None
    start = parts[0][:_LONGEST_TEXT]
    if len(parts) == 1 and start == parts[0]:
        return vx.expr.column(leaf.column.name) == vx.expr.literal(vx.utf8(), start)
    assert len(parts) == 1 or isinstance(parts[1], Wildcard)
    return _between(leaf.column, start, truncated_maximum(start + "\0", len(start)))


def _between(column: Column, low: str, high: str | None) -> Any:
    values = vx.expr.column(column.name)
    above = values >= vx.expr.literal(vx.utf8(), low)
    return above if high is None else above & (values < vx.expr.literal(vx.utf8(), high))


def _literal(column: Column, value: Any) -> Any:
    form = _literal_type(column.type)
    if form is None or (isinstance(value, str) and len(value) > _LONGEST_TEXT):
        return None
    return vx.expr.literal(form, _stored_value(value, column.type))


def _literal_type(arrow: pa.DataType) -> Any:
    """The Vortex type of the column in the row store, None if filters on it are not pushed down."""
    kinds = pa.types
    if kinds.is_string(arrow):
        return vx.utf8()
    if kinds.is_signed_integer(arrow):
        return vx.int_(arrow.bit_width)
    if kinds.is_date32(arrow):
        return vx.int_(32)
    if kinds.is_timestamp(arrow) and arrow.unit == "us":
        return vx.int_(64)
    return None


def _stored_value(value: Any, arrow: pa.DataType) -> int | str:
    if pa.types.is_date32(arrow):
        return int((value - EPOCH.date()).days)
    if pa.types.is_timestamp(arrow):
        return micros(value)
    assert isinstance(value, int | str)
    return value
