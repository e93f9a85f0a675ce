"""Tables below a place, on a disk or in a store: what `indextables ls` shows.

    list(place) ──▶ a directory that was not seen ──▶ has it a log? ──▶ a table: the listing goes on behind it
                                                               └──▶ no table: the listing goes on inside

A listing comes in the order of keys, so all keys of a directory lie side by side, and one jump leaves a whole table out.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from indextables.core.errors import IndexTablesError, TableNotFound
from indextables.core.options import Options
from indextables.log.log_paths import LOG_DIR
from indextables.storage.local import local_store
from indextables.storage.resolve import resolve
from indextables.storage.store import Store
from indextables.table.maintain.describe_table import Description, describe_table
from indextables.table.open_table import open_table

_LAST: Final = "\U0010ffff"
"""The character that sorts behind all others: a listing that begins after it leaves the directory before it out."""


@dataclass(frozen=True)
class FoundTable:
    """A table that was found, with its facts, or with the error that opening the table raised."""

    path: str
    """Relative to the place where the search began; empty where the place itself is the table."""
    url: str
    facts: Description | None
    error: IndexTablesError | None = None


def find_tables(url: str, options: Mapping[str, Any] | None = None) -> Iterator[FoundTable]:
    """The tables at a place and below it, in the order of their keys. Tables inside of tables are not looked for.

    Raises TableNotFound where the place is a directory that is not there, and StorageError where the place cannot be listed.
    """
    checked = Options(options)
    store = resolve(url, checked).open()
    local = local_store(store)
    if local is not None and not _may_be_listed(Path(local.root)):
        raise TableNotFound(f"there is no directory {local.root}", url=url)
    return _opened(store, checked)


def _may_be_listed(place: Path) -> bool:
    """Whether a place is a directory, or nobody can tell: a listing says then what is wrong with it."""
    try:
        return stat.S_ISDIR(place.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _opened(store: Store, options: Options) -> Iterator[FoundTable]:
    """Each table with its facts, as it is found."""
    for path in table_paths(store):
        place = f"{store.root.rstrip('/')}/{path}" if path else store.root
        try:
            yield FoundTable(path, place, describe_table(open_table(place, options=options)))
        except TableNotFound:  # a log directory without a log, or a table that was dropped meanwhile
            continue
        except IndexTablesError as error:
            yield FoundTable(path, place, None, error)


def table_paths(store: Store) -> Iterator[str]:
    """The directories that have a log, relative to the store's root."""
    if _has_log(store, ""):
        yield ""
        return
    after: str | None = None
    seen: set[str] = set()
    while True:
        table = None
        for found in store.list("", after):
            directories = _directories(found.key)
            table = next((name for name in directories if name not in seen and _has_log(store, name)), None)
            seen = set(directories)
            if table is not None:
                break
        if table is None:
            return
        yield table.rstrip("/")
        after = table + _LAST


def _directories(key: str) -> list[str]:
    """The directories that a key lies in, outermost first, each with a slash at its end."""
    parts = key.split("/")[:-1]
    return ["/".join(parts[: number + 1]) + "/" for number in range(len(parts))]


def _has_log(store: Store, directory: str) -> bool:
    return next(iter(store.list(f"{directory}{LOG_DIR}/")), None) is not None


__all__ = ["FoundTable", "find_tables", "table_paths"]
