"""Bundles: written in one pass, opened with one read, and read by verified pages only."""

from __future__ import annotations

import errno
import json
import os
import random
import struct
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
import xxhash
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import CorruptSplit, ObjectNotFound, SplitError, StorageError, StoreUnavailable
from indextables.split.bundle import bundle_writer
from indextables.split.bundle.bundle_reader import Pages, read_footer, verify_bundle
from indextables.split.bundle.bundle_writer import RowsCopy, RowsFile, Sealed, write_bundle
from indextables.split.bundle.footer import (
    FORMAT,
    MAGIC,
    PAGE_SIZE,
    Footer,
    Part,
    Region,
    Source,
    decode_footer,
    encode_footer,
    page_hashes,
)
from indextables.storage.local import LocalStore
from indextables.storage.store import ObjectMeta
from indextables.storage.testing.counting import Counting
from indextables.storage.testing.faulty import Fault, Faulty, Plan
from split.bundle_support import facts, make, seal

SCHEMA = pa.schema([("n", pa.int64())])
BYTES = random.Random(0).randbytes(3 * PAGE_SIZE + 1000)


def raw(directory: Path, data: bytes = BYTES, index: dict[str, bytes] | None = None, **more: Any) -> Sealed:
    """A bundle whose rows are any bytes."""
    (directory / "rows").write_bytes(data)
    return seal(directory / "a.split", SCHEMA, [RowsFile(directory / "rows", 7)], index, **more)


INDEX = {
    "meta.json": b"{}",
    "0a.term": b"t" * 1000,
    "0a.empty": b"",
    ".managed.json": b"[]",
    "big": random.Random(3).randbytes(3_000_000),
    "0a.store": b"x" * 3_000_000,
    "0a.fast": random.Random(4).randbytes(100_000) + b"y" * 50_000,
}
PACKED = {"0a.store", "0a.fast"}
"""Those that become smaller."""


def stored(data: bytes, region: Region) -> bytes:
    """A file as it was, out of the bytes of a bundle."""
    part = data[region.offset : region.offset + region.length]
    assert xxhash.xxh3_64_intdigest(part) == region.xxh3
    return part if not region.raw else bytes(pa.CompressedInputStream(pa.py_buffer(part), "zstd").read())


