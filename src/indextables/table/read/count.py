"""`Table.count`: from the log alone, as far as the log knows.

A file whose bounds say that no row of it can fail the filter counts with all its rows, one that cannot match with none. Only
the files in between are opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.predicate import (
    And,
    Comparison,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Like,
    Not,
    Or,
    Predicate,
    Search,
    any_of,
    columns_of,
)
from indextables.core.runtime.ordered_streams import in_order
from indextables.log.pruning.file_pruning import prune_files
from indextables.table.handle import TableHandle
from indextables.table.read.request import ReadRequest, bound_condition, plan_read


@dataclass(frozen=True)
class LogCount:
    """What the log alone says of a count."""

    rows: int
    """Rows that certainly match."""
    doubtful: pa.Table
    """The files of which the log cannot tell how many rows match. Their rows are not among `rows`."""


def count(handle: TableHandle, request: ReadRequest) -> int:
    """How many rows the request asks for, before `offset` and `limit`."""
    if request.searches:
        return _count_in_splits(handle, request, plan_read(handle, request).files)
    known = count_in_log(handle, request)
    if not known.doubtful.num_rows:
        return known.rows
    handle.require_bundles("reading")
    return known.rows + _count_in_splits(handle, request, known.doubtful)


def count_in_log(handle: TableHandle, request: ReadRequest) -> LogCount:
    """How many rows the log knows that `where` is true for, and the files of which it does not know. `where` has no searches."""
    files = plan_read(handle, request).files
    doubtful = _doubtful(files, request.where, handle)
    total = pc.sum(files.column("numRecords")).as_py() or 0
    if doubtful.num_rows:
        total -= pc.sum(doubtful.column("numRecords")).as_py() or 0
    return LogCount(total, doubtful)


def _doubtful(files: pa.Table, where: Predicate | None, handle: TableHandle) -> pa.Table:
    """The files of which the log cannot tell how many rows match."""
    if where is None:
        doubtful = files.slice(0, 0)
    elif _may_be_null(where):
        return files
    else:
        # A row that does not match is one for which `where` is false, or null, as it can only be where a column is null.
        nulls = {IsNull(column): None for column in columns_of(where)}
        doubtful = prune_files(files, any_of([Not(where), *nulls]), handle.schema, handle.partition_columns)
    if files.column("numRecords").null_count == 0:
        return doubtful
    unknown = pc.is_null(files.column("numRecords"))
    return files.filter(pc.or_(unknown, pc.is_in(files.column("path"), value_set=doubtful.column("path"))))


def _may_be_null(predicate: Predicate) -> bool:
    """True if the predicate can be null for a row that has no null in a column, or if the log cannot know."""
    match predicate:
        case Constant():
            return predicate.value is None
        case In():
            return predicate.has_null
        case Not():
            return _may_be_null(predicate.child)
        case And() | Or():
            return any(_may_be_null(child) for child in predicate.children)
        case Search():
            return True
        case Comparison() | Like() | IsNull() | IsNotNull():
            return False
        case _:
            assert_never(predicate)


def _count_in_splits(handle: TableHandle, request: ReadRequest, files: pa.Table) -> int:
    """The sum of what the splits count. Most counts take microseconds, so the caller's thread begins alone."""
    from indextables.table.read.parallelism import ActiveQuery, SerialPhase, reading_threads
    from indextables.table.read.split_readers import split_readers

    condition = bound_condition(handle, request)
    where, bound = condition.predicate, condition.query
    splits = split_readers(handle, files)
    phase, total = SerialPhase(files.num_rows), 0
    with ActiveQuery():
        for split in splits:
            total += split.count(where, bound)
            if phase.should_parallelise():
                break
        else:
            return total
        starts = (partial(split.counts, where, bound) for split in splits)
        return total + sum(in_order(starts, threads=reading_threads(handle)))
