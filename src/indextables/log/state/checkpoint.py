"""A checkpoint: the table's state at its version, in the format that is asked for.

Tables of older protocols are upgraded first: the protocol is committed, so that replay and state agree on it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from indextables.core import options as opt
from indextables.core.errors import ForeignTable
from indextables.core.metrics import METRICS
from indextables.log.actions import PROTOCOL_VERSION, ProtocolAction
from indextables.log.commit import commit
from indextables.log.conflicts import Change
from indextables.log.file_set import FileSet
from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.listing import list_states, list_versions
from indextables.log.reachability import has_all_manifests
from indextables.log.refresh import refresh_now
from indextables.log.snapshot import LogAtVersion, Snapshot, check_same_table
from indextables.log.snapshot_files import open_again
from indextables.log.state.live_files import StateFiles
from indextables.log.state.model import State, state_key
from indextables.log.state.write import is_compact, repair_pointer, write_state
from indextables.log.table_log import TableLog

logger = logging.getLogger("indextables")

_ROUNDS = 3
"""Attempts to write a compact state, each at a newer version, while other processes write states of the same versions."""


@dataclass(frozen=True)
class Checkpointed:
    """What a checkpoint did."""

    snapshot: Snapshot
    """The table, standing on the state that was written or was there already."""
    format: str
    """`avro-state` or `json`."""
    kind: str
    """How the state was written: `compacted`, `incremental`, `selective`, `whole` (JSON), or `none` where it was given up."""
    written: bool
    """False where nothing was written: the version has a compact state already, or the checkpoint was given up."""

    @property
    def version(self) -> int:
        """The version that the table is at after the checkpoint."""
        return self.snapshot.version

    def __repr__(self) -> str:
        """Without the snapshot, which is everything that is known of the table."""
        return (
            f"Checkpointed(version={self.version}, format={self.format!r}, kind={self.kind!r}, written={self.written})"
        )


@METRICS.measured("checkpoint", written=lambda done: float(done.written))
def compacted_checkpoint(at: LogAtVersion) -> Checkpointed:
    """Make sure that the newest version of the table has a compact state.

    A state is never written twice, so where the version has a state that is not compact, an empty version is committed and its
    state is written. Where the version has a compact state, nothing is written but a pointer that names an older state.
    """
    log = at.log
    if at.snapshot.state_committed or log.options[opt.STATE_FORMAT] == "json":
        return _checkpoint(at, compact=True)
    if log.options[opt.TRANSACTION_MAX_STALENESS] > 0:  # the snapshot may be old, and an old version needs no state
        newest = refresh_now(at)
        check_same_table(at.snapshot, newest)
        at = LogAtVersion(log, newest)
    for _ in range(_ROUNDS):
        stands_on_it = _state_of_version(at.snapshot) is not None  # it may be a `_manifest.json` of an older writer
        if stands_on_it or log.head(state_key(at.snapshot.version)) is not None:
            if not stands_on_it:
                at = LogAtVersion(log, open_again(at, whole=False))
            at, _ = _grounded(at)
            state = _state_of_version(at.snapshot)
            if state is not None and is_compact(state, log.options):
                repair_pointer(log, state)
                return Checkpointed(at.snapshot, "avro-state", "compacted", written=False)
            at = LogAtVersion(log, commit(at, Change(data_change=False), operation="CHECKPOINT").snapshot)
        done = _checkpoint(at, compact=True)
        if done.written or done.kind == "none":
            return done
        at = LogAtVersion(log, done.snapshot)
    return Checkpointed(at.snapshot, "avro-state", "none", written=False)


@METRICS.measured("checkpoint", written=lambda done: float(done.written))
def checkpoint(at: LogAtVersion, *, compact: bool) -> Checkpointed:
    """Write the state of the version, and go on from that state.

    Where the version has a state already, this is success, but a `compact` checkpoint then writes nothing and says so.
    A table that another implementation commits by states is refused: that implementation would not follow our pointer.
    """
    return _checkpoint(at, compact=compact)


def _checkpoint(at: LogAtVersion, *, compact: bool) -> Checkpointed:
    """`checkpoint`, without the metrics of a call."""
    log = at.log
    if at.snapshot.state_committed:
        raise ForeignTable(
            f"table {log.url} is committed by another implementation as states, each of them a checkpoint already; commit with "
            f"{opt.TRANSACTION_ADOPT_FOREIGN.key}=true to take it over for good",
            url=log.url,
        )
    if log.options[opt.STATE_FORMAT] == "json":
        return Checkpointed(at.snapshot, "json", "whole", write_checkpoint(at))
    if at.snapshot.protocol.min_reader_version < PROTOCOL_VERSION:
        change = Change(protocol=upgraded_protocol(at.snapshot.protocol))
        at = LogAtVersion(log, commit(at, change, operation="UPGRADE PROTOCOL").snapshot)
    at, sound = _grounded(at)
    snapshot = at.snapshot
    state = _state_of_version(snapshot)
    if compact and state is not None:
        return Checkpointed(snapshot, "avro-state", _kind(log, state), written=False)
    written = write_state(at, compact=compact or not sound)
    if written is None:
        return Checkpointed(snapshot, "avro-state", "none", written=False)
    if written.ours:
        source = StateFiles(log, written.state, snapshot.file_set.folded)
        snapshot = log.remember_snapshot(replace(snapshot, file_set=FileSet(source), base=snapshot.version))
        return Checkpointed(snapshot, "avro-state", written.kind, written=True)
    return Checkpointed(snapshot, "avro-state", _kind(log, written.state), written=not compact)


def _state_of_version(snapshot: Snapshot) -> State | None:
    """The state of exactly the snapshot's version, where the snapshot stands on that state."""
    source = snapshot.file_set.base
    return source.state if isinstance(source, StateFiles) and source.state.version == snapshot.version else None


def _kind(log: TableLog, state: State) -> str:
    """How a state that another process wrote looks: `compacted` or `incremental`."""
    return "compacted" if is_compact(state, log.options) else "incremental"


def _grounded(at: LogAtVersion) -> tuple[LogAtVersion, bool]:
    """The version on the newest state at or below it, and whether that state has all its manifests.

    A state names the manifests of the one it goes on from, so these must stay. A handle that was refreshed for days may stand
    on a state that is being thinned out; a state whose writer slept may have lost manifests before it was written.
    """
    log = at.log
    source = at.snapshot.file_set.base
    if not isinstance(source, StateFiles):
        return at, True
    base = source.state.version
    calls: list[Callable[[], Any]] = [
        lambda: list_states(log.store, base),
        lambda: list_versions(log.store, base).checkpoints,
    ]
    states, checkpoints = log.workers.together(calls)
    if any(base < number <= at.snapshot.version for number in (*states, *checkpoints)):
        at = LogAtVersion(log, open_again(at, whole=False))
        source = at.snapshot.file_set.base
        if not isinstance(source, StateFiles):
            return at, True
    if has_all_manifests(log, source.state):
        return at, True
    logger.warning("table %s: state %d lacks manifests; writing the next one anew", log.url, source.state.version)
    return LogAtVersion(log, open_again(at, whole=True)), False


def upgraded_protocol(protocol: ProtocolAction) -> ProtocolAction:
    """The newest protocol with all that our states need, and with every feature that the table has already."""
    readers = tuple(dict.fromkeys([*(protocol.reader_features or ()), "avroState", "schemaDeduplication"]))
    writers = tuple(dict.fromkeys([*(protocol.writer_features or ()), "avroState", "schemaDeduplication"]))
    return ProtocolAction(PROTOCOL_VERSION, PROTOCOL_VERSION, readers, writers)
