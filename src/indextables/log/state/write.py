"""State → store: the newest entries in a manifest of their own, or everything anew.

    incremental   the manifests of the state before, one more for what was added since, tombstones for what was removed
    selective     the same, but manifests with many dead entries are written again without them
    compacted     all live files, sorted by partition, in manifests with tight bounds; no tombstones

What is written is a pure function of the log up to the state's version: who writes it, and from which older state, makes no
difference to a reader. A tombstone hides every entry of its path, so a path that is live never has one: adding such a path
again rewrites the manifests that hold its old entry.
"""

from __future__ import annotations

import logging
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core import options as opt
from indextables.core.errors import (
    AccessDenied,
    CorruptLog,
    InvalidKey,
    LogError,
    ObjectNotFound,
    StorageError,
    StoreMisconfigured,
    VersionGap,
)
from indextables.core.metrics import METRICS
from indextables.core.options import Options
from indextables.log.avro.manifest import write_manifest
from indextables.log.file_entries import FILE_SCHEMA, files_table
from indextables.log.json_checkpoint import QUICK_SECONDS, useful_skips, with_registry
from indextables.log.log_paths import LOG_DIR
from indextables.log.open_snapshot import open_log
from indextables.log.pointer import Pointer, write_pointer
from indextables.log.protocol import check_writable
from indextables.log.snapshot import Snapshot
from indextables.log.state.live_files import StateFiles, checksum, load_manifest
from indextables.log.state.model import TYPED, ManifestItem, State, shared_path, state_dir, state_key
from indextables.log.state.partition_bounds import partition_bounds, partition_order
from indextables.log.state.read import decode_state
from indextables.log.state.writing.compact import cut_evenly, live_records, normalised_schemas, sum_of
from indextables.log.state.writing.delta import Delta, dead_by_manifest, delta_since, locate
from indextables.log.state.writing.encode_state import encode_state
from indextables.log.state.writing.manifest_reuse import kept_manifests
from indextables.log.table_log import TableLog

logger = logging.getLogger("indextables")

_MOST_BYTES = 2**63 - 1

Kind = Literal["incremental", "selective", "compacted"]
CODEC_NAMES = {"zstd": "zstandard", "snappy": "snappy", "none": "null"}


@dataclass(frozen=True)
class StateWritten:
    """A state that is there now: ours, or the one that somebody else wrote for the same version."""

    state: State
    kind: Kind
    ours: bool = True


def write_state(log: TableLog, snapshot: Snapshot, *, compact: bool = False) -> StateWritten | None:
    """Write the snapshot as a state and point to it.

    None when it was given up: it took longer than half the safety age, or another table's state is in its place.
    """
    check_writable(log.url, snapshot.protocol)
    if snapshot.gap is not None:
        raise VersionGap(
            f"table {log.url}: version {snapshot.gap} is missing; repair the log before a checkpoint",
            missing=snapshot.gap,
        )
    with METRICS.timed("indextables.state.write.duration_ms"):
        return _write(log, snapshot, compact=compact)


def _write(log: TableLog, snapshot: Snapshot, *, compact: bool) -> StateWritten | None:
    made = _make_from_what_is_left(log, snapshot, compact=compact)
    if made is None:
        return None
    state, kind = made
    METRICS.observe("indextables.state.write.compacted", float(kind == "compacted"))
    METRICS.observe("indextables.state.tombstone_count", len(state.tombstones))
    METRICS.observe("indextables.state.tombstone_ratio", len(state.tombstones) / max(state.num_files, 1))
    if log.clock.boot() - snapshot.checked > max(snapshot.safety_age_seconds / 2, QUICK_SECONDS):
        logger.warning("table %s: state %d took too long and is given up", log.url, state.version)
        return None
    written = _create(log, snapshot, state, kind)
    if written is not None:
        _point_to(log, written.state)
    return written


