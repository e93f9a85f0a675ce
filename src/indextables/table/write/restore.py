"""`Table.restore`: the rows of an older version become the newest ones, by the log alone.

    open the target ──▶ head what comes back ──▶ commit ──▶ open the target again ──▶ there: done
                                                              └─▶ gone: take back what came back, and fail

What is removed and what comes back is decided when the commit is. A file that comes back may be older than every age that
protects new files; only the log of the target protects it from purge, until the commit does. So the target must be there after
the commit: then a purge that read the log before the commit has seen the target, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from indextables.core.errors import OptionError, SchemaError, SplitError
from indextables.core.metrics import METRICS
from indextables.core.options import PREFIX
from indextables.log.actions import AddAction, MetadataAction
from indextables.log.commit import Committed, commit
from indextables.log.conflicts import Change, MetadataUpdate
from indextables.log.deciding.restored_files import restore_target, restored_files
from indextables.log.refresh import refresh_now
from indextables.log.snapshot import check_same_table
from indextables.storage.object_keys import inside_root
from indextables.table.arguments import Moment
from indextables.table.handle import TableHandle
from indextables.table.open_table import open_older
from indextables.table.write.after_commit import after_commit
from indextables.table.write.restore_check import check_target_kept

OPERATION: Final = "RESTORE"
_MAPPING_OPTIONS: Final = f"{PREFIX}indexing."
"""What the keys of options begin with that decide how rows are indexed. They belong to the schema, and go back with it."""
_HEADS_AT_A_TIME: Final = 1000
"""Files whose existence is asked for together: enough to keep all connections busy, few enough to end soon if one is missing."""


@dataclass(frozen=True)
class Restored:
    """What a restore did."""

    status: str
    """`success`, or `no_action` where the table has the files and columns of that version already."""
    version: int
    """The version that the table is at afterwards."""
    restored_version: int
    """The version whose rows the table has now."""
    files_added: int
    """Files that came back."""
    files_removed: int
    message: str


@dataclass(frozen=True)
class RestoreResult:
    """What a restore did, and the table afterwards."""

    handle: TableHandle
    restored: Restored


@METRICS.measured(
    "restore",
    files_added=lambda done: done.restored.files_added,
    files_removed=lambda done: done.restored.files_removed,
)
def restore(handle: TableHandle, version: int | None, timestamp: Moment | None) -> RestoreResult:
    """Make the rows of an older version, or of the one that was in force at a time, the newest rows.

    Raises OptionError, VersionNotFound, SplitError where a file is gone, and what `Table.commit_files` raises.
    """
    if version is None and timestamp is None:
        raise OptionError("restore needs the version to go back to, or the time: restore(version=3)")
    newest = refresh_now(handle)
    check_same_table(handle.snapshot, newest)
    handle = handle.moved(newest)
    target = open_older(handle, version, timestamp)
    handle.files()  # from here on the snapshots of both versions have lists of files that can be read
    target.files()
    change = Change(
        restore=restore_target(target.snapshot),
        metadata=_older_metadata(handle.snapshot.metadata, target.snapshot.metadata, handle.url, target.version),
    )
    _check_files(handle, target)
    done = commit(handle, change, operation=OPERATION, parameters=_parameters(target.version, timestamp))
    if not done.written or done.actions is None:
        return RestoreResult(handle.moved(done.snapshot), _nothing(done, target.version))
    if done.actions.adds:
        check_target_kept(target, done)
    added, removed = len(done.actions.adds), len(done.actions.removes)
    message = f"version {done.snapshot.version} has the rows of version {target.version}"
    restored = Restored("success", done.snapshot.version, target.version, added, removed, message)
    return RestoreResult(after_commit(handle.moved(done.snapshot)), restored)


def _nothing(done: Committed, version: int) -> Restored:
    return Restored("no_action", done.snapshot.version, version, 0, 0, done.reason)


def _parameters(version: int, timestamp: Moment | None) -> dict[str, Any]:
    return {"version": version} if timestamp is None else {"version": version, "timestamp": str(timestamp)}


def _older_metadata(now: MetadataAction, then: MetadataAction, url: str, version: int) -> MetadataUpdate | None:
    """The columns of the older version and how they were indexed; None where they are the same now.

    All other properties stay: how long versions are kept is about the table, not about its rows.
    """
    if tuple(now.partition_columns) != tuple(then.partition_columns):
        raise SchemaError(
            f"table {url} is partitioned by {', '.join(now.partition_columns) or 'nothing'}, and version {version} by "
            f"{', '.join(then.partition_columns) or 'nothing'}: such a version cannot be restored; clone it to another place"
        )
    before, after = _mapping_options(now.configuration), _mapping_options(then.configuration)
    if before == after and now.schema_string == then.schema_string:
        return None
    gone: dict[str, str | None] = dict.fromkeys(before)
    return MetadataUpdate(properties=gone | after, schema_string=then.schema_string)


def _mapping_options(configuration: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in configuration.items() if key.lower().startswith(_MAPPING_OPTIONS)}


def _check_files(handle: TableHandle, target: TableHandle) -> None:
    """Raise SplitError for the first file that would come back and is not there any more."""
    back = restored_files(restore_target(target.snapshot), handle.snapshot).adds
    for start in range(0, len(back), _HEADS_AT_A_TIME):
        some = back[start : start + _HEADS_AT_A_TIME]
        found = handle.log.side_by_side([partial(handle.log.head, _key(handle, add)) for add in some])
        missing = next((add for add, meta in zip(some, found, strict=True) if meta is None), None)
        if missing is not None:
            raise SplitError(
                f"table {handle.url}: version {target.version} cannot be restored: {missing.path} is gone from the store; "
                "restore a later version",
                split=missing.path,
                version=target.version,
            )


def _key(handle: TableHandle, add: AddAction) -> str:
    return inside_root(handle.url, add.path) or add.path


__all__ = ["OPERATION", "RestoreResult", "Restored", "restore"]
