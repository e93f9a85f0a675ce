"""Bundles: written once, in one pass over their parts; read by range, and never a byte past a checksum.

Writing renames the first row file to the bundle and appends the rest behind it, so that rows are hashed but not copied. A
merge hands over parts of other bundles instead of files (`RowsCopy`); they are verified on the way.

Reading begins with the footer: **one** ranged read where the log knows its place. Rows are then read through `Pages`,
whole pages at a time, each compared with its checksum before anybody sees it. Vortex would return wrong rows for most
flipped bits, and end the process for some.
"""

from __future__ import annotations

import io
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
import pyarrow as pa
import xxhash

from indextables.core.errors import (
    AccessDenied,
    CorruptSplit,
    InvalidKey,
    ObjectNotFound,
    StorageError,
    StoreMisconfigured,
    StoreUnavailable,
)
from indextables.split.bundle.footer import (
    FORMAT,
    PAGE_SIZE,
    TRAILER_SIZE,
    Facts,
    Footer,
    Part,
    Region,
    decode_footer,
    encode_footer,
    footer_length,
    pack_hashes,
    page_hashes,
)
from indextables.split.bundle.positions_tail import POSITIONS_SUFFIX, tail_length
from indextables.storage.error_translation import translate
from indextables.storage.local import local_store
from indextables.storage.object_keys import joined
from indextables.storage.store import Store

_CHUNK: Final = 1 << 20
_STEP: Final = 1 << 23
_FIRST_READ: Final = 1 << 16
"""Bytes read from the end of a bundle whose footer may begin anywhere."""

_LEAST_PACKED: Final = 4096
_WORTH_PACKING: Final = 0.95
"""Index files that do not become smaller than this are stored as they are. Positions always are: parts of them are read."""

_EDGE_PAGES: Final = 16
_CLEAR_ERRORS: Final = (ObjectNotFound, AccessDenied, StoreUnavailable, StoreMisconfigured, InvalidKey)


@dataclass(frozen=True)
class RowsFile:
    """A Vortex file on local disk. `write_bundle` takes it over."""

    path: Path
    rows: int


@dataclass(frozen=True)
class RowsCopy:
    """A Vortex file inside another bundle."""

    pages: Pages
    part: Part

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.part.rows

    def chunks(self) -> Iterator[memoryview]:
        """Its bytes, verified."""
        return self.pages.chunks(self.part.offset, self.part.length)


@dataclass(frozen=True)
class Sealed:
    """A finished bundle."""

    footer: Footer
    size: int
    footer_start: int


def write_bundle(out: Path, rows: Sequence[RowsFile | RowsCopy], index_files: Sequence[Path], facts: Facts) -> Sealed:
    """Put rows, index files and footer into one file at `out`. The row files are gone afterwards, also after an error.

    Raises StorageError if the disk is full or fails, and leaves no file behind then.
    """
    counted = sum(part.rows for part in rows)
    assert counted == facts.rows, f"{counted} rows in the parts, {facts.rows} in the facts"
    try:
        with _begin(out, rows) as file:
            sealed = _seal(file, rows, index_files, facts)
    except BaseException as error:
        for path in (out, *(part.path for part in rows if isinstance(part, RowsFile))):
            with suppress(OSError):
                path.unlink()
        if isinstance(error, OSError):
            raise translate(error, str(out.parent), out.name, "put") from error
        raise
    return sealed


def read_footer(store: Store, key: str, *, size: int | None = None, footer_start: int | None = None) -> Footer:
    """The footer of a bundle. One read where both places are known, as the log has them.

    Raises CorruptSplit for anything that does not fit together; what the store itself says (ObjectNotFound, …) passes.
    """
    where = joined(store.root, key)
    known = size
    if size is None:
        size = store.head(key).size
    if footer_start is None:
        first = max(size - _FIRST_READ, 0)
        tail = _read_end(store, key, first, size, known)
        if len(tail) < TRAILER_SIZE:
            raise CorruptSplit(f"{where} is damaged: it has {size} bytes only", split=where)
        length = footer_length(memoryview(tail)[-TRAILER_SIZE:], where)
        if length > size:
            raise CorruptSplit(f"{where} is damaged: it has {size} bytes, its footer alone has {length}", split=where)
        footer_start = size - length
        if footer_start >= first:
            return decode_footer(tail[footer_start - first :], footer_start, where)
    if not 0 <= footer_start <= size:
        raise CorruptSplit(f"{where} is damaged: its footer begins at {footer_start} of {size} bytes", split=where)
    return decode_footer(_read_end(store, key, footer_start, size, known), footer_start, where)


