"""What one entry of the disk cache is: its name, its files, and how both are checked.

    <table>-<split>-<whole or sparse>-<bytes>/
        .indextables-lease    locked shared by everyone who uses the entry; holds the boot in which its files were written
                              or checked; its time of change is when the last lease ended
        meta.json, *.idx …    the files of one Tantivy index

The name is a digest of the table, the path, the fingerprint and the checksum of every file, so whatever the texts contain,
the name is safe, and two different splits cannot share an entry. Table and bytes stand in the name as they are, so that a
listing is enough to evict and to flush.

A sparse entry lacks the insides of its positions files (see `positions_tail.py`).
"""

from __future__ import annotations

import errno
import functools
import hashlib
import json
import os
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import xxhash

from indextables.core.errors import CorruptSplit
from indextables.split.bundle.footer import Region
from indextables.split.cache.lease_file import LEASE

Fetch = Callable[[Sequence[Region]], Sequence[bytes | memoryview]]
"""Gives the bytes of regions of one split, in order."""

_NAME: Final = re.compile(r"([0-9a-f]{16})-[0-9a-f]{40}-[ws]-([0-9]{1,19})")
_PORTION: Final = 64 << 20
"""Bytes that are fetched at once and lie in memory together: all of an ordinary split, and a part of a huge one."""
_CHUNK: Final = 1 << 20
"""Bytes that are read at once when a file is verified."""
_NOT_THE_FILE: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Errors of opening a file that say nothing about the file."""
_NO_LINKS: Final = frozenset({errno.EMLINK, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV})
"""Errors of a file system that makes no hard links here: the file is fetched instead."""


@dataclass(frozen=True)
class CacheKey:
    """Which split: its table (root URL or id), its path in the table, and the xxh3 of its footer."""

    table: str
    path: str
    fingerprint: int | str


class FetchFailed(Exception):
    """An OSError of the caller's `fetch`, kept apart from those of the cache's own disk."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True)
class Wanted:
    """The files of one entry. `tails` names the regions of which only the end is there."""

    key: CacheKey
    regions: tuple[Region, ...]
    tails: dict[str, Region]
    name: str
    bytes: int

    @staticmethod
    def full(key: CacheKey, regions: Sequence[Region]) -> Wanted:
        """The entry with all files of an index. Raises CorruptSplit if the footer names files that cannot be."""
        return _wanted(key, regions, ())

    @staticmethod
    def without_positions(key: CacheKey, regions: Sequence[Region], tails: Sequence[Region]) -> Wanted:
        """The entry that has only the `tails` of the files they belong to. Raises CorruptSplit as `full` does."""
        return _wanted(key, regions, tails)

    @property
    def has_positions(self) -> bool:
        """Whether queries that need the places of words can be answered."""
        return not self.tails

    def fetched(self) -> list[Region]:
        """The regions that have to be read from the split, in the order of the split."""
        return sorted((self.tails.get(region.name, region) for region in self.regions), key=lambda part: part.offset)


def _wanted(key: CacheKey, regions: Sequence[Region], tails: Sequence[Region]) -> Wanted:
    """Check the regions that a footer names, and name the entry."""
    by_name = {region.name: region for region in regions}
    if len(by_name) != len(regions) or not regions:
        raise _corrupt(key, "its footer names an index file twice, or none at all")
    for name in by_name:
        if not _is_plain(name):
            raise _corrupt(key, f"its footer names an index file {name!r}, which is no plain file name")
    ends = {tail.name: tail for tail in tails}
    for tail in tails:
        file = by_name.get(tail.name)
        if file is None or not _is_tail(tail, file) or len(ends) != len(tails):
            raise _corrupt(key, f"its footer names a tail of {tail.name} that is not the end of an index file")
    return Wanted(key, tuple(regions), ends, *_name(key, regions, tails))


def table_mark(table: str) -> str:
    """The part of an entry's name that stands for its table."""
    return hashlib.blake2b(json.dumps(table).encode(), digest_size=8).hexdigest()


def parse_name(name: str) -> tuple[str, int] | None:
    """The table's mark and the bytes in an entry's name; None for any other name."""
    match = _NAME.fullmatch(name)
    return None if match is None else (match[1], int(match[2]))


@functools.cache
def current_boot() -> str:
    """What tells this run of the machine from the one before a power cut.

    Where the system does not say, every process counts as a run of its own, and checks what it finds.
    """
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return str(uuid.uuid4())


def write_files(directory: Path, wanted: Wanted, fetch: Fetch, sparse: tuple[Path, Wanted] | None = None) -> int:
    """Fetch, verify and write the files of an entry. Returns the bytes fetched.

    Files that the index directory of a `sparse` entry of the same split has whole are linked instead.
    """
    needed = wanted.fetched()
    if sparse is not None:
        source, part = sparse
        needed = [
            region
            for region in needed
            if region.name in part.tails or not _linked(source / region.name, directory / region.name)
        ]
    sizes = {region.name: region.size for region in wanted.regions}
    for portion in _portions(needed):
        for region, data in zip(portion, _fetched(wanted.key, portion, fetch), strict=True):
            _write(directory / region.name, _unpacked(wanted.key, region, data), sizes[region.name])
    return sum(region.length for region in needed)