def test_the_layout(tmp_path: Path) -> None:
    sealed = raw(tmp_path, index=INDEX)
    data = (tmp_path / "a.split").read_bytes()
    assert len(data) == sealed.size
    assert data.startswith(BYTES)
    assert data.endswith(MAGIC)
    checksum, length = struct.unpack("<QQ", data[-24:-8])
    assert sealed.footer_start + length + 24 == sealed.size
    assert xxhash.xxh3_64_intdigest(data[sealed.footer_start : -24]) == checksum == sealed.footer.fingerprint
    text = pa.CompressedInputStream(pa.py_buffer(data[sealed.footer_start : -24]), "zstd").read()
    assert json.loads(text)["rows"] == 7
    assert [region.name for region in sealed.footer.index] == list(INDEX)
    for region in sealed.footer.index:
        assert stored(data, region) == INDEX[region.name]
        assert region.size == len(INDEX[region.name])
        assert region.digest == xxhash.xxh3_64_intdigest(INDEX[region.name])
    assert {region.name for region in sealed.footer.index if region.raw} == PACKED
    assert sum(region.length for region in sealed.footer.index) < 3_150_000
    assert page_hashes(sealed.footer) == tuple(
        xxhash.xxh3_64_intdigest(BYTES[start : start + PAGE_SIZE]) for start in range(0, len(BYTES), PAGE_SIZE)
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.split"]


def test_a_footer_says_all_that_the_log_knows(tmp_path: Path) -> None:
    more = {
        "partition_values": {"date": "2024-01-01", "none": None},
        "min_values": {"n": "-1"},
        "max_values": {"n": "ü😀"},
        "null_counts": {"n": 3},
        "uncompressed_bytes": 2**40,
        "time_range": ("2024-01-01T00:00:00.000000Z", "2024-01-02T00:00:00.000000Z"),
        "tags": {"a": "b", "c": None},
        "num_merge_ops": 2,
        "created_ms": 1_700_000_000_000,
        "created_by": "indextables 0.1",
        "engines": {"tantivy": "0.27.0", "vortex": "0.90.0"},
        "inexact": ("n",),
        "sources": (Source(-(2**63), 0, 3), Source(2**63 - 1, 3, 4)),
    }
    sealed = raw(tmp_path, index=INDEX, **more)
    footer = read_footer(LocalStore(tmp_path), "a.split", size=sealed.size, footer_start=sealed.footer_start)
    assert footer == sealed.footer
    assert {name: getattr(footer, name) for name in more} == more
    assert footer.rows == 7
    assert footer.schema == facts(SCHEMA, 7).schema


def test_tails_of_positions(tmp_path: Path) -> None:
    directory, closing = struct.pack("<I", 4) + b"", b'{"version":1}'
    tail = b"DDDD" + directory + closing + struct.pack("<II", len(closing), 1337)
    sealed = raw(tmp_path, index={"0.pos": b"p" * 500 + tail, "1.pos": b"strange", "0.term": b"t"})
    (found,) = sealed.footer.tails
    assert found.name == "0.pos"
    assert (tmp_path / "a.split").read_bytes()[found.offset : found.offset + found.length] == tail
    assert found.xxh3 == xxhash.xxh3_64_intdigest(tail)


@pytest.mark.parametrize("known", ["both", "size", "start", "neither"])
@pytest.mark.parametrize("large", [False, True])
def test_what_opening_costs(known: str, large: bool, tmp_path: Path) -> None:
    tags = {str(number): random.Random(number).randbytes(20).hex() for number in range(5000)} if large else {}
    sealed = raw(tmp_path, tags=tags)
    assert (sealed.size - sealed.footer_start > 1 << 16) is large
    store = Counting(LocalStore(tmp_path))
    footer = read_footer(
        store,
        "a.split",
        size=sealed.size if known in {"both", "size"} else None,
        footer_start=sealed.footer_start if known in {"both", "start"} else None,
    )
    assert footer == sealed.footer
    reads = 1 + (large and known in {"size", "neither"})
    assert store.counts == {"get_range": reads} | ({"head": 1} if known in {"start", "neither"} else {})


def test_a_split_that_is_not_there(tmp_path: Path) -> None:
    for known in ({}, {"size": 100, "footer_start": 10}):
        with pytest.raises(ObjectNotFound, match=r"a\.split"):
            read_footer(LocalStore(tmp_path), "a.split", **known)


def test_errors_of_the_store_pass(tmp_path: Path) -> None:
    sealed = raw(tmp_path)
    for known in ({}, {"size": sealed.size}, {"size": sealed.size, "footer_start": sealed.footer_start}):
        with pytest.raises(StoreUnavailable):
            read_footer(Faulty(LocalStore(tmp_path), Plan(1, Fault.FAIL_BEFORE)), "a.split", **known)


def test_a_split_of_another_size(tmp_path: Path) -> None:
    sealed = raw(tmp_path)
    store = LocalStore(tmp_path)
    data = (tmp_path / "a.split").read_bytes()
    known = {"size": sealed.size, "footer_start": sealed.footer_start}
    (tmp_path / "a.split").write_bytes(data[:-5])
    with pytest.raises(
        CorruptSplit, match=rf"a\.split is damaged: it has {sealed.size - 5} bytes, the log says {sealed.size}"
    ):
        read_footer(store, "a.split", **known)
    (tmp_path / "a.split").write_bytes(b"")
    with pytest.raises(CorruptSplit, match="it has 0 bytes"):
        read_footer(store, "a.split", **known)
    with pytest.raises(CorruptSplit, match="it has 0 bytes only"):
        read_footer(store, "a.split")
    (tmp_path / "a.split").write_bytes(data)
    for start in (-1, sealed.size + 1, sealed.size, sealed.size - 10, sealed.footer_start - 1, sealed.footer_start + 1):
        with pytest.raises(CorruptSplit, match=r"a\.split is damaged"):
            read_footer(store, "a.split", size=sealed.size, footer_start=start)
    with pytest.raises(CorruptSplit, match=r"it ends with b'\\x"):
        read_footer(store, "a.split", size=sealed.size - 1)


def test_a_store_that_answers_too_little(tmp_path: Path) -> None:
    sealed = raw(tmp_path)

    class Short(LocalStore):
        def get_range(self, key: str, start: int, end: int) -> bytes:
            return super().get_range(key, start, end)[:-1]

    with pytest.raises(CorruptSplit, match="it ends before byte"):
        read_footer(Short(tmp_path), "a.split", size=sealed.size, footer_start=sealed.footer_start)
    with pytest.raises(CorruptSplit, match="it ends before byte"):
        Pages(Short(tmp_path), "a.split", sealed.footer).read(0, 10)


def test_a_format_of_the_future(tmp_path: Path) -> None:
    sealed = raw(tmp_path)
    data, _ = encode_footer(msgspec.structs.replace(sealed.footer, format=FORMAT + 1))
    with pytest.raises(SplitError, match=r"here has the split format 2, this release reads format 1") as raised:
        decode_footer(data, sealed.footer_start, "here")
    assert not isinstance(raised.value, CorruptSplit)


def lies(footer: Footer) -> dict[str, Footer]:
    region, part = footer.index[1], footer.parts[0]
    replace = msgspec.structs.replace
    changes: dict[str, dict[str, Any]] = {
        "rows": {"rows": 8},
        "rows length": {"rows_length": footer.rows_length + 1},
        "page size": {"page_size": 0},
        "page size too small": {"page_size": 1000},
        "pages": {"pages": footer.pages[:-8]},
        "pages cut": {"pages": footer.pages[:-1]},
        "part offset": {"parts": (replace(part, offset=1),)},
        "part length": {"parts": (replace(part, length=-1),)},
        "no parts": {"parts": ()},
        "part rows": {"parts": (replace(part, rows=-1), Part(part.length, 0, 8))},
        "gap": {"index": (footer.index[0], replace(region, offset=region.offset + 1), *footer.index[2:])},
        "overlap": {"index": (footer.index[0], replace(region, offset=region.offset - 1), *footer.index[2:])},
        "negative": {"index": (*footer.index[:1], replace(region, length=-1), *footer.index[2:])},
        "negative raw": {"index": (*footer.index[:1], replace(region, raw=-1), *footer.index[2:])},
        "raw without end": {"index": (*footer.index[:1], replace(region, raw=2**41), *footer.index[2:])},
        "missing file": {"index": footer.index[:-1]},
        "twice": {"index": (footer.index[0], replace(region, name=footer.index[0].name), *footer.index[2:])},
        "tail": {"tails": (Region(region.name, region.offset + 1, region.length, 0),)},
        "tail of nothing": {"tails": (Region("none", region.offset, region.length, 0),)},
        "tail too long": {"tails": (Region(region.name, region.offset - 1, region.length + 1, 0),)},
        "sources": {"sources": (Source(1, 0, 6),)},
        "source gap": {"sources": (Source(1, 0, 3), Source(2, 4, 4))},
        "source rows": {"sources": (Source(1, 0, 8), Source(2, 8, -1))},
    }
    for name in ("", ".", "..", "a/b", "../x", "/etc/passwd", "a\\b", "a\0b", "é", "\n"):
        changes[f"name {name!r}"] = {"index": (footer.index[0], replace(region, name=name), *footer.index[2:])}
    return {name: replace(footer, **change) for name, change in changes.items()}


def test_a_footer_that_contradicts_itself(tmp_path: Path) -> None:
    sealed = raw(tmp_path, index=INDEX)
    for name, footer in lies(sealed.footer).items():
        data, _ = encode_footer(footer)
        with pytest.raises(CorruptSplit, match="here is damaged"):
            pytest.fail(f"{name}: {decode_footer(data, sealed.footer_start, 'here')}")
    data, _ = encode_footer(sealed.footer)
    assert decode_footer(data, sealed.footer_start, "here") == sealed.footer
    for start in (0, sealed.footer_start - 1, sealed.footer_start + 1):
        with pytest.raises(CorruptSplit):
            decode_footer(data, start, "here")


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"{}", b'{"format":1}', b'{"format":"1"}', b"\xff", b"[" * 100_000])
def test_a_footer_that_is_something_else(text: bytes) -> None:
    packed = pa.Codec("zstd").compress(text, asbytes=True)
    for body in (packed, text):
        trailer = struct.pack("<QQ8s", xxhash.xxh3_64_intdigest(body), len(body), MAGIC)
        with pytest.raises(CorruptSplit, match=r"here is damaged: its footer cannot be decoded"):
            decode_footer(body + trailer, 0, "here")


