"""Looking back: who committed what, what changed since, and what the log says line by line.

All of it reads version files, so it reaches back as far as they do. A time is turned into a version by the commits' own
timestamps, which grow with the version; files of other writers have none, and count from when the store got them.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of, table_of_rows
from indextables.core.errors import ChangesGone, CorruptLog, TableNotFound, VersionNotFound
from indextables.log.actions import Actions, AddAction, RemoveAction, added_again
from indextables.log.codec import to_json_object
from indextables.log.file_entries import FILE_SCHEMA, files_table
from indextables.log.listing import list_versions
from indextables.log.open_snapshot import below_floor, open_log
from indextables.log.refresh import open_current
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.table_log import TableLog, VersionFile

logger = logging.getLogger("indextables")

_LOOKS = 3
"""Times that the version of a moment is looked up, at most: clean-up may remove versions meanwhile."""

HISTORY_SCHEMA = pa.schema(
    [
        pa.field("version", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("ms", "UTC"), nullable=False),
        pa.field("operation", pa.string()),
        pa.field("parameters", pa.map_(pa.string(), pa.string())),
        pa.field("metrics", pa.map_(pa.string(), pa.string())),
        pa.field("txn_id", pa.string()),
        pa.field("read_version", pa.int64()),
        pa.field("engine", pa.string()),
    ]
)

REMOVES_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("deletionTimestamp", pa.int64()),
        pa.field("dataChange", pa.bool_(), nullable=False),
        pa.field("partitionValues", pa.map_(pa.string(), pa.string())),
        pa.field("size", pa.int64()),
        pa.field("removedAtVersion", pa.int64(), nullable=False),
    ]
)

LOG_SCHEMA = pa.schema(
    [
        pa.field("version", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("ms", "UTC"), nullable=False),
        pa.field("action", pa.string(), nullable=False),
        pa.field("path", pa.string()),
        pa.field("json", pa.string(), nullable=False),
    ]
)


@dataclass(frozen=True)
class Changes:
    """The data changes after a version: what was added and removed, in the order in which it was."""

    adds: pa.Table
    removes: pa.Table
    version: int
    """The version up to which this tells; pass it to the next call."""


def read_history(at: LogAtVersion, limit: int | None = None) -> pa.Table:
    """Commits, newest first."""
    rows = []
    for version, timestamp in timed_versions(kept_versions(at, limit)):
        info = version.actions.commit_info
        rows.append(
            {
                "version": version.version,
                "timestamp": timestamp,
                "operation": info.operation if info else None,
                "parameters": _text_items(info.operation_parameters if info else None),
                "metrics": _text_items(info.operation_metrics if info else None),
                "txn_id": info.txn_id if info else None,
                "read_version": info.read_version if info else None,
                "engine": info.engine_info if info else None,
            }
        )
    return table_of_rows(rows[::-1], HISTORY_SCHEMA)


def _text_items(values: dict[str, Any] | None) -> list[tuple[str, str | None]] | None:
    if values is None:
        return None
    return [(key, _text(value)) for key, value in values.items()]


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def read_changes(at: LogAtVersion, since: int) -> Changes:
    """The `dataChange` actions of the versions after `since`.

    Of a file that a version removes and adds again both actions are told, or none where only one of them says `dataChange`.
    """
    if at.snapshot.state_committed:
        _check_since(at, since)
        return _difference(at, since)
    ours = versions_after(at, since)
    told = [(version, *_data_changes(version.actions)) for version in ours]
    adds = [(add, version) for version, some, _ in told for add in some]
    removes = [(remove, version) for version, _, some in told for remove in some]
    added = files_table([a for a, _ in adds], [v.version for _, v in adds], [v.timestamp for _, v in adds])
    return Changes(added.cast(FILE_SCHEMA), _removes_table(removes), at.snapshot.version)


def _data_changes(actions: Actions) -> tuple[list[AddAction], list[RemoveAction]]:
    """The adds and removes of a version that `read_changes` tells."""
    adds = [add for add in actions.adds if add.data_change]
    removes = [remove for remove in actions.removes if remove.data_change]
    again = added_again(actions)
    if again:
        alone = again & ({add.path for add in adds} ^ {remove.path for remove in removes})
        adds = [add for add in adds if add.path not in alone]
        removes = [remove for remove in removes if remove.path not in alone]
    return adds, removes


def versions_after(at: LogAtVersion, since: int) -> list[VersionFile]:
    """The version files of the table after `since`, up to the snapshot's version, oldest first.

    Raises VersionNotFound where the table has not come as far as `since`, and ChangesGone where one of the files is gone.
    """
    _check_since(at, since)
    log, snapshot = at.log, at.snapshot
    wanted = list(range(max(since, -1) + 1, snapshot.version + 1))
    found = log.read_versions(wanted, snapshot.table_id)
    gone = [number for number, version in zip(wanted, found, strict=True) if version is None]
    if gone:
        raise ChangesGone(
            f"table {log.url}: version {max(gone)} was cleaned up, so changes are known only since {max(gone)}; "
            "read the whole table, then its changes from there",
            url=log.url,
            since=since,
            oldest=max(gone),
        )
    return [version for version in found if version is not None and version.belongs_to(snapshot.table_id)]


def _check_since(at: LogAtVersion, since: int) -> None:
    log, snapshot = at.log, at.snapshot
    if since > snapshot.version:
        raise VersionNotFound(
            f"table {log.url} is at version {snapshot.version}, so there are no changes since {since}",
            url=log.url,
            version=since,
        )


def _difference(at: LogAtVersion, since: int) -> Changes:
    """Where another implementation commits states, nothing says what changed: two states are compared."""
    log, snapshot = at.log, at.snapshot
    try:
        then = open_log(log, max(since, 0)).files
    except VersionNotFound as error:
        raise ChangesGone(
            f"table {log.url}: state {since} was cleaned up, so nothing is left to compare with; read the whole table",
            url=log.url,
            since=since,
            oldest=snapshot.version,
        ) from error
    now = snapshot.files
    added = now.filter(pc.invert(pc.is_in(now.column("path"), value_set=then.column("path").combine_chunks())))
    gone = then.filter(pc.invert(pc.is_in(then.column("path"), value_set=now.column("path").combine_chunks())))
    removes = pa.Table.from_arrays(
        [
            gone.column("path"),
            pa.nulls(gone.num_rows, pa.int64()),
            gone.column("dataChange"),
            gone.column("partitionValues"),
            gone.column("size"),
            array_of([snapshot.version] * gone.num_rows, pa.int64()),
        ],
        schema=REMOVES_SCHEMA,
    )
    return Changes(added, removes, snapshot.version)


def _removes_table(removes: list[tuple[RemoveAction, VersionFile]]) -> pa.Table:
    rows = [
        {
            "path": remove.path,
            "deletionTimestamp": remove.deletion_timestamp,
            "dataChange": remove.data_change,
            "partitionValues": list(remove.partition_values.items()) if remove.partition_values is not None else None,
            "size": remove.size,
            "removedAtVersion": version.version,
        }
        for remove, version in removes
    ]
    return table_of_rows(rows, REMOVES_SCHEMA)


def read_log(at: LogAtVersion, *, include_all: bool) -> pa.Table:
    """The log's actions, one a row: since the newest checkpoint, or all that is kept."""
    versions = kept_versions(at, None)
    base = at.snapshot.base
    if not include_all and base is not None:
        versions = [version for version in versions if version.version > base]
    rows = [
        {"version": version.version, "timestamp": timestamp, "action": kind, "path": path, "json": text}
        for version, timestamp in timed_versions(versions)
        for kind, path, text in _lines(version)
    ]
    return table_of_rows(rows, LOG_SCHEMA)


