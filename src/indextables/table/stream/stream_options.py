"""Options of a stream, checked once, and how much one step of it may take.

The names are those that Spark's users know from Delta: `startingVersion`, `maxFilesPerTrigger`, `ignoreDeletes` and so on.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from indextables.core.errors import OptionError
from indextables.core.options.kinds import BYTES
from indextables.table.arguments import at_least_one, milliseconds

DEFAULT_FILES: Final = 1_000
"""Files of one step unless somebody says how many: as for Delta, so that a first step over a large table is not all of it."""


@dataclass(frozen=True)
class Limits:
    """How much one step of a stream takes at most; None is no limit. A step takes one file at least, however large it is."""

    files: int | None = None
    bytes: int | None = None
    rows: int | None = None
    """Rows by the log. A file whose rows the log does not know counts as none."""


@dataclass(frozen=True)
class StreamOptions:
    """What somebody wants of a stream. A value pickles; `parse` makes one of texts."""

    starting_version: int | Literal["latest"] | None = None
    """The first version whose files are given, or "latest" for those that come from now on; None for a snapshot first."""
    starting_timestamp: int | None = None
    """Milliseconds since 1970: the first commit that is given is the first one that is not older."""
    max_files: int | None = DEFAULT_FILES
    max_bytes: int | None = None
    max_rows: int | None = None
    ignore_deletes: bool = False
    """Commits that only remove files pass, instead of ending the stream with an error."""
    ignore_changes: bool = False
    """Commits that remove files give those that they add: rows that only moved come again. Includes `ignore_deletes`."""
    skip_change_commits: bool = False
    """Commits that remove files give nothing at all."""
    fail_on_data_loss: bool = True
    """False: where versions are gone that were not given yet, the stream goes on with the oldest version that is there."""
    columns: tuple[str, ...] | None = None
    where: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        """Raise OptionError for options that contradict each other."""
        if self.starting_version is not None and self.starting_timestamp is not None:
            raise OptionError(
                "startingVersion and startingTimestamp both say where the stream begins: give one of them"
            )
        if self.skip_change_commits and self.ignore_changes:
            raise OptionError(
                "skipChangeCommits leaves out commits that ignoreChanges gives the new files of: give one of them"
            )

    @property
    def limits(self) -> Limits:
        """How much one step takes."""
        return Limits(self.max_files, self.max_bytes, self.max_rows)

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> StreamOptions:
        """The options of a mapping whose keys have any letter case and whose values are texts or values. Raises OptionError."""
        values: dict[str, Any] = {}
        for key, value in given.items():
            known = _KNOWN.get(key.lower())
            if known is None:
                raise OptionError(_unknown(key), key=key)
            name, field, read = known
            if value is not None:
                values[field] = read(name, value)
        return cls(**values)


def is_stream_option(key: str) -> bool:
    """Whether an option is one of streams, in any letter case."""
    return key.lower() in _KNOWN


def _unknown(key: str) -> str:
    near = difflib.get_close_matches(key.lower(), _KNOWN, 1)
    hint = f"did you mean {_KNOWN[near[0]][0]}?" if near else f"the options are {', '.join(STREAM_OPTIONS)}"
    return f"a stream has no option {key}: {hint}"


def _version(name: str, value: Any) -> int | Literal["latest"]:
    if isinstance(value, str) and value.strip().lower() == "latest":
        return "latest"
    number = _whole(name, value, "a version's number, 0 or more, or latest")
    if number < 0:
        raise OptionError(f"{name} is {value}, but must be a version's number, 0 or more, or latest", key=name)
    return number


def _timestamp(name: str, value: Any) -> int:
    try:
        return value if type(value) is int else milliseconds(value)
    except OptionError as error:
        raise OptionError(f"{name}: {error.message}", key=name) from error


def _count(name: str, value: Any) -> int:
    return at_least_one(name, _whole(name, value, "a whole number, 1 or more"))


def _size(name: str, value: Any) -> int:
    try:
        return at_least_one(name, BYTES.parse(str(value)))
    except ValueError as error:
        raise OptionError(f"{name} is {value!r}, but must be {BYTES.form}, 1 or more", key=name) from error


def _whole(name: str, value: Any, form: str) -> int:
    if isinstance(value, str) or type(value) is int:
        try:
            return int(value)
        except ValueError:
            pass
    raise OptionError(f"{name} is {value!r}, but must be {form}", key=name)


def _flag(name: str, value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise OptionError(f"{name} is {value!r}, but must be true or false", key=name)
    return text == "true"


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise OptionError(f"{name} is {value!r}, but must be text", key=name)
    return value


def _names(name: str, value: Any) -> tuple[str, ...]:
    """Names of columns: a list, or text with commas between them."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if not isinstance(value, Sequence) or not all(isinstance(each, str) for each in value):
        raise OptionError(f"{name} is {value!r}, but must be names of columns with commas between them", key=name)
    return tuple(value)


_ENTRIES: Final[tuple[tuple[str, str, Callable[[str, Any], Any]], ...]] = (
    ("startingVersion", "starting_version", _version),
    ("startingTimestamp", "starting_timestamp", _timestamp),
    ("maxFilesPerTrigger", "max_files", _count),
    ("maxBytesPerTrigger", "max_bytes", _size),
    ("maxRowsPerTrigger", "max_rows", _count),
    ("ignoreDeletes", "ignore_deletes", _flag),
    ("ignoreChanges", "ignore_changes", _flag),
    ("skipChangeCommits", "skip_change_commits", _flag),
    ("failOnDataLoss", "fail_on_data_loss", _flag),
    ("columns", "columns", _names),
    ("where", "where", _text),
    ("query", "query", _text),
)
STREAM_OPTIONS: Final = tuple(name for name, _, _ in _ENTRIES)
"""The names of all options of a stream, as they are documented."""
_KNOWN: Final = {entry[0].lower(): entry for entry in _ENTRIES}
