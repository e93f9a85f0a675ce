"""Aggregates that Spark's planner hands over, as aggregates of ours.

Whole numbers are summed without rounding. A sum that may not fit 64 bits stays with Spark, which wraps or raises as the session
is set. Sums of floats are rounded once, at the end; Spark rounds after every row. Averages arrive as sums and counts. The columns
of the answer are the keys and then the functions, in Spark's order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from indextables.core.aggregate import Aggregate, Calendar, FloatSteps, Key, Metric, Ranges, Steps
from indextables.core.values import is_text
from indextables.spark.connector.planning.bucket_functions import bucket_key
from indextables.spark.connector.planning.filters import Tree, compares_plainly, table_column

_PARTIAL: Final = {"count", "sum", "min", "max"}
"""Functions of which Spark puts the answers of several tasks together."""


def as_aggregate(tree: Mapping[str, Any], schema: pa.Schema, sum_fits: Callable[[str], bool]) -> Aggregate | None:
    """The aggregate that `Trees.aggregation` wrote, for a table of this schema; None where Spark has to compute the aggregate.

    `sum_fits` says of a column of whole numbers whether every sum of its values fits into 64 bits. With `complete` false, each
    task answers for its own rows.
    """
    keys = [_key(number, key, schema) for number, key in enumerate(tree["keys"])]
    metrics = [_metric(number, call, schema, sum_fits) for number, call in enumerate(tree["functions"])]
    known = [key for key in keys if key is not None]
    wanted = [metric for metric in metrics if metric is not None]
    if len(known) < len(keys) or len(wanted) < len(metrics) or not (known or wanted):
        return None
    if not tree["complete"] and any(metric.function not in _PARTIAL for metric in wanted):
        return None
    return Aggregate(tuple(known), tuple(wanted))


def _key(number: int, tree: Tree, schema: pa.Schema) -> Key | None:
    if "operator" in tree:
        return bucket_key(number, tree, schema)
    column = table_column(tree, schema)
    if column is None or len(column.path) != 1 or not compares_plainly(column, schema) or not _groups(column.type):
        return None
    return Key(f"key{number}", column, column.type)


def _metric(number: int, tree: Tree, schema: pa.Schema, sum_fits: Callable[[str], bool]) -> Metric | None:
    name, function = f"value{number}", str(tree["operator"]).removeprefix("aggregate:")
    arguments: Sequence[Tree] = tree["arguments"]
    if function == "CountStar" or (function == "Count" and _counts_rows(arguments, tree)):
        return Metric(name, "count", pa.int64())
    if len(arguments) != 1:
        return None
    column = table_column(arguments[0], schema)
    if column is None or len(column.path) != 1:
        return None
    kind = column.type
    if function == "Count":
        if not tree.get("distinct"):
            return Metric(name, "count", pa.int64(), column)
        return (
            Metric(name, "distinct", pa.int64(), column) if _groups(kind) and compares_plainly(column, schema) else None
        )
    if tree.get("distinct") or not compares_plainly(column, schema):
        return None
    if function in ("Min", "Max"):
        return Metric(name, "min" if function == "Min" else "max", kind, column) if _orders(kind) else None
    if function == "Sum" and pa.types.is_integer(kind):
        return Metric(name, "sum", pa.int64(), column) if sum_fits(column.name) else None
    if function == "Sum" and pa.types.is_floating(kind):
        return Metric(name, "sum", pa.float64(), column)
    return None


def _counts_rows(arguments: Sequence[Tree], tree: Tree) -> bool:
    """True for count(1) and other literals that are not null."""
    return (
        not tree.get("distinct")
        and len(arguments) == 1
        and "value" in arguments[0]
        and arguments[0]["value"] is not None
    )


def _groups(kind: pa.DataType) -> bool:
    """True if values of the type that are equal here are equal in Spark too."""
    return _orders(kind) or bool(pa.types.is_boolean(kind))


def _orders(kind: pa.DataType) -> bool:
    """True if the smallest and the largest value of the type are the ones that Spark finds."""
    types = pa.types
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return bool(number or types.is_date(kind) or types.is_timestamp(kind) or is_text(kind))


def said_key(key: Key) -> str:
    """A key as `explain` shows it."""
    match key.bucket:
        case None:
            return str(key.column)
        case Steps(width) | FloatSteps(width):
            return f"steps of {width} of {key.column}"
        case Calendar(unit):
            return f"{unit} of {key.column}"
        case Ranges(edges):
            return f"{len(edges) + 1} ranges of {key.column}"
