"""The door for programs around tables: the command line uses nothing else of what lies behind `Table`.

files ──▶ batches ──rows_in──▶ rows of the table's schema ──▶ Table.append
└─▶ create_table_with_rows, where there is no table yet
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.core.options import TXN_RETENTION_HOURS, table_value
from indextables.log.actions import TxnAction
from indextables.table.at_version import handle_of, moved_to
from indextables.table.build.incoming_rows import rows_in
from indextables.table.build.scratch_directory import scratch
from indextables.table.handle import TableHandle
from indextables.table.maintain.describe_table import ColumnFacts, Description, describe_columns, describe_table
from indextables.table.maintain.find_tables import FoundTable, find_tables
from indextables.table.open_log import open_log
from indextables.table.read.explain import FileAccess, explain_files
from indextables.table.read.newest_rows import Selection, newest_rows
from indextables.table.read.request import make_request
from indextables.table.stream.follow_methods import stream_after
from indextables.table.stream.stream_options import StreamOptions
from indextables.table.table import Table, table_at
from indextables.table.write.append import append_once as append_with_txn
from indextables.table.write.create import Plan
from indextables.table.write.create_with_rows import create_filled, plan_new
from indextables.table.write.drop_table import drop_table

if TYPE_CHECKING:
    from indextables.table.progress import Watcher
    from indextables.table.stream.follow_rows import Waiting
    from indextables.table.write.result import Commit

__all__ = [
    "ColumnFacts",
    "Description",
    "FileAccess",
    "FoundTable",
    "Plan",
    "Selection",
    "append_once",
    "batches_are_known_for",
    "columns_of",
    "create_planned",
    "create_table_with_rows",
    "described",
    "drop_table_at",
    "explained_files",
    "find_tables",
    "followed_rows",
    "last_rows",
    "newest_batch",
    "plan_new",
    "rows_in",
    "scratch",
]


def create_table_with_rows(plan: Plan, batches: Iterable[pa.RecordBatch], watcher: Watcher) -> tuple[Table, Commit]:
    """Create a table together with its first rows. Raises TableExists if another process created it meanwhile."""
    filled = create_filled(plan, batches, watcher)
    return table_at(filled.handle), filled.commit


def create_planned(plan: Plan) -> Table:
    """Create a table without rows. Raises TableExists if another process created it meanwhile."""
    return table_at(TableHandle(plan.log, plan.carry_out()))


def append_once(table: Table, data: Iterable[pa.RecordBatch], app: str, batch: int, watcher: Watcher) -> Commit:
    """Append rows as a batch of an exactly-once writer, unless it is in the table already. Raises what `Table.append` raises."""
    return moved_to(table, append_with_txn(handle_of(table), data, TxnAction(app, batch), watcher))


def newest_batch(table: Table, app: str) -> int:
    """The newest batch of an exactly-once writer that is in the table, or 0."""
    found = handle_of(table).snapshot.latest_txn(app)
    return 0 if found is None else found.version


def batches_are_known_for(table: Table) -> float:
    """Hours for which the table knows the newest batch of an exactly-once writer that went silent."""
    return table_value(handle_of(table).snapshot.metadata.configuration, TXN_RETENTION_HOURS)


def columns_of(table: Table) -> tuple[ColumnFacts, ...]:
    """The columns of a table, with what the index makes of each."""
    return describe_columns(handle_of(table))


def described(table: Table) -> Description:
    """The table in facts: the values behind `Table.describe`."""
    return describe_table(handle_of(table))


def last_rows(table: Table, selection: Selection, limit: int) -> pa.Table:
    """The `limit` rows of the selection that were committed last, oldest first. Raises what `Table.scan` raises."""
    return newest_rows(handle_of(table), selection, limit)


def followed_rows(table: Table, selection: Selection, waiting: Waiting) -> Iterator[pa.RecordBatch]:
    """The rows of the selection that commits add after the table's version, as they come. What is gone meanwhile is left out.

    Raises what `Table.follow` raises, but for ChangesGone.
    """
    from indextables.table.stream.follow_rows import follow_rows

    handle = handle_of(table)
    options = StreamOptions(
        ignore_changes=True,
        fail_on_data_loss=False,
        columns=None if selection.columns is None else tuple(selection.columns),
        where=selection.where,
        query=selection.query,
    )
    planner, start = stream_after(handle, None, options, newest=handle)
    return follow_rows(planner, start, waiting)


def drop_table_at(url: str, options: Mapping[str, str]) -> None:
    """Delete a table for good. Raises TableNotFound, and StorageError where an object cannot be deleted."""
    drop_table(open_log(url, options))


def explained_files(table: Table, where: str | None, query: str | None) -> list[FileAccess]:
    """How a scan would read each file that the log does not rule out. Raises PredicateError, QueryError, SplitError."""
    handle = handle_of(table)
    return explain_files(handle, make_request(handle, "reading", columns=(), where=where, query=query))
