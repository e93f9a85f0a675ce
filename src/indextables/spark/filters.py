"""Spark's filters as predicates of ours, where they mean exactly the same; the others stay with Spark.

Spark has cast literals to the column's type before it hands a filter over, so a value that is not of the column's type is one
that we do not understand. Filters over collated and padded (`char`) texts compare by rules that we do not have, and are left
alone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import datasource as ds

from indextables.core.errors import PredicateError
from indextables.core.predicate import Column, IsNotNull, IsNull, Not, Op, Predicate, compare, like, member
from indextables.core.types import SPARK_METADATA, SPARK_TYPE
from indextables.core.values import is_text

_OPS: Final[dict[type, Op]] = {
    ds.EqualTo: "=",
    ds.EqualNullSafe: "<=>",
    ds.GreaterThan: ">",
    ds.GreaterThanOrEqual: ">=",
    ds.LessThan: "<",
    ds.LessThanOrEqual: "<=",
}
_TEXTS: Final[dict[type, tuple[str, str]]] = {
    ds.StringStartsWith: ("", "%"),
    ds.StringEndsWith: ("%", ""),
    ds.StringContains: ("%", "%"),
}


def as_predicate(given: ds.Filter, schema: pa.Schema) -> Predicate | None:
    """The same filter, true, false and null for the same rows; None where there is none."""
    if isinstance(given, ds.Not):
        child = as_predicate(given.child, schema)
        return None if child is None else Not(child)
    column = _column(getattr(given, "attribute", ()), schema)
    if column is None:
        return None
    if isinstance(given, ds.IsNull):
        return IsNull(column)
    if isinstance(given, ds.IsNotNull):
        return IsNotNull(column)
    if not _plain(column, schema):
        return None
    try:
        return _leaf(given, column)
    except PredicateError:
        return None  # a type that only Spark compares


def _leaf(given: Any, column: Column) -> Predicate | None:
    if isinstance(given, ds.In):
        fits = all(value is None or _fits(value, column.type) for value in given.value)
        return member(column, given.value) if fits else None
    if type(given) in _OPS:
        fits = given.value is None or _fits(given.value, column.type)
        return compare(column, _OPS[type(given)], given.value) if fits else None
    if type(given) in _TEXTS and is_text(column.type) and isinstance(given.value, str):
        before, after = _TEXTS[type(given)]
        text = given.value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return like(column, before + text + after)
    return None


def _column(path: Sequence[str], schema: pa.Schema) -> Column | None:
    fields, kind = list(schema), None
    for name in path:
        field = next((field for field in fields if field.name == name), None)
        if field is None:
            return None
        kind = field.type
        fields = list(kind.fields) if pa.types.is_struct(kind) else []
    return None if kind is None else Column(tuple(path), kind)


def _plain(column: Column, schema: pa.Schema) -> bool:
    """Whether no part of the path has a type that Arrow alone does not tell: a collation, a fixed length, an interval."""
    fields = list(schema)
    for name in column.path:
        field = next(field for field in fields if field.name == name)
        kept = field.metadata or {}
        special = kept.get(SPARK_TYPE, b'"varchar')
        if not special.startswith((b'"varchar', b'"timestamp', b'"decimal')) or b"__COLLATIONS" in kept.get(
            SPARK_METADATA, b""
        ):
            return False
        fields = list(field.type.fields) if pa.types.is_struct(field.type) else []
    return True


def _fits(value: Any, kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_boolean(kind):
        return isinstance(value, bool)
    if types.is_integer(kind):
        return isinstance(value, int) and not isinstance(value, bool)
    if types.is_floating(kind):
        return isinstance(value, float)
    if types.is_decimal(kind):
        return isinstance(value, Decimal) or (isinstance(value, int) and not isinstance(value, bool))
    if is_text(kind):
        return isinstance(value, str)
    if types.is_binary(kind) or types.is_large_binary(kind):
        return isinstance(value, bytes | bytearray)
    if types.is_timestamp(kind):
        return isinstance(value, dt.datetime) and (value.tzinfo is None) is (kind.tz is None)
    if types.is_date(kind):
        return isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    return False
