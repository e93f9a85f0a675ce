"""Whole partitions, or all rows, taken out of a table by the log alone. Older versions still have the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from indextables.core.metrics import METRICS, member_of
from indextables.core.predicate import Predicate, to_sql
from indextables.log.actions import Actions
from indextables.log.commit import Committed, commit
from indextables.log.conflicts import Change, Replace
from indextables.log.pruning.partition_files import files_in_partitions
from indextables.log.refresh import refresh_now
from indextables.log.snapshot import check_same_table
from indextables.table.handle import TableHandle
from indextables.table.partition_predicate import over_partitions
from indextables.table.write.after_commit import after_commit

OPERATION: Final = "DROP PARTITIONS"


@dataclass(frozen=True)
class DroppedPartitions:
    """What a drop of partitions took out."""

    status: str
    """`success`, or `no_action` where no file lies in such a partition."""
    partitions_dropped: int
    splits_removed: int
    total_size_bytes: int
    """Bytes of the splits. Purge deletes them when no version that is kept needs them any more."""
    version: int
    """The version that the table is at afterwards."""
    message: str


@dataclass(frozen=True)
class DropResult:
    """What a drop took out, and the table afterwards."""

    handle: TableHandle
    dropped: DroppedPartitions


def drop_selected(handle: TableHandle, where: str) -> DropResult:
    """Take out the partitions that SQL over partition columns selects. Raises PredicateError, and what a commit raises."""
    newest = refresh_now(handle)
    check_same_table(handle.snapshot, newest)
    handle = handle.moved(newest)
    done = drop_partitions(handle, over_partitions(where, newest, "drop_partitions", "dropped"), OPERATION)
    after, actions = handle.moved(done.snapshot), done.actions
    if not done.written or actions is None:
        return DropResult(after, DroppedPartitions("no_action", 0, 0, 0, after.version, done.reason))
    return DropResult(after, _summary(actions, after.version))


def _summary(actions: Actions, version: int) -> DroppedPartitions:
    removes = actions.removes
    partitions = {tuple(sorted((remove.partition_values or {}).items())) for remove in removes}
    size = sum(remove.size or 0 for remove in removes)
    message = f"version {version} is without {len(partitions)} partitions ({len(removes)} splits)"
    return DroppedPartitions("success", len(partitions), len(removes), size, version, message)


@METRICS.measured("drop_partitions", files_removed=member_of("metrics", "numRemovedFiles"))
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
