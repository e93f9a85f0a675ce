"""Writes that Spark's planner hands over: planned and committed in the driver, built by workers."""

from __future__ import annotations

import base64
import json
import pickle
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.types import BinaryType, StructField, StructType

from indextables.core.errors import OptionError, TableExists, TableNotFound
from indextables.core.predicate import to_sql
from indextables.spark.connector.planning.planner import NOT_OURS, SAVE, reader_options
from indextables.spark.connector.planning.questions import TableText
from indextables.spark.connector.tables.creation import PROPERTIES
from indextables.spark.connector.tables.deletes import partition_filter
from indextables.spark.reading.read_options import READ_OPTIONS
from indextables.spark.writing.source_writer import BatchWriter
from indextables.spark.writing.write_options import WriteRequest, exists_already, parse_request
from indextables.table.distributed.opening import open_log, open_table_of
from indextables.table.distributed.replace_job import begin_replace
from indextables.table.distributed.write_job import WriteJob, begin_write

_MODES: Final = {"ErrorIfExists": "error", "Ignore": "ignore", "Append": "append", "Overwrite": "overwrite"}
"""Spark's names of the modes of a save, and ours."""
_LATE_SECONDS: Final = (1, 2, 4, 8, 15, 30)
"""Pauses, in seconds, after which an aborted first write is looked at again: a minute together. Spark aborts a write while other
tasks still run, and ends their Python processes some seconds later; a split may be uploaded until then."""
_YES: Final = b"\x01"
_NO: Final = b"\x00"


class WriteBatches:
    """The function that a worker runs: the rows of a task in, one message about the splits that were built out."""

    def __init__(self, writer: BatchWriter) -> None:
        self._writer = writer

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Called by Spark with the batches of one task."""
        message = pickle.dumps(self._writer.write(iter(batches)))
        yield pa.RecordBatch.from_arrays([pa.array([message], pa.binary())], names=["message"])


def save(asked: Mapping[str, Any]) -> list[bytes]:
    """What `df.write.mode(…).save(url)` has to do: whether it writes, with which options, by appending or by overwriting."""
    mode = _MODES[asked["mode"]]
    given = {key.lower(): value for key, value in asked["options"].items()}
    if given.pop("__clustering_columns", None) is not None:
        raise OptionError(
            "clusterBy is not for this format: sort the rows before the write, with df.sortWithinPartitions(…)"
        )
    columns = given.pop("__partition_columns", None)
    if columns is not None:
        from indextables.core.options.kinds import join_list

        given["partitionby"] = join_list(json.loads(columns))
    overwrite = mode == "overwrite"
    request = parse_request(reader_options({**asked, "options": given}), overwrite=overwrite)
    if mode in ("error", "ignore") and _exists(request):
        if mode == "error":
            raise exists_already(request.url)
        return [_NO, b"", b""]
    return [_YES, json.dumps({**given, SAVE: mode}).encode(), b"overwrite" if overwrite else b"append"]


def _exists(request: WriteRequest) -> bool:
    try:
        open_table_of(open_log(request.url, request.options))
    except TableNotFound:
        return False
    return True


def begin(asked: Mapping[str, Any]) -> list[bytes]:
    """The function that workers run, and the writer that commits, both pickled."""
    options = _options(asked)
    mode, own = options.pop(SAVE, None), json.loads(options.pop(PROPERTIES.lower(), "{}"))
    purpose, replaces = asked["purpose"], asked["replaces"]
    schema = StructType.fromJson(json.loads(asked["schema"]))
    if replaces == "its partitions":
        options["partitionoverwritemode"] = "dynamic"
    if replaces == "some":
        options["replacewhere"] = _where(asked, options)
    renews = purpose in ("replace", "create_or_replace") and "replacewhere" not in options

    def plan(request: WriteRequest, schema_json: str) -> WriteJob:
        if renews:
            try:
                job = begin_replace(
                    request.url,
                    schema_json,
                    request.options,
                    partition_by=request.partition_by or (),
                    properties=own,
                )
                return request.depending(job, _read_version(asked, job))
            except TableNotFound:
                if purpose == "replace":
                    raise
        job = begin_write(
            request.url,
            schema_json,
            request.options,
            mode=request.mode,
            partition_by=request.partition_by,
            where=request.where,
            txn=request.txn,
            properties=own,
        )
        job = replace(job, new_only=purpose in ("create", "create_or_replace") or mode in ("error", "ignore"))
        return request.depending(job, _read_version(asked, job))

    writer = BatchWriter(schema, options, replaces != "nothing", plan)
    writer.ignores = mode == "ignore"
    writer.lives_on = True  # `commit` runs in the driver
    pickler: Callable[[Any], bytes] = CloudPickleSerializer().dumps
    return [pickler((WriteBatches(writer), StructType([StructField("message", BinaryType())]))), pickler(writer)]


def _read_version(asked: Mapping[str, Any], job: WriteJob) -> int | None:
    """The version of the written table that the query reads; None where the query does not read it, or names an older version.

    A query that reads version 3 on purpose restores it: what others did since then is what the caller wants to be gone. Where
    nobody knows all that a query reads, the rows may be computed from the version that the write was planned on.
    """
    if job.mode == "append" or not job.metadata.id:
        return None
    tables = [TableText.decode(text) for text in asked.get("reads", ())]
    travels = {"versionasof", "timestampasof"}
    read = [
        table.version
        for table in tables
        if table.table_id == job.metadata.id and not travels & {key.lower() for key, _ in table.options}
    ]
    if not asked.get("reads_known", False):
        read.append(job.planned_version)
    return min((version for version in read if version is not None), default=None)


def _options(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a write: of the table that was opened, and of the writer over them. The table's place stays."""
    own = {key.lower(): value for key, value in TableText.decode(asked["table"]).options}
    given = {key.lower(): value for key, value in asked["options"].items()}
    merged = {**own, **given, "path": own.get("path") or given.get("path")}
    for name in READ_OPTIONS:
        if name != "path" and name.lower() in merged:
            raise OptionError(
                f"{name} is {merged[name.lower()]!r}, which is for reads: rows are written to the newest version of a whole "
                "table; name the table without the option",
                option=name,
            )
    return {key: value for key, value in merged.items() if key not in NOT_OURS}


