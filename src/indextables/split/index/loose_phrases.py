"""Phrases whose words may be moved, as phrases whose words stand at fixed places.

    "disk is full"~1 ──▶ disk is full │ disk is _ full │ disk _ is full │ …

Tantivy finds two different words that may be moved. Of three words, or of one word twice, its search finds rows that it should
not find and misses others, and with scores it finds other rows than without. Phrases with words at fixed places are found
rightly, so these are asked for one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final, TypeAlias

Placement: TypeAlias = tuple[tuple[int, str], ...]
"""The words of a phrase with their places, in the order of places. The first place is 0."""

MOST_PLACEMENTS: Final = 1_024
"""Ways to place the words of a phrase, at most: each is a search of its own, a thousand of which take some milliseconds for
20,000 rows."""


def is_found_as_written(words: Sequence[str], slop: int) -> bool:
    """Whether Tantivy's own phrases are right: no word may be moved, or there are two different words."""
    return not slop or (len(words) == 2 and words[0] != words[1])


def ways_to_move(words: int, slop: int) -> int:
    """In how many ways a number of words may be moved by up to `slop` places against each other."""
    return int((slop + 1) ** words - slop**words)


def most_moves(words: int, limit: int) -> int:
    """The largest `slop`, at most `limit`, for which a number of words is not moved in more than `MOST_PLACEMENTS` ways."""
    return max(slop for slop in range(limit + 1) if ways_to_move(words, slop) <= MOST_PLACEMENTS)


def placements(words: Sequence[str], slop: int) -> list[Placement]:
    """Every way to place the words, each at a place of its own, moved by up to `slop` places against each other."""
    return list(dict.fromkeys(_placements(words, slop)))


def _placements(words: Sequence[str], slop: int) -> Iterator[Placement]:
    for moves in product(range(slop + 1), repeat=len(words)):
        if min(moves):
            continue  # the same places, all moved
        places = [number + move for number, move in enumerate(moves)]
        if len(set(places)) == len(places):
            first = min(places)
            yield tuple(sorted((place - first, word) for place, word in zip(places, words, strict=True)))


__all__ = ["MOST_PLACEMENTS", "Placement", "is_found_as_written", "most_moves", "placements", "ways_to_move"]
