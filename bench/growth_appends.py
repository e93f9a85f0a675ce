"""Very many appends of 100 rows, each one timed; questions to what they leave, and from fresh processes. All beside lance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import growth_tables as tables
import measure
import search
from growth_rounds import ASKED, Handles, Say, Sizes, at_most_ms, chosen
from measure import once
from report import OURS, Goal, Row
from search_data import Search
from search_tables import LANCE

_LEFT = "splits that are left"
_MOST_LEFT = 40
"""Splits that merges beside 1,000 appends may leave."""


def build(data: Path, quick: bool, say: Say) -> None:
    """The tables of the search benchmark. What is appended is measured while it is written."""
    search.build(data, Sizes.of(quick).search, say)


def measured(data: Path, quick: bool) -> dict[str, Row]:
    """Measure everything, by a short name."""
    sizes = Sizes.of(quick)
    appends = 100 if quick else 1_000
    asked = chosen(data, sizes)
    return {**_appended(data, asked, sizes, appends), **_first(data, asked, sizes, appends)}


def _appended(data: Path, asked: Mapping[str, Search], sizes: Sizes, appends: int) -> dict[str, Row]:
    where = {name: data / f"appended-{name}" for name in (OURS, LANCE)}
    ours, splits = once(tables.append_ours, data / "rows", where[OURS], appends)
    theirs, _ = once(tables.append_lance, data / "rows", where[LANCE], appends)
    each = Row(f"append {tables.APPENDED_ROWS} rows, {appends:,} times", {OURS: ours, LANCE: theirs})
    each.note = "lance indexes no words of these rows, and syncs nothing"
    beside, left = once(tables.append_ours, data / "rows", data / "appended-merging", appends, True)
    merging = Row(f"append {tables.APPENDED_ROWS} rows, {appends:,} times, mergeOnWrite.enabled", {OURS: beside})
    merging.amounts = {_LEFT: left}
    merging.note = f"merges run beside the appends; {left} splits are left"
    found = {"append": each, "append, merging": merging}
    with Handles({name: (name, folder, data / "cache") for name, folder in where.items()}) as handles:
        for name, (verb, which) in {**ASKED, "count": ("count", "common")}.items():
            handles.same(verb, asked[which])
            found[f"many {name}"] = handles.rounds(f"{name}, {splits:,} splits", verb, asked[which], sizes.rounds)
        found["many everything"] = handles.rounds(
            f"scan everything, {splits:,} splits", tables.EVERYTHING, None, sizes.rounds
        )
    return found


def _first(data: Path, asked: Mapping[str, Search], sizes: Sizes, appends: int) -> dict[str, Row]:
    best = replace(asked["common"], best=10)
    found = {}
    for name, folders in {
        "ten splits": {OURS: data / OURS, LANCE: data / LANCE},
        f"{appends:,} splits": {OURS: data / f"appended-{OURS}", LANCE: data / f"appended-{LANCE}"},
    }.items():
        turns = {
            subject: (
                lambda _number, subject=subject, where=where: tables.first_answer(subject, where, data / "cache", best)
            )
            for subject, where in folders.items()
        }
        results = measure.rounds(sizes.rounds, turns)
        found[f"first, {name}"] = Row(f"best ten in a fresh process, imports included, {name}", results)
    return found


def goals(rows: Mapping[str, Row]) -> list[Goal]:
    """Appends are fast, and what they leave is asked faster than lance's."""
    merging = rows["append, merging"]
    left = merging.amounts[_LEFT]
    return [
        *(search._faster(rows[name], LANCE, 1) for name in rows if name.startswith(("many ", "first, "))),
        at_most_ms(rows["append"], 20),
        Goal(f"{merging.what}, at most {_MOST_LEFT} splits are left", f"{left:.0f}", left <= _MOST_LEFT),
    ]
