"""What the sections of growth have in common: their sizes, handles that take turns, and goals."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any, Self

import growth_tables
import measure
import search
import search_tables
from measure import Worker, once
from report import OURS, Goal, Row
from search_data import Search
from search_tables import TANTIVY

Say = Callable[[str], None]
"""Tells the user how far the work is."""
ASKED = {"best ten": ("rows", "top term"), "best ten of two words": ("rows", "top or"), "fetch": ("rows", "medium")}
"""Questions by name: the verb of a handle, and the search."""

STEEPEST = "steepest exponent"
_MOST_EXPONENT = 1.1
"""Growth with the size, and a tenth for noise."""


@dataclass(frozen=True)
class Sizes:
    """How many log rows, and how often a question is asked."""

    search: search.Sizes
    rounds: int

    @classmethod
    def of(cls, quick: bool) -> Sizes:
        return cls(search.Sizes.of(quick), 2 if quick else 5)


def build_missing(jobs: Sequence[tuple[Path, Callable[..., Any], *tuple[Any, ...]]], say: Say) -> None:
    """Call each function in a fresh process, unless what it makes is there already."""
    for made, function, *arguments in jobs:
        if not made.exists():
            start = time.perf_counter()
            once(function, *arguments)
            say(f"built {made.name} ({function.__name__}) in {time.perf_counter() - start:.0f} s")


def chosen(data: Path, sizes: Sizes) -> Mapping[str, Search]:
    """The searches of the search benchmark, by name."""
    asked = once(search_tables.choose, data / "rows", sizes.search.rows, data / TANTIVY, 10)
    return asked.searches


class Handles:
    """Handles that are kept open, each in a worker of its own. `opened` has what each is opened with."""

    def __init__(self, opened: Mapping[Any, Sequence[Any]], tables: ModuleType = growth_tables) -> None:
        self._tables = tables
        self._workers = {name: Worker() for name in opened}
        for name, worker in self._workers.items():
            worker.call(tables.open_handle, *opened[name])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers.values():
            worker.close()

    def same(self, verb: str, asked: Search | None, names: Iterable[Any] = ()) -> Any:
        """What everybody answers, or those with these names. Raises AssertionError unless it is the same."""
        found = {name: self._workers[name].call(self._tables.answer, verb, asked) for name in names or self._workers}
        answers = list(found.values())
        if any(each != answers[0] for each in answers):
            raise AssertionError(f"{verb} of {asked}: {found}")
        return answers[0]

    def seconds(self, verb: str, asked: Search | None, count: int) -> dict[Any, list[float]]:
        """Seconds of each round, by handle."""

        def turn(name: Hashable) -> Callable[[int], float]:
            return lambda _number: self._workers[name].call(self._tables.time_answers, verb, asked)

        return measure.rounds(count, {name: turn(name) for name in self._workers})  # type: ignore[misc]

    def rounds(self, what: str, verb: str, asked: Search | None, count: int) -> Row:
        return Row(what, self.seconds(verb, asked, count))


def of_sizes(
    what: Callable[[int], str], seconds: Mapping[tuple[str, int], list[float]], sizes: Sequence[int]
) -> list[Row]:
    """A row for each size, whose title `what` gives, all from the same rounds: `seconds` by subject and size.

    The last row tells how our seconds grow with the size.
    """
    rows = [
        Row(what(size), {subject: found for (subject, each), found in seconds.items() if each == size})
        for size in sizes
    ]
    middles = [median(row.seconds[OURS]) for row in rows]
    points = list(zip(sizes, middles, strict=True))
    steps = [_exponent(*step) for step in pairwise(points)]
    *others, last = rows
    for row in others:
        row.note = f"in the same rounds as: {last.what}"
    told = ", ".join(f"{size:,}: {middle * 1e3:.2f} ms" for size, middle in points)
    last.beside = rows[0].seconds[OURS]
    last.amounts = {"exponent": _exponent(points[0], points[-1]), STEEPEST: max(steps)}
    last.note = f"{told}; exponent {last.amounts['exponent']:.2f}, of the steepest step {last.amounts[STEEPEST]:.2f}"
    return rows


def _exponent(before: tuple[int, float], after: tuple[int, float]) -> float:
    """0 is no growth, 1 is growth with the size."""
    return math.log(after[1] / before[1]) / math.log(after[0] / before[0])


def grows_at_most(row: Row) -> Goal:
    """The cost grows no faster than the size, from no size to the next one."""
    steepest = row.amounts[STEEPEST]
    return Goal(f"{row.what}, no exponent above {_MOST_EXPONENT}", f"{steepest:.2f}", steepest <= _MOST_EXPONENT)


def at_most_ms(row: Row, most_ms: float) -> Goal:
    """Milliseconds, whatever others take."""
    spent = median(row.seconds[OURS]) * 1e3
    return Goal(f"{row.what}, at most {most_ms} ms each", f"{spent:.1f} ms", spent <= most_ms)
