"""`Questions`: the methods of `Table` that ask. Each method is one verb, done by a module of its own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from types import MappingProxyType

import pyarrow as pa

from indextables.core.aggregate import By, Metrics, parse_aggregate
from indextables.core.metrics import METRICS
from indextables.log.file_entries import with_doc_mappings
from indextables.log.history import Changes, read_changes, read_history, read_log, version_at
from indextables.table.arguments import Moment, milliseconds, row_limit, version_before
from indextables.table.at_version import TableAtVersion
from indextables.table.maintain.describe_state import describe_state
from indextables.table.maintain.describe_table import describe_table
from indextables.table.maintain.list_partitions import partitions_table
from indextables.table.maintain.list_skips import skips_table
from indextables.table.read.count import count
from indextables.table.read.request import ByScore, make_request, plan_read


def rows_of(answer: pa.Table) -> int:
    """How many rows an answer has, for the metrics of a question."""
    return int(answer.num_rows)


class Questions(TableAtVersion):
    """What callers ask of a table: its rows, its files and its past."""

    @METRICS.measured("files")
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

    @METRICS.measured("search", rows=rows_of)
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

    @METRICS.measured("explain")
    def explain(self, query: str) -> str:
        """What a query asks of this table, in words: which columns, and how texts are cut. Raises QueryError."""
        from indextables.table.read.explain import explain_query

        return explain_query(self._handle, query)

    @METRICS.measured("count")
    def count(self, where: str | None = None, query: str | None = None) -> int:
        """How many rows `where` (SQL) is true for and `query` finds, or how many there are: from the log alone where it knows."""
        handle = self._handle
        doing = None if query is None else "searching"
        return count(handle, make_request(handle, doing, columns=(), where=where, query=query))

    @METRICS.measured("aggregate", groups=rows_of)
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

    @METRICS.measured("component_sizes")
    def component_sizes(self, where: str | None = None) -> pa.Table:
        """What takes the space: a row for each part of each split, or of those that may hold rows for which `where` is true.

        Columns: split_path, partition_values, component_key, size_bytes, component_type (fastfield, fieldnorm, term, postings,
        positions, store, rows, meta, footer) and field_name, which is null where a part holds all columns. The sizes of a split
        add up to the size of its file. Raises PredicateError, ForeignTable, SplitError.
        """
        from indextables.table.inspect.component_sizes import component_sizes

        handle = self._handle
        return component_sizes(handle, make_request(handle, "reading", columns=(), where=where))

    @METRICS.measured("history")
    def history(self, limit: int | None = None) -> pa.Table:
        """Commits, newest first: version, timestamp, operation, parameters, metrics, txn_id, read_version, engine."""
        return read_history(self._handle, None if limit is None else row_limit("limit", limit))

    @METRICS.measured("changes")
    def changes(self, since: int | Moment) -> Changes:
        """What was added and removed after a version (-1 for all versions), or after a time. Raises ChangesGone, OptionError."""
        if isinstance(since, date | str):
            since = version_at(self._handle.log, milliseconds(since))
        return read_changes(self._handle, version_before("since", since))

    @METRICS.measured("partitions")
    def partitions(self) -> pa.Table:
        """The partitions that have files, a row each, in the order of their values.

        The columns are the partition columns, then `files`, `rows`, `bytes`, `oldest_file`, `newest_file` (times) and `version`,
        the newest version that added one of the files. A table without partition columns is one partition.
        """
        return partitions_table(self._handle)

    @METRICS.measured("describe")
    def describe(self) -> pa.Table:
        """The table in facts, as `property`, `value` rows.

        The facts are where the table lies, its id and version, rows, files, bytes and ages, the protocol, the newest state, how
        many versions are kept, the properties (`property.<key>`) and the columns with their indexes (`column.<name>`).
        """
        return describe_table(self._handle).table()

    @METRICS.measured("state")
    def state(self) -> pa.Table:
        """The state that the table stands on: format, version, files, manifests, tombstones …, as `property`, `value` rows."""
        return describe_state(self._handle)

    @METRICS.measured("log")
    def log(self, include_all: bool = False) -> pa.Table:
        """The log's actions, one a row: since the newest checkpoint, or all that is kept."""
        return read_log(self._handle, include_all=include_all)

    @METRICS.measured("log_actions")
    def log_actions(self, include_all: bool = False) -> pa.Table:
        """The log's actions, one a row, with a column for every field that an action can have.

        First come the actions that the newest checkpoint sums up (`is_checkpoint`), then those of the versions after it. With
        `include_all` the versions before the checkpoint that are still kept come first.
        """
        from indextables.table.inspect.log_actions import read_log_actions

        return read_log_actions(self._handle, include_all=include_all)

    @METRICS.measured("skips")
    def skips(self) -> pa.Table:
        """Files that an operation could not handle, with the reason, the count, and until when they are left alone."""
        return skips_table(self._handle.snapshot, self._handle.log.clock.wall_ms())
