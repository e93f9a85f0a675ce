"""After a restore: is the log of its target still there? If not, what came back is taken out again.

Clean-up may have deleted the target's log objects while the restore was committed, and a purge that read the log in between takes
the files of the target for orphans. A log object never comes back, so a target that opens after the commit was there all the
time.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final, NoReturn

from indextables.core.errors import (
    CommitOutcomeUnknown,
    CorruptLog,
    FilesChanged,
    IndexTablesError,
    LogReadTimeout,
    StorageError,
    TableNotFound,
    TableReplaced,
    VersionNotFound,
)
from indextables.log.actions import SCHEMA_KEY, Actions
from indextables.log.commit import Committed, commit
from indextables.log.conflicts import Change, MetadataUpdate
from indextables.log.deciding.restored_files import restore_target, restored_files
from indextables.log.file_entries import paths_in
from indextables.log.log_cache import LogCache
from indextables.log.open_snapshot import open_log
from indextables.log.put_once import commit_back_off
from indextables.log.snapshot import check_same_table
from indextables.table.handle import TableHandle

logger = logging.getLogger("indextables")

_LOOKS: Final = 4
"""Times that the target is looked for, at most, while the store does not answer."""
_TRIES: Final = 3
"""Attempts to take back what is still live, each after others removed some of it."""
_OPERATION: Final = "UNDO RESTORE"


def check_target_kept(target: TableHandle, done: Committed) -> None:
    """Return if the target's version can be opened from the store, without anything that this process remembers.

    Otherwise the restore is taken back and VersionNotFound says so. Raises CommitOutcomeUnknown where the store does not tell
    whether the target is there, or where taking back fails.
    """
    log = replace(target.log, cache=LogCache())
    for look in range(_LOOKS):
        try:
            check_same_table(target.snapshot, open_log(log, target.version))
        except (VersionNotFound, CorruptLog, TableNotFound, TableReplaced) as gone:
            _give_up(target, done, gone)
        except (StorageError, LogReadTimeout) as error:
            if look + 1 == _LOOKS:
                raise _unknown(
                    target, done, f"the log of version {target.version} cannot be looked at: {error}"
                ) from error
            commit_back_off(log.options).wait(log.clock, look)
        else:
            return


def _give_up(target: TableHandle, done: Committed, gone: IndexTablesError) -> NoReturn:
    number = done.snapshot.version
    try:
        after = _taken_back(target.moved(done.snapshot), done)
    except IndexTablesError as error:
        raise _unknown(target, done, f"version {target.version} is gone, and taking it back failed: {error}") from error
    raise VersionNotFound(
        f"table {target.url}: version {target.version} was cleaned up while it was restored as version {number}: {after}",
        url=target.url,
        version=target.version,
    ) from gone


def _taken_back(restored: TableHandle, done: Committed) -> str:
    """Undo a restore: all of it, or only what came back, if others have removed files since. Says where the rest is."""
    assert done.before is not None
    before = restored.moved(done.before)
    actions = done.actions or Actions()
    back = [add.path for add in actions.adds]
    undone = restored_files(restore_target(before.snapshot), restored.snapshot).adds
    there = paths_in(
        restored.refreshed().files(), [add.path for add in undone]
    )  # another restore has brought them back already
    change = Change(
        removes=tuple(back),
        adds=tuple(add for add in undone if add.path not in there),
        metadata=_undone_metadata(before, restored) if actions.metadata is not None else None,
        needs=tuple(restored.files().column("path").to_pylist()),
    )
    try:
        undo = commit(restored, change, operation=_OPERATION, parameters={"version": restored.version})
    except FilesChanged as changed:
        logger.info("table %s: a restore is taken back in part: %s", restored.url, changed)
    else:
        return (
            f"version {undo.snapshot.version} has the rows of version {before.version} again; restore a later version"
        )
    rest = f"what the restore removed is in version {before.version}: restore that one to have it again"
    for _ in range(_TRIES):
        newest = restored.refreshed()
        live = paths_in(newest.files(), back)
        if not live:
            return f"others have replaced what came back; {rest}"
        try:
            undo = commit(newest, Change(removes=tuple(sorted(live))), operation=_OPERATION)
        except FilesChanged:
            continue
        return f"version {undo.snapshot.version} removes what came back, and keeps what others wrote since; {rest}"
    raise _unknown(restored, done, "others went on to remove what came back")


def _undone_metadata(before: TableHandle, restored: TableHandle) -> MetadataUpdate:
    then, now = before.snapshot.metadata, restored.snapshot.metadata
    new = [key for key in now.configuration if key not in then.configuration and not key.startswith(SCHEMA_KEY)]
    gone: dict[str, str | None] = dict.fromkeys(new)
    return MetadataUpdate(properties=gone | then.configuration, schema_string=then.schema_string)


def _unknown(target: TableHandle, done: Committed, why: str) -> CommitOutcomeUnknown:
    number = done.snapshot.version
    return CommitOutcomeUnknown(
        f"table {target.url}: version {number} restores version {target.version}, and nobody can tell whether a purge took "
        f"files of it meanwhile: {why}; check the table's files, and restore another version if some are gone",
        url=target.url,
        version=number,
        txn_id=done.txn_id,
    )


__all__ = ["check_target_kept"]
