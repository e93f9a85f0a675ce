"""Numbers and times inside JSON: how a text is read as one, and which Tantivy terms stand for it.

    text ──number_of──▶ int | float ──number_terms──▶ JsonTerms(terms, exact)
    text ──moment_of──▶ datetime    ──moment_terms──▶ JsonTerms(terms, exact)

Documents and queries read numbers by one rule. A whole number from -2^63 to 2^64-1 is itself. Every other number is the double
nearest to it. Two numbers are equal if they have the same mathematical value: 1, 1.0 and 1e0 are one number.

Tantivy keeps a double without a fraction as a whole number, and three of those collide:

    double 2^63     is kept as 2^63-1
    double 2^64     is kept as 2^64-1
    a time with a fraction of a second before 1970 is kept as the second after it

For these the terms find too many rows: `JsonTerms.exact` is False, and the rows themselves decide.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

JsonValue: TypeAlias = bool | int | float | dt.datetime
"""What a JSON document holds besides words. A `datetime` is a text that reads as an RFC 3339 time: in UTC, in whole seconds."""

SMALLEST_WHOLE: Final = -(2**63)
"""The smallest whole number that Tantivy keeps as one (an i64)."""
LARGEST_WHOLE: Final = 2**64 - 1
"""The largest whole number that Tantivy keeps as one (a u64)."""
_LARGEST_SIGNED: Final = 2**63 - 1
"""The largest i64. Tantivy keeps the double 2^63 as this number."""
_LONGEST_WHOLE: Final = 400
"""Digits. Longer whole numbers are beyond every double (309 digits) and are not worked out; leading zeros aside."""
_FIRST_MOMENT: Final = dt.datetime(1677, 9, 21, 0, 12, 43, 145225, dt.UTC)
_LAST_MOMENT: Final = dt.datetime(2262, 4, 11, 23, 47, 16, 854775, dt.UTC)
"""The moments that Tantivy keeps as times, 64 bits of nanoseconds around 1970. The words of other times are indexed instead."""
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_SECOND: Final = dt.timedelta(seconds=1)

_NUMBER: Final = re.compile(r"-?\d+(?P<fraction>\.\d+)?(?P<exponent>[eE][+-]?\d+)?", re.ASCII)
_MOMENT: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[\x00-\x7f](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
"""RFC 3339 as Tantivy reads it: any one ASCII character stands between day and time."""


@dataclass(frozen=True)
class JsonTerms:
    """The terms that stand for one value. Every row with the value has one of the terms."""

    terms: tuple[JsonValue, ...]
    exact: bool = True
    """Whether every row with one of the terms has the value."""


def number_of(text: str) -> int | float | None:
    """The number that a text is, written as JSON writes numbers; leading zeros are allowed. None: the text is no number,
    or a number beyond the largest double.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    if match["fraction"] is None and match["exponent"] is None:
        digits = text.lstrip("-").lstrip("0")
        return normal_number(int(text)) if len(digits) <= _LONGEST_WHOLE else None
    return normal_number(float(text))


def normal_number(number: float) -> int | float | None:
    """The one form of a number: an int from -2^63 to 2^64-1 where it has one, else a finite float. None: it has neither."""
    if isinstance(number, int) and SMALLEST_WHOLE <= number <= LARGEST_WHOLE:
        return number
    try:
        double = float(number)
    except OverflowError:
        return None
    if double - double != 0:
        return None
    return int(double) if double.is_integer() and SMALLEST_WHOLE <= double <= LARGEST_WHOLE else double


def number_terms(number: float) -> JsonTerms:
    """The terms that stand for a number in its normal form."""
    if number in (_LARGEST_SIGNED, LARGEST_WHOLE):
        return JsonTerms((number,), exact=False)
    if number == _LARGEST_SIGNED + 1:
        return JsonTerms((number, _LARGEST_SIGNED), exact=False)
    if number == LARGEST_WHOLE + 1:
        return JsonTerms((LARGEST_WHOLE,), exact=False)
    return JsonTerms((number,))


def moment_of(text: str) -> dt.datetime | None:
    """The second of an RFC 3339 time, in UTC. None: the text is no such time, or Tantivy keeps its words."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.group(1, 2, 3, 4, 5, 6))
    fraction, sign, offset_hours, offset_minutes = match.group(7, 8, 9, 10)
    if int(offset_hours or 0) > 23 or int(offset_minutes or 0) > 59:
        return None
    offset = dt.timedelta(hours=int(offset_hours or 0), minutes=int(offset_minutes or 0))
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    try:
        local = dt.datetime(year, month, day, hour, minute, min(second, 59), micros, dt.UTC)
        moment = local + offset if sign == "-" else local - offset
    except (ValueError, OverflowError):
        return None
    if second > 59 and not (second == 60 and _may_be_leap_second(moment)):
        return None
    return moment.replace(microsecond=0) if _FIRST_MOMENT <= moment <= _LAST_MOMENT else None


def _may_be_leap_second(moment: dt.datetime) -> bool:
    """Whether a second 60 may follow: leap seconds end the last day of a month in UTC. Tantivy keeps them as second 59."""
    last_day = calendar.monthrange(moment.year, moment.month)[1]
    return (moment.day, moment.hour, moment.minute) == (last_day, 23, 59)


def moment_terms(moment: dt.datetime) -> JsonTerms:
    """The terms that stand for a second."""
    if moment > _EPOCH:
        return JsonTerms((moment,))
    return JsonTerms((moment, moment + _SECOND), exact=False)


def value_terms(value: JsonValue) -> JsonTerms:
    """The terms that stand for a value; a number is in its normal form."""
    if isinstance(value, bool):
        return JsonTerms((value,))
    return moment_terms(value) if isinstance(value, dt.datetime) else number_terms(value)


def values_of_text(text: str) -> tuple[JsonValue, ...]:
    """What a text in a query may be in JSON, besides words: a boolean, a number, a time, or nothing of these."""
    if text in ("true", "false"):
        return (text == "true",)
    number = number_of(text)
    if number is not None:
        return (number,)
    moment = moment_of(text)
    return () if moment is None else (moment,)


def value_of_document(value: Any) -> JsonValue | None:
    """The value of a leaf of a JSON document as the index has it. None: the leaf is null, or a text with words."""
    match value:
        case bool():
            return value
        case int() | float():
            return normal_number(value)
        case str():
            return moment_of(value)
        case _:
            return None


def same_value(one: JsonValue, other: JsonValue) -> bool:
    """Whether two values are equal and of one kind: a boolean is no number, a time is none either."""
    return _kind(one) is _kind(other) and one == other


def _kind(value: JsonValue) -> type:
    return bool if isinstance(value, bool) else dt.datetime if isinstance(value, dt.datetime) else float
