"""`Table.count`: from the log alone, as far as it knows.

A file whose bounds say that no row of it can fail the filter counts with all its rows, one that cannot match with none. Only
the files in between are opened.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.predicate import Constant, In, IsNull, Not, Predicate, any_of, leaves_of
from indextables.core.runtime.ordered_streams import in_order
from indextables.log.pruning.file_pruning import prune_files
from indextables.log.refresh import read_files
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.table.format_gate import check_bundles

if TYPE_CHECKING:
    from indextables.split.query.bind import Bound


def count(
    log: TableLog, snapshot: Snapshot, where: Predicate | None = None, query: str | None = None
) -> tuple[Snapshot, int]:
    """How many rows `where` is true for and `query` finds, and the snapshot that they are from."""
    if query is not None:
        return _found(log, snapshot, where, query)
    snapshot, total, doubtful = count_in_log(log, snapshot, where)
    if doubtful.num_rows:
        total += _counted(log, snapshot, doubtful, where)
    return snapshot, total


def count_in_log(log: TableLog, snapshot: Snapshot, where: Predicate | None = None) -> tuple[Snapshot, int, pa.Table]:
    """How many rows the log knows that `where` is true for, and the files of which it does not know."""
    snapshot, files = read_files(log, snapshot, where)
    doubtful = _doubtful(files, where, snapshot)
    total = pc.sum(files.column("numRecords")).as_py() or 0
    if doubtful.num_rows:
        total -= pc.sum(doubtful.column("numRecords")).as_py() or 0
    return snapshot, total, doubtful


def _doubtful(files: pa.Table, where: Predicate | None, snapshot: Snapshot) -> pa.Table:
    """The files of which the log cannot tell how many rows match."""
    if where is None:
        doubtful = files.slice(0, 0)
    elif _may_be_null(where):
        return files
    else:
        # A row that does not match is one for which `where` is false, or null, as it can only be where a column is null.
        nulls = {IsNull(leaf.column): None for leaf in leaves_of(where)}
        partitions = tuple(snapshot.metadata.partition_columns)
        doubtful = prune_files(files, any_of([Not(where), *nulls]), snapshot.schema, partitions)
    if files.column("numRecords").null_count == 0:
        return doubtful
    unknown = pc.is_null(files.column("numRecords"))
    return files.filter(pc.or_(unknown, pc.is_in(files.column("path"), value_set=doubtful.column("path"))))


def _may_be_null(predicate: Predicate) -> bool:
    """Whether it can be null without a null in a column."""
    match predicate:
        case Constant():
            return predicate.value is None
        case In():
            return predicate.has_null
        case Not():
            return _may_be_null(predicate.child)
    return any(_may_be_null(child) for child in getattr(predicate, "children", ()))


def _counted(log: TableLog, snapshot: Snapshot, files: pa.Table, where: Predicate | None) -> int:
    check_bundles(snapshot, "reading")
    return _summed(log, snapshot, files, where, None)


def _found(log: TableLog, snapshot: Snapshot, where: Predicate | None, query: str) -> tuple[Snapshot, int]:
    """What a query finds is known to the indexes only."""
    from indextables.table.read.request import bound_query, narrowed

    check_bundles(snapshot, "searching")
    asked = bound_query(query, snapshot)
    snapshot, files = read_files(log, snapshot, narrowed(where, asked))
    return snapshot, _summed(log, snapshot, files, where, asked)


def _summed(log: TableLog, snapshot: Snapshot, files: pa.Table, where: Predicate | None, asked: Bound | None) -> int:
    """What the splits count. A count is mostly a matter of microseconds, so it goes without threads for as long as that holds."""
    from indextables.table.read.split_readers import Alone, Asking, readers, reading_threads

    splits = readers(log, snapshot, files)
    alone, total = Alone(files.num_rows), 0
    with Asking():
        for split in splits:
            total += split.count(where, asked)
            if alone.ends():
                break
        starts = (partial(split.counts, where, asked) for split in splits)
        return total + sum(in_order(starts, threads=reading_threads(log)))
