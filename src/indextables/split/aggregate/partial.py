"""What is known about the groups of some rows.

The main table has a row for each group: its keys, how many rows it has, and the sums, minima and maxima that the metrics need.
Metrics that cannot be had from those have a table of their own, with one more key: the different values of a column, or its
exponents. Every group is in all of these tables, if only with a null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.aggregate import Aggregate, Metric
from indextables.core.arrow_values import array_of_numbers, numpy_of
from indextables.split.aggregate.arrow_groups import grouped
from indextables.split.aggregate.exact_inputs import (
    FLOAT_LOW_BITS,
    float_parts,
    input_values,
    key_values,
    one_zero,
    ordered,
)
from indextables.split.aggregate.exact_sums import MOST_ROWS, Layer, double_sums, whole_sums
from indextables.split.aggregate.group_codes import GroupCodes, different_values, has_nulls, plain

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


def encoded_columns(aggregate: Aggregate) -> frozenset[str]:
    """The columns of texts that may come as numbers and a dictionary: keys, and columns whose values are counted."""
    plain = {key.column.name for key in aggregate.keys if key.bucket is None}
    plain |= {metric.column.name for metric in aggregate.metrics if metric.column and metric.function == "distinct"}
    others = {key.column.name for key in aggregate.keys if key.bucket is not None}
    others |= {
        metric.column.name for metric in aggregate.metrics if metric.column and metric.function in {"min", "max"}
    }
    used = [key.column for key in aggregate.keys] + [metric.column for metric in aggregate.metrics if metric.column]
    texts = {column.name for column in used if not column.nested and column.type == pa.string()}
    return frozenset((plain & texts) - others)


def partial_of(aggregate: Aggregate, rows: pa.RecordBatch) -> Partial:
    """The groups of these rows, of which there is at least one."""
    if rows.num_rows > MOST_ROWS:
        pieces = [rows.slice(start, MOST_ROWS) for start in range(0, rows.num_rows, MOST_ROWS)]
        whole = together(aggregate, [partial_of(aggregate, piece) for piece in pieces])
        assert whole is not None, "there are pieces"
        return whole
    keys = dict(zip(key_names(aggregate), [key_values(key, rows) for key in aggregate.keys], strict=False))
    groups = GroupCodes.of(keys, rows.num_rows) if keys else GroupCodes.one(NO_KEY, rows.num_rows)
    made: dict[str, Any] = {ROWS: array_of_numbers(groups.count())}
    extras: list[pa.Table] = []
    for number, metric in enumerate(aggregate.metrics):
        if metric.column is None:
            continue
        values = input_values(metric.column, rows)
        if metric.function in {"count", "sum", "avg"}:
            valid = numpy_of(pc.is_valid(values)) if has_nulls(values) else None
            made[f"{number}count"] = array_of_numbers(groups.count(valid))
        if metric.function in {"min", "max"}:
            made[f"{number}{metric.function}"] = groups.extreme(ordered(values), metric.function)
        elif has_extra(metric):
            extras.append(_extra(metric, keys, groups, values))
        elif metric.function in {"sum", "avg"}:
            made.update(_sums(number, groups, values))
    columns = {slot.name: made[slot.name] for slot in slots(aggregate)}
    return Partial(pa.table({**groups.keys, **columns}), tuple(extras))


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
        if not sums and keys == [NO_KEY]:
            extras.append(_different({NO_KEY: None, EXTRA: extra.column(EXTRA)}))
        else:
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


def _extra(metric: Metric, keys: dict[str, Any], groups: GroupCodes, values: Any) -> pa.Table:
    """The different values of each group, or its doubles: the layers of their sums, or their mantissas by exponent."""
    if metric.function == "distinct":
        value = one_zero(values) if pa.types.is_floating(values.type) else values
        if not keys:
            return _different({NO_KEY: None, EXTRA: value})
        pairs = GroupCodes.of({**keys, EXTRA: value}, groups.rows)
        return pa.table(dict(pairs.keys))
    layers = double_sums(groups, values)
    if layers is None:
        exponents, (high, low) = float_parts(values)
        every = {name: plain(key) for name, key in keys.items()} or {NO_KEY: pa.nulls(len(values), pa.int8())}
        data = pa.table({**every, EXTRA: exponents, "high": high, "low": low})
        return _grouped(data, [*every, EXTRA], [("high", "sum"), ("low", "sum")])
    made = [pa.table({**groups.keys, **_parts(layer)}) for layer in layers]
    return made[0] if len(made) == 1 else pa.concat_tables(made)


def _parts(layer: Layer) -> dict[str, pa.Array]:
    """The sums of a layer as `float_parts` gives doubles: exponents, and halves of the whole numbers that belong to them."""
    exponents = np.full(len(layer.sums), layer.exponent, np.int32)
    halves = {"high": layer.sums >> FLOAT_LOW_BITS, "low": layer.sums & ((1 << FLOAT_LOW_BITS) - 1)}
    return {name: array_of_numbers(numbers) for name, numbers in {EXTRA: exponents, **halves}.items()}


def _different(columns: dict[str, Any]) -> pa.Table:
    """The different combinations of keys and a value; `NO_KEY` as None is a key that all rows have in common."""
    if columns.get(NO_KEY, EXTRA) is not None:
        return _grouped(pa.table(columns), list(columns), [])
    values = different_values(columns[EXTRA])
    return pa.table({NO_KEY: pa.nulls(len(values), pa.int8()), EXTRA: values})


def _sums(number: int, groups: GroupCodes, values: Any) -> dict[str, Any]:
    if pa.types.is_decimal(values.type):
        total = values.cast(pa.decimal256(_DECIMAL_DIGITS, values.type.scale))
        return {f"{number}total": groups.total(total)}
    high, low = whole_sums(groups, values)
    return {f"{number}high": array_of_numbers(high), f"{number}low": array_of_numbers(low)}


def _grouped(data: pa.Table, keys: list[str], wanted: list[tuple[str, str]]) -> pa.Table:
    return grouped(data, keys, [(name, function, name) for name, function in wanted])
