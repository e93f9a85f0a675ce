"""Which rows a split holds, told by numbers: every split that rows were written to has a number of its own, and merges keep it.

A merge result names the numbers of its sources (`mergedFrom`; in older releases only those whose indexes were joined). So two
splits with a number in common hold the same rows, and a split all of whose numbers another one has is superseded by that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from indextables.split.bundle.footer import Footer


@dataclass(frozen=True)
class RowIdentity:
    """The rows of one split."""

    path: str
    numbers: frozenset[int]
    rows: int
    created_ms: int
    num_merge_ops: int
    names_sources: bool
    """True if a merge result says which splits it was made of. Results of older releases say it only in part."""


def identity_of(path: str, footer: Footer) -> RowIdentity:
    """Which rows a split holds, from its footer."""
    numbers = frozenset(source.source for source in footer.sources) | frozenset(footer.merged_from)
    names = footer.num_merge_ops == 0 or bool(footer.merged_from)
    return RowIdentity(path, numbers, footer.rows, footer.created_ms, footer.num_merge_ops, names)


def doubled(identities: Iterable[RowIdentity]) -> Iterator[tuple[RowIdentity, RowIdentity]]:
    """Pairs of splits that hold the same rows, each split with the first one that it meets."""
    holders: dict[int, RowIdentity] = {}
    for identity in identities:
        met = next((holders[number] for number in identity.numbers if number in holders), None)
        if met is not None:
            yield met, identity
        for number in identity.numbers:
            holders.setdefault(number, identity)