def has_files(directory: Path, wanted: Wanted) -> bool:
    """Whether every file is there with its length: what is asked of an entry written in this run of the machine."""
    try:
        return all((directory / region.name).stat().st_size == region.size for region in wanted.regions)
    except OSError:
        return False


def verify_files(directory: Path, wanted: Wanted) -> bool:
    """Whether every byte is what the footer says: asked of entries that may have been through a power cut."""
    try:
        return all(
            _verified(directory / region.name, region, wanted.tails.get(region.name)) for region in wanted.regions
        )
    except OSError as error:
        if error.errno in _NOT_THE_FILE:
            raise
        return False


def _name(key: CacheKey, regions: Sequence[Region], tails: Sequence[Region]) -> tuple[str, int]:
    facts = (
        (key.table, key.path, str(key.fingerprint)),
        sorted((region.name, region.length, region.xxh3) for region in regions),
        sorted((tail.name, tail.length, tail.xxh3) for tail in tails),
    )
    digest = hashlib.blake2b(json.dumps(facts).encode(), digest_size=20).hexdigest()
    left_out = {tail.name for tail in tails}
    size = sum(part.size for part in (*(r for r in regions if r.name not in left_out), *tails))
    return f"{table_mark(key.table)}-{digest}-{'s' if tails else 'w'}-{size}", size


def _is_plain(name: str) -> bool:
    if not name or name in (".", "..", LEASE) or "/" in name or "\0" in name:
        return False
    try:
        return len(name.encode()) <= 255
    except UnicodeEncodeError:
        return False


def _is_tail(tail: Region, whole: Region) -> bool:
    return (
        not whole.raw and 0 < tail.length <= whole.length and tail.offset + tail.length == whole.offset + whole.length
    )


def _portions(regions: Sequence[Region]) -> list[list[Region]]:
    """Regions to ask for at once: all of an ordinary split, and a bounded part of a huge one."""
    portions: list[list[Region]] = []
    room = 0
    for region in regions:
        if not portions or region.length > room:
            portions.append([])
            room = _PORTION
        portions[-1].append(region)
        room -= region.length
    return portions


def _fetched(key: CacheKey, regions: Sequence[Region], fetch: Fetch) -> Sequence[bytes | memoryview]:
    try:
        found = fetch(regions)
    except OSError as error:
        raise FetchFailed(error) from error
    if len(found) != len(regions):
        raise _corrupt(key, f"{len(regions)} index regions were asked for and {len(found)} came")
    for region, data in zip(regions, found, strict=True):
        length = memoryview(data).nbytes
        if length != region.length:
            raise _corrupt(key, f"{region.name} has {length:,} bytes, its footer says {region.length:,}")
        if xxhash.xxh3_64_intdigest(data) != region.xxh3:
            raise _corrupt(key, f"{region.name} does not match its checksum")
    return found


def _unpacked(key: CacheKey, region: Region, data: bytes | memoryview) -> bytes | memoryview:
    """A file as it was before it was packed, verified once more."""
    if not region.raw:
        return data
    try:
        with pa.CompressedInputStream(pa.py_buffer(data), "zstd") as stream:
            found = bytes(stream.read(region.raw + 1))
    except (OSError, pa.ArrowException) as error:
        raise _corrupt(key, f"{region.name} cannot be unpacked ({error})") from error
    if len(found) != region.raw or xxhash.xxh3_64_intdigest(found) != region.raw_xxh3:
        raise _corrupt(key, f"{region.name}, unpacked, does not match its checksum")
    return found


def _write(path: Path, data: bytes | memoryview, length: int) -> None:
    """Write a file of `length` bytes that ends with `data`; what comes before stays a hole."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        view = memoryview(data).cast("B")
        if view.nbytes < length:
            os.ftruncate(fd, length)
            os.lseek(fd, length - view.nbytes, os.SEEK_SET)
        while view:
            view = view[os.write(fd, view) :]
    finally:
        os.close(fd)


def _linked(old: Path, new: Path) -> bool:
    try:
        os.link(old, new)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return False
    return True


def _verified(path: Path, whole: Region, tail: Region | None) -> bool:
    with path.open("rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size != whole.size:
            return False
        hole = 0 if tail is None else whole.length - tail.length
        while hole:
            zeros = file.read(min(_CHUNK, hole))
            if not zeros or zeros.count(0) != len(zeros):
                return False
            hole -= len(zeros)
        digest = xxhash.xxh3_64()
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return bool(digest.intdigest() == (tail or whole).digest)


def _corrupt(key: CacheKey, what: str) -> CorruptSplit:
    return CorruptSplit(f"split {key.path} of {key.table} is damaged: {what}", table=key.table, path=key.path)
