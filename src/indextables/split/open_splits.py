"""`OpenSplits`: the footers, rows and indexes that this process holds open, so that the next question need not open them.

At most a number of each is held; the least recently used ones are closed. A footer and the rows of a split belong to the store
object that they were opened with, because another store object may have other credentials. An index belongs to its bytes: the
fingerprint of the footer tells it from all others (`IndexSource.identities`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from indextables.core.runtime.process_state import Lru, ProcessLocal
from indextables.split.bundle.bundle_reader import Pages, read_footer
from indextables.split.bundle.footer import Footer
from indextables.split.plan.column_lookup import KeptNumbers
from indextables.split.plan.costs import COSTS, Costs
from indextables.split.plan.index_view import NO_NEEDS, IndexNeeds, IndexSource, IndexView
from indextables.split.rows.row_reader import Rows
from indextables.split.rows.row_source import RowSource
from indextables.storage.store import Store

_MOST_FOOTERS: Final = 1024
"""Footers that a process holds. A footer takes some kilobytes of memory."""
_MOST_ROWS: Final = 32
"""Splits whose rows a process holds open. Each keeps a few pages in memory."""
_MOST_INDEXES: Final = 64
"""Indexes that a process holds open. Each has a thread that sleeps, and maps its files."""


class OpenSplits:
    """What a process holds open, and the costs that it plans with."""

    def __init__(
        self,
        costs: Costs = COSTS,
        *,
        footers: int = _MOST_FOOTERS,
        rows: int = _MOST_ROWS,
        indexes: int = _MOST_INDEXES,
    ) -> None:
        self.costs = costs
        """What the ways to read these splits cost against each other."""
        self._footers: Lru[Hashable, tuple[Store, Footer]] = Lru(footers)
        self._rows: Lru[Hashable, tuple[Store, RowSource]] = Lru(rows)
        self._indexes: Lru[Hashable, IndexView] = Lru(indexes)
        self.numbers = KeptNumbers(costs.lookup_bytes)
        """The columns that are kept for look-ups."""

    def footer(self, store: Store, key: str, *, size: int | None, footer_start: int | None) -> Footer:
        """The footer of a split. One ranged read, if the size of the split and the start of the footer are known."""

        def read() -> tuple[Store, Footer]:
            return store, read_footer(store, key, size=size, footer_start=footer_start)

        return self._footers.get_or_load((id(store), key, size, footer_start), read)[1]

    def rows(self, store: Store, key: str, footer: Footer) -> RowSource:
        """The rows of a split, verified as they are read."""

        def open_rows() -> tuple[Store, RowSource]:
            return store, Rows(Pages(store, key, footer), footer, key)

        return self._rows.get_or_load((id(store), key, footer.fingerprint), open_rows)[1]

    def index(self, source: IndexSource, needs: IndexNeeds = NO_NEEDS) -> IndexView:
        """The index of a split, opened by its source where it is not open yet."""
        return self._indexes.get_or_load(
            source.identities[needs.positions], lambda: replace(source.open(needs), costs=self.costs)
        )

    def has_index(self, source: IndexSource) -> bool:
        """Whether the index is open already, so that `index` costs nothing."""
        return source.identities[False] in self._indexes

    def __len__(self) -> int:
        """The number of footers, rows and indexes that are held, all together."""
        return len(self._footers) + len(self._rows) + len(self._indexes)


OPEN: Final = ProcessLocal(OpenSplits)
"""What is open in this process. A forked child opens everything anew: neither threads nor native handles survive a fork."""


def close_all() -> None:
    """Forget everything that this process holds open; the costs stay. Meant for tests."""
    OPEN.value = OpenSplits(OPEN.value.costs)


@contextmanager
def replaced_by(splits: OpenSplits) -> Iterator[OpenSplits]:
    """While this is entered, the process opens splits through `splits`, with its costs and its bounds. Meant for tests."""
    before, OPEN.value = OPEN.value, splits
    try:
        yield splits
    finally:
        OPEN.value = before
