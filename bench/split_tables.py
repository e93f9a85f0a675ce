"""The subjects that write rows and answer questions about them, each as its users would set it up.

indextables  a table partitioned by day with the message as text; numbers and times as they are indexed by default
lance        one dataset, an inverted index with positions over the message that cuts words as ours does (no stemming, no stop
             words), and BTREE indexes over id and ts, without which it would scan for every look-up
duckdb       a view over Parquet, hive-partitioned by day, zstd, in row groups of DuckDB's own size, metadata cached
pyarrow      the same files as a dataset, without an index and without an engine

Nothing says how many threads to use: all of them take as many as there are processors.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import measure
import pyarrow as pa
import pyarrow.compute as pc
from measure import timed
from report import OURS
from split_data import PARTITION, SCHEMA, Question, batches, of_day, read

LANCE = "lance"
DUCKDB = "duckdb"
PARQUET = "pyarrow"
_PREFIX = "spark.indextables."
_ROW_GROUP = 122_880
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TEXT_INDEX = {
    "with_position": True,
    "stem": False,
    "remove_stop_words": False,
    "ascii_folding": False,
    "max_token_length": 255,
}


@dataclass(frozen=True)
class Written:
    """A write in a process of its own. `more_s` and `more_bytes` are what indexes beyond that of the words cost."""

    seconds: float
    size: int
    peak_mb: float
    more_s: float = 0.0
    more_bytes: int = 0


def size_of(where: Path) -> int:
    return sum(path.stat().st_size for path in where.rglob("*") if path.is_file())


def peak_mb() -> float:
    """The most memory of this process, and of the largest process that it started."""
    import resource

    return measure.peak_mb() + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


# Writing. Whatever a library loads when it is first used is loaded before.


def write_ours(rows: Path, where: Path, lookup: str = "") -> Written:
    table = _create(where, partitioned=True, lookup=lookup)
    seconds, _ = timed(table.append, read(rows))
    return Written(seconds, size_of(where), peak_mb())


def write_lance(rows: Path, where: Path) -> Written:
    import lance

    shutil.rmtree(where, ignore_errors=True)

    def write() -> Any:
        dataset = lance.write_dataset(read(rows), str(where), schema=SCHEMA)
        dataset.create_scalar_index("message", "INVERTED", **_TEXT_INDEX)
        return dataset

    def look_ups(dataset: Any) -> None:
        dataset.create_scalar_index("id", "BTREE")
        dataset.create_scalar_index("ts", "BTREE")

    seconds, dataset = timed(write)
    size, peak = size_of(where), peak_mb()
    more_s, _ = timed(look_ups, dataset)
    return Written(seconds, size, peak, more_s, size_of(where) - size)


def write_parquet(rows: Path, where: Path) -> Written:
    """The files that DuckDB and pyarrow read."""
    import pyarrow.parquet as pq

    shutil.rmtree(where, ignore_errors=True)
    stored = pa.schema([field for field in SCHEMA if field.name != PARTITION])

    def write() -> None:
        for path in sorted(rows.glob("*.arrows")):
            folder = where / f"{PARTITION}={path.stem}"
            folder.mkdir(parents=True)
            day = pa.Table.from_batches(of_day(path)).select(stored.names)
            pq.write_table(day, folder / "rows.parquet", compression="zstd", row_group_size=_ROW_GROUP)

    seconds, _ = timed(write)
    return Written(seconds, size_of(where), peak_mb())


def write_pieces(rows: Path, where: Path, batches_a_split: int, partitioned: bool) -> int:
    """A table of many appends, each of them one split. Returns how many there are."""
    table = _create(where, partitioned)
    gathered: list[pa.RecordBatch] = []
    for batch in batches(rows):
        gathered.append(batch)
        if len(gathered) == batches_a_split:
            table.append(pa.Table.from_batches(gathered))
            gathered = []
    assert not gathered
    return int(table.files().num_rows)


def merge_pieces(source: Path, where: Path, rows: int, left: int) -> Written:
    """Merge a copy of a table. Splits are never changed, so the copy may share them."""
    from indextables import Table
    from indextables.table.maintain import merge  # noqa: F401 - loaded when it is first used

    shutil.rmtree(where, ignore_errors=True)
    shutil.copytree(source, where, copy_function=_shared)
    table = Table.open(where)
    before = _facts(table.scan(["id", "message"]).read_all())
    seconds, merged = timed(table.merge_splits)
    after = _facts(table.scan(["id", "message"]).read_all())
    files = table.files().num_rows
    if before != after or merged.rows != rows or files != left:
        raise AssertionError(f"{where}: {merged} left {files} files and {after}, there were {before}")
    return Written(seconds, merged.bytes_after, peak_mb())


def _shared(source: str, target: str) -> None:
    if source.endswith(".split"):
        Path(target).hardlink_to(source)
    else:
        shutil.copy2(source, target)


def _create(where: Path, partitioned: bool, lookup: str = "") -> Any:
    import tantivy  # noqa: F401
    import vortex  # noqa: F401

    from indextables import Table
    from indextables.table.write import append  # noqa: F401

    shutil.rmtree(where, ignore_errors=True)
    options = {f"{_PREFIX}indexing.typemap.message": "text"}
    if lookup:
        options[f"{_PREFIX}indexing.lookupfields"] = lookup
    return Table.create(where, SCHEMA, partition_by=[PARTITION] if partitioned else [], options=options)


# Reading.


class Handle(Protocol):
    """A subject that is kept open."""

    def ask(self, question: Question) -> pa.Table:
        """All rows that are asked for."""


class Ours:
    def __init__(self, where: Path, cache: Path) -> None:
        from indextables import Table

        self._table = Table.open(where, options={f"{_PREFIX}cache.disk.directory": str(cache)})

    def ask(self, question: Question) -> pa.Table:
        where = _condition(question, lambda us: f"TIMESTAMP '{_moment(us).isoformat()}'")
        return self._table.scan(list(question.columns), where=where).read_all()


class Lance:
    def __init__(self, where: Path, _cache: Path) -> None:
        import lance

        self._dataset = lance.dataset(str(where))

    def ask(self, question: Question) -> pa.Table:
        where = _condition(question, lambda us: f"TIMESTAMP '{_moment(us).replace(tzinfo=None).isoformat(' ')}'")
        return self._dataset.to_table(columns=list(question.columns), filter=where)


class DuckDb:
    def __init__(self, where: Path, _cache: Path) -> None:
        import duckdb

        self._connection = duckdb.connect()
        self._connection.execute("SET parquet_metadata_cache = true")
        self._connection.execute(
            f"CREATE VIEW rows AS FROM read_parquet('{where}/*/*.parquet', hive_types = {{'{PARTITION}': VARCHAR}})"
        )

    def ask(self, question: Question) -> pa.Table:
        where = _condition(question, lambda us: f"TIMESTAMPTZ '{_moment(us).isoformat(' ')}'")
        condition = f" WHERE {where}" if where else ""
        return self._connection.sql(f"SELECT {', '.join(question.columns)} FROM rows{condition}").to_arrow_table()


class Plain:
    def __init__(self, where: Path, _cache: Path) -> None:
        import pyarrow.dataset as ds

        parts = ds.partitioning(pa.schema([SCHEMA.field(PARTITION)]), flavor="hive")
        self._dataset = ds.dataset(where, partitioning=parts)

    def ask(self, question: Question) -> pa.Table:
        assert not question.ids
        assert question.span is None
        chosen = None if question.day is None else pc.field(PARTITION) == question.day
        return self._dataset.to_table(columns=list(question.columns), filter=chosen)


_HANDLES = {OURS: Ours, LANCE: Lance, DUCKDB: DuckDb, PARQUET: Plain}


def _condition(question: Question, moment: Any) -> str | None:
    if question.day is not None:
        return f"{PARTITION} = '{question.day}'"
    if question.span is not None:
        begin, end = map(moment, question.span)
        return f"ts >= {begin} AND ts < {end}"
    if len(question.ids) == 1:
        return f"id = {question.ids[0]}"
    return f"id IN ({', '.join(map(str, question.ids))})" if question.ids else None


def _moment(us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=us)


# What workers run. A handle lives in its worker's `_open`.

_open: dict[str, Handle] = {}


@dataclass(frozen=True)
class Answers:
    """Seconds of each question, and what was found, in a form that can be compared."""

    seconds: list[float]
    found: list[Any]
    peak_mb: float


def open_handle(subject: str, where: Path, cache: Path) -> None:
    _open["handle"] = _HANDLES[subject](where, cache)


def ask(questions: Sequence[Question]) -> Answers:
    """Ask one after the other. Answers are looked at when the clock has stopped."""
    seconds, found = [], []
    for question in questions:
        spent, table = timed(_open["handle"].ask, question)
        seconds.append(spent)
        found.append(_exactly(table) if question.ids or question.span else _facts(table))
        del table
    return Answers(seconds, found, peak_mb())


def first_answer(subject: str, where: Path, cache: Path, question: Question) -> Answers:
    """Open and ask, in a process that has loaded its libraries and done nothing else."""
    _load(subject)

    def open_and_ask() -> pa.Table:
        open_handle(subject, where, cache)
        return _open["handle"].ask(question)

    seconds, table = timed(open_and_ask)
    return Answers([seconds], [_exactly(table)], peak_mb())


def _load(subject: str) -> None:
    """What a library loads when it is first used is loaded here too."""
    if subject != OURS:
        __import__(subject)
        return
    import datafusion  # noqa: F401
    import tantivy  # noqa: F401
    import vortex  # noqa: F401

    from indextables.core.predicate import parse_predicate
    from indextables.table.read import scan  # noqa: F401

    parse_predicate("true", SCHEMA)


def _exactly(table: pa.Table) -> tuple[int, str]:
    """How many rows, and a digest of all values."""
    ordered = table.select(SCHEMA.names).cast(SCHEMA).sort_by("id")
    return table.num_rows, hashlib.sha256(repr(ordered.to_pydict()).encode()).hexdigest()


def _facts(table: pa.Table) -> dict[str, Any]:
    """What can be said about many rows in any order: their number, bounds and nulls, sums of numbers and of lengths."""
    facts: dict[str, Any] = {"rows": table.num_rows}
    for name in table.column_names:
        column = table.column(name).cast(SCHEMA.field(name).type)
        least_and_most = pc.min_max(column).as_py()
        sizes = pc.binary_length(column) if pa.types.is_string(column.type) else column
        total = pc.sum(sizes).as_py() if pa.types.is_integer(sizes.type) else None
        facts[name] = (column.null_count, least_and_most["min"], least_and_most["max"], total)
    return facts
