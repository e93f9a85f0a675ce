"""A table deleted for good, in an order in which a drop that dies half way never leaves an older table behind.

    older states ─▶ version 0 ─▶ the state readers stand on ─▶ splits ─▶ the rest of the log
    └── the newest version, whole ──┘  └── no table: opening is an error, creating is refused ──┘

Each step is one delete call, because a store may carry out the keys of one call in any order. Other files at the place stay:
those of tables inside the table's directory, and what lies in hidden directories, as a purge leaves them.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePosixPath
from typing import Final

from indextables.core.errors import CorruptLog, StorageError, TableReplaced
from indextables.core.metrics import METRICS
from indextables.log.log_paths import (
    LOG_DIR,
    MOVED_LOGS,
    inner_table,
    is_hidden,
    parse_log_key,
    parse_state_key,
    version_key,
)
from indextables.log.open_snapshot import open_log
from indextables.log.table_log import TableLog
from indextables.storage.local import local_store
from indextables.table.build.uploads import SPLIT_SUFFIX

_VERSION_ZERO: Final = version_key(0)
_FROM_ZERO: Final = -1
"""In place of a state's number: readers replay from version 0, so that every state there is can go first."""


@METRICS.measured("drop")
def drop_table(log: TableLog) -> None:
    """Delete a table, or what is left of one that another drop began to delete.

    Whoever opens the table meanwhile, or after a drop that died, gets all rows of the newest version or an error, never fewer
    rows. Raises TableNotFound; StorageError where an object cannot be deleted; TableReplaced where somebody created another
    table in the middle of the drop, which is left alone.
    """
    base = _base(log)
    keys = _own_keys(log)
    steps = _steps(keys, base)
    for number, step in enumerate(steps):
        if number > 1 and step and log.head(_VERSION_ZERO) is not None:
            raise TableReplaced(
                f"another table was created at {log.url} while the old one was dropped; purge it", url=log.url
            )
        _delete(log, step)
    log.cache.forget(log.url)
    if local_store(log.store) is not None:
        _remove_directories(Path(log.url), [key for step in steps for key in step])


def _own_keys(log: TableLog) -> list[str]:
    """Everything at the table's place but what lies behind a symbolic link, where a store deletes nothing."""
    keys = [found.key for found in log.store.list("")]
    local = local_store(log.store)
    if local is None:
        return keys
    linked = {directory for directory in {key.rpartition("/")[0] for key in keys} if local.is_behind_link(directory)}
    return [key for key in keys if key.rpartition("/")[0] not in linked]


def _base(log: TableLog) -> int | None:
    """The number of the state or checkpoint that readers stand on; None where the log cannot be read. Raises TableNotFound."""
    try:
        base = open_log(log).base
    except CorruptLog:
        return None
    return _FROM_ZERO if base is None else base


def _steps(keys: Collection[str], base: int | None) -> list[list[str]]:
    """What goes in each delete call.

    Version 0 goes after the older states, because it tells which state is this table's, and before the newest one, because alone
    it would be a table without rows. From the third step on nothing can be opened. Splits go before the last names of the log,
    so that a drop can be repeated until everything is gone, and nobody creates a table among them.
    """
    of_log = [key for key in keys if key.startswith(f"{LOG_DIR}/")]
    numbers = {key: number for key in of_log if (number := _base_number(key)) is not None}
    newest = max(numbers.values(), default=None) if base is None else base
    others = [key for key, number in numbers.items() if number != newest]
    last = [key for key, number in numbers.items() if number == newest]
    of_others = tuple({place for key in keys if (place := inner_table(key)) is not None})
    splits = [
        key for key in keys if key.endswith(SPLIT_SUFFIX) and not is_hidden(key) and not key.startswith(of_others)
    ]
    zero = [key for key in of_log if key == _VERSION_ZERO]
    names = [key for key in of_log if _is_version(key) and key != _VERSION_ZERO]
    moved = [key for key in keys if key.startswith(MOVED_LOGS)]  # a repair of this table wrote or moved them
    rest = [key for key in of_log if key not in numbers and not _is_version(key)] + moved
    return [others, zero, last, splits, rest, names]


def _base_number(key: str) -> int | None:
    """The version of a state or of a JSON checkpoint; None for parts and for everything else."""
    name = parse_log_key(key)
    if name is not None and name.is_checkpoint and name.part is None:
        return name.version
    return parse_state_key(key)


def _is_version(key: str) -> bool:
    name = parse_log_key(key)
    return name is not None and name.is_version


def _delete(log: TableLog, keys: list[str]) -> None:
    failed = log.store.delete(keys) if keys else {}
    for key, error in failed.items():
        raise StorageError(
            f"table {log.url} is deleted in part: {len(failed)} objects stay, the first is {key}: {error}; drop the table again"
        )


def _remove_directories(root: Path, keys: list[str]) -> None:
    """Remove directories that are empty now, innermost first."""
    inside = {parent for key in keys for parent in PurePosixPath(key).parents}
    for directory in sorted(inside, key=lambda path: len(path.parts), reverse=True):
        path = root / directory
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()


__all__ = ["drop_table"]
