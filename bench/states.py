"""States: listing, pruning, writing and compacting tables of up to a million files.

Everything cold runs in a process of its own that has imported its libraries and done nothing else.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measure
import state_tables as tables
from measure import Cold, Spread, once, timed
from report import OURS, TIMES, Goal, Row

from indextables.core.predicate import parse_predicate

DELTA = "deltalake"
ICEBERG = "pyiceberg"
BATCH = 100
_FIRST_NEW = 5_000_000


@dataclass(frozen=True)
class Sizes:
    """How many files, and how often."""

    small: int
    middle: int
    large: int
    rounds: int
    slow_rounds: int

    @classmethod
    def of(cls, quick: bool) -> Sizes:
        return cls(7_000, 10_000, 50_000, 3, 2) if quick else cls(70_000, 100_000, 1_000_000, 7, 3)


# What workers run.


def cold_list(subject: str, where: Path, day: str | None = None) -> Cold:
    """Open a table and list its files, or those of one partition."""
    opener = _OPENERS[subject]()
    if subject == OURS and day is not None:
        parse_predicate("true", tables.SCHEMA)  # loads the tokenizer of SQL
    before = measure.peak_mb()
    start = time.perf_counter()
    files = opener(where, day)
    return Cold(0.0, time.perf_counter() - start, files, measure.peak_mb(), before)


def _ours() -> Callable[[Path, str | None], int]:
    import ours  # what it loads later, when it is needed, counts

    def list_files(where: Path, day: str | None) -> int:
        table = ours.cold_open(where)
        return int(table.files(None if day is None else f"date = '{day}'").num_rows)

    return list_files


def _delta() -> Callable[[Path, str | None], int]:
    import delta
    from deltalake import DeltaTable

    def list_files(where: Path, day: str | None) -> int:
        if day is None:
            return delta.cold_files(delta.cold_open(where))
        return len(DeltaTable(str(where)).file_uris(file_pruning_predicate=f"date = '{day}'"))

    return list_files


def _iceberg() -> Callable[[Path, str | None], int]:
    import iceberg

    def list_files(where: Path, day: str | None) -> int:
        assert day is None
        return int(iceberg._catalog(where).load_table(iceberg._NAME).inspect.files().num_rows)

    return list_files


_OPENERS = {OURS: _ours, DELTA: _delta, ICEBERG: _iceberg}


def incremental(where: Path, rounds: int) -> dict[str, list[float]]:
    """Commit some files and write a state that names them, again and again: seconds of the commit, and of the state."""
    from ours import PLAIN, action

    from indextables import Table
    from indextables.log.state.checkpoint import checkpoint

    table = Table.open(where, options=PLAIN)
    found: dict[str, list[float]] = {"commit": [], "state": []}
    for number in range(rounds + 1):
        adds = [action(fact) for fact in tables.named(_FIRST_NEW + number * BATCH, BATCH)]
        commit_s, _ = timed(lambda adds=adds: table.commit_files(adds=adds))
        state_s, done = timed(lambda: checkpoint(table._handle, compact=False))
        if done.kind != "incremental":
            raise AssertionError(f"{where}: the state is {done.kind}")
        table._handle = table._handle.moved(done.snapshot)
        if number:
            found["commit"].append(commit_s)
            found["state"].append(state_s)
    return found


def delta_commits(where: Path, rounds: int) -> list[float]:
    """deltalake's commits of as many files."""
    import delta

    handle = delta.Handle(where)
    seconds = []
    for number in range(rounds + 1):
        adds = handle.prepare(_FIRST_NEW + number * BATCH, BATCH)
        spent, _ = timed(lambda adds=adds: handle.commit(adds))
        if number:
            seconds.append(spent)
    return seconds


def compaction(where: Path, number: int) -> tuple[float, float]:
    """Sum up everything anew, in a process that has just opened the table: seconds, and peak memory."""
    from ours import PLAIN, action

    from indextables import Table

    table = Table.open(where, options=PLAIN)
    table.commit_files(adds=[action(fact) for fact in tables.named(2 * _FIRST_NEW + number * BATCH, BATCH)])
    seconds, done = timed(table.checkpoint)
    if done.kind != "compacted":
        raise AssertionError(f"{where}: the state is {done.kind}")
    return seconds, measure.peak_mb()


def delta_checkpoint(where: Path, number: int) -> tuple[float, float]:
    """deltalake's checkpoint of a table that has a new version, and that it has just opened."""
    from deltalake import DeltaTable

    tables.add_delta_version(where, 2 + number, tables.named(2 * _FIRST_NEW + number * BATCH, BATCH))
    table = DeltaTable(str(where))
    seconds, _ = timed(table.create_checkpoint)
    if not (where / "_delta_log" / f"{2 + number:020d}.checkpoint.parquet").exists():
        raise AssertionError(f"{where}: no checkpoint of version {2 + number} was written")
    return seconds, measure.peak_mb()


