"""The subjects that search log rows, each as its users would set it up for this.

indextables  the table of the splits: ten splits, the message as text
lance        its dataset: an inverted index of the message with positions; for this also a BITMAP index of the level
duckdb       its view over Parquet: `LIKE`, and a regular expression for those rows only, so that it finds words and not parts of
             them
tantivy      one index over all rows, from Python: words with positions, levels and times as fast fields, and all values in its
             document store, from which the rows are fetched one by one

Nothing says how many threads to use. Tantivy searches one index with one thread.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import search_data
import split_data
import split_tables
from measure import timed
from report import OURS
from search_data import Asked, Search
from split_data import SCHEMA
from split_tables import DUCKDB, LANCE, peak_mb

TANTIVY = "tantivy"
_HOUR_US = 3_600_000_000
_HEAP = 300_000_000
_NUMBERS = {"id", "ts", "status"}
_ENOUGH_S = 0.25
_MOST_REPEATS = 25


# Writing what the splits do not need.


def index_levels(where: Path) -> None:
    """Give lance an index of the level, where it has none yet."""
    import lance

    dataset = lance.dataset(str(where))
    if "level" not in [name for index in dataset.list_indices() for name in index["fields"]]:
        dataset.create_scalar_index("level", "BITMAP")


def write_tantivy(rows: Path, where: Path) -> None:
    import tantivy

    where.mkdir()
    fields = tantivy.SchemaBuilder()
    for field in SCHEMA:
        if field.name == "message":
            fields.add_text_field(field.name, stored=True)
        elif field.name in _NUMBERS:
            fields.add_integer_field(field.name, stored=True, fast=True)
        elif field.name == "latency":
            fields.add_float_field(field.name, stored=True, fast=True)
        else:
            fields.add_text_field(field.name, stored=True, fast=True, tokenizer_name="raw", index_option="basic")
    index = tantivy.Index(fields.build(), path=str(where))
    writer = index.writer(_HEAP)
    for batch in split_data.batches(rows):
        numbers = batch.set_column(1, "ts", batch.column("ts").cast(pa.int64()))
        for row in numbers.to_pylist():
            writer.add_json(json.dumps(row))
    writer.commit()
    writer.wait_merging_threads()


def choose(rows: Path, count: int, where: Path, crowd: int) -> Asked:
    """Words to search for. Which rows have them is what everybody has to find out, how many is told by plain Tantivy."""
    import tantivy

    searcher = tantivy.Index.open(str(where)).searcher()
    return search_data.choose(rows, count, lambda word: int(searcher.doc_freq("message", word)), crowd)


# Searching.


class Handle(Protocol):
    """A subject that is kept open."""

    def rows(self, search: Search) -> pa.Table:
        """The rows that are asked for, with all columns."""

    def count(self, search: Search) -> int:
        """How many there are."""

    def levels(self, search: Search) -> dict[str, int]:
        """How many there are of each level."""

    def hours(self, search: Search) -> dict[int, int]:
        """How many there are in each hour, by its first microsecond."""


class Ours:
    def __init__(self, where: Path, cache: Path) -> None:
        from indextables import Table

        options = {"spark.indextables.cache.disk.directory": str(cache)}
        self._table = Table.open(where.absolute().as_uri(), options=options)

    def rows(self, search: Search) -> pa.Table:
        if search.best is None:
            return self._table.scan(where=_of_level(search), query=search.text()).read_all()
        return self._table.search(search.text(), where=_of_level(search), limit=search.best)

    def count(self, search: Search) -> int:
        return self._table.count(where=_of_level(search), query=search.text())

    def levels(self, search: Search) -> dict[str, int]:
        return _pairs(self._grouped("level", search))

    def hours(self, search: Search) -> dict[int, int]:
        return _moments(self._grouped("date_histogram(ts, '1 hour')", search))

    def _grouped(self, by: str, search: Search) -> pa.Table:
        return self._table.aggregate(by=(by,), metrics={"n": "count"}, where=_of_level(search), query=search.text())


class Lance:
    def __init__(self, where: Path, _cache: Path) -> None:
        import lance

        self._dataset = lance.dataset(str(where))

    def rows(self, search: Search) -> pa.Table:
        return self._scanner(search, SCHEMA.names).to_table()

    def count(self, search: Search) -> int:
        return self._scanner(search, []).count_rows()

    def _scanner(self, search: Search, columns: Sequence[str]) -> Any:
        return self._dataset.scanner(
            columns=list(columns),
            full_text_query=_of_lance(search),
            filter=_of_level(search),
            prefilter=True,
            limit=search.best,
            with_row_id=not columns,
            disable_scoring_autoprojection=True,
        )


def _of_lance(search: Search) -> Any:
    from lance.query import FullTextOperator, MatchQuery, PhraseQuery

    if search.how == "phrase":
        return PhraseQuery(" ".join(search.words), "message")
    operator = FullTextOperator.AND if search.how == "and" else FullTextOperator.OR
    return MatchQuery(" ".join(search.words), "message", operator=operator)


class DuckDb:
    def __init__(self, where: Path, cache: Path) -> None:
        self._connection = split_tables.DuckDb(where, cache)._connection
        self._connection.execute("SET TimeZone = 'UTC'")

    def rows(self, search: Search) -> pa.Table:
        assert search.best is None
        return self._found("*", search)

    def count(self, search: Search) -> int:
        return self._found("count(*) AS n", search).column("n")[0].as_py()

    def levels(self, search: Search) -> dict[str, int]:
        return _pairs(self._found("level, count(*) AS n", search, "GROUP BY level"))

    def hours(self, search: Search) -> dict[int, int]:
        return _moments(self._found("date_trunc('hour', ts) AS hour, count(*) AS n", search, "GROUP BY hour"))

    def _found(self, what: str, search: Search, more: str = "") -> pa.Table:
        return self._connection.sql(f"SELECT {what} FROM rows WHERE {_like(search)} {more}").to_arrow_table()


def _like(search: Search) -> str:
    texts = [" ".join(search.words)] if search.how == "phrase" else list(search.words)
    each = [f"(message LIKE '%{text}%' AND regexp_matches(message, '\\b{text}\\b'))" for text in texts]
    found = (" OR " if search.how == "or" else " AND ").join(each)
    return f"({found}) AND {_of_level(search)}" if search.level else found


class Plain:
    def __init__(self, where: Path, _cache: Path) -> None:
        import tantivy

        self._index = tantivy.Index.open(str(where))
        self._searcher = self._index.searcher()

    def rows(self, search: Search) -> pa.Table:
        return self.fetched(self._query(search), search.best or self._searcher.num_docs)

    def fetched(self, query: Any, limit: int) -> pa.Table:
        """The best rows that a query finds, with all columns."""
        hits = self._searcher.search(query, limit, count=False).hits
        rows = [self._searcher.doc(address).to_dict() for _, address in hits]
        columns = [
            pa.array([row[field.name][0] for row in rows], pa.int64() if field.name == "ts" else field.type)
            for field in SCHEMA
        ]
        return pa.table(columns, names=SCHEMA.names).cast(SCHEMA)

    def count(self, search: Search) -> int:
        return self._searcher.search(self._query(search), 1, count=True).count

    def levels(self, search: Search) -> dict[str, int]:
        found = self._buckets(search, {"terms": {"field": "level"}})
        return {bucket["key"]: bucket["doc_count"] for bucket in found}

    def hours(self, search: Search) -> dict[int, int]:
        found = self._buckets(search, {"histogram": {"field": "ts", "interval": _HOUR_US, "min_doc_count": 1}})
        return {int(bucket["key"]): bucket["doc_count"] for bucket in found}

    def _buckets(self, search: Search, asked: dict[str, Any]) -> list[dict[str, Any]]:
        return self._searcher.aggregate(self._query(search), {"found": asked})["found"]["buckets"]

    def _query(self, search: Search) -> Any:
        text = f"+({search.text()}) +level:{search.level}" if search.level else search.text()
        return self._index.parse_query(text, ["message"])


_HANDLES: dict[str, Any] = {OURS: Ours, LANCE: Lance, DUCKDB: DuckDb, TANTIVY: Plain}


def _of_level(search: Search) -> str | None:
    return f"level = '{search.level}'" if search.level else None


def _pairs(table: pa.Table) -> dict[Any, int]:
    return dict(zip(table.column(0).to_pylist(), table.column("n").to_pylist(), strict=True))


def _moments(table: pa.Table) -> dict[int, int]:
    hours = table.column(0).cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return dict(zip(hours.to_pylist(), table.column("n").to_pylist(), strict=True))


# What workers run. A handle lives in its worker's `_open`.

_open: dict[str, Handle] = {}


@dataclass(frozen=True)
class Timed:
    """The median of the seconds that a question took when it was asked a few times, and the most memory so far."""

    seconds: float
    peak_mb: float


@dataclass(frozen=True)
class First:
    """The first search of a process: seconds to load the library, and to open and search; what was found."""

    load_s: float
    seconds: float
    found: Any
    peak_mb: float


def open_handle(subject: str, where: Path, cache: Path) -> None:
    _open["handle"] = _HANDLES[subject](where, cache)


def answer(verb: str, search: Search) -> Any:
    """What is found, in a form that can be compared: all values of all rows, or for the best ones their ids."""
    found = getattr(_open["handle"], verb)(search)
    return _comparable(found, search) if isinstance(found, pa.Table) else found


def time_answers(verb: str, search: Search) -> Timed:
    """Ask until it is enough. What is asked was answered before.

    Garbage is collected once and not before each answer: that empties the processor's caches, and a count takes less time than
    to fill them.
    """
    ask = getattr(_open["handle"], verb)
    seconds = [timed(ask, search)[0]]
    while sum(seconds) < _ENOUGH_S and len(seconds) < _MOST_REPEATS:
        start = time.perf_counter()
        ask(search)
        seconds.append(time.perf_counter() - start)
    return Timed(median(seconds), peak_mb())


def time_crowd(threads: int, searches: Sequence[Search]) -> tuple[float, list[list[int]]]:
    """Seconds for all searches by so many threads, and the ids that each found."""
    handle = _open["handle"]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: time.sleep(0.01), range(threads)))
        seconds, found = timed(lambda: list(pool.map(handle.rows, searches)))
    return seconds, [table.column("id").to_pylist() for table in found]


def first_answer(subject: str, where: Path, cache: Path, search: Search) -> First:
    """Load, open and search, in a process that has done nothing else."""
    load_s, _ = timed(_load, subject)

    def open_and_search() -> pa.Table:
        open_handle(subject, where, cache)
        return _open["handle"].rows(search)

    seconds, table = timed(open_and_search)
    return First(load_s, seconds, _comparable(table, search), peak_mb())


def _load(subject: str) -> None:
    """What a library loads when it is first used is loaded here too."""
    split_tables._load(subject)
    if subject == LANCE:
        import lance.query  # noqa: F401
    if subject == OURS:
        from indextables.split.query import bind, parse  # noqa: F401
        from indextables.table.read import search  # noqa: F401


def _comparable(table: pa.Table, search: Search) -> Any:
    if search.best is not None:
        return table.column("id").to_pylist()
    ordered = table.select(SCHEMA.names).cast(SCHEMA).sort_by("id")
    ids = hashlib.sha256(pc.cast(ordered.column("id"), pa.int64()).combine_chunks().to_numpy().tobytes())
    return table.num_rows, ids.hexdigest(), hashlib.sha256(repr(ordered.to_pydict()).encode()).hexdigest()


def ids(search: Search) -> list[int]:
    """The ids of all rows that a search could have found, were it not for its limit."""
    return _open["handle"].rows(replace(search, best=None)).column("id").to_pylist()
