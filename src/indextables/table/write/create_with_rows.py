"""A new table together with its first rows: it is made when they are all uploaded, so that a failure leaves no empty table.

    plan ──▶ rows become splits in the store ──▶ version 0: the table exists ──▶ version 1: its rows

Nothing names the splits before version 1 does, so whatever ends the work earlier takes them back, the directories that were
made for them included. Version 0 is never deleted: a commit that fails after it leaves an empty table, and says so.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from indextables.core.errors import CommitOutcomeUnknown, IndexTablesError
from indextables.log.conflicts import Change
from indextables.table.build.directories import Directories
from indextables.table.build.incoming_rows import rows_in
from indextables.table.build.split_builder import build_splits
from indextables.table.build.uploads import Uploads, commit_uploads
from indextables.table.handle import TableHandle
from indextables.table.open_log import open_log
from indextables.table.progress import Watcher
from indextables.table.write.after_commit import after_commit
from indextables.table.write.create import Plan, plan_table
from indextables.table.write.result import Commit, as_commit


def plan_new(
    url: str | os.PathLike[str],
    schema: pa.Schema | str,
    partition_by: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
) -> Plan:
    """A table that is not there yet. Raises SchemaError and OptionError where it could not be made."""
    return plan_table(open_log(url, options), schema, partition_by)


@dataclass(frozen=True)
class FilledTable:
    """A new table with its first rows, and the commit that brought the rows."""

    handle: TableHandle
    commit: Commit


def create_filled(plan: Plan, data: Any, progress: Watcher | None = None) -> FilledTable:
    """Make the planned table with these rows; without rows it is made all the same.

    Raises TableExists, and what `Table.append` raises.
    """
    log, planned = plan.log, TableHandle(plan.log, plan.snapshot())
    uploads, made = Uploads(log), Directories(log)
    try:
        adds = build_splits(planned.write_plan, rows_in(data, planned.schema), uploads, progress)
        created = TableHandle(log, plan.carry_out())
    except BaseException:
        keys = uploads.keys
        uploads.discard()
        made.remove(keys)
        raise
    if not adds:
        return FilledTable(created, Commit(created.version, "", written=False, reason="the data has no rows"))
    try:
        done = commit_uploads(
            created, Change(adds=tuple(adds)), uploads, operation="WRITE", parameters={"mode": "Append"}
        )
    except CommitOutcomeUnknown:
        raise
    except IndexTablesError as error:
        raise type(error)(f"{error.message}; the table {log.url} was made, and is empty", **error.details) from error
    uploads.discard(keep=[add.path for add in adds] if done.written else ())
    return FilledTable(after_commit(created.moved(done.snapshot)), as_commit(done))
