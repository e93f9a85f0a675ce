"""Where the texts of a list lie, found by runs of texts of one length.

Each text says how long it is, so where the next one begins is known only then. But the paths of a table's files mostly are as
long as their neighbours: where the same length stands where the next text must begin if this one is as long, it is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from indextables.core.errors import CorruptLog
from indextables.log.avro.avro_file import read_long

Numbers = npt.NDArray[np.int64]

_WORTH_IT = 16
"""Texts of one length in a row from which on it pays to look at all of them at once."""
_AT_ONCE = 1 << 14
"""Texts of equal length that are looked for in one step, at most."""


def text_spans(name: str, data: bytes, position: int, count: int) -> tuple[Numbers, Numbers, int]:
    """Where `count` texts begin, their lengths, and the position behind the last. Raises CorruptLog with the file's name, or
    IndexError where they are cut off.
    """
    found: list[Numbers] = []
    some: list[tuple[int, int]] = []
    left = count
    while left:
        size, begin = data[position] >> 1, position + 1
        if data[position] & 0x81:  # more than one byte, or negative
            size, begin = read_long(name, data, position)
        end = begin + size
        if size < 0 or end > len(data):
            raise CorruptLog(f"{name} is damaged: a text of {size} bytes is cut off", object=name)
        run = 1
        if left >= _WORTH_IT and data[end : end + begin - position] == data[position:begin]:
            run = _run(data, position, begin, end, min(left, _AT_ONCE))
        if run == 1:
            some.append((begin, size))
        else:
            begins = begin + np.arange(run) * (end - position)
            found += [_table(some), np.stack([begins, np.full(run, size)], axis=1)]
            some = []
        position += run * (end - position)
        left -= run
    spans = np.concatenate([*found, _table(some)])
    return spans[:, 0], spans[:, 1], position


def _table(some: list[tuple[int, int]]) -> Numbers:
    return np.array(some, np.int64).reshape(-1, 2)


def _run(data: bytes, position: int, begin: int, end: int, most: int) -> int:
    """The number of texts from `position` on that are as long as the first one, which ends at `end`; at most `most`."""
    stride, length = end - position, data[position:begin]
    most = min(most, (len(data) - position) // stride)
    last = position + (_WORTH_IT - 1) * stride
    if most < _WORTH_IT or data[last : last + len(length)] != length:
        return 1
    rows = np.frombuffer(data, np.uint8, most * stride, position).reshape(most, stride)[:, : len(length)]
    others = (rows != np.frombuffer(length, np.uint8)).any(axis=1)
    return int(others.argmax()) if others.any() else most
