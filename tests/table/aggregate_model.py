"""What an aggregate means, worked out in plain Python on plain rows: one dictionary of groups, and exact fractions."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

import pyarrow as pa

Row = Mapping[str, Any]
KeyOf = Callable[[Row], Any]


def same(value: Any) -> Any:
    """A value that equals itself: NaN is one value, and both zeros are."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def steps(column: str, width: int, origin: int = 0) -> KeyOf:
    return lambda row: None if row[column] is None else (row[column] - origin) // width * width + origin


def float_steps(column: str, width: float) -> KeyOf:
    def key(row: Row) -> Any:
        value = row[column]
        if value is None or not math.isfinite(value):
            return same(value)
        steps = value / width
        if abs(steps) >= 2**53:
            return same(value)
        first = math.floor(steps) * width
        return same(first if first <= value else (math.floor(steps) - 1) * width)

    return key


def months(column: str, count: int, per_day: int) -> KeyOf:
    """The first moment of a month, quarter or year, as days or microseconds: of any year, which `datetime` does not know."""

    def key(row: Row) -> Any:
        if row[column] is None:
            return None
        year, month = _year_and_month(row[column] // per_day)
        return _day(year, (month - 1) // count * count + 1) * per_day

    return key


def _year_and_month(day: int) -> tuple[int, int]:
    cycles, rest = divmod(day, 146_097)  # 400 years, from 1970 on
    date = dt.date(1970, 1, 1) + dt.timedelta(days=rest)
    return date.year + 400 * cycles, date.month


def _day(year: int, month: int) -> int:
    cycles, rest = divmod(year - 1970, 400)
    return (dt.date(1970 + rest, month, 1) - dt.date(1970, 1, 1)).days + 146_097 * cycles


def ranges(column: str, edges: Sequence[Any], labels: Sequence[str]) -> KeyOf:
    def key(row: Row) -> Any:
        value = row[column]
        if value is None:
            return None
        nan = isinstance(value, float) and math.isnan(value)
        return labels[sum(nan or value >= edge for edge in edges)]

    return key


def metric(function: str, column: str | None, kind: pa.DataType | None, rows: Sequence[Row]) -> Any:
    """One number about a group."""
    if column is None:
        return len(rows)
    values = [row[column] for row in rows if row[column] is not None]
    match function:
        case "count":
            return len(values)
        case "count distinct":
            return len({same(value) for value in values})
        case "min" | "max":
            return _extreme(function, values)
    return _sum_or_average(function, kind, values) if values else None


def _extreme(function: str, values: Sequence[Any]) -> Any:
    if not values:
        return None
    numbers = [value for value in values if not (isinstance(value, float) and math.isnan(value))]
    if len(numbers) < len(values) and (function == "max" or not numbers):
        return "NaN"
    return same(min(numbers) if function == "min" else max(numbers))


def _sum_or_average(function: str, kind: pa.DataType, values: Sequence[Any]) -> Any:
    if isinstance(values[0], float):
        if any(math.isnan(value) for value in values) or {math.inf, -math.inf} <= set(values):
            return "NaN"
        infinite = [value for value in values if math.isinf(value)]
        if infinite:
            return infinite[0]
    total = sum(map(Fraction, values), Fraction(0))
    if function == "avg":
        total /= len(values)
    if isinstance(values[0], Decimal):
        with localcontext() as context:
            context.prec = 100
            scale = kind.scale if function == "sum" else min(kind.scale + 4, 38 - (kind.precision - kind.scale))
            exact = Decimal(total.numerator) / Decimal(total.denominator)
            return exact.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
    if function == "sum" and isinstance(values[0], int):
        return int(total)
    try:
        return same(float(total))
    except OverflowError:
        return math.inf if total > 0 else -math.inf
