"""Whole partitions, or all rows, taken out of a table by the log alone. Older versions still have the rows."""

from __future__ import annotations

from indextables.core.predicate import Predicate, to_sql
from indextables.log.commit import Committed, commit
from indextables.log.conflicts import Change, Replace
from indextables.log.pruning.partition_files import files_in_partitions
from indextables.table.handle import TableHandle
from indextables.table.write.after_commit import after_commit


def drop_partitions(handle: TableHandle, where: Predicate | None, operation: str = "DELETE") -> Committed:
    """Take out the partitions for whose values `where` is true, or everything. Without such files nothing is written.

    What is removed is decided when the commit is: whatever is live then. Raises PredicateError where `where` asks for anything
    but partition columns, and what `Table.commit_files` raises.
    """
    handle.require_writable("deleting")
    files = handle.files()
    if where is not None:
        files = files_in_partitions(files, where, handle.schema, handle.partition_columns)
    if not files.num_rows:
        return Committed(handle.snapshot, "", written=False, reason="no files lie in these partitions", metrics={})
    parameters = {} if where is None else {"predicate": to_sql(where)}
    done = commit(handle, Change(replace=Replace(where)), operation=operation, parameters=parameters)
    if done.written:
        after_commit(handle.moved(done.snapshot))
    return done
