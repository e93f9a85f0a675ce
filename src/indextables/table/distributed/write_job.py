"""A write whose splits are built by many processes and committed by one.

    begin_write ──▶ WriteJob ──┬─▶ build(batches) ──▶ Built ─┐
     the driver                ├─▶ build(batches) ──▶ Built ─┼─▶ commit([Built, …]) ──▶ Commit
                               └─▶ build(batches) ──▶ Built ─┘    the driver
                                    tasks, anywhere

A job and what a task built are values that pickle; nothing else connects the processes. Only what is given to `commit`
becomes part of the table, all of it in one version, so a task that ran twice, or half, leaves files that no version names and
nothing else. A table that does not exist is created by the commit: a write that fails leaves none behind.

What failed for good (rows that do not fit) comes back as a value, not as an exception: no engine tries it again, and the
commit can take everything back that the other tasks uploaded.

A task that failed otherwise does not say what it uploaded, and one that was ended says nothing. What they leave in a table is
for purge to remove. Where there is no table yet nobody would purge, so there all names begin with a prefix of the write, by
which they are found and taken back.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from indextables.core import options as opt
from indextables.core.errors import (
    CommitError,
    IndexTablesError,
    OptionError,
    StorageError,
    TableExists,
    TableNotFound,
    TableReplaced,
    VersionNotFound,
)
from indextables.core.options import Options
from indextables.core.predicate import Predicate, to_sql
from indextables.core.types import spark_json_to_arrow
from indextables.log.actions import AddAction, MetadataAction, TxnAction
from indextables.log.commit import Committed
from indextables.log.conflicts import Change, MetadataUpdate, Replace, check_metadata
from indextables.log.history import open_at
from indextables.log.table_log import TableLog
from indextables.table.build.directories import Directories
from indextables.table.build.incoming_rows import rows_in
from indextables.table.build.incoming_schema import as_nullable, check_frame
from indextables.table.build.split_builder import build_splits
from indextables.table.build.uploads import SPLITS, Uploads, commit_uploads, partition_directory
from indextables.table.handle import TableHandle
from indextables.table.open_log import open_log
from indextables.table.open_table import open_table_of
from indextables.table.partition_predicate import partition_predicate, partitions_of
from indextables.table.write.after_commit import after_commit
from indextables.table.write.create import plan_table
from indextables.table.write.overwrite import inside
from indextables.table.write.result import Commit, as_commit
from indextables.table.write_plan import WritePlan

logger = logging.getLogger("indextables")

Mode: TypeAlias = Literal["append", "overwrite", "dynamic"]
"""`overwrite` replaces everything, or what a predicate selects; `dynamic` the partitions that get new rows."""

_NAMES = {"append": "Append", "overwrite": "Overwrite", "dynamic": "Overwrite"}


@dataclass(frozen=True)
class Built:
    """The answer of a task that built splits from rows."""

    adds: tuple[AddAction, ...] = ()
    keys: tuple[str, ...] = ()
    """Every name that the task uploaded, or may have uploaded."""
    rows: int = 0
    error: IndexTablesError | None = None
    """Why there are no splits, and never will be; its uploads are taken back already."""


@dataclass(frozen=True)
class WriteJob:
    """A write that many processes do, from its plan to its commit."""

    log: TableLog
    plan: WritePlan
    """What tasks need to build splits."""
    mode: Mode
    metadata: MetadataAction
    """The metadata of the table that the write was planned on; without an id, if the table is still to be created."""
    where: Predicate | None
    txn: TxnAction | None
    began: float
    """When no upload had begun yet (`Clock.boot` of the driver)."""
    nothing_to_do_because: str = ""
    """Why nothing is written, as text: the batch is in the table already. Empty where there is something to do."""
    new_only: bool = False
    """Whether it is an error when somebody else creates the table meanwhile."""
    renewed: MetadataUpdate | None = None
    """The columns and properties that the commit gives the table, if the write replaces the table and not its rows alone."""
    read_version: int | None = None
    """The version of the table that the new rows were computed from, if they were: a commit by others to what is replaced is then
    a conflict, and for rows that are appended a commit by others to any rows."""
    planned_version: int = 0
    """The version of the table that the write was planned on."""
    upload_prefix: str = ""
    """What the names of all uploads of this write begin with, if the table is still to be created."""
    directories_before: Directories | None = None
    """The directories that existed before the first upload, if the table is still to be created."""

    def computed_from(self, version: int) -> WriteJob:
        """A copy of this write, for rows computed from a version of the table. Raises VersionNotFound without a table."""
        if not self.metadata.id:
            raise VersionNotFound(
                f"there is no table at {self.log.url} yet, so it has no version {version}: leave the version out",
                url=self.log.url,
                version=version,
            )
        return replace(self, read_version=version)

    def build(self, batches: Iterable[pa.RecordBatch]) -> Built:
        """Turn rows into splits in the store. Raises what may be better the next time, after taking back its uploads."""
        if self.nothing_to_do_because:
            return Built()
        counted = _Counted(rows_in(batches, self.plan.schema))
        rows: Iterable[pa.RecordBatch] = counted if self.where is None else inside(counted, self.where)
        uploads = Uploads(self.plan.log, prefix=self.upload_prefix)
        try:
            adds = build_splits(self.plan, rows, uploads)
        except BaseException as error:
            self._take_back(uploads)
            if isinstance(error, IndexTablesError) and not may_pass(error):
                return Built(error=error)
            raise
        return Built(tuple(adds), uploads.keys, counted.rows)

    def commit(self, built: Sequence[Built], *, lives_on: bool = True) -> Commit:
        """Commit exactly what these tasks built, in one version. A purge follows where the options ask for purges after writes.

        A purge is a thread of this process. With `lives_on` False the process ends right after the commit, and none follows.
        Raises the first task's error, and what `Table.append` raises. All but CommitOutcomeUnknown leave no files behind.
        """
        uploads = Uploads(self.log, [key for part in built for key in part.keys], self.began)
        try:
            for part in built:
                if part.error is not None:
                    raise part.error
            handle = self._table()
            change = self._change(handle, [add for part in built for add in part.adds])
        except BaseException:
            self.discard(built)
            raise
        if change is None:
            reason = self.nothing_to_do_because or "the data has no rows"
            return as_commit(Committed(handle.snapshot, "", written=False, reason=reason, metrics={}))
        operation = "WRITE" if self.renewed is None else "REPLACE TABLE"
        done = commit_uploads(handle, change, uploads, operation=operation, parameters=self._parameters())
        uploads.discard(keep=[add.path for add in change.adds] if done.written else ())
        if done.written:
            after = after_commit(handle.moved(done.snapshot))
            if lives_on and self.log.settings.purges:
                from indextables.table.maintain.purge_on_write import purge_after_write

                purge_after_write(after)
        return as_commit(done)

    def discard(self, built: Iterable[Built]) -> None:
        """Take back what tasks uploaded. Only for a write whose commit certainly never began.

        Tasks that still run, because Spark has not ended them yet, may leave something all the same.
        """
        self._take_back(Uploads(self.log, {*(key for part in built for key in part.keys), *self._marked()}))

    def _take_back(self, uploads: Uploads) -> None:
        keys = uploads.keys
        uploads.discard()
        if self.directories_before is not None:
            self.directories_before.remove(keys)

    def _marked(self) -> list[str]:
        """What tasks of this write have in the store, those included that did not live to say so. Best effort."""
        if not self.upload_prefix:
            return []
        columns = self.plan.partition_by
        name = SPLITS + self.upload_prefix
        prefix = partition_directory({columns[0]: ""}).partition("=")[0] + "=" if columns else name
        try:
            return [found.key for found in self.log.store.list(prefix) if f"/{name}" in f"/{found.key}"]
        except StorageError as error:
            logger.warning("table %s: what a failed write left cannot be listed: %s", self.log.url, error)
            return []

    def _table(self) -> TableHandle:
        """The table as it is now, still the one that was planned on. A table that does not exist is created."""
        if self.metadata.id:
            handle = TableHandle(self.log, open_at(self.log, version=self.read_version))
            if handle.table_id != self.metadata.id:
                raise TableReplaced(
                    f"table {self.log.url} was dropped and created again while it was written to; write again",
                    url=self.log.url,
                )
        else:
            try:
                planned = plan_table(self.log, self.metadata.schema_string, self.metadata.partition_columns)
                whole = replace(planned, configuration=dict(self.metadata.configuration))
                return TableHandle(self.log, whole.carry_out())
            except TableExists:
                if self.new_only:
                    raise
                handle = open_table_of(self.log)
        check_metadata(Change(metadata=self.renewed), self.metadata, handle.snapshot.metadata, self.log.url)
        return handle

    def _change(self, handle: TableHandle, adds: Sequence[AddAction]) -> Change | None:
        if self.nothing_to_do_because:
            return None
        replaced = None
        if self.mode == "overwrite":
            replaced = Replace(self.where, self.read_version is not None)
        elif self.mode == "dynamic" and adds:
            partitions = partitions_of([add.partition_values for add in adds], handle.snapshot)
            replaced = Replace(partitions, self.read_version is not None)
        if not adds and replaced is None and self.txn is None:
            return None
        appended = self.mode == "append" and self.read_version is not None
        return Change(
            adds=tuple(adds), replace=replaced, metadata=self.renewed, txn=self.txn, computed_from_all=appended
        )

    def _parameters(self) -> dict[str, Any]:
        parameters = {"mode": _NAMES[self.mode]}
        if self.where is not None:
            parameters["predicate"] = to_sql(self.where)
        if self.mode == "dynamic":
            parameters["partitionOverwriteMode"] = "dynamic"
        return parameters


def begin_write(
    url: str,
    schema_json: str,
    options: Options,
    *,
    mode: Mode,
    partition_by: Sequence[str] | None = None,
    where: str | None = None,
    txn: TxnAction | None = None,
    properties: Mapping[str, str] | None = None,
    nullable: bool = True,
) -> WriteJob:
    """Plan a write of rows with this Spark schema. Everything that can be wrong before there are rows is an error here.

    A table that does not exist yet gets `properties`, which are the user's own, together with its options. Its columns are all
    nullable, unless the author of the schema says otherwise and `nullable` is False.
    """
    log = open_log(url, options)
    began = log.clock.boot()
    try:
        handle = open_table_of(log)
    except TableNotFound:
        handle = new_table(
            log, as_nullable(schema_json) if nullable else schema_json, partition_by or (), properties or {}
        )
    else:
        handle.require_writable("writing")
        _check_claims(handle, options, partition_by)
        check_frame(schema_json, handle.schema)
    columns = handle.partition_columns
    if mode == "dynamic" and not columns:
        mode = "overwrite"  # all rows are in the one partition there is
    wording = f"replaceWhere {where!r}"
    selected = None if where is None else partition_predicate(where, handle.schema, columns, wording, "replaced")
    plan = task_plan(handle)
    metadata = handle.snapshot.metadata
    job = WriteJob(log, plan, mode, metadata, selected, txn, began, _written_already(handle, txn))
    job = replace(job, planned_version=handle.version)
    if metadata.id:
        return job
    prefix = log.clock.uuid().replace("-", "")[:16]  # longer than what comes before the first dash in other names
    return replace(job, upload_prefix=f"{prefix}-", directories_before=Directories(log))


def task_plan(handle: TableHandle) -> WritePlan:
    """The plan for rows of a table that tasks build, each with one processor."""
    plan = handle.write_plan
    return plan if handle.options.is_set(opt.INDEX_WRITER_THREADS) else replace(plan, index_threads=1)


def new_table(
    log: TableLog, schema_string: str, partition_by: Sequence[str], properties: Mapping[str, str]
) -> TableHandle:
    """The table as a commit is going to make it: it has no id yet."""
    spelled = {name.lower(): name for name in spark_json_to_arrow(schema_string).names}
    planned = plan_table(log, schema_string, [spelled.get(name.lower(), name) for name in partition_by])
    return TableHandle(log, replace(planned, configuration={**properties, **planned.configuration}).snapshot())


def _check_claims(handle: TableHandle, options: Options, partition_by: Sequence[str] | None) -> None:
    """What the caller says of the table must be so; what is about indexing is checked with the plan."""
    columns = handle.partition_columns
    if partition_by is not None and [name.lower() for name in partition_by] != [name.lower() for name in columns]:
        raise OptionError(
            f"partitionBy is {', '.join(partition_by) or 'empty'}, but table {handle.url} is partitioned by "
            f"{', '.join(columns) or 'nothing'}: leave the option out, or write another table"
        )
    for option in (opt.SAFETY_AGE_HOURS, opt.TXN_RETENTION_HOURS):
        held = opt.table_value(handle.snapshot.metadata.configuration, option)
        if options.is_set(option) and options[option] != held:
            raise OptionError(
                f"{option.key} is {options[option]:g}, but table {handle.url} was created with {held:g}: leave the option out",
                key=option.key,
            )


def _written_already(handle: TableHandle, txn: TxnAction | None) -> str:
    """Why the batch of `txn` need not be written; empty where it has to be."""
    latest = None if txn is None else handle.snapshot.latest_txn(txn.app_id)
    if txn is None or latest is None or latest.version < txn.version:
        return ""
    return f"batch {txn.version} of {txn.app_id} is in the table already"


def may_pass(error: IndexTablesError) -> bool:
    """Whether the same may succeed in another process, or a little later."""
    return error.retryable or isinstance(error, StorageError | CommitError)


class _Counted:
    """Batches, and how many rows they had."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = batches
        self.rows = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            self.rows += batch.num_rows
            yield batch


__all__ = ["Built", "Commit", "Mode", "TxnAction", "WriteJob", "begin_write", "may_pass", "new_table", "task_plan"]
