"""A checkpoint: the table's state at its version, in the format that is asked for.

Tables of older protocols are upgraded first: the protocol is committed, so that replay and state agree on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from indextables.core import options as opt
from indextables.core.errors import ForeignTable
from indextables.log.actions import PROTOCOL_VERSION, ProtocolAction
from indextables.log.checkpoint import write_checkpoint
from indextables.log.commit import commit
from indextables.log.conflicts import Change
from indextables.log.fileset import FileSet
from indextables.log.refresh import remember
from indextables.log.snapshot import Snapshot
from indextables.log.state.files import StateFiles
from indextables.log.state.write import write_state
from indextables.log.tablelog import TableLog


@dataclass(frozen=True)
class Checkpointed:
    """What a checkpoint did. `written` is False where it was given up, and nothing is lost by that."""

    snapshot: Snapshot
    format: str
    kind: str
    written: bool


def checkpoint(log: TableLog, snapshot: Snapshot, *, compact: bool) -> Checkpointed:
    """Write the snapshot's state, and go on from it.

    A table that another implementation commits by states is refused: it would not find its way from our pointer.
    """
    if snapshot.state_committed:
        raise ForeignTable(
            f"table {log.url} is committed by another implementation as states, each of them a checkpoint already; commit with "
            f"{opt.TRANSACTION_ADOPT_FOREIGN.key}=true to take it over for good",
            url=log.url,
        )
    if log.options[opt.STATE_FORMAT] == "json":
        return Checkpointed(snapshot, "json", "whole", write_checkpoint(log, snapshot))
    if snapshot.protocol.min_reader_version < PROTOCOL_VERSION:
        change = Change(protocol=_upgraded(snapshot.protocol))
        snapshot = commit(log, snapshot, change, operation="UPGRADE PROTOCOL").snapshot
    written = write_state(log, snapshot, compact=compact)
    if written is None:
        return Checkpointed(snapshot, "avro-state", "none", written=False)
    if written.ours:
        source = StateFiles(log, written.state, snapshot.file_set.folded)
        snapshot = remember(log, replace(snapshot, file_set=FileSet(source), base=snapshot.version))
    return Checkpointed(snapshot, "avro-state", written.kind, written=True)


def _upgraded(protocol: ProtocolAction) -> ProtocolAction:
    readers = tuple(dict.fromkeys([*(protocol.reader_features or ()), "avroState", "schemaDeduplication"]))
    writers = tuple(dict.fromkeys([*(protocol.writer_features or ()), "avroState", "schemaDeduplication"]))
    return ProtocolAction(PROTOCOL_VERSION, PROTOCOL_VERSION, readers, writers)
