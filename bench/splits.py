"""Splits: writing, scanning, looking up and merging rows, beside lance, and DuckDB and pyarrow over Parquet.

Writes and merges take turns, each in a fresh process, so that a merge is compared with the indexing of the same rounds. Scans and
look-ups go through handles that are kept open, and all look-ups also through handles just opened. Every answer is compared.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Self

import measure
import split_data as data_of
import split_tables as tables
from measure import Spread, Worker, once
from report import OURS, TIMES, Goal, Row
from split_data import Question
from split_tables import DUCKDB, LANCE, PARQUET, Answers, Written

SUBJECTS = [OURS, LANCE, DUCKDB, PARQUET]
VERSIONS = {LANCE: "pylance", DUCKDB: "duckdb", PARQUET: "pyarrow"}
LOOKUP = "lookup"
SPLITS = data_of.DAYS * data_of.BATCHES_A_DAY
_FROM_DISK = ("point", "in")
"""The look-ups that are also asked with nothing in memory."""
_MIB = 1 << 20
_MOST_MB = 1024
_READERS = {LANCE: LANCE, DUCKDB: PARQUET, PARQUET: PARQUET}
_SCANS = {
    "full scan": data_of.FULL,
    "two columns": data_of.TWO_COLUMNS,
    "one partition": data_of.ONE_DAY,
}


@dataclass(frozen=True)
class Sizes:
    """How many rows, and how often."""

    rows: int
    write_rounds: int
    scan_rounds: int
    lookup_rounds: int
    cold_rounds: int

    @classmethod
    def of(cls, quick: bool) -> Sizes:
        return cls(200_000, 2, 3, 3, 2) if quick else cls(2_000_000, 3, 7, 15, 5)


@dataclass(frozen=True)
class _LookUp:
    """A kind of look-up, and its questions of a round."""

    what: str
    ask: Callable[[int], list[Question]]


def look_ups(sizes: Sizes) -> dict[str, _LookUp]:
    return {
        "point": _LookUp("point look-up by id", lambda seed: data_of.points(seed, 25, sizes.rows)),
        "span 0.1%": _LookUp("range on ts, 0.1% of the rows", lambda seed: data_of.spans(seed, 9, 0.001)),
        "span 1%": _LookUp("range on ts, 1% of the rows", lambda seed: data_of.spans(seed, 5, 0.01)),
        "in": _LookUp("IN of 100 ids", lambda seed: data_of.sets(seed, 9, sizes.rows)),
    }


# The rows.


def build(data: Path, sizes: Sizes, say: Callable[[str], None]) -> None:
    """The rows, and the tables of many splits. What is measured while it is written is not built here."""
    rows = data / "rows"
    jobs: list[tuple[Any, ...]] = [
        (data_of.generate, rows, sizes.rows),
        (tables.write_pieces, rows, data / "pieces-days", 1, True),
        (tables.write_pieces, rows, data / "pieces-one", 1, False),
        (tables.write_pieces, rows, data / "pieces-ten", data_of.BATCHES_A_DAY, False),
        (tables.write_ours, rows, data / LOOKUP, "id"),
    ]
    for number, (function, *arguments) in enumerate(jobs):
        start = time.perf_counter()
        once(function, *arguments)
        name = arguments[min(number, 1)].name
        say(f"built {name} ({function.__name__}) in {time.perf_counter() - start:.0f} s")


@dataclass(frozen=True)
class Measured:
    """All rows, by a short name, and what each subject wrote."""

    rows: dict[str, Row]
    writes: dict[str, list[Written]]


def measured(data: Path, sizes: Sizes) -> Measured:
    """Measure everything. What was written last is what is read."""
    rows, writes = _writes(data, sizes)
    return Measured({**rows, **_warm(data, sizes), **_cold(data, sizes)}, writes)


def _writes(data: Path, sizes: Sizes) -> tuple[dict[str, Row], dict[str, list[Written]]]:
    rows = data / "rows"
    merges = {
        "merge 100": (f"{SPLITS} splits of {sizes.rows // SPLITS:,} rows into one", "pieces-one", 1),
        "merge 10": (f"10 splits of {sizes.rows // 10:,} rows into one", "pieces-ten", 1),
        "merge days": (f"{SPLITS} splits of {sizes.rows // SPLITS:,} rows into one a day", "pieces-days", data_of.DAYS),
    }
    turns: dict[str, Callable[[int], Written]] = {
        OURS: lambda _number: once(tables.write_ours, rows, data / OURS),
        LANCE: lambda _number: once(tables.write_lance, rows, data / LANCE),
        PARQUET: lambda _number: once(tables.write_parquet, rows, data / PARQUET),
    }
    for name, (_, folder, left) in merges.items():
        turns[name] = _merge_turn(data / folder, data / "merged", sizes.rows, left)
    results = measure.rounds(sizes.write_rounds, turns)
    shutil.rmtree(data / "merged")
    writers = {name: results[name] for name in (OURS, LANCE, PARQUET)}
    found = {"write": _write_row(writers, sizes.rows)}
    indexing = [each.seconds for each in results[OURS]]
    for name, (what, _, _) in merges.items():
        seconds = [each.seconds for each in results[name]]
        peaks = {OURS: max(each.peak_mb for each in results[name])}
        speeds = Spread.of([before / spent for before, spent in zip(indexing, seconds, strict=True)])
        note = (
            f"{sizes.rows / median(seconds):,.0f} rows/s, {speeds.middle:.1f}{TIMES} ({speeds.low:.1f} to {speeds.high:.1f}) "
            f"our indexing in the same rounds; {results[name][-1].size / _MIB:,.0f} MiB"
        )
        found[name] = Row(f"merge {what}", {OURS: seconds}, peaks, note, indexing)
    return found, writers


def _merge_turn(source: Path, where: Path, rows: int, left: int) -> Callable[[int], Written]:
    return lambda _number: once(tables.merge_pieces, source, where, rows, left)


def _write_row(writers: Mapping[str, list[Written]], rows: int) -> Row:
    seconds = {name: [each.seconds for each in found] for name, found in writers.items()}
    peaks = {name: max(each.peak_mb for each in found) for name, found in writers.items()}
    rates = ", ".join(f"{name} {rows / median(each):,.0f}" for name, each in seconds.items())
    sizes = ", ".join(f"{name} {found[-1].size / _MIB:,.1f}" for name, found in writers.items())
    lance = writers[LANCE]
    more = median(each.more_s for each in lance)
    note = (
        f"rows/s: {rates}; MiB on disk: {sizes}. lance with the index of words alone: its BTREEs of id and ts take another "
        f"{more:.1f} s and {lance[-1].more_bytes / _MIB:,.1f} MiB. pyarrow writes zstd Parquet without an index"
    )
    return Row(f"write and index {rows:,} rows", seconds, peaks, note)


class _Open:
    """Handles that are kept open, each in a worker of its own."""

    def __init__(self, data: Path, subjects: Sequence[str]) -> None:
        self._workers = {name: Worker() for name in subjects}
        for name, worker in self._workers.items():
            worker.call(tables.open_handle, OURS if name == LOOKUP else name, _folder(data, name), data / "cache")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers.values():
            worker.close()

    def rounds(self, count: int, subjects: Sequence[str], questions: Callable[[int], list[Question]]) -> dict[str, Any]:
        """Questions of every round: equal for all subjects, different in each round."""

        def turn(name: str) -> Callable[[int], Answers]:
            return lambda number: self._workers[name].call(tables.ask, questions(number))

        results = measure.rounds(count, {name: turn(name) for name in subjects})
        _compare(results)
        return results


def _folder(data: Path, subject: str) -> Path:
    return data / _READERS.get(subject, subject)


def _compare(results: Mapping[str, Sequence[Answers]]) -> None:
    """Everybody must have found the same."""
    (first, expected), *others = results.items()
    for name, answers in others:
        for ours, theirs in zip(expected, answers, strict=True):
            for one, other in zip(ours.found, theirs.found, strict=True):
                if one != other:
                    raise AssertionError(f"{first} found {one}, {name} found {other}")


def _warm(data: Path, sizes: Sizes) -> dict[str, Row]:
    rows = {}
    with _Open(data, SUBJECTS) as handles:
        for name, question in _SCANS.items():
            results = handles.rounds(sizes.scan_rounds, SUBJECTS, lambda _number, question=question: [question])
            many = results[OURS][0].found[0]["rows"]
            rows[name] = _row(f"{name} into Arrow, {many:,} rows", results)
    with _Open(data, [*SUBJECTS[:3], LOOKUP]) as handles:
        for name, asked in look_ups(sizes).items():
            results = handles.rounds(sizes.lookup_rounds, [*SUBJECTS[:3], LOOKUP], asked.ask)
            indexed = results.pop(LOOKUP)
            rows[name] = _row(f"{asked.what}, handle kept open", results)
            rows[name].note = (
                f"median of {len(asked.ask(0))} a round; {_found(results)}; "
                f"with id in indexing.lookupfields {_middle(indexed) * 1e3:.2f} ms"
            )
    return rows


def _cold(data: Path, sizes: Sizes) -> dict[str, Row]:
    """The first question to a handle: with all bytes at hand, and with none."""
    rows = {}
    for name, asked in look_ups(sizes).items():
        for cold in (False, True) if name in _FROM_DISK else (False,):
            turns = {subject: _cold_turn(data, subject, asked, cold) for subject in SUBJECTS[:3]}
            results = measure.rounds(sizes.cold_rounds, turns)
            _compare(results)
            kind = "nothing in memory" if cold else "handle just opened"
            rows[f"{name}, {kind}"] = _row(f"{asked.what}, {kind}", results)
    rows["point, nothing in memory"].note = "files out of the page cache, our cache of indexes empty"
    return rows


def _cold_turn(data: Path, subject: str, asked: _LookUp, cold: bool) -> Callable[[int], Answers]:
    where, cache = _folder(data, subject), data / ("cold-cache" if cold else "cache")

    def turn(number: int) -> Answers:
        if cold:
            shutil.rmtree(cache, ignore_errors=True)
            _forget(where)
        return once(tables.first_answer, subject, where, cache, asked.ask(number)[0])

    return turn


def _forget(where: Path) -> None:
    """Take files out of the page cache, where the system lets us."""
    if not hasattr(os, "posix_fadvise"):
        return
    for path in where.rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def _row(what: str, results: Mapping[str, Sequence[Answers]]) -> Row:
    seconds = {name: [median(each.seconds) for each in found] for name, found in results.items()}
    peaks = {name: max(each.peak_mb for each in found) for name, found in results.items()}
    return Row(what, seconds, peaks)


def _found(results: Mapping[str, Sequence[Answers]]) -> str:
    counts = [rows for answers in results[OURS] for rows, _ in answers.found]
    least, most = min(counts), max(counts)
    return f"{most:,} rows each" if least == most else f"{least:,} to {most:,} rows each"


def _middle(answers: Sequence[Answers]) -> float:
    return median(median(each.seconds) for each in answers)


def goals(found: Measured, sizes: Sizes) -> list[Goal]:
    """What the splits were built for. Look-ups are judged through handles that are kept open."""
    rows = found.rows
    peak = rows["write"].peaks_mb[OURS]
    return [
        *_written(rows["write"], found.writes),
        *(_not_slower(rows[name], DUCKDB) for name in _SCANS),
        *(_faster(rows[name], other) for name in look_ups(sizes) for other in (LANCE, DUCKDB)),
        *(_merges(rows[name], 4) for name in ("merge 100", "merge 10", "merge days")),
        Goal(f"{rows['write'].what}, with at most 1 GiB of memory", f"{peak:,.0f} MB", peak <= _MOST_MB),
    ]


def _written(row: Row, writes: Mapping[str, list[Written]]) -> list[Goal]:
    """Against lance with its index of words alone. What its BTREEs would change is told, and decides nothing."""
    pairs = list(zip(writes[OURS], writes[LANCE], strict=True))
    speed = row.ratio(LANCE)
    with_more = median((theirs.seconds + theirs.more_s) / ours.seconds for ours, theirs in pairs)
    ours, theirs = pairs[-1]
    share, less = ours.size / theirs.size, ours.size / (theirs.size + theirs.more_bytes)
    return [
        Goal(
            f"{row.what}, at least 1.8{TIMES} as fast as lance",
            f"{_told(speed)}; with its BTREEs {with_more:.2f}{TIMES}",
            speed.middle >= 1.8,
        ),
        Goal(
            f"bytes on disk, at most 0.75{TIMES} of lance's",
            f"{share:.2f}{TIMES}; with its BTREEs {less:.2f}{TIMES}",
            share <= 0.75,
        ),
    ]


def notes() -> list[str]:
    return [
        "every answer of a look-up was equal for all subjects, value by value; scans in their counts, bounds, nulls and sums",
        "indextables: the message as text, strings as terms, numbers and times by column; Parquet: pyarrow's, zstd, by day",
        "ids and times grow together, so bounds tell all subjects which files to read; scans are read into a pyarrow.Table",
        "peak memory of reading is that of the whole process so far",
    ]


def _not_slower(row: Row, subject: str) -> Goal:
    ratio = row.ratio(subject)
    return Goal(f"{row.what}, not slower than {subject}", _told(ratio), ratio.middle >= 1)


def _faster(row: Row, subject: str) -> Goal:
    ratio = row.ratio(subject)
    return Goal(f"{row.what}, faster than {subject}", _told(ratio), ratio.middle > 1)


def _merges(row: Row, factor: float) -> Goal:
    pairs = zip(row.beside, row.seconds[OURS], strict=True)
    ratio = Spread.of([indexing / merging for indexing, merging in pairs])
    return Goal(f"{row.what}, at least {factor}{TIMES} our indexing rate", _told(ratio), ratio.middle >= factor)


def _told(ratio: Spread) -> str:
    return f"{ratio.middle:.2f}{TIMES} ({ratio.low:.2f} to {ratio.high:.2f})"