def _make_from_what_is_left(log: TableLog, snapshot: Snapshot, *, compact: bool) -> tuple[State, Kind] | None:
    """The state's manifests. Where one of the base's is gone or damaged, from whatever else gives the version; else None."""
    try:
        return _make(log, snapshot, compact=compact)
    except (ObjectNotFound, CorruptLog) as error:
        if not isinstance(snapshot.file_set.base, StateFiles):
            raise
        logger.warning("table %s: %s; state %d is made without it", log.url, error, snapshot.version)
    try:
        again = open_log(log, snapshot.version, whole=True)
    except (LogError, ObjectNotFound) as error:
        logger.warning("table %s: state %d is given up: %s", log.url, snapshot.version, error)
        return None
    return _make(log, again, compact=True) if again.table_id == snapshot.table_id else None


def _make(log: TableLog, snapshot: Snapshot, *, compact: bool) -> tuple[State, Kind]:
    """The state's manifests, written; the state itself, not yet."""
    source = snapshot.file_set.base
    if not isinstance(source, StateFiles) or not all(item.typed for item in source.state.manifests):
        return _compacted(log, snapshot), "compacted"
    base = source.state
    delta = delta_since(base, snapshot.file_set.pending())
    if compact or _too_fragmented(log, base, delta):
        return _compacted(log, snapshot, base, delta), "compacted"
    located = locate(log, base, delta.to_locate)
    present = {path for paths in located.values() for path in paths}
    dead = base.tombstones | (delta.removed & present)
    files_before = max(base.num_files, 1)
    rewrite = {number for number, paths in located.items() if not delta.added.keys().isdisjoint(paths)}
    if len(dead) / files_before > log.options[opt.STATE_COMPACTION_TOMBSTONE_THRESHOLD]:
        located = locate(log, base, dead | delta.to_locate)
        many = _mostly_dead(log, base, dead_by_manifest(located, dead))
        if many is None:
            return _compacted(log, snapshot, base, delta), "compacted"
        rewrite |= many
    elif rewrite:
        located = locate(log, base, dead | delta.to_locate)
    state = _incremental(log, snapshot, base, delta, located, dead, rewrite)
    return state, "selective" if rewrite else "incremental"


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


def needs_compaction(state: State, options: Options) -> bool:
    """Whether the next state will be compacted."""
    ratio = len(state.tombstones) / max(state.num_files, 1)
    return (
        ratio > options[opt.STATE_COMPACTION_TOMBSTONE_THRESHOLD]
        or fragments(state, options) > options[opt.STATE_COMPACTION_MAX_MANIFESTS]
    )


def _mostly_dead(log: TableLog, base: State, dead: dict[int, int]) -> set[int] | None:
    """Manifests worth writing again; None where writing everything again is not much dearer."""
    threshold = log.options[opt.STATE_COMPACTION_TOMBSTONE_THRESHOLD]
    many = {number for number, count in dead.items() if count / base.manifests[number].num_entries > threshold}
    left = sum(count for number, count in dead.items() if number not in many)
    entries = sum(base.manifests[number].num_entries for number in many)
    if entries * 2 > base.num_entries or left / max(base.num_files, 1) > threshold:
        return None
    return many


def _incremental(
    log: TableLog,
    snapshot: Snapshot,
    base: State,
    delta: Delta,
    located: dict[int, list[str]],
    dead: AbstractSet[str],
    rewrite: set[int],
) -> State:
    """The base's manifests, some rewritten without what is dead or was added again, and one for what is new."""
    gone = dead | delta.added.keys()
    kept: list[ManifestItem] = []
    dead_now = dead_by_manifest(located, delta.removed - base.tombstones)
    for number, item in enumerate(base.manifests):
        if number in rewrite:
            kept += _rewritten(log, snapshot, base, item, gone)
            continue
        lost = dead_now.get(number, 0)
        kept.append(
            replace(
                item,
                path=shared_path(item.path, base.version),
                tombstone_count=item.tombstone_count + lost,
                live_entry_count=item.live_entry_count - lost,
            )
        )
    rewritten = {path for number in rewrite for path in located.get(number, ())}
    dropped = rewritten - {path for number, there in located.items() if number not in rewrite for path in there}
    tombstones = frozenset(dead) - dropped - delta.added.keys()
    added = list(delta.added.values())
    fresh = files_table([a for a, _, _ in added], [v for _, v, _ in added], [t for _, _, t in added])
    items = kept
    if added:
        unseen = not delta.added.keys() <= delta.to_locate
        new = _write_all(log, snapshot, _sorted_pieces(log, snapshot, fresh))
        items = kept + [replace(item, may_repeat=unseen) for item in new]
    removed_bytes, replaced = _lost_bytes(log, base, located, delta)
    return _state(
        snapshot,
        items,
        tombstones,
        num_files=sum(item.live_entry_count for item in items),
        total_bytes=base.total_bytes - removed_bytes - replaced + sum(add.size for add, _, _ in added),
    )


