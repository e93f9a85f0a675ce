"""Arguments of callers, checked: whole numbers, numbers of rows, moments, durations, and `where` as SQL text."""

from __future__ import annotations

import operator
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, TypeAlias

import pyarrow as pa

from indextables.core.errors import OptionError, PredicateError
from indextables.core.options.kinds import HOURS, to_text
from indextables.core.predicate import Predicate, parse_predicate

Moment: TypeAlias = datetime | date | str
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def whole_number(name: str, value: Any) -> int:
    """Return `value` as int. Accepts integers of Python and numpy; raises OptionError for bool, float and str."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise OptionError(f"{name} is {value!r}, but must be a whole number")


def version_before(name: str, value: Any) -> int:
    """Return `value` as the version after which somebody asks: 0 or more, or -1 for all versions. Raises OptionError."""
    number = whole_number(name, value)
    if number < -1:
        raise OptionError(f"{name} is {number}, but must be a version, 0 or more, or -1 for all rows")
    return number


def version_number(name: str, value: Any) -> int:
    """Return `value` as a version, 0 or more. Raises OptionError."""
    number = whole_number(name, value)
    if number < 0:
        raise OptionError(f"{name} is {number}, but must be a version, 0 or more")
    return number


def milliseconds(moment: Moment) -> int:
    """Return a time as milliseconds since 1970. A time without a zone is UTC; a date is its midnight. Raises OptionError."""
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError as error:
            raise OptionError(f"timestamp {moment!r} is not ISO 8601, such as '2026-03-01T12:00:00Z'") from error
    if isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    if not isinstance(moment, datetime):
        raise OptionError(f"a timestamp is a datetime or ISO 8601 text, not {type(moment).__name__}")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def hours(name: str, value: Any) -> float:
    """Return a duration as hours: a number of hours, a timedelta, or text such as "7 days". Raises OptionError."""
    try:
        found: float = HOURS.parse(to_text(value))
    except ValueError:
        found = -1.0
    if found < 0:
        raise OptionError(f"{name} is {value!r}, expected {HOURS.form}, 0 or more")
    return found


def row_limit(name: str, value: Any) -> int:
    """Return `value` as a number of rows, 0 or more. Raises OptionError."""
    number = value if type(value) is int else whole_number(name, value)
    if number < 0:
        raise OptionError(f"{name} is {value}, but must be 0 or more")
    return number


def at_least_one(name: str, value: Any) -> int:
    """Return `value` as a whole number, 1 or more. Raises OptionError."""
    number = whole_number(name, value)
    if number < 1:
        raise OptionError(f"{name} is {value}, but must be 1 or more")
    return number


def parse_where(where: Any, schema: pa.Schema, example: str = "level = 'ERROR'", hint: str = "") -> Predicate:
    """The predicate that SQL text means for this schema. `example` and `hint` are part of the error for anything but text.

    The predicate may have searches, which only a table's indexes can answer.

    Raises PredicateError.
    """
    if not isinstance(where, str):
        raise PredicateError(f'where is SQL text, such as "{example}", not {type(where).__name__}{hint}')
    return parse_predicate(where, schema)
