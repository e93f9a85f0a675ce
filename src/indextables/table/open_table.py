"""Opening a table at a version, for a caller or for tasks that share one version.

    open_table                 the caller's own handle
    pin_version ──▶ (version, table id) ──▶ open_pinned     the same version in another process

A process keeps the snapshots that it pinned, because Spark asks for the same version again and again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from indextables.core.errors import LogError, ObjectNotFound, OptionError, SplitError, TableReplaced
from indextables.core.options import Options
from indextables.core.runtime.process_state import Lru, ProcessLocal
from indextables.log.history import open_at
from indextables.log.log_paths import version_key
from indextables.log.open_snapshot import open_log as open_snapshot
from indextables.log.refresh import open_current, reopened
from indextables.log.snapshot import Snapshot, check_same_table
from indextables.log.table_log import TableLog
from indextables.table.arguments import Moment, milliseconds, whole_number
from indextables.table.handle import TableHandle
from indextables.table.open_log import open_log, process_log

_MOST_PINNED: Final = 16
"""At most so many pinned snapshots are kept in a process: the tables of one query, not all of a long session."""
_PINNED: Final[ProcessLocal[Lru[tuple[str, str, int], Snapshot]]] = ProcessLocal(lambda: Lru(_MOST_PINNED))
_VERSION_ZERO: Final = version_key(0)


def open_table(
    url: str | os.PathLike[str],
    version: int | None = None,
    timestamp: Moment | None = None,
    options: Mapping[str, Any] | Options | None = None,
) -> TableHandle:
    """The newest version, an older one, or the one that was in force at a time. Raises TableNotFound, VersionNotFound."""
    version, moment = _which(version, timestamp)
    log = open_log(url, options)
    return TableHandle(log, open_at(log, version=version, timestamp_ms=moment))


def open_table_of(log: TableLog) -> TableHandle:
    """The newest version of the table whose log is open already. Raises TableNotFound."""
    return TableHandle(log, open_at(log))


def open_older(handle: TableHandle, version: int | None, timestamp: Moment | None = None) -> TableHandle:
    """The table of a handle at another version, or at the one that was in force at a time.

    Raises VersionNotFound, and TableReplaced where another table lies at the URL now.
    """
    number, moment = _which(version, timestamp)
    older = open_at(handle.log, version=number, timestamp_ms=moment)
    check_same_table(handle.snapshot, older)
    return handle.moved(older)


def at_read_version(handle: TableHandle, if_version: int) -> TableHandle:
    """The table at the version that a write was computed from."""
    number = whole_number("if_version", if_version)
    return handle if number == handle.version else open_older(handle, number)


def pin_version(
    url: str,
    options: Options,
    version: int | None = None,
    timestamp: Moment | None = None,
    timestamp_ms: int | None = None,
) -> TableHandle:
    """The version that a query of several processes is about; the newest one, unless a version or a time is given.

    A time is a `Moment`, or milliseconds since 1970. Raises TableNotFound, VersionNotFound.
    """
    version, moment = _which(version, timestamp)
    moment = timestamp_ms if moment is None else moment
    log = process_log(url, options)
    snapshot = open_at(log, version=version, timestamp_ms=moment)
    _PINNED.value.put((log.url, snapshot.table_id, snapshot.version), snapshot)
    return TableHandle(log, snapshot)


def open_pinned(url: str, options: Options, version: int, table_id: str) -> TableHandle:
    """The version that another process pinned. Raises TableReplaced, VersionNotFound."""
    log = process_log(url, options)
    snapshot = _PINNED.value.get((log.url, table_id, version))
    if snapshot is None:
        snapshot = open_current(log)
        if snapshot.version != version and snapshot.table_id == table_id:
            snapshot = open_snapshot(log, version)
        if snapshot.table_id != table_id:
            raise _replaced(log.url)
        _PINNED.value.put((log.url, table_id, version), snapshot)
    return TableHandle(log, snapshot)


@contextmanager
def same_table(handle: TableHandle) -> Iterator[None]:
    """Raise TableReplaced if the table was dropped and created again, also where a missing file is what shows it.

    Version 0 is looked at before the block. Afterwards it is looked at again if the block misses an object.
    """
    anchor = handle.snapshot.anchor
    zero = None if anchor is None else handle.log.head(_VERSION_ZERO)
    try:
        if anchor is not None and (zero is None or zero.etag != anchor):
            _check_same(handle)
        yield
    except (SplitError, LogError, ObjectNotFound):
        _check_same(handle)
        raise


def _check_same(handle: TableHandle) -> None:
    """Raises TableReplaced, TableNotFound, CorruptLog."""
    if reopened(handle.log).table_id != handle.table_id:
        raise _replaced(handle.url)


def _replaced(url: str) -> TableReplaced:
    return TableReplaced(f"table {url} was dropped and created again since it was loaded; load it anew", url=url)


def _which(version: int | None, timestamp: Moment | None) -> tuple[int | None, int | None]:
    """The version as a whole number, and the time as milliseconds since 1970. Raises OptionError where both are given."""
    if version is not None and timestamp is not None:
        raise OptionError("give a version or a timestamp, not both")
    if version is not None:
        version = whole_number("version", version)
    return version, None if timestamp is None else milliseconds(timestamp)
