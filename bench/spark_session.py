"""Spark: SQL as people write it over our table, our helpers and writes, beside the same SQL with `LIKE` and `rlike` over Parquet.

Before anything is timed, our answers to searches are compared with those of `rlike`, value by value, and those to other questions
with Parquet's, as far as a question decides its answer. `LIKE` finds parts of words too, so that
it may have more; how many more is told.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import measure
import search
import search_tables
import spark_tables as tables
import split_tables
import splits
import state_tables
from measure import Spread, Worker, once
from report import OURS, TIMES, Goal, Row
from search_data import COUNTED, Asked, Search
from spark_tables import EMPTY, HELPER, LIKE, RLIKE
from split_tables import LANCE

SUBJECTS = [OURS, HELPER, LIKE, RLIKE, EMPTY, LANCE]
VERSIONS = {"spark": "pyspark", LANCE: "pylance"}
_MANY, _NONE = "many-files", "no-files"


@dataclass(frozen=True)
class Sizes:
    """How many rows and files, and how often."""

    search: search.Sizes
    files: int
    rounds: int
    write_rounds: int

    @classmethod
    def of(cls, quick: bool) -> Sizes:
        return cls(search.Sizes.of(quick), *((7_000, 2, 2) if quick else (70_000, 7, 3)))


def build(data: Path, sizes: Sizes, say: Callable[[str], None]) -> None:
    """The tables of the search benchmark, and two for planning."""
    search.build(data, sizes.search, say)
    if not (data / _MANY).exists():
        start = time.perf_counter()
        once(state_tables.build_ours, data / _MANY, sizes.files)
        once(tables.build_empty, data / _NONE)
        say(f"built {_MANY} and {_NONE} in {time.perf_counter() - start:.0f} s")


def measured(data: Path, sizes: Sizes) -> dict[str, Row]:
    """Measure everything, by a short name."""
    before = _installed(data, sizes)
    asked: Asked = once(search_tables.choose, data / "rows", sizes.search.rows, data / search.TANTIVY, 100)
    spark = Worker()
    try:
        spark.call(tables.open_session, data, data / "cache")
        return {
            **before,
            **_searched(spark, asked.searches, sizes),
            **_scanned(spark, sizes),
            **_asked_naturally(spark, asked.searches, sizes),
            **_planned(spark, sizes),
            **_written(spark, data, sizes),
        }
    finally:
        spark.close()


def _searched(spark: Worker, searches: Mapping[str, Search], sizes: Sizes) -> dict[str, Row]:
    found = {}
    for name in COUNTED:
        asked = searches[name]
        many = _same(spark, "fetch", asked, [OURS, RLIKE])[0]
        more = spark.call(tables.answer, "count", LIKE, asked) - many
        row = _rounds(spark, sizes.rounds, f"fetch: {asked.what}, {many:,} rows", "fetch", [OURS, LIKE, RLIKE], asked)
        row.note = f"LIKE finds {more:,} rows more, by parts of words" if more else ""
        found[f"fetch {name}"] = row
        many = _same(spark, "count", asked, [OURS, HELPER, RLIKE])
        subjects = [OURS, HELPER, LIKE, RLIKE]
        found[f"count {name}"] = _rounds(
            spark, sizes.rounds, f"count: {asked.what}, {many:,}", "count", subjects, asked
        )
    return found


def _same(spark: Worker, verb: str, asked: Search, subjects: Sequence[str]) -> Any:
    found = {name: spark.call(tables.answer, verb, name, asked) for name in subjects}
    if any(each != found[OURS] for each in found.values()):
        raise AssertionError(f"{verb} of {asked}: {found}")
    return found[OURS]


def _scanned(spark: Worker, sizes: Sizes) -> dict[str, Row]:
    return {"scan": _rounds(spark, sizes.rounds, "two columns of all rows into noop", "scan", [OURS, LIKE], None)}


_NATURAL = {
    "group": ("group by level with a search: count and sum", 8.0),
    "latest": ("the latest 100 rows by time", 10.0),
    "point": ("id = n, all columns", 1.8),
    "count all": ("count all rows", 4.0),
    "join": ("a join of 1,000 keys with the table", 1.0),
}
"""Questions in natural SQL that ours answers faster than Parquet: what they are, and at least how many times as fast."""
_SLOWER = {
    "day": ("two columns of one of ten days", 1.5),
    "scan": ("two columns of all rows into noop", 1.4),
    "limit": ("LIMIT 20, all columns", 1.2),
}
"""Questions that Parquet answers faster: what they are, and how many times Parquet's time ours may take."""


def _asked_naturally(spark: Worker, searches: Mapping[str, Search], sizes: Sizes) -> dict[str, Row]:
    """SQL without options. Answers are compared before they are timed, as far as a question decides them."""
    found = {}
    for name in ("group", "latest", "point", "day", "limit", "count all", "join"):
        what = (_NATURAL | _SLOWER)[name][0]
        asked = searches["common"] if name == "group" else None
        ours, theirs = (spark.call(tables.values, name, subject, asked) for subject in (OURS, LIKE))
        if ours != theirs:
            raise AssertionError(f"{name}: {ours[:3]} is not {theirs[:3]}")
        found[name] = _rounds(spark, sizes.rounds, what, name, [OURS, LIKE], asked)
    return found


