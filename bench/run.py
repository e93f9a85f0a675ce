"""The benchmark: our log beside deltalake's and pyiceberg's, our splits and searches beside lance, DuckDB over Parquet,
Tantivy and SQLite, and Spark over our tables beside Spark over Parquet, in the same run, on the same disk.

    python bench/run.py                 all of it, about an hour
    python bench/run.py --only states   one part of it: `log` (commits and version files), `states`, `splits` (rows), `search`,
                                        `growth`, `purge` or `spark`
    python bench/run.py --only growth --section texts
                                        one section of the part `growth`; `bench/growth.py` lists them
    python bench/run.py --quick         a tenth of the size, to see that it works; no verdicts

Absolute times belong to the machine; the ratios are what is compared. Results are also written to .bench/results.json.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import growth
import measure
import purge
import search
import spark_session
import splits
import states
from measure import Spread, Worker, once
from report import OURS, TIMES, Goal, Row, save, show
from rich.console import Console

from indextables._version import __version__

DELTA = "deltalake"
ICEBERG = "pyiceberg"
MANY = "many"
MODULES = {OURS: "ours", DELTA: "delta", ICEBERG: "iceberg"}
SUBJECTS = list(MODULES)
HOME = Path(__file__).resolve().parent.parent / ".bench"
BATCH = 100
PARTS = ("log", "states", "splits", "search", "growth", "purge", "spark")
_FOLDERS = {"search": "splits", "growth": "splits", "spark": "splits"}
"""Parts that use the tables of another one, where it has left them."""
console = Console()


class Sizes:
    """How much is measured."""

    def __init__(self, quick: bool) -> None:
        self.versions = 70 if quick else 700
        self.files = self.versions * BATCH
        self.many = 100_000 if quick else 1_000_000
        self.big_commits = 10
        self.cold_rounds = 3 if quick else 7
        self.commit_rounds = 5 if quick else 9
        self.own_rounds = 15 if quick else 45


def build(data: Path, sizes: Sizes) -> None:
    """All tables. What a subject builds, it builds in a process of its own."""
    for name, function, arguments in (
        (OURS, _build, ("ours", data / "ours", sizes.versions, BATCH)),
        (DELTA, _build, ("delta", data / "delta", sizes.versions, BATCH)),
        (ICEBERG, _build, ("iceberg", data / "iceberg", 7, sizes.files // 7)),
        (OURS, _build, ("ours", data / "ours-many", sizes.big_commits, sizes.many // sizes.big_commits)),
    ):
        start = time.perf_counter()
        once(function, *arguments)
        console.print(f"[dim]built {arguments[1].name} for {name} in {time.perf_counter() - start:.0f} s[/]")
    for name in ("ours", "delta"):
        shutil.copytree(data / name, data / f"{name}-checkpoint")
        once(_checkpoint, name, data / f"{name}-checkpoint")


def _build(module: str, *arguments: object) -> None:
    __import__(module).build(*arguments)


def _checkpoint(module: str, where: Path) -> None:
    __import__(module).write_checkpoint(where)


def cold_rows(data: Path, sizes: Sizes) -> list[Row]:
    """Opening in fresh processes: from version files alone, and after a checkpoint."""
    rows = []
    for title, suffix, note in (
        (f"{sizes.files:,} files from {sizes.versions} JSON versions", "", "fresh processes, page cache warm"),
        (f"{sizes.files:,} files from a checkpoint", "-checkpoint", "ours is gzip'd JSON, deltalake's is Parquet"),
    ):
        subjects = {OURS: f"ours{suffix}", DELTA: f"delta{suffix}"}
        turns = {name: _cold_turn(MODULES[name], data / folder) for name, folder in subjects.items()}
        results = measure.rounds(sizes.cold_rounds, turns)
        for name, found in results.items():
            for result in found:
                _expect(name, result.files, sizes.files)
        peaks = {name: max(result.peak_mb for result in found) for name, found in results.items()}
        opened = {name: [result.open_s for result in found] for name, found in results.items()}
        listed = {name: [result.files_s for result in found] for name, found in results.items()}
        rows += [Row(f"open: {title}", opened), Row(f"open and list: {title}", listed, peaks, note)]
    return rows


def _cold_turn(module: str, where: Path) -> Callable[[int], measure.Cold]:
    return lambda _number: once(measure.cold, module, where)


class Warm:
    """Tables that are kept open, each in a worker of its own, and how many files they must have."""

    def __init__(self, data: Path, sizes: Sizes) -> None:
        self.folders = {OURS: data / "ours", DELTA: data / "delta", ICEBERG: data / "iceberg", MANY: data / "ours-many"}
        self.files = {name: sizes.many if name == MANY else sizes.files for name in self.folders}
        self.workers = {name: Worker() for name in self.folders}
        self.next_file = sizes.many

    def open(self, name: str) -> None:
        live = self.workers[name].call(measure.open_handle, MODULES.get(name, "ours"), self.folders[name])
        _expect(name, live, self.files[name])

    def commit(self, name: str) -> float:
        self.next_file += BATCH
        self.files[name] += BATCH
        return self.workers[name].call(measure.commit, self.next_file, BATCH)

    def first_commit(self, name: str) -> float:
        self.open(name)
        return self.commit(name)

    def refresh(self, name: str) -> float:
        return self.workers[name].call(measure.refresh, 10)

    def peak_mb(self, name: str) -> float:
        live, peak = self.workers[name].call(measure.live_and_peak)
        _expect(name, live, self.files[name])
        return peak

    def close(self) -> None:
        for worker in self.workers.values():
            worker.close()


def warm_rows(data: Path, sizes: Sizes) -> list[Row]:
    """Commits to and refreshes of tables that are open."""
    warm = Warm(data, sizes)

    def rounds(number: int, names: list[str], call: Callable[[str], float]) -> dict[str, list[float]]:
        return measure.rounds(number, {name: lambda _number, name=name: call(name) for name in names})

    try:
        firsts = rounds(sizes.cold_rounds, SUBJECTS, warm.first_commit)
        commits = rounds(sizes.commit_rounds, SUBJECTS, warm.commit)
        refreshes = rounds(sizes.commit_rounds, SUBJECTS, warm.refresh)
        warm.open(MANY)
        own = rounds(sizes.own_rounds, [OURS, MANY, "disk"], lambda name: _commit_or_bare(warm, name, data))
        peaks = {name: warm.peak_mb(name) for name in warm.folders}
    finally:
        warm.close()
    few, many, bare = (Spread.of(own[name]) for name in (OURS, MANY, "disk"))
    beside = (
        f"{many.middle / few.middle:.2f}{TIMES} the {few.middle * 1e3:.1f} ms into {sizes.files:,} in the same rounds; "
        f"a bare write with two fsyncs took {bare.middle * 1e3:.1f} ms"
    )
    kept = {name: peaks[name] for name in SUBJECTS}
    return [
        Row(f"commit {BATCH} files into {sizes.files:,}", commits, kept, "every commit through the same handle"),
        Row(f"commit {BATCH} files into {sizes.files:,}, handle just opened", firsts),
        Row(f"commit {BATCH} files into {sizes.many:,}", {OURS: own[MANY]}, {OURS: peaks[MANY]}, beside, own[OURS]),
        Row(f"refresh {sizes.files:,}, nothing new", refreshes),
    ]


def _commit_or_bare(warm: Warm, name: str, data: Path) -> float:
    return measure.bare_commit(data / "bare") if name == "disk" else warm.commit(name)


def _expect(name: str, live: int, expected: int) -> None:
    if live != expected:
        raise AssertionError(f"{name} has {live:,} files, not {expected:,}")


def goals_of(rows: list[Row]) -> list[Goal]:
    _, replay, _, _, commit, first, many, _ = rows
    growth = many.spread(OURS).middle / Spread.of(many.beside).middle
    cold = replay.ratio(DELTA).middle
    return [
        _faster(commit, first, DELTA, 10),
        _faster(commit, first, ICEBERG, 3),
        Goal(f"{many.what}, no slower (10% for noise)", f"{growth:.2f}{TIMES} the time", growth <= 1.1),
        Goal(f"{replay.what}, not slower than deltalake", f"{cold:.2f}{TIMES} as fast", cold >= 1),
    ]


def _faster(commit: Row, first: Row, subject: str, factor: int) -> Goal:
    """Met only if both are so: through a handle that is kept, and through one that was just opened."""
    kept, opened = commit.ratio(subject).middle, first.ratio(subject).middle
    figure = f"{kept:.1f}{TIMES}, handle just opened {opened:.1f}{TIMES}"
    return Goal(f"{commit.what}, at least {factor}{TIMES} as fast as {subject}", figure, min(kept, opened) >= factor)


def notes_of(data: Path) -> list[str]:
    syncs = {name: measure.syncs_per_commit(module, data / module) for name, module in MODULES.items()}
    told = ", ".join(f"{name} {'not measured' if calls is None else calls}" for name, calls in syncs.items())
    synced = (
        f"fsync calls a commit, counted by strace: {told}. Ours are the version file and its directory, before it returns; "
        "pyiceberg's are its SQLite catalog, its metadata files are not synced"
    )
    return [
        synced,
        "each file: path, size, time, partition value, row count, bounds of three columns; no checkpoints while committing",
        "times are taken in turns, each subject in its own process, dirty pages written out before each turn",
    ]


@dataclass
class Part:
    """What one part of the benchmark found."""

    rows: list[Row]
    subjects: list[str]
    notes: list[str]
    goals: list[Goal]

    @classmethod
    def of_all(cls, parts: list[Part]) -> Part:
        subjects = dict.fromkeys(name for part in parts for name in part.subjects)
        return cls(
            [row for part in parts for row in part.rows],
            list(subjects),
            [note for part in parts for note in part.notes],
            [goal for part in parts for goal in part.goals],
        )


def _of_log(data: Path, quick: bool) -> Part:
    sizes = Sizes(quick)
    build(data, sizes)
    rows = [*cold_rows(data, sizes), *warm_rows(data, sizes)]
    return Part(rows, SUBJECTS, notes_of(data), goals_of(rows))


def _of_states(data: Path, quick: bool) -> Part:
    sizes = states.Sizes.of(quick)
    states.build(data, sizes, _say)
    rows = states.measured(data, sizes)
    return Part(list(rows.values()), SUBJECTS, [], states.goals(rows))


def _of_splits(data: Path, quick: bool) -> Part:
    sizes = splits.Sizes.of(quick)
    splits.build(data, sizes, _say)
    found = splits.measured(data, sizes)
    return Part(list(found.rows.values()), splits.SUBJECTS, splits.notes(), splits.goals(found, sizes))


def _of_search(data: Path, quick: bool) -> Part:
    sizes = search.Sizes.of(quick)
    search.build(data, sizes, _say)
    rows = search.measured(data, sizes)
    return Part(list(rows.values()), search.SUBJECTS, search.notes(), search.goals(rows))


def _of_growth(data: Path, quick: bool, sections: Sequence[str] = tuple(growth.SECTIONS)) -> Part:
    rows, goals = growth.measured(data, quick, sections, _say)
    return Part(rows, growth.SUBJECTS, growth.notes(), goals)


def _of_purge(_data: Path, quick: bool) -> Part:
    rows = purge.measured(purge.Sizes.of(quick), _say)
    return Part(list(rows.values()), purge.SUBJECTS, purge.notes(), purge.goals(rows))


def _of_spark(data: Path, quick: bool) -> Part:
    sizes = spark_session.Sizes.of(quick)
    spark_session.build(data, sizes, _say)
    rows = spark_session.measured(data, sizes)
    return Part(list(rows.values()), spark_session.SUBJECTS, spark_session.notes(), spark_session.goals(rows))


_MEASURE: dict[str, Callable[..., Part]] = {
    "log": _of_log,
    "states": _of_states,
    "splits": _of_splits,
    "search": _of_search,
    "growth": _of_growth,
    "purge": _of_purge,
    "spark": _of_spark,
}


def _say(text: str) -> None:
    console.print(f"[dim]{text}[/]")


def versions_of(parts: Sequence[str]) -> dict[str, str]:
    """Ours, and those of the libraries that the parts compare with."""
    packages = {name: name for name in SUBJECTS[1:]} if {"log", "states"} & set(parts) else {}
    if "splits" in parts:
        packages |= splits.VERSIONS
    if "search" in parts:
        packages |= search.VERSIONS
    if "growth" in parts:
        packages |= growth.VERSIONS
    if "purge" in parts:
        packages |= purge.VERSIONS
    if "spark" in parts:
        packages |= spark_session.VERSIONS
    return {OURS: __version__, **{name: version(package) for name, package in packages.items()}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, help="measure this part alone")
    parser.add_argument(
        "--section",
        choices=growth.SECTIONS,
        action="append",
        help="of `growth` this section; can be given several times",
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the size, to see that it works")
    parser.add_argument("--keep", action="store_true", help="leave the tables in .bench/data")
    chosen = parser.parse_args()
    if chosen.section and chosen.only != "growth":
        parser.error("--section goes with --only growth")
    data = HOME / "data"
    shutil.rmtree(data, ignore_errors=True)
    start = time.perf_counter()
    parts = PARTS if chosen.only is None else (chosen.only,)
    about = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "quick": chosen.quick,
        "versions": versions_of(parts),
    }
    names = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    console.print(f"[bold]{names}[/] on Python {about['python']}, {about['cores']} cores")
    found: list[Part] = []
    try:
        for number, name in enumerate(parts):
            folder = data / _FOLDERS.get(name, name)
            folder.mkdir(parents=True, exist_ok=True)
            sections = [chosen.section] if chosen.section else []
            found.append(_MEASURE[name](folder, chosen.quick, *sections))
            if not chosen.keep and all(data / _FOLDERS.get(other, other) != folder for other in parts[number + 1 :]):
                shutil.rmtree(folder)
    finally:
        if not chosen.keep:
            shutil.rmtree(data, ignore_errors=True)
    for part in found:
        part.goals = [] if chosen.quick else part.goals
        console.print()
        show(console, part.rows, part.subjects, part.notes, part.goals)
    everything = Part.of_all(found)
    save(HOME / "results.json", everything.rows, everything.subjects, everything.notes, everything.goals, about)
    console.print(f"\n[dim]{time.perf_counter() - start:.0f} s; all figures in .bench/results.json[/]", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
