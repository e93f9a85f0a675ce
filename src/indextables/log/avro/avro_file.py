r"""Avro object container files: the frame around the records.

    "Obj\x01" │ metadata: map of bytes │ sync marker ┃ count │ size │ block │ sync marker ┃ count │ …

A file that was cut off at the end of a block is a valid Avro file with fewer records, and some readers take even a file cut
inside a block as complete. So nothing here is lenient: magic, lengths, sync markers and the end of the file must fit, and the
caller gets the number of records to compare with what the state says.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, NoReturn

import msgspec
import pyarrow as pa

from indextables.core.errors import CorruptLog
from indextables.core.runtime.threads import CPU

MAGIC = b"Obj\x01"
CODECS = ("zstandard", "snappy", "null", "deflate")
_LONGEST_VARINT = 10
"""Bytes of a 64-bit number in Avro, at most: seven bits a byte."""
_MAX_BLOCK_BYTES = 1 << 31
"""A block that says it is larger is damaged: no writer makes blocks of 2 GiB."""
_BLOCKS_AT_ONCE = 4
"""Blocks that are compressed side by side, and so are in memory at a time."""
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_LEAST = 9
"""Bytes of the shortest zstd frame."""
_ZSTD_REPEATED, _ZSTD_RESERVED = 1, 3
_ZSTD_BLOCK_BYTES = 1 << 17
"""What one block of a frame can hold."""


@dataclass(frozen=True)
class Block:
    """A block of records: their number, their bytes, still compressed, and where the block begins and ends in the file."""

    count: int
    data: memoryview
    start: int = 0
    end: int = 0


@dataclass(frozen=True)
class Container:
    """A container file that was taken apart and found whole."""

    name: str
    schema: Any
    codec: str
    blocks: tuple[Block, ...]
    metadata: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of records, as the headers of the blocks say."""
        return sum(block.count for block in self.blocks)

    def records(self) -> Iterator[tuple[int, bytes]]:
        """The blocks, uncompressed, each with the number of its records."""
        for block in self.blocks:
            yield block.count, bytes(decompress(self.name, self.codec, block.data))


def read_container(name: str, data: bytes) -> Container:
    """Take a file apart. Raises CorruptLog with the file's name unless every byte of it is accounted for."""
    view = memoryview(data)
    if bytes(view[:4]) != MAGIC:
        _corrupt(name, "it is empty" if not data else "it is not an Avro file")
    position = 4
    metadata: dict[str, bytes] = {}
    while True:
        count, position = read_long(name, view, position)
        if count == 0:
            break
        if count < 0:
            count = -count
            _, position = read_long(name, view, position)
        for _ in range(count):
            key, position = _read_bytes(name, view, position)
            value, position = _read_bytes(name, view, position)
            metadata[key.decode("utf-8", "replace")] = value
    sync = bytes(view[position : position + 16])
    position += 16
    codec = metadata.get("avro.codec", b"null").decode("utf-8", "replace")
    if codec not in CODECS:
        _corrupt(name, f"its codec is {codec!r}, known are {', '.join(CODECS)}")
    blocks = tuple(_read_blocks(name, view, position, sync))
    return Container(name, _read_schema(name, metadata), codec, blocks, metadata)


def _read_schema(name: str, metadata: dict[str, bytes]) -> Any:
    try:
        return msgspec.json.decode(metadata.get("avro.schema", b""))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        _corrupt(name, f"its schema cannot be read ({error})")


def _read_blocks(name: str, view: memoryview, position: int, sync: bytes) -> Iterator[Block]:
    if len(sync) != len(b"0123456789abcdef"):
        _corrupt(name, "its header is cut off")
    while position < len(view):
        start = position
        count, position = read_long(name, view, position)
        size, position = read_long(name, view, position)
        if count < 0 or not 0 <= size <= _MAX_BLOCK_BYTES:
            _corrupt(name, f"a block has {count} records in {size} bytes")
        end = position + size
        if bytes(view[end : end + 16]) != sync:
            _corrupt(name, f"the block at byte {position} is cut off, or its sync marker is wrong")
        yield Block(count, view[position:end], start, end + 16)
        position = end + 16


