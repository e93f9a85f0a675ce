"""How the text of an option becomes a value, and how a value becomes its canonical text.

Spark hands every value over as text, Python callers pass numbers, booleans, lists and timedeltas. Both go through one door:
a native value is written as text first, then parsed, so that there is a single set of rules.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from numbers import Integral
from pathlib import PurePath
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Kind(Generic[T]):
    """A type of option value. `parse` raises ValueError; `form` completes the sentence "expected …"."""

    name: str
    form: str
    parse: Callable[[str], T] = field(compare=False)
    show: Callable[[T], str] = field(compare=False)


def to_text(value: Any) -> str:
    """A native value as the text that a Spark user would have written. Raises ValueError for anything else."""
    match value:
        case str():
            return value.strip()
        case bool():
            return "true" if value else "false"
        case float() | PurePath():
            return str(value)
        case Integral():  # also those of numpy and pandas
            return str(int(value))
        case timedelta():
            return f"{value // timedelta(milliseconds=1)}ms"
        case list() | tuple() | set() | frozenset() if all(isinstance(item, str) for item in value):
            return join_list(sorted(value) if isinstance(value, set | frozenset) else value)
        case _:
            raise ValueError(type(value).__name__)


def split_list(text: str) -> tuple[str, ...]:
    """The names in a comma list. A name with a comma in it stands in backquotes; a backquote inside those is doubled."""
    names = []
    rest = text.strip().rstrip(",").strip()
    while rest:
        match = _LIST_ITEM.match(rest)
        if match is None:
            raise ValueError(text)
        quoted, plain = match.groups()
        name = quoted.replace("``", "`") if quoted is not None else plain.strip()
        if not name:
            raise ValueError(text)
        names.append(name)
        rest = rest[match.end() :]
    return tuple(names)


def join_list(names: Iterable[str]) -> str:
    """The comma list that `split_list` takes apart again."""
    return ",".join(
        "`" + name.replace("`", "``") + "`" if not name or name != name.strip() or set(name) & {",", "`"} else name
        for name in names
    )


_LIST_ITEM = re.compile(r"\s*(?:`((?:[^`]|``)+)`\s*|([^`,]+))(?:,|\Z)")


def _boolean(text: str) -> bool:
    try:
        return _BOOLEANS[text.lower()]
    except KeyError:
        raise ValueError(text) from None


def _whole(text: str) -> int:
    if text.upper() == "MAX_INT":
        return 2**31 - 1
    if not _WHOLE.fullmatch(text):
        raise ValueError(text)
    return int(text)


def _whole_or_auto(text: str) -> int:
    return 0 if text.lower() == "auto" else _whole(text)


def _show_whole_or_auto(value: int) -> str:
    return str(value) if value else "auto"


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _text(text: str) -> str:
    if not text:
        raise ValueError(text)
    return text


def _show_number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)


def _measure(text: str, units: dict[str, int], bare: int) -> float:
    match = _MEASURE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    number, unit = match.groups()
    factor = units.get(unit.lower()) if unit else bare
    if factor is None:
        raise ValueError(text)
    return int(number) * factor if number.lstrip("+-").isdigit() else float(number) * factor


def _milliseconds(text: str) -> int:
    return round(_measure(text, _TIMES, 1))


def _seconds(text: str) -> float:
    return _measure(text, _TIMES, 1_000) / 1_000


def _hours(text: str) -> float:
    return _measure(text, _TIMES, 3_600_000) / 3_600_000


def _bytes(text: str) -> int:
    value = _measure(text, _SIZES, 1)
    if value != int(value):
        raise ValueError(text)
    return int(value)


_BOOLEANS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False, "on": True, "off": False}
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MEASURE = re.compile(r"([+-]?[0-9]{1,19}(?:\.[0-9]{1,19})?)\s*([A-Za-z]*)")
_TIMES = {
    name: factor
    for names, factor in (
        ("ms millisecond milliseconds millis", 1),
        ("s sec secs second seconds", 1_000),
        ("m min mins minute minutes", 60_000),
        ("h hour hours", 3_600_000),
        ("d day days", 86_400_000),
        ("w week weeks", 604_800_000),
    )
    for name in names.split()
}
_SIZES = {"b": 1} | {
    name: 1024**power for power, letter in enumerate("kmgtp", start=1) for name in (letter, f"{letter}b", f"{letter}ib")
}

BOOLEAN: Kind[bool] = Kind("boolean", "true or false", _boolean, to_text)
WHOLE: Kind[int] = Kind("whole number", "a whole number", _whole, str)
WHOLE_OR_AUTO: Kind[int] = Kind("whole number", "a whole number, or auto", _whole_or_auto, _show_whole_or_auto)
NUMBER: Kind[float] = Kind("number", "a number", _number, _show_number)
TEXT: Kind[str] = Kind("text", "a text that is not empty", _text, str)
LIST: Kind[tuple[str, ...]] = Kind("list", "names with commas between them", split_list, join_list)
BYTES: Kind[int] = Kind("size", 'a number of bytes, or a size such as "512MB" or "1G"', _bytes, str)
MILLISECONDS: Kind[int] = Kind(
    "duration", 'a number of milliseconds, or a duration such as "500ms", "90m" or "30 days"', _milliseconds, str
)
SECONDS: Kind[float] = Kind(
    "duration", 'a number of seconds, or a duration such as "500ms", "90s" or "5 minutes"', _seconds, _show_number
)
HOURS: Kind[float] = Kind(
    "duration", 'a number of hours, or a duration such as "90m", "12h" or "30 days"', _hours, _show_number
)


def choice(*names: str) -> Kind[str]:
    """A kind whose values are the words `names`, read in any letter case."""
    form = f"{', '.join(names[:-1])} or {names[-1]}"
    return Kind("choice", form, partial(_choose, names=names), str)


def _choose(text: str, names: tuple[str, ...]) -> str:
    if text.lower() not in names:
        raise ValueError(text)
    return text.lower()
