"""Leases of this process: an entry is locked once, however many leases there are, and threads take turns to fetch it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from indextables.split.cache.cache_directory import CacheDisk, Room


@dataclass
class Held:
    """An entry on lease in this process: one lock, however many leases."""

    name: str
    path: Path
    lock: int
    """The open descriptor of the entry's lease file."""
    has_positions: bool
    room: Room | None = None
    """The room that the directory is, where it did not become an entry."""
    disk: CacheDisk | None = None
    """The place of the room."""
    leases: int = 0


class Lease:
    """The right to open `directory`. An index opened from it keeps working after `release`, but cannot be opened again."""

    def __init__(self, held: Held, release: Callable[[Held], None]) -> None:
        self._held: Held | None = held
        self._give_back = release
        self.directory = held.path
        self.positions = held.has_positions
        """False: a query that needs positions fails; acquire the split again with them."""
        self.cached = held.room is None
        """False: the directory is private to this process and goes away with its last lease."""

    def release(self) -> None:
        """End the lease. Doing it twice does no harm."""
        held, self._held = self._held, None
        if held is not None:
            self._give_back(held)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class Turns:
    """Lets one thread of this process at a time fetch a split."""

    def __init__(self, patience_seconds: float) -> None:
        self._patience = patience_seconds
        self._mutex = threading.Lock()
        self._locks: dict[str, tuple[threading.Lock, int]] = {}
        """The lock of each split that a thread fetches, and how many threads hold it or wait for it."""

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Wait for the threads that fetch the entry of this name. A thread that loses patience goes on without its turn."""
        with self._mutex:
            lock, users = self._locks.get(name, (threading.Lock(), 0))
            self._locks[name] = (lock, users + 1)
        acquired = False
        try:
            acquired = lock.acquire(timeout=self._patience)
            yield
        finally:
            if acquired:
                lock.release()
            with self._mutex:
                lock, users = self._locks.pop(name)
                if users > 1:
                    self._locks[name] = (lock, users - 1)