def test_a_footer_that_unpacks_to_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    from indextables.split.bundle import footer

    monkeypatch.setattr(footer, "_LONGEST", 10_000)
    for text in (b" " * 10_001, b" " * 1_000_000):
        packed = pa.Codec("zstd").compress(text, asbytes=True)
        trailer = struct.pack("<QQ8s", xxhash.xxh3_64_intdigest(packed), len(packed), MAGIC)
        with pytest.raises(CorruptSplit, match="more than 10000 bytes"):
            decode_footer(packed + trailer, 0, "here")
    with pytest.raises(CorruptSplit, match="no footer has more than 10000"):
        decode_footer(struct.pack("<QQ8s", 0, 10_001, MAGIC), 0, "here")


LENGTHS = (1, 10, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1, 2 * PAGE_SIZE, len(BYTES))


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, len(BYTES)), st.sampled_from(LENGTHS) | st.integers(0, len(BYTES)))))
def test_pages_are_the_bytes(tmp_path: Path, reads: list[tuple[int, int]]) -> None:
    sealed = raw(tmp_path)
    pages = Pages(LocalStore(tmp_path), "a.split", sealed.footer)
    for offset, length in reads:
        length = min(length, len(BYTES) - offset)
        assert bytes(pages.read(offset, length)) == BYTES[offset : offset + length]
        assert b"".join(pages.chunks(offset, length)) == BYTES[offset : offset + length]


