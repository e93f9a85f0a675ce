"""How cost grows: the same questions over tables of one size and of more, of few splits and of many, after few appends and many.

    rows        five times the rows, one split in place of ten, and aggregates of all rows (`growth_rows`)
    appends     very many small appends, questions to what they leave, and from fresh processes (`growth_appends`)
    answers     few rows or none, and the memory of a full scan (`growth_answers`)
    splits      the same rows in one split and in up to 1,000 (`growth_splits`)
    texts       texts of 2 KB (`growth_texts`)
    columns     tables of 10 to 2,000 columns (`growth_columns`)

Other parts measure what belongs here too: `splits` writes and indexes 2,000,000 log rows beside lance, `search` counts a phrase
and asks for the best ten of 100 words from eight threads beside lance.

Answers are compared before anything is timed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import growth_answers
import growth_appends
import growth_columns
import growth_rows
import growth_splits
import growth_texts
from growth_rounds import Say
from report import OURS, Goal, Row
from search_tables import DUCKDB, LANCE, TANTIVY
from text_tables import SQLITE

SUBJECTS = [OURS, LANCE, DUCKDB, TANTIVY, SQLITE]
VERSIONS = {LANCE: "pylance", DUCKDB: "duckdb", TANTIVY: "tantivy"}


class Section(Protocol):
    """What a module of a section has."""

    def build(self, data: Path, quick: bool, say: Say) -> None:
        """Make the tables that are not there yet."""

    def measured(self, data: Path, quick: bool) -> dict[str, Row]:
        """Measure everything, by a short name."""

    def goals(self, rows: Mapping[str, Row]) -> list[Goal]:
        """What was aimed at."""


SECTIONS: dict[str, Section] = {
    "rows": growth_rows,
    "appends": growth_appends,
    "answers": growth_answers,
    "splits": growth_splits,
    "texts": growth_texts,
    "columns": growth_columns,
}


def measured(data: Path, quick: bool, sections: Sequence[str], say: Say) -> tuple[list[Row], list[Goal]]:
    """Build and measure some sections. Returns their rows and their goals."""
    for name in sections:
        SECTIONS[name].build(data, quick, say)
    rows: list[Row] = []
    goals: list[Goal] = []
    for name in sections:
        found = SECTIONS[name].measured(data, quick)
        rows += found.values()
        goals += SECTIONS[name].goals(found)
    titles = [row.what for row in rows]
    assert len(set(titles)) == len(titles), "beside.py compares rows by their titles, so that they must differ"
    return rows, goals


def notes() -> list[str]:
    return [
        "answers were compared before they were timed; of the best ten, that there are ten",
        "a question was answered before by the same handle; a round is the median of up to 15 answers, or appends",
    ]
