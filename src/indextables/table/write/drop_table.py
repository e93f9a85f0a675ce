"""A table deleted for good: its log, then its splits. Other files at the table's place stay."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from indextables.core.errors import StorageError
from indextables.core.metrics import METRICS
from indextables.log.log_paths import LOG_DIR
from indextables.log.table_log import TableLog
from indextables.storage.local import local_store
from indextables.table.build.uploads import SPLIT_SUFFIX
from indextables.table.open_table import open_table_of


@METRICS.measured("drop")
def drop_table(log: TableLog) -> None:
    """Delete a table. Raises TableNotFound, and StorageError where an object cannot be deleted.

    The log goes first: a table that is half deleted is no table, instead of one that misses rows.
    """
    open_table_of(log)
    keys = [found.key for found in log.store.list("")]
    of_log = sorted((key for key in keys if key.startswith(f"{LOG_DIR}/")), reverse=True)
    _delete(log, of_log)
    splits = [key for key in keys if key.endswith(SPLIT_SUFFIX) and not key.startswith(f"{LOG_DIR}/")]
    _delete(log, splits)
    if local_store(log.store) is not None:
        _remove_directories(Path(log.url), [*of_log, *splits])


def _delete(log: TableLog, keys: list[str]) -> None:
    failed = log.store.delete(keys) if keys else {}
    for key, error in failed.items():
        raise StorageError(f"table {log.url} is not deleted: {len(failed)} objects stay, the first is {key}: {error}")


def _remove_directories(root: Path, keys: list[str]) -> None:
    """Remove directories that are empty now, innermost first."""
    inside = {parent for key in keys for parent in PurePosixPath(key).parents}
    for directory in sorted(inside, key=lambda path: len(path.parts), reverse=True):
        path = root / directory
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()


__all__ = ["drop_table"]
