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
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from indextables.core.errors import OptionError, SplitError
from indextables.core.metrics import METRICS
from indextables.core.runtime.threads import THREADS, Workers
from indextables.split.bundle.footer import Region
from indextables.split.cache.cache_directory import CacheDisk, Room, certified, certify, release_fetching, touch
from indextables.split.cache.cache_entry import (
    LEASE,
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
from indextables.split.cache.file_lock import is_at, poll, try_lock

__all__ = ["CacheKey", "CacheStatistics", "Fetch", "IndexCache", "Lease", "Prewarmed", "WarmUp"]

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True)
class CacheStatistics:
    """Counts of this process since it started, and what lies on disk now."""

    hits: int = 0
    """Leases that needed no download."""
    waits: int = 0
    """Hits that waited for somebody else's download."""
    misses: int = 0
    """Downloads."""
    fetched_bytes: int = 0
    damaged: int = 0
    """Entries thrown away because files were missing or wrong."""
    uncached: int = 0
    """Downloads that went to a private directory, because the cache is off, full or unusable."""
    evictions: int = 0
    evicted_bytes: int = 0
    entries: int = 0
    bytes: int = 0
    max_bytes: int = 0


@dataclass(frozen=True)
class WarmUp:
    """One split to prewarm."""

    key: CacheKey
    regions: Sequence[Region]
    fetch: Fetch
    tails: Sequence[Region] = ()


@dataclass(frozen=True)
class Prewarmed:
    """What prewarming did: splits fetched, present already, and left out because the cache cannot hold them all."""

    fetched: int
    present: int
    left_out: int


@dataclass
class _Held:
    """An entry on lease in this process: one lock, however many leases."""

    name: str
    path: Path
    lock: int
    whole: bool
    room: Room | None = None
    disk: CacheDisk | None = None
    leases: int = 0