def _planned(spark: Worker, sizes: Sizes) -> dict[str, Row]:
    """Planning alone. The first round, which does not count, warms what may be kept."""
    rows = {
        "nothing": _rounds(
            spark, sizes.rounds * 3, "a query that no file can answer, 10 files", "nothing", [OURS, EMPTY], None
        )
    }
    for verb, title in (("plan all", "all"), ("plan day", "a day without files")):
        row = _rounds(spark, sizes.rounds, f"plan {title}, {sizes.files:,} files", verb, [_MANY, _NONE], None)
        row.beside = row.seconds.pop(_NONE)
        row.seconds[OURS] = row.seconds.pop(_MANY)
        row.note = f"a table without files took {median(row.beside) * 1e3:.0f} ms in the same rounds"
        rows[verb] = row
    return rows


def _installed(data: Path, sizes: Sizes) -> dict[str, Row]:
    """`install` in JVMs of their own: one that compiles the connector, and those that find its class files."""
    files = data / "class-files"
    compiled, found = [], []
    for _ in range(sizes.write_rounds):
        shutil.rmtree(files, ignore_errors=True)
        compiled.append(once(tables.install_seconds, data, files)[0])
        found.append(once(tables.install_seconds, data, files))
    second = Row("install(spark) in a JVM that finds class files", {OURS: [first for first, _ in found]})
    second.note = f"again in the same JVM {median(again for _, again in found) * 1e3:.0f} ms"
    plain, own = once(tables.other_seconds, data)
    other = Row("a query without our tables, after install", {OURS: own})
    other.beside = plain
    other.note = f"{median(plain) * 1e3:.1f} ms in a session of the same JVM without install, asked in turns"
    return {"install": Row("install(spark) that compiles", {OURS: compiled}), "install again": second, "other": other}


def _written(spark: Worker, data: Path, sizes: Sizes) -> dict[str, Row]:
    turns = {
        OURS: lambda number: spark.call(tables.append, number)[0],
        LANCE: lambda number: once(split_tables.write_lance, data / "rows", data / f"lance-{number}").seconds,
    }
    results = measure.rounds(sizes.write_rounds, turns)
    if spark.call(tables.rows_of, 1) != sizes.search.rows:
        raise AssertionError("not all rows were appended")
    for number in range(sizes.write_rounds + 1):
        shutil.rmtree(data / f"appended-{number}")
        shutil.rmtree(data / f"lance-{number}")
    row = Row(f"append {sizes.search.rows:,} rows and index them", results)
    row.note = "Spark reads Parquet and writes 10 partitions; lance is embedded and reads Arrow files"
    return {"append": row}


def _rounds(spark: Worker, count: int, what: str, verb: str, subjects: Sequence[str], asked: Search | None) -> Row:
    def turn(name: str) -> Callable[[int], float]:
        return lambda _number: spark.call(tables.time_answers, verb, name, asked)

    return Row(what, measure.rounds(count, {name: turn(name) for name in subjects}))


def goals(rows: Mapping[str, Row]) -> list[Goal]:
    """What Spark was connected for."""
    fetch = {"rare": 9, "medium": 6, "common": 2.5, "and": 5.5, "phrase": 5.5, "level": 6.5}
    return [
        *(search._faster(rows[f"fetch {name}"], LIKE, least) for name, least in fetch.items()),
        *(search._faster(rows[f"fetch {name}"], RLIKE, 5) for name in COUNTED),
        *(_helper(rows[f"count {name}"]) for name in COUNTED),
        *(search._faster(rows[f"count {name}"], LIKE, 12) for name in COUNTED),
        *(search._faster(rows[name], LIKE, least) for name, (_, least) in _NATURAL.items()),
        *(search._at_most(rows[name], LIKE, most) for name, (_, most) in _SLOWER.items()),
        *(_over(rows[verb], rows[verb].beside, "a table without files", 30) for verb in ("plan all", "plan day")),
        _over(rows["other"], rows["other"].beside, "a session without install", 1),
        _within(rows["install"], 1.5),
        _within(rows["install again"], 0.5),
        search._faster(rows["append"], LANCE, 1.6),
        _over(rows["nothing"], rows["nothing"].seconds[EMPTY], "an empty Python source", 50),
    ]


def _helper(row: Row) -> Goal:
    pairs = zip(row.seconds[LIKE], row.seconds[HELPER], strict=True)
    ratio = Spread.of([theirs / ours for theirs, ours in pairs])
    return Goal(f"{row.what}, helper at least 3{TIMES} as fast as {LIKE}", splits._told(ratio), ratio.middle >= 3)


def _over(row: Row, beside: Sequence[float], what: str, most_ms: int) -> Goal:
    over = Spread.of([1e3 * (ours - theirs) for ours, theirs in zip(row.seconds[OURS], beside, strict=True)])
    return Goal(f"{row.what}, at most {most_ms} ms over {what}", f"{over.middle:.1f} ms", over.middle <= most_ms)


def _within(row: Row, most_s: float) -> Goal:
    seconds = median(row.seconds[OURS])
    return Goal(f"{row.what}, at most {most_s} s", f"{seconds:.2f} s", seconds <= most_s)


def notes() -> list[str]:
    return [
        "one session with two local threads; fetched rows arrive as Arrow in the driver; a round is the median of some answers",
        "before it was timed, every answer to a search was equal to rlike's, value by value, and other answers to Parquet's",
        "of LIMIT 20 only the number of rows was compared, and of the latest 100 rows only their times",
        "install was timed in JVMs of their own that had answered one question",
        "the question without our tables was asked in turns of two sessions in one JVM, one of them installed, after 200 rounds",
        "peak memory is not told: most of it is the JVM's, which takes what it may",
    ]
