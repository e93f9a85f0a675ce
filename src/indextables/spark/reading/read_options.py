"""What `.option(…)` may say when a table is read.

Spark lower-cases the names and makes texts of the values. Everything under `spark.indextables.` goes to the table as it is, and
so does every name that `docs/reference/options.md` lists; the names here are the reader's own.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from indextables.core import options as opt
from indextables.core.errors import OptionError
from indextables.core.options import PREFIX, Options, split_list
from indextables.core.options.bag import resolve
from indextables.core.options.keys import OPTIONS
from indextables.core.predicate.coerce import parse_time
from indextables.core.values import micros

READ_OPTIONS: Final = (
    "path",
    "versionAsOf",
    "timestampAsOf",
    "query",
    "where",
    "columns",
    "limit",
    "score",
)
PART_OPTIONS: Final = ("versionAsOf", "timestampAsOf", "query", "where", "limit")
"""The options that leave rows of a table out, or name a version. What is read with one of them is not the table."""
_BOOLEANS: Final = {"true": True, "false": False}


@dataclass(frozen=True)
class ReadOptions:
    """A question to a table, in texts that were checked for their form."""

    url: str
    version: int | None = None
    timestamp_ms: int | None = None
    query: str | None = None
    where: str | None = None
    columns: tuple[str, ...] | None = None
    limit: int | None = None
    score: bool = False
    options: Options = Options()  # noqa: RUF009 - immutable

    @property
    def of_a_part(self) -> tuple[str, ...]:
        """Those of `PART_OPTIONS` that are given. Empty for a read of a whole table."""
        given = (self.version, self.timestamp_ms, self.query, self.where, self.limit)
        return tuple(name for name, value in zip(PART_OPTIONS, given, strict=True) if value is not None)


def read_options(given: Mapping[str, str]) -> ReadOptions:
    """The options of a read. Raises OptionError, which names the option, its value and what was expected."""
    texts = {key.lower(): value for key, value in given.items()}
    own = {name: texts.pop(name.lower()) for name in READ_OPTIONS if name.lower() in texts}
    if "paths" in texts:
        raise OptionError("a table is one place: load one path, and put tables together with union")
    if not own.get("path"):
        raise OptionError(
            'no path is given: say where the table is, with load("s3://bucket/table") or option("path", …); tables have names '
            "only in sessions with the connector, and indextables.spark.status(spark) says why a session has none"
        )
    check_known(texts, READ_OPTIONS, "a read")
    if "versionAsOf" in own and "timestampAsOf" in own:
        raise OptionError("versionAsOf and timestampAsOf both say which version is meant: keep one of them")
    return ReadOptions(
        own["path"],
        version=_whole("versionAsOf", own),
        timestamp_ms=_moment(own.get("timestampAsOf")),
        query=own.get("query"),
        where=own.get("where"),
        columns=_columns(own.get("columns")),
        limit=_whole("limit", own),
        score=_flag("score", own),
        options=Options(texts),
    )


def stays_at_version(options: Options) -> Options:
    """The options, of a read that pins its version. Raises OptionError where they ask for a read that moves on with its table."""
    if options[opt.READ_FOLLOWING_ENABLED]:
        raise OptionError(
            f"{opt.READ_FOLLOWING_ENABLED.key} is true, and only DataFrames of the connector move on with their table "
            "(indextables.spark.status(spark) says what serves a session): leave the option out and load again to see newer rows",
            key=opt.READ_FOLLOWING_ENABLED.key,
        )
    return options


def check_known(texts: Mapping[str, Any], names: Sequence[str], what: str) -> None:
    """Names without our prefix that nobody knows: our own are more likely meant than the table's."""
    for key in texts:
        if key.startswith(PREFIX) or resolve(key) is not None:
            continue
        own = {name.lower(): name for name in names}
        near = difflib.get_close_matches(key, own, n=1, cutoff=0.6)
        if near:
            raise OptionError(f"unknown option {key}, did you mean {own[near[0]]}?", option=key)
        if difflib.get_close_matches(key, OPTIONS, n=1):
            continue  # the table's options say which of them is meant
        listed = ", ".join(name for name in names if name != "path")
        raise OptionError(f"unknown option {key}, {what} has {listed} and {PREFIX}*", option=key)


def _whole(name: str, own: Mapping[str, str]) -> int | None:
    text = own.get(name)
    if text is None:
        return None
    if not text.strip().isdecimal():
        raise OptionError(f"{name} is {text!r}, expected a whole number, 0 or more", option=name)
    return int(text)


def _flag(name: str, own: Mapping[str, str]) -> bool:
    text = own.get(name, "false").strip().lower()
    if text not in _BOOLEANS:
        raise OptionError(f"{name} is {own[name]!r}, expected true or false", option=name)
    return _BOOLEANS[text]


def _moment(text: str | None) -> int | None:
    if text is None:
        return None
    moment = parse_time(text, zoned=True)
    if moment is None:
        raise OptionError(
            f"timestampAsOf is {text!r}, expected a time such as 2026-03-01 12:00:00 (UTC, unless it names a zone)"
        )
    return micros(moment) // 1000


def _columns(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    try:
        names = split_list(text)
    except ValueError:
        raise OptionError(f"columns is {text!r}, expected names with commas between them", option="columns") from None
    return some_columns(names)


def some_columns(names: Sequence[str]) -> tuple[str, ...]:
    """At least one: batches without columns reach Spark without rows. Raises OptionError."""
    if not names:
        raise OptionError(
            "columns names no column: name one at least, or use indextables.spark.count", option="columns"
        )
    return tuple(names)
