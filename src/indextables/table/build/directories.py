"""The directories that uploads make on a local disk, and that nobody needs when the uploads were taken back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from indextables.log.table_log import TableLog
from indextables.storage.local import local_store


class Directories:
    """On local disk, the directories of a new table's uploads. Other stores have none. A value: it pickles."""

    def __init__(self, log: TableLog) -> None:
        self._root = Path(log.url) if local_store(log.store) is not None else None
        self._there = {path for path in self._above("") if path.exists()}

    def remove(self, keys: Iterable[str]) -> None:
        """Those of uploads that are gone again. What somebody else put into one keeps it, and was there before it stays."""
        for directory in sorted({key.rpartition("/")[0] for key in keys}, reverse=True):
            for path in self._above(directory):
                if path in self._there or not _removed(path):
                    break

    def _above(self, key: str) -> list[Path]:
        """The directories on the way to a key, the innermost first."""
        return [] if self._root is None else list((self._root / key / "x").parents)


def _removed(directory: Path) -> bool:
    try:
        directory.rmdir()
    except OSError:  # not empty, or gone already
        return not directory.exists()
    return True


__all__ = ["Directories"]