def _lost_bytes(log: TableLog, base: State, located: dict[int, list[str]], delta: Delta) -> tuple[int, int]:
    """Bytes of files that were live in the base and are removed now, and of those that were replaced by an add."""
    removed = replaced = 0
    gone = (delta.removed | delta.added.keys()) - base.tombstones
    for number, paths in located.items():
        if gone.isdisjoint(paths):
            continue
        entries = load_manifest(log, base.version, base.manifests[number], ["path", "size"])
        for path, size in zip(entries.column("path").to_pylist(), entries.column("size").to_pylist(), strict=True):
            if path in gone:
                removed += size if path in delta.removed else 0
                replaced += size if path in delta.added else 0
    return removed, replaced


def _rewritten(
    log: TableLog, snapshot: Snapshot, base: State, item: ManifestItem, gone: AbstractSet[str]
) -> list[ManifestItem]:
    entries = load_manifest(log, base.version, item, FILE_SCHEMA.names)
    hidden = pa.array(sorted(gone), pa.string())
    entries = entries.filter(pc.invert(pc.is_in(entries.column("path"), value_set=hidden)))
    if not entries.num_rows:
        return []
    return [replace(new, may_repeat=item.may_repeat) for new in _write_all(log, snapshot, [entries])]


def _compacted(log: TableLog, snapshot: Snapshot, base: State | None = None, delta: Delta | None = None) -> State:
    """Everything anew: by moving the records of the base, or from the files where they are known or get other schemas.

    Manifests of the base that would be written as they are stay.
    """
    threshold = log.options[opt.STATE_SCHEMA_RENORMALIZE_THRESHOLD]
    most, columns = log.options[opt.STATE_ENTRIES_PER_MANIFEST], snapshot.metadata.partition_columns
    moved = kept = None
    if base is not None and delta is not None and snapshot.file_set.folded is None:
        if len(snapshot.registry) <= threshold:
            kept = kept_manifests(log, base, delta, snapshot.schema, columns, most)
        moved = live_records(log, base, delta, kept.numbers if kept else ())
    files, registry = normalised_schemas(snapshot.files if moved is None else moved, snapshot.registry, threshold)
    if moved is not None and files is not moved:
        files, registry = normalised_schemas(snapshot.files, snapshot.registry, threshold)
        kept = None
    stay: list[ManifestItem] = []
    if base is None or kept is None:
        pieces = [_sorted_pieces(log, snapshot, files)]
    else:
        stay = [_as_it_is(base.manifests[number], base.version) for number in kept.numbers]
        pieces = kept.pieces(*partition_order(files, snapshot.schema, columns), snapshot.schema, columns, most)
    new = iter(_write_all(log, snapshot, [piece for gap in pieces for piece in gap]))
    items: list[ManifestItem] = []
    for number, gap in enumerate(pieces):
        items += [*(next(new) for _ in gap), *stay[number : number + 1]]
    state = _state(
        snapshot,
        items,
        frozenset(),
        num_files=files.num_rows + sum(item.num_entries for item in stay),
        total_bytes=sum_of(files.column("size")) + (kept.total_bytes if kept else 0),
    )
    return replace(state, registry={**state.registry, **registry})


def _as_it_is(item: ManifestItem, version: int) -> ManifestItem:
    """A manifest of another state of which every entry is live."""
    path = shared_path(item.path, version)
    return replace(item, path=path, tombstone_count=0, live_entry_count=item.num_entries)


def _sorted_pieces(log: TableLog, snapshot: Snapshot, files: pa.Table) -> list[pa.Table]:
    columns = snapshot.metadata.partition_columns
    ordered, starts = partition_order(files, snapshot.schema, columns)
    return cut_evenly(ordered, starts, log.options[opt.STATE_ENTRIES_PER_MANIFEST])


