"""A new log with the files of a table, written in a directory that holds nothing yet.

    versions 1, 2, … (files, 50,000 each) ──▶ version 0 (protocol, metadata) ──▶ a state, best effort

Version 0 comes last: without it the directory is no table's log, so that a repair that died leaves none that looks whole.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec

from indextables.core import options as opt
from indextables.core.errors import CorruptLog, IndexTablesError, StorageError, TableExists
from indextables.core.schema_hash import schema_hash
from indextables.log.actions import (
    SCHEMA_KEY,
    Actions,
    AddAction,
    CommitInfo,
    MetadataAction,
    ProtocolAction,
    SkipAction,
    TxnAction,
)
from indextables.log.codec import encode_actions, pack
from indextables.log.commit import ENGINE, has_txn_id
from indextables.log.log_paths import LOG_DIR, version_key
from indextables.log.open_snapshot import open_log
from indextables.log.put_once import Absent, Refused, Theirs, Unknown, Won, commit_back_off, create_and_read_back
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.state.write import write_state
from indextables.log.table_log import TableLog

logger = logging.getLogger("indextables")

OPERATION: Final = "REPAIR"
"""The name of the commits of a rebuilt log."""
_FILES_PER_VERSION: Final = 50_000
"""Files of one version: a version file of some tens of megabytes of text, well below `transaction.maxVersionFileBytes`."""
_TRIES: Final = 5
"""Requests to create one version file, all with the same body, before the repair fails."""


@dataclass(frozen=True)
class NewLog:
    """What a rebuilt log holds."""

    protocol: ProtocolAction
    metadata: MetadataAction
    """Without an id: a rebuilt log is another table for everybody who knew the old one."""
    files: Sequence[AddAction]
    transactions: Sequence[TxnAction] = ()
    skips: Sequence[SkipAction] = ()
    parameters: dict[str, Any] | None = None
    """Where the log came from, for the history."""


def refuse_objects(log: TableLog, url: str) -> None:
    """Raise TableExists if the directory of the new log holds anything."""
    first = next(iter(log.store.list(f"{LOG_DIR}/")), None)
    if first is not None:
        name = first.key.removeprefix(f"{LOG_DIR}/")
        raise TableExists(f"{url} holds {name} already; name a directory for the new log that is empty", url=url)


def write_log(log: TableLog, new: NewLog) -> Snapshot:
    """Write the log, version 0 last, and open it. Raises TableExists, StorageError, CorruptLog."""
    now_ms = log.clock.wall_ms()
    table_id = log.clock.uuid()
    files, mappings = _with_mapping_refs(new.files, new.metadata)
    configuration = {**new.metadata.configuration, **mappings}
    metadata = msgspec.structs.replace(new.metadata, id=table_id, configuration=configuration)
    pieces = [files[start : start + _FILES_PER_VERSION] for start in range(0, len(files), _FILES_PER_VERSION)] or [[]]
    for number, piece in enumerate(pieces, start=1):
        first = number == 1
        actions = Actions(
            txns=tuple(new.transactions) if first else (),
            adds=tuple(piece),
            skips=tuple(new.skips) if first else (),
        )
        _put(log, number, _signed(log, table_id, now_ms, number, actions, new.parameters))
    zero = Actions(protocol=new.protocol, metadata=metadata)
    _put(log, 0, _signed(log, table_id, now_ms, 0, zero, new.parameters))
    snapshot = open_log(log)
    if snapshot.version != len(pieces) or snapshot.files.num_rows != len(files):
        raise CorruptLog(
            f"the new log of {log.url} has {snapshot.files.num_rows} files at version {snapshot.version}, {len(files)} were "
            "written: something else writes to its directory; repair into another one",
            url=log.url,
        )
    _checkpoint(log, snapshot)
    return snapshot


def _signed(
    log: TableLog, table_id: str, now_ms: int, number: int, actions: Actions, parameters: dict[str, Any] | None
) -> Actions:
    info = CommitInfo(
        txn_id=log.clock.uuid(),
        table_id=table_id,
        timestamp=now_ms + number,
        operation=OPERATION,
        operation_parameters=parameters or {},
        operation_metrics={"numAddedFiles": len(actions.adds)},
        engine_info=ENGINE,
        read_version=number - 1 if number else None,
    )
    return msgspec.structs.replace(actions, commit_info=info)


def _with_mapping_refs(files: Sequence[AddAction], metadata: MetadataAction) -> tuple[list[AddAction], dict[str, str]]:
    """The files with hashes in place of the texts of their mappings, and the texts for the table's metadata."""
    hashes: dict[str, str] = {}
    replaced = []
    for add in files:
        text = add.doc_mapping_json
        if text is None:
            replaced.append(add)
            continue
        ref = hashes.get(text) or hashes.setdefault(text, schema_hash(text))
        replaced.append(msgspec.structs.replace(add, doc_mapping_json=None, doc_mapping_ref=ref))
    known = metadata.configuration
    return replaced, {key: text for text, ref in hashes.items() if (key := f"{SCHEMA_KEY}{ref}") not in known}


def _put(log: TableLog, number: int, actions: Actions) -> None:
    """Create a version file. Raises TableExists where somebody else's object is there, StorageError where the store fails."""
    assert actions.txn_id is not None
    key = version_key(number)
    body = pack(encode_actions(actions), compress=log.options[opt.TRANSACTION_COMPRESSION_ENABLED])
    failure: IndexTablesError | None = None
    for attempt in range(_TRIES):
        if attempt:
            commit_back_off(log.options).wait(log.clock, attempt - 1)
        match create_and_read_back(log.store, key, body, partial(has_txn_id, log, actions.txn_id)):
            case Won():
                return
            case Theirs():
                raise TableExists(
                    f"another repair writes to the same place, {log.url}: {key} is there already", url=log.url
                )
            case Refused(error) | Absent(error) | Unknown(error, _):
                failure = error
    raise StorageError(
        f"the new log of {log.url} is not written: {failure}; repair again, into another directory"
    ) from failure


def _checkpoint(log: TableLog, snapshot: Snapshot) -> None:
    """Write a state, so that opening reads less. The log is whole without it."""
    try:
        write_state(LogAtVersion(log, snapshot), compact=True)
    except IndexTablesError as error:
        logger.warning("table %s: the new log is whole, and has no state yet: %s", log.url, error)
