"""A state as the snapshot to replay later versions on."""

from __future__ import annotations

from indextables.core.errors import CorruptLog
from indextables.log.actions import ProtocolAction, registered_schemas
from indextables.log.file_set import FileSet
from indextables.log.json_checkpoint import NotThisTable
from indextables.log.snapshot import Snapshot
from indextables.log.state.live_files import StateFiles
from indextables.log.state.model import State
from indextables.log.state.read import decode_state
from indextables.log.table_log import TableLog, VersionFile
from indextables.storage.store import StoredObject


def load_state(
    log: TableLog, version: int, found: StoredObject, zero: VersionFile | None, *, has_version_file: bool
) -> Snapshot:
    """The snapshot that a state holds. Its manifests are read later, when somebody asks for files.

    Raises CorruptLog when it cannot be used, and NotThisTable when it is another table's.
    """
    name = f"{log.url}/{found.meta.key}"
    state = decode_state(name, found.data, version)
    first = zero.actions.metadata if zero is not None else None
    metadata = state.metadata or first
    if metadata is None:
        raise CorruptLog(f"{name} has no metadata, and there is no version 0 that would have it", object=name)
    if first is not None and metadata.id != first.id:
        raise NotThisTable(f"{name} belongs to table {metadata.id}, not to {first.id}")
    return Snapshot(
        url=log.url,
        version=version,
        timestamp=state.commit_timestamp or state.created_at or found.meta.last_modified_ms,
        protocol=state.protocol or _foreign_protocol(state),
        metadata=metadata,
        file_set=FileSet(StateFiles(log, state)),
        transactions=dict(state.transactions),
        skips=state.skips,
        registry={**registered_schemas(metadata.configuration), **state.registry},
        base=version,
        floor=state.floor,
        state_committed=not has_version_file,
    )


def _foreign_protocol(state: State) -> ProtocolAction:
    """Other writers' states hold only a number."""
    features = ("avroState",)
    return ProtocolAction(state.protocol_version, state.protocol_version, features, features)
