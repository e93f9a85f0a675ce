"""`Table.aggregate`: groups of rows, and numbers about each of them.

Every split makes its own groups, side by side with others, and hands them over as sums that lose nothing. So the answer is the
same however the rows lie in files.
"""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from indextables.core.runtime.ordered_streams import in_order
from indextables.split.aggregate.finish import finished
from indextables.split.aggregate.partial import condensed
from indextables.table.handle import TableHandle
from indextables.table.read.parallelism import SERIAL_BUDGET_S, ActiveQuery, reading_threads
from indextables.table.read.request import ReadRequest, plan_read
from indextables.table.read.split_readers import split_readers


def aggregate(handle: TableHandle, request: ReadRequest) -> pa.Table:
    """The groups of the rows that the request asks for."""
    groups = request.aggregate
    assert groups is not None
    plan = plan_read(handle, request)
    condition = plan.condition
    starts = (
        partial(split.aggregate, groups, condition.predicate, condition.query)
        for split in split_readers(handle, plan.files)
    )
    with ActiveQuery():
        parts = in_order(starts, threads=reading_threads(handle), patience=SERIAL_BUDGET_S)
        whole = next(iter(condensed(groups, parts)), None)
    return finished(groups, whole)
