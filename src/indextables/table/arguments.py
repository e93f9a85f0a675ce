"""What callers may give: whole numbers, and moments."""

from __future__ import annotations

import operator
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, TypeAlias

from indextables.core.errors import OptionError

Moment: TypeAlias = datetime | date | str
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def whole_number(name: str, value: Any) -> int:
    """A number that stands for one: an int of Python or numpy, no text, no bool, no 3.0."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise OptionError(f"{name} is {value!r}, but must be a whole number")


def milliseconds(moment: Moment) -> int:
    """A time as milliseconds since 1970; without a time zone it is UTC. A date is its midnight."""
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
