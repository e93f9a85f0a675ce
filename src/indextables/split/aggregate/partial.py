"""What is known about the groups of some rows.

The main table has a row for each group: its keys, how many rows it has, and the sums, minima and maxima that the metrics need.
Metrics that cannot be had from those have a table of their own, with one more key: the different values of a column, or its
exponents. Every group is in all of these tables, if only with a null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, assert_never

import pyarrow as pa

from indextables.core.aggregate import Aggregate, Metric
from indextables.core.predicate.evaluate import column_values
from indextables.split.aggregate.exact_inputs import float_parts, halves, key_values, one_zero, ordered

ROWS: Final = "rows"
EXTRA: Final = "extra"
NO_KEY: Final = "k"
"""The only key of an aggregate without keys, so that all rows are one group."""
_AGAIN: Final = {"count_all": "sum", "count": "sum", "sum": "sum", "min": "min", "max": "max"}
_DECIMAL_DIGITS: Final = 76
"""Digits of a sum of decimals: the most that Arrow has, so that no sum overflows."""
_MANY: Final = 16
"""Partials that are held before they are added up: each adding goes through all groups."""


@dataclass(frozen=True)
class Partial:
    """The groups of some rows."""

    main: pa.Table
    extras: tuple[pa.Table, ...]
    """In the order of the metrics that have one."""


@dataclass(frozen=True)
class Slot:
    """A column of the main table: what is done with the inputs at first. The name is the metric's number and its own."""

    name: str
    function: str
    type: pa.DataType = field(default_factory=pa.int64)


def key_names(aggregate: Aggregate) -> list[str]:
    """The key columns of all tables."""
    return [f"k{number}" for number in range(len(aggregate.keys))] or [NO_KEY]


def has_extra(metric: Metric) -> bool:
    """Whether a metric needs a table of its own."""
    floats = metric.column is not None and pa.types.is_floating(metric.column.type)
    return metric.function == "distinct" or (metric.function in {"sum", "avg"} and floats)


def slots(aggregate: Aggregate) -> list[Slot]:
    """The columns of the main table behind its keys."""
    found = [Slot(ROWS, "count_all")]
    for number, metric in enumerate(aggregate.metrics):
        if metric.column is None or has_extra(metric):
            if metric.function in {"sum", "avg"}:
                found.append(Slot(f"{number}count", "count"))
            continue
        match metric.function:
            case "count":
                found.append(Slot(f"{number}count", "count"))
            case "min" | "max":
                floats = pa.types.is_floating(metric.column.type)
                kind = pa.int64() if floats else metric.column.type
                found.append(Slot(f"{number}{metric.function}", metric.function, kind))
            case "sum" | "avg":
                found.append(Slot(f"{number}count", "count"))
                if pa.types.is_decimal(metric.column.type):
                    kind = pa.decimal256(_DECIMAL_DIGITS, metric.column.type.scale)
                    found.append(Slot(f"{number}total", "sum", kind))
                else:
                    found += [Slot(f"{number}high", "sum"), Slot(f"{number}low", "sum")]
            case "distinct":
                raise AssertionError("distinct values have a table of their own")
            case _:
                assert_never(metric.function)
    return found


def partial_of(aggregate: Aggregate, rows: pa.RecordBatch) -> Partial:
    """The groups of these rows."""
    keys = dict(zip(key_names(aggregate), [key_values(key, rows) for key in aggregate.keys], strict=False))
    if not keys:
        keys[NO_KEY] = pa.nulls(rows.num_rows, pa.int8())
    inputs: dict[str, Any] = {}
    extras: list[pa.Table] = []
    for number, metric in enumerate(aggregate.metrics):
        if metric.column is None:
            continue
        values = column_values(metric.column, rows)
        if metric.function in {"count", "sum", "avg"}:
            inputs[f"{number}count"] = values
        if metric.function in {"min", "max"}:
            inputs[f"{number}{metric.function}"] = ordered(values)
        elif has_extra(metric):
            extras.append(_extra(metric, keys, values))
        elif metric.function in {"sum", "avg"}:
            inputs.update(_sums(number, values))
    wanted = slots(aggregate)
    data = pa.table({**keys, **{slot.name: inputs[slot.name] for slot in wanted if slot.name in inputs}})
    return Partial(_grouped(data, list(keys), [(slot.name, slot.function) for slot in wanted]), tuple(extras))


def together(aggregate: Aggregate, partials: Sequence[Partial]) -> Partial | None:
    """The groups of all their rows; None for no rows."""
    if len(partials) < 2:
        return partials[0] if partials else None
    keys = key_names(aggregate)
    main = pa.concat_tables([partial.main for partial in partials])
    again = [(slot.name, _AGAIN[slot.function]) for slot in slots(aggregate)]
    extras = []
    for number in range(len(partials[0].extras)):
        extra = pa.concat_tables([partial.extras[number] for partial in partials])
        sums = [(name, "sum") for name in extra.column_names if name not in {*keys, EXTRA}]
        extras.append(_grouped(extra, [*keys, EXTRA], sums))
    return Partial(_grouped(main, keys, again), tuple(extras))


def condensed(aggregate: Aggregate, partials: Iterable[Partial]) -> Iterator[Partial]:
    """Fewer partials with the same rows, at most one in the end, without holding many."""
    held: list[Partial] = []
    for partial in partials:
        held.append(partial)
        if len(held) >= _MANY:
            held = [whole for whole in [together(aggregate, held)] if whole is not None]
    whole = together(aggregate, held)
    if whole is not None:
        yield whole


def _extra(metric: Metric, keys: dict[str, Any], values: Any) -> pa.Table:
    if metric.function == "distinct":
        value = one_zero(values) if pa.types.is_floating(values.type) else values
        return _grouped(pa.table({**keys, EXTRA: value}), [*keys, EXTRA], [])
    exponents, (high, low) = float_parts(values)
    data = pa.table({**keys, EXTRA: exponents, "high": high, "low": low})
    return _grouped(data, [*keys, EXTRA], [("high", "sum"), ("low", "sum")])


def _sums(number: int, values: Any) -> dict[str, Any]:
    if pa.types.is_decimal(values.type):
        return {f"{number}total": values.cast(pa.decimal256(_DECIMAL_DIGITS, values.type.scale))}
    high, low = halves(values)
    return {f"{number}high": high, f"{number}low": low}


def _grouped(data: pa.Table, keys: list[str], wanted: list[tuple[str, str]]) -> pa.Table:
    asked: list[Any] = [([], function) if function == "count_all" else (name, function) for name, function in wanted]
    made = data.group_by(keys, use_threads=False).aggregate(asked)
    names = ["count_all" if function == "count_all" else f"{name}_{function}" for name, function in wanted]
    return pa.table([made.column(name) for name in [*keys, *names]], names=[*keys, *(name for name, _ in wanted)])
