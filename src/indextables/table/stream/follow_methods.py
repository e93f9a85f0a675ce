"""`Following`: the methods of `Table` that go on with the rows that commits add."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterable, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.core.errors import SchemaError, VersionNotFound
from indextables.core.metrics import METRICS
from indextables.log.snapshot import check_same_table
from indextables.table.arguments import Moment, milliseconds, version_before
from indextables.table.at_version import TableAtVersion
from indextables.table.handle import TableHandle
from indextables.table.open_table import open_table_of
from indextables.table.stream.stream_offset import Offset
from indextables.table.stream.stream_options import StreamOptions
from indextables.table.stream.stream_planner import StreamPlanner

if TYPE_CHECKING:
    from indextables.table.stream.follow_rows import Stop


class Following(TableAtVersion):
    """What callers are told of rows that are still to come."""

    @METRICS.measured("follow")
    def follow(
        self,
        since: int | Moment | None = None,
        query: str | None = None,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        *,
        interval: float = 1.0,
        stop: Stop | None = None,
    ) -> Generator[pa.RecordBatch, None, None]:
        """The rows that commits add from now on, as they come: without an end, until `stop` or the generator is closed.

        `since` is a version or a time: the rows of all later commits come first. Without `since` these are the commits after
        the version that this table is at, so that nothing is missed between a scan and what follows. `query` and `where` (SQL)
        say which rows. Where nothing came the table is looked at every `interval` seconds, with one refresh. `stop` is an event,
        or a function that returns True at the end.

        A commit that replaces rows gives its new ones; a merge gives none. This table stays at its version, and its columns are
        those of the rows: columns that others add come when `follow` is called again. Raises VersionNotFound, SchemaError,
        PredicateError, QueryError, ForeignTable, and while it goes on ChangesGone, TableNotFound where the table is dropped,
        CorruptLog while it is being dropped, TableReplaced and SplitError.
        """
        from indextables.table.stream.follow_rows import Pause, follow_rows

        planner, start = self._stream(since, _options(columns, where, query))
        return follow_rows(planner, start, Pause(interval, stop, self._handle.log.clock))

    @METRICS.measured("follow")
    def follow_async(
        self,
        since: int | Moment | None = None,
        query: str | None = None,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        *,
        interval: float = 1.0,
        stop: Stop | None = None,
    ) -> AsyncGenerator[pa.RecordBatch, None]:
        """The same as `follow` for `async for`: the event loop goes on while stores are asked and rows are read.

        The task may be cancelled at any moment. Raises what `follow` raises.
        """
        from indextables.table.stream.follow_rows import Pause, follow_rows_async

        planner, start = self._stream(since, _options(columns, where, query))
        return follow_rows_async(planner, start, Pause(interval, stop, self._handle.log.clock))

    def _stream(self, since: int | Moment | None, options: StreamOptions) -> tuple[StreamPlanner, Offset]:
        """A stream of this table, and the offset behind `since`."""
        handle = self._handle
        return stream_after(handle, since, options, newest=_newest(handle) if self._travelled else handle)


def stream_after(
    handle: TableHandle, since: int | Moment | None, options: StreamOptions, *, newest: TableHandle
) -> tuple[StreamPlanner, Offset]:
    """A stream of the rows that commits added after a version, after a time, or after the version of the handle.

    `newest` is the table at a version that was the newest one when it was opened.
    """
    if since is None:
        since = handle.version
    if isinstance(since, date | str):
        moment = milliseconds(since)
        if moment >= newest.snapshot.timestamp:
            newest = newest.refreshed()
        if moment < newest.snapshot.timestamp:
            planner = StreamPlanner(newest, replace(options, starting_timestamp=moment + 1))
            return planner, planner.initial()
        since = newest.version
    version = version_before("since", since)
    if version > newest.version:
        newest = newest.refreshed()
    if version > newest.version:
        raise VersionNotFound(
            f"table {handle.url} is at version {newest.version}, so nothing can be followed since {version}",
            url=handle.url,
            version=version,
        )
    return StreamPlanner(newest, options), Offset(handle.table_id, version + 1)


def _newest(handle: TableHandle) -> TableHandle:
    """The newest version of a table that was opened at an older one, which cannot tell whether later ones were cleaned up."""
    newest = open_table_of(handle.log)
    check_same_table(handle.snapshot, newest.snapshot)
    return newest


def _options(columns: Sequence[str] | None, where: str | None, query: str | None) -> StreamOptions:
    if isinstance(columns, str) or not isinstance(columns, Iterable | None):
        raise SchemaError(f"columns is a list of names, not {columns!r}")
    names = None if columns is None else tuple(columns)
    return StreamOptions(ignore_changes=True, columns=names, where=where, query=query)
