"""`SplitParts`: the footer, rows and index of one split, each opened when it is first needed.

    SplitReader ──▶ SplitParts ──▶ OpenSplits ──▶ footer, rows (Vortex), index (Tantivy)

`SplitParts` is the `SplitFacts` of `choose_access`. What is cheap to keep (the footer, the mapping, the bounds, the adapter of
columns) is worked out once and kept here. Rows and indexes hold memory and threads, so `OpenSplits` holds them, a number of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from indextables.core.errors import CorruptSplit, SplitError
from indextables.core.predicate import Predicate
from indextables.core.runtime.cached_property import cached_property
from indextables.split import open_splits
from indextables.split.bundle.bundle_reader import Pages
from indextables.split.bundle.footer import Footer, Source
from indextables.split.cache.index_cache import IndexCache
from indextables.split.cached_index import CachedIndex
from indextables.split.index.doc_mapping import DocMapping
from indextables.split.index.row_numbers import RowNumberArray
from indextables.split.open_splits import OpenSplits
from indextables.split.plan.access import Access
from indextables.split.plan.column_lookup import ColumnLookup
from indextables.split.plan.footer_facts import FooterFacts
from indextables.split.plan.index_view import NO_NEEDS, IndexNeeds, IndexSource, IndexView
from indextables.split.query.bound import Bound
from indextables.split.query.match import Search
from indextables.split.rows.projection import ColumnAdapter
from indextables.split.rows.row_reader import BATCH_ROWS
from indextables.split.rows.row_source import RowSource
from indextables.storage.object_keys import joined
from indextables.storage.store import Store

SplitAccess: TypeAlias = Access[Search]
"""How one split answers one question, with a search query that is bound to the table."""


@dataclass(frozen=True, slots=True)
class KeptSearch:
    """A search query, the predicate beside it, and the access that was chosen for the two."""

    opened: OpenSplits
    """Whose costs the access was chosen with."""
    predicate: Predicate
    query: Bound
    access: SplitAccess

    def is_for(self, opened: OpenSplits, predicate: Predicate, query: Bound) -> bool:
        """Whether the access answers this question, too."""
        return self.opened is opened and self.query == query and self.predicate == predicate


class SplitParts:
    """The parts of one split. Safe to use from many threads. A member raises ObjectNotFound if the split is gone."""

    def __init__(
        self,
        store: Store,
        key: str,
        *,
        size: int | None,
        footer_start: int | None,
        table_schema: pa.Schema,
        partition_values: Mapping[str, pa.Scalar],
        cache: IndexCache,
        table: str,
        rows: int | None = None,
        opened: OpenSplits | None = None,
    ) -> None:
        """`rows` is the log's number of rows. `opened` holds the parts that are open; None stands for the process's own."""
        self.key = key
        self.split = joined(store.root, key)
        """The place of the split, for messages."""
        self.partition_values = partition_values
        self.store = store
        self.size = size
        self.footer_start = footer_start
        self.table_schema = table_schema
        self.cache = cache
        self.table = table
        self.logged_rows = rows
        self._opened = opened
        self.searches: tuple[KeptSearch, ...] = ()
        """The last searches of this split, the newest first. `execute.access_of` keeps them."""

    @property
    def opened(self) -> OpenSplits:
        """What is open, and the costs to plan with. A forked process has another one than its parent."""
        return open_splits.OPEN.value if self._opened is None else self._opened

    @cached_property
    def footer(self) -> Footer:
        """The footer of the split. Raises CorruptSplit if the log has another number of rows."""
        footer = self.opened.footer(self.store, self.key, size=self.size, footer_start=self.footer_start)
        if self.logged_rows is not None and footer.rows != self.logged_rows:
            raise CorruptSplit(
                f"{self.split} has {footer.rows} rows, the table's log says {self.logged_rows}", split=self.split
            )
        return footer

    @property
    def total_rows(self) -> int:
        """The number of rows: the log's, without a read, or else the footer's."""
        return self.footer.rows if self.logged_rows is None else self.logged_rows

    @property
    def row_count(self) -> int:
        """See `SplitFacts.row_count`."""
        return self.footer.rows

    @property
    def has_index(self) -> bool:
        """See `SplitFacts.has_index`."""
        return bool(self.footer.index)

    @property
    def sources(self) -> Sequence[Source]:
        """See `SplitFacts.sources`."""
        return self.footer.sources

    @cached_property
    def footer_facts(self) -> FooterFacts:
        """See `SplitFacts.footer_facts`."""
        return FooterFacts(self.footer, self.adapter.missing)

    @cached_property
    def mapping(self) -> DocMapping:
        """See `SplitFacts.mapping`. Raises SplitError."""
        try:
            return DocMapping.from_json(self.footer.doc_mapping)
        except SplitError as error:
            raise SplitError(f"{self.split}: {error}", split=self.split) from error

    @property
    def rows(self) -> RowSource:
        """The rows of the split."""
        return self.opened.rows(self.store, self.key, self.footer)

    @cached_property
    def adapter(self) -> ColumnAdapter:
        """How the columns of the table come out of this split."""
        return ColumnAdapter(self.table_schema, self.rows.schema, self.partition_values, self.split)

    @property
    def batch_rows(self) -> int:
        """The number of rows that a batch of a scan has at most: fewer, if rows are wide."""
        costs, footer = self.opened.costs, self.footer
        width = footer.uncompressed_bytes // max(footer.rows, 1)
        return max(min(BATCH_ROWS, costs.scan_batch_bytes // max(width, 1)), costs.least_batch_rows)

    def take(self, numbers: RowNumberArray, columns: Sequence[str]) -> pa.Table:
        """Rows by number with these stored columns."""
        return self.rows.take(numbers, columns)

    def look_up(self, predicate: Predicate) -> tuple[RowNumberArray, Predicate] | None:
        """See `SplitFacts.look_up`."""
        opened, footer = self.opened, self.footer
        split = (self.split, footer.fingerprint)
        lookup = ColumnLookup(opened.numbers, split, footer.rows, self.mapping, self._column, opened.costs)
        return lookup.look_up(predicate, self.footer_facts.bounds_of(predicate))

    def _column(self, name: str) -> Any:
        return self.rows.column(name)

    @cached_property
    def index_source(self) -> IndexSource:
        """The way to open the index."""
        return self.cached_index

    @cached_property
    def cached_index(self) -> CachedIndex:
        """The index in the cache on local disk."""
        return CachedIndex(self.cache, self.store, self.table, self.key, self.footer, lambda: self.mapping)

    @property
    def index_is_open(self) -> bool:
        """See `SplitFacts.index_is_open`."""
        return self.opened.has_index(self.index_source)

    def open_index(self, needs: IndexNeeds = NO_NEEDS) -> IndexView:
        """The index, with what a question needs of it. Raises SplitError, also if the split has no index."""
        if not self.footer.index:
            raise SplitError(f"{self.split} has no index, its rows cannot be searched", split=self.split)
        return self.opened.index(self.index_source, needs)

    def pages(self) -> Pages:
        """The bytes of the rows, verified."""
        return Pages(self.store, self.key, self.footer)


__all__ = ["KeptSearch", "SplitAccess", "SplitParts"]
