"""Reading one split: the rows that a predicate is true for, in the table's types, by the cheapest way that is exact.

    predicate ── fold partition values ──▶ footer: bounds, null counts ──▶ index ──▶ take, or scan with the filter in Vortex

Each step may settle the matter, and none is taken that is not needed: the footer is one read, rows are read by column and page,
and the index is only opened where it knows a column of what is left and probably leaves few rows (`worth`), in a split of more
rows than Vortex reads at once anyway. One that is open already is always asked.

Partition columns are the same in all rows, and so are columns that the table got after the split was written: null. They are
neither in the rows nor in the index, but in what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from indextables.core.aggregate import Aggregate
from indextables.core.errors import CorruptSplit, ObjectNotFound, SplitError
from indextables.core.predicate import (
    FALSE,
    TRUE,
    Constant,
    Predicate,
    columns_of,
    evaluate,
)
from indextables.core.runtime.cached_property import cached_property
from indextables.split import open_splits as opened
from indextables.split.aggregate.index_groups import from_index, from_log
from indextables.split.aggregate.partial import Partial, condensed, partial_of
from indextables.split.bundle.bundle_writer import Pages
from indextables.split.bundle.footer import Footer, Region
from indextables.split.cache.index_cache import CacheKey, IndexCache, WarmUp
from indextables.split.index.doc_mapping import DocMapping
from indextables.split.index.row_numbers import RowNumbers, count_of
from indextables.split.plan.column_lookup import Columns
from indextables.split.plan.column_queries import IndexView
from indextables.split.plan.footer_facts import Known
from indextables.split.plan.index_cost import knows, narrows
from indextables.split.plan.predicate_plan import MOST_SHARE, fold, plan_predicate, rows_worth_taking
from indextables.split.plan.row_sets import Answer
from indextables.split.query.bind import Bound, Group, Typed, implied, needs_positions
from indextables.split.query.match import Match
from indextables.split.query.rank import NO_HITS, Hits, Scores, best_hits
from indextables.split.query.tree import Span
from indextables.split.rows.projection import Shape
from indextables.split.rows.row_reader import BATCH_ROWS, Rows, empty_columns
from indextables.storage.object_keys import joined
from indextables.storage.store import Store

T = TypeVar("T")

Found: TypeAlias = tuple[RowNumbers, Predicate]
"""Numbers of rows, and what has to be asked of them."""
_NOTHING: Final[Found] = (np.zeros(0, np.int64), TRUE)

SMALL: Final = 8192
"""Rows that Vortex decodes as one chunk: finding out which of them are wanted saves nothing."""
_BATCH_BYTES: Final = 1 << 26
_LEAST_ROWS: Final = 256
_MOST_SHAPES: Final = 32
"""Of the combinations of columns that were asked for. A thousand readers are kept."""


class SplitReader:
    """One split of a table. It opens what a question needs when it is asked; safe to use from many threads."""

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
    ) -> None:
        self._store = store
        self._key = key
        self._size = size
        self._footer_start = footer_start
        self._schema = table_schema
        self._partitions = partition_values
        self._cache = cache
        self._table = table
        self._known_rows = rows
        self._where = joined(store.root, key)
        self._shapes: dict[tuple[str, ...], Shape] = {}

    @property
    def key(self) -> str:
        """The split's path in the table."""
        return self._key

    @cached_property
    def footer(self) -> Footer:
        """What the split says about itself. Raises SplitError."""
        return self._naming(self._read_footer)

    def scan(
        self, columns: Sequence[str], predicate: Predicate | None = None, query: Bound | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows for which the predicate is true and that the query finds, in their order, with these columns of the table.

        No batch is empty. Raises SplitError.
        """
        wanted = TRUE if predicate is None else predicate
        return self._named(self._scan(columns, wanted) if query is None else self._search(columns, wanted, query))

    def find(self, predicate: Predicate | None, query: Bound | None) -> Found | None:
        """The rows that `scan` would read, not read yet; None where finding them is no less work than that. Raises SplitError."""
        return self._naming(lambda: self._find(TRUE if predicate is None else predicate, query))

    def rows(self, columns: Sequence[str], found: Found) -> Iterator[pa.RecordBatch]:
        """What `scan` would return. Raises SplitError."""
        return self._named(self._completed(columns, found))

    def count(self, predicate: Predicate | None = None, query: Bound | None = None) -> int:
        """How many rows the predicate is true for and the query finds. Raises SplitError."""
        if query is None:
            return sum(self.counts(predicate))
        try:
            return self._found(TRUE if predicate is None else predicate, query)
        except ObjectNotFound as error:
            raise self._gone(error) from error

    def counts(self, predicate: Predicate | None = None, query: Bound | None = None) -> Iterator[int]:
        """The same as parts of a sum, so that a long count can be broken off."""
        if query is None:
            yield from self._named(self._counts(TRUE if predicate is None else predicate))
        else:
            yield self.count(predicate, query)

    def best(self, predicate: Predicate | None, query: Bound, limit: int) -> tuple[Scores, RowNumbers]:
        """Scores and numbers of the best rows that the query finds and the predicate is true for. Raises SplitError."""
        hits = self.hits(predicate, query, limit)
        return np.array(hits.scores, np.float64), hits.rows(range(len(hits.scores)))

    def hits(self, predicate: Predicate | None, query: Bound, limit: int) -> Hits:
        """The same without the numbers, which can be asked for one by one. Raises SplitError."""
        return self._naming(lambda: self._hits(TRUE if predicate is None else predicate, query, limit))

    def aggregate(
        self, aggregate: Aggregate, predicate: Predicate | None = None, query: Bound | None = None
    ) -> Iterator[Partial]:
        """The groups of the rows for which the predicate is true and that the query finds, or nothing. Raises SplitError."""
        wanted = TRUE if predicate is None else predicate
        return self._named(self._aggregate(aggregate, wanted, query))

    def take(self, numbers: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Rows by number, ascending, with these columns of the table. Raises SplitError."""
        return self._naming(lambda: self._rows_by_number(np.asarray(numbers, np.int64), columns))

    def values(
        self, numbers: Sequence[int] | RowNumbers, columns: Sequence[str]
    ) -> tuple[Shape, list[dict[str, Any]]] | None:
        """A few rows as plain values of what is stored, and how they become the table's; None where they are to be taken."""
        shape = self._shape(columns)
        found = self._naming(lambda: self._rows.values(np.asarray(numbers, np.int64), shape.stored))
        return None if found is None else (shape, found)

    def pages(self) -> Pages:
        """The bytes of its rows, verified."""
        return Pages(self._store, self._key, self.footer)

    def fetch(self, regions: Sequence[Region]) -> list[bytes]:
        """The bytes of index files, as the store has them."""
        return opened.fetch(self._store, self._key, regions)

    @property
    def cache_key(self) -> CacheKey:
        """What names its index in the cache, and in messages about its files."""
        return CacheKey(self._table, self._key, self.footer.fingerprint)

    def warm_up(self) -> WarmUp:
        """What the cache has to know to fetch the index before somebody asks for it. Raises SplitError."""
        return WarmUp(self.cache_key, self.footer.index, self.fetch, tails=self.footer.tails)

    def _scan(self, columns: Sequence[str], predicate: Predicate) -> Iterator[pa.RecordBatch]:
        left = self._left(predicate)
        if left == FALSE:
            return
        looked_up = self._looked_up(left)
        if looked_up is not None:
            if len(looked_up[0]) <= self.footer.rows * MOST_SHARE:
                yield from self._completed(columns, looked_up)
                return
        elif (view := self._helpful_index(left)) is not None:
            plan = plan_predicate(left, view)
            found = rows_worth_taking(plan, view, self.footer.sources)
            if found is not None:
                yield from self._completed(columns, (found, plan.residual))
                return
        shape = self._shape(columns)
        yield from map(shape.completed, self._read(shape.stored, left))

    def _find(self, predicate: Predicate, query: Bound | None) -> Found | None:
        if query is not None:
            asked = self._asked(predicate, query)
            return _NOTHING if asked is None else (self._match(asked).rows(asked), TRUE)
        left = self._left(predicate)
        found = _NOTHING if left == FALSE else self._looked_up(left)
        return found if found is not None and len(found[0]) <= self.footer.rows * MOST_SHARE else None

    def _completed(self, columns: Sequence[str], found: Found) -> Iterator[pa.RecordBatch]:
        numbers, residual = found
        shape = self._shape(columns)
        if residual == TRUE and shape.stored and len(numbers) > self.footer.rows * MOST_SHARE:
            return map(shape.completed, self._picked(numbers, shape.stored))
        return map(shape.completed, self._taken(numbers, shape.stored, residual))

    def _counts(self, predicate: Predicate) -> Iterator[int]:
        left = fold(predicate, self._partitions)
        if left == TRUE and self._known_rows is not None:
            yield self._known_rows
            return
        left = self._left(left)
        looked_up = self._looked_up(left)
        if looked_up is not None:
            yield from (batch.num_rows for batch in self._taken(looked_up[0], (), looked_up[1]))
            return
        view = self._helpful_index(left)
        if view is not None:
            plan = plan_predicate(left, view)
            if plan.exact:
                yield count_of(view.searcher, plan.query, split=self._where)
                return
            numbers = rows_worth_taking(plan, view, self.footer.sources)
            if numbers is not None:
                yield from (batch.num_rows for batch in self._taken(numbers, (), plan.residual))
                return
        if left != FALSE:
            yield from (batch.num_rows for batch in self._read((), left))

    def _search(self, columns: Sequence[str], predicate: Predicate, query: Bound) -> Iterator[pa.RecordBatch]:
        found = self._find(predicate, query)
        assert found is not None, "a query is always asked of the index"
        return self._completed(columns, found)

    def _found(self, predicate: Predicate, query: Bound) -> int:
        asked = self._asked(predicate, query)
        return 0 if asked is None else self._match(asked).count(asked)

    def _hits(self, predicate: Predicate, query: Bound, limit: int) -> Hits:
        asked = self._asked(predicate, query)
        return NO_HITS if asked is None else best_hits(self._match(asked), asked, limit)

    def _aggregate(self, aggregate: Aggregate, predicate: Predicate, query: Bound | None) -> Iterator[Partial]:
        from_index = self._indexed(aggregate, predicate, query)
        if from_index is not None:
            yield from_index
            return
        names = aggregate.columns
        batches = self._scan(names, predicate) if query is None else self._search(names, predicate, query)
        yield from condensed(aggregate, (partial_of(aggregate, batch) for batch in batches))

    def _indexed(self, aggregate: Aggregate, predicate: Predicate, query: Bound | None) -> Partial | None:
        """What the log or the index knows, without reading rows; None where they do not know it."""
        constants = {**self._partitions}
        if query is not None:
            asked = self._asked(predicate, query)
            if asked is None:
                return None
            match = self._match(asked)
            answer = match.answer(asked)
            return from_index(aggregate, match.view, answer, match.constants) if answer.exact else None
        left = fold(predicate, constants)
        if left == TRUE and self._known_rows is not None:
            return from_log(aggregate, self._known_rows, constants)
        left = self._left(left)
        view = self._helpful_index(left)
        if view is None:
            return None
        plan = plan_predicate(left, view)
        known = {**constants, **self._missing}
        return from_index(aggregate, view, Answer(plan.query, True, plan.at_most), known) if plan.exact else None

    def _rows_by_number(self, numbers: RowNumbers, columns: Sequence[str]) -> pa.Table:
        shape = self._shape(columns)
        batches = [shape.completed(batch) for batch in self._taken(numbers, shape.stored, TRUE)]
        return pa.Table.from_batches(batches, shape.schema)

    def _asked(self, predicate: Predicate, query: Bound) -> Bound | None:
        """Predicate and query in one; None where the footer knows that no row can match."""
        left = self._left(predicate)
        if left is FALSE or self._left(implied(query)) is FALSE:
            return None
        return query if left is TRUE else Group(must=(query, Typed(left, Span(0, 0))))

    def _match(self, query: Bound) -> Match:
        """The index, to be asked for a query."""
        if not self.footer.index:
            raise SplitError(f"{self._where} has no index, its rows cannot be searched", split=self._where)
        view = opened.OPEN.index(
            self._store,
            self._key,
            self.footer,
            self._mapping,
            cache=self._cache,
            table=self._table,
            positions=needs_positions(query),
        )
        return Match(view, self.footer.sources, self._constants, self._rows_taken)

    def _picked(self, numbers: RowNumbers, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Rows by number, where there are so many that all of them are read."""
        first = begin = 0
        for batch in self._rows.scan(columns, batch_rows=self._batch_rows):
            end = begin + int(np.searchsorted(numbers[begin:], first + batch.num_rows))
            if end > begin:
                yield batch.take(pa.array(numbers[begin:end] - first))
            first, begin = first + batch.num_rows, end

    def _taken(self, numbers: RowNumbers, columns: Sequence[str], residual: Predicate) -> Iterator[pa.RecordBatch]:
        """Rows by number, as far as what the index left open is true for them."""
        wanted = list(dict.fromkeys([*columns, *(column.name for column in columns_of(residual))]))
        if not wanted:
            yield from _empty(len(numbers) if residual == TRUE else 0)
            return
        step, rows = self._batch_rows, self._rows
        for start in range(0, len(numbers), step):
            for batch in rows.batches(numbers[start : start + step], wanted):
                found = batch if residual == TRUE else batch.filter(evaluate(residual, batch))
                if found.num_rows:
                    yield found

    def _read(self, columns: Sequence[str], left: Predicate) -> Iterator[pa.RecordBatch]:
        """Rows one after the other, filtered."""
        if left == TRUE and not columns:
            return _empty(self.footer.rows)
        return self._rows.scan(columns, predicate=None if left == TRUE else left, batch_rows=self._batch_rows)

    def _left(self, predicate: Predicate) -> Predicate:
        """What the rows have to be asked for, after partition values, columns that the split lacks, and the footer."""
        left = predicate if predicate is TRUE else fold(predicate, self._partitions)
        if left == FALSE or self.footer.rows == 0:
            return FALSE
        return TRUE if isinstance(left, Constant) else self._known.left(left, self._missing)

    @cached_property
    def _known(self) -> Known:
        return Known(self.footer)

    def _looked_up(self, left: Predicate) -> Found | None:
        """Rows found by the numbers in a column, and what is left to be asked of them; None where that is not the way."""
        if isinstance(left, Constant) or self.footer.rows <= SMALL or not self.footer.index:
            return None
        splits, mark = opened.OPEN, (self._where, self.footer.fingerprint)
        columns = Columns(
            splits.numbers,
            mark,
            self.footer.rows,
            self._mapping,
            self._known.about(left),
            self._rows.numbers,
        )
        return columns.look_up(left)

    def _helpful_index(self, left: Predicate) -> IndexView | None:
        """The index, if it can be expected to save more than it costs."""
        if isinstance(left, Constant) or not self.footer.index:
            return None
        mapping, splits = self._mapping, opened.OPEN
        if not knows(mapping, left):
            return None
        if not splits.has_index(self._store, self._key, self.footer, self._cache) and (
            self.footer.rows <= SMALL or not narrows(left, mapping, self._known.about(left), self.footer)
        ):
            return None
        return splits.index(self._store, self._key, self.footer, mapping, cache=self._cache, table=self._table)

    @cached_property
    def _mapping(self) -> DocMapping:
        try:
            return DocMapping.from_json(self.footer.doc_mapping)
        except SplitError as error:
            raise SplitError(f"{self._where}: {error}", split=self._where) from error

    def _rows_taken(self, numbers: RowNumbers, columns: Sequence[str]) -> pa.Table:
        return self._rows.take(numbers, columns)

    @property
    def _rows(self) -> Rows:
        return opened.OPEN.rows(self._store, self._key, self.footer)

    @property
    def _batch_rows(self) -> int:
        """Rows that are held at a time: fewer, if they are wide."""
        width = self.footer.uncompressed_bytes // max(self.footer.rows, 1)
        return max(min(BATCH_ROWS, _BATCH_BYTES // max(width, 1)), _LEAST_ROWS)

    @cached_property
    def _missing(self) -> dict[str, pa.Scalar]:
        """The columns that the table got later. Raises SplitError for a column that cannot be in the table as it is here."""
        present = self._rows.schema
        missing: dict[str, pa.Scalar] = {}
        for field in self._schema:
            index = present.get_field_index(field.name)
            if index >= 0 and present.field(index).type != field.type:
                raise SplitError(
                    f"{self._where} has the column {field.name} as {present.field(index).type}, the table has it as {field.type}",
                    split=self._where,
                    column=field.name,
                )
            if index < 0 and field.name not in self._partitions:
                if not field.nullable:
                    raise SplitError(
                        f"{self._where} has no column {field.name}, which may not be null in the table",
                        split=self._where,
                        column=field.name,
                    )
                missing[field.name] = pa.scalar(None, field.type)
        return missing

    @cached_property
    def _constants(self) -> dict[str, pa.Scalar]:
        """The columns that have one value in all rows."""
        return {**self._missing, **self._partitions}

    def _shape(self, columns: Sequence[str]) -> Shape:
        names = tuple(columns)
        shape = self._shapes.get(names)
        if shape is None:
            fields = pa.schema([self._schema.field(name) for name in names])
            stored = tuple(name for name in names if name not in self._constants)
            if len(self._shapes) >= _MOST_SHAPES:
                self._shapes.clear()
            shape = self._shapes[names] = Shape(fields, stored, self._constants)
        return shape

    def _read_footer(self) -> Footer:
        footer = opened.OPEN.footer(self._store, self._key, size=self._size, footer_start=self._footer_start)
        if self._known_rows is not None and footer.rows != self._known_rows:
            raise CorruptSplit(
                f"{self._where} has {footer.rows} rows, the table's log says {self._known_rows}", split=self._where
            )
        return footer

    def _named(self, items: Iterable[T]) -> Iterator[T]:
        iterator = iter(items)
        while True:
            try:
                item = next(iterator)
            except StopIteration:
                return
            except ObjectNotFound as error:
                raise self._gone(error) from error
            yield item

    def _naming(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except ObjectNotFound as error:
            raise self._gone(error) from error

    def _gone(self, error: ObjectNotFound) -> SplitError:
        return SplitError(
            f"{self._where} is missing, and the table has rows in it: if it was purged, refresh the table or open a newer "
            f"version, else bring the file back ({error})",
            split=self._where,
        )


def _empty(rows: int) -> Iterator[pa.RecordBatch]:
    """Rows without columns."""
    for start in range(0, rows, BATCH_ROWS):
        yield empty_columns(min(BATCH_ROWS, rows - start))


__all__ = ["Found", "SplitReader"]
