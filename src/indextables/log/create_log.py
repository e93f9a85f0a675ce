"""Creating a table is the put-if-absent of version 0: whoever wins it has the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from indextables.core import options as opt
from indextables.core.errors import CommitOutcomeUnknown, LogError, StorageError, TableExists
from indextables.log.actions import Actions, CommitInfo, MetadataAction
from indextables.log.codec import encode_actions, pack
from indextables.log.commit import ENGINE, is_refusal
from indextables.log.listing import list_states, list_versions
from indextables.log.log_paths import LOG_DIR, version_key
from indextables.log.open_snapshot import open_log
from indextables.log.protocol import NEW_TABLE_PROTOCOL
from indextables.log.refresh import remember
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog

_TRIES = 5


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
    _refuse_remains(log)
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
    return remember(log, open_log(log))


def _refuse_remains(log: TableLog) -> None:
    """Version 0 may be gone from a table that another implementation cleaned up: such a table must not be created over."""
    listing = list_versions(log.store, 0)
    listing.states = list_states(log.store, 0)
    if 0 in listing.versions:
        raise _exists(log)
    if not listing.is_empty:
        newest = max([*listing.versions, *listing.checkpoints, *listing.states])
        raise TableExists(
            f"{log.url} holds the log of a table up to version {newest}, without its version 0; open or repair it, or remove "
            f"{log.url}/{LOG_DIR} first",
            url=log.url,
        )


def _put_version_zero(log: TableLog, body: bytes, txn_id: str) -> None:
    open_request = False
    failure: StorageError | None = None
    for _ in range(_TRIES):
        try:
            log.store.create(version_key(0), body)
        except StorageError as error:
            failure = error
        else:
            return
        try:
            found = log.read_version(0)
        except (StorageError, LogError) as error:
            raise _unknown(log, txn_id, error) from error
        if found is not None and found.actions.txn_id == txn_id:
            if failure.details.get("written"):
                raise _unknown(log, txn_id, failure)
            return
        if found is not None:
            raise _exists(log)
        open_request = open_request or not is_refusal(failure)
        if not open_request:
            raise failure
        log.clock.sleep(log.options[opt.TRANSACTION_RETRY_BASE_DELAY_MS] * log.clock.jitter() / 1000.0)
    raise _unknown(log, txn_id, failure)


def _exists(log: TableLog) -> TableExists:
    return TableExists(
        f"there is a table at {log.url} already; open it with Table.open, or create with if_exists='open'", url=log.url
    )


def _unknown(log: TableLog, txn_id: str, error: Exception | None) -> CommitOutcomeUnknown:
    return CommitOutcomeUnknown(
        f"nobody can tell whether the table at {log.url} was created: {error}; open it to find out",
        url=log.url,
        version=0,
        txn_id=txn_id,
    )
