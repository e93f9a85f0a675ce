"""Numbers, dates and moments as whole-number keys in their order, so that every comparison is a range of keys.

For a double that is its place in Spark's order, in steps of one unit in the last place: the infinities at the ends of the
numbers, NaN after all of them, -0.0 where 0.0 is.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from indextables.core.predicate import Comparison
from indextables.core.values import micros

Run: TypeAlias = tuple[int, int]
"""A range of keys: the first and the last key. The range is empty where the first comes after the last."""

LOWEST: Final = -(2**63)
"""The least 64-bit number."""
HIGHEST: Final = 2**63 - 1
"""The greatest 64-bit number."""
_DAY_ZERO: Final = dt.date(1970, 1, 1)


def whole_key(value: Any) -> int:
    """The key of a whole number or boolean (itself), of a date (days since 1970) or of a moment (microseconds since 1970)."""
    if isinstance(value, dt.datetime):
        return micros(value)
    return (value - _DAY_ZERO).days if isinstance(value, dt.date) else int(value)


def float_key(value: float) -> int:
    """The key of a double: its place in Spark's order of all doubles."""
    if math.isnan(value):
        return NAN
    bits: int = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]
    return bits if bits >= 0 else bits ^ HIGHEST


def float_at(key: int) -> float:
    """The double that has this key."""
    value: float = struct.unpack("<d", struct.pack("<q", key if key >= 0 else key ^ HIGHEST))[0]
    return value


INFINITY: Final = float_key(math.inf)
MINUS_INFINITY: Final = float_key(-math.inf)
NAN: Final = INFINITY + 1


def run_of(comparisons: Sequence[Comparison], key: Callable[[Any], int], low: int, high: int) -> Run:
    """The range of keys in [low, high] for which every comparison holds. Operators: =, <, <=, >, >=."""
    for comparison in comparisons:
        at = key(comparison.value.value)
        match comparison.op:
            case "<" | "<=":
                high = min(high, at - (comparison.op == "<"))
            case ">" | ">=":
                low = max(low, at + (comparison.op == ">"))
            case _:
                low, high = max(low, at), min(high, at)
    return low, high


def few_runs(runs: Sequence[Run], most: int) -> tuple[list[Run], bool]:
    """At most `most` runs that hold all keys of the given ones, and whether they hold no other key.

    The given runs ascend, and none of them is empty. The runs with the smallest gaps between them are joined first.
    """
    joined: list[Run] = []
    for low, high in runs:
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    if len(joined) <= most:
        return joined, True
    widest = sorted(range(1, len(joined)), key=lambda number: joined[number - 1][1] - joined[number][0])[: most - 1]
    starts = [0, *sorted(widest), len(joined)]
    return [(joined[start][0], joined[end - 1][1]) for start, end in itertools.pairwise(starts)], False
