"""Growth with the splits of a table: the same rows in one split and in up to 1,000, beside lance with as many fragments.

Lance has one index of the words of all fragments, however many there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import growth_tables as tables
import measure
import search
from growth_rounds import ASKED, Handles, Say, Sizes, build_missing, chosen, grows_at_most, of_sizes
from report import OURS, Goal, Row
from search_data import Search
from search_tables import LANCE

_ASKED = {"best ten": ASKED["best ten"], "count": ("count", "common"), "fetch": ASKED["fetch"]}
_FIRST = "best ten in a fresh process, imports included"


def _counts(quick: bool) -> list[int]:
    """How many splits the tables have."""
    return [1, 10, 100] if quick else [1, 10, 100, 1_000]


def _folders(data: Path, quick: bool) -> dict[tuple[str, int], Path]:
    return {(name, count): data / f"{name}-{count}-pieces" for count in _counts(quick) for name in (OURS, LANCE)}


def build(data: Path, quick: bool, say: Say) -> None:
    """The tables of the search benchmark, and for each number of splits one of ours and one of lance's."""
    sizes = Sizes.of(quick).search
    search.build(data, sizes, say)
    rows = data / "rows"
    write = {OURS: tables.write_splits, LANCE: tables.write_fragments}
    build_missing(
        [
            (where, write[name], rows, where, sizes.rows // count, count)
            for (name, count), where in _folders(data, quick).items()
        ],
        say,
    )


def measured(data: Path, quick: bool) -> dict[str, Row]:
    """Measure everything, by a short name."""
    sizes = Sizes.of(quick)
    asked = chosen(data, sizes)
    folders = _folders(data, quick)
    found: dict[str, Row] = {}
    with Handles({name: (name[0], where, data / "cache") for name, where in folders.items()}) as handles:
        for question, (verb, which) in _ASKED.items():
            handles.same(verb, asked[which])
            seconds = handles.seconds(verb, asked[which], sizes.rounds)
            found |= _named(question, seconds, sizes, quick)
    return found | _named(_FIRST, _first(data, asked["common"], sizes, quick), sizes, quick)


def _first(data: Path, common: Search, sizes: Sizes, quick: bool) -> dict[Any, list[float]]:
    best = replace(common, best=10)
    turns = {
        name: (lambda _number, name=name, where=where: tables.first_answer(name[0], where, data / "cache", best))
        for name, where in _folders(data, quick).items()
    }
    return measure.rounds(sizes.rounds, turns)  # type: ignore[arg-type,return-value]


def _named(question: str, seconds: Mapping[Any, list[float]], sizes: Sizes, quick: bool) -> dict[str, Row]:
    """The rows of a question by their splits; the one of the most splits, which a goal looks at, by the question alone."""

    def what(count: int) -> str:
        return f"{question}, {sizes.search.rows:,} rows in {'one split' if count == 1 else f'{count:,} splits'}"

    *others, last = of_sizes(what, seconds, _counts(quick))
    return {**{f"{question} {count}": row for count, row in zip(_counts(quick), others, strict=False)}, question: last}


def goals(rows: Mapping[str, Row]) -> list[Goal]:
    """No cost grows faster than the number of splits."""
    return [grows_at_most(rows[question]) for question in (*_ASKED, _FIRST)]
