"""What is searched for in the log rows of `split_data`: words chosen by how many rows have them, whatever the size of the table.

A message begins with one of twenty phrases, so that a word that only one of them has is in a twentieth of the rows. Words of the
vocabulary are anything from frequent to rare; they are looked for among those of the first rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow.compute as pc
import split_data

_COMMON = "evicted"
"""In one phrase of twenty."""
_OTHER = "authorised"
_LAST = "retry"
"""Ends a phrase: a word of the vocabulary follows."""
_RARE_ROWS = 36
FETCHED = ("medium", "common", "and", "phrase", "level")
"""Which are compared as one by their geometric mean."""
COUNTED = (*FETCHED, "rare")
RANKED = ("top term", "top or")


@dataclass(frozen=True)
class Search:
    """Words that a message has: the one, all, one of them, or in a row; and the level of the line."""

    what: str
    words: tuple[str, ...]
    how: Literal["term", "and", "or", "phrase"] = "term"
    level: str | None = None
    best: int | None = None
    """How many rows are wanted, ranked; without it all, in any order."""

    def text(self) -> str:
        """In the query language that ours and Tantivy's have in common."""
        match self.how:
            case "phrase":
                return f'message:"{" ".join(self.words)}"'
            case "and" | "or":
                return f" {self.how.upper()} ".join(f"message:{word}" for word in self.words)
        return f"message:{self.words[0]}"


@dataclass(frozen=True)
class Asked:
    """All searches: those that are measured one by one, by a short name; those for other rare words, each of which is asked for
    once; and those that many threads ask for.
    """

    searches: dict[str, Search]
    unseen: list[Search]
    crowd: list[Search]


def choose(rows: Path, count: int, rows_with: Callable[[str], int], crowd: int) -> Asked:
    """Choose words for a table of `count` rows. `rows_with` tells how many rows have a word."""
    known = {word: rows_with(word) for word in _words(rows)}

    def word_in(wanted: float) -> str:
        return min(known, key=lambda word: (abs(known[word] - wanted), word))

    follows = max((word for word in known if known[word] < count * 0.9), key=lambda word: (known[word], word))
    rare, medium, frequent = word_in(_RARE_ROWS), word_in(count * 0.001), word_in(count * 0.075)
    searches = {
        "medium": Search("a word in 0.1% of the rows", (medium,)),
        "common": Search("a word in 5% of the rows", (_COMMON,)),
        "and": Search("two words, AND", (_COMMON, frequent), "and"),
        "phrase": Search("a phrase of two words", (_LAST, follows), "phrase"),
        "level": Search("a word, level = 'ERROR'", (_COMMON,), level="ERROR"),
        "rare": Search(f"a word in {known[rare]} rows", (rare,)),
        "top term": Search("a word in 5% of the rows", (_COMMON,), best=10),
        "top or": Search("two words, OR", (_COMMON, _OTHER), "or", best=10),
    }
    others = sorted(
        (word for word in known if word != rare and _RARE_ROWS / 2 <= known[word] <= _RARE_ROWS * 2),
        key=lambda word: abs(known[word] - _RARE_ROWS),
    )
    unseen = [Search("a rare word", (word,)) for word in others]
    return Asked(searches, unseen, _crowd(known, count, crowd))


def _words(rows: Path) -> list[str]:
    """The words of the first rows, without numbers."""
    first = next(split_data.batches(rows))
    words = pc.unique(pc.list_flatten(pc.split_pattern_regex(first.column("message"), "[^a-z0-9]+")))
    return sorted(word for word in words.to_pylist() if word.isalpha())


def _crowd(known: Mapping[str, int], count: int, size: int) -> list[Search]:
    """Searches for the best 10, each for another word: words in 0.05% to 5% of the rows."""
    fitting = sorted(word for word, rows in known.items() if count * 0.0005 <= rows <= count * 0.05)
    return [Search("a word", (fitting[number * len(fitting) // size],), best=10) for number in range(size)]
