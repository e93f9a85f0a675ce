"""The files of a snapshot, read when they are asked for, which may be long after the snapshot was opened.

Clean-up goes on meanwhile, so a manifest of the snapshot's state may be gone or damaged. Then the same version of the same table
is opened again, from the states, checkpoints and version files that are there now.
"""

from __future__ import annotations

import logging

import pyarrow as pa

from indextables.core.errors import CorruptLog, ObjectNotFound, VersionNotFound
from indextables.core.predicate import Predicate
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion, Snapshot, check_same_table
from indextables.log.state.live_files import StateFiles

logger = logging.getLogger("indextables")


def read_files(at: LogAtVersion, where: Predicate | None) -> tuple[Snapshot, pa.Table]:
    """The files of a version, all or those that may matter, and the snapshot they came from.

    A state's manifests are read here, long after it was opened. Where one is gone or damaged, the version is opened again,
    manifests included, from whatever else can give it.
    """
    snapshot = at.snapshot
    try:
        return snapshot, snapshot.select_files(where)
    except (ObjectNotFound, CorruptLog) as error:
        if not isinstance(snapshot.file_set.base, StateFiles):
            raise
        logger.warning("table %s: %s; opening version %d again", at.log.url, error, snapshot.version)
    again = open_again(at, whole=True)
    return again, again.select_files(where)


def open_again(at: LogAtVersion, *, whole: bool) -> Snapshot:
    """Open the version of a snapshot again, from the log objects that exist now. Raises TableReplaced for another table."""
    log, snapshot = at.log, at.snapshot
    try:
        again = open_log(log, snapshot.version, whole=whole)
    except VersionNotFound as error:
        raise VersionNotFound(
            f"table {log.url}: version {snapshot.version} was cleaned up since it was opened; refresh the table ({error})",
            url=log.url,
            version=snapshot.version,
        ) from error
    check_same_table(snapshot, again)
    return again.with_checked(snapshot.checked)
