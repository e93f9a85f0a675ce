"""Rows out of the row store of a split, in exactly the types of its schema.

Vortex is handed bytes that were verified (`Pages`), row numbers that exist, strictly increasing (it would end the process for
others), and filters that cannot lose a row (`pushdown`), after which the exact filter is applied.

Errors of the store cross Vortex as text. They are kept on this side and raised in place of what comes back.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from indextables.core.arrow_values import array_of_numbers, columns_of_rows
from indextables.core.errors import CorruptSplit, SchemaError, SplitError
from indextables.core.predicate import Constant, Predicate, columns_of, evaluate
from indextables.core.profiler import PROFILER
from indextables.core.types import spark_json_to_arrow
from indextables.split.bundle.bundle_reader import Pages
from indextables.split.bundle.footer import Footer, Part
from indextables.split.bundle.native_errors import translated
from indextables.split.rows import block_cache
from indextables.split.rows import vortex_library as vx
from indextables.split.rows.block_cache import BLOCK_ROWS
from indextables.split.rows.file_window import FileWindow, ReadErrors
from indextables.split.rows.segment_cache import is_aligned, segment_cache
from indextables.split.rows.stored_types import from_stored, stored_schema
from indextables.split.rows.vortex_filter import pushed_down

_Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

BATCH_ROWS: Final = 1 << 16
"""Rows that Vortex decodes at a time in a scan: fewer cost more per row, more do not fit the processor's caches."""

ENCODED: Final = pa.dictionary(pa.int32(), pa.string())
"""The type of texts that come as numbers and a dictionary: 0.2 ms for 200,000 texts of few values, against 4 ms for texts."""
_FEW_ROWS: Final = 48
"""Rows. At most this number of rows is read one by one as Python values; more are taken as Arrow in one call."""
_FEW_BLOCKS: Final = 10
"""Blocks of 8,192 rows. If more blocks than this are not in memory, the rows are taken in one call instead of one by one."""
_NEW_BLOCKS: Final = 3
"""Blocks. If more blocks than this are not in memory and were never asked for, the rows are taken, in half the time. A block that
is asked for again is read and kept."""
_RUN_ROWS: Final = 6
"""Rows. More neighbours than this are read by a scan of just these rows, in half the time of reading them one by one."""
MOST_SELECTIONS: Final = 32
"""Selections of columns that one split keeps with their prepared scans. A wide table has many combinations of columns."""


@dataclass(frozen=True)
class _Columns:
    """A selection of columns, in the types of the schema and of the row store."""

    names: list[str]
    schema: pa.Schema
    stored: pa.Schema

    changed: tuple[int, ...]
    """Which of them have another type in the row store."""
    flat: bool
    """Whether each is a plain column of values that Python has, too, to the last bit."""
    scans: dict[int, Any] = field(default_factory=dict)
    """Prepared scans of them, by the number of the file."""

    @staticmethod
    def of(names: Sequence[str], schema: pa.Schema, stored: pa.Schema) -> _Columns:
        chosen, raw = (pa.schema([source.field(name) for name in names]) for source in (schema, stored))
        changed = tuple(index for index, each in enumerate(chosen) if each.type != raw.field(index).type)
        flat = bool(names) and len(set(names)) == len(names) and all(_is_flat(each.type) for each in raw)
        return _Columns(list(names), chosen, raw, changed, flat)

    def columns(self, values: Sequence[Mapping[str, Any]]) -> list[pa.Array]:
        """Rows as columns, in the types of the row store."""
        return columns_of_rows(values, self.stored)

    def restored(self, columns: list[pa.Array], rows: int) -> pa.RecordBatch:
        """A batch of what came from the row store, where texts may have come as views."""
        if not columns:
            return empty_columns(rows)
        for index, column in enumerate(columns):
            if column.type != self.stored.field(index).type:
                columns[index] = column.cast(self.stored.field(index).type)
        for index in self.changed:
            columns[index] = from_stored(columns[index], self.schema.field(index).type)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _is_flat(arrow: pa.DataType) -> bool:
    kinds = pa.types
    return bool(
        kinds.is_signed_integer(arrow) or kinds.is_float64(arrow) or kinds.is_boolean(arrow) or kinds.is_string(arrow)
    )


