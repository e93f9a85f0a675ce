"""What a Python worker of an executor runs for the connector: the rows, or the groups, of one task.

A worker gets a function and a partition. Both are made in the driver and pickle. Spark takes the function from the first plan of
a read and the partitions from the last one, after runtime filters. So where there are such filters, a partition has its own job.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.pandas.types import from_arrow_schema

from indextables.spark.connector.planning.snippet_columns import AddSnippets
from indextables.spark.errors import one_line
from indextables.spark.reading.arrow_types import ToSpark
from indextables.spark.reading.source_reader import read_task
from indextables.spark.worker_garbage import light_collections
from indextables.spark.worker_pipe import end_quietly
from indextables.table.distributed.read_tasks import ReadJob, ReadTask, TaskPlan, finish_groups, packed


class ReadPartition:
    """The function that a worker runs: partitions in, batches in Spark's types out."""

    def __init__(self, job: ReadJob, target: pa.Schema, snippets: Mapping[str, str]) -> None:
        self._job = job
        self._target = target
        self._snippets = snippets

    def __call__(self, partitions: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Called by Spark with one batch that holds one partition."""
        end_quietly()
        with light_collections():
            for batch in partitions:
                for data in batch.column(0).to_pylist():
                    yield from self.batches(data)

    @property
    def target(self) -> pa.Schema:
        """The schema of all batches."""
        return self._target

    def batches(self, data: bytes) -> Iterator[pa.RecordBatch]:
        """The batches of one partition, as `row_tasks` pickled it, in Spark's types."""
        own, files = pickle.loads(data)  # noqa: S301 - from our own driver
        yield from self._read(ReadTask(own or self._job, files))

    def _read(self, task: ReadTask) -> Iterator[pa.RecordBatch]:
        if task.job.request.aggregate is not None:
            yield from self._groups(task)
        elif not self._target.names:
            yield from _without_columns(task)
        else:
            add = AddSnippets(task.job.head, task.job.request, self._snippets) if self._snippets else None
            yield from read_task(task, self._target, add)

    def _groups(self, task: ReadTask) -> Iterator[pa.RecordBatch]:
        with one_line():
            part = task.partial()
            table = finish_groups(task.job.request, [] if part is None else [part])
        shape = ToSpark(self._target)
        yield from (shape(batch) for batch in table.to_batches())


def row_tasks(
    plan: TaskPlan, target: pa.Schema, snippets: Mapping[str, str], *, travels: bool, known: bool = False
) -> list[bytes]:
    """The pickled function of a read, and the partition of each task. With `travels`, each partition has the job too.

    With `known` the caller has the partitions already, and gets the function alone.

    An aggregate without keys has an answer for no rows, so a read of no files has one task.
    """
    schema = from_arrow_schema(target)
    function = CloudPickleSerializer().dumps((ReadPartition(plan.job, target, snippets), schema))
    if known:
        return [function]
    files = plan.files
    request = plan.job.request
    if not files and request.aggregate is not None and not request.aggregate.keys:
        files = [packed(plan.job.head.files())]
    own = plan.job if travels else None
    return [function, *(pickle.dumps((own, some)) for some in files)]


def _without_columns(task: ReadTask) -> Iterator[pa.RecordBatch]:
    """Rows of which only the number counts."""
    with one_line():
        rows = ReadTask(replace(task.job), task.files).count()
    none = pa.array([{}] * min(rows, _ROWS_AT_A_TIME), pa.struct([]))
    while rows:
        some = min(rows, _ROWS_AT_A_TIME)
        yield pa.RecordBatch.from_struct_array(none.slice(0, some))
        rows -= some


_ROWS_AT_A_TIME = 65_536
"""Rows without columns in one batch: a batch of millions would be one list in memory."""
