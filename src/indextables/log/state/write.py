"""State → store: the newest entries in a manifest of their own, or everything anew.

    incremental   the manifests of the state before, one more for what was added since, tombstones for what was removed
    selective     the same, but manifests with many tombstoned entries are written again without them
    compacted     all live files, sorted by partition, in manifests with tight bounds; no tombstones

    write_state ─ which of the three? ─┬─ write_incremental.py ─┬─ write_manifests.py ─ create the state ─ write the pointer
                                       └─ write_compacted.py ───┘

What is written is a pure function of the log up to the state's version: who writes it, and from which older state, makes no
difference to a reader.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Literal, assert_never

from indextables.core import options as opt
from indextables.core.errors import CorruptLog, LogError, ObjectNotFound, StorageError, VersionGap
from indextables.core.metrics import METRICS
from indextables.core.options import Options
from indextables.log.json_checkpoint import QUICK_SECONDS
from indextables.log.open_snapshot import open_log
from indextables.log.pointer import Pointer, read_pointer, write_pointer
from indextables.log.protocol import check_writable
from indextables.log.put_once import (
    Absent,
    Refused,
    Theirs,
    Unknown,
    Won,
    create_and_read_back,
    state_back_off,
)
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.live_files import StateFiles
from indextables.log.state.model import State, state_dir, state_key
from indextables.log.state.read import decode_state
from indextables.log.state.writing.delta import Delta, delta_since
from indextables.log.state.writing.encode_state import encode_state
from indextables.log.state.writing.write_compacted import compact_from_files, compacted_state
from indextables.log.state.writing.write_incremental import incremental_state, plan_rewriting
from indextables.log.table_log import TableLog
from indextables.storage.store import StoredObject

logger = logging.getLogger("indextables")

Kind = Literal["incremental", "selective", "compacted"]


@dataclass(frozen=True)
class StateWritten:
    """A state that is there now: ours, or the one that somebody else wrote for the same version."""

    state: State
    kind: Kind
    ours: bool = True


class StateUnknown(StorageError):
    """Nobody can tell whether a state that is a commit was written. Never leaves this package."""


def write_state(at: LogAtVersion, *, compact: bool = False, is_commit: bool = False) -> StateWritten | None:
    """Write the snapshot as a state and point to it.

    None when the state was given up: it took longer than half the safety age, or another table's state is in its place.
    With `is_commit` the state itself makes the version, and StateUnknown is raised while nobody can tell its outcome.
    """
    log, snapshot = at.log, at.snapshot
    check_writable(log.url, snapshot.protocol)
    if snapshot.gap is not None:
        raise VersionGap(
            f"table {log.url}: version {snapshot.gap} is missing; repair the log before a checkpoint",
            missing=snapshot.gap,
        )
    with METRICS.timed("indextables.state.write.duration_ms"):
        return _write(at, compact=compact, is_commit=is_commit)


def _write(at: LogAtVersion, *, compact: bool, is_commit: bool) -> StateWritten | None:
    log, snapshot = at.log, at.snapshot
    made = _make_from_what_is_left(at, compact=compact)
    if made is None:
        return None
    state, kind = made
    METRICS.observe("indextables.state.write.compacted", float(kind == "compacted"))
    METRICS.observe("indextables.state.tombstone_count", len(state.tombstones))
    METRICS.observe("indextables.state.tombstone_ratio", len(state.tombstones) / max(state.num_files, 1))
    if log.clock.boot() - snapshot.checked > max(snapshot.safety_age_seconds / 2, QUICK_SECONDS):
        logger.warning("table %s: state %d took too long and is given up", log.url, state.version)
        return None
    written = _create(at, state, kind, is_commit=is_commit)
    if written is None:
        return None
    try:
        point_to(log, written.state)
    except StorageError as error:
        if not is_commit:
            raise
        logger.warning("table %s: state %d is committed, but nothing points to it: %s", log.url, state.version, error)
    return written


def _make_from_what_is_left(at: LogAtVersion, *, compact: bool) -> tuple[State, Kind] | None:
    """The state's manifests. Where one of the base's is gone or damaged, from whatever else gives the version; else None."""
    log, snapshot = at.log, at.snapshot
    try:
        return _make(at, compact=compact)
    except (ObjectNotFound, CorruptLog) as error:
        if not isinstance(snapshot.file_set.base, StateFiles):
            raise
        logger.warning("table %s: %s; state %d is made without it", log.url, error, snapshot.version)
    try:
        again = open_log(log, snapshot.version, whole=True)
    except (LogError, ObjectNotFound) as error:
        logger.warning("table %s: state %d is given up: %s", log.url, snapshot.version, error)
        return None
    if again.table_id != snapshot.table_id:
        return None
    return _make(LogAtVersion(log, again), compact=True)


def _make(at: LogAtVersion, *, compact: bool) -> tuple[State, Kind]:
    """The state's manifests, written; the state itself, not yet."""
    file_set = at.snapshot.file_set
    source = file_set.base
    if not isinstance(source, StateFiles) or not all(item.typed for item in source.state.manifests):
        return compact_from_files(at), "compacted"
    base = source.state
    delta = delta_since(base, file_set.pending())
    if compact or _too_fragmented(at.log, base, delta):
        return compacted_state(at, base, delta), "compacted"
    rewriting = plan_rewriting(at.log, base, delta)
    if rewriting is None:
        return compacted_state(at, base, delta), "compacted"
    state = incremental_state(at, rewriting)
    return state, "selective" if rewriting.manifests_to_rewrite else "incremental"


