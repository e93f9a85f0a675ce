"""Rows in the order of columns, as Spark orders them, and the first n of them.

    column, SortKey ──▶ key_parts ──▶ Numbers and Texts ──▶ FirstRows: the n rows that come first

Nulls come first where a key ascends and last where it descends, unless the key says otherwise. NaN equals itself and is greater
than every number, -0.0 equals 0.0. Strings and binaries are ordered by their bytes, false comes before true.

A key becomes *parts*: arrays that are compared one after the other, the first part first, each so that the lesser value comes
first. The first part of every key says which rows are null. Everything that is a number underneath becomes 64-bit numbers:
moments, doubles (by their place in Spark's order), decimals (as two numbers). Descending numbers are inverted. Only texts keep
their bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import ZERO_FLOAT_SCALAR, ZERO_SCALAR, array_of_numbers, numpy_of, scalar_of
from indextables.core.types import SPARK_METADATA, SPARK_TYPE
from indextables.core.values import is_text

Places: TypeAlias = npt.NDArray[np.intp]
Mask: TypeAlias = npt.NDArray[np.bool_]

_HIGHEST: Final = np.int64(2**63 - 1)
"""The greatest 64-bit number: the part of NaN, and the bits of a double that are inverted where the double is negative."""
_SIGN: Final = np.int64(-(2**63))
"""The sign bit of a 64-bit number. Inverting the sign bit makes the order of unsigned numbers that of signed ones."""


class SortKey(NamedTuple):
    """A column that rows are ordered by."""

    column: str
    descending: bool = False
    nulls_first: bool | None = None
    """Whether nulls come before all values. None is Spark's default: first where the key ascends, last where it descends."""

    @property
    def nulls_lead(self) -> bool:
        """Whether nulls come before all values, with the default applied."""
        return not self.descending if self.nulls_first is None else self.nulls_first


@dataclass(frozen=True)
class Numbers:
    """A part of a key as whole numbers. The least number comes first."""

    values: npt.NDArray[Any]

    def take(self, places: Any) -> Numbers:
        """The values at some places, or where a mask is true."""
        return Numbers(self.values[places])

    def at(self, place: int) -> int:
        """The value at a place."""
        return int(self.values[place])

    def nth(self, count: int) -> int:
        """The last of the first `count` values."""
        return int(np.partition(self.values, count - 1)[count - 1])

    def compare(self, limit: Any) -> tuple[Mask, Mask]:
        """Which values come before the limit, and which are equal to the limit."""
        return self.values < limit, self.values == limit

    def ranks(self) -> npt.NDArray[Any]:
        """Numbers in the same order."""
        return self.values


@dataclass(frozen=True)
class Texts:
    """A part of a key as bytes, without nulls."""

    values: pa.LargeBinaryArray
    descending: bool

    def take(self, places: Any) -> Texts:
        """The values at some places, or where a mask is true."""
        chosen = array_of_numbers(places)
        taken = self.values.filter(chosen) if places.dtype == np.bool_ else self.values.take(chosen)
        return Texts(taken, self.descending)

    def at(self, place: int) -> bytes:
        """The value at a place."""
        value: bytes = self.values[place].as_py()
        return value

    def nth(self, count: int) -> bytes:
        """The last of the first `count` values."""
        return self.at(pc.select_k_unstable(self.values, k=count, sort_keys=[("", self._order)])[count - 1].as_py())

    def compare(self, limit: Any) -> tuple[Mask, Mask]:
        """Which values come before the limit, and which are equal to the limit."""
        value = scalar_of(limit, pa.large_binary())
        before = pc.greater(self.values, value) if self.descending else pc.less(self.values, value)
        return _mask(before), _mask(pc.equal(self.values, value))

    def ranks(self) -> npt.NDArray[Any]:
        """Numbers in the same order."""
        return numpy_of(pc.rank(self.values, sort_keys=self._order, tiebreaker="dense"))

    @property
    def _order(self) -> str:
        return "descending" if self.descending else "ascending"


Part: TypeAlias = Numbers | Texts
"""A part of the keys of some rows."""
Parts: TypeAlias = tuple[Part, ...]
"""Some rows by their keys. All parts have the same length."""
Limit: TypeAlias = tuple[Any, ...]
"""One row by its keys: a value of each part."""


def is_sortable(column: pa.Field) -> bool:
    """Whether Spark's order of the column is known here. Nested columns, collations and texts of fixed length have others."""
    kept, kind, kinds = column.metadata or {}, column.type, pa.types
    if is_text(kind):
        return not (kept.get(SPARK_TYPE, b"").startswith((b'"char', b'"string')) or _is_collated(kept))
    return bool(
        kinds.is_boolean(kind)
        or kinds.is_signed_integer(kind)
        or kinds.is_float32(kind)
        or kinds.is_float64(kind)
        or kinds.is_decimal128(kind)
        or (kinds.is_temporal(kind) and not kinds.is_interval(kind))
        or kinds.is_binary(kind)
        or kinds.is_large_binary(kind)
        or kinds.is_null(kind)
    )


def _is_collated(metadata: Any) -> bool:
    return b"__COLLATIONS" in metadata.get(SPARK_METADATA, b"")


