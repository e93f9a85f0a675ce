"""Which of a million paths are dead, and whether one stands there twice: asked of all at once, by hashes of their bytes.

A set of Python strings knows, but every path must be made a Python string to be asked for. So a table of bits is asked before:
whether any dead path ends in bytes that hash to the same bit. That is done for all paths at once, and only those for which
the answer is yes, nearly all of which are dead, are looked up in the set.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.log.avro.settle import integers

Numbers = npt.NDArray[np.int64]

_WORD = 8
_TAIL = 3 * _WORD
"""Bytes at the end of a path that are hashed. What is shorter is always looked up."""
_BITS_EACH = 16
_MOST_BITS = 1 << 28
_HALF = np.uint64(32)
_FACTORS = tuple(np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9))


class Dead:
    """Paths that are dead."""

    def __init__(self, paths: Collection[str]) -> None:
        self._paths = frozenset(paths)
        size = 1 << max(6, min(len(self._paths) * _BITS_EACH, _MOST_BITS).bit_length())
        self._mask = np.uint64(size - 1)
        self._bits = np.zeros(size, np.bool_)
        self._bits[self._places(_tail_hashes(pa.array(self._paths, pa.string()))[0])] = True

    def __bool__(self) -> bool:
        return bool(self._paths)

    def _places(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Which bits belong to hashes; the upper half of a product is the better mixed one."""
        return (hashes >> _HALF) & self._mask

    def rows(self, paths: pa.ChunkedArray) -> Numbers:
        """The numbers of the rows that are dead, in order."""
        found: list[int] = []
        first = 0
        for chunk in paths.chunks:
            hashes, whole = _tail_hashes(chunk)
            maybe = np.flatnonzero(self._bits[self._places(hashes)] | ~whole)
            texts = chunk.take(integers(maybe)).to_pylist()
            found += [row for row, text in zip((maybe + first).tolist(), texts, strict=True) if text in self._paths]
            first += len(chunk)
        return np.array(found, np.int64)


def may_repeat(paths: pa.ChunkedArray) -> bool:
    """Whether a path may be there twice. Never False when one is; True without one only where two paths have one hash."""
    hashes: list[npt.NDArray[np.uint64]] = []
    short: list[str] = []
    for chunk in paths.chunks:
        tails, whole = _tail_hashes(chunk)
        hashes.append((tails ^ _head_hashes(chunk, whole))[whole])
        if not whole.all():
            short += chunk.filter(pa.array(~whole)).to_pylist()
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
