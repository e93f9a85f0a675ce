"""The rows that were committed last: what `indextables tail` shows first.

    version files, newest first ──▶ files that a commit added ──▶ their last rows, until there are enough
                  └─ one is gone, or a file was purged ──▶ the live files instead, newest first

A merge only rearranges rows, so its results are no news: the files that were merged are read as long as they are in the store.
A file that one commit removes and adds again is no news either. Rows that a later commit removed are left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of
from indextables.core.errors import ObjectNotFound, SplitError
from indextables.core.predicate import TRUE
from indextables.log.actions import added_again
from indextables.log.file_entries import FILE_SCHEMA, files_table
from indextables.log.table_log import VersionFile
from indextables.split.plan.access import RowNumbers
from indextables.table.handle import TableHandle
from indextables.table.read.request import ReadRequest, make_request
from indextables.table.read.scan import scan
from indextables.table.read.split_readers import split_readers

_VERSIONS_AT_ONCE: Final = 16
"""Version files that are read side by side: the last few commits mostly hold all rows that are asked for."""


@dataclass(frozen=True)
class Selection:
    """Which rows, and which of their columns: as the arguments of `Table.scan`."""

    columns: Sequence[str] | None = None
    where: str | None = None
    query: str | None = None


def newest_rows(handle: TableHandle, selection: Selection, limit: int) -> pa.Table:
    """The `limit` rows of the selection that were committed last, oldest first. Raises what `Table.scan` raises."""
    schema = scan(handle, _request(handle, selection, handle.files().slice(0, 0))).schema
    parts: list[pa.Table] = []
    missing = limit
    for files in _newest_first(handle) if limit else ():
        part = _last_of(handle, selection, files, missing)
        parts.append(part)
        missing -= part.num_rows
        if missing <= 0:
            break
    return pa.concat_tables([schema.empty_table(), *reversed(parts)])


def _request(handle: TableHandle, selection: Selection, files: pa.Table) -> ReadRequest:
    return make_request(
        handle,
        "reading",
        columns=selection.columns,
        where=selection.where,
        query=selection.query,
        files=files,
    )


def _newest_first(handle: TableHandle) -> Iterator[pa.Table]:
    """Lists of files whose rows belong together, the newest list first. A list that cannot be read is not among them."""
    live = set(handle.files().column("path").to_pylist())
    shown: set[str] = set()
    gone: set[str] = set()
    older: set[str] = set()
    end = -1
    for number, version in _versions(handle):
        if version is None:
            end = number
            break
        again = added_again(version.actions)
        older |= again
        files = _added_files(version, again, gone)
        if not _are_there(handle, files):
            end = number
            break
        older -= {add.path for add in version.actions.adds} - again
        if files.num_rows:
            shown |= set(files.column("path").to_pylist())
            yield files
    if end >= 0:
        # results of merges hold rows of files that were shown already, unless all of those are live themselves
        yield from _live_files(handle, shown, older, through=end if shown - live else None)


def _live_files(handle: TableHandle, shown: set[str], older: set[str], through: int | None) -> Iterator[pa.Table]:
    """The live files that were not shown, one at a time, the newest first; only those added up to version `through`.

    The files in `older` were there before, too: a later version removed and added them again.
    """
    files = handle.files()
    keep = pc.invert(pc.is_in(files.column("path"), value_set=array_of(sorted(shown), pa.string())))
    if through is not None:
        known = pc.is_in(files.column("path"), value_set=array_of(sorted(older), pa.string()))
        keep = pc.and_(keep, pc.or_(known, pc.less_equal(files.column("addedAtVersion"), through)))
    files = files.filter(keep)
    order = pc.sort_indices(files.select(["addedAtVersion"]), [("addedAtVersion", "descending")])
    for place in order.to_pylist():
        yield files.slice(place, 1)


def _versions(handle: TableHandle) -> Iterator[tuple[int, VersionFile | None]]:
    """The version files of the table, newest first; None in place of one that is gone."""
    for newest in range(handle.version, -1, -_VERSIONS_AT_ONCE):
        numbers = list(range(newest, max(newest - _VERSIONS_AT_ONCE, -1), -1))
        found = handle.log.read_versions(numbers, handle.table_id)
        for number, version in zip(numbers, found, strict=True):
            if version is None or version.belongs_to(handle.table_id):
                yield number, version


def _added_files(version: VersionFile, again: frozenset[str], gone: set[str]) -> pa.Table:
    """The files whose rows a commit brought, without those in `gone`, to which is added what this commit removed.

    The files in `again` were removed and added by this commit, which changed nothing in them. A merge passes on what became of
    its results: where one of them is gone, its sources of the same partition count as gone too.
    """
    actions = version.actions
    brought = [add for add in actions.adds if add.path not in again]
    lost = [add.partition_values for add in brought if not add.data_change and add.path in gone]
    adds = [add for add in brought if add.data_change and add.path not in gone]
    for remove in actions.removes:
        if remove.path in again:
            continue
        if remove.data_change or (lost and (remove.partition_values is None or remove.partition_values in lost)):
            gone.add(remove.path)
    times = [version.timestamp] * len(adds)
    return files_table(adds, [version.version] * len(adds), times).cast(FILE_SCHEMA)


def _are_there(handle: TableHandle, files: pa.Table) -> bool:
    """Whether all files of a commit are still in the store: a purge may have removed those that were merged."""
    try:
        for split in split_readers(handle, files):
            _ = split.footer
    except (SplitError, ObjectNotFound):
        return False
    return True


def _last_of(handle: TableHandle, selection: Selection, files: pa.Table, limit: int) -> pa.Table:
    """The last rows of some files: by their numbers where all rows are wanted, otherwise by reading what the selection finds."""
    request = _request(handle, selection, files)
    reader = scan(handle, request)
    if selection.where is not None or selection.query is not None:
        return _last(reader, limit)
    reader.close()
    names = list(request.columns)
    parts: list[pa.RecordBatch] = []
    for split in reversed(list(split_readers(handle, files))):
        rows = split.footer.rows
        numbers = np.arange(max(rows - limit, 0), rows, dtype=np.int64)
        parts = [*split.rows(names, RowNumbers(numbers, TRUE, "footer")), *parts]
        limit -= len(numbers)
        if limit <= 0:
            break
    return pa.Table.from_batches([batch.cast(reader.schema) for batch in parts], reader.schema)


def _last(reader: pa.RecordBatchReader, limit: int) -> pa.Table:
    """The last rows of a stream, of which no more than needed is kept."""
    kept: deque[pa.RecordBatch] = deque()
    rows = 0
    for batch in reader:
        kept.append(batch)
        rows += batch.num_rows
        while rows - kept[0].num_rows >= limit:
            rows -= kept.popleft().num_rows
    table = pa.Table.from_batches(list(kept), reader.schema)
    return table.slice(max(table.num_rows - limit, 0))


__all__ = ["Selection", "newest_rows"]
