"""`read`, `count` and `aggregate`: a table's answers as DataFrames, without the planner's detours.

A question is planned here, in the caller's process, and its parts run as `mapInArrow` over a DataFrame with a row for each part:
operators that classic and Connect sessions have alike. Nobody has to start processes that plan, and mistakes in a question are
raised where it is asked, as what they are.

`read` is lazy as any DataFrame: the version is pinned and the splits are chosen when it is called, rows are read when they are
asked for. `count` and `aggregate` do their work when they are called, because the parts of an exact answer are put together in
one place; what they return holds the answer.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from indextables.core.aggregate import By, Metrics, parse_aggregate
from indextables.core.options import Options
from indextables.spark.errors import one_line
from indextables.spark.reading.arrow_types import arrow_schema, carried, spark_schema, uncarried
from indextables.spark.reading.read_options import some_columns, stays_at_version
from indextables.spark.reading.source_reader import read_task
from indextables.spark.worker_errors import plainly
from indextables.spark.worker_garbage import light_collections
from indextables.spark.worker_pipe import end_quietly
from indextables.table.distributed.opening import TableHandle, pin_version
from indextables.table.distributed.read_tasks import (
    SCORE,
    ByScore,
    ReadTask,
    TaskPlan,
    finish_groups,
    make_request,
    plan_count,
    plan_tasks,
)
from indextables.table.distributed.requests import Moment, parse_where

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

Work: TypeAlias = Callable[[ReadTask], Iterator[pa.RecordBatch]]
COUNT = "count"
"""The column that `count` returns."""
_PART = "part"


def read(
    spark: SparkSession,
    url: str,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    query: str | None = None,
    *,
    version: int | None = None,
    timestamp: Moment | None = None,
    limit: int | None = None,
    score: bool = False,
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """The rows for which `where` (SQL) is true and that `query` finds, as `Table.scan` reads them, side by side.

    With `limit` they are the first ones, or with `score` the best ones, best first, and one task reads them. Raises
    TableNotFound, VersionNotFound, SchemaError, PredicateError, QueryError, OptionError.
    """
    handle = pin_version(str(url), stays_at_version(Options(options)), version, timestamp)
    if columns is not None and not isinstance(columns, str):
        columns = some_columns(columns)
    request = make_request(
        handle,
        _doing(query),
        columns=columns,
        where=_predicate(where, handle),
        query=query,
        score=score,
        order=ByScore() if score and limit is not None else None,
        limit=limit,
    )
    schema = spark_schema(handle.schema, request.columns, SCORE if score else None, months=True)
    rows = carried(schema)
    return uncarried(_map_tasks(spark, plan_tasks(handle, request), _Rows(arrow_schema(rows)), rows), schema)


def count(
    spark: SparkSession,
    url: str,
    where: str | None = None,
    query: str | None = None,
    *,
    version: int | None = None,
    timestamp: Moment | None = None,
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """How many rows `where` (SQL) is true for and `query` finds: one row with one column, `count`.

    Files of which the log knows it are not opened, and where it knows all of them nothing is asked of executors. Raises what
    `read` raises, and SplitError.
    """
    handle = pin_version(str(url), stays_at_version(Options(options)), version, timestamp)
    request = make_request(handle, _doing(query), columns=(), where=_predicate(where, handle), query=query)
    count_plan = plan_count(handle, request)
    total = count_plan.rows_in_log + sum(_answers(spark, count_plan.tasks, _Counts()))
    # unlike an Arrow table, this needs no job
    return spark.sql(f"SELECT * FROM VALUES ({total}L) AS answer({COUNT})")  # noqa: S608 - a number of ours


def aggregate(
    spark: SparkSession,
    url: str,
    by: By = (),
    metrics: Metrics = MappingProxyType({"n": "count"}),
    where: str | None = None,
    query: str | None = None,
    *,
    version: int | None = None,
    timestamp: Moment | None = None,
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Groups of the rows that `where` (SQL) is true for and `query` finds, as `Table.aggregate` has them, in its order.

    Every task makes the groups of its splits, and this process puts them together: what comes out is exact, and so many groups as
    this process can hold. Raises what `read` raises, and SplitError.
    """
    handle = pin_version(str(url), stays_at_version(Options(options)), version, timestamp)
    groups = parse_aggregate(by, metrics, handle.schema)
    where = _predicate(where, handle)
    request = make_request(handle, _doing(query), columns=groups.columns, where=where, query=query, aggregate=groups)
    return _local(spark, finish_groups(request, _answers(spark, plan_tasks(handle, request), _Groups())))


class _Rows:
    """A task's rows."""

    def __init__(self, target: pa.Schema) -> None:
        self._target = target

    def __call__(self, task: ReadTask) -> Iterator[pa.RecordBatch]:
        return read_task(task, self._target)


class _Counts:
    """How many rows a task has."""

    def __call__(self, task: ReadTask) -> Iterator[pa.RecordBatch]:
        with one_line():
            yield _part(task.count())


class _Groups:
    """The groups of a task's rows."""

    def __call__(self, task: ReadTask) -> Iterator[pa.RecordBatch]:
        with one_line():
            found = task.partial()
            if found is not None:
                yield _part(found)


def _part(value: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(value)], pa.binary())], names=[_PART])


class _Tasks:
    """What a Python worker runs: the tasks whose numbers it is given. All that is the same for all tasks travels once."""

    def __init__(self, plan: TaskPlan, work: Work) -> None:
        self._plan = plan
        self._work = work

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        end_quietly()
        with light_collections():
            for number in (number for batch in numbers for number in batch.column(0).to_pylist()):
                yield from self._work(ReadTask(self._plan.job, self._plan.files[number]))


def _map_tasks(spark: SparkSession, plan: TaskPlan, work: Work, schema: StructType | str) -> DataFrame:
    """A Spark task for each of the plan's, and none where it has none."""
    many = len(plan.files)
    return spark.range(0, many, 1, max(many, 1)).mapInArrow(_Tasks(plan, work), schema)


def _answers(spark: SparkSession, plan: TaskPlan, work: Work) -> Iterator[Any]:
    """What the tasks have to say, in no particular order."""
    if not plan.files:
        return
    with plainly():
        parts = _map_tasks(spark, plan, work, f"{_PART} binary").toArrow().column(_PART)
    for part in parts:
        yield pickle.loads(part.as_buffer())  # noqa: S301 - from our own tasks


def _local(spark: SparkSession, answer: pa.Table) -> DataFrame:
    """An answer that is here, in Spark's types."""
    schema = spark_schema(answer.schema, answer.schema.names)
    return spark.createDataFrame(answer.cast(arrow_schema(schema)), schema)


def _doing(query: str | None) -> str:
    return "reading" if query is None else "searching"


def _predicate(where: Any, handle: TableHandle) -> Any:
    """The predicate that SQL text means for the table. Raises PredicateError."""
    hint = "; for Spark's own expressions use .where() of the DataFrame"
    return None if where is None else parse_where(where, handle.schema, hint=hint)


__all__ = ["COUNT", "aggregate", "count", "read"]