def _write_all(log: TableLog, snapshot: Snapshot, pieces: list[pa.Table]) -> list[ManifestItem]:
    """Write manifests side by side. Each is durable before a state names it."""
    return log.workers.together(
        [partial(_write_one, log, snapshot, piece) for piece in pieces], limit=opt.read_parallelism(log.options)
    )


def _write_one(log: TableLog, snapshot: Snapshot, entries: pa.Table) -> ManifestItem:
    data = write_manifest(
        entries,
        codec=CODEC_NAMES[log.options[opt.STATE_COMPRESSION]],
        level=log.options[opt.STATE_COMPRESSION_LEVEL],
    )
    path = _put_manifest(log, data)
    versions = pc.min_max(entries.column("addedAtVersion"))
    return ManifestItem(
        path=path,
        num_entries=entries.num_rows,
        min_added_at_version=versions["min"].as_py(),
        max_added_at_version=versions["max"].as_py(),
        bounds=partition_bounds(entries, snapshot.schema, snapshot.metadata.partition_columns),
        tombstone_count=0,
        live_entry_count=entries.num_rows,
        bounds_order=TYPED,
        length=len(data),
        checksum=checksum(data),
    )


def _put_manifest(log: TableLog, data: bytes) -> str:
    """Put a manifest under a name of its own. After a failed create another name is taken: the first may still land."""
    attempts = log.options[opt.STATE_RETRY_MAX_ATTEMPTS]
    for attempt in range(attempts):
        path = f"manifests/manifest-{log.clock.uuid()}.avro"
        try:
            log.store.create(f"{LOG_DIR}/{path}", data)
        except StorageError as error:
            if attempt + 1 == attempts or isinstance(error, AccessDenied | InvalidKey | StoreMisconfigured):
                raise
            _wait(log, attempt)
        else:
            return path
    raise AssertionError("the last attempt returns or raises")


def _wait(log: TableLog, attempt: int) -> None:
    longest = log.options[opt.STATE_RETRY_MAX_DELAY_MS]
    delay = min(longest, log.options[opt.STATE_RETRY_BASE_DELAY_MS] * 2**attempt)
    log.clock.sleep(delay * log.clock.jitter() / 1000)


def _state(
    snapshot: Snapshot, items: list[ManifestItem], tombstones: frozenset[str], *, num_files: int, total_bytes: int
) -> State:
    return State(
        version=snapshot.version,
        created_at=snapshot.timestamp,
        manifests=tuple(items),
        tombstones=tombstones,
        registry=dict(snapshot.registry),
        metadata=with_registry(snapshot),
        protocol=snapshot.protocol,
        protocol_version=max(snapshot.protocol.min_reader_version, 4),
        transactions={app: txn for app in snapshot.transactions if (txn := snapshot.latest_txn(app)) is not None},
        skips=useful_skips(snapshot),
        commit_timestamp=snapshot.timestamp,
        floor=snapshot.floor,
        num_files=num_files,
        total_bytes=min(total_bytes, _MOST_BYTES),
    )


def _create(log: TableLog, snapshot: Snapshot, state: State, kind: Kind) -> StateWritten | None:
    key = state_key(state.version)
    body = encode_state(state, log.options[opt.STATE_COMPRESSION_LEVEL])
    for attempt in range(log.options[opt.STATE_RETRY_MAX_ATTEMPTS]):
        try:
            log.store.create(key, body)
        except StorageError as error:
            logger.info("create of %s: %s; reading it back", key, error)
        else:
            return StateWritten(state, kind)
        try:
            found = decode_state(f"{log.url}/{key}", log.store.get(key).data, state.version)
        except ObjectNotFound:
            _wait(log, attempt)
            continue
        except LogError as error:
            logger.warning(
                "table %s: there is a state %d already, and it is damaged: %s", log.url, state.version, error
            )
            return None
        if found.metadata is not None and found.metadata.id != snapshot.table_id:
            return None
        return StateWritten(found, kind, ours=found == state)
    return None


def _point_to(log: TableLog, state: State) -> None:
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