def _too_fragmented(log: TableLog, base: State, delta: Delta) -> bool:
    many_removes = len(delta.removed) > log.options[opt.STATE_COMPACTION_LARGE_REMOVE_THRESHOLD]
    return (
        base.num_files <= 0
        or many_removes
        or fragments(base, log.options) > log.options[opt.STATE_COMPACTION_MAX_MANIFESTS]
    )


def fragments(state: State, options: Options) -> int:
    """Manifests that are less than half full: those that compaction would join."""
    return sum(item.num_entries < options[opt.STATE_ENTRIES_PER_MANIFEST] / 2 for item in state.manifests)


def is_compact(state: State, options: Options) -> bool:
    """Whether compaction would leave the state as it is: no tombstones, and no manifest that it would join, cut or rewrite."""
    most = options[opt.STATE_ENTRIES_PER_MANIFEST]
    tidy = all(item.typed and not item.may_repeat and item.num_entries <= most for item in state.manifests)
    return tidy and not state.tombstones and (len(state.manifests) <= 1 or fragments(state, options) == 0)


def needs_compaction(state: State, options: Options) -> bool:
    """Whether the next state will be compacted."""
    ratio = len(state.tombstones) / max(state.num_files, 1)
    return (
        ratio > options[opt.STATE_COMPACTION_TOMBSTONE_THRESHOLD]
        or fragments(state, options) > options[opt.STATE_COMPACTION_MAX_MANIFESTS]
    )


def _create(at: LogAtVersion, state: State, kind: Kind, *, is_commit: bool) -> StateWritten | None:
    """Create the state. None where it was not created: another table's state is in its place, or no request was answered."""
    log = at.log
    key = state_key(state.version)
    body = encode_state(state, log.options[opt.STATE_COMPRESSION_LEVEL])
    attempts = log.options[opt.STATE_RETRY_MAX_ATTEMPTS]
    for attempt in range(attempts):
        if attempt:
            state_back_off(log.options).wait(log.clock, attempt - 1)
        match create_and_read_back(log.store, key, body, lambda found: found.data == body):
            case Won():
                return StateWritten(state, kind)
            case Theirs(stored):
                return _theirs(at, stored, kind)
            case Refused(error) if attempt == 0:
                raise error
            case Refused(error) | Absent(error):
                if is_commit and attempt + 1 == attempts:
                    raise StateUnknown(f"{attempts} requests failed, the last one with: {error}") from error
            case Unknown(error, why):
                raise StateUnknown(why) if is_commit else error
            case never:
                assert_never(never)
    return None


def _theirs(at: LogAtVersion, stored: StoredObject, kind: Kind) -> StateWritten | None:
    """The state that another writer created for the same version; None where it is damaged or another table's."""
    url, version = at.log.url, at.snapshot.version
    try:
        found = decode_state(f"{url}/{stored.meta.key}", stored.data, version)
    except LogError as error:
        logger.warning("table %s: there is a state %d already, and it is damaged: %s", url, version, error)
        return None
    if found.metadata is not None and found.metadata.id != at.snapshot.table_id:
        return None
    return StateWritten(found, kind, ours=False)


def repair_pointer(log: TableLog, state: State) -> None:
    """Point to a state that is there, unless the pointer names it or a newer one.

    A writer that stopped after it created the state, or a slow one, leaves a pointer that makes every opening list more.
    """
    hint = read_pointer(log.store)
    if hint is None or hint.version is None or hint.version < state.version:
        point_to(log, state)


def point_to(log: TableLog, state: State) -> None:
    """Make the pointer name a state."""
    write_pointer(
        log.store,
        Pointer(
            version=state.version,
            size=state.num_files,
            size_in_bytes=state.total_bytes,
            num_files=state.num_files,
            created_time=log.clock.wall_ms(),
            format="avro-state",
            state_dir=state_dir(state.version),
            protocol_version=state.protocol_version,
        ),
    )
