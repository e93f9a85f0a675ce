"""Index files that lie packed in a bundle: on local disk they are what they were, or an error names the split."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
import xxhash

from indextables.core.errors import CorruptSplit
from indextables.split.bundle.footer import Region
from indextables.split.cache.cache_entry import Wanted, has_files, verify_files, write_files
from indextables.split.cache.index_cache import CacheKey, IndexCache

DATA = b"words and more words " * 5_000
PACKED = bytes(pa.Codec("zstd").compress(DATA, asbytes=True))
KEY = CacheKey("memory://a/table", "splits/a.split", 7)


def region(packed: bytes = PACKED, **lies: int) -> Region:
    whole = Region(
        "0a.idx", 0, len(packed), xxhash.xxh3_64_intdigest(packed), len(DATA), xxhash.xxh3_64_intdigest(DATA)
    )
    return msgspec.structs.replace(whole, **lies)


def written(directory: Path, found: Region, packed: bytes = PACKED) -> bytes:
    directory.mkdir(exist_ok=True)
    write_files(directory, Wanted.full(KEY, [found]), lambda _: [packed])
    return (directory / found.name).read_bytes()


def test_a_packed_file_is_unpacked_and_verified(tmp_path: Path) -> None:
    found = region()
    assert written(tmp_path, found) == DATA
    wanted = Wanted.full(KEY, [found])
    assert wanted.bytes == len(DATA) == found.size
    assert has_files(tmp_path, wanted)
    assert verify_files(tmp_path, wanted)
    (tmp_path / found.name).write_bytes(DATA[:-1] + b"!")
    assert has_files(tmp_path, wanted)
    assert not verify_files(tmp_path, wanted)


@pytest.mark.parametrize(
    ("lies", "what"),
    [
        ({"raw": len(DATA) - 1}, "unpacked, does not match"),
        ({"raw": len(DATA) + 1}, "unpacked, does not match"),
        ({"raw_xxh3": 1}, "unpacked, does not match"),
        ({"xxh3": 1}, "does not match its checksum"),
        ({"length": len(PACKED) - 1}, "its footer says"),
    ],
)
def test_a_footer_that_lies_about_it(lies: dict[str, int], what: str, tmp_path: Path) -> None:
    with pytest.raises(CorruptSplit, match=f"splits/a.split of memory://a/table is damaged: .*{what}"):
        written(tmp_path, region(**lies))


@pytest.mark.parametrize(
    "packed", [b"", b"no zstd at all", PACKED[:-5], PACKED[:10]], ids=["empty", "text", "cut", "stub"]
)
def test_what_cannot_be_unpacked(packed: bytes, tmp_path: Path) -> None:
    """Its checksum fits: whoever wrote it was wrong."""
    with pytest.raises(CorruptSplit, match=r"0a\.idx.*(cannot be unpacked|unpacked, does not match)"):
        written(tmp_path, region(packed), packed)


def test_the_cache_counts_the_bytes_on_disk(tmp_path: Path) -> None:
    cache = IndexCache(tmp_path / "cache", 1 << 20)
    with cache.acquire(KEY, [region()], lambda _: [PACKED]) as lease:
        assert (lease.directory / "0a.idx").read_bytes() == DATA
    assert cache.statistics().bytes == len(DATA)
    assert cache.statistics().fetched_bytes == len(PACKED)


def test_a_packed_file_has_no_tail() -> None:
    whole = region()
    with pytest.raises(CorruptSplit, match=r"a tail of 0a\.idx"):
        Wanted.without_positions(KEY, [whole], [Region("0a.idx", whole.length - 4, 4, 0)])
