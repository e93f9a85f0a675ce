"""`TableAtVersion`: a table that callers hold, where it stands, and how it moves."""

from __future__ import annotations

from typing import Self

import pyarrow as pa

from indextables.core.errors import CommitError
from indextables.core.metrics import METRICS
from indextables.log.actions import SCHEMA_KEY
from indextables.log.commit import Committed
from indextables.table.handle import TableHandle
from indextables.table.write.after_commit import after_commit
from indextables.table.write.result import Commit, as_commit


class TableAtVersion:
    """A table at one version. `refresh` moves it to the newest; commits move it to what they wrote."""

    def __init__(self, handle: TableHandle, *, travelled: bool = False) -> None:
        self._handle = handle
        self._travelled = travelled

    @METRICS.measured("refresh")
    def refresh(self) -> Self:
        """Move to the newest version. A table opened at a version or a time stays where it is.

        Raises TableReplaced where the table was dropped and another one created in its place.
        """
        if not self._travelled:
            before = self._handle
            self._move(before, before.refreshed())
        return self

    def _move(self, before: TableHandle, after: TableHandle) -> None:
        """Move from `before` to `after`, unless another thread moved this table further meanwhile: a table never goes back."""
        if self._handle is before or after.version > self._handle.version:
            self._handle = after

    def _newest(self, doing: str = "write") -> TableHandle:
        """The handle to change the table through. Raises CommitError where the caller opened an older version.

        A change would not follow what the caller sees. `doing` completes "open it without a version to …".
        """
        handle = self._handle
        if self._travelled:
            raise CommitError(
                f"table {handle.url} was opened at version {handle.version}, which is history; "
                f"open it without a version to {doing}"
            )
        return handle

    def _moved_to(self, done: Committed, *, rows: bool = False) -> Commit:
        """Move to what was committed. With `rows`, merges follow where the options ask for them, and so do purges."""
        before = self._handle
        after = before.moved(done.snapshot)
        self._move(before, after)
        if done.written:
            if after.is_state_due:
                self._move(after, after_commit(after))
            if rows and before.log.settings.merge_every is not None:
                from indextables.table.maintain.merge_on_write import merge_after_write

                merge_after_write(before.version, self._handle, before.log.settings.merge_every)
            if before.log.settings.purges:
                from indextables.table.maintain.purge_on_write import purge_after_write

                purge_after_write(self._handle)
        return as_commit(done)

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
        return f"{type(self).__name__}({self.url!r}, version={self.version})"


def handle_of(table: TableAtVersion) -> TableHandle:
    """The handle behind a table, for verbs that `Table` has no method for."""
    return table._handle  # noqa: SLF001 - only callers of the package have no business with it


def moved_to(table: TableAtVersion, done: Committed) -> Commit:
    """Move a table to rows that were committed, for verbs that `Table` has no method for."""
    return table._moved_to(done, rows=True)  # noqa: SLF001 - as above
