"""Planning a read, and reading one of its parts.

    create (one process)        load(): the version is pinned, its schema goes to Spark
    plan   (another process)    reader(), partitions(): the same version, pruned and packed into tasks
    read   (executors)          read(partition): splits are opened, batches stream out

The reader takes no filters. Spark 4.3 keeps what was planned with the DataFrame's relation, not with the query: after
`df.where("id = 3")` with push-down, `df.count()` would count the rows with id 3, and a reader cannot notice. The option `where`
says the same as a filter and is part of what is loaded, so it is always safe; the connector takes filters of every query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from indextables.spark.errors import one_line
from indextables.spark.reading.arrow_types import ToSpark, arrow_schema, check_schema
from indextables.spark.reading.read_options import ReadOptions
from indextables.spark.worker_pipe import end_quietly
from indextables.table.distributed.opening import open_pinned
from indextables.table.distributed.read_tasks import (
    SCORE,
    ByScore,
    ReadTask,
    make_job,
    make_request,
    plan_tasks,
)

FIRST_ROWS = 1024
"""At most so many rows are in a task's first batch: a query with a small limit gets its rows early."""


class Splits(InputPartition):
    """The splits of a Spark task, as `ReadTask.files` has them."""

    def __init__(self, files: bytes) -> None:
        self.files = files

    def __repr__(self) -> str:
        return f"Splits({len(self.files)} bytes)"


class TableReader(DataSourceReader):
    """Reads a table at one version. Spark pickles the reader for its tasks."""

    def __init__(self, question: ReadOptions, version: int, table_id: str, schema: StructType) -> None:
        self._version = version
        self._table_id = table_id
        handle = open_pinned(question.url, question.options, version, table_id)
        columns = [field for field in schema if not (question.score and field.name == SCORE)]
        check_schema(StructType(columns), handle.schema)
        request = make_request(
            handle,
            "reading" if question.query is None else "searching",
            columns=[field.name for field in columns],
            where=question.where,
            query=question.query,
            score=question.score,
            order=ByScore() if question.score and question.limit is not None else None,
            limit=question.limit,
        )
        self._job = make_job(handle, request)
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """The tasks, after pruning."""
        with one_line():
            head, request = self._job.head, self._job.request
            handle = open_pinned(head.url, head.options, self._version, self._table_id)
            return [Splits(files) for files in plan_tasks(handle, request).files]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task. Without splits there is a task of no rows."""
        if not isinstance(partition, Splits):
            return iter(())
        end_quietly()
        return read_task(ReadTask(self._job, partition.files), arrow_schema(self._schema))


def read_task(
    task: ReadTask, target: pa.Schema, add: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None
) -> Iterator[pa.RecordBatch]:
    """A task's batches as Spark wants them, the first one small. `add` gives a batch the columns that the table does not have."""
    shape = ToSpark(target)
    with one_line():
        first = True
        for batch in task.batches():
            shaped = shape(batch if add is None else add(batch))
            if first and shaped.num_rows > FIRST_ROWS:
                yield shaped.slice(0, FIRST_ROWS)
                shaped = shaped.slice(FIRST_ROWS)
            first = False
            yield shaped
