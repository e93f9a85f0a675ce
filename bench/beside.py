"""Two trees of this project beside each other: did a change make anything slower?

    python bench/beside.py --before ../older-clone                  every part, quick, three pairs of runs
    python bench/beside.py --before ../older-clone --only search --full --pairs 5
    python bench/beside.py --before ../older-clone --section texts --section splits
                                                                    these sections of `growth`, which both trees must have

Runs `bench/run.py` of the older tree and of this tree in turns, each with the tree's own .venv (`make .venv/.bench` in both trees
first), and compares the seconds of our own rows. The order changes from pair to pair, so that a machine that gets slower during
the run does not favour one tree. A row counts as slower only if two independent figures agree: the median of the pairs' ratios,
and the ratio of the fastest rounds of all runs. Rows are compared by their titles; those that one tree alone has are listed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from growth import SECTIONS
from report import OURS
from rich.console import Console
from rich.table import Table

PARTS = ("log", "states", "splits", "search", "growth", "spark")
TOLERANCE = 1.05
"""A row that takes more than this many times as long as before is reported as slower."""
THIS = Path(__file__).resolve().parent.parent
console = Console()


@dataclass(frozen=True)
class Compared:
    """A row of the benchmark in both trees: seconds of every round, one list a run."""

    what: str
    before: list[list[float]]
    after: list[list[float]]

    @property
    def by_pairs(self) -> float:
        """The median of the pairs' ratios of medians, after to before. Above 1 the change is slower."""
        return median(median(after) / median(before) for before, after in zip(self.before, self.after, strict=True))

    @property
    def by_fastest(self) -> float:
        """The fastest round of all runs after the change to the fastest round before the change."""
        return min(map(min, self.after)) / min(map(min, self.before))

    @property
    def slower(self) -> bool:
        """True if both figures say that the row takes longer than the tolerance allows."""
        return min(self.by_pairs, self.by_fastest) > TOLERANCE


def measured(tree: Path, part: str, more: list[str]) -> dict[str, list[float]]:
    """Run one part of one tree's benchmark in a process of its own. Returns our seconds by row."""
    command = [str(tree / ".venv/bin/python"), "bench/run.py", "--only", part, *more]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} in {tree} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    rows = json.loads((tree / ".bench/results.json").read_text())["rows"]
    return {row["what"]: row["seconds"][OURS] for row in rows if row["seconds"].get(OURS)}


def compare(before: Path, part: str, more: list[str], pairs: int) -> list[Compared]:
    """Run one part in both trees, in turns. `more` is what both runs are told beside the part."""
    runs: dict[Path, dict[str, list[list[float]]]] = {before: defaultdict(list), THIS: defaultdict(list)}
    for number in range(pairs):
        for tree in (before, THIS) if number % 2 == 0 else (THIS, before):
            begun = time.perf_counter()
            for what, seconds in measured(tree, part, more).items():
                runs[tree][what].append(seconds)
            name = "before" if tree == before else "after"
            console.print(f"[dim]{part}, pair {number + 1}, {name}: {time.perf_counter() - begun:.0f} s[/]")
    rows = runs[before]
    for what in sorted(rows.keys() ^ runs[THIS].keys()):
        console.print(f"[dim]only {'before' if what in rows else 'after'}: {what}[/]", highlight=False)
    return [
        Compared(what, rows[what], runs[THIS][what])
        for what in rows
        if len(rows[what]) == len(runs[THIS][what]) == pairs
    ]


def show(rows: list[Compared]) -> None:
    """Print one line a row: the medians, both ratios, and whether the row got slower."""
    table = Table(title="This tree beside the older one: ratios above 1 are slower", title_justify="left")
    for heading in ("measured", "before, ms", "after, ms", "ratio by pairs", "ratio of fastest", ""):
        table.add_column(heading, justify="left" if heading == "measured" else "right")
    for row in rows:
        middles = [f"{1e3 * median(map(median, runs)):,.2f}" for runs in (row.before, row.after)]
        verdict = "[bold red]slower[/]" if row.slower else ""
        table.add_row(row.what, *middles, f"{row.by_pairs:.2f}", f"{row.by_fastest:.2f}", verdict)
    console.print(table)


def main() -> int:
    """Compare the trees. The exit code is the number of slower rows, at most 100."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="a clone of the project at an older commit")
    parser.add_argument("--only", choices=PARTS, action="append", help="compare this part; can be given several times")
    parser.add_argument(
        "--section", choices=SECTIONS, action="append", help="compare this section of growth alone; several times too"
    )
    parser.add_argument("--pairs", type=int, default=3, help="runs of each tree")
    parser.add_argument("--full", action="store_true", help="the full size instead of a tenth")
    chosen = parser.parse_args()
    before = chosen.before.resolve()
    if chosen.section and chosen.only not in (None, ["growth"]):
        parser.error("--section goes with --only growth")
    sections = [word for name in chosen.section or () for word in ("--section", name)]
    more = [*([] if chosen.full else ["--quick"]), *sections]
    rows: list[Compared] = []
    for part in ["growth"] if sections else chosen.only or PARTS:
        rows += compare(before, part, more, chosen.pairs)
    show(rows)
    slower = [row for row in rows if row.slower]
    console.print(f"{len(rows)} rows compared, {len(slower)} slower by more than {TOLERANCE - 1:.0%}")
    return min(len(slower), 100)


if __name__ == "__main__":
    sys.exit(main())
