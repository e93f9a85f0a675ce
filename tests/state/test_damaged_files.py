"""Cut off at every byte, bits flipped, emptied, or something else altogether: an error with the file's name, never fewer rows."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from indextables.core.errors import CorruptLog
from indextables.log.avro.manifest import read_manifest, write_manifest
from indextables.log.avro.schemas import FILE_ENTRY, STATE_MANIFEST
from indextables.log.state.load_manifest import load_manifest
from indextables.log.state.model import ManifestItem, State
from indextables.log.state.read import decode_state
from indextables.log.state.writing.encode_state import encode_state
from log.support import LOG, START_MS, MemoryStore, make_log
from state.support import CODECS, as_entries, avro_bytes, entry, files_of, full_entry
from state.test_foreign_files import STATE

NAME = r"m\.avro"


def load(data: bytes, count: int) -> int:
    """Rows of a manifest of which a state knows nothing but the number of its entries, as other writers' states do."""
    store = MemoryStore()
    store.put(f"{LOG}/manifests/m.avro", data)
    return load_manifest(make_log(store), 1, ManifestItem("manifests/m.avro", count), ["path", "size"]).num_rows


def outcome(call: Callable[[], int]) -> int | str:
    """The number of rows, or what the error says. Another error than ours passes through, and fails the test."""
    try:
        return call()
    except CorruptLog as error:
        return str(error)


@pytest.mark.parametrize("codec", CODECS)
def test_a_small_manifest_cut_off_at_every_byte(codec: str) -> None:
    entries = [full_entry(1), entry(2), full_entry(3)]
    data = avro_bytes(FILE_ENTRY, entries, codec, sync_interval=1)
    assert load(data, 3) == 3
    for length in range(len(data)):
        with pytest.raises(CorruptLog, match=NAME):
            load(data[:length], 3)


@pytest.mark.parametrize("codec", ["zstandard", "snappy", "null"])
def test_our_own_manifest_cut_off_at_every_byte(codec: str) -> None:
    data = write_manifest(files_of([full_entry(1)]), codec=codec, level=3)
    for length in range(len(data)):
        with pytest.raises(CorruptLog, match=NAME):
            load(data[:length], 1)


@pytest.mark.parametrize("codec", CODECS)
def test_a_large_manifest_cut_off_anywhere(codec: str) -> None:
    data = avro_bytes(FILE_ENTRY, [entry(n) for n in range(1500)], codec, sync_interval=30_000)
    assert load(data, 1500) == 1500
    chance = random.Random(codec)
    for length in {0, 1, 4, len(data) - 1, len(data) - 16, len(data) - 17, *chance.sample(range(len(data)), 60)}:
        with pytest.raises(CorruptLog, match=NAME):
            load(data[:length], 1500)


def test_a_state_cut_off_at_every_byte() -> None:
    for codec in ("null", "zstandard"):
        data = avro_bytes(STATE_MANIFEST, [STATE], codec)
        for length in range(len(data)):
            with pytest.raises(CorruptLog, match=r"s\.avro"):
                decode_state("s.avro", data[:length], 3)


@pytest.mark.parametrize("count", [3, 1200])
@pytest.mark.parametrize("codec", ["zstandard", "snappy", "deflate"])
def test_flipped_bits_never_lose_rows(codec: str, count: int) -> None:
    """Without a checksum a changed value can pass. A row that is lost, or another error than ours, cannot."""
    whole = avro_bytes(FILE_ENTRY, [entry(n) for n in range(count)], codec)
    chance = random.Random(count)
    noticed = 0
    for _ in range(100 if count < 1000 else 20):
        place, bit = chance.randrange(len(whole)), 1 << chance.randrange(8)
        data = whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :]
        found = outcome(lambda data=data: load(data, count))
        assert found == count or "m.avro" in str(found)
        noticed += found != count
    assert noticed


@pytest.mark.parametrize("count", [3, 1200])
def test_flipped_bits_in_uncompressed_records(count: int) -> None:
    """Nothing but the records' own shape is there to notice anything: still no row goes missing."""
    whole = avro_bytes(FILE_ENTRY, [entry(n) for n in range(count)], "null")
    start = len(avro_bytes(FILE_ENTRY, [], "null"))
    chance = random.Random(count)
    for _ in range(200 if count < 1000 else 20):
        place, bit = chance.randrange(start, len(whole)), 1 << chance.randrange(8)
        data = whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :]
        found = outcome(lambda data=data: len(as_entries(read_manifest("m.avro", data))))
        assert found == count or "m.avro" in str(found)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"O",
        b"Obj",
        b"Obj\x01",
        b"Obj\x02" + bytes(100),
        b"Obj\x01" + bytes(100),
        b"Obj\x01" + b"\xff" * 100,
        b"PAR1" + bytes(100),
        b"\x1f\x8b" + bytes(100),
        b'{"path": "x"}',
        b"not a manifest, but a text of some length",
    ],
)
def test_something_else_altogether(data: bytes) -> None:
    for count in (0, 1, 5000):
        with pytest.raises(CorruptLog, match=NAME):
            load(data, count)
    with pytest.raises(CorruptLog, match=r"s\.avro"):
        decode_state("s.avro", data, 3)


@pytest.mark.parametrize("count", [3, 1200])
def test_what_follows_the_last_block_is_noticed(count: int) -> None:
    data = avro_bytes(FILE_ENTRY, [entry(n) for n in range(count)])
    for rest in (b"\x00", bytes(16), data, b"\x02\x00"):
        with pytest.raises(CorruptLog, match=NAME):
            load(data + rest, count)


@pytest.mark.parametrize("count", [3, 1200])
def test_a_count_that_is_not_what_the_state_says(count: int) -> None:
    data = avro_bytes(FILE_ENTRY, [entry(n) for n in range(count)])
    for wrong in (0, count - 1, count + 1):
        with pytest.raises(CorruptLog, match=rf"{NAME} has {count} entries, state 1 says {wrong}"):
            load(data, wrong)


def test_an_unknown_codec_is_named() -> None:
    data = avro_bytes(FILE_ENTRY, [entry(1)], "bzip2")
    with pytest.raises(CorruptLog, match="bzip2"):
        load(data, 1)


def test_a_flipped_bit_in_a_state_brings_no_file_back() -> None:
    """Nothing outside a state has a checksum of it, and its tombstones are texts that any bit could change."""
    state = State(
        version=7,
        created_at=START_MS,
        manifests=(ManifestItem("manifests/one.avro", num_entries=10, min_added_at_version=1, max_added_at_version=6),),
        tombstones=frozenset(f"day=1/file-{number}.split" for number in range(20)),
    )
    data = encode_state(state, 3)
    expected = decode_state("m", data, 7)
    refused = 0
    for bit in range(0, 8 * len(data), 3):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            found = decode_state("m", bytes(damaged), 7)
        except CorruptLog as error:
            refused += "m " in str(error)
        else:
            assert set(found.tombstones) == set(expected.tombstones), bit
            assert found.manifests == expected.manifests, bit
    assert refused > len(data), "or hardly a bit of it matters"
