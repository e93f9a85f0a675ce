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

import numpy as np
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
from indextables.core.values import EPOCH, EXACT, fit_decimal, is_text, micros, parse_moment, parse_number, whole_range

_BOOLEANS = dict.fromkeys(("true", "t", "yes", "y", "1"), True) | dict.fromkeys(("false", "f", "no", "n", "0"), False)
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
        raise PredicateError(
            f"the escape character of LIKE is {escape!r}, expected one character other than '%' and '_'"
        )
    parts = like_parts(_whole(pattern), escape)
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
    return _Place(Literal(_whole(value) if isinstance(value, str) else value, column.type), exact=True)


def _whole(text: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise PredicateError(f"the text {text!r} holds half a surrogate pair, which no column can", value=repr(text))
    return text


def _mismatch(column: Column, value: Any) -> PredicateError:
    shown = str(value) if isinstance(value, int | Decimal | dt.date) else repr(value)
    hint = f", write '{shown}'" if is_text(column.type) else ""
    return PredicateError(
        f"column {column} of type {column.type} cannot be compared with {shown}{hint}",
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
    if type(value) is int and pa.types.is_integer(column.type):
        low, high = whole_range(column.type)
        if low <= value <= high:
            return _Place(
                Literal(value, column.type), exact=True
            )  # the way of most values, thousands of them in a list
    if isinstance(value, str):
        value = to_float32(_cast_number(column, value)) if _is_float32(column.type) else _cast_number(column, value)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise _mismatch(column, value)
    if pa.types.is_floating(column.type):
        return _Place(Literal(_to_double(value), pa.float64()), exact=True)
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        return _Place(None, above=not number.is_signed() or number.is_nan())  # NaN is greater than every number
    fitting: Any
    if pa.types.is_integer(column.type):
        low, high = whole_range(column.type)
        fitting = math.floor(number) if low <= number <= high else None
    else:
        step = Decimal(1).scaleb(-column.type.scale)
        floor = number.quantize(step, ROUND_FLOOR, EXACT)  # NaN where the number has too many digits for any column
        fitting = fit_decimal(floor, column.type)
    if fitting is None:
        return _Place(None, above=number > 0)
    return _Place(Literal(fitting, column.type), exact=fitting == number)


def _cast_number(column: Column, text: str) -> Decimal | float:
    stripped = text.strip()
    number = parse_number(stripped)
    if pa.types.is_floating(column.type) and stripped.lower().lstrip("+-") in {"nan", "inf", "infinity"}:
        return float(stripped)
    if number is None or (pa.types.is_integer(column.type) and not stripped.lstrip("+-").isdigit()):
        raise _no_cast(column, text)
    return number


def _is_float32(arrow_type: pa.DataType) -> bool:
    return bool(pa.types.is_float32(arrow_type))


def to_float32(value: float | Decimal) -> float:
    """The nearest float, as a cast to FLOAT makes it: `0.1` is then what a FLOAT column holds for it."""
    with np.errstate(over="ignore"):
        return float(np.float32(_to_double(value)))


def _to_double(value: float | Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _place_date(column: Column, value: Any) -> _Place:
    if isinstance(value, str):
        moment = parse_time(value, zoned=False)
        if moment is None:
            raise _no_cast(column, value)
        return _Place(Literal(moment.date(), column.type), exact=True)
    if isinstance(value, dt.datetime):
        moment = _utc(value)
        return _Place(Literal(moment.date(), column.type), exact=moment.time() == dt.time())
    if isinstance(value, dt.date):
        return _Place(Literal(value, column.type), exact=True)
    raise _mismatch(column, value)


def _place_timestamp(column: Column, value: Any) -> _Place:
    zoned = column.type.tz is not None
    if isinstance(value, str):
        parsed = parse_time(value, zoned=zoned)
        if parsed is None:
            raise _no_cast(column, value)
        value = parsed
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)  # noqa: DTZ001 - midnight UTC
    if not isinstance(value, dt.datetime):
        raise _mismatch(column, value)
    moment = _utc(value)
    return _Place(Literal(moment.replace(tzinfo=dt.UTC) if zoned else moment, column.type), exact=True)


def _utc(moment: dt.datetime) -> dt.datetime:
    """The moment in UTC, without a zone."""
    return EPOCH + dt.timedelta(microseconds=micros(moment))


def parse_time(text: str, *, zoned: bool) -> dt.datetime | None:
    """A text as Spark casts it to a timestamp, in UTC and without a zone. None if it is not one.

    `2024`, `2024-01`, `2024-01-31`, a time after a blank or T, an offset, `Z`, `UTC` or a region such as Europe/Berlin.
    With `zoned=False` the zone is dropped, as the casts to a date and to a timestamp without time zone do.
    """
    text = text.strip()
    partial = _PARTIAL_DATE.fullmatch(text)
    if partial is not None:
        text = f"{partial[1]}-{partial[2] or '01'}-01"
    parsed = parse_moment(text, read_offset=zoned)
    zone: dt.tzinfo | None = dt.UTC
    region = _ZONED.fullmatch(text) if parsed is None else None
    if region is not None:
        parsed, zone = parse_moment(region[1]), _zone(region[2])
        if parsed != parse_moment(region[1], read_offset=False):
            return None  # an offset and a region
    if parsed is None or zone is None:
        return None
    moment = EPOCH + dt.timedelta(microseconds=parsed[0])
    try:
        return _utc(moment.replace(tzinfo=zone)) if zoned else moment
    except OverflowError:
        return None


def _zone(name: str) -> dt.tzinfo | None:
    if name in {"UTC", "GMT", "UT"}:
        return dt.UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def cast_literal(value: Any, arrow_type: pa.DataType) -> Any:
    """`CAST(value AS type)` for literals: the value as the type has it, an error where it would have to change."""
    try:
        place = _place(Column(("literal",), arrow_type), value)
    except PredicateError as error:
        raise PredicateError(f"the literal {value!r} cannot be cast to {arrow_type}", value=repr(value)) from error
    if place.literal is None or not place.exact:
        raise PredicateError(f"the literal {value!r} cannot be cast to {arrow_type} without a loss", value=repr(value))
    return to_float32(place.literal.value) if _is_float32(arrow_type) else place.literal.value


def compare_literals(left: Any, op: Op, right: Any) -> bool | None:
    """`left op right` for two literals, as in `1 = 1`."""
    if left is None or right is None:
        return (left is None and right is None) if op == "<=>" else None
    (kind, a), (other, b) = _sort_key(left), _sort_key(right)
    if kind != other:
        raise PredicateError(f"the literals {left!r} and {right!r} cannot be compared with each other")
    if op in {"=", "<=>", "<>"}:
        return (a == b) is (op != "<>")
    low, high = (a, b) if op in {"<", "<="} else (b, a)
    return bool(low < high or (op in {"<=", ">="} and a == b))


def _sort_key(value: Any) -> tuple[str, Any]:
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, int | float | Decimal):
        return "number", (True, 0) if math.isnan(value) else (False, value)  # NaN is the greatest number
    if isinstance(value, dt.datetime):
        return "timestamp", micros(value)
    return type(value).__name__, value
