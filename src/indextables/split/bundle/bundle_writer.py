"""Bundles are written once, in one pass over their parts.

Writing renames the first row file to the bundle and appends the rest behind it, so that rows are hashed but not copied. A
merge hands over parts of other bundles instead of files (`RowsCopy`); they are verified on the way.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
import pyarrow as pa
import xxhash

from indextables.split.bundle.bundle_reader import Pages
from indextables.split.bundle.footer import FORMAT, PAGE_SIZE, Facts, Footer, Part, Region, encode_footer, pack_hashes
from indextables.split.bundle.positions_tail import POSITIONS_SUFFIX, tail_length
from indextables.storage.error_translation import translate

_CHUNK: Final = 1 << 20
"""Bytes that are copied from a local file at once."""
_LEAST_PACKED: Final = 4096
"""Bytes. Smaller index files are not packed: unpacking would cost more than the read of the saved bytes."""
_WORTH_PACKING: Final = 0.95
"""Index files that do not become smaller than this are stored as they are. Positions always are: parts of them are read."""


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
        """How many rows the Vortex file has."""
        return self.part.rows

    def chunks(self) -> Iterator[memoryview]:
        """The bytes of the Vortex file, verified."""
        return self.pages.chunks(self.part.offset, self.part.length)


@dataclass(frozen=True)
class Sealed:
    """A finished bundle: its footer, its size in bytes, and the byte at which the footer begins."""

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