class Rows:
    """The rows of one split. Opened when first used; safe to use from many threads."""

    def __init__(self, pages: Pages, footer: Footer, key: str) -> None:
        self._pages = pages
        self._where = pages.where
        self._key = key
        self._parts = footer.parts
        self._starts = np.cumsum([0, *(part.rows for part in footer.parts)])
        self._rows = footer.rows
        self._fingerprint = footer.fingerprint
        self._errors = ReadErrors()
        self._near = pages.near
        self._files: dict[int, Any] = {}
        self._lock = threading.Lock()
        self.selections: dict[tuple[str, ...], _Columns] = {}
        """Selections of columns that are kept with their prepared scans, at most `MOST_SELECTIONS`."""
        try:
            self.schema = spark_json_to_arrow(footer.schema)
            self._stored = stored_schema(self.schema)
        except SchemaError as error:
            raise CorruptSplit(
                f"{pages.where} is damaged: its schema cannot be read ({error})", split=pages.where
            ) from error

    def __len__(self) -> int:
        return self._rows

    def open(self) -> None:
        """Open every row file, whose layout then stays in memory. No row is read."""
        for number in range(len(self._parts)):
            self._opened(number)

    def take(self, indices: Any, columns: Sequence[str]) -> pa.Table:
        """The rows with these numbers (a numpy or Arrow array of integers, strictly increasing), in their order."""
        return pa.Table.from_batches(self.batches(indices, columns), self.selection(columns).schema)

    def batches(self, indices: Any, columns: Sequence[str]) -> list[pa.RecordBatch]:
        """The rows with these numbers (strictly increasing) as the batches that Vortex returns; `take` joins the batches."""
        numbers = self._checked(indices)
        wanted = self.selection(columns)
        if len(self._parts) == 1:
            taken = self._taken(0, numbers, wanted) if len(numbers) else []
        else:
            taken = []
            cuts = np.searchsorted(numbers, self._starts)
            for number, (begin, end) in enumerate(itertools.pairwise(cuts)):
                if begin < end:
                    taken += self._taken(number, numbers[begin:end] - self._starts[number], wanted)
        found = sum(batch.num_rows for batch in taken)
        if found != len(numbers):
            raise SplitError(f"{self._where}: {len(numbers)} rows were asked for, {found} came", split=self._key)
        return taken

    def _taken(self, number: int, rows: _Numbers, wanted: _Columns) -> list[pa.RecordBatch]:
        """Rows of a file by their numbers.

        Each row in a place of its own costs Vortex a piece of Arrow per column, which are then put together. A few rows are
        sooner read one by one, as plain values, and neighbours by a scan of just these rows (in half the time).
        """
        file = self._opened(number)
        first, last = int(rows[0]), int(rows[-1])
        with self._reading():
            run = wanted.flat and last - first + 1 == len(rows)
            if not (run and len(rows) > _RUN_ROWS):
                values = self._values(number, rows, wanted)
                if values is not None:
                    return [wanted.restored(wanted.columns(values), len(rows))]
                self._ask_for_blocks(number, rows, wanted)
            if run:
                found = self._prepared(number, wanted).execute(row_range=(first, last + 1)).read_all().to_arrow_array()
                chunks = found.chunks if isinstance(found, pa.ChunkedArray) else [found]
                return [wanted.restored(chunk.flatten(), len(chunk)) for chunk in chunks]
            chosen = vx.Array.from_arrow(array_of_numbers(rows.astype(np.uint64)))
            size = self._parts[number].rows
            reader = file.to_arrow(wanted.names, indices=chosen, schema=wanted.stored, batch_size=size)
            return [wanted.restored(batch.columns, batch.num_rows) for batch in reader]

    def values(self, indices: Any, columns: Sequence[str]) -> list[dict[str, Any]] | None:
        """A few rows as plain values of the types in the row store; None where there are too many, or that is not the way."""
        numbers, wanted = self._checked(indices), self.selection(columns)
        if len(self._parts) != 1 or not len(numbers):
            return None
        with self._reading():
            return self._values(0, numbers, wanted)

    def _values(self, number: int, rows: _Numbers, wanted: _Columns) -> list[dict[str, Any]] | None:
        """By the columns' own names: Vortex escapes quotes and tabs in those that it gives."""
        if not (wanted.flat and self._near and len(rows) <= _FEW_ROWS):
            return None
        kept, file, names = block_cache.BLOCKS.value, self._mark(number), tuple(wanted.names)
        found: dict[int, Any] = {}
        missing: list[int] = []
        for place in dict.fromkeys((rows // BLOCK_ROWS).tolist()):
            found[place] = kept.get((file, names, place))
            if found[place] is None:
                missing.append(place)
        if len(missing) > _FEW_BLOCKS:
            return None
        if (
            len(missing) > _NEW_BLOCKS
            and sum(not kept.was_asked_for((file, names, place)) for place in missing) > _NEW_BLOCKS
        ):
            return None
        for place in missing:
            end = min((place + 1) * BLOCK_ROWS, self._parts[number].rows)
            block = self._prepared(number, wanted).execute(row_range=(place * BLOCK_ROWS, end)).read_all()
            kept.put((file, names, place), block)
            found[place] = block
        values = (found[row // BLOCK_ROWS].scalar_at(row % BLOCK_ROWS).as_py() for row in rows.tolist())
        return [dict(zip(names, row.values(), strict=True)) for row in values]

    def _ask_for_blocks(self, number: int, rows: _Numbers, wanted: _Columns) -> None:
        """Note the blocks of a few rows, so that the blocks are read the next time."""
        if wanted.flat and self._near and len(rows) <= _FEW_ROWS:
            file, names = self._mark(number), tuple(wanted.names)
            for place in dict.fromkeys((rows // BLOCK_ROWS).tolist()):
                block_cache.BLOCKS.value.ask_for((file, names, place))

    def _mark(self, number: int) -> str:
        """What tells one of the row files from all others."""
        return f"{self._where}#{self._fingerprint:016x}#{number}"

    def _prepared(self, number: int, wanted: _Columns) -> Any:
        scan = wanted.scans.get(number)
        if scan is None:
            scan = wanted.scans[number] = self._opened(number).to_repeated_scan(wanted.names)
        return scan

    def column(self, column: str) -> pa.Array:
        """A whole column, in its type in the row store."""
        wanted = self.selection((column,))
        found: list[pa.Array] = []
        for number, part in enumerate(self._parts):
            if part.rows:
                file = self._opened(number)
                with self._reading():
                    reader = file.to_arrow(wanted.names, schema=wanted.stored, batch_size=part.rows)
                    found += [batch.column(0) for batch in reader]
        values = found[0] if len(found) == 1 else pa.concat_arrays([pa.nulls(0, wanted.stored.field(0).type), *found])
        if len(values) != self._rows:
            raise SplitError(
                f"{self._where}: {self._rows} values of {column} were asked for, {len(values)} came",
                split=self._key,
            )
        return values

    def scan(
        self,
        columns: Sequence[str],
        *,
        predicate: Predicate | None = None,
        batch_rows: int = BATCH_ROWS,
        encoded: Collection[str] = (),
    ) -> Iterator[pa.RecordBatch]:
        """All rows, or those that a predicate is true for, in their order. No batch is empty.

        Columns of texts that are `encoded` come as numbers and a dictionary, as Vortex has many of them.
        """
        wanted = self._encoded(columns, encoded) if encoded else self.selection(columns)
        if predicate is None:
            return self._read(wanted, None, batch_rows)
        if isinstance(predicate, Constant):
            return self._read(wanted, None, batch_rows) if predicate.value is True else iter(())
        extra = dict.fromkeys(column.name for column in columns_of(predicate))
        read = self.selection(list(dict.fromkeys([*wanted.names, *extra])))
        return self._filtered(wanted, read, predicate, batch_rows)

    def _filtered(
        self, wanted: _Columns, read: _Columns, predicate: Predicate, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        for batch in self._read(read, pushed_down(predicate), batch_rows):
            matches = evaluate(predicate, batch)
            if not matches.true_count:
                continue
            selected = _select(batch, wanted)
            yield selected if matches.true_count == batch.num_rows else selected.filter(matches)

    def _read(self, wanted: _Columns, expression: Any, batch_rows: int) -> Iterator[pa.RecordBatch]:
        for number, part in enumerate(self._parts):
            if not part.rows:
                continue
            file = self._opened(number)
            with self._reading():
                reader = file.to_arrow(
                    wanted.names, expr=expression, schema=wanted.stored, batch_size=min(batch_rows, part.rows)
                )
            while True:
                with self._reading():
                    batch = next(reader, None)
                    if batch is None:
                        break
                    restored = wanted.restored(batch.columns, batch.num_rows)
                if restored.num_rows:
                    yield restored

    def _checked(self, indices: Any) -> _Numbers:
        numbers = np.asarray(indices)
        if numbers.ndim != 1 or (len(numbers) and numbers.dtype.kind not in "iu"):
            raise SplitError(f"{self._where}: row numbers are a list of integers", split=self._key)
        if len(numbers) and not 0 <= int(numbers[0]) <= int(numbers[-1]) < self._rows:
            raise SplitError(
                f"{self._where} has {self._rows} rows, and rows {numbers[0]} to {numbers[-1]} were asked for",
                split=self._key,
            )
        if len(numbers) > 1 and not (numbers[1:] > numbers[:-1]).all():
            raise SplitError(f"{self._where}: row numbers must be strictly increasing", split=self._key)
        return numbers.astype(np.int64, copy=False)

    def selection(self, columns: Sequence[str]) -> _Columns:
        """A selection of columns, which is kept for the next question. Raises SplitError for a column that is not there."""
        names = tuple(columns)
        found = self.selections.get(names)
        if found is None:
            for name in names:
                if self.schema.get_field_index(name) < 0:
                    raise SplitError(f"{self._where} has no column {name}", split=self._key, column=name)
            found = _Columns.of(names, self.schema, self._stored)
            if len(self.selections) >= MOST_SELECTIONS:
                self.selections.clear()
            self.selections[names] = found
        return found

    def _encoded(self, columns: Sequence[str], encoded: Collection[str]) -> _Columns:
        """A selection of columns, some of which come as numbers and a dictionary."""
        plain = self.selection(columns)
        schema = pa.schema([field.with_type(ENCODED) if field.name in encoded else field for field in plain.schema])
        stored = pa.schema([field.with_type(ENCODED) if field.name in encoded else field for field in plain.stored])
        return _Columns.of(columns, schema, stored)

    def _opened(self, number: int) -> Any:
        """A row file, opened at its first use, because opening reads from the store."""
        with self._lock:
            file = self._files.get(number)
            if file is None:
                began = perf_counter_ns() if PROFILER.enabled else 0
                file = self._files[number] = self._open(number, self._parts[number])
                if began:
                    PROFILER.add("open rows", "open", began)
            return file

    def _open(self, number: int, part: Part) -> Any:
        with self._reading():
            file = vx.open_readable(
                FileWindow(self._pages, part, self._errors),
                segment_cache=segment_cache(mapped=self._pages.is_mapped and is_aligned(part)),
                cache_key=self._mark(number),
            )
            rows, kind = len(file), file.dtype
        if rows != part.rows or kind != vx.DType.from_arrow(self._stored, non_nullable=True):
            raise CorruptSplit(
                f"{self._where} is damaged: its rows are {rows} of {kind}, its footer says {part.rows} of {self._stored}",
                split=self._key,
            )
        return file

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            with translated(self._where, "reading rows"):
                yield
        except SplitError as error:
            ours = None if error.__cause__ is None else self._errors.find(error.__cause__)
            if ours is None:
                raise
            raise ours from None


def _select(batch: pa.RecordBatch, wanted: _Columns) -> pa.RecordBatch:
    if batch.schema.names == wanted.names:
        return batch
    if wanted.names:
        return pa.RecordBatch.from_arrays([batch.column(name) for name in wanted.names], schema=wanted.schema)
    return empty_columns(batch.num_rows)


def empty_columns(rows: int) -> pa.RecordBatch:
    """A batch of that many rows and no columns, as counting needs."""
    return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), rows, [None]))


__all__ = ["BATCH_ROWS", "ENCODED", "Rows", "empty_columns"]
