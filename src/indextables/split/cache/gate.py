"""The gate of the disk cache: one lock for all processes, and the number of bytes that the cache holds.

Both are one file. The count is never too low: bytes are added before they are written, and subtracted after they left. A count
from before the machine's last start does not count, and neither does a file of another length.
"""

from __future__ import annotations

import errno
import os
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from indextables.split.cache.file_lock import poll, try_lock
from indextables.split.cache.lease_file import BOOT_LENGTH, boot_mark

GATE_PATIENCE_SECONDS: Final = 10.0
"""Seconds to wait for the gate. A process holds it for milliseconds; one that holds it longer was stopped, most likely."""

COUNT: Final = struct.Struct(f"<q{BOOT_LENGTH}s")
"""What the file holds: the bytes of all entries and rooms, and the run of the machine in which they were counted."""


class GateStuck(OSError):
    """Another process holds the gate and does not let it go."""


class Gate:
    """The lock and the count. The methods that change the count are called with the gate closed."""

    def __init__(self, path: Path, boot: str, patience_seconds: float = GATE_PATIENCE_SECONDS) -> None:
        self._path = path
        self._patience = patience_seconds
        self._boot_mark = boot_mark(boot)

    @contextmanager
    def closed(self) -> Iterator[list[Path]]:
        """Keep all others out. Directories that are put into the list are deleted afterwards, with the gate open again."""
        leaving: list[Path] = []
        lock = poll(lambda: try_lock(self._path, exclusive=True, create=True), self._patience)
        if lock is None:
            raise GateStuck(errno.EAGAIN, "another process holds the cache's lock and does not move", str(self._path))
        try:
            yield leaving
        finally:
            os.close(lock)
            for directory in leaving:
                shutil.rmtree(directory, ignore_errors=True)

    def count(self) -> int | None:
        """The bytes of all entries and rooms. None: nobody counted them since the machine started."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return None
        if len(data) != COUNT.size:
            return None
        count, boot = COUNT.unpack(data)
        return int(count) if boot == self._boot_mark else None

    def add(self, size: int) -> None:
        """Add bytes to the count, or subtract them. Where there is no count, the next listing makes one."""
        count = self.count()
        if count is not None:
            self.set_count(max(0, count + size))

    def set_count(self, count: int) -> None:
        """Write down what a listing counted."""
        fd = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.pwrite(fd, COUNT.pack(count, self._boot_mark), 0)
        finally:
            os.close(fd)
