"""A JSON array of objects, cut into its elements without reading all of it into memory.

    bytes ──▶ brackets outside of strings are counted ──▶ the bytes of one element after the other, and their line

An element is decoded by whoever asks: here nothing is checked but that the array is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Final

_READ: Final = 1 << 20
"""Bytes that are read at once."""
_NEXT_MARK: Final = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+([{}\[\]])', re.DOTALL)
"""The next bracket outside of strings. What lies before it is skipped for good: nothing of it is looked at twice."""
_NO_BLANK: Final = re.compile(rb"[^ \t\r\n]")
_OPENING: Final = b"{["


class NoArray(Exception):
    """The bytes are no array of objects: the line where that shows, and what is wrong there."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(line, what)
        self.line = line
        self.what = what


def array_elements(stream: IO[bytes], at_once: int = _READ) -> Iterator[tuple[int, bytes]]:
    """The elements of the array in a stream, each with the number of the line it begins in. Raises NoArray.

    The stream stands at the array's opening bracket, or at blanks before it. `at_once` bytes are read at a time.
    """
    text = _Text(stream, at_once)
    if text.next_mark() != b"[":
        raise NoArray(text.line, "no array")
    text.skip()
    if text.next_mark() != b"]":
        while True:
            yield text.line, text.element()
            if text.next_mark() != b",":
                break
            text.skip()
            if text.next_mark() == b"]":
                raise NoArray(text.line, "an element is missing before ]")
        if text.next_mark() != b"]":
            what = "a comma is missing between elements" if text.next_mark() else "the array is not closed"
            raise NoArray(text.line, what)
    text.skip()
    if text.next_mark():
        raise NoArray(text.line, "something follows the end of the array")


class _Text:
    """Bytes of a stream from a place on, and the line that the place is in."""

    def __init__(self, stream: IO[bytes], at_once: int) -> None:
        self._stream = stream
        self._at_once = at_once
        self._data = b""
        self._place = 0
        self.line = 1

    def next_mark(self) -> bytes:
        """The next byte that is not blank, to which the place moves; nothing at the end of the stream."""
        while True:
            found = _NO_BLANK.search(self._data, self._place)
            if found is not None:
                self._move(found.start())
                return found[0]
            self._move(len(self._data))
            if not self._read_more():
                return b""

    def skip(self) -> None:
        """Move behind the mark."""
        self._move(self._place + 1)

    def element(self) -> bytes:
        """The element that begins here, behind which the place moves."""
        mark = self.next_mark()
        if mark not in (b"{", b"["):
            missing = f"an element is missing before {mark.decode()}" if mark == b"," else "an element is no object"
            raise NoArray(self.line, missing if mark else "the array is not closed")
        depth, looked = 0, 0
        while True:
            found = _NEXT_MARK.match(self._data, self._place + looked)
            if found is None:
                if not self._read_more():
                    raise NoArray(self.line, "an element is not closed")
                continue
            looked = found.end() - self._place
            depth += 1 if found[1] in _OPENING else -1
            if depth == 0:
                text = self._data[self._place : found.end()]
                self._move(found.end())
                return text

    def _move(self, place: int) -> None:
        self.line += self._data.count(b"\n", self._place, place)
        self._place = place

    def _read_more(self) -> bool:
        """Read as much again as is there from the place on, so that a long element is not copied once for each megabyte."""
        kept = self._data[self._place :]
        more = self._stream.read(max(self._at_once, len(kept)))
        self._data, self._place = kept + more, 0
        return bool(more)


__all__ = ["NoArray", "array_elements"]
