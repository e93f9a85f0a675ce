"""Texts of 2 KB, and the subjects that search them, each as its users would set it up for this.

indextables  one append, the message as text
lance        one dataset, an inverted index of the message as for log rows
sqlite       FTS5 of the standard library with the texts in it, optimised; it answers with Python tuples, the others with Arrow

Texts have words of the vocabulary of the log rows.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import search_tables
import split_tables
from growth_tables import repeated
from report import OURS
from search_data import Search
from split_data import Words
from split_tables import LANCE

SQLITE = "sqlite"
SCHEMA = pa.schema([("id", pa.int64()), ("message", pa.string())])
_SEED = 7
_WORDS_A_TEXT = 220
"""Words that make 2 KB."""
_BATCH = 5_000
"""Rows that are generated at once."""
_ROWS, _KNOWN, _DATABASE = "rows.arrows", "words.json", "texts.db"
_RARE_ROWS = 36
_open: dict[str, Any] = {}


def generate(folder: Path, rows: int) -> None:
    """Write the texts, and how many of them have each word."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(_SEED)
    words = Words(random)
    with_word = np.zeros(len(words.vocabulary), np.int64)
    with pa.ipc.new_stream(folder / _ROWS, SCHEMA) as out:
        for first in range(0, rows, _BATCH):
            count = min(_BATCH, rows - first)
            ranks = words.ranks(random, count * _WORDS_A_TEXT).reshape(count, _WORDS_A_TEXT)
            offsets = pa.array(np.arange(count + 1, dtype=np.int32) * _WORDS_A_TEXT)
            texts = pa.ListArray.from_arrays(offsets, words.vocabulary.take(pa.array(ranks.ravel())))
            out.write_batch(
                pa.record_batch([np.arange(first, first + count), pc.binary_join(texts, " ")], schema=SCHEMA)
            )
            with_word += _texts_with(ranks, len(with_word))
    known = dict(zip(words.vocabulary.to_pylist(), with_word.tolist(), strict=True))
    (folder / _KNOWN).write_text(json.dumps(known))


def _texts_with(ranks: Any, words: int) -> Any:
    """In how many rows of `ranks` each word is."""
    ordered = np.sort(ranks, axis=1)
    first = np.ones(ordered.shape, bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return np.bincount(ordered[first], minlength=words)


def choose(folder: Path, rows: int) -> dict[str, Search]:
    """Words to search for, by how many texts have them."""
    known: Mapping[str, int] = json.loads((folder / _KNOWN).read_text())

    def words_in(wanted: float) -> list[str]:
        return sorted(known, key=lambda word: (abs(known[word] - wanted), word))

    rare, medium, (one, other, *_) = words_in(_RARE_ROWS)[0], words_in(rows * 0.01)[0], words_in(rows * 0.1)
    return {
        "rare": Search(f"a word in {known[rare]} texts", (rare,)),
        "medium": Search("a word in 1% of the texts", (medium,)),
        "and": Search("two words of 10% of the texts, AND", (one, other), "and"),
    }


# Writing.


def _batches(folder: Path) -> Iterator[pa.RecordBatch]:
    with pa.OSFile(str(folder / _ROWS)) as source, pa.ipc.open_stream(source) as stream:
        yield from stream


def _read(folder: Path) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(SCHEMA, _batches(folder))


def write_ours(folder: Path, where: Path) -> None:
    from indextables import Table

    shutil.rmtree(where, ignore_errors=True)
    Table.create(where, SCHEMA, options={"indexing.typemap.message": "text"}).append(_read(folder))


def write_lance(folder: Path, where: Path) -> None:
    import lance

    dataset = lance.write_dataset(_read(folder), str(where), schema=SCHEMA)
    dataset.create_scalar_index("message", "INVERTED", **split_tables._TEXT_INDEX)


def has_fts5() -> bool:
    """Whether the SQLite of the standard library was built with FTS5."""
    try:
        sqlite3.connect(":memory:").execute("CREATE VIRTUAL TABLE texts USING fts5(message)")
    except sqlite3.OperationalError:
        return False
    return True


def write_sqlite(folder: Path, where: Path) -> None:
    where.mkdir()
    base = sqlite3.connect(where / _DATABASE)
    base.execute("CREATE VIRTUAL TABLE texts USING fts5(message)")
    for batch in _batches(folder):
        pairs = zip(*(column.to_pylist() for column in batch.columns), strict=True)
        base.executemany("INSERT INTO texts(rowid, message) VALUES (?, ?)", pairs)
    base.execute("INSERT INTO texts(texts) VALUES ('optimize')")
    base.commit()
    base.close()


WRITE: dict[str, Callable[[Path, Path], None]] = {OURS: write_ours, LANCE: write_lance, SQLITE: write_sqlite}


# Searching. What follows is run by workers; a handle lives in its worker's `_open`.


class Ours:
    def __init__(self, where: Path, cache: Path) -> None:
        from indextables import Table

        self._table = Table.open(where, options={"spark.indextables.cache.disk.directory": str(cache)})

    def rows(self, search: Search) -> pa.Table:
        return self._table.scan(query=search.text()).read_all()


class Lance:
    def __init__(self, where: Path, _cache: Path) -> None:
        import lance

        self._dataset = lance.dataset(str(where))

    def rows(self, search: Search) -> pa.Table:
        return self._dataset.scanner(
            columns=SCHEMA.names, full_text_query=search_tables._of_lance(search), disable_scoring_autoprojection=True
        ).to_table()


class Sqlite:
    def __init__(self, where: Path, _cache: Path) -> None:
        self._base = sqlite3.connect(where / _DATABASE)

    def rows(self, search: Search) -> list[tuple[int, str]]:
        text = " AND ".join(search.words)
        return self._base.execute("SELECT rowid, message FROM texts WHERE texts MATCH ?", [text]).fetchall()


_HANDLES: dict[str, Any] = {OURS: Ours, LANCE: Lance, SQLITE: Sqlite}


def open_handle(subject: str, where: Path, cache: Path) -> None:
    _open["handle"] = _HANDLES[subject](where, cache)


def answer(_verb: str, search: Search) -> tuple[int, str]:
    """How many texts were found, and a digest of all of them with their ids."""
    found = _open["handle"].rows(search)
    if isinstance(found, pa.Table):
        found = list(zip(*(found.column(name).to_pylist() for name in SCHEMA.names), strict=True))
    return len(found), hashlib.sha256(repr(sorted(found)).encode()).hexdigest()


def time_answers(_verb: str, search: Search) -> float:
    """The median of some answers. What is asked was answered before."""
    return repeated(lambda: _open["handle"].rows(search))
