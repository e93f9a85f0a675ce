"""Small questions of an engine, answered in the process that plans them.

    ReadRequest ──▶ may_answer_here ──▶ answer_here ──▶ Rows     the whole answer: the engine starts no task
                        │                    └────────▶ Estimate the answer is too large: how many rows tasks will give
                        └─ no: `plan_tasks` divides the request

Starting a task takes an engine longer than counting a word in ten million rows. So a question is answered here if few rows come
out and the splits that have to be looked into are small: `read.local.maxRows` and `read.local.maxBytes`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core import options as opt
from indextables.core.aggregate import Aggregate
from indextables.core.arrow_values import array_of
from indextables.table.distributed.read_tasks import ReadTask, make_job, packed
from indextables.table.open_table import same_table
from indextables.table.read.aggregate import aggregate
from indextables.table.read.count import count, count_in_log
from indextables.table.read.first_rows import files_of_first_rows, first_rows
from indextables.table.read.request import ByColumns, ReadPlan
from indextables.table.read.scan import scan


@dataclass(frozen=True)
class Rows:
    """The whole answer to a request."""

    table: pa.Table


@dataclass(frozen=True)
class Estimate:
    """An answer that tasks have to compute: how many rows the tasks will give, exactly or at most."""

    rows: int


def may_answer_here(plan: ReadPlan) -> bool:
    """True if this process may answer: the log alone knows the answer, or the splits that have to be looked into are small.

    Without a filter, a request for few rows reads few splits.
    """
    return _is_small(plan) or _counted_in_log(plan)


def _is_small(plan: ReadPlan) -> bool:
    options, request = plan.handle.options, plan.request
    if not options[opt.READ_LOCAL_ENABLED]:
        return False
    if request.aggregate is None and request.last is not None and request.last > options[opt.READ_LOCAL_MAX_ROWS]:
        return False
    return file_bytes(first_files(plan)) <= options[opt.READ_LOCAL_MAX_BYTES]


def answer_here(plan: ReadPlan) -> Rows | Estimate:
    """The answer to a request, if it is small. Raises SplitError, TableReplaced, TableNotFound."""
    handle, request = plan.handle, plan.request
    most = handle.options[opt.READ_LOCAL_MAX_ROWS]
    whole = known_rows(plan.files)
    if not may_answer_here(plan):
        return Estimate(whole)
    with same_table(handle):
        if request.aggregate is not None:
            return Rows(_groups(plan))
        if request.last is None and whole > most:
            if request.where is None and request.query is None:
                return Estimate(whole)
            found = count(handle, replace(request, files=None if request.files is None else plan.files))
            if found > most:
                return Estimate(found)
        return Rows(_rows(replace(plan, files=first_files(plan))))


def _counted_in_log(plan: ReadPlan) -> bool:
    """True if a request wants nothing but the number of its rows, and no split has to be opened for that number."""
    request = plan.request
    if request.aggregate is None or not _only_counts(request.aggregate) or request.searches:
        return False
    return not count_in_log(plan.handle, request).doubtful.num_rows


def _only_counts(groups: Aggregate) -> bool:
    return not groups.keys and all(metric.function == "count" and metric.column is None for metric in groups.metrics)


def sums_fit(files: pa.Table, column: str) -> bool:
    """True if every sum of a column's whole numbers over rows of these files fits into 64 bits, by the log's bounds."""
    rows = files.column("numRecords")
    if rows.null_count:
        return False
    total = 0
    for bound in ("minValues", "maxValues"):
        texts = pc.map_lookup(files.column(bound), column, "first")
        if texts.null_count:
            return False
        try:
            magnitudes = [abs(int(text)) for text in texts.to_pylist()]
        except ValueError:
            return False
        total += sum(count * magnitude for count, magnitude in zip(rows.to_pylist(), magnitudes, strict=True))
    return total < 1 << 63


def first_files(plan: ReadPlan) -> pa.Table:
    """The files that a request with a limit reads: without a filter or an order, the first ones that hold enough rows.

    With an order by columns, those that may hold one of the first rows by the log's bounds.
    """
    request, files = plan.request, plan.files
    if isinstance(request.order, ByColumns):
        return files_of_first_rows(plan)
    unfiltered = request.where is None and request.query is None
    if request.last is None or not unfiltered or request.order is not None or request.aggregate is not None:
        return files
    held = 0
    for number, rows in enumerate(files.column("numRecords").to_pylist()):
        if held >= request.last:
            return files.slice(0, number)
        held += rows or 0
    return files


def known_rows(files: pa.Table) -> int:
    """The rows of files, as far as the log knows."""
    return int(pc.sum(files.column("numRecords")).as_py() or 0)


def file_bytes(files: pa.Table) -> int:
    """The bytes of files."""
    return int(pc.sum(files.column("size")).as_py() or 0)


def _groups(plan: ReadPlan) -> pa.Table:
    handle, request = plan.handle, plan.request
    groups = request.aggregate
    assert groups is not None
    if _only_counts(groups):
        rows = count(handle, request)
        return pa.table([array_of([rows], metric.type) for metric in groups.metrics], schema=groups.schema)
    return aggregate(handle, request)


def _rows(plan: ReadPlan) -> pa.Table:
    handle, request = plan.handle, plan.request
    if not request.columns and not request.score:
        rows = min(count(handle, request), request.last if request.last is not None else 1 << 62)
        return pa.table({"rows": pa.nulls(max(0, rows - request.offset), pa.int8())}).select([])
    if isinstance(request.order, ByColumns):
        return first_rows(handle, replace(request, files=plan.files))
    if request.score or request.order is not None:
        task = ReadTask(make_job(handle, request), packed(plan.files))
        return pa.Table.from_batches(task.batches(), task.job.schema)
    return scan(handle, replace(request, files=plan.files)).read_all()


__all__ = [
    "Estimate",
    "Rows",
    "answer_here",
    "file_bytes",
    "first_files",
    "known_rows",
    "may_answer_here",
    "sums_fit",
]
