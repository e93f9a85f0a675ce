"""What holds where two keys mean one thing, and what a table remembers of the options it was created with.

The rule is the same everywhere: an explicit value beats a default; of two explicit values (or two defaults) the longer
retention and the larger parallelism hold, because keeping too much is the mistake that can be mended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from indextables.core.errors import OptionError
from indextables.core.options import keys
from indextables.core.options.bag import Options, members, resolve
from indextables.core.options.keys import TYPE_NAMES
from indextables.core.options.kinds import join_list, split_list
from indextables.core.options.option import PREFIX, Option

T = TypeVar("T")


def log_retention_ms(options: Options) -> int:
    """How long versions stay readable, in milliseconds."""
    return _larger(
        options, (keys.LOG_RETENTION_DURATION, round), (keys.PURGE_TX_LOG_RETENTION_HOURS, _hours_to_milliseconds)
    )


def state_retention_ms(options: Options) -> int:
    """How long superseded states are kept, in milliseconds."""
    return _larger(
        options, (keys.CHECKPOINT_RETENTION_DURATION, round), (keys.STATE_RETENTION_HOURS, _hours_to_milliseconds)
    )


def read_parallelism(options: Options) -> int:
    """How many log objects are read at the same time."""
    return _larger(options, (keys.CHECKPOINT_PARALLELISM, int), (keys.STATE_READ_PARALLELISM, int))


def parse_typemap(options: Options) -> dict[str, str]:
    """How each column named by `indexing.typemap.*` is indexed. Columns are spelled as the caller spelled them."""
    types: dict[str, str] = {}
    spelled: dict[str, str] = {}
    for member, text in options.family("indexing.typemap").items():
        as_list = member.lower() in TYPE_NAMES
        for column in split_list(text) if as_list else (member,):
            wanted = member.lower() if as_list else text.lower()
            name = spelled.setdefault(column.lower(), column)
            if types.setdefault(name, wanted) != wanted:
                raise OptionError(
                    f"column {column} is mapped to both {types[name]} and {wanted} by {PREFIX}indexing.typemap, keep one",
                    column=column,
                )
    return types


def table_options(options: Options, text: Sequence[str] = ()) -> dict[str, str]:
    """What of these options a new table stores: the ones of table scope that were set, by their full keys.

    `text` names columns whose schema says that they are indexed word by word. An option that maps such a column holds instead.
    """
    stored = {key: value for key, value in options.explicit().items() if _of_table(key)}
    mapped = {column.lower() for column in parse_typemap(options)} if text else set()
    words = [column for column in text if column.lower() not in mapped]
    if words:
        wanted = f"{PREFIX}indexing.typemap.text"
        key = next((key for key in stored if key.lower() == wanted), wanted)
        stored[key] = join_list([*split_list(stored.get(key, "")), *words])
    return stored


def table_value(configuration: Mapping[str, str], option: Option[T]) -> T:
    """The value of an option in a table's configuration, with or without the prefix and in any letter case."""
    wanted = option.key.lower()
    spellings = [key for key in configuration if key.lower() in (wanted, wanted.removeprefix(PREFIX))]
    if not spellings:
        return option.default
    best = min(spellings, key=lambda key: (key != option.key, key.lower() != wanted, key != option.short, key))
    return option.parse(configuration[best])


def table_family(configuration: Mapping[str, str], name: str) -> dict[str, str]:
    """The members of a family in a table's configuration, by the part of the key that the user chose."""
    return members(configuration, name)


def _larger(options: Options, *sources: tuple[Option[Any], Callable[[Any], int]]) -> int:
    chosen = [source for source in sources if options.is_set(source[0])] or sources
    return max(convert(options[option]) for option, convert in chosen)


def _hours_to_milliseconds(hours: float) -> int:
    return round(hours * 3_600_000)


def _of_table(key: str) -> bool:
    entry = resolve(key)
    return entry is not None and entry.scope == "table"
