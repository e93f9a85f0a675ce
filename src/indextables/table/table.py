"""`Table`: what callers of this package use. Each method is one verb, done by a module of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from indextables.core.aggregate import By, Metrics, parse_aggregate
from indextables.core.errors import CommitError, OptionError, TableExists
from indextables.log.actions import SCHEMA_KEY, AddAction
from indextables.log.commit import Committed
from indextables.log.file_entries import with_doc_mappings
from indextables.log.history import Changes, open_at, read_changes, read_history, read_log, version_at
from indextables.log.state.checkpoint import Checkpointed, compacted_checkpoint
from indextables.table.arguments import Moment, milliseconds, row_limit, whole_number
from indextables.table.handle import TableHandle
from indextables.table.maintain.describe_state import describe_state
from indextables.table.maintain.list_skips import skips_table
from indextables.table.maintain.merge_plan import merge_limits
from indextables.table.open_log import open_log
from indextables.table.open_table import open_table
from indextables.table.partition_predicate import over_partitions
from indextables.table.progress import Watcher
from indextables.table.read.count import count
from indextables.table.read.request import ByScore, make_request, plan_read
from indextables.table.write.after_commit import after_commit
from indextables.table.write.commit_files import Txn, commit_files
from indextables.table.write.create import create_table
from indextables.table.write.result import Commit, as_commit

if TYPE_CHECKING:
    from indextables.split.cache.index_cache import Prewarmed
    from indextables.table.maintain.merge import Merged


class Table:
    """A table at one version. `refresh` moves it to the newest; commits move it to what they wrote."""

    def __init__(self, handle: TableHandle, *, travelled: bool = False) -> None:
        self._handle = handle
        self._travelled = travelled

    @classmethod
    def create(
        cls,
        url: str | os.PathLike[str],
        schema: pa.Schema | str,
        partition_by: Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
        if_exists: Literal["error", "open"] = "error",
    ) -> Table:
        """Create a table. `schema` is Arrow or Spark's JSON; with `if_exists="open"` an existing table is opened as it is.

        Raises TableExists, SchemaError, OptionError.
        """
        if if_exists not in ("error", "open"):
            raise OptionError(f"if_exists is {if_exists!r}, but must be 'error' or 'open'")
        log = open_log(url, options)
        try:
            return cls(TableHandle(log, create_table(log, schema, partition_by)))
        except TableExists:
            if if_exists == "error":
                raise
        return cls(TableHandle(log, open_at(log)))

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        version: int | None = None,
        timestamp: Moment | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Table:
        """Open the newest version, an older one, or the one that was in force at a time (text: ISO 8601, UTC by default).

        Raises TableNotFound, VersionNotFound.
        """
        handle = open_table(url, version, timestamp, options)
        return cls(handle, travelled=version is not None or timestamp is not None)

    def refresh(self) -> Table:
        """Move to the newest version. A table opened at a version or a time stays where it is.

        Raises TableReplaced where the table was dropped and another one created in its place.
        """
        if not self._travelled:
            before = self._handle
            self._move(before, before.refreshed())
        return self

    def commit_files(
        self,
        adds: Iterable[AddAction] = (),
        removes: Iterable[str] = (),
        properties: Mapping[str, Any] | None = None,
        txn: Txn | None = None,
        operation: str = "WRITE",
        data_change: bool = True,
    ) -> Commit:
        """Commit data files that are in place already: the low-level verb, for engines.

        `removes` are paths of live files. `properties` are set, or dropped where the value is None. `txn` is `(app, batch)`
        of an exactly-once writer: a batch that is in the table already is not written again. `data_change=False` says that
        rows were only rearranged. Raises MetadataChanged, FilesChanged, TooManyConflicts, CommitOutcomeUnknown.
        """
        _check_not_travelled(self._handle, travelled=self._travelled)
        done = commit_files(
            self._handle,
            adds=adds,
            removes=removes,
            properties=properties,
            txn=txn,
            operation=operation,
            data_change=data_change,
        )
        return self._moved_to(done)

    def append(self, data: Any, progress: Watcher | None = None) -> Commit:
        """Add rows: an Arrow table, a batch, a reader, an iterable of batches, or anything with `__arrow_c_stream__`.

        Columns are found by name, missing ones are null, and values are cast only where nothing is lost. Without rows
        nothing is written. Raises SchemaError, OptionError, ForeignTable, StorageError and what `commit_files` raises; all but
        CommitOutcomeUnknown leave neither rows nor files behind.
        """
        from indextables.table.write.append import append

        _check_not_travelled(self._handle, travelled=self._travelled)
        return self._moved_to(append(self._handle, data, progress), rows=True)

    def overwrite(self, data: Any, where: str | None = None, progress: Watcher | None = None) -> Commit:
        """Put rows in place of all that are there when it commits, or with `where` (SQL) of those in the partitions it selects.

        `where` asks for partition columns only, and must be true for each new row. Raises PredicateError otherwise, and what
        `append` raises.
        """
        from indextables.table.write.overwrite import overwrite

        _check_not_travelled(self._handle, travelled=self._travelled)
        return self._moved_to(overwrite(self._handle, data, where, progress), rows=True)

    def merge_splits(
        self,
        target_size: int | str | None = None,
        where: str | None = None,
        max_dest_splits: int | None = None,
        max_source_splits_per_merge: int = 1000,
        progress: Watcher | None = None,
    ) -> Merged:
        """Make few large splits of many small ones, in all partitions or in those that `where` (SQL) selects. Rows stay.

        `target_size` is in bytes, or text such as "1G"; `max_dest_splits` ends the work after that many results. A split that
        cannot be read is left as it is, and out of merges for a day. Raises PredicateError, OptionError, ForeignTable,
        StorageError and what `commit_files` raises.
        """
        from indextables.table.maintain.merge import merge_splits

        _check_not_travelled(self._handle, travelled=self._travelled)
        limits = merge_limits(self._handle.options, target_size, max_dest_splits, max_source_splits_per_merge)
        self.refresh()
        chosen = None if where is None else over_partitions(where, self._handle.snapshot, "merge_splits", "merged")
        before = self._handle
        result = merge_splits(before, limits, chosen, progress)
        self._move(before, result.handle)
        return result.merged

    def prewarm(self, where: str | None = None) -> Prewarmed:
        """Bring the indexes of all splits, or of those that may hold rows for which `where` (SQL) is true, to local disk.

        What the cache (`cache.disk.maxBytes`) cannot hold is left out. Raises ForeignTable, SplitError.
        """
        from indextables.table.read.prewarm import prewarm

        handle = self._handle
        return prewarm(handle, make_request(handle, "prewarming", columns=(), where=where))

    def _moved_to(self, done: Committed, *, rows: bool = False) -> Commit:
        """Move to what was committed. With `rows`, merges follow where the options ask for them."""
        before = self._handle
        after = before.moved(done.snapshot)
        self._move(before, after)
        if done.written:
            self._move(after, after_commit(after))
            if rows and before.log.settings.merge_every is not None:
                from indextables.table.maintain.merge_on_write import merge_after_write

                merge_after_write(before.version, self._handle, before.log.settings.merge_every)
        return as_commit(done)

    def checkpoint(self) -> Checkpointed:
        """Make sure that the newest version has a compact state, so that opening the table needs no older versions.

        Where that version has a state that is not compact, an empty version is committed (operation `CHECKPOINT`) and its state
        is written. Where the state is compact already, nothing is written and `written` is False.
        """
        _check_not_travelled(self._handle, travelled=self._travelled)
        self.refresh()
        before = self._handle
        done = compacted_checkpoint(before)
        self._move(before, before.moved(done.snapshot))
        return done

    def files(self, where: str | None = None) -> pa.Table:
        """Live files, without those that cannot hold a row for which `where` (SQL) is true."""
        handle = self._handle
        files = plan_read(handle, make_request(handle, None, columns=(), where=where)).files
        return with_doc_mappings(files, handle.snapshot.registry)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        query: str | None = None,
        limit: int | None = None,
    ) -> pa.RecordBatchReader:
        """The rows for which `where` (SQL) is true and that `query` finds: all or the first `limit`, all columns or those given.

        `where` compares columns and searches them: `message INDEXQUERY 'error AND timeout' OR ms > 500`.
        Rows come in the order of the files, as a stream: they are read while it is. Raises SchemaError, PredicateError,
        QueryError, ForeignTable, and SplitError when a file is missing or damaged.
        """
        from indextables.table.read.scan import scan

        handle = self._handle
        return scan(handle, make_request(handle, "reading", columns=columns, where=where, query=query, limit=limit))

    def search(
        self,
        query: str,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        limit: int = 10,
        snippets: Sequence[str] | None = None,
    ) -> pa.Table:
        """The best rows that `query` finds and `where` (SQL) is true for, best first, with `_score`.

        `snippets` names text columns of which the parts with the words are shown, in `_snippets`. The score is BM25 within the
        file that holds the row. Raises QueryError, PredicateError, SchemaError, ForeignTable, SplitError.
        """
        from indextables.table.read.search import search

        handle = self._handle
        request = make_request(
            handle,
            "searching",
            columns=columns,
            where=where,
            query=query,
            score=True,
            snippets=snippets,
            order=ByScore(),
            limit=limit,
        )
        return search(handle, request)

    def explain(self, query: str) -> str:
        """What a query asks of this table, in words: which columns, and how texts are cut. Raises QueryError."""
        from indextables.table.read.explain import explain_query

        return explain_query(self._handle, query)

    def count(self, where: str | None = None, query: str | None = None) -> int:
        """How many rows `where` (SQL) is true for and `query` finds, or how many there are: from the log alone where it knows."""
        handle = self._handle
        doing = None if query is None else "searching"
        return count(handle, make_request(handle, doing, columns=(), where=where, query=query))

    def aggregate(
        self,
        by: By = (),
        metrics: Metrics = MappingProxyType({"n": "count"}),
        where: str | None = None,
        query: str | None = None,
    ) -> pa.Table:
        """Groups of the rows that `where` (SQL) is true for and `query` finds, in the order of their keys, nulls last.

        `by` has columns, `histogram(size, 100)`, `date_histogram(ts, 'hour')` or `range(size, 10, 100)`; `metrics` has `count`,
        `count(x)`, `count(distinct x)`, `sum(x)`, `avg(x)`, `min(x)` and `max(x)`. Both are texts, or a mapping of names to
        texts. The answer is exact, and the same however rows lie in files. Raises QueryError, PredicateError, SplitError.
        """
        from indextables.table.read.aggregate import aggregate

        handle = self._handle
        handle.require_bundles("reading")
        groups = parse_aggregate(by, metrics, handle.schema)
        return aggregate(
            handle, make_request(handle, "reading", columns=groups.columns, where=where, query=query, aggregate=groups)
        )

    def _move(self, before: TableHandle, after: TableHandle) -> None:
        """Move from `before` to `after`, unless another thread moved this table further meanwhile: a table never goes back."""
        if self._handle is before or after.version > self._handle.version:
            self._handle = after

    def history(self, limit: int | None = None) -> pa.Table:
        """Commits, newest first: version, timestamp, operation, parameters, metrics, txn_id, read_version, engine."""
        return read_history(self._handle, None if limit is None else row_limit("limit", limit))

    def changes(self, since: int | Moment) -> Changes:
        """What was added and removed after a version, or after a time. Raises ChangesGone."""
        if isinstance(since, date | str):
            since = version_at(self._handle.log, milliseconds(since))
        return read_changes(self._handle, whole_number("since", since))

    def state(self) -> pa.Table:
        """The state that the table stands on: format, version, files, manifests, tombstones …, as `property`, `value` rows."""
        return describe_state(self._handle)

    def log(self, include_all: bool = False) -> pa.Table:
        """The log's actions, one a row: since the newest checkpoint, or all that is kept."""
        return read_log(self._handle, include_all=include_all)

    def skips(self) -> pa.Table:
        """Files that an operation could not handle, with the reason, the count, and until when they are left alone."""
        return skips_table(self._handle.snapshot, self._handle.log.clock.wall_ms())

    @property
    def version(self) -> int:
        """The version this table is at."""
        return self._handle.version

    @property
    def schema(self) -> pa.Schema:
        """The table's schema, partition columns included."""
        return self._handle.schema

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The columns that files are partitioned by, in order."""
        return self._handle.partition_columns

    @property
    def properties(self) -> dict[str, str]:
        """The table's properties."""
        configuration = self._handle.snapshot.metadata.configuration
        return {key: value for key, value in configuration.items() if not key.startswith(SCHEMA_KEY)}

    @property
    def url(self) -> str:
        """Where the table lies."""
        return self._handle.url

    @property
    def id(self) -> str:
        """The table's identity: another table at the same place has another one."""
        return self._handle.table_id

    def __repr__(self) -> str:
        return f"Table({self.url!r}, version={self.version})"


def _check_not_travelled(handle: TableHandle, *, travelled: bool) -> None:
    """Raises CommitError if the caller opened an older version: a write would not follow what the caller sees."""
    if travelled:
        raise CommitError(
            f"table {handle.url} was opened at version {handle.version}, which is history; open it without a version to write"
        )


def table_at(handle: TableHandle) -> Table:
    """The table that a handle is about, for callers who hold a `Table`."""
    return Table(handle)


def handle_of(table: Table) -> TableHandle:
    """The handle behind a table, for verbs that `Table` has no method for."""
    return table._handle  # noqa: SLF001 - the other half of `table_at`
