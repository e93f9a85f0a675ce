"""The lease file of an entry, and the lock file of a download: what they say, by open descriptors.

A lease file is locked by everyone who uses the entry. It holds the run of the machine in which the entry's files were written or
verified. Its time of change is when the entry was last used.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

LEASE: Final = ".indextables-lease"
"""The name of the lease file, in the directory of every entry and room."""
BOOT_LENGTH: Final = 36
"""Bytes that name a run of the machine: the length of a UUID."""


def mark_used(lease: int) -> None:
    """Record in the lease file that the entry is used now: eviction goes by this time."""
    now = time.time_ns()
    os.utime(lease, ns=(now, now))


def is_verified(lease: int, boot: str) -> bool:
    """Whether the entry's files were written or verified since this boot."""
    return os.pread(lease, BOOT_LENGTH, 0) == boot_mark(boot)


def mark_verified(lease: int, boot: str) -> None:
    """Record in the lease file that the entry's files were verified since this boot."""
    os.pwrite(lease, boot_mark(boot), 0)


def boot_mark(boot: str) -> bytes:
    """A run of the machine in a fixed number of bytes."""
    return boot.encode()[:BOOT_LENGTH].ljust(BOOT_LENGTH, b"\0")


def release_fetching(path: Path, lock: int | None) -> None:
    """Give the right to download an entry back, and delete its lock file while nobody else can hold it."""
    if lock is not None:
        with suppress(OSError):  # a file that stays is swept
            path.unlink()
        os.close(lock)
