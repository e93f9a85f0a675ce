"""`Table`: what people hold in their hands. Each method is one verb, done elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from indextables.core.aggregate import By, Metrics
from indextables.core.errors import CommitError, OptionError, PredicateError, TableExists
from indextables.core.options import Options
from indextables.core.predicate import Predicate, parse_predicate
from indextables.log.actions import SCHEMA_KEY, AddAction
from indextables.log.commit import Committed
from indextables.log.file_entries import with_doc_mappings
from indextables.log.history import Changes, open_at, read_changes, read_history, read_log, version_at
from indextables.log.refresh import read_files, refresh
from indextables.log.snapshot import Snapshot
from indextables.log.state.checkpoint import Checkpointed, checkpoint
from indextables.log.table_log import TableLog
from indextables.storage.resolve import resolve
from indextables.table.arguments import Moment, milliseconds, whole_number
from indextables.table.maintain.describe_state import describe_state
from indextables.table.maintain.list_skips import skips_table
from indextables.table.maintain.merge_plan import merge_limits
from indextables.table.partition_predicate import over_partitions
from indextables.table.progress import Watcher
from indextables.table.read.count import count
from indextables.table.write.after_commit import after_commit
from indextables.table.write.commit_files import Txn, commit_files
from indextables.table.write.create import create_table

if TYPE_CHECKING:
    from indextables.split.cache.index_cache import Prewarmed
    from indextables.table.maintain.merge import Merged


@dataclass(frozen=True)
class Commit:
    """A commit that succeeded, or that had nothing to write (`written` is False, and `reason` says why)."""

    version: int
    """The version it became; where nothing was written, the version that was looked at."""
    txn_id: str
    metrics: dict[str, int] = field(default_factory=dict)
    written: bool = True
    reason: str = ""


class Table:
    """A table at one version. `refresh` moves it to the newest; commits move it to what they wrote."""

    def __init__(self, log: TableLog, snapshot: Snapshot, *, travelled: bool = False) -> None:
        self._log = log
        self._snapshot = snapshot
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
        log = _log(url, options)
        try:
            return cls(log, create_table(log, schema, partition_by))
        except TableExists:
            if if_exists == "error":
                raise
        return cls(log, open_at(log))

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
        if version is not None and timestamp is not None:
            raise OptionError("give a version or a timestamp, not both")
        if version is not None:
            version = whole_number("version", version)
        log = _log(url, options)
        moment = None if timestamp is None else milliseconds(timestamp)
        snapshot = open_at(log, version=version, timestamp_ms=moment)
        return cls(log, snapshot, travelled=version is not None or timestamp is not None)

    def refresh(self) -> Table:
        """Move to the newest version. A table opened at a version or a time stays where it is."""
        if not self._travelled:
            before = self._snapshot
            self._move(before, refresh(self._log, before))
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
        self._check_not_travelled()
        done = commit_files(
            self._log,
            self._snapshot,
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

        self._check_not_travelled()
        return self._moved_to(append(self._log, self._snapshot, data, progress))

    def overwrite(self, data: Any, where: str | None = None, progress: Watcher | None = None) -> Commit:
        """Put rows in place of all that are there when it commits, or with `where` (SQL) of those in the partitions it selects.

        `where` asks for partition columns only, and must be true for each new row. Raises PredicateError otherwise, and what
        `append` raises.
        """
        from indextables.table.write.overwrite import overwrite

        self._check_not_travelled()
        return self._moved_to(overwrite(self._log, self._snapshot, data, where, progress))

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

        self._check_not_travelled()
        limits = merge_limits(self._log.options, target_size, max_dest_splits, max_source_splits_per_merge)
        self.refresh()
        chosen = None if where is None else over_partitions(where, self._snapshot, "merge_splits", "merged")
        before = self._snapshot
        after, merged = merge_splits(self._log, before, limits, chosen, progress)
        self._move(before, after)
        return merged

    def prewarm(self, where: str | None = None) -> Prewarmed:
        """Bring the indexes of all splits, or of those that may hold rows for which `where` (SQL) is true, to local disk.

        What the cache (`cache.disk.maxBytes`) cannot hold is left out. Raises ForeignTable, SplitError.
        """
        from indextables.table.read.prewarm import prewarm

        before = self._snapshot
        after, done = prewarm(self._log, before, self._predicate(where))
        self._move(before, after)
        return done

    def _moved_to(self, done: Committed) -> Commit:
        before = self._snapshot
        self._move(before, done.snapshot)
        if done.written:
            self._move(done.snapshot, after_commit(self._log, done.snapshot))
        return Commit(done.snapshot.version, done.txn_id, done.metrics or {}, done.written, done.reason)

    def checkpoint(self) -> Checkpointed:
        """Write the table's state at its newest version, compacted, so that opening it needs no older versions."""
        self._check_not_travelled()
        self.refresh()
        done = checkpoint(self._log, self._snapshot, compact=True)
        self._snapshot = done.snapshot
        return done

    def _check_not_travelled(self) -> None:
        if self._travelled:
            raise CommitError(
                f"table {self.url} was opened at version {self.version}, which is history; open it without a version to write"
            )

    def files(self, where: str | None = None) -> pa.Table:
        """Live files, without those that cannot hold a row for which `where` (SQL) is true."""
        before = self._snapshot
        after, files = read_files(self._log, before, self._predicate(where))
        self._move(before, after)
        return with_doc_mappings(files, after.registry)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        query: str | None = None,
        limit: int | None = None,
    ) -> pa.RecordBatchReader:
        """The rows for which `where` (SQL) is true and that `query` finds: all or the first `limit`, all columns or those given.

        Rows come in the order of the files, as a stream: they are read while it is. Raises SchemaError, PredicateError,
        QueryError, ForeignTable, and SplitError when a file is missing or damaged.
        """
        from indextables.table.read.scan import scan

        if limit is not None and whole_number("limit", limit) < 0:
            raise OptionError(f"limit is {limit}, but must be 0 or more")
        before = self._snapshot
        after, reader = scan(self._log, before, columns, self._predicate(where), limit, query)
        self._move(before, after)
        return reader

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

        if whole_number("limit", limit) < 0:
            raise OptionError(f"limit is {limit}, but must be 0 or more")
        before = self._snapshot
        after, found = search(self._log, before, query, columns, self._predicate(where), limit, snippets)
        self._move(before, after)
        return found

    def explain(self, query: str) -> str:
        """What a query asks of this table, in words: which columns, and how texts are cut. Raises QueryError."""
        from indextables.table.read.explain import explain_query

        return explain_query(query, self._snapshot)

    def count(self, where: str | None = None, query: str | None = None) -> int:
        """How many rows `where` (SQL) is true for and `query` finds, or how many there are: from the log alone where it knows."""
        before = self._snapshot
        after, rows = count(self._log, before, self._predicate(where), query)
        self._move(before, after)
        return rows

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

        before = self._snapshot
        after, groups = aggregate(self._log, before, by, metrics, self._predicate(where), query)
        self._move(before, after)
        return groups

    def _move(self, before: Snapshot, after: Snapshot) -> None:
        """To what was looked at, unless another thread moved on meanwhile: a handle never goes back."""
        if self._snapshot is before or after.version > self._snapshot.version:
            self._snapshot = after

    def _predicate(self, where: str | None) -> Predicate | None:
        if where is None:
            return None
        if not isinstance(where, str):
            raise PredicateError(f"where is SQL text, such as \"level = 'ERROR'\", not {type(where).__name__}")
        return parse_predicate(where, self._snapshot.schema)

    def history(self, limit: int | None = None) -> pa.Table:
        """Commits, newest first: version, timestamp, operation, parameters, metrics, txn_id, read_version, engine."""
        if limit is not None and whole_number("limit", limit) < 0:
            raise OptionError(f"limit is {limit}, but must be 0 or more")
        return read_history(self._log, self._snapshot, limit)

    def changes(self, since: int | Moment) -> Changes:
        """What was added and removed after a version, or after a time. Raises ChangesGone."""
        if isinstance(since, date | str):
            since = version_at(self._log, milliseconds(since))
        return read_changes(self._log, self._snapshot, whole_number("since", since))

    def state(self) -> pa.Table:
        """The state that the table stands on: format, version, files, manifests, tombstones …, as `property`, `value` rows."""
        return describe_state(self._log, self._snapshot)

    def log(self, include_all: bool = False) -> pa.Table:
        """The log's actions, one a row: since the newest checkpoint, or all that is kept."""
        return read_log(self._log, self._snapshot, include_all=include_all)

    def skips(self) -> pa.Table:
        """Files that an operation could not handle, with the reason, the count, and until when they are left alone."""
        return skips_table(self._snapshot, self._log.clock.wall_ms())

    @property
    def version(self) -> int:
        """The version this table is at."""
        return self._snapshot.version

    @property
    def schema(self) -> pa.Schema:
        """The table's schema, partition columns included."""
        return self._snapshot.schema

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The columns that files are partitioned by, in order."""
        return tuple(self._snapshot.metadata.partition_columns)

    @property
    def properties(self) -> dict[str, str]:
        """The table's properties."""
        configuration = self._snapshot.metadata.configuration
        return {key: value for key, value in configuration.items() if not key.startswith(SCHEMA_KEY)}

    @property
    def url(self) -> str:
        """Where the table lies."""
        return self._log.url

    @property
    def id(self) -> str:
        """The table's identity: another table at the same place has another one."""
        return self._snapshot.table_id

    def __repr__(self) -> str:
        return f"Table({self.url!r}, version={self.version})"


def _log(url: str | os.PathLike[str], options: Mapping[str, Any] | None) -> TableLog:
    checked = Options(options)
    return TableLog(resolve(url, checked).open(), checked)
