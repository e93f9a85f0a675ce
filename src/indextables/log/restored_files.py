"""`RestoreTo`: an older version whose files become the live ones again, and what that adds and removes. No I/O.

live now            a b c d
live at version 3   a b     e f
the commit removes      c d      and adds again e f

A file that is live at both versions is left as it is: data files never change. A file that is added again keeps every field of
its entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.errors import CommitError
from indextables.log.actions import AddAction
from indextables.log.file_entries import rows_to_adds
from indextables.log.snapshot import Snapshot


@dataclass(frozen=True, eq=False)
class RestoreTo:
    """The files of an older version of the same table."""

    version: int
    files: pa.Table
    """All files that were live, with the columns of `FILE_SCHEMA`."""
    registry: Mapping[str, str]
    """Doc mappings by their hash, as the older version knew them."""


def restore_target(snapshot: Snapshot) -> RestoreTo:
    """What a commit needs of the version to go back to."""
    return RestoreTo(snapshot.version, snapshot.files, snapshot.registry)


@dataclass(frozen=True)
class RestoredFiles:
    """What a restore does to the files of the version that it follows."""

    removes: list[str]
    adds: list[AddAction]

    @property
    def is_nothing(self) -> bool:
        """True if the same files are live already."""
        return not self.removes and not self.adds


def restored_files(target: RestoreTo, current: Snapshot) -> RestoredFiles:
    """What has to go and what has to come back, so that the files of `current` become those of the target.

    Raises CommitError where time travel was truncated above the target: purge may take the target's files at any moment.
    """
    if target.version < current.floor:
        raise CommitError(
            f"table {current.url}: version {target.version} cannot be restored: time travel was truncated, the oldest version "
            f"is {current.floor}",
            url=current.url,
            version=target.version,
            floor=current.floor,
        )
    removes: list[str] = _without(current.files, target.files).column("path").to_pylist()
    back = rows_to_adds(_without(target.files, current.files))
    return RestoredFiles(removes, [_readable(add, target.registry, current.registry) for add in back])


def _without(files: pa.Table, others: pa.Table) -> pa.Table:
    """The files whose paths are not among the others."""
    if not files.num_rows or not others.num_rows:
        return files
    known = others.column("path").combine_chunks()
    return files.filter(pc.invert(pc.is_in(files.column("path"), value_set=known)))


def _readable(add: AddAction, then: Mapping[str, str], now: Mapping[str, str]) -> AddAction:
    """The entry as it was, but as a change of data, and with its doc mapping where the table has forgotten the hash."""
    ref = add.doc_mapping_ref
    if ref is None or ref in now or ref not in then:
        return msgspec.structs.replace(add, data_change=True)
    return msgspec.structs.replace(add, data_change=True, doc_mapping_ref=None, doc_mapping_json=then[ref])
