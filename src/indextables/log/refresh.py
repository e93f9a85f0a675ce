"""Refreshing: what is new since a snapshot, in two requests when nothing is.

Version N+1 is asked for and version 0 is looked at, side by side (on a local disk version N, too). Both unchanged and N+1
absent: nothing is new. This is only sound while nobody can have deleted N+1 again, so a snapshot that was last seen to be the
newest more than half the safety age ago is opened anew.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from indextables.core import options as opt
from indextables.core.errors import CorruptLog, StorageError, TableNotFound
from indextables.log.listing import list_versions
from indextables.log.open_snapshot import open_log
from indextables.log.protocol import check_readable
from indextables.log.snapshot import LogAtVersion, Snapshot, apply_version, check_same_table
from indextables.log.table_log import TableLog, VersionFile
from indextables.storage.store import ObjectMeta

logger = logging.getLogger("indextables")


def open_current(log: TableLog) -> Snapshot:
    """The newest version, starting from what this process remembers of the URL."""
    known: Snapshot | None = None
    if log.caching:
        ttl = log.options[opt.TRANSACTION_CACHE_EXPIRATION_SECONDS]
        known = log.cache.get("snapshot", log.url, now=log.clock.boot(), ttl_seconds=ttl)
    if known is None:
        return log.remember_snapshot(open_log(log))
    at = LogAtVersion(log, known)
    return known if _is_fresh_enough(at) else refresh_now(at)


def refresh(at: LogAtVersion) -> Snapshot:
    """The newest version of the table, or one that was the newest at most `transaction.maxStaleness` seconds ago.

    Raises TableReplaced if the table was dropped and another one was created at its URL.
    """
    if _is_fresh_enough(at):
        return at.snapshot
    newest = refresh_now(at)
    check_same_table(at.snapshot, newest)
    return newest


def _is_fresh_enough(at: LogAtVersion) -> bool:
    """Whether `transaction.maxStaleness` allows to use the snapshot without a look at the store."""
    allowed = at.log.options[opt.TRANSACTION_MAX_STALENESS]
    return allowed > 0 and at.log.clock.boot() - at.snapshot.checked <= allowed


def refresh_now(at: LogAtVersion) -> Snapshot:
    """The newest version at the log's URL, whatever staleness is allowed. It may belong to another table."""
    log, snapshot = at.log, at.snapshot
    sent = log.clock.boot()
    if snapshot.gap is not None or snapshot.anchor is None or snapshot.state_committed or too_old(at):
        return reopen(at)
    calls: list[Callable[[], Any]] = [
        lambda: log.read_version(snapshot.version + 1),
        lambda: log.head_version(0),
    ]
    if log.is_local:
        calls.append(lambda: log.head_version(snapshot.version))
    following, zero, *tips = [call() for call in calls] if log.is_local else log.workers.together(calls)
    if zero is None or zero.etag != snapshot.anchor or too_old(at):
        return reopen(at)  # too old only now: the process slept between the question and the answer
    if any(_is_another(snapshot, found) for found in tips):
        return reopen(at)
    snapshot = snapshot.changed(tip=next(((snapshot.version, found.etag) for found in tips if found), None))
    if following is None:
        return log.remember_snapshot(snapshot.with_checked(sent))
    newest = _apply_new(LogAtVersion(log, snapshot), following)
    if newest is None:
        return reopen(at)
    check_readable(log.url, newest.protocol)
    return log.remember_snapshot(newest.with_checked(sent))


def with_tip(at: LogAtVersion) -> Snapshot:
    """The snapshot after a commit, with what a local disk says of the version that was just written."""
    log, snapshot = at.log, at.snapshot
    if not log.is_local:
        return snapshot
    try:
        newest = log.head_version(snapshot.version)
    except StorageError as error:
        logger.info("table %s: version %d was written and cannot be looked at: %s", log.url, snapshot.version, error)
        return snapshot
    return snapshot.changed(tip=(snapshot.version, newest.etag) if newest else None)


def _is_another(snapshot: Snapshot, newest: ObjectMeta | None) -> bool:
    """Whether the version is not the one that was read: an older copy of the table was put back, and went its own way.

    Version 0 does not tell, if it is the same to the last bit and lies in the same place of the disk. That is asked of local
    disks only, where files are put back under running processes and asking costs nothing.
    """
    if snapshot.tip is None or snapshot.tip[0] != snapshot.version:
        return False
    return newest is None or newest.etag != snapshot.tip[1]


def _apply_new(at: LogAtVersion, following: VersionFile) -> Snapshot | None:
    """Apply N+1 and all that one listing shows after it. None where that is not simple: opening sorts it out."""
    log, snapshot = at.log, at.snapshot
    listed = sorted(list_versions(log.store, following.version + 1).versions)
    found = [following, *log.read_versions(listed, snapshot.table_id)]
    log.remember_version(snapshot.table_id, following)
    for number, version in enumerate(found, start=following.version):
        if version is None or version.version != number:
            return None
        snapshot = apply_version(snapshot, number, version.timestamp, version.actions)
    return snapshot


def reopen(at: LogAtVersion) -> Snapshot:
    """Forget what is known of the URL and open it. Raises what `reopened` raises."""
    log = at.log
    log.cache.forget(log.url, at.snapshot.table_id)
    return log.remember_snapshot(reopened(log))


def reopened(log: TableLog) -> Snapshot:
    """Open a table that was opened before. Raises TableNotFound where nothing of its log is left.

    Raises CorruptLog where version 0 is gone and other objects are there, which do not tell whether a drop is under way or the
    log was damaged.
    """
    try:
        return open_log(log)
    except TableNotFound as error:
        raise TableNotFound(
            f"there is no table at {log.url} any more: it was dropped since it was opened", url=log.url
        ) from error
    except CorruptLog as error:
        if log.head_version(0) is not None:
            raise
        raise CorruptLog(f"{error}, or drop the table again if a drop of it has begun", **error.details) from error


def too_old(at: LogAtVersion) -> bool:
    """Whether what came after the snapshot may have been cleaned up already."""
    return at.log.clock.boot() - at.snapshot.checked > at.snapshot.safety_age_seconds / 2
