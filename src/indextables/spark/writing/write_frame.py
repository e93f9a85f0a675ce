"""`indextables.spark.write`: a DataFrame into a table, with all modes, and an answer that says what happened.

Spark gives Python sources only append and overwrite, and nothing back. Here the tasks are `mapInArrow` of the DataFrame itself,
in classic and in Connect sessions, and this process commits what they built: two processes less to wait for, and errors that
arrive as they were raised.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from indextables.core import options as opt
from indextables.core.errors import OptionError, TableExists, TableNotFound
from indextables.spark.maintenance.merge_on_write import after_write
from indextables.spark.reading.month_intervals import as_months
from indextables.spark.worker_errors import plainly
from indextables.spark.writing.distribution import optimize, split_size
from indextables.spark.writing.write_options import WriteRequest, exists_already, parse_request
from indextables.table import Table
from indextables.table.distributed.write_job import Built, Commit, WriteJob

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SaveMode = Literal["error", "ignore", "append", "overwrite"]
_MODES = ("error", "errorifexists", "ignore", "append", "overwrite")


def write(
    df: DataFrame,
    url: str,
    mode: SaveMode = "error",
    *,
    partition_by: str | Sequence[str] | None = None,
    replace_where: str | None = None,
    txn: tuple[str, int] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Commit:
    """Write the rows of a DataFrame, and say what became of them: the version, and metrics such as `numAddedRecords`.

    A table that does not exist is created, in every mode. `replace_where` (SQL over partition columns) and the option
    `partitionOverwriteMode=dynamic` say what overwrite replaces, `txn` is (name of a writer, number of its batch): a batch that
    is in the table already is not written again, and the answer has `written=False`. Every row is in the table exactly once
    afterwards, or none is and this raises; after CommitOutcomeUnknown look into the table's history.
    """
    said = str(mode).lower()
    if said not in _MODES:
        raise OptionError(f"mode is {mode!r}, expected one of {', '.join(_MODES)}")
    if not hasattr(df, "mapInArrow"):
        raise OptionError(f"write takes a DataFrame of Spark, not {type(df).__name__}")
    given = dict(options or {}) | {"path": str(url)}
    if partition_by is not None:
        given["partitionBy"] = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
    if replace_where is not None:
        given["replaceWhere"] = replace_where
    if txn is not None:
        if not isinstance(txn, tuple | list) or len(txn) != 2:
            raise OptionError(
                f"txn is {txn!r}, expected the name of a writer and the number of its batch: ('loader', 7)"
            )
        given |= {"txnAppId": txn[0], "txnVersion": txn[1]}
    request = parse_request(given, overwrite=said == "overwrite")
    new_only = said not in ("append", "overwrite")
    if new_only and (version := _version(request)) is not None:
        return _exists(request, said, version)
    job = replace(request.begin(df.schema.json()), new_only=new_only)
    rows = as_months(df)
    size: AbstractContextManager[None] = nullcontext()
    if job.log.options[opt.WRITE_OPTIMIZE_WRITE_ENABLED] and not job.nothing_to_do_because:
        rows = optimize(rows, job.plan.partition_by, job.log.options)
        size = split_size(df.sparkSession, job.log.options)
    try:
        built = _build(rows, job, size) if not job.nothing_to_do_because else []
    except BaseException:
        job.discard(())
        raise
    try:
        done = job.commit(built)
    except TableExists:
        version = _version(request)
        if version is None:
            raise
        return _exists(request, said, version)
    after_write(df.sparkSession, job, done)
    return done


def _version(request: WriteRequest) -> int | None:
    """The version that the table is at, None where there is none."""
    try:
        return Table.open(request.url, options=request.options.explicit()).version
    except TableNotFound:
        return None


def _exists(request: WriteRequest, mode: str, version: int) -> Commit:
    if mode == "ignore":
        return Commit(version, "", written=False, reason=f"there is a table at {request.url} already")
    raise exists_already(request.url)


def _build(df: DataFrame, job: WriteJob, size: AbstractContextManager[None]) -> list[Built]:
    with plainly(), size:
        # by number, because `mapInArrow` looks columns up by their names, and takes a dot in one for a path
        numbered = df.toDF(*(f"c{number}" for number in range(len(df.columns))))
        answers = numbered.mapInArrow(build_task(job, df.columns), "built binary").collect()
    return [pickle.loads(bytes(row.built)) for row in answers]  # noqa: S301 - from our own tasks


def build_task(job: WriteJob, names: list[str]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that a Spark task runs: it builds splits of its rows, uploads them and answers with what it built."""

    def build(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        built = pickle.dumps(job.build(batch.rename_columns(names) for batch in batches))
        yield pa.RecordBatch.from_arrays([pa.array([built], pa.binary())], names=["built"])

    return build
