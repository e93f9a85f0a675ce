r"""What a bundle says about itself, as bytes and back.

    [footer: JSON, zstd][xxh3 of these bytes: u64][their length: u64][magic: ITSPLIT\x01]

All that the log knows about a split stands here again, so that a lost log can be rebuilt from the splits alone. Where
things lie stands here only: the rows (one or more Vortex files, see `Part`) from offset 0, then the index files, then the
footer, without gaps.

Nothing of a footer is used before its checksum was compared, and none of its lengths and offsets before they were found
to fit together: names of index files become names in a cache, and offsets become reads.
"""

from __future__ import annotations

import struct
import sys
from typing import Final, NoReturn

import msgspec
import pyarrow as pa
import xxhash

from indextables.core.errors import CorruptSplit, SplitError

FORMAT: Final = 1
"""The version of the footer that this release writes. It reads no other."""
MAGIC: Final = b"ITSPLIT\x01"
PAGE_SIZE: Final = 1 << 18
"""Bytes under one checksum of the rows region."""

_TRAILER: Final = struct.Struct("<QQ8s")
TRAILER_SIZE: Final = _TRAILER.size
_LONGEST: Final = 1 << 28
"""No footer is longer than this, packed or unpacked."""

_LARGEST_FILE: Final = 1 << 40
"""Bytes of a file inside a bundle. A footer that says more is damaged."""
_HASH_SIZE: Final = 8
"""Bytes of one xxh3."""
_LEVEL: Final = 3
"""The level of zstd: higher levels save less than one per cent of a footer."""


class Region(msgspec.Struct, frozen=True, omit_defaults=True):
    """The place of an index file inside the bundle. The file lies there as it is, or packed (zstd) if that saves space."""

    name: str
    offset: int
    length: int
    """Bytes in the bundle."""
    xxh3: int
    """The checksum of these bytes."""
    raw: int = 0
    """Bytes of the file, if it is packed."""
    raw_xxh3: int = 0

    @property
    def size(self) -> int:
        """Bytes of the file on local disk."""
        return self.raw or self.length

    @property
    def digest(self) -> int:
        """The xxh3 of the file on local disk."""
        return self.raw_xxh3 if self.raw else self.xxh3


class Part(msgspec.Struct, frozen=True):
    """The place of a Vortex file inside the rows region. Rows are numbered on from part to part.

    Most splits have one. There are more if the rows are so wide that a single file would have to be held in memory to be
    written, and after merges, which put the files of their sources one behind the other.
    """

    offset: int
    length: int
    rows: int


class Source(msgspec.Struct, frozen=True):
    """Where the rows of one source of a merge begin. An index entry names its source and its row in there."""

    source: int
    first_row: int
    rows: int


class Facts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the writer of a split knows about its contents."""

    rows: int
    schema: str
    """Spark's JSON, without the partition columns: these have one value per split."""
    doc_mapping: str
    partition_values: dict[str, str | None] = {}
    min_values: dict[str, str] = {}
    max_values: dict[str, str] = {}
    null_counts: dict[str, int] = {}
    distinct: dict[str, int] = {}
    """At most how many different values a string column has, where these are few."""
    uncompressed_bytes: int = 0
    time_range: tuple[str, str] | None = None
    tags: dict[str, str | None] = {}
    num_merge_ops: int = 0
    created_ms: int = 0
    created_by: str = ""
    engines: dict[str, str] = {}
    """The versions of the libraries that wrote the rows and the index."""
    inexact: tuple[str, ...] = ()
    """Columns some of whose values the index could not hold: filters on them are answered by the rows."""
    sources: tuple[Source, ...] = ()
    in_row_order: bool = False
    """Whether the documents of the index come in the order of rows. Releases that do not know the field write False."""
    merged_from: tuple[int, ...] = ()
    """Of a merge result, the numbers of its sources, and of the sources of these: a log that is rebuilt from footers does not
    count the rows of a source twice. Older releases do not write the field."""
    table_schema: str = ""
    """Of a partitioned table, Spark's JSON of all its columns: the types of partition columns stand nowhere else in a split.
    Older releases do not write the field."""


