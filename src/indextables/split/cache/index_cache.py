"""The index regions of splits on local disk, as directories that Tantivy can open.

    acquire ──▶ held by this process? ──▶ on disk? ──▶ being fetched by somebody? wait ──▶ fetch, verify, write, rename

- **One download.** Whoever fetches a split holds a lock that the kernel takes away when they die; the others wait, find the
  entry, or take over. The lock only saves work: entries appear by a rename, so a waiter that loses patience may fetch too.
- **Bounded.** Least recently used entries leave when a new one needs their space. An entry on lease stays, because an index
  cannot be opened while its directory goes away; when everything is on lease the bound is exceeded until a lease ends.
- **Nothing unverified.** Every region is checked before it is written. Files are not synced to disk: an entry from before the
  machine's last start is checked again, in full, when it is first used.
- **Never in the way.** A cache that is full, read-only or stuck costs a private directory in the system's temporary place,
  gone when its lease ends; only when that fails too is it an error.

Leases must not be carried over a `fork`.
"""

from __future__ import annotations

import errno
import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from indextables.core.errors import OptionError, SplitError
from indextables.core.metrics import METRICS
from indextables.core.runtime.threads import IO, Workers
from indextables.split.bundle.footer import Region
from indextables.split.cache.cache_directory import CacheDisk, Room
from indextables.split.cache.cache_entry import (
    CacheKey,
    Fetch,
    FetchFailed,
    Wanted,
    current_boot,
    has_files,
    table_mark,
    verify_files,
    write_files,
)
from indextables.split.cache.cache_results import CacheContents, CacheStatistics, Prewarmed, WarmUp
from indextables.split.cache.file_lock import is_at, poll, try_lock
from indextables.split.cache.gate import GATE_PATIENCE_SECONDS
from indextables.split.cache.lease import Held, Lease, Turns
from indextables.split.cache.lease_file import LEASE, is_verified, mark_used, mark_verified, release_fetching

__all__ = ["CacheKey", "CacheStatistics", "Fetch", "IndexCache", "Lease", "Prewarmed", "WarmUp"]

_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""The errors of a disk, or a user's share of a disk, that is full: evicting entries may help."""
_SPARSE_FROM: Final = 1 << 20
"""Bytes that leaving positions out must save. For less the whole index is fetched: a second download would cost more."""
_PATIENCE_SECONDS: Final = 60.0
"""Seconds to wait for a download of another thread or process. Then the split is downloaded once more."""
_PUBLISH_ATTEMPTS: Final = 3
"""How often a room is renamed to an entry while entries of that name come and go. Then the room stays private."""