def verify_bundle(store: Store, key: str, footer: Footer) -> None:
    """Read everything and compare every checksum. Raises CorruptSplit."""
    pages = Pages(store, key, footer)
    for _ in pages.chunks(0, footer.rows_length):
        pass
    for region in (*footer.index, *footer.tails):
        digest = xxhash.xxh3_64()
        for start in range(0, region.length, _STEP):
            end = min(start + _STEP, region.length)
            digest.update(_exactly(store, key, region.offset + start, region.offset + end))
        if digest.intdigest() != region.xxh3:
            where = joined(store.root, key)
            raise CorruptSplit(f"{where} is damaged: the checksum of {region.name} does not match", split=where)


class Pages:
    """The rows region of a bundle: bytes by range, each verified. Safe to use from many threads.

    Reads of Vortex meet in the middle of pages, so the first and the last page of each read are kept for a while.
    """

    def __init__(self, store: Store, key: str, footer: Footer) -> None:
        self._store = store
        self._key = key
        self._where = joined(store.root, key)
        self._length = footer.rows_length
        self._page = footer.page_size
        self._hashes = page_hashes(footer)
        self._edges: OrderedDict[int, memoryview] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def where(self) -> str:
        """The split's full address, for messages."""
        return self._where

    @property
    def near(self) -> bool:
        """Whether they lie on a disk of this machine, so that a read more or less does not matter."""
        return local_store(self._store) is not None

    def read(self, offset: int, length: int) -> memoryview:
        """These bytes of the rows region. Raises CorruptSplit, or what the store says."""
        end = offset + length
        if offset < 0 or length < 0 or end > self._length:
            raise CorruptSplit(
                f"{self._where} is damaged: bytes {offset} to {end} were asked for, its rows have {self._length}",
                split=self._where,
            )
        if not length:
            return memoryview(b"")
        first, last = offset // self._page, (end - 1) // self._page
        head = self._edge(first)
        if head is not None and first == last:
            return head[offset - first * self._page : end - first * self._page]
        tail = self._edge(last) if last > first else None
        begin = first + (head is not None)
        stop = last + 1 - (tail is not None)
        parts = [part for part in (head, self._fetch(begin, stop), tail) if part is not None]
        data = parts[0] if len(parts) == 1 else memoryview(b"".join(parts))
        return data[offset - first * self._page : end - first * self._page]

    def chunks(self, offset: int, length: int) -> Iterator[memoryview]:
        """The same in pieces of a bounded size, for copying."""
        end = offset + length
        while offset < end:
            stop = min((offset // _STEP + 1) * _STEP, end)
            yield self.read(offset, stop - offset)
            offset = stop

    def _fetch(self, begin: int, stop: int) -> memoryview | None:
        if begin >= stop:
            return None
        start, end = begin * self._page, min(stop * self._page, self._length)
        data = memoryview(_exactly(self._store, self._key, start, end))
        for page in range(begin, stop):
            at = (page - begin) * self._page
            if xxhash.xxh3_64_intdigest(data[at : at + self._page]) != self._hashes[page]:
                raise CorruptSplit(
                    f"{self._where} is damaged: the checksum of bytes {page * self._page} to "
                    f"{min((page + 1) * self._page, self._length)} does not match",
                    split=self._where,
                )
        self._keep(begin, data[: self._page])
        self._keep(stop - 1, data[(stop - 1 - begin) * self._page :])
        return data

    def _edge(self, page: int) -> memoryview | None:
        with self._lock:
            found = self._edges.get(page)
            if found is not None:
                self._edges.move_to_end(page)
            return found

    def _keep(self, page: int, data: memoryview) -> None:
        copy = memoryview(bytes(data))  # a view would keep the whole read in memory
        with self._lock:
            self._edges[page] = copy
            self._edges.move_to_end(page)
            while len(self._edges) > _EDGE_PAGES:
                self._edges.popitem(last=False)


class _Hasher:
    """The checksums of pages, from bytes in pieces of any size."""

    def __init__(self) -> None:
        self._hashes: list[int] = []
        self._page = xxhash.xxh3_64()
        self._filled = 0
        self.length = 0

    def update(self, data: memoryview) -> None:
        self.length += len(data)
        while len(data):
            piece = data[: PAGE_SIZE - self._filled]
            self._page.update(piece)
            self._filled += len(piece)
            data = data[len(piece) :]
            if self._filled == PAGE_SIZE:
                self._close()

    def finish(self) -> bytes:
        if self._filled:
            self._close()
        return pack_hashes(self._hashes)

    def _close(self) -> None:
        self._hashes.append(self._page.intdigest())
        self._page.reset()
        self._filled = 0


def _begin(out: Path, rows: Sequence[RowsFile | RowsCopy]) -> BinaryIO:
    """The file of the bundle, with the first row file in it if that can be had by a rename."""
    first = rows[0] if rows else None
    if isinstance(first, RowsFile) and _same_disk(first.path, out.parent):
        first.path.replace(out)
        return out.open("r+b", buffering=0)
    return out.open("w+b", buffering=0)


def _same_disk(path: Path, other: Path) -> bool:
    return path.stat().st_dev == other.stat().st_dev


def _seal(file: BinaryIO, rows: Sequence[RowsFile | RowsCopy], index_files: Sequence[Path], facts: Facts) -> Sealed:
    hasher = _Hasher()
    parts: list[Part] = []
    present = os.fstat(file.fileno()).st_size
    for part in rows:
        offset = hasher.length
        if present:
            for data in _chunks(file, present):
                hasher.update(data)
            present = 0
        elif isinstance(part, RowsCopy):
            for data in part.chunks():
                _append(file, data)
                hasher.update(data)
        else:
            with part.path.open("rb", buffering=0) as source:
                for data in _chunks(source, os.fstat(source.fileno()).st_size):
                    _append(file, data)
                    hasher.update(data)
            part.path.unlink()
        parts.append(Part(offset, hasher.length - offset, part.rows))
    regions, tails, end = _append_index(file, index_files, hasher.length)
    footer = Footer(
        **msgspec.structs.asdict(facts),
        format=FORMAT,
        rows_length=hasher.length,
        page_size=PAGE_SIZE,
        pages=hasher.finish(),
        parts=tuple(parts),
        index=tuple(regions),
        tails=tuple(tails),
    )
    closing, footer = encode_footer(footer)
    _append(file, memoryview(closing))
    return Sealed(footer, end + len(closing), end)


def _append_index(file: BinaryIO, index_files: Sequence[Path], end: int) -> tuple[list[Region], list[Region], int]:
    regions: list[Region] = []
    tails: list[Region] = []
    for path in index_files:
        with path.open("rb", buffering=0) as source:
            size = os.fstat(source.fileno()).st_size
            tail = tail_length(path) if path.suffix == POSITIONS_SUFFIX else None
            region = (
                _append_packed(file, source, path.name, end, size) if tail is None and size >= _LEAST_PACKED else None
            )
            if region is None:
                digest = xxhash.xxh3_64()
                for data in _chunks(source, size):
                    _append(file, data)
                    digest.update(data)
                region = Region(path.name, end, size, digest.intdigest())
            if tail is not None:
                xxh3 = xxhash.xxh3_64_intdigest(os.pread(source.fileno(), tail, size - tail))
                tails.append(Region(path.name, end + size - tail, tail, xxh3))
        regions.append(region)
        end += region.length
    return regions, tails, end


class _Sink(io.RawIOBase):
    """Where packed bytes go: to the end of a file, counted and hashed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = xxhash.xxh3_64()
        self.length = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data)
        _append(self._file, view)
        self.digest.update(view)
        self.length += view.nbytes
        return view.nbytes


def _append_packed(file: BinaryIO, source: BinaryIO, name: str, end: int, size: int) -> Region | None:
    """An index file, packed. None, and nothing is written, where that saves too little."""
    sink, digest = _Sink(file), xxhash.xxh3_64()
    with pa.CompressedOutputStream(pa.PythonFile(sink, "w"), "zstd") as out:
        for data in _chunks(source, size):
            out.write(data)
            digest.update(data)
    if sink.length <= size * _WORTH_PACKING:
        return Region(name, end, sink.length, sink.digest.intdigest(), size, digest.intdigest())
    file.truncate(end)
    file.seek(end)
    source.seek(0)
    return None


def _chunks(file: BinaryIO, size: int) -> Iterator[memoryview]:
    """The next `size` bytes. Each chunk is valid until the next one is asked for."""
    buffer = bytearray(min(_CHUNK, size))
    while size:
        count = file.readinto(memoryview(buffer)[:size])  # type: ignore[attr-defined]
        if not count:
            raise OSError(f"{file.name} was cut short while it was read")
        yield memoryview(buffer)[:count]
        size -= count


def _append(file: BinaryIO, data: memoryview) -> None:
    while len(data):
        data = data[file.write(data) :]


def _read_end(store: Store, key: str, start: int, size: int, known: int | None) -> bytes:
    """Bytes up to what should be the end. If there is no such range, the reason is that the size is another one."""
    try:
        return _exactly(store, key, start, size)
    except CorruptSplit:
        raise
    except StorageError as error:
        if isinstance(error, _CLEAR_ERRORS) or known is None:
            raise
        found = store.head(key).size
        if found == size:
            raise
        where = joined(store.root, key)
        raise CorruptSplit(f"{where} is damaged: it has {found} bytes, the log says {size}", split=where) from error


def _exactly(store: Store, key: str, start: int, end: int) -> bytes:
    data = store.get_range(key, start, end)
    if len(data) != end - start:
        where = joined(store.root, key)
        raise CorruptSplit(f"{where} is damaged: it ends before byte {end}", split=where)
    return data
