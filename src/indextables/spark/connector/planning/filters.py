"""Spark's V2 predicates as predicates of ours, where both mean the same for every row.

Spark casts literals to the column's type before it hands a filter over, so a value that is not of the column's type is a value
that we do not understand. Filters over collated and padded (`char`) texts compare by rules that we do not have. Spark applies
these filters itself.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from indextables.core.errors import PredicateError, QueryError
from indextables.core.predicate import (
    Column,
    Constant,
    IsNotNull,
    IsNull,
    Op,
    Predicate,
    Search,
    SearchOp,
    compare,
    like,
    member,
)
from indextables.core.types import SPARK_METADATA, SPARK_TYPE
from indextables.core.values import is_text
from indextables.table.distributed.filter_answers import (
    UNSUPPORTED,
    FilterAnswer,
    all_true,
    answer_filter,
    any_true,
    not_true,
)

Tree = Mapping[str, Any]
"""An expression of Spark, as the connector's `Trees.java` writes it."""
_OPS: Final[dict[str, Op]] = {"=": "=", "<=>": "<=>", ">": ">", ">=": ">=", "<": "<", "<=": "<="}
_TURNED: Final[dict[str, str]] = {"=": "=", "<=>": "<=>", "<>": "<>", ">": "<", ">=": "<=", "<": ">", "<=": ">="}
_TEXTS: Final = {"STARTS_WITH": ("", "%"), "ENDS_WITH": ("%", ""), "CONTAINS": ("%", "%")}
_SEARCHES: Final[dict[str, SearchOp]] = {
    "function:indextables.indexquery": "INDEXQUERY",
    "function:indextables.textsearch": "TEXTSEARCH",
    "function:indextables.fieldmatch": "FIELDMATCH",
    "function:indextables.indexqueryall": "INDEXQUERY",
}
"""The search functions of `SearchFunctions.java`."""
_ALL_COLUMNS: Final = ["_indexall"]
"""The path of the column that stands for all columns."""
_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - the beginning of times without a zone
_EPOCH_DAY: Final = dt.date(1970, 1, 1).toordinal()


class _StrangeError(Exception):
    """An expression that only Spark evaluates."""


def answer_tree(tree: Tree, schema: pa.Schema) -> FilterAnswer:
    """How a table of this schema answers a filter of Spark. EXACT: true, false and null for the same rows."""
    operator, arguments = tree.get("operator"), tree.get("arguments", ())
    if operator == "AND":
        return all_true(answer_tree(part, schema) for part in arguments)
    if operator == "OR":
        return any_true(answer_tree(part, schema) for part in arguments)
    if operator == "NOT":
        return not_true(answer_tree(arguments[0], schema))
    if operator == "BOOLEAN_EXPRESSION":
        return answer_tree(_as_condition(arguments[0]), schema)
    if operator == "<>":
        return not_true(answer_tree({"operator": "=", "arguments": arguments}, schema))
    if operator in _SEARCHES:
        return answer_filter(schema, _search(_SEARCHES[operator], arguments, schema))
    if operator in ("IS_NULL", "IS_NOT_NULL") and arguments[0].get("operator") in _SEARCHES:
        return answer_filter(schema, _null_search(operator, arguments[0], schema))
    try:
        predicate = _leaf(operator, arguments, schema, tree)
    except (_StrangeError, PredicateError, OverflowError, ValueError):
        return UNSUPPORTED  # a value or a type that only Spark compares
    return answer_filter(schema, predicate)


def table_column(tree: Tree, schema: pa.Schema) -> Column | None:
    """The column of the table, or the field inside one, that an expression names; None for any other expression."""
    path = tree.get("column")
    if not path:
        return None
    fields, kind = list(schema), None
    for name in path:
        field = next((field for field in fields if field.name == name), None)
        if field is None:
            return None
        kind = field.type
        fields = list(kind.fields) if pa.types.is_struct(kind) else []
    return None if kind is None else Column(tuple(path), kind)


def compares_plainly(column: Column, schema: pa.Schema) -> bool:
    """True if no part of the column's path has a type that Arrow alone does not tell, such as a collation or a fixed length."""
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


