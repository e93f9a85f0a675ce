"""The hash under which a doc mapping is kept once for all the files that share it.

The name of a schema is a hash of its canonical text: keys sorted, arrays of named objects sorted by name, no spaces. Other
implementations compute the same names, and their JSON parser is Jackson, so "canonical" means what Jackson reads and
writes: which texts it refuses (those are hashed as they are), how it prints numbers, that it sorts by UTF-16 units.

The text is read in one pass without recursion. A container is turned into its canonical text when it closes, so nothing
but texts is ever kept, and deep nesting costs no stack.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from base64 import urlsafe_b64encode
from functools import lru_cache
from typing import NamedTuple

from indextables.core.java_text import java_double, java_quote, join_surrogates

_HASH_LENGTH = 16
"""Characters of a hash, as the Java side of the format has it."""
_MAX_DEPTH = 1_000
"""Lists and objects inside each other: Jackson's limit. A deeper text is refused like any other that is not JSON."""
_MAX_DIGITS = 1_000
"""Digits of one number: Jackson's limit. A longer number is refused like any other text that is not JSON."""


@lru_cache(maxsize=512)
def schema_hash(text: str) -> str:
    """The 16 characters that stand for a schema. Texts that mean the same schema have the same hash."""
    digest = hashlib.sha256(canonical_json(text).encode("utf-8", "replace")).digest()
    return urlsafe_b64encode(digest).decode("ascii")[:_HASH_LENGTH]


def canonical_json(text: str) -> str:
    """The text that is hashed. What is not JSON comes back as it is, nothing at all is `null`."""
    text = join_surrogates(text)
    try:
        return _read(text)
    except _NotJson:
        return text


class _NotJson(ValueError):
    """Jackson would refuse the text. Never leaves this module."""


class _Value(NamedTuple):
    """A value that was read: its canonical text, its text as a sort key, and that of its `name` where it has one."""

    canonical: str
    plain: str = ""
    name: str | None = None


class _Array:
    """An array that is still open."""

    end = "]"

    def __init__(self) -> None:
        self._items: list[_Value] = []

    def next_key(self, _text: str, position: int) -> int:
        return position

    def take(self, value: _Value) -> None:
        self._items.append(value)

    def close(self) -> _Value:
        items = self._items
        if all(item.name is not None for item in items):
            items = sorted(items, key=lambda item: _utf16(item.name or ""))
        return _Value("[" + ",".join([item.canonical for item in items]) + "]")


class _Object:
    """An object that is still open. Of two equal keys the later wins."""

    end = "}"

    def __init__(self) -> None:
        self._members: dict[str, _Value] = {}
        self._key = ""

    def next_key(self, text: str, position: int) -> int:
        self._key, position = _string(text, position)
        position = _skip_space(text, position)
        if text[position : position + 1] != ":":
            raise _NotJson
        return _skip_space(text, position + 1)

    def take(self, value: _Value) -> None:
        self._members[self._key] = value

    def close(self) -> _Value:
        keys = sorted(self._members, key=_utf16)
        name = self._members.get("name")
        canonical = "{" + ",".join([f"{java_quote(key)}:{self._members[key].canonical}" for key in keys]) + "}"
        return _Value(canonical, name=name.plain if name is not None else None)


def _read(text: str) -> str:
    """The canonical text of the first value; what follows it does not matter."""
    position = _skip_space(text, 0)
    if position == len(text):
        return "null"
    still_open: list[_Array | _Object] = []
    while True:
        value: _Value | None = None
        if text[position : position + 1] in ("[", "{"):
            container = _Array() if text[position] == "[" else _Object()
            still_open.append(container)
            if len(still_open) > _MAX_DEPTH:
                raise _NotJson
            position = _skip_space(text, position + 1)
            if text[position : position + 1] != container.end:
                position = container.next_key(text, position)
                continue
        else:
            value, position = _scalar(text, position, is_root=not still_open)
        position, result = _close(text, position, value, still_open)
        if result is not None:
            return result.canonical


def _close(
    text: str, position: int, value: _Value | None, still_open: list[_Array | _Object]
) -> tuple[int, _Value | None]:
    """Hand a value to its container, and close all containers that end here. Returns the root once it is complete.

    Without a value, `position` is at the end of an empty container.
    """
    while still_open:
        container = still_open[-1]
        if value is not None:
            container.take(value)
            position = _skip_space(text, position)
        following = text[position : position + 1]
        if following == ",":
            return container.next_key(text, _skip_space(text, position + 1)), None
        if following != container.end:
            raise _NotJson
        position += 1
        value = still_open.pop().close()
    return position, value


def _scalar(text: str, position: int, *, is_root: bool) -> tuple[_Value, int]:
    if text[position : position + 1] == '"':
        string, end = _string(text, position)
        return _Value(java_quote(string), string), end
    match = _WORD.match(text, position)
    if match is not None:
        if is_root and _continues_word(text[match.end() : match.end() + 1]):
            raise _NotJson
        return _Value(match[0], match[0]), match.end()
    match = _NUMBER.match(text, position)
    if match is None:
        raise _NotJson
    if is_root and text[match.end() : match.end() + 1] not in ("", *_SPACE):
        raise _NotJson
    return _number(match[0], whole=match[1] is None and match[2] is None), match.end()


def _number(text: str, *, whole: bool) -> _Value:
    if len(text) > _MAX_DIGITS and len(_NO_DIGIT.sub("", text)) > _MAX_DIGITS:
        raise _NotJson
    if whole:
        shown = "0" if text == "-0" else text
        return _Value(shown, shown)
    number = float(text)
    shown = java_double(number)
    return _Value(f'"{shown}"' if math.isinf(number) else shown, shown)


def _string(text: str, position: int) -> tuple[str, int]:
    match = _STRING.match(text, position)
    if match is None:
        raise _NotJson
    content = match[1]
    if "\\" in content:
        content = join_surrogates(json.loads(match[0]))
    return content, match.end()


def _skip_space(text: str, position: int) -> int:
    while text[position : position + 1] in _SPACE:
        position += 1
    return position


def _continues_word(following: str) -> bool:
    """Whether Java would take the next character as part of the word before it: `truely` is no `true`."""
    if not "0" <= following <= "\uffff":
        return False
    return unicodedata.category(following) in _IDENTIFIER_CATEGORIES or "\x7f" <= following <= "\x9f"


def _utf16(string: str) -> bytes:
    """A key that sorts as Java compares strings, by UTF-16 units."""
    return string.encode("utf-16-be", "surrogatepass")


_SPACE = (" ", "\t", "\n", "\r")
_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*+)"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_NO_DIGIT = re.compile(r"[^0-9]")
_WORD = re.compile(r"true|false|null")
_IDENTIFIER_CATEGORIES = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "Mc", "Mn", "Sc", "Pc", "Cf"})
