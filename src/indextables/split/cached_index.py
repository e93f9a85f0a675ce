"""`CachedIndex`: the index of a split, opened from a copy of its files in the cache on local disk.

The copy is verified when it is made. Tantivy maps the files when the index is opened, so the lease on the copy ends right after:
the view stays valid, whatever the cache does with the names of the files.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial

from indextables.core.errors import CorruptSplit, SplitError
from indextables.core.runtime.cached_property import cached_property
from indextables.split.bundle.footer import Footer, Region
from indextables.split.bundle.native_errors import translated
from indextables.split.cache.index_cache import CacheKey, IndexCache, WarmUp
from indextables.split.index.doc_mapping import DocMapping
from indextables.split.index.index_files import open_index
from indextables.split.plan.index_view import IndexNeeds, IndexView
from indextables.storage.object_keys import joined
from indextables.storage.store import Store


@dataclass(frozen=True)
class CachedIndex:
    """The index of one split, by way of the cache. It implements `IndexSource`."""

    cache: IndexCache
    store: Store
    table: str
    """The table's URL, under which the cache keeps the index."""
    key: str
    """The split's path in the table."""
    footer: Footer
    mapping: Callable[[], DocMapping]
    """How the columns are indexed, read from the footer when an index is opened."""

    @property
    def cache_key(self) -> CacheKey:
        """The name of the index in the cache, and in messages about the files of the index."""
        return CacheKey(self.table, self.key, self.footer.fingerprint)

    @cached_property
    def identities(self) -> tuple[Hashable, Hashable]:
        """See `IndexSource.identities`."""
        index = (self.cache, self.store.root, self.key, self.footer.fingerprint)
        return index, ((*index, "positions") if self.footer.tails else index)

    def open(self, needs: IndexNeeds) -> IndexView:
        """See `IndexSource.open`."""
        where, footer, mapping = joined(self.store.root, self.key), self.footer, self.mapping()
        positions = needs.positions and bool(footer.tails)
        with self.cache.acquire(
            self.cache_key, footer.index, self.fetch, tails=footer.tails, without_positions=not positions
        ) as lease:
            try:
                index = open_index(lease.directory, mapping)
                with translated(where, "opening its index"):
                    searcher = index.searcher()
            except SplitError as error:
                raise type(error)(f"{where}: {error}", split=where) from error
        if searcher.num_docs != footer.rows:
            raise CorruptSplit(
                f"{where} is damaged: its index has {searcher.num_docs} rows, its footer says {footer.rows}",
                split=where,
            )
        bounds = {
            name: (low, footer.max_values[name]) for name, low in footer.min_values.items() if name in footer.max_values
        }
        inexact = frozenset(footer.inexact)
        never_merged = len(footer.sources) <= 1 and searcher.num_segments <= 1  # by a release that did not say more
        return IndexView(
            index.schema,
            searcher,
            mapping,
            where,
            inexact,
            footer.null_counts,
            bounds,
            in_row_order=footer.in_row_order or never_merged,
            distinct=footer.distinct,
        )

    @property
    def fetch(self) -> Callable[[Sequence[Region]], list[bytes]]:
        """Reads the bytes of index files from the store, not verified."""
        return partial(_fetch, self.store, self.key)

    def warm_up(self, *, positions: bool = True) -> WarmUp:
        """What the cache has to know to copy the index before a question needs the index, with or without positions."""
        return WarmUp(self.cache_key, self.footer.index, self.fetch, self.footer.tails, positions)


def _fetch(store: Store, key: str, regions: Sequence[Region]) -> list[bytes]:
    return store.get_ranges(key, [(region.offset, region.offset + region.length) for region in regions])


__all__ = ["CachedIndex"]
