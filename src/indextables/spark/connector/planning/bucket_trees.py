"""Buckets as expressions that Spark computes itself, on executors that have no class of ours.

A tree is made of Spark's own functions with explicit types; `SparkTree.java` builds it. In every zone, and with ANSI mode or
without, a tree gives what `split/aggregate/exact_inputs.py` gives:

    {"column": true}                                the first argument of the function
    {"value": text, "type": JSON}                   a literal, Spark's internal value as text; without "type", of the column's
    {"cast": tree, "type": JSON}                    a cast, in UTC
    {"function": name, "arguments": [tree, …]}      a function or an operator of Spark, by its name in SQL
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from decimal import Decimal
from typing import Any, Final, TypeAlias

import pyarrow as pa

from indextables.core.aggregate import Bucket, Calendar, FloatSteps, Ranges, Steps
from indextables.core.predicate import And, Comparison
from indextables.core.values import micros

Node: TypeAlias = dict[str, Any]

_COLUMN: Final[Node] = {"column": True}
_DAY: Final = 86_400_000_000
"""Microseconds of a day."""
_LEAST: Final = -(2**63)
"""The least whole number, and the least moment in microseconds."""
_LEAST_DAY: Final = -(2**31)
"""The first day that a date can be, in days since 1970."""
_FINE: Final = 2.0**53
"""From this number of steps on, doubles lie further apart than buckets: each number is its own bucket."""
_TOO_SMALL: Final = (
    "indextables: a value is so small that its bucket begins before the least value of its type; leave such values out"
)
_EPOCH_DAY: Final = dt.date(1970, 1, 1).toordinal()


def bucket_tree(bucket: Bucket, kind: pa.DataType) -> Node:
    """The name of the bucket that a value of this type lies in."""
    match bucket:
        case Steps():
            return _steps(bucket, kind)
        case FloatSteps(width):
            return _float_steps(width)
        case Calendar(unit):
            return _calendar(unit, kind)
        case Ranges():
            return _ranges(bucket, kind)


def _call(function: str, *arguments: Node) -> Node:
    return {"function": function, "arguments": list(arguments)}


def _literal(value: object, kind: str) -> Node:
    return {"value": str(value), "type": json.dumps(kind)}


def _long(value: int) -> Node:
    return _literal(value, "long")


def _cast(tree: Node, kind: str) -> Node:
    return {"cast": tree, "type": json.dumps(kind)}


def _whole(kind: pa.DataType) -> Node:
    """A value as a whole number: days of a date, microseconds of a moment."""
    if pa.types.is_date(kind):
        return _cast(_call("unix_date", _COLUMN), "long")
    if pa.types.is_timestamp(kind):
        return _call("unix_micros", _COLUMN if kind.tz else _cast(_COLUMN, "timestamp"))
    return _cast(_COLUMN, "long")


def _moment(number: Node, kind: pa.DataType) -> Node:
    """Microseconds as a moment."""
    found = _call("timestamp_micros", number)
    return found if kind.tz else _cast(found, "timestamp_ntz")


def _steps(steps: Steps, kind: pa.DataType) -> Node:
    number, width = _whole(kind), _long(steps.width)
    over = _call("pmod", number, width)
    if steps.origin % steps.width:
        over = _call("pmod", _call("-", over, _long(steps.origin % steps.width)), width)
    first = _call("-", number, over)
    if pa.types.is_date(kind):
        found = _call("date_from_unix_date", _cast(first, "integer"))
        return _unless_small(number, _call("+", _long(_LEAST_DAY), over), found, "date")
    least = _call("+", _long(_LEAST), over)
    if pa.types.is_timestamp(kind):
        return _unless_small(number, least, _moment(first, kind), _name(kind))
    return _unless_small(number, least, first, "long")


def _float_steps(width: float) -> Node:
    number, size = _cast(_COLUMN, "double"), _literal(width, "double")
    steps = _call("/", number, size)
    whole = _cast(_call("floor", steps), "double")
    first = _call("*", whole, size)
    before = _call("*", _call("-", whole, _literal(1.0, "double")), size)
    first = _call("when", _call(">", first, number), before, first)
    fine = _call("<", _call("abs", steps), _literal(_FINE, "double"))
    return _call("+", _call("when", fine, first, number), _literal(0.0, "double"))  # no -0.0


def _calendar(unit: str, kind: pa.DataType) -> Node:
    name = _literal(unit.upper(), "string")
    if pa.types.is_date(kind):
        return _call("trunc", _COLUMN, name)
    number, day = _whole(kind), _long(_DAY)
    below = _call("when", _call("<", _call("%", number, day), _long(0)), _long(1), _long(0))
    days = _cast(_call("-", _call("div", number, day), below), "integer")
    first = _cast(_call("unix_date", _call("trunc", _call("date_from_unix_date", days), name)), "long")
    return _unless_small(first, _long(_LEAST // _DAY + 1), _moment(_call("*", first, day), kind), _name(kind))


def _ranges(ranges: Ranges, kind: pa.DataType) -> Node:
    """The label of the last edge that a value reaches. Edges are compared from the last one down."""
    branches = [_call("isnull", _COLUMN), {"value": None, "type": json.dumps("string")}]
    for edge, label in zip(reversed(ranges.edges), reversed(ranges.labels[1:]), strict=True):
        if not isinstance(edge, Comparison):
            if isinstance(edge, And):
                continue  # an edge that no value of the type reaches
            return _call("when", *branches, _literal(label, "string"))  # an edge that every value reaches
        branches += [_reached(edge, kind), _literal(label, "string")]
    return _call("when", *branches, _literal(ranges.labels[0], "string"))


def _reached(edge: Comparison, kind: pa.DataType) -> Node:
    value = edge.value.value
    if pa.types.is_floating(kind):
        return _call(edge.op, _cast(_COLUMN, "double"), _literal(value, "double"))
    if pa.types.is_integer(kind):
        return _call(edge.op, _cast(_COLUMN, "long"), _long(value))
    return _call(edge.op, _COLUMN, {"value": _internal(value)})


def _internal(value: str | bytes | Decimal | dt.date | dt.datetime) -> str:
    """A value as `SparkTree.java` reads a literal of the column's own type."""
    if isinstance(value, dt.datetime):
        return str(micros(value))
    if isinstance(value, dt.date):
        return str(value.toordinal() - _EPOCH_DAY)
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _name(kind: pa.DataType) -> str:
    """Spark's name of a type of moments."""
    return "timestamp" if kind.tz else "timestamp_ntz"


def _unless_small(number: Node, least: Node, found: Node, kind: str) -> Node:
    """`found`, or an error for a number below the least one of which the bucket can be named."""
    said = _literal(_TOO_SMALL, "string")
    return _call("when", _call("<", number, least), _cast(_call("raise_error", said), kind), found)
