"""Rows as keys, and as numbers that can be added up in any order without a rounding.

The answer must not depend on how rows lie in files, or which way they were read. So nothing is added up that could be rounded:
whole numbers are added as two halves, which a day's work of rows does not overflow, and doubles as whole numbers, one sum for
each exponent. The one rounding is at the end, and it is the correct one.

Minima and maxima of doubles are those of their places in Spark's order: NaN after everything, -0.0 where 0.0 is.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.aggregate import Calendar, FloatSteps, Key, Ranges, Steps
from indextables.core.arrow_values import (
    FALSE_SCALAR,
    ZERO_FLOAT_SCALAR,
    ZERO_SCALAR,
    array_of_numbers,
    numpy_of,
    scalar_of,
)
from indextables.core.errors import QueryError
from indextables.core.predicate import Column, evaluate
from indextables.core.predicate.evaluate import column_values
from indextables.split.plan.order_keys import HIGHEST, LOWEST, NAN

LOW_BITS: Final = 32
"""Of a whole number, in its lower half."""
FLOAT_LOW_BITS: Final = 26
"""Bits of a mantissa in its lower half: 2^37 rows add up before a sum of halves overflows 64 bits."""
MANTISSA_BITS: Final = 53
"""Bits of the mantissa of a double."""
NAN_EXPONENT: Final = 5_000
"""Stands for the exponent of NaN. No double has an exponent above 1024."""
INFINITE_EXPONENT: Final = 5_001
"""Stands for the exponent of infinity."""
MINUS_INFINITE_EXPONENT: Final = 5_002
"""Stands for the exponent of minus infinity."""
_LEAST_DAY: Final = -(2**31)
"""The first day that a date can be, in days since 1970."""
_DAY: Final = 86_400_000_000
"""Microseconds of a day."""

_NAN: Final = scalar_of(np.nan, pa.float64())
"""The one NaN that stands for all of them."""

Numbers = npt.NDArray[np.int64]


def input_values(column: Column, rows: pa.RecordBatch) -> Any:
    """The values of a column, in its type; texts that come as numbers and a dictionary stay as they are."""
    if not column.nested and pa.types.is_dictionary(rows.schema.field(column.name).type):
        return rows.column(column.name)
    return column_values(column, rows)


def key_values(key: Key, rows: pa.RecordBatch) -> pa.Array:
    """The group of each row: its value or its bucket, of ranges the number of the bucket."""
    values = input_values(key.column, rows)
    match key.bucket:
        case None:
            return one_zero(values) if pa.types.is_floating(values.type) else values
        case Steps():
            return _steps(values, key.bucket, key)
        case FloatSteps(width):
            return _float_steps(values, width)
        case Calendar(unit):
            return _calendar(values, unit, key)
        case Ranges(edges):
            reached = [pc.cast(evaluate(edge, rows), pa.int32()) for edge in edges]
            number: Any = reached[0]
            for more in reached[1:]:
                number = pc.add(number, more)
            return pc.if_else(pc.is_valid(values), number, scalar_of(None, pa.int32()))


def one_zero(values: Any) -> Any:
    """Doubles of which equal ones have equal bits."""
    return pc.if_else(pc.is_nan(values), _NAN, pc.add(values, ZERO_FLOAT_SCALAR))


def whole(values: Any) -> tuple[Numbers, Any]:
    """Whole numbers, dates and moments as numbers, 0 for nulls, and where those are (None: there are none)."""
    plain = values.cast(pa.int32()) if pa.types.is_date32(values.type) else values
    numbers = numpy_of(pc.fill_null(plain.cast(pa.int64()), ZERO_SCALAR))
    return numbers, numpy_of(values.is_null()) if values.null_count else None


def from_whole(numbers: Numbers, missing: Any, kind: pa.DataType) -> pa.Array:
    """Numbers that `whole` made, as values of a type again; null where `missing` is true."""
    array = array_of_numbers(numbers, missing)
    return array.cast(pa.int32()).cast(kind) if pa.types.is_date32(kind) else array.cast(kind)


def _steps(values: Any, steps: Steps, key: Key) -> pa.Array:
    numbers, missing = whole(values)
    over = np.mod(np.mod(numbers, steps.width) - steps.origin % steps.width, steps.width)
    least = np.int64(_LEAST_DAY if pa.types.is_date(values.type) else LOWEST)
    if np.any(numbers < least + over):
        _too_small(key)
    return from_whole(numbers - over, missing, key.type)


def _float_steps(values: Any, width: float) -> pa.Array:
    """The first number of each bucket. Where doubles lie further apart than buckets, each number is its own.

    Floats are taken as doubles: a width such as 0.1 is a double.
    """
    numbers = numpy_of(pc.fill_null(values.cast(pa.float64()), ZERO_FLOAT_SCALAR))
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.floor(numbers / width)
        first = steps * width
        first = np.where(first > numbers, (steps - 1) * width, first)
    fine = np.isfinite(numbers) & (np.abs(steps) < 2.0**MANTISSA_BITS)
    missing = numpy_of(values.is_null())
    return one_zero(array_of_numbers(np.where(fine, first, numbers), missing))


def _calendar(values: Any, unit: str, key: Key) -> pa.Array:
    numbers, missing = whole(values)
    is_date = pa.types.is_date(values.type)
    moment = "datetime64[D]" if is_date else "datetime64[us]"
    months = numbers.astype(moment).astype("datetime64[M]").astype(np.int64)
    size = {"month": 1, "quarter": 3, "year": 12}[unit]
    first = (months - np.mod(months, size)).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    least = np.int64(_LEAST_DAY if is_date else LOWEST // _DAY + 1)
    if np.any(first < least):
        _too_small(key)
    return from_whole(first if is_date else first * _DAY, missing, values.type)


def _too_small(key: Key) -> NoReturn:
    raise QueryError(
        f"{key.name!r}: a value of {key.column} is so small that its bucket begins before the least {key.type}; "
        "leave such values out with a filter",
        column=str(key.column),
    )


def ordered(values: Any) -> Any:
    """Values that Arrow orders as Spark does."""
    if not pa.types.is_floating(values.type):
        return values
    bits = numpy_of(pc.fill_null(one_zero(values), ZERO_FLOAT_SCALAR)).view(np.int64)
    places = np.where(bits >= 0, bits, bits ^ HIGHEST)
    places = np.where(numpy_of(pc.fill_null(pc.is_nan(values), FALSE_SCALAR)), NAN, places)
    return array_of_numbers(places, numpy_of(values.is_null()))


def unordered(places: Any, kind: pa.DataType) -> Any:
    """Places that `ordered` made, as values of a type again."""
    if not pa.types.is_floating(kind):
        return places
    numbers = numpy_of(pc.fill_null(places, ZERO_SCALAR))
    bits = np.where(numbers >= 0, numbers, numbers ^ HIGHEST)
    found = np.where(numbers == NAN, np.nan, bits.view(np.float64))
    return array_of_numbers(found, numpy_of(places.is_null())).cast(kind)


def float_parts(values: Any) -> tuple[pa.Array, list[pa.Array]]:
    """Doubles as exponents, null where there is none, and the halves of their mantissas."""
    numbers = numpy_of(pc.fill_null(values, ZERO_FLOAT_SCALAR))
    finite = np.isfinite(numbers)
    mantissa, exponent = np.frexp(np.where(finite, numbers, 0.0))
    whole_mantissa = (mantissa * float(1 << MANTISSA_BITS)).astype(np.int64)
    codes = np.where(
        finite,
        exponent,
        np.where(np.isnan(numbers), NAN_EXPONENT, np.where(numbers > 0, INFINITE_EXPONENT, MINUS_INFINITE_EXPONENT)),
    )
    missing = numpy_of(values.is_null())
    parts = [whole_mantissa >> FLOAT_LOW_BITS, whole_mantissa & ((1 << FLOAT_LOW_BITS) - 1)]
    return array_of_numbers(codes.astype(np.int32), missing), [array_of_numbers(part) for part in parts]
