"""Splits for the cache tests: real Tantivy indexes, and made-up ones that are just bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tantivy  # type: ignore[import-untyped]
import xxhash

from indextables.split.bundle.footer import Region
from indextables.split.bundle.positions_tail import POSITIONS_SUFFIX, tail_length
from indextables.split.cache.index_cache import CacheKey, IndexCache, Lease

TABLE = "s3://bucket/table"
WORDS = [f"word{number}" for number in range(40)]


@dataclass
class Split:
    """The index regions of one split, and what was fetched of them."""

    key: CacheKey
    data: bytes
    regions: tuple[Region, ...]
    tails: tuple[Region, ...] = ()
    fetched: list[list[Region]] = field(default_factory=list)

    def fetch(self, regions: Sequence[Region]) -> list[bytes]:
        self.fetched.append(list(regions))
        return [self.data[region.offset : region.offset + region.length] for region in regions]

    def lease(self, cache: IndexCache, **options: bool) -> Lease:
        return cache.acquire(self.key, self.regions, self.fetch, tails=self.tails, **options)

    @property
    def bytes(self) -> int:
        return sum(region.length for region in self.regions)

    def content(self, region: Region) -> bytes:
        return self.data[region.offset : region.offset + region.length]

    def is_in(self, directory: Path) -> bool:
        """Whether the directory holds this split, byte for byte."""
        return all((directory / region.name).read_bytes() == self.content(region) for region in self.regions)


def bundle(
    files: dict[str, bytes], path: str, *, table: str = TABLE, before: int = 100, ends: dict[str, int] | None = None
) -> Split:
    """A split with these index files behind `before` bytes of rows; `ends` are the lengths of tails."""
    data = bytes(before)
    regions, tails = [], []
    for name, content in files.items():
        regions.append(Region(name, len(data), len(content), xxhash.xxh3_64_intdigest(content)))
        if ends and name in ends:
            end = content[len(content) - ends[name] :]
            tails.append(Region(name, len(data) + len(content) - len(end), len(end), xxhash.xxh3_64_intdigest(end)))
        data += content
    key = CacheKey(table, path, xxhash.xxh3_64_intdigest(data))
    return Split(key, data, tuple(regions), tuple(tails))


def plain(number: int, size: int = 1000, *, table: str = TABLE) -> Split:
    """A split of two files that no Tantivy has to open: `size` bytes in all."""
    chance = random.Random(number * 1_000_003 + size)
    return bundle(
        {"meta.json": chance.randbytes(size // 3), "a.idx": chance.randbytes(size - size // 3)},
        f"part={number % 3}/split-{number}.split",
        table=table,
    )


def texts(seed: int, count: int, words: Sequence[str] = WORDS, *, longest: int = 20) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(words, k=chance.randrange(longest + 1))) for _ in range(count)]


def build(directory: Path, documents: Sequence[dict[str, str]], fields: Sequence[str]) -> None:
    """A Tantivy index of one segment, with positions."""
    directory.mkdir(parents=True)
    builder = tantivy.SchemaBuilder()
    for name in fields:
        builder.add_text_field(name, stored=False, tokenizer_name="default", index_option="position")
    builder.add_unsigned_field("_row", fast=True)
    index = tantivy.Index(builder.build(), path=str(directory))
    writer = index.writer(heap_size=15_000_000, num_threads=1)
    for row, document in enumerate(documents):
        writer.add_json(json.dumps(document | {"_row": row}))
    writer.commit()
    writer.wait_merging_threads()


def from_index(directory: Path, path: str) -> Split:
    """The split that holds the index of this directory, positions last."""
    files = [file for file in directory.iterdir() if not file.name.startswith(".")]
    files.sort(key=lambda file: (file.suffix == POSITIONS_SUFFIX, file.name))
    ends = {file.name: tail_length(file) or 0 for file in files if file.suffix == POSITIONS_SUFFIX}
    return bundle({file.name: file.read_bytes() for file in files}, path, ends=ends)


def real_split(where: Path, *, seed: int = 0, documents: int = 400) -> Split:
    build(where, [{"body": text} for text in texts(seed, documents)], ["body"])
    return from_index(where, f"real-{seed}.split")


def rows(index: tantivy.Index, query: tantivy.Query) -> list[int]:
    """The rows that a query finds."""
    found = index.searcher().search(query, limit=1_000_000, order_by_field="_row", order=tantivy.Order.Asc)
    return [hit[0] for hit in found.hits]


def term(index: tantivy.Index, word: str, *, field_name: str = "body", option: str = "freq") -> list[int]:
    return rows(index, tantivy.Query.term_query(index.schema, field_name, word, option))


def phrase(index: tantivy.Index, words: list[str], *, field_name: str = "body", slop: int = 0) -> list[int]:
    return rows(index, tantivy.Query.phrase_query(index.schema, field_name, words, slop))
