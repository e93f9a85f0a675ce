"""The directories of the disk cache: where things lie, and what a look at them shows.

<directory>/splits-1/
gate        the lock for everything below, and the number of bytes: see `gate`
entries/    what can be used: entries appear whole, by a rename, and leave by a rename
rooms/      what is being written or deleted; a room whose lease nobody holds was left by a process that died
fetching/   a lock per split that is being downloaded
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from indextables.split.cache.cache_entry import parse_name
from indextables.split.cache.lease_file import LEASE


@dataclass(frozen=True)
class Stored:
    """An entry as a listing shows it."""

    name: str
    table: str
    bytes: int
    used_ns: int
    """When the entry was last used, in nanoseconds since 1970."""


class CacheLayout:
    """The paths below one root. Nothing here takes a lock."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.gate = root / "gate"
        self.rooms = root / "rooms"
        self.fetching = root / "fetching"
        self._entries = root / "entries"
        self._entries_text = str(self._entries)

    def make_directories(self) -> None:
        """Make the directories that are missing. Raises OSError where they cannot be made, or belong to somebody else."""
        self.root.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.root.parent.stat().st_uid not in (os.geteuid(), 0):
            raise PermissionError(errno.EPERM, "it belongs to somebody else")
        for directory in (self.root, self._entries, self.rooms, self.fetching):
            directory.mkdir(mode=0o700, exist_ok=True)
            _check_owner(directory)

    def entry(self, name: str) -> Path:
        """Where the entry of this name is, if there is one."""
        return self._entries / name

    def new_room(self, size: int) -> Path:
        """A path in `rooms/` that is not used yet, with the size in its name."""
        return self.rooms / f"{secrets.token_hex(8)}-{size}"

    def move_out(self, path: Path) -> Path:
        """Move an entry or a room to where it can be deleted. Returns its new path."""
        away = self.new_room(0)
        path.rename(away)
        return away

    def listing(self) -> tuple[list[Stored], list[str]]:
        """The entries, least recently used first, and the names of the entries that have no lease file."""
        try:
            with os.scandir(self._entries) as found:
                names = [item.name for item in found if parse_name(item.name) is not None]
        except FileNotFoundError:
            return [], []
        looked = {name: self.look(name) for name in names}
        entries = sorted(filter(None, looked.values()), key=lambda entry: (entry.used_ns, entry.name))
        return entries, [name for name, entry in looked.items() if entry is None]

    def look(self, name: str) -> Stored | None:
        """The entry of this name as a listing shows it. None: there is no such entry, or it has no lease file."""
        parsed = parse_name(name)
        if parsed is None:
            return None
        try:
            used_ns = os.stat(f"{self._entries_text}/{name}/{LEASE}").st_mtime_ns  # noqa: PTH116 - called for each entry
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Stored(name, *parsed, used_ns)


def bytes_in_name(name: str) -> int:
    """The size that the name of a room or an entry ends with; 0 for other names."""
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isascii() and digits.isdigit() else 0


def _check_owner(directory: Path) -> None:
    """Entries are trusted, so nobody else may be able to put any there."""
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, f"{directory.name} belongs to somebody else", str(directory))
    if found.st_mode & 0o077:
        directory.chmod(0o700)
