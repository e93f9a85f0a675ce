"""Answers that need few rows or none, and a scan of all of them: counts by a level, ten rows of any, and memory of a full scan.

count       of the rows of one level, beside lance with a BITMAP index of the level
ten rows    the first of a scan, beside lance; any of a search for everything, beside Tantivy
full scan   in a fresh process, batch by batch and into one table: seconds and peak memory, beside DuckDB over Parquet
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import growth_tables as tables
import measure
import search
import split_tables
from growth_rounds import Handles, Say, Sizes, at_most_ms
from report import OURS, Goal, Row
from search_tables import DUCKDB, LANCE, TANTIVY
from split_data import PARTITION

_MOST_MB = 600
"""Megabytes that a process may hold at most that scans 2,000,000 rows."""
_OPEN = {
    OURS: (
        "from indextables import Table\n"
        "options = {{'spark.indextables.cache.disk.directory': {cache!r}}}\n"
        "scan = Table.open({where!r}, options=options).scan()\n"
    ),
    DUCKDB: (
        "import duckdb\n"
        f"rows = \"FROM read_parquet('{{where}}/*/*.parquet', hive_types = {{{{'{PARTITION}': VARCHAR}}}})\"\n"
        "scan = duckdb.sql(rows).to_arrow_reader()\n"
    ),
}
"""Programs that begin a scan. What they have in common follows."""
_READ = {
    "batch by batch": "batches = scan\n",
    "into one Arrow table": "table = scan.read_all()\nbatches = table.to_batches()\n",
}
_END = (
    "import pyarrow.compute as pc\n"
    "found = [(batch.num_rows, pc.sum(batch.column('id')).as_py()) for batch in batches]\n"
    "status = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
    "print(*map(sum, zip(*found)), status['VmHWM'].split()[0])\n"
)


@dataclass(frozen=True)
class _Scan:
    """A full scan in a process of its own: its seconds, imports included, how many rows it had and the sum of their ids."""

    seconds: float
    rows: int
    ids: int
    peak_mb: float


def build(data: Path, quick: bool, say: Say) -> None:
    """The tables of the search benchmark."""
    search.build(data, Sizes.of(quick).search, say)


def measured(data: Path, quick: bool) -> dict[str, Row]:
    """Measure everything, by a short name."""
    sizes = Sizes.of(quick)
    rows = sizes.search.rows
    found = {}
    for name, peer, what in (
        (tables.ERRORS, LANCE, f"count where level = 'ERROR', {rows:,} rows"),
        (tables.FIRST_ROWS, LANCE, f"scan(limit=10), {rows:,} rows"),
        (tables.ANY_ROWS, TANTIVY, f'search("*", limit=10), {rows:,} rows'),
    ):
        with Handles({each: (each, data / each, data / "cache") for each in (OURS, peer)}) as handles:
            answer = handles.same(name, None)
            found[name] = handles.rounds(what, name, None, sizes.rounds)
            found[name].note = f"{answer:,} rows"
    found[
        tables.ANY_ROWS
    ].note = "of any rows, which have one score; no other subject but Tantivy searches for everything"
    return {**found, **_scanned(data, sizes)}


def _scanned(data: Path, sizes: Sizes) -> dict[str, Row]:
    found = {}
    folders = {OURS: data / OURS, DUCKDB: data / split_tables.PARQUET}
    for how in _READ:
        turns = {name: _turn(name, folder, data / "cache", how) for name, folder in folders.items()}
        results = measure.rounds(sizes.rounds, turns)
        _compare(results, sizes.search.rows)
        seconds = {name: [scan.seconds for scan in scans] for name, scans in results.items()}
        peaks = {name: max(scan.peak_mb for scan in scans) for name, scans in results.items()}
        row = Row(f"full scan {how}, fresh process, {sizes.search.rows:,} rows", seconds, peaks)
        row.note = "memory of the whole process, imports included; Polars is not among the libraries of the benchmark"
        found[f"scan {how}"] = row
    return found


def _turn(subject: str, where: Path, cache: Path, how: str) -> Callable[[int], _Scan]:
    code = _OPEN[subject].format(where=str(where), cache=str(cache)) + _READ[how] + _END

    def turn(_number: int) -> _Scan:
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        rows, ids, kilobytes = map(int, done.stdout.split())
        return _Scan(seconds, rows, ids, kilobytes / 1024)

    return turn


def _compare(results: Mapping[str, list[_Scan]], rows: int) -> None:
    """Everybody must have had all rows, in every round."""
    found = {(scan.rows, scan.ids) for scans in results.values() for scan in scans}
    if found != {(rows, rows * (rows - 1) // 2)}:
        raise AssertionError(f"full scans found {found}")


def goals(rows: Mapping[str, Row]) -> list[Goal]:
    """Counts are not slower than lance's, ten rows come at once, and a scan does not take the memory of a table."""
    return [
        search._faster(rows[tables.ERRORS], LANCE, 1),
        at_most_ms(rows[tables.FIRST_ROWS], 15),
        *(_at_most_mb(rows[f"scan {how}"]) for how in _READ),
    ]


def _at_most_mb(row: Row) -> Goal:
    peak = row.peaks_mb[OURS]
    return Goal(f"{row.what}, at most {_MOST_MB} MB of memory", f"{peak:,.0f} MB", peak <= _MOST_MB)
