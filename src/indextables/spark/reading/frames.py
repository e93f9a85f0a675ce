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
from indextables.core.errors import OptionError, PredicateError
from indextables.core.options import Options
from indextables.core.predicate import Predicate, parse_predicate
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.spark.errors import one_line
from indextables.spark.reading.arrow_types import arrow_schema, carried, spark_schema, uncarried
from indextables.spark.reading.read_options import some_columns
from indextables.spark.reading.source_reader import read_task
from indextables.spark.worker_errors import plainly
from indextables.split.aggregate.finish import finished
from indextables.split.aggregate.partial import condensed
from indextables.table.arguments import Moment, milliseconds, whole_number
from indextables.table.distributed.read_tasks import SCORE, Plan, ScanTask, make_scan, open_table_log, pin, plan_tasks
from indextables.table.read.count import count_in_log

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

Work: TypeAlias = Callable[[ScanTask], Iterator[pa.RecordBatch]]
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
    log, snapshot = _pinned(url, version, timestamp, options)
    if limit is not None and whole_number("limit", limit) < 0:
        raise OptionError(f"limit is {limit}, but must be 0 or more")
    if columns is not None and not isinstance(columns, str):
        columns = some_columns(columns)
    predicate = _predicate(where, snapshot)
    scan = make_scan(log, snapshot, columns, predicate, query, score=score, limit=limit)
    schema = spark_schema(snapshot.schema, scan.columns, SCORE if score else None, months=True)
    rows = carried(schema)
    return uncarried(_map_tasks(spark, plan_tasks(log, snapshot, scan), _Rows(arrow_schema(rows)), rows), schema)


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
    log, snapshot = _pinned(url, version, timestamp, options)
    scan = make_scan(log, snapshot, (), _predicate(where, snapshot), query)
    if query is None:
        snapshot, known, doubtful = count_in_log(log, snapshot, scan.where)
        plan = plan_tasks(log, snapshot, scan, files=doubtful)
    else:
        known, plan = 0, plan_tasks(log, snapshot, scan)
    total = known + sum(_answers(spark, plan, _Counts()))
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
    log, snapshot = _pinned(url, version, timestamp, options)
    wanted = parse_aggregate(by, metrics, snapshot.schema)
    scan = make_scan(log, snapshot, wanted.columns, _predicate(where, snapshot), query)
    parts = _answers(spark, plan_tasks(log, snapshot, scan), _Groups(wanted))
    return _local(spark, finished(wanted, next(iter(condensed(wanted, parts)), None)))


class _Rows:
    """A task's rows."""

    def __init__(self, target: pa.Schema) -> None:
        self._target = target

    def __call__(self, task: ScanTask) -> Iterator[pa.RecordBatch]:
        return read_task(task.scan, task.files, self._target)


class _Counts:
    """How many rows a task has."""

    def __call__(self, task: ScanTask) -> Iterator[pa.RecordBatch]:
        with one_line():
            yield _part(task.count())


class _Groups:
    """The groups of a task's rows."""

    def __init__(self, wanted: Any) -> None:
        self._wanted = wanted

    def __call__(self, task: ScanTask) -> Iterator[pa.RecordBatch]:
        with one_line():
            found = task.partial(self._wanted)
            if found is not None:
                yield _part(found)


def _part(value: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(value)], pa.binary())], names=[_PART])


class _Tasks:
    """What a Python worker runs: the tasks whose numbers it is given. All that is the same for all tasks travels once."""

    def __init__(self, plan: Plan, work: Work) -> None:
        self._scan = plan.scan
        self._files = [task.files for task in plan.tasks]
        self._work = work

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from self._work(ScanTask(self._scan, self._files[number]))


def _map_tasks(spark: SparkSession, plan: Plan, work: Work, schema: StructType | str) -> DataFrame:
    """A Spark task for each of the plan's, and none where it has none."""
    many = len(plan.tasks)
    return spark.range(0, many, 1, max(many, 1)).mapInArrow(_Tasks(plan, work), schema)


def _answers(spark: SparkSession, plan: Plan, work: Work) -> Iterator[Any]:
    """What the tasks have to say, in no particular order."""
    if not plan.tasks:
        return
    with plainly():
        parts = _map_tasks(spark, plan, work, f"{_PART} binary").toArrow().column(_PART)
    for part in parts:
        yield pickle.loads(part.as_buffer())  # noqa: S301 - from our own tasks


def _local(spark: SparkSession, answer: pa.Table) -> DataFrame:
    """An answer that is here, in Spark's types."""
    schema = spark_schema(answer.schema, answer.schema.names)
    return spark.createDataFrame(answer.cast(arrow_schema(schema)), schema)


def _pinned(
    url: str, version: int | None, timestamp: Moment | None, options: Mapping[str, Any] | None
) -> tuple[TableLog, Snapshot]:
    if version is not None and timestamp is not None:
        raise OptionError("give a version or a timestamp, not both")
    log = open_table_log(str(url), Options(options))
    moment = None if timestamp is None else milliseconds(timestamp)
    return log, pin(log, None if version is None else whole_number("version", version), moment)


def _predicate(where: str | None, snapshot: Snapshot) -> Predicate | None:
    if where is None:
        return None
    if not isinstance(where, str):
        raise PredicateError(
            f"where is SQL text, such as \"level = 'ERROR'\", not {type(where).__name__}; for Spark's own expressions use "
            ".where() of the DataFrame"
        )
    return parse_predicate(where, snapshot.schema)


__all__ = ["COUNT", "aggregate", "count", "read"]
