"""The functions of keys, `histogram`, `date_histogram` and `range`: a column's type and arguments → buckets.

Texts of `Table.aggregate` and functions of Spark both come here, so that both mean the same and refuse the same.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

import pyarrow as pa

from indextables.core.aggregate.spec import Bucket, Calendar, FloatSteps, Ranges, Steps
from indextables.core.errors import PredicateError
from indextables.core.predicate import Column, Comparison, Predicate, compare

Argument: TypeAlias = Decimal | str
"""A number or a text, as it is written after the column."""

MOST_EDGES: Final = 1_000
"""Edges that one `range` may have: each row is compared with all of them, and nobody reads a thousand buckets."""
_DAY: Final = 86_400_000_000
"""Microseconds of a day."""
_MONDAY: Final = 4
"""The first Monday after the beginning of 1970, in days."""
_MICROSECONDS: Final = {
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": _DAY,
    "week": 7 * _DAY,
}
_SHORT: Final = {"ms": "millisecond", "s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}
_INTERVAL: Final = re.compile(r"\s*(?:(\d{1,9})\s*)?([A-Za-z]+)\s*")


class BucketError(ValueError):
    """Why a column and arguments make no buckets, as a part of a sentence. Callers add the text that they were given."""


def make_bucket(function: str, column: Column, arguments: Sequence[Argument]) -> tuple[Bucket, pa.DataType]:
    """The buckets that a function makes of a column, and the type of their names. Raises BucketError."""
    if function == "range":
        return _range(column, arguments), pa.string()
    if len(arguments) != 1:
        wanted = "a width" if function == "histogram" else "an interval"
        raise BucketError(
            f"a {function} takes a column and {wanted}, here are {len(arguments)} arguments after the column"
        )
    if function == "histogram":
        bucket = _histogram(column, arguments[0])
        return bucket, pa.float64() if isinstance(bucket, FloatSteps) else pa.int64()
    return _date_histogram(column, arguments[0]), column.type


def _histogram(column: Column, width: Argument) -> Steps | FloatSteps:
    if not pa.types.is_integer(column.type) and not pa.types.is_floating(column.type):
        raise BucketError(f"a histogram is of whole numbers or floats, {column} is a {column.type}")
    if not isinstance(width, Decimal) or not width > 0:
        raise BucketError(f"the width {width} is no number above 0")
    if pa.types.is_floating(column.type):
        if float(width) == 0.0 or float(width) == float("inf"):
            raise BucketError(f"the width {width} is no double above 0")
        return FloatSteps(float(width))
    if width != int(width) or width >= 2**63:
        raise BucketError(f"the width of a histogram of whole numbers is a whole number below 2^63, not {width}")
    return Steps(int(width))


def _date_histogram(column: Column, interval: Argument) -> Steps | Calendar:
    is_date = pa.types.is_date(column.type)
    if not is_date and not pa.types.is_timestamp(column.type):
        raise BucketError(f"a date_histogram is of dates or timestamps, {column} is a {column.type}")
    found = _INTERVAL.fullmatch(interval) if isinstance(interval, str) else None
    count, unit = (int(found[1] or 1), found[2]) if found else (0, "")
    unit = _SHORT.get(unit, unit.lower())
    unit = unit.removesuffix("s")
    if unit in {"month", "quarter", "year"} and count == 1:
        return Calendar(unit)  # type: ignore[arg-type]
    if unit not in _MICROSECONDS or not count or (unit == "week" and count != 1):
        units = ", ".join(_MICROSECONDS)
        said = repr(interval) if isinstance(interval, str) else str(interval)
        raise BucketError(f"the interval {said} is none of {units}, month, quarter, year, '15 minutes' and the like")
    if is_date and unit not in {"day", "week"}:
        raise BucketError(f"{column} is a date, its smallest interval is a day")
    width, origin = count * _MICROSECONDS[unit], (_MONDAY * _DAY if unit == "week" else 0)
    if width >= 2**63:
        raise BucketError(f"the interval {interval!r} is longer than all time that a timestamp has")
    return Steps(width // _DAY, origin // _DAY) if is_date else Steps(width, origin)


def _range(column: Column, arguments: Sequence[Argument]) -> Ranges:
    if pa.types.is_nested(column.type) or pa.types.is_boolean(column.type):
        raise BucketError(f"{column} is a {column.type}, which has no ranges")
    if not arguments:
        raise BucketError("a range needs at least one edge")
    if len(arguments) > MOST_EDGES:
        raise BucketError(f"there are more than {MOST_EDGES} edges")
    edges: list[Predicate] = []
    texts: list[str] = []
    values: list[Any] = []
    for value in arguments:
        try:
            edges.append(compare(column, ">=", value))
        except PredicateError as error:
            raise BucketError(str(error)) from error
        coerced = edges[-1].value.value if isinstance(edges[-1], Comparison) and isinstance(value, str) else value
        if isinstance(coerced, float) and coerced != coerced:
            raise BucketError("NaN is no edge: it is greater than every number")
        if values and not values[-1] < coerced:
            raise BucketError(f"the edge {value} does not lie above {texts[-1]}")
        values.append(coerced)
        texts.append(value if isinstance(value, str) else f"{value:f}")
    between = [f"[{low}, {high})" for low, high in itertools.pairwise(texts)]
    return Ranges(tuple(edges), (f"< {texts[0]}", *between, f">= {texts[-1]}"))
