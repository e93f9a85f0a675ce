"""`Feed`: the methods of `Table` that tell which rows changed."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from indextables.core.metrics import METRICS
from indextables.table.arguments import Moment
from indextables.table.at_version import TableAtVersion


class Feed(TableAtVersion):
    """Rows that came and went, commit by commit."""

    @METRICS.measured("changes_rows")
    def changes_rows(
        self,
        since: int | Moment,
        until: int | Moment | None = None,
        *,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        query: str | None = None,
    ) -> pa.RecordBatchReader:
        """The rows that versions after `since` inserted or deleted, up to `until`, or up to this table's version. A stream.

        `since` and `until` are versions or times; `since=-1` are all versions. Rows have the columns of the table at `until`,
        then `_change_type` (`insert` or `delete`), `_commit_version` and `_commit_timestamp`. They come by version, deleted rows
        before inserted ones. Of a commit that replaced files by others only the rows that really changed are told; a merge
        changes none. `columns`, `where` and `query` are as for `scan`, and select from these rows. Raises ChangesGone where
        version files or data files are gone, VersionNotFound, TableReplaced, OptionError, SchemaError, PredicateError,
        QueryError, ForeignTable, SplitError.
        """
        from indextables.table.changes.change_feed import changes_rows

        return changes_rows(self._handle, since, until, columns=columns, where=where, query=query)