class IndexCache:
    """The disk cache of one process. With `directory=None` nothing is kept: every lease is a private directory."""

    def __init__(
        self,
        directory: Path | None,
        max_bytes: int,
        *,
        scratch: Path | None = None,
        patience_seconds: float = _PATIENCE_SECONDS,
        gate_patience_seconds: float = GATE_PATIENCE_SECONDS,
        sparse_from: int = _SPARSE_FROM,
        boot: str | None = None,
    ) -> None:
        self._boot = current_boot() if boot is None else boot
        self._disk_of = partial(CacheDisk, boot=self._boot, gate_patience_seconds=gate_patience_seconds)
        self._disk = None if directory is None else self._disk_of(directory, max_bytes)
        self._scratch = scratch or Path(tempfile.gettempdir()) / f"indextables-{os.geteuid()}"
        self._scratch_disk: CacheDisk | None = None
        self._patience = patience_seconds
        self._sparse_from = sparse_from
        self._mutex = threading.Lock()
        self._held: dict[str, Held] = {}
        self._turns = Turns(patience_seconds)
        self._counts = CacheStatistics(max_bytes=max_bytes if directory else 0)

    def acquire(
        self,
        key: CacheKey,
        regions: Sequence[Region],
        fetch: Fetch,
        *,
        tails: Sequence[Region] = (),
        without_positions: bool = False,
    ) -> Lease:
        """A directory with the split's index. `fetch` is called only when it has to be downloaded.

        `tails` are the ends of the positions files (see `positions_tail.py`), each with its own checksum. With
        `without_positions` only those are fetched of the files they belong to, where that saves enough to be worth it.
        Raises CorruptSplit, SplitError when there is no space anywhere, and whatever `fetch` raises.
        """
        full, sparse = self._wanted(key, regions, tails)
        request = _Request((full,), full, fetch, sparse)
        if without_positions and sparse is not None:
            request = _Request((full, sparse), sparse, fetch, None)
        lease = self._shared(request.acceptable)
        if lease is not None:
            return lease
        with self._turns.turn(full.name):
            try:
                return self._shared(request.acceptable) or self._fill(request)
            except FetchFailed as failed:
                raise failed.error from failed.error.__cause__

    def prewarm(
        self,
        splits: Iterable[WarmUp],
        *,
        workers: Workers = IO,
        limit: int | None = None,
        each: Callable[[], None] | None = None,
    ) -> Prewarmed:
        """Fetch splits that are not there yet, at most `limit` at a time, and no more than the cache can hold.

        `each` is called after each split that is there now, from any thread.
        """
        budget = self._disk.max_bytes if self._disk is not None else 0
        chosen: list[WarmUp] = []
        left_out = 0
        for split in splits:
            size = self.bytes_needed(split)
            if size <= budget:
                budget -= size
                chosen.append(split)
            else:
                left_out += 1
        fetched = sum(workers.together([partial(_warm, self, split, each) for split in chosen], limit=limit))
        return Prewarmed(fetched, len(chosen) - fetched, left_out)

    def bytes_needed(self, split: WarmUp) -> int:
        """Bytes of local disk that the files of a split take, without positions where those are not wanted."""
        full, sparse = self._wanted(split.key, split.regions, split.tails)
        return full.bytes if split.positions or sparse is None else sparse.bytes

    def _wanted(
        self, key: CacheKey, regions: Sequence[Region], tails: Sequence[Region]
    ) -> tuple[Wanted, Wanted | None]:
        """The entry with all files, and the one without positions; None where that would save too little."""
        full = Wanted.full(key, regions)
        sparse = Wanted.without_positions(key, regions, tails) if tails else None
        return full, None if sparse is not None and full.bytes - sparse.bytes < self._sparse_from else sparse

    def flush(self, table: str | None = None) -> tuple[int, int]:
        """Delete the entries of one table, or all. Returns how many went, and how many stayed because they are in use."""
        if self._disk is None:
            return 0, 0
        mark = None if table is None else table_mark(table)
        names = [entry.name for entry in self._disk.listing() if mark in (None, entry.table)]
        gone = len(self._disk.drop(names)) if names else 0
        return gone, len(names) - gone

    def contents(self) -> CacheContents:
        """What lies on disk now, whichever process put it there."""
        if self._disk is None:
            return CacheContents(enabled=False)
        listing = self._disk.listing()
        return CacheContents(
            enabled=True,
            splits=len(listing),
            files=sum(self._disk.count_files(entry.name) for entry in listing),
            bytes=sum(entry.bytes for entry in listing),
            max_bytes=self._disk.max_bytes,
        )

    def counts(self) -> CacheStatistics:
        """Counts of this process, without a look at the disk."""
        with self._mutex:
            return self._counts

    def statistics(self) -> CacheStatistics:
        """Counts of this process, and a listing of the disk."""
        counts = self.counts()
        if self._disk is None:
            return counts
        listing = self._disk.listing()
        return replace(
            counts,
            evictions=self._disk.eviction.evictions,
            evicted_bytes=self._disk.eviction.evicted_bytes,
            entries=len(listing),
            bytes=sum(entry.bytes for entry in listing),
        )

    def _shared(self, acceptable: Sequence[Wanted]) -> Lease | None:
        """A further lease of an entry that this process holds already."""
        with self._mutex:
            for wanted in acceptable:
                held = self._held.get(wanted.name)
                if held is None:
                    continue
                with suppress(OSError):  # a directory that cannot be looked at is not handed out
                    if is_at(held.lock, held.path / LEASE):
                        self._counts = self._counts.plus(hits=1)
                        return self._lease(held)
                del self._held[wanted.name]
        return None

    def _find(self, acceptable: Sequence[Wanted], *, waited: bool = False) -> Lease | None:
        """A lease of the first acceptable entry on disk. A damaged entry is thrown away."""
        if self._disk is None:
            return None
        for wanted in acceptable:
            lock = self._disk.lease(wanted.name)
            if lock is None:
                continue
            path = self._disk.entry(wanted.name)
            try:
                intact = _is_intact(path, lock, wanted, self._boot)
                if not intact:
                    self._disk.discard(wanted.name, lock)
            except BaseException:
                os.close(lock)
                raise
            if intact:
                return self._hold(Held(wanted.name, path, lock, wanted.has_positions), hits=1, waits=int(waited))
            os.close(lock)
            with self._mutex:
                self._counts = self._counts.plus(damaged=1)
        return None

    def _fill(self, request: _Request) -> Lease:
        """Find an entry, download one, or wait for the process that downloads one; else use a private directory."""
        disk = self._disk
        reason: OSError | OptionError | None = None
        if disk is not None:
            try:
                return self._find(request.acceptable) or self._fill_shared(disk, request)
            except (OSError, OptionError) as error:
                reason = error
        wanted = request.to_download
        try:
            return self._fill_private(wanted, request.fetch)
        except (OSError, OptionError) as error:
            places = f"{self._scratch}" if disk is None else f"{disk.root.parent} ({reason}) or {self._scratch}"
            raise SplitError(
                f"split {wanted.key.path} of {wanted.key.table} needs {wanted.bytes:,} bytes of local disk for its index, "
                f"which cannot be written to {places} ({error}): free some space, or name another place by "
                "cache.disk.directory",
                table=wanted.key.table,
                path=wanted.key.path,
            ) from error

    def _fill_shared(self, disk: CacheDisk, request: _Request) -> Lease:
        """Download an entry into the shared cache, unless another process does so meanwhile."""
        path = disk.fetching(request.to_download.name)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        found: list[Lease] = []

        def attempt() -> int | None:
            lock = try_lock(path, exclusive=True, create=True)
            if lock is None and (lease := self._find(request.acceptable, waited=True)) is not None:
                found.append(lease)
                return -1
            return lock

        lock = poll(attempt, self._patience)
        if found:
            return found[0]
        try:
            return self._find(request.acceptable, waited=True) or self._download(disk, request)
        finally:
            release_fetching(path, lock)

    def _download(self, disk: CacheDisk, request: _Request) -> Lease:
        """Write the entry. Files that an entry without positions has already are linked, and that entry leaves."""
        wanted, sparse = request.to_download, request.to_complete
        known = self._shared((sparse,)) or self._find((sparse,)) if sparse is not None else None
        try:
            source = None
            if known is not None and sparse is not None:
                source = (known.directory, sparse)
                with self._mutex:
                    self._counts = self._counts.plus(hits=-1)
            try:
                room, fetched = _write_room(disk, wanted, request.fetch, source)
            except OSError as error:
                if error.errno not in _NO_SPACE or disk.free(wanted.bytes) == 0:
                    raise
                room, fetched = _write_room(disk, wanted, request.fetch, source)
        finally:
            if known is not None:
                known.release()
        lease = self._publish(disk, wanted, room, fetched)
        if sparse is not None:
            with suppress(OSError):  # it is of no more use, and will be the least recently used in time
                disk.drop([sparse.name])
        return lease

    def _publish(self, disk: CacheDisk, wanted: Wanted, room: Room, fetched: int) -> Lease:
        """Make the room an entry, or use the one that somebody else made meanwhile, or keep the room private."""
        try:
            for _ in range(_PUBLISH_ATTEMPTS):
                if disk.publish(room, wanted.name):
                    entry = Held(wanted.name, disk.entry(wanted.name), room.lease, wanted.has_positions)
                    return self._hold(entry, misses=1, fetched_bytes=fetched)
                lease = self._find((wanted,))
                if lease is not None:
                    disk.abandon(room)
                    with self._mutex:
                        self._counts = self._counts.plus(hits=-1, misses=1, fetched_bytes=fetched)
                    return lease
                disk.discard(wanted.name, None)
        except OSError:
            disk.abandon(room)
            raise
        private = Held(wanted.name, room.path, room.lease, wanted.has_positions, room, disk)
        return self._hold(private, misses=1, fetched_bytes=fetched, uncached=1)

    def _fill_private(self, wanted: Wanted, fetch: Fetch) -> Lease:
        with self._mutex:
            if self._scratch_disk is None:
                self._scratch_disk = self._disk_of(self._scratch, 0, name="private-1")
            disk = self._scratch_disk
        room, fetched = _write_room(disk, wanted, fetch, None)
        held = Held(wanted.name, room.path, room.lease, wanted.has_positions, room, disk)
        return self._hold(held, misses=1, fetched_bytes=fetched, uncached=1)

    def _hold(self, held: Held, **counts: int) -> Lease:
        """A lease of an entry that was found or made. The process holds an entry once, however many leases there are."""
        with self._mutex:
            self._counts = self._counts.plus(**counts)
            known = self._held.get(held.name)
            if known is not None and os.path.samestat(os.fstat(known.lock), os.fstat(held.lock)):
                os.close(held.lock)
                return self._lease(known)
            self._held[held.name] = held
            return self._lease(held)

    def _lease(self, held: Held) -> Lease:
        held.leases += 1
        return Lease(held, self._release)

    def _release(self, held: Held) -> None:
        with self._mutex:
            held.leases -= 1
            if held.leases:
                return
            if self._held.get(held.name) is held:
                del self._held[held.name]
            if held.room is None:
                with suppress(OSError):  # it looks older than it is, then
                    mark_used(held.lock)
                os.close(held.lock)
        if held.room is not None and held.disk is not None:
            held.disk.abandon(held.room)
        elif self._disk is not None:
            with suppress(OSError):  # the next one who needs space tries again
                self._disk.shrink()


