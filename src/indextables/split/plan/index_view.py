"""`IndexView`: an open index and the facts of its split; and `IndexSource`, the seam through which an index is opened."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import tantivy

from indextables.core.runtime.cached_property import cached_property
from indextables.split.index.doc_mapping import DocMapping, FieldMapping
from indextables.split.index.searcher import Searcher
from indextables.split.plan.costs import COSTS, Costs


@dataclass(frozen=True)
class IndexView:
    """An open index, the facts about the index that the footer of its split has, and the costs to plan with."""

    schema: tantivy.Schema
    searcher: Searcher
    mapping: DocMapping
    split: str
    """The place of the split, for messages."""
    inexact: frozenset[str] = frozenset()
    """Columns of which the index lacks some values, so that a search of them may miss rows."""
    null_counts: Mapping[str, int] = field(default_factory=dict)
    """The number of nulls of a column, where the footer has the number."""
    bounds: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """For a column the texts of two values: no value of the column is below the first or above the second."""
    in_row_order: bool = False
    """True if documents come in the order of rows: Tantivy then orders hits of equal score as their rows are."""
    distinct: Mapping[str, int] = field(default_factory=dict)
    """A column has at most this number of different values, where the footer has the number."""
    costs: Costs = COSTS
    """What the ways to answer cost against each other."""
    agreed: dict[int, FieldMapping] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Fields of tables that are known to be indexed in the same way in this index, by their `id()`."""
    alone: set[tuple[str, str]] = field(default_factory=set, init=False, repr=False, compare=False)
    """Pairs of field and word that were found to be a prefix of few other words."""
    _terms: dict[str, list[tuple[str, int]]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def rows(self) -> int:
        """The number of rows of the split."""
        return int(self.searcher.num_docs)

    def terms(self, mapped: FieldMapping) -> list[tuple[str, int]] | None:
        """All values of a string column, each with its number of rows; None where there may be too many values to list."""
        most = min(self.rows, self.distinct.get(mapped.column, self.rows))
        if most > self.costs.listed_terms or mapped.column in self.inexact:
            return None
        if mapped.column not in self._terms:
            self._terms[mapped.column] = self.searcher.terms_with_prefix(mapped.name, "")
        return self._terms[mapped.column]


@dataclass(frozen=True, slots=True)
class IndexNeeds:
    """What a question needs of an index, so that a source can leave the rest where it is."""

    positions: bool = False
    """True for phrases: the index must say where in a text a word stands."""


NO_NEEDS: Final = IndexNeeds()
"""The needs of predicates, counts and groups: terms and fast fields, no positions."""


class IndexSource(Protocol):
    """A way to open the index of one split. `CachedIndex` opens a copy on local disk.

    Contract for implementers:

    - `open` may be called from many threads, and the view that it returns may be used from many threads.
    - The bytes of the index are verified against the footer's checksums before a search can see them.
    - The number of documents is the footer's number of rows. `open` raises CorruptSplit otherwise, SplitError where the index
      cannot be opened, and ObjectNotFound where the split is gone.
    - The view stays valid for as long as somebody has it, whatever happens to the bytes that it was opened from.
    - Without `needs.positions` a view may refuse phrases, and must answer everything else.
    """

    @property
    def identities(self) -> tuple[Hashable, Hashable]:
        """What tells the views without and with positions from all others of the process; equal ones are opened once.

        The two are the same where a view without positions has them anyway.
        """

    def open(self, needs: IndexNeeds) -> IndexView:
        """The open index. This may take as long as a download."""


__all__ = ["NO_NEEDS", "IndexNeeds", "IndexSource", "IndexView"]