class Footer(Facts, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The facts, and where everything lies."""

    format: int
    rows_length: int
    page_size: int
    pages: bytes
    """The xxh3 of each page of the rows region, 8 bytes each, little-endian."""
    parts: tuple[Part, ...]
    index: tuple[Region, ...]
    tails: tuple[Region, ...] = ()
    """The ends of index files that a search can often do without the rest of."""
    fingerprint: int = 0
    """The xxh3 of the footer's bytes, which tells this split from all others. Known once it was encoded or decoded."""


class _Format(msgspec.Struct):
    format: int


_FORMAT = msgspec.json.Decoder(_Format)
_FOOTER = msgspec.json.Decoder(Footer)


def encode_footer(footer: Footer) -> tuple[bytes, Footer]:
    """The end of a bundle, footer and trailer, and the footer with its fingerprint."""
    text = msgspec.json.encode(msgspec.structs.replace(footer, fingerprint=0))
    packed = bytes(pa.Codec("zstd", compression_level=_LEVEL).compress(text, asbytes=True))
    fingerprint = xxhash.xxh3_64_intdigest(packed)
    trailer = _TRAILER.pack(fingerprint, len(packed), MAGIC)
    return packed + trailer, msgspec.structs.replace(footer, fingerprint=fingerprint)


def footer_length(trailer: bytes | memoryview, where: str) -> int:
    """How many bytes of a bundle are footer and trailer, from its last `TRAILER_SIZE` bytes."""
    _, length, magic = _TRAILER.unpack(trailer)
    if magic != MAGIC:
        _corrupt(where, f"it ends with {bytes(magic)!r}, expected {MAGIC!r}")
    if length > _LONGEST:
        _corrupt(where, f"its footer has {length} bytes, no footer has more than {_LONGEST}")
    return int(length) + TRAILER_SIZE


def decode_footer(data: bytes, footer_start: int, where: str) -> Footer:
    """The footer out of the last bytes of a bundle, from `footer_start` to its end. Raises CorruptSplit."""
    if len(data) < TRAILER_SIZE:
        _corrupt(where, f"its footer and trailer have {len(data)} bytes, a trailer alone has {TRAILER_SIZE}")
    view = memoryview(data)
    if footer_length(view[-TRAILER_SIZE:], where) != len(data):
        _corrupt(where, f"the length of its footer is not {len(data) - TRAILER_SIZE} bytes, as its place says")
    packed = view[:-TRAILER_SIZE]
    fingerprint = xxhash.xxh3_64_intdigest(packed)
    if fingerprint != _TRAILER.unpack(view[-TRAILER_SIZE:])[0]:
        _corrupt(where, "the checksum of its footer does not match")
    try:
        text = _unpacked(packed)
        written = _FORMAT.decode(text).format
        if written != FORMAT:
            raise SplitError(
                f"{where} has the split format {written}, this release reads format {FORMAT}: use a newer one",
                split=where,
            )
        footer = _FOOTER.decode(text)
    except (msgspec.DecodeError, pa.ArrowException, OSError, RecursionError) as error:
        raise CorruptSplit(f"{where} is damaged: its footer cannot be decoded ({error})", split=where) from error
    _check(footer, footer_start, where)
    shared = {
        "schema": sys.intern(footer.schema),
        "doc_mapping": sys.intern(footer.doc_mapping),
    }  # one text for all splits
    return msgspec.structs.replace(footer, fingerprint=fingerprint, **shared)


def page_hashes(footer: Footer) -> tuple[int, ...]:
    """The xxh3 of each page of the rows region."""
    return struct.unpack(f"<{len(footer.pages) // _HASH_SIZE}Q", footer.pages)


def pack_hashes(hashes: list[int]) -> bytes:
    """The other way round."""
    return struct.pack(f"<{len(hashes)}Q", *hashes)


def _unpacked(packed: memoryview) -> bytes:
    with pa.CompressedInputStream(pa.py_buffer(packed), "zstd") as stream:
        text = bytes(stream.read(_LONGEST + 1))
    if len(text) > _LONGEST:
        raise OSError(f"more than {_LONGEST} bytes")
    return text


def _check(footer: Footer, footer_start: int, where: str) -> None:
    _check_rows(footer, where)
    end = footer.rows_length
    files: dict[str, Region] = {}
    for region in footer.index:
        if region.offset != end or region.length < 0 or not 0 <= region.raw <= _LARGEST_FILE:
            _corrupt(where, f"its index file {region.name!r} is not where the one before it ends")
        if region.name in files or not _is_file_name(region.name):
            _corrupt(where, f"{region.name!r} cannot be the name of an index file, or is there twice")
        files[region.name] = region
        end += region.length
    if end != footer_start:
        _corrupt(where, f"its regions end at byte {end}, and its footer begins at byte {footer_start}")
    for tail in footer.tails:
        whole = files.get(tail.name)
        if (
            whole is None
            or whole.raw
            or tail.raw
            or tail.offset < whole.offset
            or tail.offset + tail.length != whole.offset + whole.length
        ):
            _corrupt(where, f"the tail of {tail.name!r} is not the end of an index file")


def _check_rows(footer: Footer, where: str) -> None:
    end = rows = 0
    for part in footer.parts:
        if part.offset != end or part.length < 0 or part.rows < 0:
            _corrupt(where, "one of its row files is not where the one before it ends")
        end += part.length
        rows += part.rows
    if end != footer.rows_length or rows != footer.rows:
        _corrupt(
            where, f"its row files have {end} bytes and {rows} rows, its rows {footer.rows_length} and {footer.rows}"
        )
    if footer.page_size < 1 or len(footer.pages) != _HASH_SIZE * -(-footer.rows_length // footer.page_size):
        _corrupt(where, f"{len(footer.pages)} bytes of checksums do not fit {footer.rows_length} bytes of rows")
    first = 0
    for source in footer.sources:
        if source.first_row != first or source.rows < 0:
            _corrupt(where, "one of its sources does not begin where the one before it ends")
        first += source.rows
    if footer.sources and first != footer.rows:
        _corrupt(where, f"its sources have {first} rows, the split has {footer.rows}")


def _is_file_name(name: str) -> bool:
    return name not in {"", ".", ".."} and name.isascii() and name.isprintable() and not set(name) & set("/\\")


def _corrupt(where: str, what: str) -> NoReturn:
    raise CorruptSplit(f"{where} is damaged: {what}", split=where)
