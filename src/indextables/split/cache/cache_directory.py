"""The directories of the disk cache, shared by all processes of one user.

    <directory>/splits-1/
        gate        the lock for everything below; holds how many bytes there are, so that nobody has to count
        entries/    what can be used: entries appear whole, by a rename, and leave by a rename
        rooms/      what is being written or deleted; a room whose lease nobody holds was left by a process that died
        fetching/   a lock per split that is being downloaded

Killed at any moment, a process leaves a room, a lock file or a count that is too high: the first two are swept, the third
is put right by the next listing. A count is never too low, because bytes are added before they are written and subtracted
after they left: so the bound holds, also for downloads that are still under way.

Entries leave in the order of their last use. A listing is sorted once and then used up: whatever was touched or added since
is younger than what is left of it, so a full cache need not be listed for every new entry.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import struct
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from indextables.core.errors import OptionError
from indextables.split.cache.cache_entry import LEASE, parse_name
from indextables.split.cache.file_lock import is_at, poll, try_lock

GATE_PATIENCE_SECONDS = 10.0

_BOOT_LENGTH = 36
_COUNT = struct.Struct(f"<q{_BOOT_LENGTH}s")
_TAKEN = frozenset({errno.ENOTEMPTY, errno.EEXIST})


class GateStuck(OSError):
    """Somebody holds the gate and does not move: a stopped process, most likely."""


@dataclass(frozen=True)
class Room:
    """A directory of one's own: `lease` is held until it is closed."""

    path: Path
    lease: int
    bytes: int


@dataclass(frozen=True)
class Stored:
    """An entry as a listing shows it."""

    name: str
    table: str
    bytes: int
    used_ns: int