def _where(asked: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """The partitions that an overwrite replaces, as SQL. Raises PredicateError where a filter selects rows."""
    request = parse_request(
        {key: value for key, value in options.items() if key not in (SAVE, PROPERTIES)}, overwrite=True
    )
    table = open_table_of(open_log(request.url, request.options))
    where = partition_filter(asked["filters"], table.schema, table.partition_columns, "an overwrite of some rows")
    return "true" if where is None else to_sql(where)


def commit(asked: Mapping[str, Any]) -> list[bytes]:
    """Make one version of what the tasks built. The answer is the id of a table that the write made, or empty."""
    writer = _writer(asked)
    job = writer.job
    try:
        writer.commit(_messages(asked))
    except TableExists as error:
        if writer.ignores:
            return [b""]
        raise exists_already(job.log.url) from error
    return [open_table_of(job.log).table_id.encode() if job.new_only and not job.metadata.id else b""]


def abort(asked: Mapping[str, Any]) -> list[bytes]:
    """Take back what the tasks built, if it is certain that no commit began.

    Where there is no table yet, nobody purges what a task uploads after this. So a thread takes that back, too.
    """
    writer, messages = _writer(asked), _messages(asked)
    writer.abort(messages)
    if writer.job.upload_prefix and None in messages:
        threading.Thread(target=_take_back_late, args=(writer.job,), name="indextables-abort", daemon=True).start()
    return []


def _take_back_late(job: WriteJob) -> None:
    for pause in _LATE_SECONDS:
        time.sleep(pause)
        job.discard([])


def _writer(asked: Mapping[str, Any]) -> BatchWriter:
    writer: BatchWriter = pickle.loads(base64.b64decode(asked["writer"]))  # noqa: S301 - our own, kept by the driver's Java
    return writer


def _messages(asked: Mapping[str, Any]) -> list[Any]:
    return [None if said is None else pickle.loads(base64.b64decode(said)) for said in asked["messages"]]  # noqa: S301 - of our tasks