# The rows.


def build(data: Path, sizes: Sizes, say: Callable[[str], None]) -> None:
    """All tables, each in a process of its own."""
    jobs: list[tuple[Any, ...]] = []
    for name, files in (("small", sizes.small), ("middle", sizes.middle), ("large", sizes.large)):
        jobs += [(tables.build_ours, data / f"ours-{name}", files), (tables.build_delta, data / f"delta-{name}", files)]
        if name != "large":
            jobs.append((tables.build_iceberg, data / f"iceberg-{name}", files))
    jobs.append((tables.build_ours, data / "ours-ten", sizes.small, sizes.small // 10))
    jobs.append((tables.build_ours_by_commits, data / "ours-commits", sizes.large))
    jobs.append((tables.build_delta_by_commits, data / "delta-commits", sizes.large))
    jobs += [(tables.bury, data / f"ours-{n}", data / f"dead-{n}", f, f // 10) for n, f in _dead(sizes)]
    for function, where, *arguments in jobs:
        start = time.perf_counter()
        once(function, where, *arguments)
        say(f"built {where.name} ({function.__name__}) in {time.perf_counter() - start:.0f} s")


def _dead(sizes: Sizes) -> list[tuple[str, int]]:
    return [("middle", sizes.middle), ("large", sizes.large)]


def measured(data: Path, sizes: Sizes) -> dict[str, Row]:
    """All rows, by a short name."""
    rows = {}
    for name, files in (("small", sizes.small), ("middle", sizes.middle)):
        places = {OURS: f"ours-{name}", DELTA: f"delta-{name}"}
        rows[name] = _cold(f"cold list of {files:,} files", data, places, sizes.rounds, files)
        places[ICEBERG] = f"iceberg-{name}"
        rows[f"{name} beside pyiceberg"] = _cold(
            f"cold list of {files:,} files, all three", data, places, sizes.slow_rounds, files
        )
    large = {OURS: "ours-large", DELTA: "delta-large"}
    rows["large"] = _cold(f"cold list of {sizes.large:,} files", data, large, sizes.rounds, sizes.large)
    rows["partition"] = _cold(
        f"one partition of {sizes.large:,} files in {tables.PARTITIONS:,} partitions, cold",
        data,
        large,
        sizes.rounds,
        sizes.large // tables.PARTITIONS,
        tables.some_day(),
    )
    rows["partition of commits"] = _cold(
        f"one partition of {sizes.large:,} files that came in {tables.COMMITS} commits, cold",
        data,
        {OURS: "ours-commits", DELTA: "delta-commits"},
        sizes.rounds,
        sizes.large // tables.PARTITIONS,
        tables.some_day(),
    )
    for name, files in _dead(sizes):
        rows[f"dead {name}"] = _tombstones(data, name, files, sizes.rounds)
    rows["ten"] = _cold(
        f"cold list of {sizes.small:,} files in 10 manifests", data, {OURS: "ours-ten"}, sizes.rounds, sizes.small
    )
    rows |= _compactions(data, sizes)
    rows |= _increments(data, sizes)
    return rows


def _cold(what: str, data: Path, places: dict[str, str], rounds: int, files: int, day: str | None = None) -> Row:
    turns = {name: _cold_turn(name, data / place, day) for name, place in places.items()}
    results = measure.rounds(rounds, turns)
    for name, found in results.items():
        for result in found:
            if result.files != files:
                raise AssertionError(f"{name} listed {result.files:,} files, not {files:,}")
    peaks = {name: max(result.peak_mb for result in found) for name, found in results.items()}
    above = ", ".join(f"{name} {max(r.peak_mb - r.before_mb for r in found):.0f}" for name, found in results.items())
    seconds = {name: [result.files_s for result in found] for name, found in results.items()}
    return Row(what, seconds, peaks, f"peak memory above the imports, MB: {above}")


def _cold_turn(name: str, where: Path, day: str | None) -> Callable[[int], Cold]:
    return lambda _number: once(cold_list, name, where, day)


def _tombstones(data: Path, name: str, files: int, rounds: int) -> Row:
    turns = {
        "dead": _cold_turn(OURS, data / f"dead-{name}", None),
        "none": _cold_turn(OURS, data / f"ours-{name}", None),
    }
    results = measure.rounds(rounds, turns)
    if any(result.files != files - files // 10 for result in results["dead"]):
        raise AssertionError("tombstones hide too much or too little")
    seconds = {kind: [result.files_s for result in found] for kind, found in results.items()}
    ratio = Spread.of([dead / none for dead, none in zip(seconds["dead"], seconds["none"], strict=True)])
    note = f"{ratio.middle:.2f}{TIMES} the time without tombstones"
    peaks = {OURS: max(result.peak_mb for result in results["dead"])}
    what = f"cold list of {files:,} files, a tenth of them tombstones"
    return Row(what, {OURS: seconds["dead"]}, peaks, note, seconds["none"])


def _compactions(data: Path, sizes: Sizes) -> dict[str, Row]:
    rows = {}
    for name, files in (("small", sizes.small), ("large", sizes.large)):
        shutil.copytree(data / f"ours-{name}", data / f"compact-{name}")
        shutil.copytree(data / f"delta-{name}", data / f"compact-delta-{name}")
        turns = {
            OURS: lambda number, name=name: once(compaction, data / f"compact-{name}", number),
            DELTA: lambda number, name=name: once(delta_checkpoint, data / f"compact-delta-{name}", number),
        }
        results = measure.rounds(sizes.rounds if name == "small" else sizes.slow_rounds, turns)
        seconds = {subject: [spent for spent, _ in found] for subject, found in results.items()}
        peaks = {subject: max(peak for _, peak in found) for subject, found in results.items()}
        rows[f"compaction {name}"] = Row(f"full compaction of {files:,} files", seconds, peaks)
    return rows


def _increments(data: Path, sizes: Sizes) -> dict[str, Row]:
    found = {}
    for name in ("small", "large"):
        shutil.copytree(data / f"ours-{name}", data / f"grow-{name}")
    rounds = sizes.slow_rounds * 3
    delta = once(delta_commits, data / "delta-large", sizes.slow_rounds)
    for name in ("small", "large"):
        found[name] = once(incremental, data / f"grow-{name}", rounds)
    growth = _middle(found["large"]["state"]) / _middle(found["small"]["state"])
    commits = {OURS: [sum(pair) for pair in zip(found["large"]["commit"], found["large"]["state"], strict=True)]}
    small = Row(f"incremental state, +{BATCH} files on {sizes.small:,}", {OURS: found["small"]["state"]})
    large = Row(
        f"incremental state, +{BATCH} files on {sizes.large:,}",
        {OURS: found["large"]["state"]},
        note=f"{growth:.2f}{TIMES} the time on {sizes.small:,}",
        beside=found["small"]["state"],
    )
    beside = Row(
        f"commit of {BATCH} files into {sizes.large:,}, with a state (ours) and without (deltalake)",
        {OURS: commits[OURS][: len(delta)], DELTA: delta},
        note="deltalake's handle is kept open, as ours is",
    )
    return {"state small": small, "state large": large, "state commit": beside}


def _middle(values: list[float]) -> float:
    return Spread.of(values).middle


def goals(rows: dict[str, Row]) -> list[Goal]:
    """What the states were built for."""
    return [
        *(_faster(rows[name], DELTA, 3) for name in ("small", "middle", "large")),
        *(_faster(rows[f"{name} beside pyiceberg"], ICEBERG, 40) for name in ("small", "middle")),
        _memory(rows["large"]),
        _faster(rows["partition"], DELTA, 40),
        _below(rows["partition"], 50),
        _within(rows["state large"], 1.5, "of the small table's"),
        _faster(rows["state commit"], DELTA, 10),
        *(_faster(rows[f"compaction {name}"], DELTA, 3) for name in ("small", "large")),
        *(_within(rows[f"dead {name}"], 1.2, "of none") for name in ("middle", "large")),
    ]


def _faster(row: Row, subject: str, factor: float) -> Goal:
    ratio = row.ratio(subject).middle
    return Goal(f"{row.what}, at least {factor}{TIMES} as fast as {subject}", f"{ratio:.1f}{TIMES}", ratio >= factor)


def _within(row: Row, factor: float, of: str) -> Goal:
    pairs = zip(row.seconds[OURS], row.beside, strict=True)
    ratio = Spread.of([ours / other for ours, other in pairs]).middle
    return Goal(f"{row.what}, within {factor}{TIMES} {of}", f"{ratio:.2f}{TIMES}", ratio <= factor)


def _memory(row: Row) -> Goal:
    share = row.peaks_mb[OURS] / row.peaks_mb[DELTA]
    return Goal(f"{row.what}, at most half of deltalake's peak memory", f"{share:.2f}{TIMES}", share <= 0.5)


def _below(row: Row, most_mb: int) -> Goal:
    above = float(row.note.split(f"{OURS} ")[1].split(",")[0])
    return Goal(f"{row.what}, less than {most_mb} MB above the imports", f"{above:.0f} MB", above < most_mb)