def _lines(version: VersionFile) -> Iterator[tuple[str, str | None, str]]:
    actions = version.actions
    single = (("commitInfo", actions.commit_info), ("protocol", actions.protocol), ("metaData", actions.metadata))
    several = (("txn", actions.txns), ("remove", actions.removes), ("add", actions.adds), ("mergeskip", actions.skips))
    for kind, action in single:
        if action is not None:
            yield kind, None, _json(action)
    for kind, group in several:
        for each in group:
            yield kind, getattr(each, "path", None), _json(each)


def _json(action: msgspec.Struct) -> str:
    return msgspec.json.encode(to_json_object(action)).decode()


def kept_versions(at: LogAtVersion, limit: int | None) -> list[VersionFile]:
    """Version files that are still there up to the snapshot's version, oldest first."""
    log, snapshot = at.log, at.snapshot
    listed = sorted(number for number in list_versions(log.store, 0).versions if number <= snapshot.version)
    if limit is not None:
        listed = listed[max(len(listed) - limit, 0) :] if limit > 0 else []
    found = log.read_versions(listed, snapshot.table_id)
    return [version for version in found if version is not None and version.belongs_to(snapshot.table_id)]


def timed_versions(versions: list[VersionFile]) -> Iterator[tuple[VersionFile, int]]:
    """Versions with their timestamps, made to grow as replay makes them grow."""
    previous = None
    for version in versions:
        timestamp = version.timestamp if previous is None else max(version.timestamp, previous + 1)
        previous = timestamp
        yield version, timestamp


