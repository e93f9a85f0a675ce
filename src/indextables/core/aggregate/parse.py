"""Texts → what an aggregate asks for.

    key     = column | histogram(column, width) | date_histogram(column, 'unit') | range(column, edge, edge, …)
    metric  = count | count(*) | count(column) | count(distinct column) | sum(column) | avg(column) | min(column) | max(column)

Everything that can be wrong with them is found here: a column that is not there, or of which no sum can be had.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NoReturn, TypeAlias, get_args

import pyarrow as pa

from indextables.core.aggregate.spec import (
    Aggregate,
    Bucket,
    Calendar,
    FloatSteps,
    Function,
    Key,
    Metric,
    Ranges,
    Steps,
)
from indextables.core.errors import PredicateError, QueryError
from indextables.core.predicate import Column, Comparison, Predicate, compare
from indextables.core.predicate.parse import resolve
from indextables.core.sql_tokens import Word, split
from indextables.core.values import parse_number

By: TypeAlias = str | Sequence[str] | Mapping[str, str]
Metrics: TypeAlias = str | Sequence[str] | Mapping[str, str]

_KEYS: Final = "a column, histogram(column, width), date_histogram(column, 'hour') or range(column, edge, …)"
_METRICS: Final = "count, count(column), count(distinct column), sum(column), avg(column), min(column) or max(column)"
_MOST_EDGES: Final = 1_000
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
_LONGEST_QUOTE: Final = 80
"""Characters of a text that a message quotes: about one line."""
_INTERVAL: Final = re.compile(r"\s*(?:(\d{1,9})\s*)?([A-Za-z]+)\s*")


def parse_aggregate(by: By, metrics: Metrics, schema: pa.Schema) -> Aggregate:
    """Keys and metrics for a table of this schema. Raises QueryError, which names the text that is wrong."""
    keys = tuple(_key(name, text, schema) for name, text in _named(by, "by", 'such as by=["level"]'))
    wanted = tuple(_metric(name, text, schema) for name, text in _named(metrics, "metrics", 'such as {"n": "count"}'))
    if not keys and not wanted:
        raise QueryError("an aggregate without keys and metrics has nothing to say: ask for a count, for example")
    names = [*(key.name for key in keys), *(metric.name for metric in wanted)]
    for name in names:
        if names.count(name) > 1:
            raise QueryError(f"two columns of the result are named {name}: give one of them another name", column=name)
    return Aggregate(keys, wanted)


def _named(texts: Any, what: str, example: str) -> list[tuple[str, str]]:
    if isinstance(texts, str):
        pairs = [(texts.strip(), texts)]
    elif isinstance(texts, Mapping):
        pairs = list(texts.items())
    elif isinstance(texts, Sequence) and not isinstance(texts, bytes):
        pairs = [(text.strip() if isinstance(text, str) else text, text) for text in texts]
    else:
        raise QueryError(f"{what} is {texts!r}, but must be texts, {example}")
    for name, text in pairs:
        if not isinstance(name, str) or not isinstance(text, str):
            raise QueryError(f"{what} has {text!r} for {name!r}, but must have texts, {example}")
        if not name.isascii() and re.search("[\ud800-\udfff]", name):
            raise QueryError(f"{what} names {name!r}, which holds half a surrogate pair, as no name can")
        if not name:
            raise QueryError(f"{what} has a part without a name, or an empty one: write {example}")
    return pairs


class _Call:
    """A text as the name of a function and its arguments, or as a column."""

    def __init__(self, text: str, kinds: str) -> None:
        self.text = text
        self._kinds = kinds
        try:
            self._words = split(text)
        except PredicateError as error:
            raise QueryError(f"{_quoted(text)} cannot be read: {str(error).replace(' of the filter', '')}") from error
        self._at = 0
        self.function = ""
        if self._words[0].kind == "word" and self._words[1].upper == "(":
            self.function = self._words[0].text.lower()
            self._at = 2

    def column(self, schema: pa.Schema) -> Column:
        first = self._next()
        names = [first.text]
        if first.kind not in {"word", "name"}:
            self.fail(f"{first} stands where a column is expected")
        while self.take("."):
            names.append(self._next().text)
        try:
            return resolve(names, schema, first)
        except PredicateError as error:
            self.fail(re.sub(r" at position \d+ of the filter", "", str(error)))

    def value(self) -> Any:
        """A number or a text."""
        word = self._next()
        sign = word.text if word.upper in {"-", "+"} else ""
        if sign:
            word = self._next()
        number = parse_number(sign + word.text) if word.kind == "number" else None
        if number is None and (word.kind != "text" or sign):
            self.fail(f"{word} stands where a number or a text between quotes is expected")
        return word.text if number is None else number

    def take(self, sign: str) -> bool:
        found = self._words[self._at].upper == sign
        self._at += found
        return found

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            self.fail(f"{self._words[self._at]} stands where {sign!r} is expected")

    def end(self) -> None:
        if self.function:
            self.expect(")")
        if self._words[self._at].kind != "end":
            self.fail(f"{self._words[self._at]} is too much")

    def fail(self, why: str) -> NoReturn:
        raise QueryError(f"{_quoted(self.text)}: {why}; write {self._kinds}", text=self.text)

    def _next(self) -> Word:
        word = self._words[self._at]
        self._at += word.kind != "end"
        return word


def _key(name: str, text: str, schema: pa.Schema) -> Key:
    if text in schema.names:
        return _plain(name, Column((text,), schema.field(text).type), text)
    call = _Call(text, _KEYS)
    match call.function:
        case "":
            column = call.column(schema)
            call.end()
            return _plain(name, column, text)
        case "histogram":
            column, bucket = _histogram(call, schema)
            kind = pa.float64() if isinstance(bucket, FloatSteps) else pa.int64()
        case "date_histogram":
            column, bucket = _date_histogram(call, schema)
            kind = column.type
        case "range":
            column, bucket = _range(call, schema)
            kind = pa.string()
        case other:
            call.fail(f"there is no function {other} for keys")
    call.end()
    return Key(name, column, kind, bucket)


def _quoted(text: str) -> str:
    """A text in a message, which stays one line that can be read."""
    return repr(text) if len(text) <= _LONGEST_QUOTE else repr(text[:_LONGEST_QUOTE]) + "…"


def _plain(name: str, column: Column, text: str) -> Key:
    if pa.types.is_nested(column.type) or pa.types.is_interval(column.type):
        raise QueryError(f"{text!r}: rows cannot be grouped by {column}, which is a {column.type}", column=str(column))
    return Key(name, column, column.type)


def _histogram(call: _Call, schema: pa.Schema) -> tuple[Column, Bucket]:
    column = call.column(schema)
    call.expect(",")
    width = call.value()
    if not pa.types.is_integer(column.type) and not pa.types.is_floating(column.type):
        call.fail(f"a histogram is of whole numbers or floats, {column} is a {column.type}")
    if not isinstance(width, Decimal) or width <= 0:
        call.fail(f"the width {width} is no number above 0")
    if pa.types.is_floating(column.type):
        if float(width) == 0.0 or float(width) == float("inf"):
            call.fail(f"the width {width} is no double above 0")
        return column, FloatSteps(float(width))
    if width != int(width) or width >= 2**63:
        call.fail(f"the width of a histogram of whole numbers is a whole number below 2^63, not {width}")
    return column, Steps(int(width))


def _date_histogram(call: _Call, schema: pa.Schema) -> tuple[Column, Bucket]:
    column = call.column(schema)
    call.expect(",")
    interval = call.value()
    is_date = pa.types.is_date(column.type)
    if not is_date and not pa.types.is_timestamp(column.type):
        call.fail(f"a date_histogram is of dates or timestamps, {column} is a {column.type}")
    found = _INTERVAL.fullmatch(interval) if isinstance(interval, str) else None
    count, unit = (int(found[1] or 1), found[2]) if found else (0, "")
    unit = _SHORT.get(unit, unit.lower())
    unit = unit.removesuffix("s")
    if unit in {"month", "quarter", "year"} and count == 1:
        return column, Calendar(unit)  # type: ignore[arg-type]
    if unit not in _MICROSECONDS or not count or (unit == "week" and count != 1):
        units = ", ".join(_MICROSECONDS)
        call.fail(f"the interval {interval!r} is none of {units}, month, quarter, year, '15 minutes' and the like")
    if is_date and unit not in {"day", "week"}:
        call.fail(f"{column} is a date, its smallest interval is a day")
    width, origin = count * _MICROSECONDS[unit], (_MONDAY * _DAY if unit == "week" else 0)
    if width >= 2**63:
        call.fail(f"the interval {interval!r} is longer than all time that a timestamp has")
    return column, Steps(width // _DAY, origin // _DAY) if is_date else Steps(width, origin)


def _range(call: _Call, schema: pa.Schema) -> tuple[Column, Bucket]:
    column = call.column(schema)
    if pa.types.is_nested(column.type) or pa.types.is_boolean(column.type):
        call.fail(f"{column} is a {column.type}, which has no ranges")
    edges: list[Predicate] = []
    texts: list[str] = []
    values: list[Any] = []
    while call.take(","):
        value = call.value()
        try:
            edges.append(compare(column, ">=", value))
        except PredicateError as error:
            call.fail(str(error))
        coerced = edges[-1].value.value if isinstance(edges[-1], Comparison) and isinstance(value, str) else value
        if isinstance(coerced, float) and coerced != coerced:
            call.fail("NaN is no edge: it is greater than every number")
        if values and not values[-1] < coerced:
            call.fail(f"the edge {value} does not lie above {texts[-1]}")
        values.append(coerced)
        texts.append(value if isinstance(value, str) else f"{value:f}")
        if len(edges) > _MOST_EDGES:
            call.fail(f"there are more than {_MOST_EDGES} edges")
    if not edges:
        call.fail("a range needs at least one edge")
    between = [f"[{low}, {high})" for low, high in itertools.pairwise(texts)]
    return column, Ranges(tuple(edges), (f"< {texts[0]}", *between, f">= {texts[-1]}"))


def _metric(name: str, text: str, schema: pa.Schema) -> Metric:
    if text.strip().lower() == "count":
        return Metric(name, "count", pa.int64())
    call = _Call(text, _METRICS)
    if call.function == "count" and call.take("*"):
        call.end()
        return Metric(name, "count", pa.int64())
    if call.function not in {"mean", *get_args(Function)}:
        call.fail(f"there is no metric {call.function or text}")
    function: Function = "avg" if call.function == "mean" else call.function  # type: ignore[assignment]
    if function == "count" and call.take("DISTINCT"):
        function = "distinct"
    column = call.column(schema)
    call.end()
    kind = _result(function, column.type)
    if kind is None:
        call.fail(f"{column} is a {column.type}, which has no {function}")
    return Metric(name, function, kind, column)


def _result(function: Function, kind: pa.DataType) -> pa.DataType | None:
    """The type that comes out, as in Spark; None where there is none."""
    simple = not pa.types.is_nested(kind) and not pa.types.is_interval(kind) and not pa.types.is_null(kind)
    match function:
        case "count":
            return pa.int64()
        case "distinct":
            return pa.int64() if simple else None
        case "min" | "max":
            return kind if simple else None
        case "sum":
            return _sum(kind)
        case "avg":
            return _average(kind)


def _sum(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_decimal(kind):
        return pa.decimal128(min(38, kind.precision + 10), kind.scale)
    if pa.types.is_integer(kind):
        return pa.int64()
    return pa.float64() if pa.types.is_floating(kind) else None


def _average(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_decimal(kind):
        return _decimal_average(kind)
    return pa.float64() if pa.types.is_integer(kind) or pa.types.is_floating(kind) else None


def _decimal_average(kind: pa.DataType) -> pa.DataType:
    """Four more digits after the point, as long as those before it leave room."""
    scale = min(kind.scale + 4, 38 - (kind.precision - kind.scale))
    return pa.decimal128(min(38, kind.precision + 4), max(scale, kind.scale))