@dataclass(frozen=True)
class _Request:
    """What a caller of `acquire` takes, and what is downloaded if nothing of it is there."""

    acceptable: tuple[Wanted, ...]
    """The entries that serve the caller, the best first."""
    to_download: Wanted
    fetch: Fetch
    to_complete: Wanted | None
    """An entry without positions, whose files need not be downloaded again if it is there."""


def _is_intact(path: Path, lock: int, wanted: Wanted, boot: str) -> bool:
    """Whether an entry has all its files. An entry from before the machine's last start is verified in full, once."""
    if is_verified(lock, boot):
        return has_files(path, wanted)
    if not verify_files(path, wanted):
        return False
    mark_verified(lock, boot)
    return True


def _warm(cache: IndexCache, split: WarmUp, each: Callable[[], None] | None) -> int:
    """Fetch one split that is not there yet. Returns 1 if it was fetched, else 0."""
    fetched = []

    def fetch(regions: Sequence[Region]) -> Sequence[bytes | memoryview]:
        fetched.append(regions)
        return split.fetch(regions)

    without = not split.positions
    cache.acquire(split.key, split.regions, fetch, tails=split.tails, without_positions=without).release()
    if each is not None:
        each()
    return 1 if fetched else 0


def _write_room(disk: CacheDisk, wanted: Wanted, fetch: Fetch, source: tuple[Path, Wanted] | None) -> tuple[Room, int]:
    """Download the files of an entry into a new room. Returns the room, and the bytes that were fetched."""
    room = disk.reserve(wanted.bytes)
    try:
        with METRICS.timed("indextables.cache.disk.fill.duration_ms"):
            return room, write_files(room.path, wanted, fetch, source)
    except BaseException:
        disk.abandon(room)
        raise