class _Vanished(Exception):
    """A listed version was gone when its time was looked up."""


def version_at(log: TableLog, timestamp_ms: int) -> int:
    """The newest version at or before a time."""
    for _ in range(_LOOKS):
        try:
            return _version_at(log, timestamp_ms)
        except _Vanished as gone:
            vanished = gone
    raise VersionNotFound(
        f"table {log.url}: {vanished} was cleaned up while its time was looked up; ask for a later time", url=log.url
    )


def _version_at(log: TableLog, timestamp_ms: int) -> int:
    newest = open_current(log)
    if timestamp_ms >= newest.timestamp:
        return newest.version
    listed = sorted(number for number in list_versions(log.store, 0).versions if number <= newest.version)
    if newest.version not in listed and not newest.state_committed:
        raise _Vanished(f"version {newest.version}")  # so long ago was it the newest
    run = listed[_start_of_run(listed) :]
    times = _Times(LogAtVersion(log, newest), run)
    index = bisect_right(times, timestamp_ms) - 1
    if index < 0:
        first = f"its oldest version, {run[0]}, is from {_iso(times[0])}" if run else "no version file is left"
        raise VersionNotFound(
            f"table {log.url}: nothing is known of it at {_iso(timestamp_ms)}, {first}; ask for a later time",
            url=log.url,
        )
    return run[index]


def _iso(milliseconds: int) -> str:
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{milliseconds} ms since 1970"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _start_of_run(listed: list[int]) -> int:
    """Where the unbroken run of versions that ends with the newest begins."""
    start = len(listed) - 1
    while start > 0 and listed[start - 1] == listed[start] - 1:
        start -= 1
    return max(start, 0)


class _Times:
    """Timestamps of a run of versions as a sorted sequence: only those that a search looks at are read.

    Where other writers' versions are among them, whose time is only the store's, all are read, because what makes the times
    grow is the history before them.
    """

    def __init__(self, newest: LogAtVersion, run: list[int]) -> None:
        self._log = newest.log
        self._table_id = newest.snapshot.table_id
        self._run = run
        self._all: list[int] | None = None
        while run and not (first := self._read(run[:1])[0]).belongs_to(self._table_id):
            del run[0]  # a late version of a dropped table: nobody knows the time of what was in force below it
        if run and first.actions.table_id is None:
            self._all = [timestamp for _, timestamp in timed_versions(self._read(run))]

    def __len__(self) -> int:
        return len(self._run)

    def __getitem__(self, index: int) -> int:
        if self._all is not None:
            return self._all[index]
        while index >= 0:
            version = self._read([self._run[index]])[0]
            if version.belongs_to(self._table_id):
                return version.timestamp
            index -= 1
        return -1

    def _read(self, numbers: list[int]) -> list[VersionFile]:
        found = self._log.read_versions(numbers, self._table_id)
        for number, version in zip(numbers, found, strict=True):
            if version is None:
                raise _Vanished(f"version {number}")
        return [version for version in found if version is not None]


def open_at(log: TableLog, *, version: int | None = None, timestamp_ms: int | None = None) -> Snapshot:
    """The newest version, an older one, or the one in force at a time.

    Raises VersionNotFound below the floor of time travel, also where the version files there are not deleted yet.
    """
    if version is None and timestamp_ms is None:
        return open_current(log)
    wanted = version_at(log, timestamp_ms) if version is None and timestamp_ms is not None else version
    floor = _floor(log)
    if wanted is not None and 0 <= wanted < floor:
        raise below_floor(log.url, wanted, floor)
    return open_log(log, wanted)


def _floor(log: TableLog) -> int:
    """The oldest version that time travel goes to. 0 where the newest version cannot be read: then older ones are tried."""
    try:
        return open_current(log).floor
    except (CorruptLog, TableNotFound) as error:
        logger.info("table %s: the floor of time travel is not known: %s", log.url, error)
        return 0
