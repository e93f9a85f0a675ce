"""Which of a million paths are tombstoned, and whether a path is there twice: found for all at once, by hashes of their bytes.

A set of Python strings knows, but every path must be made a Python string to be asked for. So a table of bits is asked before:
whether any tombstone ends in bytes that hash to the same bit. That is done for all paths at once, and those for which the
answer is yes, nearly all of which are tombstoned, are compared with the tombstone of the same hash. Only short paths, and those
that share a hash, are looked up one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of, numpy_of
from indextables.core.runtime.cached_property import cached_property
from indextables.log.avro.shared_columns import integers

Numbers = npt.NDArray[np.int64]

_WORD = 8
"""Bytes that are hashed at a time."""
_TAIL = 3 * _WORD
"""Bytes at the end of a path that are hashed. What is shorter is always looked up."""
_BITS_EACH = 16
"""Places of the filter for each path, at least: at most one path in 16 passes the filter by chance."""
_MOST_BITS = 1 << 28
"""Places of the filter for all paths, about: 256 MiB, a byte each."""
_HALF = np.uint64(32)
_FACTORS = tuple(np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9))


class Paths(AbstractSet[str]):
    """A set of paths that stay bytes until somebody asks for one of them."""

    def __init__(self, texts: pa.StringArray) -> None:
        self.texts = texts

    @classmethod
    def of(cls, paths: Iterable[str] | pa.StringArray | None) -> Paths:
        """Paths as they are, or of what Avro or JSON has."""
        if isinstance(paths, Paths):
            return paths
        return cls(paths if isinstance(paths, pa.Array) else array_of(list(paths or ()), pa.string()))

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> Any:
        return frozenset(it)

    @cached_property
    def _set(self) -> frozenset[str]:
        return frozenset(self.texts.to_pylist())

    def __contains__(self, path: object) -> bool:
        return path in self._set

    def __iter__(self) -> Iterator[str]:
        return iter(self._set)

    def __len__(self) -> int:
        return len(self._set)

    def __reduce__(self) -> tuple[Any, ...]:
        return Paths, (self.texts,)


class TombstoneFilter:
    """Finds tombstoned paths among many."""

    def __init__(self, paths: Collection[str]) -> None:
        texts = Paths.of(paths).texts
        hashes, whole = _tail_hashes(texts)
        self._short = frozenset(texts.filter(_flags(~whole)).to_pylist())
        order = np.argsort(hashes[whole])
        rows = np.flatnonzero(whole)[order]
        self._hashes = hashes[rows]
        self._texts = texts.take(integers(rows))
        equal = self._hashes[1:] == self._hashes[:-1]
        self._sharing: dict[int, set[str]] = {}
        for row in np.flatnonzero(np.append(equal, False) | np.append([False], equal)[: len(rows)]).tolist():
            self._sharing.setdefault(int(self._hashes[row]), set()).add(self._texts[row].as_py())
        size = 1 << max(6, min(len(rows) * _BITS_EACH, _MOST_BITS).bit_length())
        self._mask = np.uint64(size - 1)
        self._bits = np.zeros(size, np.bool_)
        self._bits[self._places(self._hashes)] = True

    def __bool__(self) -> bool:
        return bool(self._short) or len(self._texts) > 0

    def _places(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Which bits belong to hashes; the upper half of a product is the better mixed one."""
        return (hashes >> _HALF) & self._mask

    def rows(self, paths: pa.ChunkedArray) -> Numbers:
        """The numbers of the rows whose path is tombstoned, ascending."""
        found = [np.zeros(0, np.int64)]
        first = 0
        for chunk in paths.chunks:
            found.append(self._rows(chunk) + first)
            first += len(chunk)
        return np.concatenate(found)

    def _rows(self, paths: pa.StringArray) -> Numbers:
        hashes, whole = _tail_hashes(paths)
        hidden = np.zeros(len(paths), np.bool_)
        maybe = np.flatnonzero(self._bits[self._places(hashes)] & whole)
        if len(maybe) and len(self._texts):
            at = np.minimum(np.searchsorted(self._hashes, hashes[maybe]), len(self._hashes) - 1)
            same = pc.equal(self._texts.take(integers(at)), paths.take(integers(maybe)))
            hidden[maybe] = numpy_of(same)
        if self._sharing:
            for row in maybe[~hidden[maybe]].tolist():
                hidden[row] = paths[row].as_py() in self._sharing.get(int(hashes[row]), ())
        if self._short:
            for row in np.flatnonzero(~whole).tolist():
                hidden[row] = paths[row].as_py() in self._short
        return np.flatnonzero(hidden)


def _flags(values: npt.NDArray[np.bool_]) -> pa.BooleanArray:
    bits = pa.py_buffer(np.packbits(values, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, bits])


def may_repeat(paths: pa.ChunkedArray) -> bool:
    """Whether a path may be there twice. Never False when one is; True without one only where two paths have one hash."""
    hashes: list[npt.NDArray[np.uint64]] = []
    short: list[str] = []
    for chunk in paths.chunks:
        tails, whole = _tail_hashes(chunk)
        hashes.append((tails ^ _head_hashes(chunk, whole))[whole])
        if not whole.all():
            short += chunk.filter(_flags(~whole)).to_pylist()
    ordered = np.sort(np.concatenate([np.zeros(0, np.uint64), *hashes]))
    return len(set(short)) < len(short) or bool((ordered[1:] == ordered[:-1]).any())


def _head_hashes(paths: pa.StringArray, whole: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    """A hash of the beginning of each path that is long enough to have one, and of its length."""
    if not whole.any():
        return np.zeros(len(paths), np.uint64)
    offsets, words = _words(paths)
    at = np.where(whole, offsets[:-1], 0)
    mixed = np.diff(offsets).astype(np.uint64)
    for number, factor in enumerate(_FACTORS):
        mixed = (mixed ^ words[at + number * _WORD]) * factor
    return mixed


def _tail_hashes(paths: pa.StringArray) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """A hash of the end of each path, and whether the path is long enough to have one."""
    if not len(paths):
        return np.zeros(0, np.uint64), np.zeros(0, np.bool_)
    offsets, words = _words(paths)
    whole = np.diff(offsets) >= _TAIL
    if not whole.any():
        return np.zeros(len(paths), np.uint64), whole
    at = np.where(whole, offsets[1:] - _TAIL, 0)
    mixed = np.zeros(len(paths), np.uint64)
    for number, factor in enumerate(_FACTORS):
        mixed = (mixed ^ words[at + number * _WORD]) * factor
    return mixed, whole


def _words(paths: pa.StringArray) -> tuple[Numbers, npt.NDArray[Any]]:
    """Where paths begin and end, and the eight bytes from every place on as a number."""
    _, ends, buffer = paths.buffers()
    offsets = np.frombuffer(ends, np.int32)[paths.offset : paths.offset + len(paths) + 1].astype(np.int64)
    data = np.frombuffer(buffer, np.uint8) if buffer is not None else np.zeros(0, np.uint8)
    return offsets, np.ndarray((max(len(data) - _WORD + 1, 0),), np.dtype("<u8"), data, strides=(1,))
