"""Creating a table is the put-if-absent of version 0: whoever wins it has the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import assert_never

from indextables.core import options as opt
from indextables.core.errors import CommitOutcomeUnknown, StorageError, TableExists
from indextables.log.actions import Actions, CommitInfo, MetadataAction
from indextables.log.codec import encode_actions, pack
from indextables.log.commit import ENGINE, has_txn_id
from indextables.log.listing import list_versions
from indextables.log.log_paths import LOG_DIR, MOVED_LOGS, STATES_PREFIX, parse_state_key, version_key
from indextables.log.open_snapshot import open_log
from indextables.log.protocol import NEW_TABLE_PROTOCOL
from indextables.log.put_once import Absent, Refused, Theirs, Unknown, Won, commit_back_off, create_and_read_back
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog

_TRIES = 5
"""Requests to create version 0, all with the same body, before the outcome is reported as unknown."""


def create_log(
    log: TableLog,
    *,
    schema_string: str,
    partition_columns: Sequence[str] = (),
    configuration: Mapping[str, str] | None = None,
    name: str | None = None,
    description: str | None = None,
) -> Snapshot:
    """Write version 0. Raises TableExists where there is a table, ours or another implementation's."""
    check_no_table(log)
    now_ms = log.clock.wall_ms()
    table_id = log.clock.uuid()
    txn_id = log.clock.uuid()
    metadata = MetadataAction(
        id=table_id,
        schema_string=schema_string,
        partition_columns=tuple(partition_columns),
        configuration=dict(configuration or {}),
        name=name,
        description=description,
        created_time=now_ms,
    )
    info = CommitInfo(
        txn_id=txn_id,
        table_id=table_id,
        timestamp=now_ms,
        operation="CREATE TABLE",
        operation_parameters={"partitionBy": ",".join(partition_columns)},
        operation_metrics={},
        engine_info=ENGINE,
    )
    actions = Actions(commit_info=info, protocol=NEW_TABLE_PROTOCOL, metadata=metadata)
    body = pack(encode_actions(actions), compress=log.options[opt.TRANSACTION_COMPRESSION_ENABLED])
    _put_version_zero(log, body, txn_id)
    log.cache.forget(log.url)
    return log.remember_snapshot(open_log(log))


def check_no_table(log: TableLog) -> None:
    """Raise TableExists where there is a table, or what is left of one.

    Version 0 may be gone from a table that another implementation cleaned up: such a table must not be created over. Nor must
    one whose log a repair is moving out of the way: the repaired log would find another one in its place.
    """
    listing = list_versions(log.store, 0)
    if 0 in listing.versions:
        raise _exists(log)
    later = [found.key for found in log.store.list(LOG_DIR, after=STATES_PREFIX)]  # states, and logs with other names
    states = [version for key in later if (version := parse_state_key(key)) is not None]
    if states or not listing.is_empty:
        newest = max([*listing.versions, *listing.checkpoints, *states])
        raise TableExists(
            f"{log.url} holds the log of a table up to version {newest}, without its version 0; open or repair it, or remove "
            f"{log.url}/{LOG_DIR} first",
            url=log.url,
        )
    for key in later:
        if key.startswith(MOVED_LOGS):
            name = key.partition("/")[0]
            raise TableExists(
                f"{log.url} has no log in place, but {name}: a table is being repaired there; move the log that is to be used to "
                f"{log.url}/{LOG_DIR}, or remove {log.url}/{name} first",
                url=log.url,
            )


def _put_version_zero(log: TableLog, body: bytes, txn_id: str) -> None:
    """Create version 0. Raises TableExists, the store's refusal, or CommitOutcomeUnknown while nobody can tell."""
    failure: StorageError | None = None
    for attempt in range(_TRIES):
        if attempt:
            commit_back_off(log.options).wait(log.clock, attempt - 1)
        match create_and_read_back(log.store, version_key(0), body, partial(has_txn_id, log, txn_id)):
            case Won():
                return
            case Theirs():
                raise _exists(log)
            case Refused(error) if attempt == 0:
                raise error
            case Refused(error) | Absent(error):
                failure = error
            case Unknown(error, why):
                raise _unknown(log, txn_id, why) from error
            case never:
                assert_never(never)
    raise _unknown(log, txn_id, f"{_TRIES} requests failed, the last one with: {failure}") from failure


def _exists(log: TableLog) -> TableExists:
    return TableExists(
        f"there is a table at {log.url} already; open it with Table.open, or create with if_exists='open'", url=log.url
    )


def _unknown(log: TableLog, txn_id: str, why: str) -> CommitOutcomeUnknown:
    return CommitOutcomeUnknown(
        f"nobody can tell whether the table at {log.url} was created: {why}; open it to find out",
        url=log.url,
        version=0,
        txn_id=txn_id,
    )
