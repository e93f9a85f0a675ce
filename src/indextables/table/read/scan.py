"""`Table.scan`: rows as a stream of Arrow batches, in the order of the files."""

from __future__ import annotations

import difflib
from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final

import pyarrow as pa

from indextables.core.errors import SchemaError, SplitError, StorageError
from indextables.core.predicate import TRUE, Predicate
from indextables.core.runtime.ordered_streams import Start, in_order
from indextables.log.refresh import read_files
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.split.query.bind import Bound
from indextables.split.reader import Found, SplitReader
from indextables.table.format_gate import check_bundles
from indextables.table.read.few_rows import FEW, plain_batch, plain_rows
from indextables.table.read.request import bound_query, narrowed
from indextables.table.read.split_readers import PATIENCE, Alone, readers, reading_threads

_FOUND_AHEAD: Final = 64
"""Splits that are searched before the first row is read."""
_AHEAD_BYTES: Final = 1 << 28
"""Rows that are read before somebody asks for them."""


def scan(
    log: TableLog,
    snapshot: Snapshot,
    columns: Sequence[str] | None = None,
    where: Predicate | None = None,
    limit: int | None = None,
    query: str | None = None,
) -> tuple[Snapshot, pa.RecordBatchReader]:
    """The rows for which `where` is true and that `query` finds, all or the first `limit`, and the snapshot that they are from.

    Everything that can be wrong with the question is said here, before the first row is asked for.
    """
    check_bundles(snapshot, "reading")
    names = chosen_columns(columns, snapshot.schema)
    asked = None if query is None else bound_query(query, snapshot)
    snapshot, files = read_files(log, snapshot, narrowed(where, asked))
    schema = pa.schema([snapshot.schema.field(name) for name in names])
    if limit == 0:
        files = files.slice(0, 0)
    splits = readers(log, snapshot, files)
    narrow = where is not None or asked is not None
    starts = _starts(splits, schema, where, asked, files.num_rows if narrow else 0)
    patience = PATIENCE if narrow else 0.0
    batches = in_order(starts, threads=reading_threads(log), weigh=_weight, budget=_AHEAD_BYTES, patience=patience)
    rows = batches if limit is None else _first(batches, limit)
    return snapshot, pa.RecordBatchReader.from_batches(schema, rows)


def _starts(
    splits: Iterator[SplitReader], schema: pa.Schema, where: Predicate | None, asked: Bound | None, count: int
) -> Iterator[Start[pa.RecordBatch]]:
    """A stream for each split, or one for several of which few rows are wanted."""
    names = list(schema.names)
    ahead = list(_found(splits, where, asked, count)) if count else []
    known = [(split, found) for split, found in ahead if found is not None]
    if sum(len(numbers) for _, (numbers, _) in known) <= FEW and all(left == TRUE for _, (_, left) in known) and names:
        yield partial(_few, known, schema)
    else:
        yield from (partial(split.rows, names, found) for split, found in known)
    yield from (partial(split.scan, names, where, asked) for split, found in ahead if found is None)
    yield from (partial(split.scan, names, where, asked) for split in splits)


def _found(
    splits: Iterator[SplitReader], where: Predicate | None, asked: Bound | None, count: int
) -> Iterator[tuple[SplitReader, Found | None]]:
    """The rows of the first splits, as far as they are quickly found. Only the last one may be without.

    Searching and reading in turns takes up to a quarter more time, because each finds the processor's caches full of the other.
    What goes wrong here goes wrong again in its turn, when the rows before it have been read.
    """
    alone = Alone(count)
    for split in islice(splits, _FOUND_AHEAD):
        try:
            found = split.find(where, asked)
        except (SplitError, StorageError):
            found = None
        yield split, found
        if found is None or alone.ends():
            return


def _few(known: Sequence[tuple[SplitReader, Found]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of several splits as one batch, where that can be; each by itself, where one of them cannot be read."""
    names = list(schema.names)
    try:
        rows = plain_rows(((split, numbers) for split, (numbers, _) in known if len(numbers)), names)
    except (SplitError, StorageError):
        rows = None
    if rows is None:
        for split, found in known:
            yield from split.rows(names, found)
    elif rows:
        yield plain_batch(rows, schema)


def _weight(batch: pa.RecordBatch) -> int:
    return int(batch.nbytes)


def _first(batches: Generator[pa.RecordBatch, None, None], limit: int) -> Iterator[pa.RecordBatch]:
    try:
        for batch in batches:
            yield batch.slice(0, limit)
            limit -= batch.num_rows
            if limit <= 0:
                return
    finally:
        batches.close()


def chosen_columns(columns: Sequence[str] | None, schema: pa.Schema) -> list[str]:
    """The exact names of columns, which may be given in any letter case."""
    if columns is None:
        return list(schema.names)
    if isinstance(columns, str | bytes) or not isinstance(columns, Iterable):
        raise SchemaError(f"columns is a list of names, not {columns!r}")
    names: list[str] = []
    for column in columns:
        name = _spelled(column, schema)
        if name in names:
            raise SchemaError(f"column {name} is asked for twice", column=name)
        names.append(name)
    return names


def _spelled(column: str, schema: pa.Schema) -> str:
    if not isinstance(column, str):
        raise SchemaError(f"a column is asked for by its name, not by {column!r}")
    if column in schema.names:
        return column
    alike = [name for name in schema.names if name.lower() == column.lower()]
    if len(alike) == 1:
        return str(alike[0])
    nearest = difflib.get_close_matches(column, schema.names, 1)
    hint = f"did you mean {nearest[0]}?" if nearest else f"the columns are {', '.join(schema.names)}"
    raise SchemaError(f"the table has no column {column}; {hint}", column=column)
