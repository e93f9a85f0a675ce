"""`Options`: what a caller set, checked once.

Spark lower-cases keys and turns values into text, Python callers leave the prefix out and pass numbers. All of that is
settled here, and everything that is wrong is said at once, so that nobody fixes a configuration one error at a time.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from indextables.core.errors import OptionError
from indextables.core.options.keys import FAMILIES, OPTIONS
from indextables.core.options.kinds import to_text
from indextables.core.options.option import PREFIX, Family, Option

T = TypeVar("T")


class Options:
    """Immutable, picklable, equal when the same things are set.

    Keys are taken in any letter case, with or without the prefix. A value of None means "not set".
    """

    __slots__ = ("_members", "_values")

    def __init__(self, mapping: Mapping[str, Any] | None = None) -> None:
        self._values: dict[str, Any] = {}
        self._members: dict[str, str] = {}
        problems = [problem for key, value in (mapping or {}).items() for problem in self._take(key, value)]
        if problems:
            raise OptionError("; ".join(problems), problems=problems)

    def __getitem__(self, option: Option[T]) -> T:
        return self._values.get(option.key, option.default)  # type: ignore[no-any-return]

    def is_set(self, option: Option[Any]) -> bool:
        """Whether the caller set it, be it to its default."""
        return option.key in self._values

    def explicit(self) -> dict[str, str]:
        """What the caller set: full keys in their canonical spelling, values as text. Secrets included."""
        values = {key: OPTIONS[key.lower()].show(value) for key, value in self._values.items()}
        return dict(sorted((values | self._members).items()))

    def merged(self, other: Mapping[str, Any] | Options | None) -> Options:
        """New options: `self` with the settings of `other` over them. A value of None takes a setting back."""
        if isinstance(other, Options):
            other = other.explicit()
        over = dict(other or {})
        named = {key if (entry := resolve(key)) is None else _canonical(entry, key).lower() for key in over}
        return Options({key: text for key, text in self.explicit().items() if key.lower() not in named} | over)

    def family(self, name: str) -> dict[str, str]:
        """The members of a family that are set, by the part of the key that the user chose: `family("indexing.typemap")`."""
        return members(self._members, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Options) and self.explicit() == other.explicit()

    def __hash__(self) -> int:
        return hash(tuple(self.explicit().items()))

    def __repr__(self) -> str:
        shown = {key.removeprefix(PREFIX): text for key, text in self.explicit().items()}
        shown |= {option.short: "***" for option in OPTIONS.values() if option.secret and self.is_set(option)}
        return f"Options({shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Options, (self.explicit(),)

    def _take(self, key: Any, value: Any) -> Iterator[str]:
        entry = resolve(key) if isinstance(key, str) else None
        if entry is None:
            yield _unknown(key)
        elif value is None:
            return
        elif isinstance(entry, Family):
            yield from self._take_member(entry, _canonical(entry, key), value)
        else:
            yield from self._take_value(entry, value)

    def _take_value(self, option: Option[Any], value: Any) -> Iterator[str]:
        try:
            parsed = option.parse(value)
        except OptionError as error:
            yield error.message
            return
        if self._values.setdefault(option.key, parsed) != parsed:
            yield f"{option.key} is set twice, to different values"

    def _take_member(self, family: Family, key: str, value: Any) -> Iterator[str]:
        try:
            text = to_text(value)
        except ValueError:
            yield f"{key} is {value!r}, expected {family.form}"
            return
        problem = family.check(key[len(family.key) + 1 :], text)
        if problem is not None:
            yield f"{key} is {text!r}, {problem}"
            return
        for other in self._members:
            if other.lower() == key.lower() and self._members[other] != text:
                yield f"{key} is set twice, to different values"
                return
        self._members[key] = text


def resolve(key: str) -> Option[Any] | Family | None:
    """The option or family that a key, in any letter case and with or without the prefix, belongs to."""
    full = _full(key)
    if full in OPTIONS:
        return OPTIONS[full]
    return next(
        (family for name, family in FAMILIES.items() if full.startswith(name + ".") and full != name + "."), None
    )


def members(mapping: Mapping[str, str], name: str) -> dict[str, str]:
    """The members of a family among the keys of `mapping`, by the part of the key that the user chose."""
    family = FAMILIES[_full(name)]
    return {
        _canonical(family, key)[len(family.key) + 1 :]: text for key, text in mapping.items() if resolve(key) is family
    }


def _full(key: str) -> str:
    key = key.strip().lower()
    return key if key.startswith(PREFIX) else PREFIX + key


def _canonical(entry: Option[Any] | Family, key: str) -> str:
    if isinstance(entry, Option):
        return entry.key
    key = key.strip()
    start = 0 if key.lower().startswith(PREFIX) else len(PREFIX)
    return entry.key + key[len(entry.key) - start :]


_ALMOST = 0.85
"""How alike a property and an option must be for the property to be taken as a misspelt option: 1 is equal."""


def check_property(key: str) -> None:
    """Raise OptionError for a property whose name is an option of sessions, or almost the name of an option.

    Names without our prefix are the user's own, and nothing reads them: a misspelt option among them would have no effect, and
    nobody would notice.
    """
    entry = resolve(key)
    if entry is not None and entry.scope != "table":
        raise OptionError(f"{entry.key} cannot be a property of a table: set it where the table is opened")
    if entry is None and not key.lower().startswith(PREFIX):
        short = {option.short.lower(): option.short for option in OPTIONS.values()}
        near = difflib.get_close_matches(key.strip().lower(), short, n=1, cutoff=_ALMOST)
        if near:
            raise OptionError(f"property {key!r} is almost an option, did you mean {PREFIX}{short[near[0]]}?")


def _unknown(key: Any) -> str:
    if not isinstance(key, str):
        return f"{key!r} is not an option, expected the name of one"
    short = {option.short.lower(): option.short for option in OPTIONS.values()}
    short |= {family.short.lower(): f"{family.short}.<{family.member}>" for family in FAMILIES.values()}
    near = difflib.get_close_matches(_full(key)[len(PREFIX) :].rstrip("."), short, n=1, cutoff=0.5)
    hint = f", did you mean {PREFIX}{short[near[0]]}?" if near else ", docs/reference/options.md lists all of them"
    return f"unknown option {key}{hint}"
