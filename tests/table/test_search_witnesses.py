"""Searches held against what nobody here wrote: SQLite's FTS5, and Tantivy with its own parser on one plain index.

The text is a real one that every machine with Python has: lines of the standard library.
"""

from __future__ import annotations

import random
import re
import sqlite3
import sysconfig
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import tantivy

from indextables import Table
from indextables.split.query.parse import parse_query
from indextables.split.query.tree import Node, children_of
from table.query_model import words_of

ROWS = 12_000
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("num", pa.int64()), ("body", pa.string())])


def real_lines() -> Iterator[str]:
    """Lines with some words, none of them so long that Tantivy's own tokenizer drops it."""
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            words = words_of(line)
            if len(words) >= 3 and max(map(len, words)) < 40:
                yield line.strip()


@pytest.fixture(scope="module")
def lines() -> list[str]:
    found = list(real_lines())
    assert len(found) >= ROWS
    return random.Random(7).sample(found, ROWS)


@pytest.fixture(scope="module")
def table(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Splits of several sizes, some of them merged."""
    made = Table.create(
        tmp_path_factory.mktemp("search") / "table", SCHEMA, options={"spark.indextables.indexing.typemap.body": "text"}
    )
    for first in range(0, ROWS, 2_000):
        made.append(rows_of(lines, first, 2_000))
        if first == 6_000:
            made.merge_splits()
    assert made.files().num_rows == 3
    return made


def rows_of(lines: list[str], first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        {"id": numbers, "num": [number % 100 for number in numbers], "body": lines[first : first + count]},
        schema=SCHEMA,
    )


@pytest.fixture(scope="module")
def vocabulary(lines: list[str]) -> dict[str, list[str]]:
    """Words by how often they are there."""
    counts = Counter(word for line in lines for word in set(words_of(line)) if word.isascii() and not word.isdigit())
    return {
        "common": [word for word, count in counts.items() if count > 200],
        "medium": [word for word, count in counts.items() if 20 <= count <= 200],
        "rare": [word for word, count in counts.items() if count <= 3],
    }


class Phrases:
    """Words that stand in a row somewhere."""

    def __init__(self, lines: list[str], rng: random.Random) -> None:
        self._lines = lines
        self._rng = rng

    def one(self, length: int) -> str:
        while True:
            words = words_of(self._rng.choice(self._lines))
            if len(words) >= length:
                at = self._rng.randrange(len(words) - length + 1)
                return " ".join(words[at : at + length])


def ids_of(table: Table, query: str) -> list[int]:
    found = sorted(table.scan(["id"], query=query).read_all().column("id").to_pylist())
    assert table.count(query=query) == len(found)
    return found


@pytest.fixture(scope="module")
def sqlite(lines: list[str]) -> Iterator[sqlite3.Connection]:
    base = sqlite3.connect(":memory:")
    base.execute('CREATE VIRTUAL TABLE texts USING fts5(body, tokenize = "unicode61 remove_diacritics 0")')
    base.executemany("INSERT INTO texts(rowid, body) VALUES (?, ?)", enumerate(lines))
    yield base
    base.close()


class TestFts5:
    @pytest.mark.parametrize("seed", range(6))
    def test_terms_and_or_not_and_phrases(
        self, table: Table, sqlite: sqlite3.Connection, lines: list[str], vocabulary: dict[str, list[str]], seed: int
    ) -> None:
        rng = random.Random(seed)
        phrases = Phrases(lines, rng)
        found_some = 0
        for _ in range(25):
            query = self.random_query(rng, vocabulary, phrases, rng.randint(0, 3))
            wanted = [
                row for (row,) in sqlite.execute("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid", [query])
            ]
            assert ids_of(table, query.replace(" NOT ", " AND NOT ")) == wanted, query
            found_some += bool(wanted)
        assert found_some > 8

    def random_query(self, rng: random.Random, words: dict[str, list[str]], phrases: Phrases, depth: int) -> str:
        """Text that both understand, but for NOT, which takes away from what stands before it in FTS5."""
        if not depth:
            kind = rng.choice(["common", "common", "medium", "rare", "phrase", "phrase"])
            return f'"{phrases.one(rng.randint(2, 4))}"' if kind == "phrase" else f'"{rng.choice(words[kind])}"'
        left, right = (self.random_query(rng, words, phrases, depth - 1) for _ in range(2))
        return f"({left} {rng.choice(['AND', 'OR', 'NOT'])} {right})"


@pytest.fixture(scope="module")
def index(lines: list[str]) -> tuple[tantivy.Index, tantivy.Searcher]:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", fast=True)
    builder.add_integer_field("num", indexed=True, fast=True)
    builder.add_text_field("body")
    index = tantivy.Index(builder.build())
    writer = index.writer(50_000_000, 1)
    for number, line in enumerate(lines):
        writer.add_document(tantivy.Document(id=number, num=number % 100, body=line))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index, index.searcher()


class TestTantivy:
    def test_two_hundred_queries_no_two_of_one_shape(
        self,
        table: Table,
        index: tuple[tantivy.Index, tantivy.Searcher],
        lines: list[str],
        vocabulary: dict[str, list[str]],
    ) -> None:
        rng = random.Random(11)
        writer = Queries(rng, vocabulary, Phrases(lines, rng))
        shapes: set[str] = set()
        found_some = tries = 0
        while len(shapes) < 200:
            tries += 1
            assert tries < 5_000
            query = writer.one(rng.choice((1, 2, 2, 3)))
            shape = shape_of(parse_query(query))
            if shape in shapes or len(query) > 400:
                continue
            shapes.add(shape)
            wanted = self.ids(index, query)
            assert ids_of(table, query) == wanted, query
            found_some += bool(wanted)
        assert found_some > 150

    def ids(self, index: tuple[tantivy.Index, tantivy.Searcher], text: str) -> list[int]:
        plain, searcher = index
        query = plain.parse_query(text, ["body"])
        found: Any = searcher.search(query, limit=ROWS, order_by_field="id", order=tantivy.Order.Asc)
        return [hit[0] for hit in found.hits]


class Queries:
    """Random texts of what our language and Tantivy's have in common. Something is always wanted: Tantivy finds nothing for a
    query, or a part of one, that only says what is not, which is what it makes of `a AND NOT b`."""

    def __init__(self, rng: random.Random, words: dict[str, list[str]], phrases: Phrases) -> None:
        self._rng = rng
        self._words = words
        self._phrases = phrases

    def one(self, depth: int) -> str:
        if not depth:
            return self._leaf()
        rng = self._rng
        parts = [self.one(rng.randint(0, depth - 1)) for _ in range(rng.randint(2, 3))]
        grouped = [f"({part})" if " " in part and not re.fullmatch(r'"[^"]*"(~\d)?', part) else part for part in parts]
        match rng.randrange(6):
            case 0:
                return " AND ".join(grouped)
            case 1:
                return " OR ".join(grouped)
            case 2:
                return " ".join(grouped)
            case 3:
                return f"+{grouped[0]} -{grouped[1]}"
            case 4:
                return " ".join(f"{sign}{part}" for sign, part in zip(["+", "", "-"], grouped, strict=False))
            case _:
                return f"{grouped[0]} -{grouped[1]}"

    def _leaf(self) -> str:
        rng = self._rng
        word = rng.choice(self._words[rng.choice(["common", "common", "medium", "rare"])])
        match rng.randrange(12):
            case 0 | 1 | 2:
                return word
            case 3:
                return f"body:{word}"
            case 4:
                return f'"{self._phrases.one(rng.randint(2, 3))}"'
            case 5:
                return f'body:"{self._phrases.one(2)}"~{rng.randint(1, 3)}'
            case 6:
                return f"num:{rng.randrange(100)}"
            case 7:
                low, high = sorted(rng.sample(range(100), 2))
                return f"num:{rng.choice('[{')}{low} TO {high}{rng.choice(']}')}"
            case 8:
                return f"num:{rng.choice(['>', '>=', '<', '<='])}{rng.randrange(100)}"
            case 9:
                return f"num:[{rng.randrange(100)} TO *]"
            case 10:
                return f"{word}^{rng.randint(2, 9)}"
            case _:
                return f"num: IN [{' '.join(str(number) for number in rng.sample(range(100), rng.randint(1, 4)))}]"


def shape_of(node: Node) -> str:
    """A tree without its words and numbers."""
    below = ",".join(map(shape_of, children_of(node)))
    signs = ",".join(str(len(getattr(node, part))) for part in ("must", "should", "must_not") if hasattr(node, part))
    more = [bool(getattr(node, name, None)) for name in ("with_low", "with_high", "slop")]
    ends = [getattr(node, name, "") is None for name in ("low", "high", "field")]
    return f"{type(node).__name__}{signs}{more}{ends}({below})"
