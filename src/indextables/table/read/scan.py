"""`Table.scan`: rows as a stream of Arrow batches, in the order of the files."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from time import perf_counter
from typing import Final

import numpy as np
import pyarrow as pa

from indextables.core.errors import SplitError, StorageError
from indextables.core.metrics import METRICS
from indextables.core.predicate import TRUE, Predicate
from indextables.core.runtime.ordered_streams import Start, in_order
from indextables.split.plan.access import RowNumbers
from indextables.split.query.bound import Bound
from indextables.split.reader import SplitReader
from indextables.table.handle import TableHandle
from indextables.table.read.few_rows import FEW_ROWS, few_rows_batch, read_few_rows
from indextables.table.read.parallelism import SERIAL_BUDGET_S, SerialPhase, reading_threads
from indextables.table.read.request import ReadRequest, plan_read
from indextables.table.read.split_readers import split_readers

_SEARCHED_AHEAD: Final = 64
"""Splits whose rows are located before the first row is read: locating and reading in turns takes up to a quarter more time."""
_FIRST_ROWS: Final = 10_000
"""At most so many first rows are read by their numbers: a scan decodes a block of every column before it gives its first row."""
_AHEAD_BYTES: Final = 1 << 28
"""Bytes of rows that are read before the caller asks for them, at most 256 MiB over all threads."""


@dataclass(frozen=True)
class _LocatedRows:
    """The rows of one split that a question is about, not read yet."""

    split: SplitReader
    found: RowNumbers

    @property
    def count(self) -> int:
        """Rows to read; some of them may still be filtered out."""
        return len(self.found.numbers)

    @property
    def exact(self) -> bool:
        """True if no row has to be checked once it is read."""
        return self.found.residual == TRUE


def scan(handle: TableHandle, request: ReadRequest) -> pa.RecordBatchReader:
    """The rows that a request asks for: all, or `limit` of them after the first `offset`.

    Everything that can be wrong with the request was said when it was made. Rows are read while the stream is.
    """
    plan = plan_read(handle, request)
    condition = plan.condition
    where, bound = condition.predicate, condition.query
    schema = pa.schema([handle.schema.field(name) for name in request.columns])
    filtered = where is not None or bound is not None
    files = plan.files
    splits = split_readers(handle, files)
    if not filtered and request.last is not None and request.last <= _FIRST_ROWS:
        starts = _first_rows(splits, schema, request.last)
    else:
        starts = _starts(splits, schema, where, bound, files.num_rows if filtered else 0)
    batches = in_order(
        starts,
        threads=reading_threads(handle),
        weigh=batch_bytes,
        budget=_AHEAD_BYTES,
        patience=SERIAL_BUDGET_S if filtered else 0.0,
    )
    rows = rows_between(batches, request.offset, request.limit)
    return pa.RecordBatchReader.from_batches(schema, _measured(rows))


def _measured(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches; once there are no more, or nobody wants more, their rows and the time since the first was asked for."""
    rows, began = 0, perf_counter()
    try:
        for batch in batches:
            rows += batch.num_rows
            yield batch
    finally:
        METRICS.observe("indextables.scan.duration_ms", (perf_counter() - began) * 1000.0)
        METRICS.observe("indextables.scan.rows", rows)


def _starts(
    splits: Iterator[SplitReader],
    schema: pa.Schema,
    where: Predicate | None,
    bound: Bound | None,
    splits_to_locate: int,
) -> Iterator[Start[pa.RecordBatch]]:
    """A stream for each split, or one for several of which few rows are wanted."""
    names = list(schema.names)
    located: list[_LocatedRows] = []
    unlocated: SplitReader | None = None
    for split, found in _located(splits, where, bound, splits_to_locate):
        if found is None:
            unlocated = split
        else:
            located.append(_LocatedRows(split, found))
    if names and _is_small_result(located):
        yield partial(_few_rows, located, schema)
    else:
        yield from (partial(rows.split.rows, names, rows.found) for rows in located)
    if unlocated is not None:
        yield partial(unlocated.scan, names, where, bound)
    yield from (partial(split.scan, names, where, bound) for split in splits)


def _first_rows(splits: Iterator[SplitReader], schema: pa.Schema, last: int) -> Iterator[Start[pa.RecordBatch]]:
    """Streams of the first `last` rows, and no stream of a split that has none of them.

    A split that cannot be read is an error in its turn, after the rows before it have been read.
    """
    names = list(schema.names)
    for split in splits:
        if last <= 0:
            return
        try:
            rows = min(last, split.footer.rows)
        except (SplitError, StorageError):
            yield partial(split.scan, names)
            continue
        last -= rows
        yield partial(split.rows, names, RowNumbers(np.arange(rows, dtype=np.int64), TRUE, "footer"))


def _is_small_result(located: Sequence[_LocatedRows]) -> bool:
    """True if all located rows are a handful, and none of them has to be checked again."""
    return sum(rows.count for rows in located) <= FEW_ROWS and all(rows.exact for rows in located)


def _located(
    splits: Iterator[SplitReader], where: Predicate | None, bound: Bound | None, count: int
) -> Iterator[tuple[SplitReader, RowNumbers | None]]:
    """The rows of the first splits, as long as locating them is quick. Only the last split may come without (None).

    A split that cannot be read is not an error here: it is one in its turn, after the rows before it have been read.
    """
    phase = SerialPhase(count)
    for split in islice(splits, _SEARCHED_AHEAD if count else 0):
        try:
            found = split.locate(where, bound)
        except (SplitError, StorageError):
            found = None
        yield split, found
        if found is None or phase.should_parallelise():
            return


def _few_rows(located: Sequence[_LocatedRows], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of several splits as one batch; split by split, where one of them cannot be read that way."""
    names = list(schema.names)
    try:
        rows = read_few_rows(((some.split, some.found.numbers) for some in located if some.count), names)
    except (SplitError, StorageError):
        rows = None
    if rows is None:
        for some in located:
            yield from some.split.rows(names, some.found)
    elif rows:
        yield few_rows_batch(rows, schema)


def batch_bytes(batch: pa.RecordBatch) -> int:
    """The bytes of a batch in memory."""
    return int(batch.nbytes)


def rows_between(
    batches: Generator[pa.RecordBatch, None, None], offset: int, limit: int | None
) -> Iterator[pa.RecordBatch]:
    """The rows after the first `offset`, at most `limit` of them (None for all). No batch is empty. Closes `batches`."""
    if not offset and limit is None:
        return batches
    return _between(batches, offset, limit)


def _between(
    batches: Generator[pa.RecordBatch, None, None], offset: int, limit: int | None
) -> Iterator[pa.RecordBatch]:
    try:
        for batch in batches if limit != 0 else ():
            rows = batch.slice(
                min(offset, batch.num_rows), batch.num_rows if limit is None else min(limit, batch.num_rows)
            )
            offset = max(0, offset - batch.num_rows)
            if not rows.num_rows:
                continue
            yield rows
            if limit is not None:
                limit -= rows.num_rows
                if limit <= 0:
                    return
    finally:
        batches.close()
