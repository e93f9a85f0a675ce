"""Long texts: all of those that have a rare word, a word of 1% of the texts, and two words, beside lance and SQLite's FTS5."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

import search
import text_tables as tables
from growth_rounds import Handles, Say, Sizes, build_missing
from measure import once
from report import OURS, Goal, Row
from search_tables import LANCE
from text_tables import SQLITE

_TEXTS, _QUICK_TEXTS = 150_000, 15_000
"""How many texts of 2 KB there are."""
_LEAST = {LANCE: 1.2, SQLITE: 0.5}
"""How many times as fast as a peer a fetch must be. SQLite hands out what it has read, without columns."""


def _count(quick: bool) -> int:
    return _QUICK_TEXTS if quick else _TEXTS


def _folders(data: Path) -> dict[str, Path]:
    """Where each subject has its texts. SQLite takes part if it has FTS5."""
    subjects = [OURS, LANCE, *([SQLITE] if tables.has_fts5() else [])]
    return {name: data / f"texts-{name}" for name in subjects}


def build(data: Path, quick: bool, say: Say) -> None:
    """The texts, and a table of them for each subject."""
    texts = data / "texts"
    build_missing([(texts, tables.generate, texts, _count(quick))], say)
    build_missing([(where, tables.WRITE[name], texts, where) for name, where in _folders(data).items()], say)


def measured(data: Path, quick: bool) -> dict[str, Row]:
    """Measure everything, by a short name."""
    asked = once(tables.choose, data / "texts", _count(quick))
    folders = _folders(data)
    found = {}
    with Handles({name: (name, where, data / "cache") for name, where in folders.items()}, tables) as handles:
        for name, each in asked.items():
            many, _ = handles.same("rows", each)
            what = f"fetch of {_count(quick):,} texts of 2 KB: {each.what}"
            found[name] = handles.rounds(what, "rows", each, Sizes.of(quick).rounds)
            sqlite = f"SQLite {sqlite3.sqlite_version}" if SQLITE in folders else "SQLite has no FTS5 and is left out"
            found[name].note = f"{many:,} texts; {sqlite}"
    return found


def goals(rows: Mapping[str, Row]) -> list[Goal]:
    """Faster than lance, and at most twice the time of SQLite."""
    return [
        search._faster(row, peer, least)
        for row in rows.values()
        for peer, least in _LEAST.items()
        if peer in row.seconds
    ]
