"""The keys of `Table.aggregate` as functions of SQL: `indextables_histogram`, `indextables_date_histogram`, `indextables_range`.

    analysis    Java: a column's type and arguments ──▶ define_bucket ──▶ the function's type, and its tree (`bucket_trees.py`)
    planning    a function among the keys of a group ──▶ bucket_key ──▶ the table computes the buckets
    elsewhere   Spark computes the tree

The buckets are made by `core/aggregate` in both cases, so both mean the same.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.types import (
    DataType,
    DateType,
    DoubleType,
    LongType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from indextables.core.aggregate import Argument, BucketError, Key, make_bucket
from indextables.core.errors import QueryError
from indextables.core.predicate import Column
from indextables.spark.connector.planning.bucket_trees import bucket_tree
from indextables.spark.connector.planning.filters import Tree, compares_plainly, literal_value, table_column
from indextables.spark.reading.arrow_types import arrow_schema

_PREFIX: Final = "function:indextables.indextables_"
"""How `Trees.java` writes a function of ours: what follows is the name of a key's function in `core/aggregate`."""
_FUNCTIONS: Final = {
    "histogram": "indextables_histogram(column, 100)",
    "date_histogram": "indextables_date_histogram(column, '1 hour')",
    "range": "indextables_range(column, 10, 100)",
}
"""The functions, each with an example that errors show."""
_LONGEST_NAME: Final = 60
"""Characters of a column's text that a message quotes."""
_NUMBERS: Final = ("byte", "short", "integer", "long", "float", "double", "decimal")
"""Spark's types of numbers, as their JSON begins."""
_UNITS: Final = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
}
"""Microseconds of the units that an INTERVAL may be a multiple of, the longest first."""
_MONTHS: Final = {1: "month", 3: "quarter", 12: "year"}
"""The intervals of months that are buckets."""


def define_bucket(asked: Mapping[str, Any]) -> list[bytes]:
    """What a function of SQL gives: its type, and the tree by which Spark computes it. Raises QueryError for wrong arguments.

    `asked` has the function, the text and the type of its first argument, and the literals after it.
    """
    function, arguments = asked["function"], asked["arguments"]
    name = str(asked["name"])
    if len(name) > _LONGEST_NAME:
        name = name[:_LONGEST_NAME] + "…"
    try:
        kind = _arrow_type(asked["type"])
        bucket, result = make_bucket(function, Column((name,), kind), [_argument(tree) for tree in arguments])
    except BucketError as error:
        raise QueryError(f"indextables_{function}: {error}; write {_FUNCTIONS[function]}") from error
    tree = bucket_tree(bucket, kind)
    return [spark_type(result).json().encode(), json.dumps(tree).encode()]


def bucket_key(number: int, tree: Tree, schema: pa.Schema) -> Key | None:
    """A function of ours among the keys of a group, as a key of the table; None where Spark has to compute it."""
    operator = str(tree.get("operator"))
    function = operator.removeprefix(_PREFIX)
    if not operator.startswith(_PREFIX) or function not in _FUNCTIONS:
        return None
    subject, *arguments = tree["arguments"]
    column = table_column(subject, schema)
    if column is None or not compares_plainly(column, schema):
        return None
    try:
        bucket, kind = make_bucket(function, column, [_argument(tree) for tree in arguments])
    except BucketError:
        return None
    return Key(f"key{number}", column, kind, bucket)


def spark_type(kind: pa.DataType) -> DataType:
    """Spark's type of the names of buckets."""
    if pa.types.is_timestamp(kind):
        return TimestampNTZType() if kind.tz is None else TimestampType()
    if pa.types.is_date(kind):
        return DateType()
    if pa.types.is_floating(kind):
        return DoubleType()
    return LongType() if pa.types.is_integer(kind) else StringType()


def _arrow_type(text: str) -> pa.DataType:
    field = {"name": "c", "type": json.loads(text), "nullable": True, "metadata": {}}
    try:
        return arrow_schema(StructType.fromJson({"type": "struct", "fields": [field]})).field(0).type
    except (PySparkException, ValueError, KeyError) as error:
        raise BucketError(f"columns of type {text} have no buckets") from error


def _argument(tree: Tree) -> Argument:
    """A width, an interval or an edge as `Table.aggregate` would have it: a number, or a text."""
    if "value" not in tree or not isinstance(json.loads(tree["type"]), str):
        raise BucketError("a width, an interval or an edge is a number, a text, a date or a time")
    kind, text = str(json.loads(tree["type"])), tree["value"]
    if text is None:
        raise BucketError("null is no width, no interval and no edge")
    if kind.startswith("interval"):
        return _interval(kind, int(text))
    if kind.startswith(_NUMBERS):
        return _number(text)
    if kind.startswith("string"):
        return str(text)
    if not kind.startswith(("date", "timestamp")):
        raise BucketError(
            f"{text} is of type {kind}, but a width, an interval or an edge is a number, a text, a date or a time"
        )
    try:
        value = literal_value(tree)
    except (ValueError, OverflowError) as error:
        raise BucketError("an edge lies beyond the years 1 to 9999") from error
    return _moment(value)


def _number(text: str) -> Argument:
    """A number with the digits that its type shows; a double without a fraction is a whole number."""
    number = Decimal(text)
    if not number.is_finite():
        return text
    return number if "e" not in text.lower() and not text.endswith(".0") else Decimal(f"{number.normalize():f}")


def _moment(value: dt.date | dt.datetime) -> str:
    if not isinstance(value, dt.datetime):
        return value.isoformat()
    return value.replace(tzinfo=None).isoformat(" ") + ("" if value.tzinfo is None else "Z")


def _interval(kind: str, number: int) -> str:
    """Spark's INTERVAL as a text: '15 minute'. Months and years are calendar units."""
    if "month" in kind or "year" in kind:
        return _MONTHS.get(number, f"{number} months")
    for unit, size in _UNITS.items():
        if number > 0 and number % size == 0:
            return f"{number // size} {unit}"
    return f"{number} microseconds"
