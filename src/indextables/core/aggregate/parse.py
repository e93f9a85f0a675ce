"""Texts → what an aggregate asks for.

    key     = column | histogram(column, width) | date_histogram(column, 'unit') | range(column, edge, edge, …)
    metric  = count | count(*) | count(column) | count(distinct column) | sum(column) | avg(column) | min(column) | max(column)

Everything that can be wrong with them is found here: a column that is not there, or of which no sum can be had.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn, TypeAlias, get_args

import pyarrow as pa

from indextables.core.aggregate.buckets import MOST_EDGES, BucketError, make_bucket
from indextables.core.aggregate.spec import Aggregate, Function, Key, Metric
from indextables.core.errors import PredicateError, QueryError
from indextables.core.predicate import Column
from indextables.core.predicate.parse import resolve
from indextables.core.sql_tokens import Word, split
from indextables.core.values import parse_number

By: TypeAlias = str | Sequence[str] | Mapping[str, str]
Metrics: TypeAlias = str | Sequence[str] | Mapping[str, str]

_KEYS: Final = "a column, histogram(column, width), date_histogram(column, 'hour') or range(column, edge, …)"
_METRICS: Final = "count, count(column), count(distinct column), sum(column), avg(column), min(column) or max(column)"
_LONGEST_QUOTE: Final = 80
"""Characters of a text that a message quotes: about one line."""


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
        case "histogram" | "date_histogram" | "range":
            key = _bucketed(name, call, schema)
        case other:
            call.fail(f"there is no function {other} for keys")
    call.end()
    return key


def _quoted(text: str) -> str:
    """A text in a message, which stays one line that can be read."""
    return repr(text) if len(text) <= _LONGEST_QUOTE else repr(text[:_LONGEST_QUOTE]) + "…"


def _plain(name: str, column: Column, text: str) -> Key:
    if pa.types.is_nested(column.type) or pa.types.is_interval(column.type):
        raise QueryError(f"{text!r}: rows cannot be grouped by {column}, which is a {column.type}", column=str(column))
    return Key(name, column, column.type)


def _bucketed(name: str, call: _Call, schema: pa.Schema) -> Key:
    column = call.column(schema)
    values = []
    if call.function != "range":
        call.expect(",")
        values.append(call.value())
    while call.function == "range" and len(values) <= MOST_EDGES and call.take(","):
        values.append(call.value())
    try:
        bucket, kind = make_bucket(call.function, column, values)
    except BucketError as error:
        call.fail(str(error))
    return Key(name, column, kind, bucket)


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
