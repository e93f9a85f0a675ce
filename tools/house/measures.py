"""All measures: how each is taken, what it was before, and its goal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tools.house import classes, graph, locks, matches, state, tests_count, walks, words
from tools.house.source import Result, Tree

MEASURED_AT = "aa4b016"
"""The commit that the figures before were measured at.

Some of them were counted in another way then. This program finds for that commit: a warm search 32 modules and 44 calls, for 33
and 45; locks 7, for 6, because all locks are found by a walk; modules that no package docstring names 160, for 155, because the
command line listed five without `.py`.
"""


@dataclass(frozen=True)
class Measure:
    """A figure that should be at most `goal`. A goal of None only lists what there is."""

    key: str
    title: str
    before: int
    goal: int | None
    take: Callable[[Tree], Result]
    runs_code: bool = False


def _walked(verb: str, title: str, modules: tuple[int, int], edges: tuple[int, int]) -> tuple[Measure, Measure]:
    return (
        Measure(
            f"{verb}-modules",
            f"modules that {title} passes through",
            *modules,
            partial(walks.modules, verb),
            runs_code=True,
        ),
        Measure(
            f"{verb}-edges",
            f"calls from module to module in {title}",
            *edges,
            partial(walks.edges, verb),
            runs_code=True,
        ),
    )


MEASURES = (
    *_walked("search", "a warm search", (33, 24), (45, 33)),
    *_walked("append", "an append", (55, 46), (100, 75)),
    *_walked("task", "a read task of Spark", (42, 34), (71, 53)),
    Measure("reader", "methods of SplitReader", 47, 15, classes.split_reader),
    Measure("classes", "methods of the largest class", 47, 30, classes.largest_class),
    Measure("pairs", "functions that take a log and a snapshot", 82, 40, classes.pairs),
    Measure("tuples", "functions of table/ that return a snapshot in a tuple", 11, 0, classes.snapshot_tuples),
    Measure("hooks", "fork hooks", 9, 1, state.fork_hooks),
    Measure("locks", "locks that hang a forked child", 6, 0, locks.hanging_locks, runs_code=True),
    Measure("openings", "functions that open a log", 6, 1, state.log_openings),
    Measure("unlisted", "modules that no package docstring names", 155, 0, words.unlisted_modules),
    Measure("vanished", "listed modules that do not exist", 0, 0, words.listed_but_missing),
    Measure("leaning", "docstrings that lean on a neighbour", 107, 15, words.leaning_docstrings),
    Measure("numbers", "numbers without a sentence", 175, 60, words.bare_numbers),
    Measure("spark", "modules of log, split, storage that spark imports", 13, 3, graph.taken_by_spark),
    Measure("setattr", "monkeypatch.setattr in tests", 169, 100, tests_count.patches),
    Measure("private", "private attributes in tests", 170, 60, tests_count.private_attributes),
    Measure("flat", "modules in the largest package but log", 38, 15, graph.largest_package),
    Measure("log", "modules in log", 24, 24, graph.log_package),
    Measure("cycles", "import cycles", 2, 0, graph.cycles),
    Measure("matches", "matches that mypy calls not exhaustive", 26, 0, matches.open_matches, runs_code=True),
    Measure("names", "file names that several packages use", 28, None, graph.repeated_names),
)
