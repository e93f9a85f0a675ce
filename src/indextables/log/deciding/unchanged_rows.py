"""Whether the rows that a change was computed from are still the table's rows: decided from two snapshots, without I/O.

    read ──── version ──── version ──── current
              └─ a merge rearranges rows: no conflict
              └─ an append, an overwrite, a removal in the partitions that matter: FilesChanged, with the version

The versions in between are known where `current` was refreshed from `read`, or stands on an older state. Where they are not
known, other files count as other rows: a conflict too many costs a second try, one too few costs rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from indextables.core.errors import FilesChanged
from indextables.core.predicate import Predicate
from indextables.log.file_entries import Version, files_table
from indextables.log.pruning.partition_files import files_in_partitions
from indextables.log.snapshot import Snapshot


def selected_paths(where: Predicate | None, snapshot: Snapshot) -> list[str]:
    """The paths of all live files, or of those in the partitions that `where` selects."""
    return _selected(snapshot.files, where, snapshot)


def check_unchanged(where: Predicate | None, read: Snapshot, current: Snapshot) -> None:
    """Raise FilesChanged if rows in the partitions that `where` selects came, went or changed between two versions.

    None selects all partitions. `FilesChanged.version` is the newest version that changed rows, as far as that is known.
    """
    before, now = set(selected_paths(where, read)), set(selected_paths(where, current))
    if before == now:
        return
    since = [version for version in current.file_set.pending() if version[0] > read.version]
    known = _explains(since, read, current)
    number = _newest_change(since, where, before, current) if known else current.version
    if number is None:
        return
    raise FilesChanged(
        f"table {current.url}: the new rows were computed from version {read.version}, and "
        f"{'version' if known else 'a version up to'} {number} changed rows that they depend on: nothing was written; refresh "
        "the table, read it again and write again",
        url=current.url,
        read_version=read.version,
        version=number,
        paths=sorted(before ^ now),
    )


def _selected(files: pa.Table, where: Predicate | None, snapshot: Snapshot) -> list[str]:
    if where is not None:
        files = files_in_partitions(files, where, snapshot.schema, snapshot.metadata.partition_columns)
    paths: list[str] = files.column("path").to_pylist()
    return paths


def _explains(versions: Sequence[Version], read: Snapshot, current: Snapshot) -> bool:
    """Whether these versions make the files of `current` from those of `read`: then none is missing that matters.

    A version that removes a file which no version before it added tells that one is missing: the file came in between, perhaps
    with rows of others.
    """
    paths = set(selected_paths(None, read))
    for _, _, actions in versions:
        removed = {remove.path for remove in actions.removes}
        if not removed <= paths:
            return False
        paths -= removed
        paths |= {add.path for add in actions.adds}
    return paths == set(selected_paths(None, current))


def _newest_change(
    versions: Sequence[Version], where: Predicate | None, before: set[str], current: Snapshot
) -> int | None:
    """The newest version that changed rows of the partitions; None where all of them only rearranged rows."""
    newest = None
    inside = set(before)
    for number, timestamp, actions in versions:
        counts = len(actions.adds)
        added = files_table(actions.adds, [number] * counts, [timestamp] * counts)
        here = set(_selected(added, where, current))
        removed = any(remove.data_change and remove.path in inside for remove in actions.removes)
        if removed or any(add.data_change and add.path in here for add in actions.adds):
            newest = number
        inside |= here
    return newest