def key_parts(values: pa.Array, key: SortKey) -> Parts:
    """The parts of a column's values: which are null, and then the values. All nulls are equal."""
    missing = _mask(values.is_null()) if values.null_count else np.zeros(len(values), np.bool_)
    nulls = Numbers((missing != key.nulls_lead).astype(np.int8))
    kind = values.type
    if is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return nulls, Texts(
            pc.fill_null(values.cast(pa.large_binary()), scalar_of(b"", pa.large_binary())), key.descending
        )
    numbers = [~part if key.descending else part for part in _numbers(values)]
    return nulls, *(Numbers(np.where(missing, 0, part) if values.null_count else part) for part in numbers)


def _numbers(values: pa.Array) -> list[npt.NDArray[np.int64]]:
    """Values as 64-bit numbers in their order. Where there is a null, anything may stand."""
    kind, kinds = values.type, pa.types
    if kinds.is_null(kind):
        return [np.zeros(len(values), np.int64)]
    if kinds.is_decimal(kind):
        halves = np.frombuffer(values.buffers()[1], np.int64).reshape(-1, 2)[values.offset :][: len(values)]
        return [halves[:, 1], halves[:, 0] ^ _SIGN]
    if kinds.is_floating(kind):
        return [_float_numbers(numpy_of(values.cast(pa.float64()).fill_null(ZERO_FLOAT_SCALAR)))]
    if kinds.is_temporal(kind):
        values = values.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    return [numpy_of(values.cast(pa.int64()).fill_null(ZERO_SCALAR))]


def _float_numbers(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The place of each double in Spark's order of all doubles."""
    bits = (values + 0.0).view(np.int64)
    return np.where(np.isnan(values), _HIGHEST, np.where(bits < 0, bits ^ _HIGHEST, bits))


def _mask(answer: Any) -> Mask:
    return np.asarray(numpy_of(answer), np.bool_)


def compare_rows(rows: Parts, limit: Limit) -> tuple[Mask, Mask]:
    """Which rows come before the limit, and which are equal to the limit. Parts beyond those of the limit do not count."""
    before, same = rows[0].compare(limit[0])
    for part, value in zip(rows[1:], limit[1:], strict=False):
        if not same.any():
            break
        less, equal = part.compare(value)
        before, same = before | (same & less), same & equal
    return before, same


def row_at(rows: Parts, place: int) -> Limit:
    """The keys of the row at a place."""
    return tuple(part.at(place) for part in rows)


def first_places(rows: Parts, count: int) -> Places:
    """The places of the first `count` rows, in the order of their keys. Equal rows come in the order of their places."""
    chosen = _chosen(rows, count)
    ranks = [part.take(chosen).ranks() for part in rows]
    return chosen[np.lexsort(ranks[::-1])]


def _chosen(rows: Parts, count: int) -> Places:
    """The places of the first `count` rows, ascending: by each part only rows are compared that are equal by those before."""
    total = len(rows[0].values)
    open_places = np.arange(total)
    taken: list[Places] = []
    for part in rows:
        if len(open_places) <= count or not count:
            break
        values = part if len(open_places) == total else part.take(open_places)
        before, same = values.compare(values.nth(count))
        taken.append(open_places[before])
        count -= len(taken[-1])
        open_places = open_places[same]
    return np.sort(np.concatenate([*taken, open_places[:count]]))


class FirstRows:
    """The first rows of all that were added, at most `most` of them, which is at least 1.

    `limit` is a row that is known to come after at least `most` rows, or to be the last of these. Rows after that are not kept.
    """

    def __init__(self, most: int, limit: Limit | None = None) -> None:
        self._most = most
        self.limit = limit
        """The last of the first `most` rows, as far as is known; None while any row may be one of them."""
        self._parts: list[Parts] = []
        self._count = 0

    def add(self, rows: Parts) -> None:
        """Keep those of the rows that may be among the first."""
        if self.limit is not None:
            before, same = compare_rows(rows, self.limit)
            kept = before | same
            if not kept.any():
                return
            if not kept.all():
                rows = tuple(part.take(kept) for part in rows)
        if len(rows[0].values) > self._most:
            chosen = _chosen(rows, self._most)
            rows = tuple(part.take(chosen) for part in rows)
        self._parts.append(rows)
        self._count += len(rows[0].values)
        if self._count >= (self._most if self.limit is None else 2 * self._most):
            self.rows()

    def rows(self) -> Parts:
        """The first rows, in their order; nothing if no row was kept."""
        if not self._parts:
            return ()
        rows = joined(self._parts)
        places = first_places(rows, self._most)
        rows = tuple(part.take(places) for part in rows)
        self._parts, self._count = [rows], len(places)
        if self._count == self._most:
            self.limit = row_at(rows, self._most - 1)
        return rows


def joined(parts: Sequence[Parts]) -> Parts:
    """Rows of several lots, one lot after the other."""
    if len(parts) == 1:
        return parts[0]
    return tuple(_joined(same) for same in zip(*parts, strict=True))


def _joined(parts: Sequence[Part]) -> Part:
    first = parts[0]
    if isinstance(first, Texts):
        return Texts(pa.concat_arrays([part.values for part in parts]), first.descending)
    return Numbers(np.concatenate([part.values for part in parts]))


__all__ = [
    "FirstRows",
    "Limit",
    "Numbers",
    "Part",
    "Parts",
    "SortKey",
    "Texts",
    "compare_rows",
    "first_places",
    "is_sortable",
    "joined",
    "key_parts",
    "row_at",
]
