"""A file of a local store that is kept open and mapped, for who reads many ranges of a file that does not change.

    OpenFile.read ──▶ a view of the map: nothing is copied, and the memory is the system's cache of files
             └──────▶ a read, where a file system is none of a local disk

Whoever relies on what was found out about a file before (that its checksums agree) asks `is_current` after each read, and gets
the answer for the bytes that were just read: the name still leads to this file, and nobody wrote to the file.

A file that is cut short while somebody looks at its map ends the process, and so does a disk that fails then. Only files that are
never changed once they have their name may be opened here. Their bytes should be read once through the store first, which turns
a disk that fails into an error. On file systems behind a network nothing is mapped, nor in a process whose addresses are limited
(`ulimit -v`).

A map has its file open for as long as the map is there. So a process holds at most a quarter of the files that the system lets it
open (`ulimit -n`), and asks `has_room` before it holds one more.
"""

# ruff: noqa: PTH116 - paths are text here, as in local.py

from __future__ import annotations

import mmap
import os
import re
import resource
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from indextables.core.clock import SYSTEM_CLOCK
from indextables.core.runtime.process_state import Lru

_READ: Final = os.O_RDONLY | os.O_CLOEXEC
SETTLED_MS: Final = 3_000
"""Milliseconds. A file that changed less than this ago may change again without a new time: the coarsest file systems note times
in steps of two seconds."""
_LOCAL_DISKS: Final = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "overlay", "tmpfs", "ramfs"}
)
"""File systems, by their names in Linux, whose files are mapped: a network cannot take their bytes away."""
_MOUNTS: Final = Path("/proc/self/mountinfo")
"""Where Linux lists file systems. Other systems have no such file, and files are not mapped there."""
_MOST_DEVICES: Final = 64
"""Devices of which is remembered whether they are local disks. A machine has a handful."""

_SHARE_OF_FILES: Final = 4
"""A quarter of the files that a process may open is held here: indexes, logs, sockets and other libraries need the rest."""

_State: TypeAlias = tuple[int, int, int, int, int]


class OpenFile:
    """A file that is open for reading. Safe to use from many threads and after a fork: no read has a position of its own."""

    __slots__ = ("__weakref__", "_fd", "_map", "_path", "_settled_ms", "_state")

    def __init__(
        self, path: str, *, settled_ms: int = SETTLED_MS, is_local_disk: Callable[[str, int], bool] | None = None
    ) -> None:
        """Open a file. Raises OSError.

        A file settles `settled_ms` milliseconds after its last change. `is_local_disk` is asked with the path and the number of
        the device whether the file may be mapped; None stands for what the system says.
        """
        self._path = path
        self._settled_ms = settled_ms
        self._fd: int | None = os.open(path, _READ)
        self._state = _state(os.fstat(self._fd))
        may_map = self.is_settled and (is_local_disk or on_local_disk)(path, self._state[0])
        self._map = self._mapped(self._fd) if may_map else None
        if self._map is not None:  # which has the file open by itself
            self._close()
        else:
            _HELD.add(self)

    def read(self, start: int, end: int) -> memoryview:
        """Bytes start (inclusive) to end (exclusive); fewer where the file ends before. Raises OSError."""
        if self._map is not None:
            return self._map[start:end]
        assert self._fd is not None
        data = os.pread(self._fd, end - start, start)
        while len(data) < end - start:
            more = os.pread(self._fd, end - start - len(data), start + len(data))
            if not more:
                break
            data += more
        return memoryview(data)

    @property
    def is_mapped(self) -> bool:
        """Whether the bytes that are read are the system's, and take no memory of this process."""
        return self._map is not None

    @property
    def is_settled(self) -> bool:
        """Whether every later change of the file will be seen, as the last one was long enough ago. Others are not mapped."""
        *_, modified_ns, changed_ns = self._state
        return max(modified_ns, changed_ns) // 1_000_000 + self._settled_ms < SYSTEM_CLOCK.wall_ms()

    @property
    def is_current(self) -> bool:
        """Whether the name still leads to this file, and nobody has written to the file since it was opened."""
        try:
            return _state(os.stat(self._path)) == self._state
        except OSError:
            return False

    def _mapped(self, fd: int) -> memoryview | None:
        if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
            return None  # maps would take what the process may have for its memory
        try:
            mapped = mmap.mmap(fd, self._state[2], access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # no more maps, or the file is shorter by now, or empty: reads say more
            return None
        _HELD.add(mapped)  # views of the map keep its file open when this object is gone
        return memoryview(mapped)

    def _close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def __del__(self) -> None:
        if hasattr(self, "_fd"):
            self._close()


def has_room() -> bool:
    """Whether this process may hold one more file open, beside those that it holds already."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return most == resource.RLIM_INFINITY or len(_HELD) < most // _SHARE_OF_FILES


def on_local_disk(path: str, device: int) -> bool:
    """Whether the file at a path, on the device of this number, is on a local disk. What the system says of a device is kept."""
    return _DISKS.get_or_load(device, lambda: file_system(path) in _LOCAL_DISKS)


def file_system(path: str, mounts: str | None = None) -> str:
    """The kind of file system that a path is on, by its name in Linux; nothing where the system does not say.

    `mounts` is the system's list of file systems, which is read if it is None.
    """
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text(errors="surrogateescape")
        except OSError:
            return ""
    real, longest, kind = os.path.realpath(path), -1, ""
    for line in mounts.splitlines():
        place, _, source = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), place.split(" ")[4])
        if (
            f"{real}/".startswith(point.rstrip("/") + "/") and len(point) >= longest
        ):  # a later mount covers an earlier one
            longest, kind = len(point), source.split(" ")[0]
    return kind


def _state(found: os.stat_result) -> _State:
    """All that tells a file from another one, and from itself before somebody wrote to it."""
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


_DISKS: Final[Lru[int, bool]] = Lru(_MOST_DEVICES)
"""Whether a device is a local disk, by the number of the device."""

_HELD: Final[weakref.WeakSet[object]] = weakref.WeakSet()
"""What keeps a file open in this process: maps, and files that are not mapped. A forked child has the same files open."""

__all__ = ["SETTLED_MS", "OpenFile", "file_system", "has_room", "on_local_disk"]