class Lease:
    """The right to open `directory`. An index opened from it keeps working after `release`, but cannot be opened again."""

    def __init__(self, cache: IndexCache, held: _Held) -> None:
        self._cache = cache
        self._held: _Held | None = held
        self.directory = held.path
        self.positions = held.whole
        """False: a query that needs positions fails; acquire the split again with them."""
        self.cached = held.room is None
        """False: the directory is private to this process and goes away with its last lease."""

    def release(self) -> None:
        """End the lease. Doing it twice does no harm."""
        held, self._held = self._held, None
        if held is not None:
            self._cache._release(held)  # noqa: SLF001 - one thing in two classes

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class IndexCache:
    """See the module. `directory` None: nothing is kept, every lease is a private directory."""

    def __init__(
        self,
        directory: Path | None,
        max_bytes: int,
        *,
        scratch: Path | None = None,
        patience_seconds: float = 60.0,
        sparse_from: int = 1 << 20,
        boot: str | None = None,
    ) -> None:
        self._boot = current_boot() if boot is None else boot
        self._disk = None if directory is None else CacheDisk(directory, max_bytes, boot=self._boot)
        self._scratch = scratch or Path(tempfile.gettempdir()) / f"indextables-{os.geteuid()}"
        self._scratch_disk: CacheDisk | None = None
        self._patience = patience_seconds
        self._sparse_from = sparse_from
        self._mutex = threading.Lock()
        self._held: dict[str, _Held] = {}
        self._turns: dict[str, tuple[threading.Lock, int]] = {}
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

        `tails` are the ends of the positions files (see `tails.tail_length`), each with its own checksum. With
        `without_positions` only those are fetched of the files they belong to, where that saves enough to be worth it.
        Raises CorruptSplit, SplitError when there is no space anywhere, and whatever `fetch` raises.
        """
        whole = Wanted.of(key, regions)
        sparse = Wanted.of(key, regions, tails) if tails else None
        if sparse is not None and whole.bytes - sparse.bytes < self._sparse_from:
            sparse = None
        choices = (whole, sparse) if without_positions and sparse is not None else (whole,)
        lease = self._shared(choices)
        if lease is not None:
            return lease
        with self._turn(whole.name):
            try:
                return self._shared(choices) or self._fill(choices, fetch, None if without_positions else sparse)
            except FetchFailed as failed:
                raise failed.error from failed.error.__cause__

    def prewarm(self, splits: Iterable[WarmUp], *, workers: Workers = THREADS, limit: int | None = None) -> Prewarmed:
        """Fetch splits that are not there yet, at most `limit` at a time, and no more than the cache can hold."""
        budget = self._disk.max_bytes if self._disk is not None else 0
        chosen: list[WarmUp] = []
        left_out = 0
        for split in splits:
            size = sum(region.size for region in split.regions)
            if size <= budget:
                budget -= size
                chosen.append(split)
            else:
                left_out += 1
        fetched = sum(workers.together([partial(self._warm, split) for split in chosen], limit=limit))
        return Prewarmed(fetched, len(chosen) - fetched, left_out)

    def flush(self, table: str | None = None) -> tuple[int, int]:
        """Delete the entries of one table, or all. Returns how many went, and how many stayed because they are in use."""
        if self._disk is None:
            return 0, 0
        mark = None if table is None else table_mark(table)
        names = [entry.name for entry in self._disk.listing() if mark in (None, entry.table)]
        gone = len(self._disk.drop(names)) if names else 0
        return gone, len(names) - gone

    def statistics(self) -> CacheStatistics:
        """Counts of this process, and a listing of the disk."""
        with self._mutex:
            counts = self._counts
        if self._disk is None:
            return counts
        listing = self._disk.listing()
        return replace(
            counts,
            evictions=self._disk.evictions,
            evicted_bytes=self._disk.evicted_bytes,
            entries=len(listing),
            bytes=sum(entry.bytes for entry in listing),
        )

    def _warm(self, split: WarmUp) -> int:
        fetched = []

        def fetch(regions: Sequence[Region]) -> Sequence[bytes | memoryview]:
            fetched.append(regions)
            return split.fetch(regions)

        self.acquire(split.key, split.regions, fetch, tails=split.tails).release()
        return 1 if fetched else 0

    def _shared(self, choices: Sequence[Wanted]) -> Lease | None:
        """A further lease of what this process holds already."""
        with self._mutex:
            for wanted in choices:
                held = self._held.get(wanted.name)
                if held is None:
                    continue
                with suppress(OSError):  # a directory that cannot be looked at is not handed out
                    if is_at(held.lock, held.path / LEASE):
                        self._count(hits=1)
                        return self._lease(held)
                del self._held[wanted.name]
        return None

    def _find(self, choices: Sequence[Wanted], *, waited: bool = False) -> Lease | None:
        """A lease of an entry on disk. One that is damaged is thrown away."""
        if self._disk is None:
            return None
        for wanted in choices:
            lock = self._disk.lease(wanted.name)
            if lock is None:
                continue
            path = self._disk.entry(wanted.name)
            try:
                intact = self._intact(path, lock, wanted)
                if not intact:
                    self._disk.discard(wanted.name, lock)
            except BaseException:
                os.close(lock)
                raise
            if intact:
                return self._hold(_Held(wanted.name, path, lock, not wanted.tails), hits=1, waits=int(waited))
            os.close(lock)
            with self._mutex:
                self._count(damaged=1)
        return None

    def _intact(self, path: Path, lock: int, wanted: Wanted) -> bool:
        if certified(lock, self._boot):
            return has_files(path, wanted)
        if not verify_files(path, wanted):
            return False
        certify(lock, self._boot)
        return True

    def _fill(self, choices: Sequence[Wanted], fetch: Fetch, part: Wanted | None) -> Lease:
        """Find, download, or wait for who does."""
        disk = self._disk
        reason: OSError | OptionError | None = None
        if disk is not None:
            try:
                return self._find(choices) or self._fill_shared(disk, choices, fetch, part)
            except (OSError, OptionError) as error:
                reason = error
        try:
            return self._fill_private(choices[-1], fetch)
        except (OSError, OptionError) as error:
            places = f"{self._scratch}" if disk is None else f"{disk.root.parent} ({reason}) or {self._scratch}"
            raise SplitError(
                f"split {choices[-1].key.path} of {choices[-1].key.table} needs {choices[-1].bytes:,} bytes of local disk "
                f"for its index, which cannot be written to {places} ({error}): free some space, or name another place by "
                "cache.disk.directory",
                table=choices[-1].key.table,
                path=choices[-1].key.path,
            ) from error

    def _fill_shared(self, disk: CacheDisk, choices: Sequence[Wanted], fetch: Fetch, part: Wanted | None) -> Lease:
        wanted = choices[-1]
        path = disk.fetching(wanted.name)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        found: list[Lease] = []

        def attempt() -> int | None:
            lock = try_lock(path, exclusive=True, create=True)
            if lock is None and (lease := self._find(choices, waited=True)) is not None:
                found.append(lease)
                return -1
            return lock

        lock = poll(attempt, self._patience)
        if found:
            return found[0]
        try:
            return self._find(choices, waited=True) or self._download(disk, wanted, fetch, part)
        finally:
            release_fetching(path, lock)

    def _download(self, disk: CacheDisk, wanted: Wanted, fetch: Fetch, part: Wanted | None) -> Lease:
        known = self._shared((part,)) or self._find((part,)) if part is not None else None
        try:
            source = None
            if known is not None and part is not None:
                source = (known.directory, part)
                with self._mutex:
                    self._count(hits=-1)
            try:
                room, fetched = _write_room(disk, wanted, fetch, source)
            except OSError as error:
                if error.errno not in _NO_SPACE or disk.free(wanted.bytes) == 0:
                    raise
                room, fetched = _write_room(disk, wanted, fetch, source)
        finally:
            if known is not None:
                known.release()
        lease = self._publish(disk, wanted, room, fetched)
        if part is not None:
            with suppress(OSError):  # it is of no more use, and will be the least recently used in time
                disk.drop([part.name])
        return lease

    def _publish(self, disk: CacheDisk, wanted: Wanted, room: Room, fetched: int) -> Lease:
        """Make the room an entry, or use the one that somebody else made meanwhile, or keep the room private."""
        try:
            for _ in range(3):
                if disk.publish(room, wanted.name):
                    entry = _Held(wanted.name, disk.entry(wanted.name), room.lease, not wanted.tails)
                    return self._hold(entry, misses=1, fetched_bytes=fetched)
                lease = self._find((wanted,))
                if lease is not None:
                    disk.abandon(room)
                    with self._mutex:
                        self._count(hits=-1, misses=1, fetched_bytes=fetched)
                    return lease
                disk.discard(wanted.name, None)
        except OSError:
            disk.abandon(room)
            raise
        private = _Held(wanted.name, room.path, room.lease, not wanted.tails, room, disk)
        return self._hold(private, misses=1, fetched_bytes=fetched, uncached=1)

    def _fill_private(self, wanted: Wanted, fetch: Fetch) -> Lease:
        with self._mutex:
            if self._scratch_disk is None:
                self._scratch_disk = CacheDisk(self._scratch, 0, boot=self._boot, name="private-1")
            disk = self._scratch_disk
        room, fetched = _write_room(disk, wanted, fetch, None)
        held = _Held(wanted.name, room.path, room.lease, not wanted.tails, room, disk)
        return self._hold(held, misses=1, fetched_bytes=fetched, uncached=1)

    def _hold(self, held: _Held, **counts: int) -> Lease:
        """Enter what was found or made into the table of this process, beside or in place of what is there."""
        with self._mutex:
            self._count(**counts)
            known = self._held.get(held.name)
            if known is not None and os.path.samestat(os.fstat(known.lock), os.fstat(held.lock)):
                os.close(held.lock)
                return self._lease(known)
            self._held[held.name] = held
            return self._lease(held)

    def _lease(self, held: _Held) -> Lease:
        held.leases += 1
        return Lease(self, held)

    def _release(self, held: _Held) -> None:
        with self._mutex:
            held.leases -= 1
            if held.leases:
                return
            if self._held.get(held.name) is held:
                del self._held[held.name]
            if held.room is None:
                with suppress(OSError):  # it looks older than it is, then
                    touch(held.lock)
                os.close(held.lock)
        if held.room is not None and held.disk is not None:
            held.disk.abandon(held.room)
        elif self._disk is not None:
            with suppress(OSError):  # the next one who needs space tries again
                self._disk.settle()

    @contextmanager
    def _turn(self, name: str) -> Iterator[None]:
        """One thread of this process at a time per split, as long as it makes progress."""
        with self._mutex:
            lock, users = self._turns.get(name, (threading.Lock(), 0))
            self._turns[name] = (lock, users + 1)
        taken = False
        try:
            taken = lock.acquire(timeout=self._patience)
            yield
        finally:
            if taken:
                lock.release()
            with self._mutex:
                lock, users = self._turns.pop(name)
                if users > 1:
                    self._turns[name] = (lock, users - 1)

    def _count(self, **more: int) -> None:
        self._counts = replace(self._counts, **{name: getattr(self._counts, name) + n for name, n in more.items()})


def _write_room(disk: CacheDisk, wanted: Wanted, fetch: Fetch, source: tuple[Path, Wanted] | None) -> tuple[Room, int]:
    room = disk.reserve(wanted.bytes)
    try:
        with METRICS.timed("indextables.cache.disk.fill.duration_ms"):
            return room, write_files(room.path, wanted, fetch, source)
    except BaseException:
        disk.abandon(room)
        raise
