"""Texts as values: what a CSV cell, or a text in JSON, may be.

A guess must not change what is there. `007` is a text, because as a number it would be 7; so is a number with more digits than
its type keeps, and a time with nanoseconds. Where somebody says what a column is (`--schema`, or the table itself), texts are
read as that more freely: `007` is 7 then, and a time without a zone is UTC.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_kinds = pa.types
_DAY: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK: Final = _DAY + r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_ZONE: Final = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
_NUMBER: Final = r"-?((0|[1-9][0-9]*)(\.[0-9]+)?|\.[0-9]+)([eE][-+]?[0-9]{1,4})?"
_FEW_DIGITS: Final = r"-?[0-9.]{1,15}([eE][-+]?[0-9]{1,2})?"
_NO_NUMBER: Final = r"NaN|-?Infinity"


class Misfit(Exception):
    """A value that does not fit: which of the values given, where inside it, what it is, and what was expected."""

    def __init__(self, index: int, value: Any, expected: str, path: str = "") -> None:
        super().__init__(index, value, expected, path)
        self.index = index
        self.value = value
        self.expected = expected
        self.path = path


@dataclass(frozen=True)
class Form:
    """A type that texts can be guessed to be, and how they look then."""

    arrow: pa.DataType
    pattern: str
    rounds: bool = False
    """Whether the type rounds numbers that are too long for it: these do not fit."""

    def fits(self, texts: pa.Array) -> bool:
        """Whether all of them have this type, and are the same text again in it."""
        if not _all_match(texts, self.pattern):
            return False
        try:
            texts.cast(self.arrow)
        except pa.ArrowInvalid:
            return False
        return not self.rounds or _all_exact(texts)


def _all_match(texts: pa.Array, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(texts, f"^({pattern})$")).as_py() is not False


def _all_exact(texts: pa.Array) -> bool:
    """Whether doubles keep all digits: few of them they do, more only where the number was a double before."""
    long = texts.filter(pc.invert(pc.match_substring_regex(texts, f"^({_FEW_DIGITS}|{_NO_NUMBER})$")))
    return all(Decimal(repr(float(text))) == Decimal(text) for text in long.to_pylist())


FORMS: Final = (
    Form(pa.bool_(), "true|false|TRUE|FALSE|True|False"),
    Form(pa.int64(), "0|-?[1-9][0-9]{0,18}"),
    Form(pa.decimal128(38, 0), "0|-?[1-9][0-9]{0,37}"),
    Form(pa.float64(), f"{_NUMBER}|{_NO_NUMBER}", rounds=True),
    Form(pa.date32(), _DAY),
    Form(pa.timestamp("us", "UTC"), _CLOCK + _ZONE),
    Form(pa.timestamp("us"), _CLOCK),
)
"""From narrow to wide; a column is the first that all its values fit, or else text."""

TIMES: Final = FORMS[-3:]
"""Those that a text in JSON can be: numbers and booleans have their own form there."""


class TextGuess:
    """What the texts of a column can be, given all of them one batch after another."""

    def __init__(self, forms: tuple[Form, ...] = FORMS) -> None:
        self._forms = list(forms)
        self._values = 0
        self._prose = 0

    def add(self, texts: pa.Array) -> None:
        """Look at more of them."""
        texts = texts.drop_null()
        if not len(texts):
            return
        self._values += len(texts)
        self._forms = [form for form in self._forms if form.fits(texts)]
        if not self._forms:  # before that nothing had three words: no form has
            self._prose += pc.sum(pc.match_substring_regex(texts, r"\S\s+\S+\s+\S")).as_py() or 0

    @property
    def arrow(self) -> pa.DataType:
        """The type that all of them fit."""
        return self._forms[0].arrow if self._forms and self._values else pa.string()

    @property
    def prose(self) -> bool:
        """Whether people wrote it: one in five has three words or more."""
        return _kinds.is_string(self.arrow) and self._prose * 5 >= self._values > 0


def read_texts(texts: pa.Array, arrow: pa.DataType) -> pa.Array:
    """Texts as values of a type that somebody asked for. Raises Misfit."""
    if _kinds.is_string(arrow):
        return texts
    convert = _converter(arrow)
    try:
        return convert(texts)
    except (pa.ArrowInvalid, ValueError):
        index = _first_bad(texts, convert)
    raise Misfit(index, texts[index].as_py(), expected(arrow))


def _converter(arrow: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    if _kinds.is_binary(arrow):
        return lambda texts: pa.array([None if text is None else decoded(text) for text in texts.to_pylist()], arrow)
    if _kinds.is_timestamp(arrow) and arrow.tz is not None:
        return lambda texts: pc.if_else(
            pc.match_substring_regex(texts, f"^({_CLOCK})$"), pc.binary_join_element_wise(texts, "Z", ""), texts
        ).cast(arrow)
    if _kinds.is_floating(arrow):
        return lambda texts: _finite(texts, texts.cast(arrow))
    if _kinds.is_integer(arrow):
        return lambda texts: _decimal_digits(texts).cast(arrow)
    return lambda texts: texts.cast(arrow)


def _decimal_digits(texts: pa.Array) -> pa.Array:
    """Texts of whole numbers, if none is written as 0x1F, which Arrow would take."""
    if not _all_match(texts, "-?[0-9]+"):
        raise ValueError("not only digits")
    return texts


def _finite(texts: pa.Array, values: pa.Array) -> pa.Array:
    if not _all_match(texts.filter(pc.is_inf(values)), r"(?i)[-+]?inf(inity)?"):
        raise ValueError("a number that is too large")
    return values


def _first_bad(texts: pa.Array, convert: Callable[[pa.Array], pa.Array]) -> int:
    """By halves: the first that cannot be converted."""
    start, end = 0, len(texts)
    while end - start > 1:
        middle = (start + end) // 2
        try:
            convert(texts.slice(start, middle - start))
        except (pa.ArrowInvalid, ValueError):
            end = middle
        else:
            start = middle
    return start


def decoded(text: str) -> bytes:
    """Bytes, which texts hold as base64. Raises ValueError."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def expected(arrow: pa.DataType) -> str:
    """What a value of this type is, in words."""
    if _kinds.is_decimal(arrow):
        return f"a number with {arrow.precision - arrow.scale} digits before the point and {arrow.scale} after it"
    if _kinds.is_timestamp(arrow):
        return f"a time such as 2026-01-31T12:00:00{'Z' if arrow.tz else ''}, with at most 6 digits after the second"
    if _kinds.is_integer(arrow):
        return f"a whole number of {arrow.bit_width} bits"
    words = (
        (_kinds.is_boolean, "true or false"),
        (_kinds.is_floating, "a number"),
        (_kinds.is_date, "a date such as 2026-01-31"),
        (_kinds.is_binary, "base64"),
        (_kinds.is_list, "an array"),
        (_kinds.is_map, "an object"),
        (_kinds.is_struct, "an object"),
    )
    return next((text for test, text in words if test(arrow)), str(arrow))
