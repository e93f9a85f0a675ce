"""A read in parts that other processes can do: planned here, opened and read wherever a task lands.

    ReadRequest ──▶ plan_tasks ──▶ TaskPlan: a head (the table without files), and some splits for each task
                                      └─ pickle ─▶ ReadTask ──▶ batches, count, partial

Everything that can be wrong with the question is said while planning, where the caller is. A task holds recipes only: the table's
place and options, its metadata, and the log's entries of its splits. Nothing of the log is read again where it runs, so all tasks
read the version that was planned, whatever is committed meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from indextables.core.aggregate import Aggregate
from indextables.core.row_order import SortKey, first_places, key_parts
from indextables.core.runtime.ordered_streams import in_order
from indextables.split.aggregate.finish import finished
from indextables.split.aggregate.partial import Partial, condensed
from indextables.split.query.condition import Condition
from indextables.split.reader import SplitReader
from indextables.table.distributed.task_packing import packed, packs, unpacked
from indextables.table.handle import TableHandle
from indextables.table.open_table import same_table
from indextables.table.read.count import count_in_log
from indextables.table.read.first_rows import files_of_first_rows, first_rows_of
from indextables.table.read.ranking import best_rows, read_winners
from indextables.table.read.request import (
    SCORE,
    ByColumns,
    ByScore,
    ReadPlan,
    ReadRequest,
    bound_condition,
    make_request,
    plan_read,
)
from indextables.table.read.scan import batch_bytes, rows_between
from indextables.table.read.split_readers import split_readers

_REMOTE_THREADS: Final = 4
"""Threads of a task that reads from a remote store, where a thread mostly waits; other tasks share the machine."""
_AHEAD_BYTES: Final = 1 << 26
"""Bytes of rows that a task reads ahead, at most 64 MiB: several tasks share a machine's memory."""
_ROWS_AT_A_TIME: Final = 65_536
"""Rows with scores that are taken in one batch, so that a task that finds millions of rows holds few of them."""


@dataclass(frozen=True)
class ReadJob:
    """What all tasks of one read have in common: the table at one version, and the request. It pickles, and is small."""

    head: TableHandle
    """The table without its files."""
    request: ReadRequest

    @property
    def condition(self) -> Condition:
        """What each split is asked, bound to the table."""
        return bound_condition(self.head, self.request)

    @property
    def schema(self) -> pa.Schema:
        """The columns of a task's batches."""
        return self.request.output_schema(self.head.schema)


@dataclass(frozen=True)
class ReadTask:
    """A part of a read: some splits. `files` are the log's entries of these splits, `packed`."""

    job: ReadJob
    files: bytes

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in the order of the splits or of the request. No batch is empty.

        Raises SplitError, TableReplaced, TableNotFound.
        """
        job, request = self.job, self.job.request
        with same_table(job.head):
            if isinstance(request.order, ByScore):
                yield from _best(job, list(self._splits()), self._threads)
                return
            if isinstance(request.order, ByColumns):
                plan = ReadPlan(request, job.head, unpacked(self.files))
                yield from _batches(first_rows_of(plan, self._threads))
                return
            read = _scored if request.score else _unscored
            asked = job.condition
            starts = (partial(read, job, asked, split) for split in self._splits())
            batches = in_order(starts, threads=self._threads, weigh=batch_bytes, budget=_AHEAD_BYTES)
            yield from rows_between(batches, request.offset, request.limit)

    def count(self) -> int:
        """How many rows there are. Raises what `batches` raises."""
        job, request = self.job, self.job.request
        asked = job.condition
        starts = (partial(split.counts, asked.predicate, asked.query) for split in self._splits())
        with same_table(job.head):
            found = max(0, sum(in_order(starts, threads=self._threads)) - request.offset)
        return found if request.limit is None else min(found, request.limit)

    def partial(self) -> Partial | None:
        """The groups of the rows, to be put together with those of other tasks; None for no rows. Raises as `batches`."""
        job, groups = self.job, _groups(self.job.request)
        asked = job.condition
        starts = (partial(split.aggregate, groups, asked.predicate, asked.query) for split in self._splits())
        with same_table(job.head):
            return next(iter(condensed(groups, in_order(starts, threads=self._threads))), None)

    def _splits(self) -> Iterator[SplitReader]:
        return split_readers(self.job.head, unpacked(self.files))

    @property
    def _threads(self) -> int:
        """Threads of this task: one on a local disk, because other tasks have the other processors."""
        return 1 if self.job.head.is_local else _REMOTE_THREADS


@dataclass(frozen=True)
class TaskPlan:
    """A read, divided into tasks."""

    job: ReadJob
    files: list[bytes]
    """The `files` of each task."""
    read: pa.Table
    """The log's entries of all files that are read."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of the batches of all tasks."""
        return self.job.schema

    @property
    def tasks(self) -> list[ReadTask]:
        """The tasks, in the order of their files."""
        return [ReadTask(self.job, files) for files in self.files]


def make_job(handle: TableHandle, request: ReadRequest) -> ReadJob:
    """A read of the table, without its files and not divided yet."""
    return ReadJob(handle.without_files(), replace(request, files=None))


