"""Results as a table of ratios, goals with their verdicts, and JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from measure import Spread
from rich.console import Console
from rich.table import Table

OURS = "indextables"
TIMES = "\u00d7"
_TO = "\u2013"
_NOTHING = "[dim]\u2014[/]"


@dataclass
class Row:
    """A thing that was measured: seconds of each round by subject, and the peak memory of each subject."""

    what: str
    seconds: dict[str, list[float]]
    peaks_mb: dict[str, float] = field(default_factory=dict)
    note: str = ""
    beside: list[float] = field(default_factory=list)
    """Seconds of what a row without other subjects is compared with."""
    amounts: dict[str, float] = field(default_factory=dict)
    """What else was found, by subject or by name: bytes on disk, splits that are left, an exponent."""

    def spread(self, subject: str) -> Spread:
        return Spread.of(self.seconds[subject])

    def ratio(self, subject: str) -> Spread:
        """How many times as long the subject took as we did, round by round."""
        pairs = zip(self.seconds[subject], self.seconds[OURS], strict=True)
        return Spread.of([theirs / ours for theirs, ours in pairs])


@dataclass
class Goal:
    """What was aimed at, and whether it was reached."""

    text: str
    figure: str
    met: bool


def show(console: Console, rows: list[Row], subjects: list[str], notes: list[str], goals: list[Goal]) -> None:
    times = Table(title="Times: median, and the middle half of the rounds", title_justify="left", header_style="bold")
    times.add_column("measured")
    for subject in subjects:
        times.add_column(subject, justify="right")
    ratios = Table(
        title=f"Ratios to {OURS} in the same round: above 1, {OURS} is faster",
        title_justify="left",
        header_style="bold",
    )
    ratios.add_column("measured")
    for subject in subjects[1:]:
        ratios.add_column(subject, justify="right")
    ratios.add_column("peak memory, MB", justify="right")
    for row in rows:
        times.add_row(row.what, *(_time(row, subject) for subject in subjects))
        ratios.add_row(row.what, *(_ratio(row, subject) for subject in subjects[1:]), _peaks(row, subjects))
    console.print(times)
    console.print(ratios)
    for note in notes + [f"{row.what}: {row.note}" for row in rows if row.note]:
        console.print(f"[dim]· {note}[/dim]", highlight=False)
    console.print()
    for goal in goals:
        mark = "[bold green]met   [/]" if goal.met else "[bold red]missed[/]"
        console.print(f"{mark}  {goal.text}: [bold]{goal.figure}[/]", highlight=False)


def _time(row: Row, subject: str) -> str:
    if subject not in row.seconds:
        return _NOTHING
    spread = row.spread(subject)
    unit, name = (1, "s") if spread.middle >= 1 else (1e3, "ms")
    return f"{_short(spread.middle * unit)} {name} [dim]{_short(spread.low * unit)}{_TO}{_short(spread.high * unit)}[/]"


def _ratio(row: Row, subject: str) -> str:
    if subject not in row.seconds:
        return _NOTHING
    ratio = row.ratio(subject)
    colour = "green" if ratio.middle >= 1 else "red"
    return f"[bold {colour}]{_short(ratio.middle)}{TIMES}[/] [dim]{_short(ratio.low)}{_TO}{_short(ratio.high)}[/]"


def _peaks(row: Row, subjects: list[str]) -> str:
    return " / ".join(f"{row.peaks_mb[subject]:,.0f}" for subject in subjects if subject in row.peaks_mb) or _NOTHING


def _short(value: float) -> str:
    """Three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def save(
    path: Path, rows: list[Row], subjects: list[str], notes: list[str], goals: list[Goal], about: dict[str, Any]
) -> None:
    measured = [
        {
            "what": row.what,
            "note": row.note,
            "seconds": row.seconds,
            "median_seconds": {subject: asdict(row.spread(subject)) for subject in row.seconds},
            "ratio_to_ours": {
                subject: asdict(row.ratio(subject)) for subject in subjects[1:] if subject in row.seconds
            },
            "peak_mb": row.peaks_mb,
            "beside_seconds": row.beside,
            "amounts": row.amounts,
        }
        for row in rows
    ]
    document = {"about": about, "rows": measured, "notes": notes, "goals": [asdict(goal) for goal in goals]}
    path.write_text(json.dumps(document, indent=2) + "\n")
