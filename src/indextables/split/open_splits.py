"""`OpenSplits`: the footers, rows and indexes that this process holds open, so that the next question need not open them.

What is held is weighed by what it takes of the process, so that a table of a thousand small splits stays open as a table of ten
large ones does; the least recently used parts are closed. A footer and the rows of a split belong to the store object that they
were opened with, because another store object may have other credentials. An index belongs to its bytes: the fingerprint of the
footer tells it from all others (`IndexSource.identities`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter_ns
from typing import Final

from indextables.core.profiler import PROFILER
from indextables.core.runtime.memory import Machine
from indextables.core.runtime.process_state import Lru, ProcessLocal
from indextables.split.bundle.bundle_reader import EDGE_PAGES, Pages, read_footer
from indextables.split.bundle.footer import Footer
from indextables.split.plan.column_lookup import KeptNumbers
from indextables.split.plan.costs import COSTS, Costs
from indextables.split.plan.index_view import NO_NEEDS, IndexNeeds, IndexSource, IndexView
from indextables.split.rows.block_cache import BLOCKS
from indextables.split.rows.row_reader import Rows
from indextables.split.rows.row_source import RowSource
from indextables.split.rows.segment_cache import forget_segments
from indextables.storage.store import Store

_FOOTER_BYTES: Final = 1 << 26
"""Bytes of footers that a process holds: 64 MiB, which are the footers of some ten thousand splits."""
_ROW_BYTES: Final = 1 << 28
"""Bytes that the open rows of all splits may keep: 256 MiB. The rows of a split keep a few verified pages, at most 4 MiB."""
_INDEX_HANDLES: Final = 1 << 14
"""Handles of open indexes: 16,384, a quarter of the memory maps that Linux grants a process. An index of one segment takes 14 of
them, so that 1,170 such indexes are held."""
_MAPS_OF_SEGMENT: Final = 6
"""Files of a segment, each of which Tantivy maps."""
_HANDLES_OF_THREAD: Final = 8
"""Handles that the thread of an index counts for. Tantivy's thread looks twice a second whether the index has changed: a thousand
of them take 5% of a processor."""
_BYTES_OF_FACT: Final = 200
"""Bytes that an index file, or a bound of a column, takes in a decoded footer, roughly."""
_LEAST_BYTES: Final = 1 << 14
"""Bytes that an open part takes at least, roughly: 16 KiB."""


class OpenSplits:
    """What a process holds open, and the costs that it plans with."""

    def __init__(
        self,
        costs: Costs = COSTS,
        *,
        footer_bytes: int = _FOOTER_BYTES,
        row_bytes: int = _ROW_BYTES,
        index_handles: int | None = None,
    ) -> None:
        self.costs = costs
        """What the ways to read these splits cost against each other."""
        self._footers: Lru[Hashable, tuple[Store, Footer]] = Lru(footer_bytes, lambda kept: weight_of_footer(kept[1]))
        self._rows: Lru[Hashable, tuple[Store, RowSource, int]] = Lru(row_bytes, lambda kept: kept[2])
        handles = most_index_handles(Machine.here()) if index_handles is None else index_handles
        self._indexes: Lru[Hashable, IndexView] = Lru(handles, weight_of_index)
        self.numbers = KeptNumbers(costs.lookup_bytes)
        """The columns that are kept for look-ups."""

    def footer(self, store: Store, key: str, *, size: int | None, footer_start: int | None) -> Footer:
        """The footer of a split. One ranged read, if the size of the split and the start of the footer are known."""

        def read() -> tuple[Store, Footer]:
            began = perf_counter_ns() if PROFILER.enabled else 0
            footer = read_footer(store, key, size=size, footer_start=footer_start)
            if began:
                PROFILER.add("open footer", "open", began)
            return store, footer

        return self._footers.get_or_load((id(store), key, size, footer_start), read)[1]

    def rows(self, store: Store, key: str, footer: Footer) -> RowSource:
        """The rows of a split, verified as they are read."""

        def open_rows() -> tuple[Store, RowSource, int]:
            return store, Rows(Pages(store, key, footer), footer, key), weight_of_rows(footer)

        return self._rows.get_or_load((id(store), key, footer.fingerprint), open_rows)[1]

    def index(self, source: IndexSource, needs: IndexNeeds = NO_NEEDS) -> IndexView:
        """The index of a split, opened by its source where it is not open yet."""

        def open_index() -> IndexView:
            began = perf_counter_ns() if PROFILER.enabled else 0
            view = replace(source.open(needs), costs=self.costs)
            if began:
                PROFILER.add("open index", "open", began)
            return view

        return self._indexes.get_or_load(source.identities[needs.positions], open_index)

    def has_index(self, source: IndexSource) -> bool:
        """Whether the index is open already, so that `index` costs nothing."""
        return source.identities[False] in self._indexes

    def close(self) -> int:
        """Forget what is held open; who uses a part of it goes on with that part. Returns how many parts there were."""
        return sum(held.clear() for held in (self._footers, self._rows, self._indexes, self.numbers))

    @property
    def asked(self) -> dict[str, tuple[int, int]]:
        """How often footers, rows, indexes and columns of numbers were found here, and how often they were not."""
        return {
            "footers": self._footers.asked,
            "open rows": self._rows.asked,
            "open indexes": self._indexes.asked,
            "looked-up columns": self.numbers.asked,
        }

    def __len__(self) -> int:
        """The number of footers, rows and indexes that are held, all together."""
        return len(self._footers) + len(self._rows) + len(self._indexes)


def most_index_handles(machine: Machine) -> int:
    """Handles that open indexes may take; where a container limits threads, those of a quarter of the threads."""
    if machine.threads is None:
        return _INDEX_HANDLES
    return min(_INDEX_HANDLES, max(1, machine.threads // 4) * (_HANDLES_OF_THREAD + _MAPS_OF_SEGMENT))


def weight_of_footer(footer: Footer) -> int:
    """Bytes of a decoded footer, roughly. Splits of one table share the texts of its schema and its mapping."""
    facts = len(footer.index) + len(footer.min_values) + len(footer.max_values) + len(footer.null_counts)
    return _LEAST_BYTES // 8 + len(footer.pages) + _BYTES_OF_FACT * facts


def weight_of_rows(footer: Footer) -> int:
    """Bytes that the rows of a split keep while they are open, at most."""
    return _LEAST_BYTES + min(footer.rows_length, EDGE_PAGES * footer.page_size)


def weight_of_index(view: IndexView) -> int:
    """Handles of an open index."""
    return _HANDLES_OF_THREAD + _MAPS_OF_SEGMENT * view.searcher.num_segments


OPEN: Final = ProcessLocal(OpenSplits)
"""What is open in this process. A forked child opens everything anew: neither threads nor native handles survive a fork."""


def flush_open_splits() -> int:
    """Forget the footers, rows, indexes and blocks of rows that this process keeps. Returns how many there were.

    Safe while other threads read: who uses a part has it until the end of the question.
    """
    forget_segments()
    return OPEN.value.close() + BLOCKS.value.clear()


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
