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
_OPENING: Final = b"{["


class NoArray(Exception):
    """The bytes are no array of objects: the line where that shows, and what is wrong there."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(line, what)
        self.line = line
        self.what = what


def array_elements(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The elements of the array in a stream, each with the number of the line it begins in. Raises NoArray.

    The stream stands at the array's opening bracket, or at blanks before it.
    """
    data = _more(stream, b"")
    opened = data.index(b"[") if b"[" in data else -1
    if opened < 0 or data[:opened].strip():
        raise NoArray(1, "no array")
    lines = 1 + data.count(b"\n", 0, opened)
    data = data[opened + 1 :]
    first = True
    while True:
        data, lines, mark = _separated(stream, data, lines, first=first)
        if mark == b"]":
            break
        end, data = _end_of_element(stream, data, lines)
        yield lines, data[:end]
        lines += data.count(b"\n", 0, end)
        data = data[end:]
        first = False
    if data.strip() or _rest(stream).strip():
        raise NoArray(lines, "something follows the end of the array")


def _separated(stream: IO[bytes], data: bytes, lines: int, *, first: bool) -> tuple[bytes, int, bytes]:
    """The data from the next element on, or after the end of the array, with the line and the mark that is next."""
    comma = first
    while True:
        stripped = data.lstrip()
        lines += data.count(b"\n", 0, len(data) - len(stripped))
        data = stripped
        if not data:
            data = _more(stream, b"")
            if not data:
                raise NoArray(lines, "the array is not closed")
        elif data[:1] == b"]" and (first or not comma):
            return data[1:], lines, b"]"
        elif comma:
            if data[:1] in (b",", b"]"):
                raise NoArray(lines, f"an element is missing before {data[:1].decode()}")
            return data, lines, data[:1]
        elif data[:1] == b",":
            data, comma = data[1:], True
        else:
            raise NoArray(lines, "a comma is missing between elements")


def _end_of_element(stream: IO[bytes], data: bytes, lines: int) -> tuple[int, bytes]:
    """Where the element at the beginning of the data ends, and the data, with more read where that was needed."""
    if data[:1] not in (b"{", b"["):
        raise NoArray(lines, "an element is no object")
    depth, place = 0, 0
    while True:
        found = _NEXT_MARK.match(data, place)
        if found is None:
            longer = _more(stream, data)
            if len(longer) == len(data):
                raise NoArray(lines, "an element is not closed")
            data = longer
            continue
        place = found.end()
        depth += 1 if found[1] in _OPENING else -1
        if depth == 0:
            return place, data


def _more(stream: IO[bytes], data: bytes) -> bytes:
    """The data with as much again behind it, so that a long element is not copied once for each megabyte of it."""
    return data + stream.read(max(_READ, len(data)))


def _rest(stream: IO[bytes]) -> bytes:
    """What follows the array, up to the first bytes that are not blank."""
    while data := stream.read(_READ):
        if data.strip():
            return data
    return b""


__all__ = ["NoArray", "array_elements"]
