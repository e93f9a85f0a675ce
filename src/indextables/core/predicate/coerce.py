"""Leaves from values of any type: what a comparison means for a column of another type than the literal's.

Numbers are compared by their mathematical value, as they are written. A literal that the column cannot hold is not
rounded; the comparison is turned into one that the column can hold and that says the same:

    id > 1.5          id > 1
    id = 1.5          never true (null for null)
    id < 1e30         always true (null for null)
    price >= 1.005    price > 1.00             (a decimal with two digits)
    day > TIMESTAMP '2024-01-31 12:00:00'      day > DATE '2024-01-31'

Two cases follow Spark instead: literals for float and double columns are rounded to a double first, and texts are cast
to the column's type (`day >= '2024-01-01'`), where a text that cannot be cast is an error, as in ANSI mode. Times
without a zone are UTC. Spark would compare a long with `1e3` in doubles; here that is exact, too.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import zoneinfo
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import Any

import pyarrow as pa

from indextables.core.errors import PredicateError
from indextables.core.predicate.ast import (
    FALSE,
    NULL,
    Column,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Like,
    Literal,
    Op,
    Predicate,
    Wildcard,
    all_of,
    any_of,
    like_parts,
)
from indextables.core.values import EXACT, fit_decimal, is_text, parse_moment, parse_number, whole_range

_BOOLEANS = {"true": True, "t": True, "yes": True, "y": True, "1": True} | {
    "false": False,
    "f": False,
    "no": False,
    "n": False,
    "0": False,
}
_PARTIAL_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2}))?")
_ZONED = re.compile(r"(.*[0-9]) ?([A-Za-z][A-Za-z0-9_+/:-]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a literal lies among the values of a column: on one, right after one, or (None) beyond an end."""

    literal: Literal | None
    exact: bool = False
    above: bool = False


def compare(column: Column, op: Op, value: Any) -> Predicate:
    """`column op value`. The value is a Python value of any type that makes sense for the column; None is NULL."""
    if value is None:
        return IsNull(column) if op == "<=>" else NULL
    place = _place(column, value)
    if place.literal is not None and place.exact:
        return Comparison(op, column, place.literal)
    if op == "<=>":
        return FALSE
    if op in {"=", "<>"}:
        return _never(column) if op == "=" else _always(column)
    if place.literal is not None:
        return Comparison("<=" if op in {"<", "<="} else ">", column, place.literal)
    return _always(column) if (op in {"<", "<="}) is place.above else _never(column)


def member(column: Column, values: Iterable[Any]) -> Predicate:
    """`column IN (values)`; None among them is NULL."""
    has_null = False
    found: dict[Literal, None] = {}
    for value in values:
        if value is None:
            has_null = True
            continue
        place = _place(column, value)
        if place.literal is not None and place.exact:
            found[place.literal] = None
    if not found:
        return NULL if has_null else _never(column)
    if len(found) == 1 and not has_null:
        return Comparison("=", column, next(iter(found)))
    return In(column, tuple(found), has_null)


def like(column: Column, pattern: str, escape: str = "\\") -> Predicate:
    """`column LIKE pattern ESCAPE escape`, kept with the backslash as its escape character."""
    if not is_text(column.type):
        raise PredicateError(f"LIKE needs a string column, {column} is of type {column.type}", column=str(column))
    if len(escape) != 1 or escape in {"%", "_"}:
        raise PredicateError(f"the escape character of LIKE is {escape!r}, expected one character other than '%' and '_'")
    parts = like_parts(pattern, escape)
    return Like(column, "".join(p.value if isinstance(p, Wildcard) else _escaped(p) for p in parts))


def is_comparable(arrow_type: pa.DataType) -> bool:
    """Whether columns of this type can be compared at all (the others only have IS NULL)."""
    kinds = pa.types
    return bool(
        is_text(arrow_type)
        or kinds.is_boolean(arrow_type)
        or kinds.is_integer(arrow_type)
        or kinds.is_floating(arrow_type)
        or kinds.is_decimal(arrow_type)
        or kinds.is_date32(arrow_type)
        or kinds.is_binary(arrow_type)
        or kinds.is_large_binary(arrow_type)
        or (kinds.is_timestamp(arrow_type) and arrow_type.unit == "us")
    )


def _never(column: Column) -> Predicate:
    return all_of((IsNull(column), NULL))


def _always(column: Column) -> Predicate:
    return any_of((IsNotNull(column), NULL))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _place(column: Column, value: Any) -> _Place:
    kinds = pa.types
    if is_text(column.type):
        return _same(column, value, str)
    if kinds.is_boolean(column.type):
        return _same(column, _cast_boolean(column, value) if isinstance(value, str) else value, bool)
    if kinds.is_binary(column.type) or kinds.is_large_binary(column.type):
        return _same(column, value, bytes)
    if kinds.is_integer(column.type) or kinds.is_floating(column.type) or kinds.is_decimal(column.type):
        return _place_number(column, value)
    if kinds.is_date32(column.type):
        return _place_date(column, value)
    if kinds.is_timestamp(column.type) and is_comparable(column.type):
        return _place_timestamp(column, value)
    raise PredicateError(
        f"column {column} of type {column.type} cannot be compared, only IS NULL and IS NOT NULL", column=str(column)
    )


def _same(column: Column, value: Any, kind: type) -> _Place:
    if not isinstance(value, kind):
        raise _mismatch(column, value)
    return _Place(Literal(value, column.type), exact=True)


def _mismatch(column: Column, value: Any) -> PredicateError:
    quoted = f", write '{value}'" if is_text(column.type) and isinstance(value, int | Decimal) else ""
    return PredicateError(
        f"column {column} of type {column.type} cannot be compared with {value!r}{quoted}",
        column=str(column),
        value=repr(value),
    )


def _no_cast(column: Column, text: str) -> PredicateError:
    return PredicateError(
        f"the text {text!r} cannot be cast to {column.type}, the type of column {column}",
        column=str(column),
        value=text,
    )


def _cast_boolean(column: Column, text: str) -> bool:
    value = _BOOLEANS.get(text.strip().lower())
    if value is None:
        raise _no_cast(column, text)
    return value


def _place_number(column: Column, value: Any) -> _Place:
    if isinstance(value, str):
        value = _cast_number(column, value)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise _mismatch(column, value)
    if pa.types.is_floating(column.type):
        return _Place(Literal(_to_double(value), pa.float64()), exact=True)
    if not math.isfinite(value):
        return _Place(None, above=not value < 0)  # NaN is greater than every number
    number = Decimal(value)
    if pa.types.is_integer(column.type):
        low, high = whole_range(column.type)
        floor = math.floor(number)
        if floor < low or number > high:
            return _Place(None, above=number > high)
        return _Place(Literal(floor, column.type), exact=floor == number)
    step = Decimal(1).scaleb(-column.type.scale)
    rounded = EXACT.quantize(EXACT.divide_int(number, step) * step, step) if False else _floor(number, step)
    if rounded is None:
        return _Place(None, above=number > 0)
    fitting = fit_decimal(rounded, column.type)
    if fitting is None:
        return _Place(None, above=number > 0)
    return _Place(Literal(fitting, column.type), exact=fitting == number)
