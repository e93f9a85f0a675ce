"""Directories that uploads make on a local disk. Nobody needs them once the uploads were taken back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from indextables.log.table_log import TableLog


class Directories:
    """The directories of one write's uploads on local disk. Other stores have no directories. A value: it pickles."""

    def __init__(self, log: TableLog) -> None:
        self._root = Path(log.url) if log.is_local else None
        self._before = {path for path in self._above("") if path.exists()}

    def remove(self, keys: Iterable[str]) -> None:
        """Remove the directories of these uploads, innermost first. A directory stays if it existed before or is not empty."""
        for directory in sorted({key.rpartition("/")[0] for key in keys}, reverse=True):
            for path in self._above(directory):
                if path in self._before or not _removed(path):
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
