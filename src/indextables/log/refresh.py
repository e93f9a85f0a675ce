"""Refreshing: what is new since a snapshot, in two requests when nothing is.

Version N+1 is asked for and version 0 is looked at, side by side (on a local disk version N, too). Both unchanged and N+1
absent: nothing is new. This is only sound while nobody can have deleted N+1 again, so a snapshot that was last seen to be the
newest more than half the safety age ago is opened anew.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from indextables.core import options as opt
from indextables.core.errors import CorruptLog, ObjectNotFound, StorageError, TableReplaced, VersionNotFound
from indextables.core.predicate import Predicate
from indextables.log.listing import list_versions
from indextables.log.log_paths import version_key
from indextables.log.open_snapshot import open_log
from indextables.log.protocol import check_readable
from indextables.log.snapshot import Snapshot, apply_version
from indextables.log.state.live_files import StateFiles
from indextables.log.table_log import TableLog, VersionFile
from indextables.storage.local import local_store
from indextables.storage.store import ObjectMeta

logger = logging.getLogger("indextables")


def open_current(log: TableLog) -> Snapshot:
    """The newest version, starting from what this process remembers of the URL."""
    known: Snapshot | None = None
    if log.caching:
        ttl = log.options[opt.TRANSACTION_CACHE_EXPIRATION_SECONDS]
        known = log.cache.get("snapshot", log.url, now=log.clock.boot(), ttl_seconds=ttl)
    if known is not None:
        return refresh(log, known)
    return remember(log, open_log(log))


def refresh(log: TableLog, snapshot: Snapshot) -> Snapshot:
    """The newest version, or one that was the newest at most `transaction.maxStaleness` seconds ago."""
    allowed = log.options[opt.TRANSACTION_MAX_STALENESS]
    if allowed > 0 and log.clock.boot() - snapshot.checked <= allowed:
        return snapshot
    return refresh_now(log, snapshot)


def refresh_now(log: TableLog, snapshot: Snapshot) -> Snapshot:
    """The newest version, whatever staleness is allowed."""
    sent = log.clock.boot()
    if snapshot.gap is not None or snapshot.anchor is None or snapshot.state_committed or too_old(log, snapshot):
        return reopen(log, snapshot)
    calls: list[Callable[[], Any]] = [
        lambda: log.read_version(snapshot.version + 1),
        lambda: head_or_none(log, version_key(0)),
    ]
    if local_store(log.store) is not None:
        calls.append(lambda: head_or_none(log, version_key(snapshot.version)))
    following, zero, *tips = log.workers.together(calls)
    if zero is None or zero.etag != snapshot.anchor or too_old(log, snapshot):
        return reopen(log, snapshot)  # too old only now: the process slept between the question and the answer
    if any(_is_another(snapshot, found) for found in tips):
        return reopen(log, snapshot)
    snapshot = replace(snapshot, tip=next(((snapshot.version, found.etag) for found in tips if found), None))
    if following is None:
        return remember(log, snapshot.with_checked(sent))
    newest = _apply_new(log, snapshot, following)
    if newest is None:
        return reopen(log, snapshot)
    check_readable(log.url, newest.protocol)
    return remember(log, newest.with_checked(sent))


def with_tip(log: TableLog, snapshot: Snapshot) -> Snapshot:
    """The snapshot after a commit, with what a local disk says of the version that was just written."""
    if local_store(log.store) is None:
        return snapshot
    try:
        newest = head_or_none(log, version_key(snapshot.version))
    except StorageError as error:
        logger.info("table %s: version %d was written and cannot be looked at: %s", log.url, snapshot.version, error)
        return snapshot
    return replace(snapshot, tip=(snapshot.version, newest.etag) if newest else None)


def _is_another(snapshot: Snapshot, newest: ObjectMeta | None) -> bool:
    """Whether the version is not the one that was read: an older copy of the table was put back, and went its own way.

    Version 0 does not tell, if it is the same to the last bit and lies in the same place of the disk. That is asked of local
    disks only, where files are put back under running processes and asking costs nothing.
    """
    if snapshot.tip is None or snapshot.tip[0] != snapshot.version:
        return False
    return newest is None or newest.etag != snapshot.tip[1]


def _apply_new(log: TableLog, snapshot: Snapshot, following: VersionFile) -> Snapshot | None:
    """Apply N+1 and all that one listing shows after it. None where that is not simple: opening sorts it out."""
    listed = sorted(list_versions(log.store, following.version + 1).versions)
    found = [following, *log.read_versions(listed, snapshot.table_id)]
    log.remember_version(snapshot.table_id, following)
    for number, version in enumerate(found, start=following.version):
        if version is None or version.version != number:
            return None
        snapshot = apply_version(snapshot, number, version.timestamp, version.actions)
    return snapshot


def reopen(log: TableLog, snapshot: Snapshot) -> Snapshot:
    """Forget what is known of the URL and open it."""
    log.cache.forget(log.url, snapshot.table_id)
    return remember(log, open_log(log))


def read_files(log: TableLog, snapshot: Snapshot, where: Predicate | None) -> tuple[Snapshot, pa.Table]:
    """The files of a snapshot, all or those that may matter, and the snapshot they came from.

    A state's manifests are read here, long after it was opened. Where one is gone or damaged, the version is opened again,
    manifests included, from whatever else can give it.
    """
    try:
        return snapshot, snapshot.select_files(where)
    except (ObjectNotFound, CorruptLog) as error:
        if not isinstance(snapshot.file_set.base, StateFiles):
            raise
        logger.warning("table %s: %s; opening version %d again", log.url, error, snapshot.version)
    again = open_again(log, snapshot, whole=True)
    return again, again.select_files(where)


def open_again(log: TableLog, snapshot: Snapshot, *, whole: bool) -> Snapshot:
    """The same version of the same table, from what is there now."""
    try:
        again = open_log(log, snapshot.version, whole=whole)
    except VersionNotFound as error:
        raise VersionNotFound(
            f"table {log.url}: version {snapshot.version} was cleaned up since it was opened; refresh the table ({error})",
            url=log.url,
            version=snapshot.version,
        ) from error
    if again.table_id != snapshot.table_id:
        raise TableReplaced(
            f"table {log.url} was dropped and created again since it was opened; open it anew", url=log.url
        )
    return again.with_checked(snapshot.checked)


def too_old(log: TableLog, snapshot: Snapshot) -> bool:
    """Whether what came after this snapshot may have been cleaned up already."""
    return log.clock.boot() - snapshot.checked > snapshot.safety_age_seconds / 2


def head_or_none(log: TableLog, key: str) -> ObjectMeta | None:
    """What the store knows of an object; None where there is none."""
    try:
        return log.store.head(key)
    except ObjectNotFound:
        return None


def remember(log: TableLog, snapshot: Snapshot) -> Snapshot:
    """Keep the newest snapshot of a URL as a place to start from."""
    if log.caching:
        log.cache.put("snapshot", log.url, snapshot, now=log.clock.boot())
    return snapshot
