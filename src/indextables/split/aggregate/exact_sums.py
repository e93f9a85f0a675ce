"""Sums of groups that lose nothing, computed with whole columns.

Whole numbers are added as doubles, which is exact below 2^53, or else in two halves.

Doubles are cut into layers. A layer has the leading bits of every number, as multiples of one unit that is so large that no sum
of the layer's numbers needs more than 53 bits; what is left over is the next layer. With 65,536 rows a layer takes 35 bits, so
that two or three layers hold most columns. Each layer's sum is exact, and so is the sum of all layers (Rump, Ogita and Oishi,
"Accurate floating-point summation", 2008).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from indextables.core.arrow_values import ZERO_FLOAT_SCALAR, numpy_of
from indextables.split.aggregate.exact_inputs import LOW_BITS, MANTISSA_BITS, whole
from indextables.split.aggregate.group_codes import Codes, GroupCodes

Doubles = npt.NDArray[np.float64]

_EXACT: Final = 1 << MANTISSA_BITS
"""Whole numbers up to this size are exact as doubles."""
MOST_ROWS: Final = 1 << 20
"""Rows up to which sums of halves stay below 2^53: a half has at most 32 bits."""
_LARGEST: Final = 2.0**900
"""Doubles above this size leave no room for the unit of a layer."""


def whole_sums(groups: GroupCodes, values: Any) -> tuple[Codes, Codes]:
    """The sums of whole numbers in two halves, the lower one of 32 bits; nulls count as 0. At most `MOST_ROWS` rows."""
    numbers, _ = whole(values)
    if max(abs(int(numbers.min())), abs(int(numbers.max()))) * groups.rows < _EXACT:
        if groups.codes is None:
            total = np.array([int(numbers.sum())], np.int64)
        else:
            total = groups.add(numbers.astype(np.float64)).astype(np.int64)
        return total >> LOW_BITS, total & ((1 << LOW_BITS) - 1)
    high, low = numbers >> LOW_BITS, numbers & ((1 << LOW_BITS) - 1)
    return groups.add(high.astype(np.float64)).astype(np.int64), groups.add(low.astype(np.float64)).astype(np.int64)


def double_sums(groups: GroupCodes, values: Any) -> list[Doubles] | None:
    """Doubles whose sum is the sum of each group, one array a layer; nulls count as 0. None where that cannot be done."""
    numbers = numpy_of(pc.fill_null(values, ZERO_FLOAT_SCALAR) if values.null_count else values)
    numbers = numbers.astype(np.float64, copy=False)
    largest = max(float(numbers.max()), -float(numbers.min()))
    if not largest < _LARGEST:  # also where a number is NaN
        return None
    return [groups.add(layer) for layer in _layers(numbers, largest)]


def _layers(numbers: Doubles, largest: float) -> Iterator[Doubles]:
    """Arrays whose sum is `numbers`, each of multiples of a unit of its own. Each is used before the next one is made."""
    spare = len(numbers).bit_length() + 1
    exponent = math.frexp(largest)[1]
    leading, rest = np.empty_like(numbers), np.empty_like(numbers)
    while largest:
        unit = math.ldexp(1.0, exponent + spare)
        np.add(numbers, unit, out=leading)
        np.subtract(leading, unit, out=leading)
        yield leading
        numbers = np.subtract(numbers, leading, out=rest)
        exponent += spare - MANTISSA_BITS
        largest = float(numbers.any())


__all__ = ["MOST_ROWS", "double_sums", "whole_sums"]
