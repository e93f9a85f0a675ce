"""How cost grows: the same questions over tables of one size and of five times that, merged and not, of few and of many splits.

    rows        a table of ten splits, and another with five times the rows; an exponent of 1 is growth with the work
    merged      one split in place of ten, beside lance
    appends     very many appends of 100 rows, each one timed, and questions to what they leave, beside lance
    aggregates  of all rows, beside DuckDB over Parquet
    first       a fresh process, imports included, beside lance

Answers are compared before anything is timed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Self

import growth_tables as tables
import measure
import search
import search_tables
import split_data
import split_tables
from growth_tables import AGGREGATES
from measure import Worker, once
from report import OURS, TIMES, Goal, Row
from search_data import Search
from search_tables import DUCKDB, LANCE, TANTIVY

SUBJECTS = [OURS, LANCE, DUCKDB]
VERSIONS = {LANCE: "pylance", DUCKDB: "duckdb"}
_TIMES_LARGER = 5
_LARGE, _LARGE_ROWS, _WHOLE, _MERGED = "large", "rows-large", "whole", "merged"
_ASKED = {"best ten": ("rows", "top term"), "best ten of two words": ("rows", "top or"), "fetch": ("rows", "medium")}
_GROWING = {
    **_ASKED,
    "fetch a phrase": ("rows", "phrase"),
    "fetch a word, ERROR": ("rows", "level"),
    "count": ("count", "common"),
}
"""Questions by name: the verb of a handle, and the search."""


@dataclass(frozen=True)
class Sizes:
    """How many rows and appends, and how often."""

    search: search.Sizes
    appends: int
    rounds: int

    @classmethod
    def of(cls, quick: bool) -> Sizes:
        return cls(search.Sizes.of(quick), *((100, 2) if quick else (1_000, 5)))


def build(data: Path, sizes: Sizes, say: Callable[[str], None]) -> None:
    """The tables of the search benchmark, one of five times the rows, and one that is merged."""
    search.build(data, sizes.search, say)
    jobs: list[tuple[Any, ...]] = [
        (data / _LARGE_ROWS, split_data.generate, data / _LARGE_ROWS, sizes.search.rows * _TIMES_LARGER),
        (data / _LARGE, split_tables.write_ours, data / _LARGE_ROWS, data / _LARGE),
        (data / _WHOLE, split_tables.write_pieces, data / "rows", data / _WHOLE, split_data.BATCHES_A_DAY, False),
        (data / _MERGED, tables.merge_into_one, data / _WHOLE, data / _MERGED),
    ]
    for folder, function, *arguments in jobs:
        if not folder.exists():
            start = time.perf_counter()
            once(function, *arguments)
            say(f"built {folder.name} ({function.__name__}) in {time.perf_counter() - start:.0f} s")


def measured(data: Path, sizes: Sizes) -> dict[str, Row]:
    """Measure everything, by a short name."""
    rows = sizes.search.rows
    asked = once(search_tables.choose, data / "rows", rows, data / TANTIVY, 10).searches
    return {
        **_grown(data, asked, sizes),
        **_merged(data, asked, sizes),
        **_aggregated(data, sizes),
        **_appended(data, asked, sizes),
        **_first(data, asked, sizes),
    }


def _grown(data: Path, asked: Mapping[str, Search], sizes: Sizes) -> dict[str, Row]:
    """Both tables are of one generator, so that a word has as large a share of the rows of one as of the other."""
    found = {}
    with _Handles({OURS: data / OURS, _LARGE: data / _LARGE}, data) as handles:
        for name, (verb, which) in _GROWING.items():
            row = handles.rounds(
                f"{name}, {sizes.search.rows * _TIMES_LARGER:,} rows", verb, asked[which], sizes.rounds
            )
            row.beside = row.seconds[OURS]
            row.seconds = {OURS: row.seconds.pop(_LARGE)}
            growth = median(row.seconds[OURS]) / median(row.beside)
            row.note = (
                f"{median(row.beside) * 1e3:.2f} ms with {sizes.search.rows:,} rows: {growth:.1f}{TIMES} as long for "
                f"{_TIMES_LARGER}{TIMES} the rows, exponent {math.log(growth) / math.log(_TIMES_LARGER):.2f}"
            )
            found[f"grown {name}"] = row
    return found


def _merged(data: Path, asked: Mapping[str, Search], sizes: Sizes) -> dict[str, Row]:
    found = {}
    with _Handles({OURS: data / _MERGED, LANCE: data / LANCE}, data) as handles:
        for name, (verb, which) in _ASKED.items():
            handles.same(verb, asked[which])
            found[f"merged {name}"] = handles.rounds(f"{name}, all rows in one split", verb, asked[which], sizes.rounds)
    return found


def _aggregated(data: Path, sizes: Sizes) -> dict[str, Row]:
    found = {}
    with _Handles({OURS: data / OURS, DUCKDB: data / split_tables.PARQUET}, data) as handles:
        for name in AGGREGATES:
            handles.same(name, None)
            found[name] = handles.rounds(f"{name}, {sizes.search.rows:,} rows", name, None, sizes.rounds)
    return found


def _appended(data: Path, asked: Mapping[str, Search], sizes: Sizes) -> dict[str, Row]:
    where = {name: data / f"appended-{name}" for name in (OURS, LANCE)}
    ours, splits = once(tables.append_ours, data / "rows", where[OURS], sizes.appends)
    theirs, _ = once(tables.append_lance, data / "rows", where[LANCE], sizes.appends)
    each = Row(f"append {tables.APPENDED_ROWS} rows, {sizes.appends:,} times", {OURS: ours, LANCE: theirs})
    each.note = "lance indexes no words of these rows, and syncs nothing"
    beside, left = once(tables.append_ours, data / "rows", data / "appended-merging", sizes.appends, True)
    merging = Row(f"the same, with merges beside ({left} splits are left)", {OURS: beside})
    found = {"append": each, "append, merging": merging}
    with _Handles(where, data) as handles:
        for name, verb, which in (
            *((name, *asked_for) for name, asked_for in _ASKED.items()),
            ("count", "count", "common"),
        ):
            handles.same(verb, asked[which])
            found[f"many {name}"] = handles.rounds(f"{name}, {splits:,} splits", verb, asked[which], sizes.rounds)
        found["many everything"] = handles.rounds(
            f"scan everything, {splits:,} splits", "everything", None, sizes.rounds
        )
    return found


def _first(data: Path, asked: Mapping[str, Search], sizes: Sizes) -> dict[str, Row]:
    best = replace(asked["common"], best=10)
    found = {}
    for name, folders in {
        "ten splits": {OURS: data / OURS, LANCE: data / LANCE},
        f"{sizes.appends:,} splits": {OURS: data / f"appended-{OURS}", LANCE: data / f"appended-{LANCE}"},
    }.items():
        turns = {
            subject: (
                lambda _number, subject=subject, where=where: tables.first_answer(subject, where, data / "cache", best)
            )
            for subject, where in folders.items()
        }
        results = measure.rounds(sizes.rounds, turns)
        found[f"first, {name}"] = Row(f"best ten in a fresh process, imports included, {name}", results)
    return found


class _Handles:
    """Handles that are kept open, each in a worker of its own. The table of five times the rows is ours too."""

    def __init__(self, folders: Mapping[str, Path], data: Path) -> None:
        self._workers = {name: Worker() for name in folders}
        for name, worker in self._workers.items():
            subject = OURS if name == _LARGE else name
            worker.call(tables.open_handle, subject, folders[name], data / "cache")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers.values():
            worker.close()

    def same(self, verb: str, asked: Search | None) -> None:
        """Raise AssertionError unless everybody has the same answer."""
        found = {name: worker.call(tables.answer, verb, asked) for name, worker in self._workers.items()}
        if any(each != found[OURS] for each in found.values()):
            raise AssertionError(f"{verb} of {asked}: {found}")

    def rounds(self, what: str, verb: str, asked: Search | None, count: int) -> Row:
        def turn(name: str) -> Callable[[int], float]:
            return lambda _number: self._workers[name].call(tables.time_answers, verb, asked)

        return Row(what, measure.rounds(count, {name: turn(name) for name in self._workers}))


def goals(rows: Mapping[str, Row]) -> list[Goal]:
    """No cost grows faster than the work, and we are ahead of each peer."""
    most = {"best ten": 6, "best ten of two words": 6, "count": 6}
    least = {"sum of doubles": 1.5}
    return [
        *(_grows(rows[f"grown {name}"], most.get(name, 7)) for name in _GROWING),
        *(search._faster(rows[f"merged {name}"], LANCE, 1) for name in _ASKED),
        *(search._faster(rows[name], DUCKDB, least.get(name, 1)) for name in AGGREGATES),
        *(search._faster(rows[name], LANCE, 1) for name in rows if name.startswith(("many ", "first, "))),
        _fast_enough(rows["append"], 20),
    ]


def _grows(row: Row, most: float) -> Goal:
    growth = median(row.seconds[OURS]) / median(row.beside)
    text = f"{row.what}, at most {most}{TIMES} the time of {_TIMES_LARGER}{TIMES} fewer"
    return Goal(text, f"{growth:.1f}{TIMES}", growth <= most)


def _fast_enough(row: Row, most_ms: float) -> Goal:
    spent = median(row.seconds[OURS]) * 1e3
    return Goal(f"{row.what}, at most {most_ms} ms each", f"{spent:.1f} ms", spent <= most_ms)


def notes() -> Sequence[str]:
    return [
        "answers were compared before they were timed; of the best ten, that there are ten",
        "a question was answered before by the same handle; a round is the median of up to 15 answers",
    ]
