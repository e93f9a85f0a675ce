"""Search: rows, counts and aggregates of what a query finds, beside lance, DuckDB over Parquet and plain Tantivy.

Before anything is timed, everybody answers everything, and the answers are compared: all values of all rows, all counts. Only
the best ten of a ranking may differ, since BM25 depends on how rows lie in files; they must be rows that the query finds.

Then handles that are kept open take turns. Opening is measured in fresh processes.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, Self

import measure
import search_tables as tables
import split_data
import split_tables
import splits
from measure import Spread, Worker, once
from report import OURS, TIMES, Goal, Row
from search_data import COUNTED, FETCHED, RANKED, Asked, Search
from search_tables import DUCKDB, LANCE, TANTIVY, First, Timed

SUBJECTS = [OURS, LANCE, DUCKDB, TANTIVY]
VERSIONS = {LANCE: "pylance", DUCKDB: "duckdb", TANTIVY: "tantivy"}
_RANKING = [OURS, LANCE, TANTIVY]
_GROUPING = [OURS, DUCKDB, TANTIVY]
_FOLDERS = {OURS: OURS, LANCE: LANCE, DUCKDB: split_tables.PARQUET, TANTIVY: TANTIVY}
_CROWD = 100
_THREADS = 8
_MOST_MS = 100


@dataclass(frozen=True)
class Sizes:
    """How many rows, and how often."""

    rows: int
    rounds: int
    first_rounds: int
    crowd_rounds: int

    @classmethod
    def of(cls, quick: bool) -> Sizes:
        rows = splits.Sizes.of(quick).rows
        return cls(rows, 3, 2, 2) if quick else cls(rows, 11, 9, 5)


def build(data: Path, sizes: Sizes, say: Callable[[str], None]) -> None:
    """The rows and the tables, as far as the benchmark of the splits has not left them here."""
    rows = data / "rows"
    jobs: list[tuple[Any, ...]] = [
        (split_data.generate, rows, sizes.rows),
        (split_tables.write_ours, rows, data / OURS),
        (split_tables.write_lance, rows, data / LANCE),
        (split_tables.write_parquet, rows, data / split_tables.PARQUET),
        (tables.write_tantivy, rows, data / TANTIVY),
    ]
    for number, (function, *arguments) in enumerate(jobs):
        folder = arguments[min(number, 1)]
        if not folder.exists():
            start = time.perf_counter()
            once(function, *arguments)
            say(f"built {folder.name} ({function.__name__}) in {time.perf_counter() - start:.0f} s")
    once(tables.index_levels, data / LANCE)


def measured(data: Path, sizes: Sizes) -> dict[str, Row]:
    """Measure everything, by a short name."""
    asked: Asked = once(tables.choose, data / "rows", sizes.rows, data / TANTIVY, _CROWD)
    with _Open(data) as handles:
        rows = {
            **_fetched(handles, asked.searches, sizes),
            **_counted(handles, asked.searches, sizes),
            **_grouped(handles, asked.searches, sizes),
            **_unseen(handles, asked.unseen, sizes),
            **_crowded(handles, asked.crowd, sizes),
        }
    return {**rows, **_first(data, asked.searches["medium"], sizes)}


class _Open:
    """Handles that are kept open, each in a worker of its own."""

    def __init__(self, data: Path) -> None:
        self.workers = {name: Worker() for name in SUBJECTS}
        for name, worker in self.workers.items():
            worker.call(tables.open_handle, name, data / _FOLDERS[name], data / "cache")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers.values():
            worker.close()

    def answers(self, subjects: Sequence[str], verb: str, search: Search) -> Any:
        """What everybody found, which must be the same."""
        found = {name: self.workers[name].call(tables.answer, verb, search) for name in subjects}
        for name in subjects[1:]:
            if found[name] != found[OURS]:
                raise AssertionError(f"{verb} of {search}: {OURS} found {found[OURS]}, {name} found {found[name]}")
        return found[OURS]

    def best(self, subjects: Sequence[str], search: Search) -> tuple[int, dict[str, list[int]]]:
        """How many rows a search finds, and those that each subject has for the best."""
        all_ids = set(self.workers[TANTIVY].call(tables.ids, search))
        found = {name: self.workers[name].call(tables.answer, "rows", search) for name in subjects}
        for name, ids in found.items():
            if len(set(ids)) != search.best or not all_ids.issuperset(ids):
                raise AssertionError(f"{name} has {ids} for the best rows of {search}")
        return len(all_ids), found

    def rounds(self, count: int, subjects: Sequence[str], what: str, verb: str, search: Search) -> Row:
        def turn(name: str) -> Callable[[int], Timed]:
            return lambda _number: self.workers[name].call(tables.time_answers, verb, search)

        results = measure.rounds(count, {name: turn(name) for name in subjects})
        return _row(what, results)


def _fetched(handles: _Open, searches: Mapping[str, Search], sizes: Sizes) -> dict[str, Row]:
    found = {}
    for name in COUNTED:
        search = searches[name]
        many, *_ = handles.answers(SUBJECTS, "rows", search)
        what = f"fetch: {search.what}, {many:,} rows"
        found[f"fetch {name}"] = handles.rounds(sizes.rounds, SUBJECTS, what, "rows", search)
    for name in RANKED:
        search = searches[name]
        many, best = handles.best(_RANKING, search)
        row = handles.rounds(sizes.rounds, _RANKING, f"best 10 with rows: {search.what}", "rows", search)
        same = len(set(best[OURS]) & set(best[LANCE]))
        row.note = f"{many:,} rows match; {same} of the ten are also among lance's"
        found[name] = row
    return found


def _counted(handles: _Open, searches: Mapping[str, Search], sizes: Sizes) -> dict[str, Row]:
    found = {}
    for name in COUNTED:
        search = searches[name]
        many = handles.answers(SUBJECTS, "count", search)
        what = f"count: {search.what}, {many:,}"
        found[f"count {name}"] = handles.rounds(sizes.rounds, SUBJECTS, what, "count", search)
    return found


def _grouped(handles: _Open, searches: Mapping[str, Search], sizes: Sizes) -> dict[str, Row]:
    found = {}
    search = searches["common"]
    for verb, title in (("levels", "count by level"), ("hours", "hourly histogram")):
        groups = handles.answers(_GROUPING, verb, search)
        what = f"{title}: {search.what}, {len(groups)} groups"
        found[verb] = handles.rounds(sizes.rounds, _GROUPING, what, verb, search)
    return found


def _unseen(handles: _Open, searches: Sequence[Search], sizes: Sizes) -> dict[str, Row]:
    """All rows of rare words that nobody has asked for before, so that no answer is remembered. Both must find the same."""
    some = len(searches) // (sizes.rounds + 1)
    both = (OURS, LANCE)

    def turn(name: str) -> Callable[[int], tuple[float, list[list[int]]]]:
        return lambda number: handles.workers[name].call(
            tables.time_crowd, 1, searches[number * some : (number + 1) * some]
        )

    results: dict[str, list[Any]] = measure.rounds(sizes.rounds, {name: turn(name) for name in both})
    for ours, theirs in zip(results[OURS], results[LANCE], strict=True):
        if [sorted(ids) for ids in ours[1]] != [sorted(ids) for ids in theirs[1]]:
            raise AssertionError(f"{OURS} and {LANCE} found other rows of rare words")
    seconds = {name: [spent / some for spent, _ in found] for name, found in results.items()}
    row = Row("fetch: a rare word, another one each time", seconds)
    row.note = f"{some} words a round, the mean of them; 18 to 72 rows each"
    return {"unseen": row}


def _crowded(handles: _Open, searches: Sequence[Search], sizes: Sizes) -> dict[str, Row]:
    """Searches from many threads and from one thread, which must find equal rows."""

    def turn(name: str, threads: int) -> Callable[[int], tuple[float, list[list[int]]]]:
        return lambda _number: handles.workers[name].call(tables.time_crowd, threads, searches)

    both = (OURS, LANCE)
    turns = {(name, threads): turn(name, threads) for name in both for threads in (1, _THREADS)}
    results: dict[Any, list[Any]] = measure.rounds(sizes.crowd_rounds, turns)  # type: ignore[arg-type]
    if any(ids != results[OURS, 1][0][1] for threads in (1, _THREADS) for _, ids in results[OURS, threads]):
        raise AssertionError(f"{_THREADS} threads found other rows than one")
    seconds = {key: [spent for spent, _ in each] for key, each in results.items()}
    row = Row(
        f"{_CROWD} searches for the best 10, from {_THREADS} threads", {name: seconds[name, _THREADS] for name in both}
    )
    row.beside = seconds[OURS, 1]
    gains = {name: _gain(seconds[name, 1], seconds[name, _THREADS]).middle for name in both}
    row.note = (
        f"one thread: ours {median(seconds[OURS, 1]) * 1e3:.0f} ms, lance {median(seconds[LANCE, 1]) * 1e3:.0f} ms; "
        f"throughput of {_THREADS} against one: ours {gains[OURS]:.2f}{TIMES}, lance {gains[LANCE]:.2f}{TIMES}"
    )
    return {"crowd": row}


def _gain(one: Sequence[float], many: Sequence[float]) -> Spread:
    return Spread.of([before / after for before, after in zip(one, many, strict=True)])


def _first(data: Path, search: Search, sizes: Sizes) -> dict[str, Row]:
    """Opening and the first search of a process: with the cache of indexes filled, with it empty, and from disk."""
    best = replace(search, best=10)
    rows = {}
    for name, kind, empty, cold in (
        ("first", "warm cache", False, False),
        ("first, empty", "empty cache", True, False),
        ("first, cold", "empty cache, nothing in memory", True, True),
    ):
        turns = {subject: _first_turn(data, subject, best, empty, cold) for subject in (OURS, LANCE)}
        results = measure.rounds(sizes.first_rounds, turns)
        for subject, found in results.items():
            if any(len(set(each.found)) != best.best for each in found):
                raise AssertionError(f"{subject} did not find {best.best} rows for {best}")
        row = _row(f"open and search for the best 10, fresh process, {kind}", results)
        loads = ", ".join(f"{each} {median(one.load_s for one in found) * 1e3:.0f}" for each, found in results.items())
        row.note = f"beyond the imports, which take (ms): {loads}"
        rows[name] = row
    return rows


def _first_turn(data: Path, subject: str, search: Search, empty: bool, cold: bool) -> Callable[[int], First]:
    where, cache = data / _FOLDERS[subject], data / ("cold-cache" if empty else "cache")

    def turn(_number: int) -> First:
        if empty:
            shutil.rmtree(cache, ignore_errors=True)
        if cold:
            splits._forget(where)
        return once(tables.first_answer, subject, where, cache, search)

    return turn


def _row(what: str, results: Mapping[str, Sequence[Timed | First]]) -> Row:
    seconds = {name: [each.seconds for each in found] for name, found in results.items()}
    peaks = {name: max(each.peak_mb for each in found) for name, found in results.items()}
    return Row(what, seconds, peaks)


def goals(rows: Mapping[str, Row]) -> list[Goal]:
    """What search was built for."""
    fetched = [rows[f"fetch {name}"] for name in FETCHED]
    mean = geometric_mean([row.ratio(LANCE).middle for row in fetched])
    first = rows["first"].spread(OURS).middle * 1e3
    gain = _gain(rows["crowd"].beside, rows["crowd"].seconds[OURS])
    return [
        *(_faster(row, LANCE, 2.5) for row in fetched),
        Goal(
            f"these {len(FETCHED)}, geometric mean at least 4{TIMES} as fast as lance", f"{mean:.2f}{TIMES}", mean >= 4
        ),
        *(_at_most(rows[name], LANCE, 1.2) for name in ("fetch rare", *RANKED)),
        *(_faster(rows[f"count {name}"], LANCE, 4) for name in COUNTED),
        *(_faster(rows[name], DUCKDB, 3) for name in ("levels", "hours")),
        Goal(f"{rows['first'].what}, at most {_MOST_MS} ms", f"{first:.0f} ms", first <= _MOST_MS),
        Goal(
            f"{rows['crowd'].what}, at least 1.5{TIMES} the throughput of one",
            splits._told(gain),
            gain.middle >= 1.5,
        ),
    ]


def _faster(row: Row, subject: str, factor: float) -> Goal:
    ratio = row.ratio(subject)
    return Goal(
        f"{row.what}, at least {factor}{TIMES} as fast as {subject}", splits._told(ratio), ratio.middle >= factor
    )


def _at_most(row: Row, subject: str, factor: float) -> Goal:
    """The other way round: how many times as long as the subject it may take."""
    pairs = zip(row.seconds[OURS], row.seconds[subject], strict=True)
    ratio = Spread.of([ours / theirs for ours, theirs in pairs])
    return Goal(
        f"{row.what}, at most {factor}{TIMES} the time of {subject}", splits._told(ratio), ratio.middle <= factor
    )


def notes() -> list[str]:
    return [
        "before it was timed, every answer was equal for all subjects, value by value; of rankings, that the rows match",
        "handles are kept open and have answered the question before; a round is the median of up to 25 answers",
        "so what each keeps in memory is warm; what a rare word takes that was not asked for before is a row of its own",
        "lance has a BITMAP index of the level and filters before it searches; DuckDB asks LIKE, and a regular expression then",
        "tantivy is one index over all rows: its rows are fetched one by one, from Python, out of its document store",
    ]