@pytest.mark.parametrize(("offset", "length"), [(-1, 2), (0, -1), (0, len(BYTES) + 1), (len(BYTES), 1), (2**63, 1)])
def test_reads_outside_the_rows(offset: int, length: int, tmp_path: Path) -> None:
    pages = Pages(LocalStore(tmp_path), "a.split", raw(tmp_path, index=INDEX).footer)
    with pytest.raises(CorruptSplit, match=r"a\.split is damaged: bytes"):
        pages.read(offset, length)


def test_neighbouring_reads_share_a_page(tmp_path: Path) -> None:
    sealed = raw(tmp_path)
    store = Counting(LocalStore(tmp_path))
    pages = Pages(store, "a.split", sealed.footer)
    pages.read(100, PAGE_SIZE)
    pages.read(100 + PAGE_SIZE, PAGE_SIZE)
    assert store.bytes_moved == {"get_range": 3 * PAGE_SIZE}
    pages.read(PAGE_SIZE + 5, 10)
    pages.read(0, 0)
    assert store.counts == {"get_range": 2}


def test_kept_pages_are_few(tmp_path: Path) -> None:
    data = random.Random(1).randbytes(40 * PAGE_SIZE)
    sealed = raw(tmp_path, data)
    pages = Pages(LocalStore(tmp_path), "a.split", sealed.footer)
    for page in range(40):
        pages.read(page * PAGE_SIZE, 1)
    edges = [pages._edges.get(page) for page in pages._edges.listed()]
    assert len(edges) == 16
    assert sum(len(edge.obj) for edge in edges if edge is not None) == 16 * PAGE_SIZE


def test_every_read_is_verified_again(tmp_path: Path) -> None:
    """A page that was good may be bad when it is read from the store the next time."""
    sealed = raw(tmp_path)
    pages = Pages(LocalStore(tmp_path), "a.split", sealed.footer)
    pages.read(0, len(BYTES))
    with (tmp_path / "a.split").open("r+b") as file:
        file.seek(PAGE_SIZE + 5)
        file.write(bytes([BYTES[PAGE_SIZE + 5] ^ 1]))
    with pytest.raises(CorruptSplit, match=rf"the checksum of bytes {PAGE_SIZE} to {2 * PAGE_SIZE} does not match"):
        pages.read(0, len(BYTES))


