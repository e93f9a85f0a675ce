"""What a JSON field is, from all its values."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from indextables.cli.load.texts import TIMES, TextGuess

_EXACT: Final = 1 << 53
"""Whole numbers up to this size are exact as doubles."""
WORDS: Final = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "an array",
    dict: "an object",
}


class Mixed(Exception):
    """A field that is one thing here and another there."""

    def __init__(self, path: str, first: tuple[str, int], second: tuple[str, int]) -> None:
        super().__init__(path, first, second)
        self.path = path
        self.first = first
        self.second = second


class JsonGuess:
    """What a field can be, given all its values one batch after another."""

    def __init__(self, path: str = "") -> None:
        self._path = path
        self._seen: dict[type, int] = {}
        self._low = self._high = 0
        self._texts = TextGuess(TIMES)
        self._items: JsonGuess | None = None
        self.fields: dict[str, JsonGuess] = {}

    def add(self, values: Sequence[Any], lines: Sequence[int]) -> None:
        """Look at more of them; `lines` says where each of them stands."""
        if Decimal in set(map(type, values)):  # a fraction, read with all its digits because another column needs them
            values = [float(value) if type(value) is Decimal else value for value in values]
        found = set(map(type, values)) - {type(None)}
        for kind in found:
            if len(found) == 1 and None not in values:
                some, places = values, lines
            else:
                chosen = [n for n, value in enumerate(values) if type(value) is kind]
                some, places = [values[n] for n in chosen], [lines[n] for n in chosen]
            self._seen.setdefault(kind, places[0])
            self._look(kind, some, places)

    def _look(self, kind: type, values: Sequence[Any], lines: Sequence[int]) -> None:
        if kind is int:
            low, high = min(values), max(values)
            self._low, self._high = min(self._low, low), max(self._high, high)
        elif kind is str:
            self._texts.add(pa.array(values, pa.string()))
        elif kind is list:
            self._items = self._items or JsonGuess(f"{self._path}.element")
            pairs = [(item, line) for value, line in zip(values, lines, strict=True) for item in value]
            self._items.add([item for item, _ in pairs], [line for _, line in pairs])
        elif kind is dict:
            for name in dict.fromkeys(key for value in values for key in value):
                if name not in self.fields:
                    self.fields[name] = JsonGuess(f"{self._path}.{name}" if self._path else name)
                self.fields[name].add([value.get(name) for value in values], lines)

    @property
    def arrow(self) -> pa.DataType:
        """The type that holds all of them. Raises Mixed."""
        kinds = sorted(self._seen, key=self._seen.__getitem__)
        together = self._low >= -_EXACT and self._high <= _EXACT
        if set(kinds) == {int, float} and together:
            return pa.float64()
        if len(kinds) > 1:
            first = kinds[0]
            # whole numbers and fractions that are one column are not what does not fit
            second = next(kind for kind in kinds[1:] if not (together and {first, kind} == {int, float}))
            words = (WORDS[first], WORDS[second])
            if words[0] == words[1]:
                words = ("a whole number", "a fraction") if first is int else ("a fraction", "a whole number")
            raise Mixed(self._path, (words[0], self._seen[first]), (words[1], self._seen[second]))
        return self._single(kinds[0]) if kinds else pa.string()

    def _single(self, kind: type) -> pa.DataType:
        if kind is bool:
            return pa.bool_()
        if kind is int:
            if self._low >= -(1 << 63) and self._high < 1 << 63:
                return pa.int64()
            return pa.decimal128(38, 0) if max(-self._low, self._high) < 10**38 else pa.string()
        if kind is float:
            return pa.float64()
        if kind is list:
            assert self._items is not None
            return pa.list_(pa.field("element", self._items.arrow))
        if kind is dict and self.fields:
            return pa.struct([pa.field(name, guess.arrow) for name, guess in self.fields.items()])
        return self._texts.arrow if kind is str else pa.string()

    @property
    def prose(self) -> bool:
        """Whether the field is text that people wrote: three words or more, to be indexed word by word."""
        return set(self._seen) == {str} and self._texts.prose
