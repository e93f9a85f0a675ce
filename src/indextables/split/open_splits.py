"""Splits that this process has opened, so that the next question finds them open: footers, rows and indexes, a number of each.

A footer and what reads rows belong to the store object they were opened with, because its credentials may be others than those
of the next one. An index was copied to local disk and verified; it is told from all others by the fingerprint of its footer. It
needs its directory only while it is opened, so its lease ends right after: the files stay mapped, whatever the cache does with
their names.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Final, Generic, TypeVar

from indextables.core.errors import CorruptSplit, SplitError
from indextables.split.bundle.bundle_writer import Pages, read_footer
from indextables.split.bundle.footer import Footer, Region
from indextables.split.bundle.native_errors import translated
from indextables.split.cache.index_cache import CacheKey, IndexCache
from indextables.split.index.doc_mapping import DocMapping
from indextables.split.index.index_files import open_index
from indextables.split.plan.column_lookup import KeptNumbers
from indextables.split.plan.column_queries import IndexView
from indextables.split.rows.row_reader import Rows
from indextables.storage.object_keys import joined
from indextables.storage.store import Store

T = TypeVar("T")

_MOST_FOOTERS: Final = 1024
_MOST_ROWS: Final = 32
"""Each keeps a few pages in memory."""
_MOST_INDEXES: Final = 64
"""Each has a thread that sleeps, and maps its files."""


class _Slot(Generic[T]):
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value: T | None = None


class _Kept(Generic[T]):
    """The most recently used of some things. Who asks first opens, the others wait for it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._slots: OrderedDict[Hashable, _Slot[T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, open_it: Callable[[], T]) -> T:
        with self._lock:
            slot = self._slots.get(key)
            if slot is None:
                slot = self._slots[key] = _Slot()
            self._slots.move_to_end(key)
            while len(self._slots) > self._most:
                self._slots.popitem(last=False)
        with slot.lock:
            if slot.value is None:
                slot.value = open_it()
            return slot.value

    def has(self, key: Hashable) -> bool:
        with self._lock:
            slot = self._slots.get(key)
        return slot is not None and slot.value is not None

    def __len__(self) -> int:
        return len(self._slots)


class OpenSplits:
    """What is open in this process."""

    def __init__(self) -> None:
        self._footers: _Kept[tuple[Store, Footer]] = _Kept(_MOST_FOOTERS)
        self._rows: _Kept[tuple[Store, Rows]] = _Kept(_MOST_ROWS)
        self._indexes: _Kept[IndexView] = _Kept(_MOST_INDEXES)
        self.numbers = KeptNumbers()

    def footer(self, store: Store, key: str, *, size: int | None, footer_start: int | None) -> Footer:
        """The footer of a split, by one ranged read where both places are known."""

        def read() -> tuple[Store, Footer]:
            return store, read_footer(store, key, size=size, footer_start=footer_start)

        return self._footers.get((id(store), key, size, footer_start), read)[1]

    def rows(self, store: Store, key: str, footer: Footer) -> Rows:
        """The rows of a split."""

        def open_rows() -> tuple[Store, Rows]:
            return store, Rows(Pages(store, key, footer), footer, key)

        return self._rows.get((id(store), key, footer.fingerprint), open_rows)[1]

    def index(
        self,
        store: Store,
        key: str,
        footer: Footer,
        mapping: DocMapping,
        *,
        cache: IndexCache,
        table: str,
        positions: bool = False,
    ) -> IndexView:
        """The index of a split. Only with `positions` it is certain to know where in a text words stand, as phrases need."""
        mark = (cache, store.root, key, footer.fingerprint)
        if positions and footer.tails:
            return self._indexes.get(
                (*mark, "positions"), lambda: _open(store, key, footer, mapping, cache, table, True)
            )
        return self._indexes.get(mark, lambda: _open(store, key, footer, mapping, cache, table, False))

    def has_index(self, store: Store, key: str, footer: Footer, cache: IndexCache) -> bool:
        """Whether asking the index costs no more than the search."""
        return self._indexes.has((cache, store.root, key, footer.fingerprint))

    def __len__(self) -> int:
        """How many are held, of everything."""
        return len(self._footers) + len(self._rows) + len(self._indexes)


def _open(
    store: Store, key: str, footer: Footer, mapping: DocMapping, cache: IndexCache, table: str, positions: bool
) -> IndexView:
    where = joined(store.root, key)

    with cache.acquire(
        CacheKey(table, key, footer.fingerprint),
        footer.index,
        partial(fetch, store, key),
        tails=footer.tails,
        without_positions=not positions,
    ) as lease:
        try:
            index = open_index(lease.directory, mapping)
            with translated(where, "opening its index"):
                searcher = index.searcher()
        except SplitError as error:
            raise type(error)(f"{where}: {error}", split=where) from error
    if searcher.num_docs != footer.rows:
        raise CorruptSplit(
            f"{where} is damaged: its index has {searcher.num_docs} rows, its footer says {footer.rows}", split=where
        )
    bounds = {
        name: (low, footer.max_values[name]) for name, low in footer.min_values.items() if name in footer.max_values
    }
    inexact = frozenset(footer.inexact)
    return IndexView(index.schema, searcher, mapping, where, inexact, footer.null_counts, bounds, footer.distinct)


def fetch(store: Store, key: str, regions: Sequence[Region]) -> list[bytes]:
    """The bytes of index files, not yet verified."""
    return store.get_ranges(key, [(region.offset, region.offset + region.length) for region in regions])


OPEN = OpenSplits()


def _after_fork() -> None:
    """Neither threads nor native handles survive a fork."""
    global OPEN  # noqa: PLW0603 - one per process
    OPEN = OpenSplits()


os.register_at_fork(after_in_child=_after_fork)