def read_long(name: str, view: memoryview | bytes, position: int) -> tuple[int, int]:
    """A zig-zag varint and the position after it."""
    shift = value = 0
    for _ in range(_LONGEST_VARINT):
        if position >= len(view):
            _corrupt(name, "it is cut off")
        byte = view[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80 and value >> 64 == 0:
            return (value >> 1) ^ -(value & 1), position
        shift += 7
    raise CorruptLog(f"{name} is damaged: a number at byte {position} is too long", object=name)


def _read_bytes(name: str, view: memoryview, position: int) -> tuple[bytes, int]:
    length, position = read_long(name, view, position)
    if length < 0 or position + length > len(view):
        _corrupt(name, "it is cut off")
    return bytes(view[position : position + length]), position + length


def _corrupt(name: str, why: str) -> NoReturn:
    raise CorruptLog(f"{name} is damaged: {why}", object=name)


def decompress(name: str, codec: str, data: memoryview) -> Any:
    """A block's records, as bytes or a buffer. A block that does not decode, or decodes to something else, is an error."""
    try:
        match codec:
            case "null":
                return bytes(data)
            case "deflate":
                return _inflate(name, data)
            case "snappy":
                return _unsnap(name, data)
            case _:
                return _unzstd(data)
    except (pa.ArrowException, OSError, zlib.error, struct.error) as error:
        raise CorruptLog(f"{name} is damaged: a block cannot be decompressed ({error})", object=name) from error


def _unzstd(data: memoryview) -> Any:
    size = zstd_size(data)
    if size is not None:
        return pa.Codec("zstd").decompress(data, decompressed_size=size)
    with pa.CompressedInputStream(pa.py_buffer(data), "zstd") as stream:
        return stream.read()


def zstd_size(data: memoryview) -> int | None:
    """The size of what is compressed, where that is one whole frame that says it, and None otherwise (RFC 8878, 3.1.1).

    Such a frame is decompressed at once, into memory of its size, in three quarters of the time that a stream takes. The frame
    must end where the data ends, and have as many blocks as its size needs: so a size that is a lie takes no memory.
    """
    if len(data) < _ZSTD_LEAST or data[:4] != _ZSTD_MAGIC:
        return None
    flags = data[4]
    single, width, dictionary = flags & 0x20, flags >> 6, flags & 0x03
    if dictionary or flags & 0x08 or not (single or width):
        return None
    at = 5 if single else 6
    bytes_of_size = 1 << width
    size = int.from_bytes(data[at : at + bytes_of_size], "little") + (256 if width == 1 else 0)
    at += bytes_of_size
    last = most = 0
    while not last:
        header = int.from_bytes(data[at : at + 3], "little")
        last, kind = header & 1, header >> 1 & 3
        at += 3 + (1 if kind == _ZSTD_REPEATED else header >> 3)
        most += _ZSTD_BLOCK_BYTES
        if at > len(data) or kind == _ZSTD_RESERVED:
            return None
    return size if size <= most and at + (4 if flags & 0x04 else 0) == len(data) else None


def _inflate(name: str, data: memoryview) -> bytes:
    stream = zlib.decompressobj(wbits=-15)
    text = stream.decompress(data) + stream.flush()
    if not stream.eof:
        _corrupt(name, "a compressed block is cut off")
    return text


def _unsnap(name: str, data: memoryview) -> bytes:
    """Raw snappy with a CRC-32 of the uncompressed bytes behind it."""
    body, checksum = data[:-4], data[-4:]
    size = shift = 0
    for byte in body[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > _MAX_BLOCK_BYTES:
        _corrupt(name, f"a block says it has {size} bytes")
    text: bytes = pa.Codec("snappy").decompress(body, decompressed_size=size, asbytes=True)
    if zlib.crc32(text) != struct.unpack(">I", checksum)[0]:
        _corrupt(name, "the checksum of a block is wrong")
    return text


def compress(codec: str, level: int, data: Any) -> bytes:
    """A block's bytes as they are stored."""
    match codec:
        case "null":
            return bytes(data)
        case "snappy":
            body: bytes = pa.Codec("snappy").compress(data, asbytes=True)
            return body + struct.pack(">I", zlib.crc32(data))
        case "zstandard":
            packed: bytes = pa.Codec("zstd", compression_level=level).compress(data, asbytes=True)
            return packed
        case _:
            raise ValueError(f"codec {codec!r} is not written")


def encode_long(value: int) -> bytes:
    """A zig-zag varint."""
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_bytes(data: bytes) -> bytes:
    """A length and the bytes."""
    return encode_long(len(data)) + data


def write_container(
    schema_json: bytes,
    codec: str,
    level: int,
    blocks: Iterable[tuple[int, Any]],
    more: Callable[[], Mapping[str, bytes]] = dict,
) -> bytes:
    """A file of these blocks, each a number of records and their bytes. `more` is asked for metadata once they are made."""
    sync = os.urandom(16)
    body: list[bytes] = []
    left = iter(blocks)
    while some := list(islice(left, _BLOCKS_AT_ONCE)):
        calls = [partial(compress, codec, level, data) for _, data in some]
        packed = CPU.together(calls) if len(calls) > 1 else [calls[0]()]
        for (count, _), block in zip(some, packed, strict=True):
            body += [encode_long(count), encode_long(len(block)), block, sync]
    metadata = {"avro.schema": schema_json, "avro.codec": codec.encode(), **more()}
    header = [MAGIC, encode_long(len(metadata))]
    for key, value in metadata.items():
        header += [encode_bytes(key.encode()), encode_bytes(value)]
    return b"".join([*header, encode_long(0), sync, *body])
