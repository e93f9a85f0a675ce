"""Locks between processes that the kernel takes away from the dead: flock on small files.

A lock file may be deleted by whoever holds it exclusively. So a lock counts only when the file that was locked is still
the one under its name; otherwise the taker opened a file that was just deleted, and tries again. This is what makes it
safe to keep no lock file that nobody uses.
"""

from __future__ import annotations

import fcntl
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

T = TypeVar("T")

_SHORTEST_PAUSE: Final = 0.0005
"""Seconds before the second attempt: most locks are held for less than a millisecond."""
_LONGEST_PAUSE: Final = 0.02
"""Seconds between later attempts: a waiter notices the end of a download this late at most."""


def try_lock(path: Path, *, exclusive: bool, create: bool = False) -> int | None:
    """Lock a file. Returns the descriptor to close when done, or None while somebody else's lock is in the way.

    Without `create`, a file that does not exist is a FileNotFoundError.
    """
    flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
    kind = (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB
    while True:
        fd = os.open(path, flags, 0o600)
        try:
            fcntl.flock(fd, kind)
            if is_at(fd, path):
                return fd
        except BlockingIOError:
            os.close(fd)
            return None
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def is_at(fd: int, path: Path) -> bool:
    """Whether the open file is the one under this name."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False


def poll(attempt: Callable[[], T | None], patience_seconds: float) -> T | None:
    """Call until there is a result or patience ends; pauses grow, and differ between processes."""
    deadline = time.monotonic() + patience_seconds
    pause = _SHORTEST_PAUSE
    while (result := attempt()) is None:
        if time.monotonic() >= deadline:
            return None
        time.sleep(pause * (0.5 + random.random()))
        pause = min(pause * 1.5, _LONGEST_PAUSE)
    return result
