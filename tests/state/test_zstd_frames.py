"""Blocks that are one zstd frame are decompressed at once; whatever is not, as a stream. Both give the same."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import CorruptLog
from indextables.log.avro.avro_file import decompress, zstd_size

BLOCK = 1 << 17


def packed(data: bytes, level: int = 3) -> bytes:
    frame: bytes = pa.Codec("zstd", compression_level=level).compress(data, asbytes=True)
    return frame


def streamed(data: bytes) -> bytes:
    """A frame that does not say its size."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def unpacked(data: bytes) -> bytes:
    return bytes(decompress("it", "zstandard", memoryview(data)))


def as_a_stream(data: bytes) -> bytes | None:
    """What a decompressor says that looks for sizes itself; None for an error."""
    try:
        with pa.CompressedInputStream(pa.py_buffer(data), "zstd") as stream:
            return bytes(stream.read())
    except (pa.ArrowException, OSError):
        return None


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 65_791, 65_792, BLOCK - 1, BLOCK, BLOCK + 1, 3_000_000])
@pytest.mark.parametrize("level", [1, 3, 19])
@pytest.mark.parametrize("fill", [b"\0", b"some text that repeats, "])
def test_a_frame_says_its_size(size: int, level: int, fill: bytes) -> None:
    data = (fill * (size // len(fill) + 1))[:size]
    frame = packed(data, level)
    assert zstd_size(memoryview(frame)) == size
    assert unpacked(frame) == data


def test_frames_that_do_not_say_their_size_are_streams() -> None:
    frame = streamed(b"abc" * 1000)
    assert zstd_size(memoryview(frame)) is None
    assert unpacked(frame) == b"abc" * 1000


def test_several_frames_are_one_after_the_other() -> None:
    frames = packed(b"one" * 100) + packed(b"two" * 100)
    assert zstd_size(memoryview(frames)) is None
    assert unpacked(frames) == as_a_stream(frames)


def test_a_size_that_is_a_lie_takes_no_memory() -> None:
    """Two gigabytes, says the header, and there is one block, which can hold 128 kB."""
    frame = bytearray(packed(b"abc" * 30_000))
    assert frame[4] == 0xA0, "four bytes of size"
    frame[5:9] = (1 << 31).to_bytes(4, "little")
    before = pa.default_memory_pool().max_memory()
    assert zstd_size(memoryview(frame)) is None
    with pytest.raises(CorruptLog, match="it is damaged"):
        unpacked(bytes(frame))
    assert pa.default_memory_pool().max_memory() - before < 1 << 26


def test_what_is_cut_off_is_an_error_or_no_frame() -> None:
    frame = packed(bytes(range(256)) * 2000)
    for end in range(1, len(frame), 7):
        assert zstd_size(memoryview(frame[:end])) is None
        with pytest.raises(CorruptLog):
            unpacked(frame[:end])


@settings(max_examples=examples(200), deadline=None)
@given(data=st.binary(max_size=3000), repeat=st.integers(1, 200), flips=st.lists(st.integers(0, 10**6), max_size=3))
def test_any_bytes_give_what_a_stream_gives(data: bytes, repeat: int, flips: list[int]) -> None:
    frame = bytearray(packed(data * repeat))
    for flip in flips:
        frame[flip // 8 % len(frame)] ^= 1 << flip % 8
    expected = as_a_stream(bytes(frame))
    try:
        found = unpacked(bytes(frame))
    except CorruptLog:
        assert expected is None
    else:
        assert found == expected
