"""`Table.aggregate`: groups of rows, and numbers about each of them.

Every split makes its own groups, side by side with others, and hands them over as sums that lose nothing. So the answer is the
same however the rows lie in files.
"""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from indextables.core.aggregate import By, Metrics, parse_aggregate
from indextables.core.predicate import Predicate
from indextables.core.runtime.ordered_streams import in_order
from indextables.log.refresh import read_files
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.split.aggregate.finish import finished
from indextables.split.aggregate.partial import condensed
from indextables.table.format_gate import check_bundles
from indextables.table.read.request import bound_query, narrowed
from indextables.table.read.split_readers import PATIENCE, Asking, readers, reading_threads


def aggregate(
    log: TableLog,
    snapshot: Snapshot,
    by: By,
    metrics: Metrics,
    where: Predicate | None = None,
    query: str | None = None,
) -> tuple[Snapshot, pa.Table]:
    """The groups of the rows for which `where` is true and that `query` finds, and the snapshot that they are from."""
    check_bundles(snapshot, "reading")
    wanted = parse_aggregate(by, metrics, snapshot.schema)
    asked = None if query is None else bound_query(query, snapshot)
    snapshot, files = read_files(log, snapshot, narrowed(where, asked))
    starts = (partial(split.aggregate, wanted, where, asked) for split in readers(log, snapshot, files))
    with Asking():
        parts = in_order(starts, threads=reading_threads(log), patience=PATIENCE)
        whole = next(iter(condensed(wanted, parts)), None)
    return snapshot, finished(wanted, whole)