def plan_tasks(
    handle: TableHandle,
    request: ReadRequest,
    most_tasks: int | None = None,
    *,
    processors: int | None = None,
    cut_again: bool = False,
) -> TaskPlan:
    """The splits that may hold rows of the request, packed into tasks: about `most_tasks`, or as many as their sizes ask for.

    `processors` are the tasks that run side by side; None for the processors of this machine. A limit or an offset makes one
    task, because only a task that read the rows before them knows the first rows. With an order by columns there may be several:
    each answers with the first rows of its own splits, and `finish_first` puts them together. With `cut_again` there may be
    several too: each gives as many rows as the limit says, those that are first in the request's order, and the caller sorts and
    cuts the rows of all tasks, by columns that the request has.
    """
    if request.files is None:
        with same_table(handle):
            plan = plan_read(handle, request)
    else:
        plan = plan_read(handle, request)
    files = plan.files
    if isinstance(request.order, ByColumns):
        own = () if cut_again else tuple(key.column for key in request.order.keys)
        files, request = files_of_first_rows(plan), _request_of_each_task(request, own)
    elif (request.limit is not None and not cut_again) or request.offset:
        most_tasks = 1
    light = request.searches or not request.columns
    return TaskPlan(make_job(handle, request), packs(files, handle.options, most_tasks, light, processors), files)


@dataclass(frozen=True)
class CountPlan:
    """A count: what the log knows, and tasks for the files of which it does not."""

    rows_in_log: int
    tasks: TaskPlan


def plan_count(handle: TableHandle, request: ReadRequest) -> CountPlan:
    """Count in the log as far as it knows, and plan tasks for the other files. The order of the rows does not count."""
    request = replace(request, order=None)
    if request.searches:
        return CountPlan(0, plan_tasks(handle, request))
    known = count_in_log(handle, request)
    return CountPlan(known.rows, plan_tasks(handle, replace(request, files=known.doubtful)))


def finish_groups(request: ReadRequest, parts: Iterable[Partial]) -> pa.Table:
    """The groups of all tasks, put together."""
    groups = _groups(request)
    return finished(groups, next(iter(condensed(groups, parts)), None))


def finish_first(request: ReadRequest, plan: TaskPlan, answers: Iterable[pa.RecordBatch]) -> pa.Table:
    """The first rows of all tasks in the order of the request's columns, after `offset`. Equal rows come as they are given."""
    assert isinstance(request.order, ByColumns), "the request has no order by columns"
    rows = pa.Table.from_batches(answers, plan.schema).combine_chunks()
    if not rows.num_rows or not request.limit:
        return rows.slice(0, 0).select(request.columns)
    parts = [part for key in request.order.keys for part in key_parts(rows.column(key.column).chunk(0), key)]
    first = first_places(tuple(parts), min(request.offset + request.limit, rows.num_rows))
    return rows.select(request.columns).take(pa.array(first[request.offset :]))


def _request_of_each_task(request: ReadRequest, more: Sequence[str]) -> ReadRequest:
    """The first rows, those of `offset` included, with some columns more: any task may have all rows of the answer."""
    columns = dict.fromkeys([*request.columns, *more])
    last = request.last if request.limit else 0
    return replace(request, columns=tuple(columns), offset=0, limit=last)


def _groups(request: ReadRequest) -> Aggregate:
    assert request.aggregate is not None, "the request asks for rows, not for groups"
    return request.aggregate


def _unscored(job: ReadJob, asked: Condition, split: SplitReader) -> Iterator[pa.RecordBatch]:
    return split.scan(job.request.columns, asked.predicate, asked.query)


def _scored(job: ReadJob, asked: Condition, split: SplitReader) -> Iterator[pa.RecordBatch]:
    """All rows that the query finds in a split, in their order, with their scores."""
    assert asked.query is not None
    scores, rows = split.hits(asked.predicate, asked.query, split.footer.rows).arrays()
    order = np.argsort(rows)
    yield from _with_scores(job, split, rows[order], scores[order])


def _with_scores(job: ReadJob, split: SplitReader, rows: Any, scores: Any) -> Iterator[pa.RecordBatch]:
    names = job.request.columns
    for start in range(0, len(rows), _ROWS_AT_A_TIME):
        numbers = rows[start : start + _ROWS_AT_A_TIME]
        found = split.take(numbers, names).combine_chunks() if names else None
        columns = [] if found is None else [column.combine_chunks() for column in found.columns]
        if job.request.score:
            columns.append(pa.array(scores[start : start + _ROWS_AT_A_TIME], pa.float64()))
        yield pa.RecordBatch.from_arrays(columns, schema=job.schema)


def _best(job: ReadJob, splits: Sequence[SplitReader], threads: int) -> Iterator[pa.RecordBatch]:
    """The best rows of all splits, best first, with their scores."""
    request, last = job.request, job.request.last
    asked = job.condition
    assert asked.query is not None
    assert last is not None
    if not last:
        return
    hits = [split.hits(asked.predicate, asked.query, last) for split in splits]
    best = best_rows([split.path for split in splits], hits, last)[request.offset :]
    rows = read_winners(job.head, splits, [(number, row) for _, number, row in best], request.columns, threads)
    columns = rows.columns
    if request.score:
        columns.append(pa.array([score for score, _, _ in best], pa.float64()))
    yield from _batches(pa.Table.from_arrays(columns, schema=job.schema))


def _batches(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """Rows as few batches, none of which is empty."""
    return (batch for batch in rows.combine_chunks().to_batches() if batch.num_rows)


__all__ = [
    "SCORE",
    "ByColumns",
    "ByScore",
    "CountPlan",
    "ReadJob",
    "ReadRequest",
    "ReadTask",
    "SortKey",
    "TaskPlan",
    "finish_first",
    "finish_groups",
    "make_job",
    "make_request",
    "packed",
    "plan_count",
    "plan_tasks",
    "unpacked",
]