def test_verifying_everything(tmp_path: Path) -> None:
    key, sealed = make(tmp_path, pa.table({"n": range(100_000)}), index=INDEX)
    verify_bundle(LocalStore(tmp_path), key, sealed.footer)
    data = bytearray((tmp_path / key).read_bytes())
    places = [region.offset + region.length - 1 for region in sealed.footer.index if region.length]
    for place in [0, sealed.footer.rows_length - 1, *places]:
        data[place] ^= 1
        (tmp_path / key).write_bytes(data)
        with pytest.raises(CorruptSplit, match=rf"{key} is damaged: the checksum of"):
            verify_bundle(LocalStore(tmp_path), key, sealed.footer)
        data[place] ^= 1


def test_parts_of_other_bundles(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    sealed = raw(tmp_path / "one")
    store = LocalStore(tmp_path / "one")
    copy = RowsCopy(Pages(store, "a.split", sealed.footer), sealed.footer.parts[0])
    (tmp_path / "rows").write_bytes(b"second")
    parts = [copy, RowsFile(tmp_path / "rows", 1), copy]
    merged = seal(tmp_path / "m.split", SCHEMA, parts, INDEX)
    assert (tmp_path / "m.split").read_bytes().startswith(BYTES + b"second" + BYTES)
    assert [part.rows for part in merged.footer.parts] == [7, 1, 7]
    verify_bundle(LocalStore(tmp_path), "m.split", merged.footer)
    assert not (tmp_path / "rows").exists()
    with (tmp_path / "one" / "a.split").open("r+b") as file:
        file.seek(PAGE_SIZE)
        file.write(bytes([BYTES[PAGE_SIZE] ^ 1]))
    with pytest.raises(CorruptSplit, match=r"one/a\.split is damaged"):
        seal(tmp_path / "n.split", SCHEMA, [copy, copy])
    assert not (tmp_path / "n.split").exists()


def test_rows_on_another_disk_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a rename cannot do, the bytes are copied, and the file is gone all the same."""
    shm = Path("/dev/shm") / f"indextables-{os.getpid()}"
    if shm.parent.is_dir() and shm.parent.stat().st_dev != tmp_path.stat().st_dev:
        shm.write_bytes(BYTES)
        source = shm
    else:
        source = tmp_path / "rows"
        source.write_bytes(BYTES)
        monkeypatch.setattr(bundle_writer, "_same_disk", lambda *_: False)
    sealed = seal(tmp_path / "a.split", SCHEMA, [RowsFile(source, 7)], INDEX)
    assert not source.exists()
    verify_bundle(LocalStore(tmp_path), "a.split", sealed.footer)
    assert sealed == raw(tmp_path, index=INDEX)


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = 0

    def full(_file: Any, data: memoryview) -> None:
        nonlocal written
        written += len(data)
        if written > 1_000_000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(bundle_writer, "_append", full)
    with pytest.raises(StorageError, match=r"a\.split.*No space left on device"):
        raw(tmp_path, index=INDEX)
    assert not (tmp_path / "a.split").exists()
    assert not (tmp_path / "rows").exists()


def test_an_index_file_that_is_missing(tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(BYTES)
    with pytest.raises(StorageError, match="No such file"):
        write_bundle(tmp_path / "a.split", [RowsFile(tmp_path / "rows", 7)], [tmp_path / "gone"], facts(SCHEMA, 7))
    assert list(tmp_path.iterdir()) == []


def test_the_log_is_not_asked_for_more_than_it_has(tmp_path: Path) -> None:
    """A store whose objects grew keeps answering: what lies behind the bundle is never looked at."""
    sealed = raw(tmp_path, index=INDEX)
    with (tmp_path / "a.split").open("ab") as file:
        file.write(b"more")
    store = LocalStore(tmp_path)
    assert isinstance(store.head("a.split"), ObjectMeta)
    footer = read_footer(store, "a.split", size=sealed.size, footer_start=sealed.footer_start)
    assert footer == sealed.footer
    with pytest.raises(CorruptSplit):
        read_footer(store, "a.split")
