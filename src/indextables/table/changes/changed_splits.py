"""Readers of files that commits removed or added, in the columns of a later version; and the error where such a file is gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

from indextables.core.errors import ChangesGone, ObjectNotFound, SplitError
from indextables.core.types import spark_json_to_arrow
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import check_same_table
from indextables.split.cache.cache_location import open_cache
from indextables.split.reader import SplitReader
from indextables.storage.object_keys import inside_root
from indextables.table.changes.change_plan import ChangePlan, VersionChanges
from indextables.table.handle import TableHandle
from indextables.table.read.split_readers import PartitionValues
from indextables.table.split_entry import SplitEntry

_HEADS_AT_A_TIME: Final = 1000
"""Files whose existence is asked for together: enough to keep all connections busy, few enough to end soon if one is missing."""


def changed_split(handle: TableHandle, entry: SplitEntry) -> SplitReader:
    """The reader of a file. Raises SplitError where the file is gone.

    A file holds every column but those that the table was partitioned by when the file was written, and these may be others than
    the handle's. So a column of the table is read from the file where the file has the column. A column that the file has not is
    the log's partition value, or null.
    """
    columns = handle.partition_columns
    split = _reader(handle, entry, columns)
    stored = set(spark_json_to_arrow(split.footer.schema).names)
    known = {name for name in handle.schema.names if name not in stored}
    named = {name.lower() for name, _ in entry.partition_values}
    actual = tuple(name for name in handle.schema.names if name in known and (name.lower() in named or name in columns))
    return split if set(actual) == set(columns) else _reader(handle, entry, actual)


def _reader(handle: TableHandle, entry: SplitEntry, partition_columns: Sequence[str]) -> SplitReader:
    values = PartitionValues(handle.snapshot, partition_columns)
    return SplitReader(
        handle.log.store,
        _key(handle, entry.path),
        size=entry.size,
        footer_start=entry.footer_start,
        table_schema=handle.schema,
        partition_values=values.of(entry.path, dict(entry.partition_values)),
        cache=open_cache(handle.options),
        table=handle.url,
        rows=entry.rows,
        path=entry.path,
    )


def _key(handle: TableHandle, path: str) -> str:
    """Where a file lies in the store: the log may name it by an absolute path or a URL."""
    return inside_root(handle.url, path) or path


@contextmanager
def naming_lost_files(handle: TableHandle, changes: VersionChanges, plan: ChangePlan) -> Iterator[None]:
    """Raise ChangesGone where the block, which reads files of one version of a plan, misses one of them.

    The error names the newest version of the plan that lacks a file. Raises TableReplaced where the URL has another table now.
    """
    try:
        yield
    except SplitError as error:
        if not isinstance(error.__cause__, ObjectNotFound):
            raise
        check_same_table(handle.snapshot, open_log(handle.log))
        later = [one for one in plan.versions if one.version > changes.version]
        oldest = next((one.version for one in reversed(later) if _lacks_a_file(handle, one)), changes.version)
        split = error.details.get("split")
        raise ChangesGone(
            f"table {handle.url}: {split}, whose rows version {changes.version} changed, is gone from the store, so changes of "
            f"rows are known only since {oldest}; read the whole table at version {oldest}, then its changes from there",
            url=handle.url,
            version=changes.version,
            oldest=oldest,
            split=split,
        ) from error


def _lacks_a_file(handle: TableHandle, changes: VersionChanges) -> bool:
    paths = [entry.path for one in changes.partitions for entry in (*one.removed, *one.added)]
    for start in range(0, len(paths), _HEADS_AT_A_TIME):
        some = paths[start : start + _HEADS_AT_A_TIME]
        if None in handle.log.side_by_side([partial(handle.log.head, _key(handle, path)) for path in some]):
            return True
    return False


__all__ = ["changed_split", "naming_lost_files"]
