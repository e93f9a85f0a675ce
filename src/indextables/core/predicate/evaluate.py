"""Which rows of a batch a predicate is true for, exactly, with Spark's meaning.

The answer has SQL's three values: true, false and null. Where Spark and Arrow differ, Spark holds: NaN equals itself and
is greater than every number, -0.0 equals 0.0. Strings are compared by code point, which is the order of their UTF-8
bytes, timestamps with a zone as instants. Whatever else prunes or searches must agree with this module.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Final, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import FALSE_SCALAR, TRUE_SCALAR, ZERO_FLOAT_SCALAR, array_of, scalar_of
from indextables.core.errors import PredicateError
from indextables.core.predicate.ast import (
    And,
    Column,
    Comparison,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Leaf,
    Like,
    Literal,
    Not,
    Op,
    Or,
    Predicate,
    Search,
    Wildcard,
)

_KERNELS: Final[dict[Op, Any]] = {
    "=": pc.equal,
    "<=>": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def evaluate(predicate: Predicate, data: pa.RecordBatch | pa.Table) -> Any:
    """A boolean array (chunked for a table), as long as the data: true, false or null for each row."""
    match predicate:
        case And() | Or():
            start, join = (True, pc.and_kleene) if isinstance(predicate, And) else (False, pc.or_kleene)
            answers = (evaluate(child, data) for child in predicate.children)
            return functools.reduce(join, answers, _constant(start, data))
        case Not():
            return pc.invert(evaluate(predicate.child, data))
        case Constant():
            return _constant(predicate.value, data)
        case Comparison() | In() | Like() | IsNull() | IsNotNull():
            return evaluate_leaf(predicate, column_values(predicate.column, data))
        case Search():
            raise PredicateError(
                f"{predicate.operator} {predicate.text!r} is a search, which an index answers and rows alone cannot: "
                "ask a table, as scan(where=…) does"
            )
        case _:
            assert_never(predicate)


def evaluate_leaf(leaf: Leaf, values: Any) -> Any:
    """True, false or null for each of the values of a leaf's column, which have the types that `normalized` gives."""
    match leaf:
        case IsNull():
            return pc.is_null(values)
        case IsNotNull():
            return pc.is_valid(values)
        case Comparison():
            answer = _compare(leaf.op, leaf.value, values)
            return pc.fill_null(answer, FALSE_SCALAR) if leaf.op == "<=>" else answer
        case In():
            return _in(leaf, values)
        case Like():
            return _like(leaf, values)
        case _:
            assert_never(leaf)


def column_values(column: Column, data: pa.RecordBatch | pa.Table) -> Any:
    """The column's values in a batch or table, in the types that `normalized` gives."""
    index = data.schema.get_field_index(column.name)
    if index < 0:
        raise PredicateError(f"the filter needs the column {column}, which the data does not have", column=str(column))
    values = data.column(index)
    if column.nested:
        values = pc.struct_field(values, list(column.path[1:]))
    return normalized(values, column.type)


def normalized(values: Any, arrow_type: pa.DataType) -> Any:
    """Values as they are compared: floats as doubles, no dictionaries, no views, else the column's type."""
    if pa.types.is_floating(arrow_type):
        target = pa.float64()
    elif pa.types.is_string_view(arrow_type):
        target = pa.string()
    else:
        target = arrow_type
    return values if values.type == target else values.cast(target)


def _constant(value: bool | None, data: pa.RecordBatch | pa.Table) -> Any:
    answer = (
        pa.nulls(data.num_rows, pa.bool_())
        if value is None
        else pa.repeat(TRUE_SCALAR if value else FALSE_SCALAR, data.num_rows)
    )
    return pa.chunked_array([answer]) if isinstance(data, pa.Table) else answer


def _compare(op: Op, literal: Literal, values: Any) -> Any:
    if not pa.types.is_floating(values.type):
        return _KERNELS[op](values, scalar_of(literal.value, values.type))
    nan = pc.is_nan(values)
    if not literal.is_nan:
        answer = _KERNELS[op](values, scalar_of(literal.value, values.type))
        return pc.or_(answer, nan) if op in {">", ">="} else answer
    match op:
        case "=" | "<=>" | ">=":
            return nan
        case "<>" | "<":
            return pc.invert(nan)
        case "<=":
            return pc.or_(nan, pc.invert(nan))
        case ">":
            return pc.and_not(nan, nan)
        case _:
            assert_never(op)


def _in(leaf: In, values: Any) -> Any:
    literals = [literal.value for literal in leaf.values if not literal.is_nan]
    if pa.types.is_floating(values.type):
        # Arrow's hash tells the two zeros apart: adding 0.0 makes both positive.
        found = pc.is_in(
            pc.add(values, ZERO_FLOAT_SCALAR), value_set=array_of([value + 0.0 for value in literals], values.type)
        )
        if any(literal.is_nan for literal in leaf.values):
            found = pc.or_(found, pc.fill_null(pc.is_nan(values), FALSE_SCALAR))
    else:
        found = pc.is_in(values, value_set=array_of(literals, values.type))
    null = scalar_of(None, pa.bool_())
    return pc.if_else(pc.is_valid(values), pc.if_else(found, TRUE_SCALAR, null) if leaf.has_null else found, null)


def _like(leaf: Like, values: Any) -> Any:
    match leaf.parts():
        case ():
            return pc.equal(values, scalar_of("", values.type))
        case (str() as text,):
            return pc.equal(values, scalar_of(text, values.type))
        case (str() as text, Wildcard.ANY):
            return pc.starts_with(values, text)
        case (Wildcard.ANY, str() as text):
            return pc.ends_with(values, text)
        case (Wildcard.ANY, str() as text, Wildcard.ANY):
            return pc.match_substring(values, text)
        case parts:
            return pc.match_substring_regex(values, r"(?s)\A" + "".join(_regex(part) for part in parts) + r"\z")


def _regex(part: str | Wildcard) -> str:
    if isinstance(part, str):
        return re.escape(part)
    return ".*" if part is Wildcard.ANY else "."
