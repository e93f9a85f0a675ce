"""The disk cache as a place: rooms are made, become entries, and entries become free space. All processes of one user share it.

    reserve ──▶ Room ──publish──▶ entry ──lease──▶ in use ──▶ evicted, dropped or discarded
                 └────abandon──▶ free space

Killed at any moment, a process leaves a room, a lock file or a count that is too high. The first two are swept, the third
is put right by the next listing. So the bound holds, also for downloads that are still under way.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from indextables.core.errors import OptionError
from indextables.split.cache.cache_layout import CacheLayout, Stored, bytes_in_name
from indextables.split.cache.eviction import Eviction, lock_if_there
from indextables.split.cache.file_lock import is_at, poll, try_lock
from indextables.split.cache.gate import GATE_PATIENCE_SECONDS, Gate, GateStuck
from indextables.split.cache.lease_file import LEASE, mark_used, mark_verified, release_fetching

_TAKEN: Final = frozenset({errno.ENOTEMPTY, errno.EEXIST})
"""The errors of a rename onto a directory that exists."""


@dataclass(frozen=True)
class Room:
    """A directory of one's own: `lease` is an open descriptor, and the room is one's own until it is closed."""

    path: Path
    lease: int
    bytes: int


class CacheDisk:
    """Makes rooms, turns them into entries and entries into free space. Safe for threads and processes."""

    def __init__(
        self,
        directory: Path,
        max_bytes: int,
        *,
        boot: str,
        name: str = "splits-1",
        gate_patience_seconds: float = GATE_PATIENCE_SECONDS,
    ) -> None:
        self.root = directory / name
        self.max_bytes = max_bytes
        self._boot = boot
        self._layout = CacheLayout(self.root)
        self._patience = gate_patience_seconds
        self._gate = Gate(self._layout.gate, boot, gate_patience_seconds)
        self.eviction = Eviction(self._layout, self._gate, max_bytes)
        self._prepare()

    def entry(self, name: str) -> Path:
        """Where the entry of this name is, if there is one."""
        return self._layout.entry(name)

    def fetching(self, name: str) -> Path:
        """The lock file of the process that downloads this entry."""
        return self._layout.fetching / name

    def lease(self, name: str) -> int | None:
        """Hold an entry: while the descriptor is open the entry stays. None when there is no such entry."""
        path = self.entry(name) / LEASE
        try:
            return poll(lambda: try_lock(path, exclusive=False), self._patience)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def reserve(self, size: int) -> Room:
        """A room for `size` bytes, whose space is counted and, where possible, has been freed."""
        try:
            return self._reserve(size)
        except FileNotFoundError:
            self._prepare()
            return self._reserve(size)

    def publish(self, room: Room, name: str) -> bool:
        """Make the room an entry. False when there is an entry of that name already."""
        mark_used(room.lease)
        try:
            room.path.rename(self.entry(name))
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
            return False
        return True

    def abandon(self, room: Room) -> None:
        """Delete a room and give its space back."""
        try:
            with self._gate.closed() as leaving:
                leaving.append(self._layout.move_out(room.path))
                self._gate.add(-room.bytes)
        except OSError:
            # It is gone, or cannot be counted now: what stays is swept, and the count is too high until the next listing.
            shutil.rmtree(room.path, ignore_errors=True)
        finally:
            os.close(room.lease)

    def free(self, size: int) -> int:
        """Evict at least `size` bytes, or all that nobody uses. Returns the bytes freed."""
        with self._gate.closed() as leaving:
            self.eviction.list_again(leaving)
            return self.eviction.evict(size, leaving)

    def shrink(self) -> None:
        """Evict down to the bound, if the cache is above it because everything was in use."""
        count = self._gate.count()
        if count is None or count > self.max_bytes:
            with self._gate.closed() as leaving:
                self.eviction.shrink(leaving)

    def discard(self, name: str, lease: int | None) -> None:
        """Take a damaged entry away, in use or not, unless another has taken its place. None: it has no lease file."""
        path = self.entry(name)
        with self._gate.closed() as leaving:
            here = not (path / LEASE).exists() if lease is None else is_at(lease, path / LEASE)
            if here and path.is_dir():
                leaving.append(self._layout.move_out(path))
                if lease is not None:
                    self._gate.add(-bytes_in_name(name))

    def drop(self, names: Iterable[str]) -> list[int]:
        """Delete the entries of these names that nobody uses. Returns the bytes of each entry that was deleted."""
        with self._gate.closed() as leaving:
            stored = [self._layout.look(name) for name in names]
            gone = [self.eviction.remove_unused(entry, leaving) for entry in stored if entry is not None]
            return [size for size in gone if size is not None]

    def listing(self) -> list[Stored]:
        """Every entry, least recently used first."""
        return self._layout.listing()[0]

    def count_files(self, name: str) -> int:
        """Files of the index that an entry holds; 0 where the entry is gone."""
        try:
            return sum(file != LEASE for file in os.listdir(self.entry(name)))  # noqa: PTH208 - names are enough
        except (FileNotFoundError, NotADirectoryError):
            return 0

    def sweep(self) -> None:
        """Remove the rooms and lock files of processes that died."""
        with self._gate.closed() as leaving:
            self.eviction.sweep_rooms(leaving)
        for path in list(self._layout.fetching.iterdir()):
            release_fetching(path, lock_if_there(path))

    def _prepare(self) -> None:
        """Make the directories, and find out whether they can be used."""
        try:
            self._layout.make_directories()
            with suppress(GateStuck):
                self.sweep()
        except OSError as error:
            raise OptionError(
                f"the disk cache cannot use {self.root.parent} ({error.strerror or error}): "
                "name another place by cache.disk.directory, or set cache.disk.enabled to false",
                directory=str(self.root.parent),
            ) from error

    def _reserve(self, size: int) -> Room:
        with self._gate.closed() as leaving:
            path = self._layout.new_room(size)
            path.mkdir(mode=0o700)
            lease = None
            try:
                lease = try_lock(path / LEASE, exclusive=False, create=True)
                assert lease is not None
                mark_verified(lease, self._boot)
                self._gate.add(size)
                self.eviction.shrink(leaving)
            except BaseException:
                shutil.rmtree(path, ignore_errors=True)
                if lease is not None:
                    os.close(lease)
                raise
            return Room(path, lease, size)
