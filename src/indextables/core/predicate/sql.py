"""A predicate as text: for histories, for error messages, and for engines that take SQL.

The text is Spark SQL, with our operators for searches, and `parse_predicate` gives the same predicate back.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import assert_never

import pyarrow as pa

from indextables.core.predicate.ast import (
    And,
    Column,
    Comparison,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Predicate,
    Search,
)

_CONSTANTS = {True: "TRUE", False: "FALSE", None: "NULL"}


def to_sql(predicate: Predicate) -> str:
    """The predicate in Spark SQL."""
    match predicate:
        case And() | Or():
            word = " AND " if isinstance(predicate, And) else " OR "
            if len(predicate.children) < 2:
                return (
                    _CONSTANTS[isinstance(predicate, And)] if not predicate.children else to_sql(predicate.children[0])
                )
            return word.join(_grouped(child) for child in predicate.children)
        case Not():
            return f"NOT {_grouped(predicate.child)}"
        case Constant():
            return _CONSTANTS[predicate.value]
        case Comparison():
            return f"{column_sql(predicate.column)} {predicate.op} {literal_sql(predicate.value)}"
        case In():
            values = [literal_sql(value) for value in predicate.values] + ["NULL"] * predicate.has_null
            return f"{column_sql(predicate.column)} IN ({', '.join(values)})"
        case Like():
            return f"{column_sql(predicate.column)} LIKE {_quoted(predicate.pattern)}"
        case IsNull():
            return f"{column_sql(predicate.column)} IS NULL"
        case IsNotNull():
            return f"{column_sql(predicate.column)} IS NOT NULL"
        case Search():
            text = _quoted(predicate.text)
            if predicate.column is None:
                return f"INDEXQUERYALL({text})"
            return f"{column_sql(predicate.column)} {predicate.operator} {text}"
        case _:
            assert_never(predicate)


def column_sql(column: Column) -> str:
    """The column's name between backticks."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in column.path)


def literal_sql(literal: Literal) -> str:
    """The literal with its type, so that it cannot be read as another one."""
    value = literal.value
    if isinstance(value, bool):
        return _CONSTANTS[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value!r}D" if math.isfinite(value) else f"CAST('{_not_finite(value)}' AS DOUBLE)"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if isinstance(value, dt.datetime):
        text = value.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
        zoned = pa.types.is_timestamp(literal.type) and literal.type.tz is not None
        return f"TIMESTAMP '{text}Z'" if zoned else f"TIMESTAMP_NTZ '{text}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    raise TypeError(type(value).__name__)


def _grouped(predicate: Predicate) -> str:
    text = to_sql(predicate)
    return f"({text})" if isinstance(predicate, And | Or | Not) else text


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
