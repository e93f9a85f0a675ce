"""Sums of groups that lose nothing, computed with whole columns.

Whole numbers are added as 64-bit integers or as doubles where neither can overflow or round, or else in two halves.

Doubles are cut into layers. A layer has the leading bits of every number, as multiples of one unit that is so large that no sum
of the layer's numbers needs more than 53 bits; what is left over is the next layer. With 32,768 rows at a time a layer takes 36
bits, so that two or three layers hold most columns. Each layer's sum is exact, and so is the sum of all layers (Rump, Ogita and
Oishi, "Accurate floating-point summation", 2008). The sums of a layer are whole numbers of its unit, and are added up as such.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import ZERO_FLOAT_SCALAR, numpy_of
from indextables.split.aggregate.exact_inputs import LOW_BITS, MANTISSA_BITS, whole
from indextables.split.aggregate.group_codes import Codes, GroupCodes, added

Doubles = npt.NDArray[np.float64]

_EXACT: Final = 1 << MANTISSA_BITS
"""Whole numbers up to this size are exact as doubles."""
_LONGEST: Final = 1 << 63
"""Whole numbers below this size are exact as 64-bit integers."""
MOST_ROWS: Final = 1 << 20
"""Rows up to which sums of halves stay below 2^53, and sums of layers below 2^63: a half has at most 32 bits, and there are at
most 32 pieces of `_PIECE_ROWS`.
"""
_PIECE_ROWS: Final = 1 << 15
"""Rows that are cut into layers at a time: three arrays of 256 KiB stay in a second cache of a megabyte. Two million doubles
took 3.4 ms in pieces of 32,768 and of 16,384 (with two threads 4.5), 4.7 ms in pieces of 65,536 and 14 ms in pieces of 262,144.
"""
_LARGEST: Final = 2.0**900
"""Doubles above this size leave no room for the unit of a layer."""


@dataclass(frozen=True, slots=True)
class Layer:
    """The sums of the leading bits of each group's doubles, as whole numbers of the unit 2^(exponent - 53)."""

    exponent: int
    sums: Codes


def whole_sums(groups: GroupCodes, values: Any) -> tuple[Codes, Codes]:
    """The sums of whole numbers in two halves, the lower one of 32 bits; nulls count as 0. At most `MOST_ROWS` rows."""
    size = _size(values)
    if groups.codes is None and size * groups.rows < _LONGEST:
        total = np.array([pc.sum(values).as_py() or 0], np.int64)
        return total >> LOW_BITS, total & ((1 << LOW_BITS) - 1)
    numbers, _ = whole(values)
    if size * groups.rows < _EXACT:
        total = groups.add(numbers.astype(np.float64)).astype(np.int64)
        return total >> LOW_BITS, total & ((1 << LOW_BITS) - 1)
    high, low = numbers >> LOW_BITS, numbers & ((1 << LOW_BITS) - 1)
    return groups.add(high.astype(np.float64)).astype(np.int64), groups.add(low.astype(np.float64)).astype(np.int64)


def _size(values: Any) -> int:
    """A number that no value exceeds, whatever its sign: of 64-bit numbers the largest that occurs."""
    bits: int = values.type.bit_width
    if bits < pa.int64().bit_width:
        return 1 << (bits - 1)
    ends = [end.as_py() for end in pc.min_max(values).values()]
    return max((abs(end) for end in ends if end is not None), default=0)


def double_sums(groups: GroupCodes, values: Any) -> list[Layer] | None:
    """Layers whose sum is the sum of each group, at least one; nulls count as 0. None where that cannot be done.

    At most `MOST_ROWS` rows.
    """
    numbers = numpy_of(pc.fill_null(values, ZERO_FLOAT_SCALAR) if values.null_count else values)
    numbers = numbers.astype(np.float64, copy=False)
    largest = max(float(numbers.max()), -float(numbers.min()))
    if not largest < _LARGEST:  # also where a number is NaN
        return None
    # sums of many groups are written once a piece, so a piece has no fewer rows than there are groups
    step = max(_PIECE_ROWS, groups.groups)
    cut = _Cut(math.frexp(largest)[1], step.bit_length() + 1, groups.groups)
    leading, rest = np.empty((2, min(step, len(numbers))))
    for begin in range(0, len(numbers), step):
        piece = numbers[begin : begin + step]
        codes = None if groups.codes is None else groups.codes[begin : begin + step].astype(np.int64, copy=False)
        cut.add(piece, codes, leading[: len(piece)], rest[: len(piece)])
    return cut.layers()


class _Cut:
    """The layers of some doubles, which are added piece by piece."""

    def __init__(self, exponent: int, spare: int, groups: int) -> None:
        """No double reaches 2^exponent, and a piece has fewer than 2^(spare - 1) doubles."""
        self._exponent = exponent
        self._spare = spare
        self._groups = groups
        self._found: list[list[Any]] = []
        """For each layer the sums of each piece that has bits of the layer: one double, or an array of one a group."""

    def add(self, numbers: Doubles, codes: Codes | None, leading: Doubles, rest: Doubles) -> None:
        """Add a piece. `leading` and `rest` are room for as many doubles."""
        number, more = 0, True
        while more:
            unit = math.ldexp(1.0, self._exponent_of(number))
            np.add(numbers, unit, out=leading)
            np.subtract(leading, unit, out=leading)
            if number == len(self._found):
                self._found.append([])
            self._found[number].append(np.add.reduce(leading) if codes is None else added(codes, leading, self._groups))
            numbers = np.subtract(numbers, leading, out=rest)
            number += 1
            more = bool(np.logical_or.reduce(numbers))

    def layers(self) -> list[Layer]:
        """The sums of all pieces."""
        made = []
        for number, found in enumerate(self._found):
            exponent = self._exponent_of(number)
            wholes = np.ldexp(np.array(found).reshape(-1, self._groups), MANTISSA_BITS - exponent).astype(np.int64)
            made.append(Layer(exponent, wholes.sum(axis=0)))
        return made

    def _exponent_of(self, number: int) -> int:
        """The exponent of a layer. Numbers of the layer and their sums in a piece are below 2^exponent."""
        return self._exponent + self._spare - number * (MANTISSA_BITS - self._spare)


__all__ = ["MOST_ROWS", "Layer", "double_sums", "whole_sums"]
