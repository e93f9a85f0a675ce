"""Planning a read, and reading one of its parts.

    create (one process)        load(): the version is pinned, its schema goes to Spark
    plan   (another process)    reader(), pushFilters(), partitions(): the same version, pruned and packed into tasks
    read   (executors)          read(partition): splits are opened, batches stream out

Spark pickles the reader after `pushFilters` and before `partitions`, so what `read` needs is settled by then.

Filters are taken only where the reader is told that its DataFrame is asked one question, with the option `pushFilters`. Spark 4.3
keeps what was planned with the DataFrame's relation, not with the query: after `df.where("id = 3")` with push-down, `df.count()`
counts the rows with id 3, and a join of two filters of one DataFrame reads both with the second. A reader cannot notice. The
option `where` says the same as a filter and is part of what is loaded, so it is always safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from indextables.core.predicate import Predicate, all_of, parse_predicate
from indextables.spark.errors import one_line
from indextables.spark.filters import as_predicate
from indextables.spark.reading.arrow_types import ToSpark, arrow_schema, check_schema
from indextables.spark.reading.read_options import ReadOptions
from indextables.table.distributed.read_tasks import (
    SCORE,
    Scan,
    ScanTask,
    make_scan,
    open_table_log,
    pinned,
    plan_tasks,
)

FIRST_ROWS = 1024
"""Rows of a task's first batch at most: who asks for a few rows gets them early."""


class Splits(InputPartition):
    """Some splits, as `ScanTask.files` has them."""

    def __init__(self, files: bytes) -> None:
        self.files = files

    def __repr__(self) -> str:
        return f"Splits({len(self.files)} bytes)"


class TableReader(DataSourceReader):
    """One read of a table at one version."""

    def __init__(self, asked: ReadOptions, version: int, table_id: str, schema: StructType) -> None:
        self._takes_filters = asked.push_filters and asked.limit is None
        self._version = version
        self._table_id = table_id
        log = open_table_log(asked.url, asked.options)
        snapshot = pinned(log, version, table_id)
        columns = [field for field in schema if not (asked.score and field.name == SCORE)]
        check_schema(StructType(columns), snapshot.schema)
        where = None if asked.where is None else parse_predicate(asked.where, snapshot.schema)
        names = [field.name for field in columns]
        self._scan = make_scan(log, snapshot, names, where, asked.query, score=asked.score, limit=asked.limit)
        self._schema = schema

    @property
    def pushFilters(self) -> _PushFilters:  # noqa: N802 - Spark's name
        """See `_PushFilters`."""
        return _PushFilters(self)

    def push(self, filters: Sequence[Filter]) -> Iterator[Filter]:
        """Take the filters that we apply exactly, and give the others back. A limit comes before them: all stay with Spark."""
        taken: list[Predicate] = [] if self._scan.where is None else [self._scan.where]
        for given in filters:
            predicate = as_predicate(given, self._scan.head.schema) if self._takes_filters else None
            if predicate is None:
                yield given
            else:
                taken.append(predicate)
        if taken:
            self._scan = replace(self._scan, where=all_of(taken))

    def partitions(self) -> Sequence[InputPartition]:
        """The tasks, after pruning."""
        with one_line():
            log = open_table_log(self._scan.url, self._scan.options)
            plan = plan_tasks(log, pinned(log, self._version, self._table_id), self._scan)
            return [Splits(task.files) for task in plan.tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task. Without splits there is a task of no rows."""
        if not isinstance(partition, Splits):
            return iter(())
        return read_task(self._scan, partition.files, arrow_schema(self._schema))


def read_task(scan: Scan, files: bytes, target: pa.Schema) -> Iterator[pa.RecordBatch]:
    """A task's batches as Spark wants them, the first one small."""
    shape = ToSpark(target)
    with one_line():
        first = True
        for batch in ScanTask(scan, files).batches():
            shaped = shape(batch)
            if first and shaped.num_rows > FIRST_ROWS:
                yield shaped.slice(0, FIRST_ROWS)
                shaped = shaped.slice(FIRST_ROWS)
            first = False
            yield shaped


class _PushFilters:
    """`pushFilters`, for sessions that have it switched on and for those that have not.

    Where it is off, Spark looks at `reader.pushFilters.__func__` and refuses a reader that has overridden it, because its filters
    would be ignored in silence. Ours are applied by Spark then, and nothing is lost; so this looks like the method of the base
    class where somebody looks, and takes filters where somebody calls.
    """

    __func__ = staticmethod(DataSourceReader.pushFilters)

    def __init__(self, reader: TableReader) -> None:
        self._reader = reader

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        with one_line():
            return list(self._reader.push(filters))
