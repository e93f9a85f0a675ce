"""Which files of a directory are whole, and which are left alone.

Nothing says when a writer is done with a file. A file counts as whole once its size and time have stayed the same for a while
(`settle`) between two looks, by this program's own clock: clocks of file servers may be wrong. Who writes more slowly writes
under a name that is left alone, and renames the file at the end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from indextables.cli.errors import InputError

_BEGINNINGS: Final = (".", "_")
"""How the names of files begin that are nobody's business: hidden ones, and those of programs such as Spark (`_SUCCESS`)."""
_ENDINGS: Final = (".tmp", ".part")
"""How the names of files end that are still being written."""


Place = tuple[int, int, int]
"""Which directory it is: the device, the directory's number on it, and the id of the file system. Roots of file systems share
their numbers, and disks that take turns share a device. A file system that has no id of its own says 0, or the device again."""


@dataclass(frozen=True, order=True)
class Arrived:
    """A file of the directory, as it was at some look. Files are ordered by their times, then by their names."""

    modified: int
    """Nanoseconds since 1970, by the file system."""
    name: str
    size: int


class Arrivals:
    """The files of a directory, look after look."""

    def __init__(self, directory: Path, settle: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._directory = directory
        self._settle = settle
        self._clock = clock
        self._since: dict[str, tuple[Arrived, float]] = {}
        """Each file as it was last seen, and since when it has been like that."""
        self.place: Place | None = None
        """Which directory it was at the last look: another one where something was mounted or unmounted. None if that happened
        during the look."""

    def look(self) -> dict[str, Arrived]:
        """The files that are there now, by their names, whole or not. Raises InputError."""
        place = self._place()
        now, found = self._clock(), {}
        for file in self._listed():
            found[file.name] = file
            known = self._since.get(file.name)
            if known is None or known[0] != file:
                self._since[file.name] = file, now
        for name in self._since.keys() - found.keys():
            del self._since[name]
        self.place = place if self._place() == place else None
        return found

    def is_whole(self, file: Arrived) -> bool:
        """Whether the file has stayed the same for long enough."""
        known, since = self._since.get(file.name, (None, 0.0))
        return known == file and self._clock() - since >= self._settle

    def path(self, name: str) -> Path:
        """Where a file lies."""
        return self._directory / name

    def state(self, name: str) -> Arrived | None:
        """A file as it is now; None where it is gone."""
        try:
            found = self.path(name).stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{self.path(name)} cannot be read ({error.strerror or error})") from error
        return Arrived(found.st_mtime_ns, name, found.st_size)

    def _place(self) -> Place | None:
        try:
            found, system = self._directory.stat(), os.statvfs(self._directory)
        except OSError:
            return None  # the listing says what is wrong
        return found.st_dev, found.st_ino, system.f_fsid

    def _listed(self) -> list[Arrived]:
        try:
            with os.scandir(self._directory) as entries:
                names = [entry.name for entry in entries if not is_left_alone(entry.name) and entry.is_file()]
        except OSError as error:
            raise InputError(
                f"{self._directory} cannot be read ({error.strerror or error})", file=str(self._directory)
            ) from error
        for name in names:
            if not _is_text(name):
                raise InputError(f"{self._directory} has a file whose name is not UTF-8, {name!r}: rename it")
        return [file for name in names if (file := self.state(name)) is not None]


def is_left_alone(name: str) -> bool:
    """Whether a file of this name is never taken."""
    return name.startswith(_BEGINNINGS) or name.lower().endswith(_ENDINGS)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
