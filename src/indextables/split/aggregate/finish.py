"""Partial → the metrics that were asked for, one row a group, in the order of the keys."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, TypeAlias, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.aggregate import Aggregate, Key, Metric, Ranges
from indextables.core.arrow_values import array_of, empty_table
from indextables.core.errors import QueryError
from indextables.split.aggregate.arrow_groups import grouped, sorted_by
from indextables.split.aggregate.exact_inputs import (
    FLOAT_LOW_BITS,
    INFINITE_EXPONENT,
    LOW_BITS,
    MANTISSA_BITS,
    MINUS_INFINITE_EXPONENT,
    NAN_EXPONENT,
    unordered,
)
from indextables.split.aggregate.partial import EXTRA, ROWS, Partial, has_extra, key_names

_Total: TypeAlias = int | float
"""Of doubles: a whole number of units, or what is no number."""
_LEAST_EXPONENT = -1073
"""The smallest exponent of a double, as `frexp` counts."""
_DIGITS = decimal.Context(prec=100, rounding=ROUND_HALF_UP)


def finished(aggregate: Aggregate, partial: Partial | None) -> pa.Table:
    """The result. Without rows there are no groups, but without keys there is always one."""
    schema = aggregate.schema
    if partial is None or not partial.main.num_rows:
        if aggregate.keys:
            return empty_table(schema)
        nothing = [0 if metric.function in {"count", "distinct"} else None for metric in aggregate.metrics]
        return pa.table(
            [array_of([value], field.type) for value, field in zip(nothing, schema, strict=True)], schema=schema
        )
    names = key_names(aggregate)
    main, *extras = (
        _sorted(table, names) for table in (partial.main, *(_listed(table, names) for table in partial.extras))
    )
    columns = [_key(key, main.column(name)) for key, name in zip(aggregate.keys, names, strict=False)]
    own = iter(extras)
    for number, metric in enumerate(aggregate.metrics):
        extra = next(own) if has_extra(metric) else None
        columns.append(_metric(metric, number, main, extra).cast(metric.type))
    return pa.table(columns, schema=schema)


def _sorted(table: pa.Table, names: Sequence[str]) -> pa.Table:
    return sorted_by(table, names).combine_chunks()


def _listed(extra: pa.Table, names: list[str]) -> pa.Table:
    """A group's extra keys in one row: how many there are, or what belongs to each."""
    others = [name for name in extra.column_names if name not in names]
    lists = [(name, "list", f"{name}_list") for name in others if extra.num_columns > len(names) + 1]
    return grouped(extra, names, [(EXTRA, "count", f"{EXTRA}_count"), *lists])


def _key(key: Key, values: Any) -> Any:
    if isinstance(key.bucket, Ranges):
        return pc.take(array_of(key.bucket.labels, pa.string()), values)
    return values.cast(key.type)


def _metric(metric: Metric, number: int, main: pa.Table, extra: pa.Table | None) -> Any:
    match metric.function:
        case "count":
            return main.column(ROWS if metric.column is None else f"{number}count")
        case "distinct":
            assert extra is not None
            return extra.column(f"{EXTRA}_count")
        case "min" | "max":
            assert metric.column is not None
            return unordered(main.column(f"{number}{metric.function}").combine_chunks(), metric.column.type)
        case "sum" | "avg":
            return _sum_or_average(metric, number, main, extra)
        case _:
            assert_never(metric.function)


def _sum_or_average(metric: Metric, number: int, main: pa.Table, extra: pa.Table | None) -> Any:
    """The sums or averages of the groups, rounded once, at the end."""
    counts = main.column(f"{number}count").to_pylist()
    if extra is not None:
        totals = [_float_total(*parts) for parts in zip(*_lists(extra), strict=True)]
        return _each(counts, totals, _float_average if metric.function == "avg" else _rounded, metric)
    if pa.types.is_decimal(metric.type):
        sums = main.column(f"{number}total").to_pylist()
        return _each(counts, sums, _decimal_average(metric) if metric.function == "avg" else _itself, metric)
    halves = (main.column(f"{number}{half}").to_pylist() for half in ("high", "low"))
    wholes = [(high << LOW_BITS) + low for high, low in zip(*halves, strict=True)]
    return _each(counts, wholes, _average if metric.function == "avg" else _itself, metric)


def _each(counts: list[int], totals: list[Any], finish: Callable[[Any, int], Any], metric: Metric) -> Any:
    values = [finish(total, count) if count else None for total, count in zip(totals, counts, strict=True)]
    try:
        return array_of(values, metric.type)
    except (OverflowError, pa.ArrowInvalid) as error:
        raise QueryError(
            f"{metric.name!r}: the {metric.function} of {metric.column} is too large for {metric.type}; "
            "ask for smaller groups, or for the avg",
            column=str(metric.column),
        ) from error


def _itself(total: Any, _count: int) -> Any:
    return total


def _average(total: int, count: int) -> float:
    return total / count


def _decimal_average(metric: Metric) -> Callable[[Decimal, int], Decimal]:
    unit = Decimal(1).scaleb(-metric.type.scale)
    return lambda total, count: _DIGITS.quantize(_DIGITS.divide(total, Decimal(count)), unit)


def _lists(extra: pa.Table) -> list[list[list[int]]]:
    return [extra.column(f"{name}_list").to_pylist() for name in (EXTRA, "high", "low")]


def _float_total(exponents: Sequence[int | None], highs: Sequence[int], lows: Sequence[int]) -> _Total:
    """All doubles of a group as one whole number of the smallest unit that a double has, or what is no number."""
    total, special = 0, set()
    for exponent, high, low in zip(exponents, highs, lows, strict=True):
        if exponent is None:
            continue
        if exponent >= NAN_EXPONENT:
            special.add(exponent)
        else:
            total += ((high << FLOAT_LOW_BITS) + low) << (exponent - _LEAST_EXPONENT)
    if NAN_EXPONENT in special or len(special) > 1:
        return np.nan
    if special:
        return np.inf if INFINITE_EXPONENT in special else -np.inf
    assert MINUS_INFINITE_EXPONENT not in special
    return total


def _rounded(total: _Total, _count: int) -> float:
    return _float_average(total, 1)


def _float_average(total: _Total, count: int) -> float:
    if isinstance(total, float):
        return total
    try:
        return total / (count << (MANTISSA_BITS - _LEAST_EXPONENT))
    except OverflowError:
        return np.inf if total > 0 else -np.inf
