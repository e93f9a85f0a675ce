"""Where the values of one Avro record lie, and which of its bits say so."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from indextables.log.avro.avro_file import read_long
from indextables.log.avro.record_lengths import Irregular

Span = tuple[int, int]

_ALL, _GOES_ON = 0xFF, 0x80
_WIDEST_NUMBER = 10


@dataclass(frozen=True)
class Place:
    """Where a field lies: its value, or the values of its items; and the keys of them, if it is a map."""

    spans: tuple[Span, ...]
    keys: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Layout:
    """`places` has the fields that are wanted, None for those that are null. In a record that is equal to `example` in all
    bits of `mask`, everything lies where it lies in the example.
    """

    example: npt.NDArray[np.uint8]
    mask: npt.NDArray[np.uint8]
    texts: npt.NDArray[np.uint8]
    """All bits of the bytes that are texts."""
    places: dict[str, Place | None]


def layout_of(example: npt.NDArray[np.uint8], fields: Sequence[dict[str, Any]], wanted: Collection[str]) -> Layout:
    """The layout of a record. Raises Irregular, CorruptLog or IndexError unless it is one from its first byte to its last."""
    walk = _Walk(example.tobytes())
    places = {}
    for item in fields:
        place = walk.field(item["type"])
        if item["name"] in wanted:
            places[item["name"]] = place
    if walk.at != len(example):
        raise Irregular("the lengths do not fit the records")
    return Layout(example, np.frombuffer(walk.mask, np.uint8), np.frombuffer(walk.texts, np.uint8), places)


@dataclass
class _Walk:
    """One record, read byte by byte."""

    data: bytes
    at: int = 0
    mask: bytearray = field(init=False)
    texts: bytearray = field(init=False)

    def __post_init__(self) -> None:
        self.mask = bytearray(len(self.data))
        self.texts = bytearray(len(self.data))

    def field(self, kind: Any) -> Place | None:
        match kind:
            case ["null", inner]:
                branch = self._size()
                if branch > 1:
                    raise Irregular("a union has another branch")
                return self.field(inner) if branch else None
            case "long" | "int":
                return Place((self._number(),))
            case "boolean":
                return Place((self._take(1),))
            case "string":
                return Place((self._text(),))
            case {"type": "map"}:
                return self._items(keyed=True)
        return self._items(keyed=False)

    def _items(self, *, keyed: bool) -> Place:
        keys, spans = [], []
        count = self._size()
        for _ in range(count):
            if keyed:
                begin, end = self._text()
                self._fix((begin, end))
                keys.append(self.data[begin:end])
            spans.append(self._text())
        if count and self._size():
            raise Irregular("a map or list of several blocks")
        if len(set(keys)) < len(keys):
            raise Irregular("a map has a key twice")
        return Place(tuple(spans), tuple(keys))

    def _take(self, count: int) -> Span:
        span = (self.at, self.at + count)
        if span[1] > len(self.data):
            raise Irregular("it is cut off")
        self.at = span[1]
        return span

    def _fix(self, span: Span, bits: int = _ALL) -> None:
        begin, end = span
        self.mask[begin:end] = bytes([bits]) * (end - begin)

    def _size(self) -> int:
        """A number that says where other things lie."""
        begin = self.at
        size, self.at = read_long("it", self.data, begin)
        self._fix((begin, self.at))
        if not 0 <= size <= len(self.data):
            raise Irregular("a length is negative or too large")
        return size

    def _number(self) -> Span:
        """A number that is a value: only whether its bytes go on is fixed, and that its tenth has but one bit."""
        begin = self.at
        _, self.at = read_long("it", self.data, begin)
        self._fix((begin, self.at), _GOES_ON)
        if self.at - begin == _WIDEST_NUMBER:
            self.mask[self.at - 1] = _ALL - 1
        return begin, self.at

    def _text(self) -> Span:
        begin, end = self._take(self._size())
        self.texts[begin:end] = bytes([_ALL]) * (end - begin)
        return begin, end