def _as_condition(tree: Tree) -> Tree:
    """A boolean column as a comparison. Every other expression is a condition already."""
    if "column" in tree:
        return {"operator": "=", "arguments": [tree, {"type": '"boolean"', "value": "true"}]}
    return tree


def _search(operator: SearchOp, arguments: Sequence[Tree], schema: pa.Schema) -> Search:
    """A search. Raises QueryError where no index can answer it: Spark cannot, either."""
    subject, text = arguments
    name = operator.lower()
    if text.get("value") is None:
        raise QueryError(
            f"{name} takes a text that is written in the query, not a column or null: {name}(column, 'words')"
        )
    if subject.get("column") == _ALL_COLUMNS:
        return Search(None, text["value"], operator)
    column = table_column(subject, schema)
    if column is None:
        raise QueryError(f"{name} searches a column of the table, not an expression: {name}(column, {text['value']!r})")
    return Search(column, text["value"], operator)


def _null_search(operator: str, tree: Tree, schema: pa.Schema) -> Predicate:
    """Whether a search is null: where the column is. A search of all columns never is."""
    column = _search(_SEARCHES[tree["operator"]], tree["arguments"], schema).column
    if column is None:
        return Constant(operator == "IS_NOT_NULL")
    return IsNull(column) if operator == "IS_NULL" else IsNotNull(column)


def _leaf(operator: Any, arguments: Sequence[Tree], schema: pa.Schema, tree: Tree) -> Predicate:
    if operator == "ALWAYS_TRUE":
        return Constant(True)
    if operator == "ALWAYS_FALSE":
        return Constant(False)
    if operator in _OPS and len(arguments) == 2 and "column" in arguments[1]:
        operator, arguments = _TURNED[operator], (arguments[1], arguments[0])
    column = table_column(arguments[0], schema) if arguments else None
    if column is None:
        raise _StrangeError
    if operator == "IS_NULL":
        return IsNull(column)
    if operator == "IS_NOT_NULL":
        return IsNotNull(column)
    if not compares_plainly(column, schema):
        raise _StrangeError
    values = _values(tree, arguments[1:], column.type)
    if operator == "IN":
        return member(column, values)
    if operator in _OPS and len(values) == 1:
        return compare(column, _OPS[operator], values[0])
    if operator in _TEXTS and len(values) == 1 and is_text(column.type) and isinstance(values[0], str):
        before, after = _TEXTS[operator]
        text = values[0].replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return like(column, before + text + after)
    raise _StrangeError


def _values(tree: Tree, literals: Sequence[Tree], kind: pa.DataType) -> list[Any]:
    """The values that a column is compared with, if they have the column's type. Keys of a join have one type for all of them."""
    if "values" in tree:
        read = _reader(tree["type"])
        values = [read(text) for text in tree["values"]]
    elif all("value" in literal for literal in literals):
        values = [literal_value(literal) for literal in literals]
    else:
        raise _StrangeError
    if all(value is None or _fits(value, kind) for value in values):
        return values
    raise _StrangeError


def literal_value(tree: Tree) -> Any:
    """The Python value of a literal that `Trees.java` wrote: Spark's internal value as text. None for null."""
    return None if tree["value"] is None else _reader(tree["type"])(tree["value"])


def _reader(type_json: str) -> Callable[[str], Any]:
    kind = json.loads(type_json)
    name = kind if isinstance(kind, str) else "nested"
    reader = _READERS.get("decimal" if name.startswith("decimal") else name)
    if reader is None:
        raise _StrangeError
    return reader


_READERS: Final[dict[str, Callable[[str], Any]]] = {
    "string": str,
    "boolean": lambda text: text == "true",
    "byte": int,
    "short": int,
    "integer": int,
    "long": int,
    "float": lambda text: float(np.float32(text)),
    "double": float,
    "decimal": Decimal,
    "date": lambda text: dt.date.fromordinal(int(text) + _EPOCH_DAY),
    "timestamp": lambda text: (_EPOCH + dt.timedelta(microseconds=int(text))).replace(tzinfo=dt.UTC),
    "timestamp_ntz": lambda text: _EPOCH + dt.timedelta(microseconds=int(text)),
    "binary": base64.b64decode,
}
"""How the text of a value of each of Spark's types is read."""


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