class CacheDisk:
    """Makes rooms, turns them into entries and entries into free space. Safe for threads and processes."""

    def __init__(self, directory: Path, max_bytes: int, *, boot: str, name: str = "splits-1") -> None:
        self.root = directory / name
        self.max_bytes = max_bytes
        self.evictions = 0
        self.evicted_bytes = 0
        self._boot = boot
        self._boot_mark = _boot_mark(boot)
        self._gate_file = self.root / "gate"
        self._entries = self.root / "entries"
        self._entries_text = str(self._entries)
        self._rooms = self.root / "rooms"
        self._fetching = self.root / "fetching"
        self._oldest: deque[Stored] = deque()
        self._prepare()

    def entry(self, name: str) -> Path:
        """Where an entry is, if it is."""
        return self._entries / name

    def fetching(self, name: str) -> Path:
        """The lock of whoever downloads this entry."""
        return self._fetching / name

    def lease(self, name: str) -> int | None:
        """Hold an entry: while the descriptor is open it stays. None when there is no such entry."""
        path = self.entry(name) / LEASE
        try:
            return poll(lambda: try_lock(path, exclusive=False), GATE_PATIENCE_SECONDS)
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
        """Make the room an entry. False when there is one of that name already."""
        touch(room.lease)
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
            with self._gate() as leaving:
                leaving.append(self._move_out(room.path))
                self._add(-room.bytes)
        except OSError:
            # It is gone, or cannot be counted now: what stays is swept, and the count is too high until the next listing.
            shutil.rmtree(room.path, ignore_errors=True)
        finally:
            os.close(room.lease)

    def free(self, size: int) -> int:
        """Evict at least `size` bytes, or all that nobody uses. Returns the bytes freed."""
        with self._gate() as leaving:
            self._list_again(leaving)
            return self._evict(size, leaving)

    def settle(self) -> None:
        """Evict down to the bound, if the cache is above it because everything was in use."""
        count = self._count_in_file()
        if count is None or count > self.max_bytes:
            with self._gate() as leaving:
                self._make_room(leaving)

    def discard(self, name: str, lease: int | None) -> None:
        """Take a damaged entry away, in use or not, unless another has taken its place. None: it has no lease file."""
        path = self.entry(name)
        with self._gate() as leaving:
            here = not (path / LEASE).exists() if lease is None else is_at(lease, path / LEASE)
            if here and path.is_dir():
                leaving.append(self._move_out(path))
                if lease is not None:
                    self._add(-_bytes_in(name))

    def drop(self, names: Iterable[str]) -> list[int]:
        """Delete the entries of these names that nobody uses. Returns the bytes of each one that went."""
        with self._gate() as leaving:
            stored = [self._look(name) for name in names]
            gone = [self._leave(entry, leaving) for entry in stored if entry is not None]
            return [size for size in gone if size is not None]

    def listing(self) -> list[Stored]:
        """Every entry, least recently used first."""
        return self._listing()[0]

    def sweep(self) -> None:
        """Remove what dead processes left behind."""
        with self._gate() as leaving:
            self._sweep_rooms(leaving)
        for path in list(self._fetching.iterdir()):
            release_fetching(path, _try_lock(path))

    def _prepare(self) -> None:
        """Make the directories, and find out whether they can be used."""
        try:
            self.root.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.root.parent.stat().st_uid not in (os.geteuid(), 0):
                raise PermissionError(errno.EPERM, "it belongs to somebody else")
            for directory in (self.root, self._entries, self._rooms, self._fetching):
                directory.mkdir(mode=0o700, exist_ok=True)
                _check_owner(directory)
            with suppress(GateStuck):
                self.sweep()
        except OSError as error:
            raise OptionError(
                f"the disk cache cannot use {self.root.parent} ({error.strerror or error}): "
                "name another place by cache.disk.directory, or set cache.disk.enabled to false",
                directory=str(self.root.parent),
            ) from error

    @contextmanager
    def _gate(self) -> Iterator[list[Path]]:
        """Alone with the directories. What is put into the list is deleted afterwards, with the gate open again."""
        leaving: list[Path] = []
        gate = poll(lambda: try_lock(self._gate_file, exclusive=True, create=True), GATE_PATIENCE_SECONDS)
        if gate is None:
            raise GateStuck(
                errno.EAGAIN, "another process holds the cache's lock and does not move", str(self._gate_file)
            )
        try:
            yield leaving
        finally:
            os.close(gate)
            for directory in leaving:
                shutil.rmtree(directory, ignore_errors=True)

    def _reserve(self, size: int) -> Room:
        with self._gate() as leaving:
            path = self._rooms / f"{secrets.token_hex(8)}-{size}"
            path.mkdir(mode=0o700)
            lease = None
            try:
                lease = try_lock(path / LEASE, exclusive=False, create=True)
                assert lease is not None
                certify(lease, self._boot)
                self._add(size)
                self._make_room(leaving)
            except BaseException:
                shutil.rmtree(path, ignore_errors=True)
                if lease is not None:
                    os.close(lease)
                raise
            return Room(path, lease, size)

    def _make_room(self, leaving: list[Path]) -> None:
        """Evict until the bytes are within the bound; list the entries again when the last listing is used up."""
        for fresh in (False, True):
            if fresh:
                self._list_again(leaving)
            over = self._count(leaving) - self.max_bytes
            if over <= 0 or self._evict(over, leaving) >= over:
                return

    def _evict(self, size: int, leaving: list[Path]) -> int:
        freed = 0
        while freed < size and self._oldest:
            gone = self._leave(self._oldest.popleft(), leaving)
            if gone is not None:
                freed += gone
                self.evictions += 1
                self.evicted_bytes += gone
        return freed

    def _leave(self, entry: Stored, leaving: list[Path]) -> int | None:
        """Move an entry out, unless it is in use or was used since it was listed."""
        lease = _try_lock(self.entry(entry.name) / LEASE)
        if lease is None:
            return None
        try:
            if os.fstat(lease).st_mtime_ns != entry.used_ns:
                return None
            leaving.append(self._move_out(self.entry(entry.name)))
        finally:
            os.close(lease)
        self._add(-entry.bytes)
        return entry.bytes

    def _move_out(self, path: Path) -> Path:
        away = self._rooms / f"{secrets.token_hex(8)}-0"
        path.rename(away)
        return away

    def _sweep_rooms(self, leaving: list[Path]) -> int:
        """Remove the rooms of the dead. Returns the bytes of the others."""
        living = 0
        with os.scandir(self._rooms) as found:
            rooms = [Path(item.path) for item in found]
        for path in rooms:
            try:
                lease = try_lock(path / LEASE, exclusive=True)
            except (FileNotFoundError, NotADirectoryError):
                leaving.append(path)
                continue
            if lease is None:
                living += _bytes_in(path.name)
            else:
                os.close(lease)
                leaving.append(path)
        return living

    def _list_again(self, leaving: list[Path]) -> int:
        """Count what there is, and line it up for eviction. Entries that lost their lease file to a power cut go."""
        # Rooms first: a room that becomes an entry meanwhile is counted twice then, never not at all.
        living = self._sweep_rooms(leaving)
        entries, broken = self._listing()
        leaving += [self._move_out(self.entry(name)) for name in broken]
        self._oldest = deque(entries)
        count = living + sum(entry.bytes for entry in entries)
        self._set_count(count)
        return count

    def _listing(self) -> tuple[list[Stored], list[str]]:
        """The entries, least recently used first, and the names of those without a lease file."""
        try:
            with os.scandir(self._entries) as found:
                names = [item.name for item in found if parse_name(item.name) is not None]
        except FileNotFoundError:
            return [], []
        looked = {name: self._look(name) for name in names}
        entries = sorted(filter(None, looked.values()), key=lambda entry: (entry.used_ns, entry.name))
        return entries, [name for name, entry in looked.items() if entry is None]

    def _look(self, name: str) -> Stored | None:
        parsed = parse_name(name)
        if parsed is None:
            return None
        try:
            used_ns = os.stat(f"{self._entries_text}/{name}/{LEASE}").st_mtime_ns  # noqa: PTH116 - called for each entry
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Stored(name, *parsed, used_ns)

    def _count(self, leaving: list[Path]) -> int:
        """The bytes of all entries and rooms."""
        count = self._count_in_file()
        return self._list_again(leaving) if count is None else count

    def _count_in_file(self) -> int | None:
        """The count, unless there is none or it is from before a power cut."""
        try:
            data = self._gate_file.read_bytes()
        except FileNotFoundError:
            return None
        if len(data) != _COUNT.size:
            return None
        count, boot = _COUNT.unpack(data)
        return int(count) if boot == self._boot_mark else None

    def _add(self, size: int) -> None:
        """Count what was just added or taken away. Where there is no count, the next listing sees it by itself."""
        count = self._count_in_file()
        if count is not None:
            self._set_count(max(0, count + size))

    def _set_count(self, count: int) -> None:
        fd = os.open(self._gate_file, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.pwrite(fd, _COUNT.pack(count, self._boot_mark), 0)
        finally:
            os.close(fd)


def _bytes_in(name: str) -> int:
    """What the name of a room or an entry says about its size; 0 for other names."""
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isascii() and digits.isdigit() else 0


def _try_lock(path: Path) -> int | None:
    try:
        return try_lock(path, exclusive=True)
    except (FileNotFoundError, NotADirectoryError):
        return None


def release_fetching(path: Path, lock: int | None) -> None:
    """Give the right to download back, and delete its file while nobody else can hold it."""
    if lock is not None:
        with suppress(OSError):  # a file that stays is swept
            path.unlink()
        os.close(lock)


def touch(lease: int) -> None:
    """Note that an entry is used now."""
    now = time.time_ns()
    os.utime(lease, ns=(now, now))


def certified(lease: int, boot: str) -> bool:
    """Whether an entry's files were written or verified in this run of the machine."""
    return os.pread(lease, _BOOT_LENGTH, 0) == _boot_mark(boot)


def certify(lease: int, boot: str) -> None:
    """Note that they were."""
    os.pwrite(lease, _boot_mark(boot), 0)


def _boot_mark(boot: str) -> bytes:
    return boot.encode()[:_BOOT_LENGTH].ljust(_BOOT_LENGTH, b"\0")


def _check_owner(directory: Path) -> None:
    """Entries are trusted, so nobody else may be able to put any there."""
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, f"{directory.name} belongs to somebody else", str(directory))
    if found.st_mode & 0o077:
        directory.chmod(0o700)
