"""Bundles are read by range, and never a byte past a checksum.

Reading begins with the footer: **one** ranged read where the log knows its place. Rows are then read through `Pages`,
whole pages at a time, each compared with its checksum before anybody sees it. Vortex would return wrong rows for most
flipped bits, and end the process for some.

A page of a file on local disk is compared once, for as long as the file stays the same file and nobody writes to it. The bytes
that are asked for come from a map of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

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
from indextables.core.runtime.process_state import Lru
from indextables.split.bundle.footer import TRAILER_SIZE, Footer, decode_footer, footer_length, page_hashes
from indextables.storage.local import local_store
from indextables.storage.object_keys import joined
from indextables.storage.open_file import OpenFile, has_room
from indextables.storage.store import Store

_STEP: Final = 1 << 23
"""Bytes of a bundle that are read and verified at once, when all of it is."""
_FIRST_READ: Final = 1 << 16
"""Bytes read from the end of a bundle whose footer may begin anywhere."""
EDGE_PAGES: Final = 16
"""Pages that each open bundle keeps: at most 4 MiB."""
_COMPARED_AT_ONCE: Final = 4
"""Pages of a local file that are read at once to be compared, 1 MiB: the processor still has them in its cache when they are
hashed, and the memory is used again for the next ones."""
_CLEAR_ERRORS: Final = (ObjectNotFound, AccessDenied, StoreUnavailable, StoreMisconfigured, InvalidKey)
"""Errors of a store that say by themselves what is wrong."""


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


class _ComparedPages:
    """Which pages of a local file agree with their checksums. Holds for the file in the state in which it was opened."""

    __slots__ = ("_compared", "file")

    def __init__(self, file: OpenFile, pages: int) -> None:
        self.file = file
        self._compared = bytearray(pages)

    def missing(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The pages from `first` to `last` that were not compared yet, as runs: the first page of each, and the page after it."""
        compared = self._compared
        begin = compared.find(0, first, last + 1)
        while begin >= 0:
            most = min(begin + _COMPARED_AT_ONCE, last + 1)
            stop = compared.find(1, begin, most)
            yield begin, (most if stop < 0 else stop)
            begin = compared.find(0, most if stop < 0 else stop, last + 1)

    def add(self, begin: int, stop: int) -> None:
        """Remember that the pages from `begin` to before `stop`, read after the file was opened, agree with their checksums."""
        self._compared[begin:stop] = b"\1" * (stop - begin)

    def read(self, start: int, end: int) -> memoryview | None:
        """Bytes of pages that were compared; None if the file has changed, or does not have the bytes any more."""
        try:
            data = self.file.read(start, end)
        except OSError:  # the store says what is wrong
            return None
        return data if len(data) == end - start and self.file.is_current else None


class Pages:
    """The rows region of a bundle: bytes by range, each verified. Safe to use from many threads.

    Reads of Vortex meet in the middle of pages. Of a local file each page is compared once. Of other stores the first and the
    last page of each read are kept for a while.
    """

    def __init__(self, store: Store, key: str, footer: Footer) -> None:
        self._store = store
        self._key = key
        self._where = joined(store.root, key)
        self._length = footer.rows_length
        self._page = footer.page_size
        self._hashes = page_hashes(footer)
        self._edges: Lru[int, memoryview] = Lru(EDGE_PAGES)
        self._local = local_store(store)
        self._compared: _ComparedPages | None = None

    @property
    def where(self) -> str:
        """The split's full address, for messages."""
        return self._where

    @property
    def near(self) -> bool:
        """True if the bundle is on local disk: extra reads are cheap."""
        return self._local is not None

    @property
    def is_mapped(self) -> bool:
        """True if the bytes that are read belong to the system's cache of files, and take no memory of this process."""
        compared = self._compared_pages()
        return compared is not None and compared.file.is_mapped

    def read(self, offset: int, length: int) -> memoryview:
        """`length` bytes of the rows region from `offset` on, verified. Raises CorruptSplit, or the error of the store."""
        end = offset + length
        if offset < 0 or length < 0 or end > self._length:
            raise CorruptSplit(
                f"{self._where} is damaged: bytes {offset} to {end} were asked for, its rows have {self._length}",
                split=self._where,
            )
        if not length:
            return memoryview(b"")
        first, last = offset // self._page, (end - 1) // self._page
        compared = self._compared_pages()
        if compared is not None:
            data = self._read_local(compared, offset, end)
            if data is not None:
                return data
            self._compared = None  # the file is another one: nothing of it was compared
        head = self._edges.get(first)
        if head is not None and first == last:
            return head[offset - first * self._page : end - first * self._page]
        tail = self._edges.get(last) if last > first else None
        begin = first + (head is not None)
        stop = last + 1 - (tail is not None)
        parts = [part for part in (head, self._fetch(begin, stop), tail) if part is not None]
        data = parts[0] if len(parts) == 1 else memoryview(b"".join(parts))
        return data[offset - first * self._page : end - first * self._page]

    def chunks(self, offset: int, length: int) -> Iterator[memoryview]:
        """`length` bytes of the rows region from `offset` on, verified, in pieces of at most 8 MiB, for copying."""
        end = offset + length
        while offset < end:
            stop = min((offset // _STEP + 1) * _STEP, end)
            yield self.read(offset, stop - offset)
            offset = stop

    def _compared_pages(self) -> _ComparedPages | None:
        """The pages of a local file that were compared; None where a change of the file could go unnoticed, or where the process
        holds so many files open already that this one is opened for each read.
        """
        if self._local is None or self._compared is not None:
            return self._compared
        if not has_room():
            return None
        file = self._local.open_file(self._key)
        if file.is_settled:
            self._compared = _ComparedPages(file, len(self._hashes))
        return self._compared

    def _read_local(self, compared: _ComparedPages, offset: int, end: int) -> memoryview | None:
        """Bytes of a local file, whose pages are compared unless they were before. None if the file has changed."""
        for begin, stop in compared.missing(offset // self._page, (end - 1) // self._page):
            self._compare(begin, stop)
            compared.add(begin, stop)
        return compared.read(offset, end)

    def _fetch(self, begin: int, stop: int) -> memoryview | None:
        if begin >= stop:
            return None
        data = self._compare(begin, stop)
        self._keep(begin, data[: self._page])
        self._keep(stop - 1, data[(stop - 1 - begin) * self._page :])
        return data

    def _compare(self, begin: int, stop: int) -> memoryview:
        """The bytes of the pages from `begin` to before `stop`, read from the store and compared with their checksums."""
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
        return data

    def _keep(self, page: int, data: memoryview) -> None:
        self._edges.put(page, memoryview(bytes(data)))  # a view would keep the whole read in memory


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
