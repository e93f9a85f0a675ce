"""A checkpoint: the table's state at its version, in the format that is asked for.

Tables of older protocols are upgraded first: the protocol is committed, so that replay and state agree on it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from indextables.core import options as opt
from indextables.core.errors import ForeignTable
from indextables.log.actions import PROTOCOL_VERSION, ProtocolAction
from indextables.log.commit import commit
from indextables.log.conflicts import Change
from indextables.log.file_set import FileSet
from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.listing import list_states, list_versions
from indextables.log.refresh import head_or_none, open_again, remember
from indextables.log.snapshot import Snapshot
from indextables.log.state.live_files import StateFiles
from indextables.log.state.model import manifest_key
from indextables.log.state.write import write_state
from indextables.log.table_log import TableLog

logger = logging.getLogger("indextables")


@dataclass(frozen=True)
class Checkpointed:
    """What a checkpoint did. `written` is False where it was given up, and nothing is lost by that."""

    snapshot: Snapshot
    format: str
    kind: str
    written: bool

    def __repr__(self) -> str:
        """Without the snapshot, which is everything that is known of the table."""
        version = self.snapshot.version
        return f"Checkpointed(version={version}, format={self.format!r}, kind={self.kind!r}, written={self.written})"


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
    snapshot, sound = _grounded(log, snapshot)
    written = write_state(log, snapshot, compact=compact or not sound)
    if written is None:
        return Checkpointed(snapshot, "avro-state", "none", written=False)
    if written.ours:
        source = StateFiles(log, written.state, snapshot.file_set.folded)
        snapshot = remember(log, replace(snapshot, file_set=FileSet(source), base=snapshot.version))
    return Checkpointed(snapshot, "avro-state", written.kind, written=True)


def _grounded(log: TableLog, snapshot: Snapshot) -> tuple[Snapshot, bool]:
    """The snapshot on the newest state below it, and whether that state has all its manifests.

    A state names the manifests of the one it goes on from, so these must stay. A handle that was refreshed for days may stand
    on a state that is being thinned out; a state whose writer slept may have lost manifests before it was written.
    """
    source = snapshot.file_set.base
    if not isinstance(source, StateFiles):
        return snapshot, True
    base = source.state.version
    calls: list[Callable[[], Any]] = [
        lambda: list_states(log.store, base),
        lambda: list_versions(log.store, base).checkpoints,
    ]
    states, checkpoints = log.workers.together(calls)
    if any(base < number <= snapshot.version for number in (*states, *checkpoints)):
        snapshot = open_again(log, snapshot, whole=False)
        source = snapshot.file_set.base
        if not isinstance(source, StateFiles):
            return snapshot, True
    keys = [manifest_key(item.path, source.state.version) for item in source.state.manifests]
    if None not in log.side_by_side([partial(head_or_none, log, key) for key in keys]):
        return snapshot, True
    logger.warning("table %s: state %d lacks manifests; writing the next one anew", log.url, source.state.version)
    return open_again(log, snapshot, whole=True), False


def _upgraded(protocol: ProtocolAction) -> ProtocolAction:
    readers = tuple(dict.fromkeys([*(protocol.reader_features or ()), "avroState", "schemaDeduplication"]))
    writers = tuple(dict.fromkeys([*(protocol.writer_features or ()), "avroState", "schemaDeduplication"]))
    return ProtocolAction(PROTOCOL_VERSION, PROTOCOL_VERSION, readers, writers)
