"""The first offset of a stream: by version, by time, from now on, or with the snapshot of the newest version."""

from __future__ import annotations

from datetime import UTC, datetime

from indextables.core.errors import ChangesGone, VersionNotFound
from indextables.log.history import version_at
from indextables.log.listing import list_versions
from indextables.log.snapshot import LogAtVersion
from indextables.table.stream.stream_offset import Offset
from indextables.table.stream.stream_options import StreamOptions


def first_offset(newest: LogAtVersion, options: StreamOptions, *, has_files: bool) -> Offset:
    """Where a new stream begins. Raises VersionNotFound for a version or a time that is still to come, ChangesGone."""
    table_id, version = newest.snapshot.table_id, newest.snapshot.version
    if options.starting_version == "latest":
        return Offset(table_id, version + 1)
    if options.starting_version is not None:
        return Offset(table_id, _of_number(newest, options.starting_version))
    if options.starting_timestamp is not None:
        return Offset(table_id, _of_time(newest, options.starting_timestamp))
    if has_files:
        return Offset(table_id, version, snapshot=True)
    return Offset(table_id, version + 1)


def oldest_version(newest: LogAtVersion) -> int:
    """The oldest version from which on every version is there. What lies below it was cleaned up."""
    log, version = newest.log, newest.snapshot.version
    listed = sorted((number for number in list_versions(log.store, 0).versions if number <= version), reverse=True)
    oldest = version + 1
    for number in listed:
        if number != oldest - 1:
            break
        oldest = number
    return oldest


def changes_gone(url: str, version: int, oldest: int, what: str = "version") -> ChangesGone:
    """The error for a version, or a snapshot, that was cleaned up before a stream gave its rows."""
    return ChangesGone(
        f"table {url}: {what} {version} was cleaned up before the stream gave its rows, the oldest version to go on from is "
        f"{oldest}: begin a new stream with startingVersion={oldest} or a snapshot, or set failOnDataLoss=false to go on there",
        url=url,
        version=version,
        oldest=oldest,
    )


def _of_number(newest: LogAtVersion, number: int) -> int:
    url, version = newest.log.url, newest.snapshot.version
    if number > version + 1:
        raise VersionNotFound(
            f"table {url} is at version {version}, so a stream cannot start at version {number}: give a version up to "
            f"{version + 1}, or latest",
            url=url,
            version=number,
            newest=version,
        )
    return number


def _of_time(newest: LogAtVersion, milliseconds: int) -> int:
    """The first version that is not older than a time."""
    log, snapshot = newest.log, newest.snapshot
    if milliseconds > snapshot.timestamp:
        raise VersionNotFound(
            f"table {log.url}: startingTimestamp is later than the newest commit, version {snapshot.version} of "
            f"{_iso(snapshot.timestamp)}: give an earlier time, or startingVersion=latest",
            url=log.url,
            newest=snapshot.version,
        )
    try:
        return min(version_at(log, milliseconds - 1), snapshot.version) + 1
    except VersionNotFound:  # nothing is known of that time: all that is kept came later
        oldest = oldest_version(newest)
        if oldest > 0:
            raise changes_gone(log.url, oldest - 1, oldest) from None
        return 0


def _iso(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
