"""Which entries leave the disk cache when space is needed: those that were not used for the longest time, and are not in use.

A listing is sorted once and then used up: whatever was touched or added since is younger than the rest of it, so a full cache
need not be listed for every new entry.

Every method is called with the gate closed. Directories that leave are put into `leaving`; they are deleted when the gate is
open again.
"""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path

from indextables.split.cache.cache_layout import CacheLayout, Stored, bytes_in_name
from indextables.split.cache.file_lock import try_lock
from indextables.split.cache.gate import Gate
from indextables.split.cache.lease_file import LEASE


class Eviction:
    """Keeps the bytes of a cache within a bound."""

    def __init__(self, layout: CacheLayout, gate: Gate, max_bytes: int) -> None:
        self.evictions = 0
        """Entries that this process evicted."""
        self.evicted_bytes = 0
        self._layout = layout
        self._gate = gate
        self._max_bytes = max_bytes
        self._oldest: deque[Stored] = deque()

    def shrink(self, leaving: list[Path]) -> None:
        """Evict until the bytes are within the bound; list the entries again when the last listing is used up."""
        for fresh in (False, True):
            if fresh:
                self.list_again(leaving)
            count = self._gate.count()
            over = (self.list_again(leaving) if count is None else count) - self._max_bytes
            if over <= 0 or self.evict(over, leaving) >= over:
                return

    def evict(self, size: int, leaving: list[Path]) -> int:
        """Evict at least `size` bytes, or all entries of the last listing that nobody uses. Returns the bytes that left."""
        freed = 0
        while freed < size and self._oldest:
            gone = self.remove_unused(self._oldest.popleft(), leaving)
            if gone is not None:
                freed += gone
                self.evictions += 1
                self.evicted_bytes += gone
        return freed

    def remove_unused(self, entry: Stored, leaving: list[Path]) -> int | None:
        """Move an entry out and return its bytes. None: the entry is in use, or was used since it was listed."""
        path = self._layout.entry(entry.name)
        lease = lock_if_there(path / LEASE)
        if lease is None:
            return None
        try:
            if os.fstat(lease).st_mtime_ns != entry.used_ns:
                return None
            leaving.append(self._layout.move_out(path))
        finally:
            os.close(lease)
        self._gate.add(-entry.bytes)
        return entry.bytes

    def list_again(self, leaving: list[Path]) -> int:
        """Count the bytes of the cache, and line the entries up. Entries that lost their lease file to a power cut leave."""
        # Rooms first: a room that becomes an entry meanwhile is counted twice then, never not at all.
        living = self.sweep_rooms(leaving)
        entries, broken = self._layout.listing()
        leaving += [self._layout.move_out(self._layout.entry(name)) for name in broken]
        self._oldest = deque(entries)
        count = living + sum(entry.bytes for entry in entries)
        self._gate.set_count(count)
        return count

    def sweep_rooms(self, leaving: list[Path]) -> int:
        """Remove the rooms of processes that died. Returns the bytes of the other rooms."""
        living = 0
        with os.scandir(self._layout.rooms) as found:
            rooms = [Path(item.path) for item in found]
        for path in rooms:
            try:
                lease = try_lock(path / LEASE, exclusive=True)
            except (FileNotFoundError, NotADirectoryError):
                leaving.append(path)
                continue
            if lease is None:
                living += bytes_in_name(path.name)
            else:
                os.close(lease)
                leaving.append(path)
        return living


def lock_if_there(path: Path) -> int | None:
    """Lock a file for oneself. None: the file is not there, or somebody else holds it."""
    try:
        return try_lock(path, exclusive=True)
    except (FileNotFoundError, NotADirectoryError):
        return None
