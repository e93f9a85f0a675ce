"""The threads that decode and pack manifests: as many as there are processors, however many are read or written at a time.

Memory allocators keep what a thread frees for that thread, so that more threads would not be faster, only larger.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")


class Decoders:
    """A pool that is made when it is first used. After a fork the child makes its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._owner = -1

    def together(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """The results, in order. Must not be called by one of these threads."""
        with self._lock:
            if self._pool is None or self._owner != os.getpid():
                self._pool = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="indextables-decode")
                self._owner = os.getpid()
            futures = [self._pool.submit(call) for call in calls]
        wait(futures)
        return [future.result() for future in futures]

    def forget(self) -> None:
        """After a fork the threads are gone, and whoever held the lock is, too."""
        self._lock = threading.Lock()
        self._pool = None


DECODERS = Decoders()
os.register_at_fork(after_in_child=DECODERS.forget)
