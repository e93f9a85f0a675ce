"""What the benchmark of growth asks of each subject. The functions are run by workers; a handle lives in its worker's `_open`."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import search_tables
import split_tables
from measure import timed
from report import OURS
from search_data import Search
from split_data import SCHEMA, batches, read
from split_tables import DUCKDB, LANCE

APPENDED_ROWS = 100
"""Rows of one small append."""
AGGREGATES = {
    "sum of doubles": ([], {"m": "sum(latency)"}),
    "sum of whole numbers": ([], {"m": "sum(status)"}),
    "average by service": (["service"], {"m": "avg(latency)"}),
    "count by level": (["level"], {"m": "count"}),
    "different hosts": ([], {"m": "distinct(host)"}),
    "different ids": ([], {"m": "distinct(id)"}),
}
"""Aggregates of all rows: the keys, and the number that is wanted."""
ERRORS, FIRST_ROWS, ANY_ROWS, EVERYTHING = "errors", "first rows", "any rows", "everything"
"""Questions without a search: rows of one level, the first ten rows, ten that a search for everything finds, all rows."""
_FEW = 10
_SQL = {"count": "count(*)", "distinct(host)": "count(DISTINCT host)", "distinct(id)": "count(DISTINCT id)"}
_ENOUGH_S = 1.0
_MOST_REPEATS = 15
_open: dict[str, Any] = {}


def merge_into_one(source: Path, where: Path) -> int:
    """A copy of a table without partitions, merged. Returns how many splits it has."""
    from indextables import Table

    shutil.rmtree(where, ignore_errors=True)
    shutil.copytree(source, where, copy_function=split_tables._shared)
    table = Table.open(where)
    table.merge_splits(target_size="100G")
    return table.files().num_rows


def write_splits(rows: Path, where: Path, rows_a_split: int, splits: int) -> None:
    """A table without partitions, of so many splits."""
    from indextables import Table

    shutil.rmtree(where, ignore_errors=True)
    options = {"indexing.typemap.message": "text", "indexWriter.splitSize": "100G"}
    table = Table.create(where, SCHEMA, options=options)
    for piece in _pieces(rows, rows_a_split):
        table.append(piece)
    _expect(where, table.files().num_rows, splits)


def write_fragments(rows: Path, where: Path, rows_a_fragment: int, fragments: int) -> None:
    """A dataset of lance of so many fragments, and one index of the words of all of them."""
    import lance

    dataset = lance.write_dataset(read(rows), str(where), schema=SCHEMA, max_rows_per_file=rows_a_fragment)
    dataset.create_scalar_index("message", "INVERTED", **split_tables._TEXT_INDEX)
    _expect(where, len(dataset.get_fragments()), fragments)


def _expect(where: Path, found: int, wanted: int) -> None:
    if found != wanted:
        raise AssertionError(f"{where} has {found} files, not {wanted}")


def _pieces(rows: Path, size: int) -> Iterator[pa.Table]:
    """All rows in tables of `size` rows."""
    some: list[pa.RecordBatch] = []
    missing = size
    for batch in batches(rows):
        rest = batch
        while rest.num_rows:
            some.append(rest.slice(0, missing))
            missing -= some[-1].num_rows
            rest = rest.slice(some[-1].num_rows)
            if not missing:
                yield pa.Table.from_batches(some).combine_chunks()
                some, missing = [], size


# Many small appends.


def _small(rows: Path, count: int) -> list[pa.Table]:
    return list(islice(_pieces(rows, APPENDED_ROWS), count))


def append_ours(rows: Path, where: Path, count: int, merging: bool = False) -> tuple[list[float], int]:
    """Seconds of each append, and the splits that are left at the end of the program."""
    import threading

    from indextables import Table

    shutil.rmtree(where, ignore_errors=True)
    options = {"indexing.typemap.message": "text", "mergeOnWrite.enabled": str(merging).lower()}
    table = Table.create(where, SCHEMA, options=options)
    seconds = [_seconds(lambda piece=piece: table.append(piece)) for piece in _small(rows, count)]
    for thread in threading.enumerate():
        if thread.name == "indextables-merge-on-write":
            thread.join()
    return seconds, Table.open(where).files().num_rows


def append_lance(rows: Path, where: Path, count: int) -> tuple[list[float], int]:
    """Seconds of each append. The words of the first rows are indexed; lance indexes later ones when somebody asks it to."""
    import lance

    shutil.rmtree(where, ignore_errors=True)
    first, *others = _small(rows, count)
    lance.write_dataset(first, str(where)).create_scalar_index("message", "INVERTED", **split_tables._TEXT_INDEX)
    seconds = [_seconds(lambda piece=piece: lance.write_dataset(piece, str(where), mode="append")) for piece in others]
    return [median(seconds), *seconds], len(lance.dataset(str(where)).get_fragments())


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


# Questions.


def open_handle(subject: str, where: Path, cache: Path) -> None:
    search_tables.open_handle(subject, where, cache)
    _open["handle"] = search_tables._open["handle"]


def answer(verb: str, search: Search | None) -> Any:
    """What is found, in a form that can be compared; of the best rows only how many there are."""
    found = _ask(verb, search)()
    if isinstance(found, pa.Table) and verb == "rows":
        return found.num_rows if search is not None and search.best else search_tables._comparable(found, search)
    return found.num_rows if isinstance(found, pa.Table) else found


def time_answers(verb: str, search: Search | None) -> float:
    """The median of some answers. What is asked was answered before."""
    return repeated(_ask(verb, search))


def repeated(ask: Callable[[], Any]) -> float:
    """The median of up to 15 answers, or of so many as take a second."""
    seconds = [timed(ask)[0]]
    while sum(seconds) < _ENOUGH_S and len(seconds) < _MOST_REPEATS:
        seconds.append(_seconds(ask))
    return median(seconds)


def _ask(verb: str, search: Search | None) -> Callable[[], Any]:
    handle = _open["handle"]
    if verb in _WITHOUT_SEARCH:
        return lambda: _WITHOUT_SEARCH[verb](handle)
    if verb in AGGREGATES:
        return lambda: _aggregate(handle, *AGGREGATES[verb])
    return lambda: getattr(handle, verb)(search)


def _everything(handle: Any) -> pa.Table:
    if isinstance(handle, search_tables.Ours):
        return handle._table.scan().read_all()
    return handle._dataset.to_table()


def _first_rows(handle: Any) -> pa.Table:
    if isinstance(handle, search_tables.Ours):
        return handle._table.scan(limit=_FEW).read_all()
    return handle._dataset.to_table(limit=_FEW)


def _any_rows(handle: Any) -> pa.Table:
    if isinstance(handle, search_tables.Ours):
        return handle._table.search("*", limit=_FEW)
    return handle.fetched(handle._index.parse_query("*"), _FEW)


def _errors(handle: Any) -> int:
    if isinstance(handle, search_tables.Ours):
        return handle._table.count(where="level = 'ERROR'")
    return handle._dataset.count_rows(filter="level = 'ERROR'")


_WITHOUT_SEARCH: dict[str, Callable[[Any], Any]] = {
    EVERYTHING: _everything,
    FIRST_ROWS: _first_rows,
    ANY_ROWS: _any_rows,
    ERRORS: _errors,
}


def _aggregate(handle: Any, keys: Sequence[str], metrics: dict[str, str]) -> list[tuple[Any, ...]]:
    """The groups in the order of their keys. Doubles are rounded: DuckDB adds them up in the order of its threads."""
    if isinstance(handle, search_tables.Ours):
        table = handle._table.aggregate(by=list(keys), metrics=metrics)
    else:
        wanted = ", ".join([*keys, *(f"{_SQL.get(metric, metric)} AS {name}" for name, metric in metrics.items())])
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        table = handle._connection.sql(f"SELECT {wanted} FROM rows{group}").to_arrow_table()
    rows = zip(*(table.column(name).to_pylist() for name in [*keys, *metrics]), strict=True)
    return sorted(tuple(round(value, 3) if isinstance(value, float) else value for value in row) for row in rows)


def first_answer(subject: str, where: Path, cache: Path, search: Search) -> float:
    """Seconds of a fresh process until it has opened the table and found the best rows, imports included."""
    import subprocess
    import sys

    ours = (
        "from indextables import Table\n"
        f"table = Table.open({str(where)!r}, options={{'spark.indextables.cache.disk.directory': {str(cache)!r}}})\n"
        f"assert table.search({search.text()!r}, limit=10).num_rows == 10"
    )
    theirs = (
        "import lance\n"
        f"found = lance.dataset({str(where)!r}).scanner(full_text_query={' '.join(search.words)!r}, limit=10).to_table()\n"
        "assert found.num_rows == 10"
    )
    code = ours if subject == OURS else theirs
    return _seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True, capture_output=True))


__all__ = ["AGGREGATES", "DUCKDB", "LANCE", "answer", "open_handle", "time_answers"]
