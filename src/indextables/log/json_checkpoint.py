"""JSON checkpoints: all that a table is at one version, in one object or in parts.

Read in every shape that was ever written: action lines, one object with the keys `protocol`, `metaData` and `add`, and a list
of parts, each plain, gzip'd or framed. Written only for the downgrade path (`state.format=json`).

What we write begins with a `checkpointInfo` line that holds the xxh3 of all bytes after it: a checkpoint that was damaged is
noticed and the version files are used instead. Other readers skip that line, as they skip every action they do not know.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Literal, assert_never

import msgspec
import xxhash

from indextables.core import options as opt
from indextables.core.errors import CorruptLog, IndexTablesError, VersionGap
from indextables.log.actions import Actions, CommitInfo, MetadataAction, SkipAction
from indextables.log.codec import encode_actions, pack, unpack
from indextables.log.file_entries import files_table, paths_in, rows_to_adds
from indextables.log.file_set import FileSet
from indextables.log.log_paths import LOG_DIR, checkpoint_key, part_name
from indextables.log.pointer import Pointer, write_pointer
from indextables.log.protocol import check_writable
from indextables.log.put_once import Absent, Refused, Theirs, Unknown, Won, create_and_read_back, state_back_off
from indextables.log.snapshot import LogAtVersion, Snapshot, first_snapshot
from indextables.log.table_log import TableLog
from indextables.storage.store import StoredObject

logger = logging.getLogger("indextables")

_INFO_PREFIX = b'{"checkpointInfo":'
QUICK_SECONDS = 600.0
"""A checkpoint that took no longer is never given up, however short the safety age is."""


class _Info(msgspec.Struct, rename="camel"):
    checksum: str
    num_actions: int


class _InfoLine(msgspec.Struct):
    checkpointInfo: _Info  # noqa: N815 - the name on disk


class _PartList(msgspec.Struct):
    """The list of the parts of a multi-part checkpoint."""

    parts: list[str] | None = None
    tableId: str | None = None  # noqa: N815 - the name on disk


class NotThisTable(IndexTablesError):
    """The checkpoint belongs to a table that was here before. Never leaves this package."""


def fetch_checkpoint(log: TableLog, version: int) -> StoredObject:
    """The bytes of a checkpoint, or of the list of its parts."""
    return log.store.get(checkpoint_key(version))


def load_checkpoint(log: TableLog, version: int, found: StoredObject, table_id: str | None) -> Snapshot:
    """The snapshot that a checkpoint holds.

    Raises CorruptLog when it cannot be used, ObjectNotFound when a part is gone, NotThisTable when it is another table's.
    """
    key = (table_id, log.url, version, found.meta.etag)
    ttl = log.options[opt.TRANSACTION_CACHE_EXPIRATION_SECONDS]
    if log.caching and table_id is not None:
        known: Snapshot | None = log.cache.get("checkpoint", key, now=log.clock.boot(), ttl_seconds=ttl)
        if known is not None:
            return known
    snapshot = _snapshot_of(log, version, found, _read_actions(log, version, found, table_id), table_id)
    if log.caching and table_id is not None:
        log.cache.put("checkpoint", key, snapshot, now=log.clock.boot())
    return snapshot


def has_parts(log: TableLog, version: int) -> bool:
    """Whether the checkpoint of a version was written in several parts. Raises ObjectNotFound, CorruptLog."""
    found = fetch_checkpoint(log, version)
    name = f"{log.url}/{found.meta.key}"
    text = unpack(name, found.data, log.options[opt.TRANSACTION_MAX_VERSION_FILE_BYTES])
    return part_keys(name, version, text, None) is not None


def read_checkpoint(log: TableLog, version: int, found: StoredObject, table_id: str | None) -> Actions:
    """All that a checkpoint and its parts say, removes included.

    Raises CorruptLog when it cannot be used, ObjectNotFound when a part is gone. A list of parts that is another table's raises
    NotThisTable; another table's checkpoint in one object is read as any other.
    """
    actions = _read_actions(log, version, found, table_id)
    _check_has_metadata(f"{log.url}/{found.meta.key}", actions)
    return actions


def _check_has_metadata(name: str, actions: Actions) -> MetadataAction:
    if actions.metadata is None:
        raise CorruptLog(f"{name} has no metaData", object=name)
    return actions.metadata


def _read_actions(log: TableLog, version: int, found: StoredObject, table_id: str | None) -> Actions:
    key = found.meta.key
    name = f"{log.url}/{key}"
    text = unpack(name, found.data, log.options[opt.TRANSACTION_MAX_VERSION_FILE_BYTES])
    parts = part_keys(name, version, text, table_id)
    if parts is None:
        return decode_checkpoint(log, key, text)
    pieces = log.side_by_side([partial(_read_part, log, part) for part in parts])
    return Actions(
        commit_info=next((piece.commit_info for piece in pieces if piece.commit_info), None),
        protocol=next((piece.protocol for piece in reversed(pieces) if piece.protocol), None),
        metadata=next((piece.metadata for piece in reversed(pieces) if piece.metadata), None),
        txns=tuple(txn for piece in pieces for txn in piece.txns),
        adds=tuple(add for piece in pieces for add in piece.adds),
        removes=tuple(remove for piece in pieces for remove in piece.removes),
        skips=tuple(skip for piece in pieces for skip in piece.skips),
    )


def _read_part(log: TableLog, key: str) -> Actions:
    found = log.store.get(key)
    text = unpack(f"{log.url}/{key}", found.data, log.options[opt.TRANSACTION_MAX_VERSION_FILE_BYTES])
    return decode_checkpoint(log, key, text)


def part_keys(name: str, version: int, text: bytes, table_id: str | None) -> list[str] | None:
    """The keys of the parts, where the text is a list of parts. One of another table is known before any part is read:
    its parts went when that table was dropped.
    """
    first, _, rest = text.partition(b"\n")
    if rest.strip() or b'"parts"' not in first:
        return None
    try:
        whole = msgspec.json.decode(first, type=_PartList)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptLog(f"{name} is damaged: {error}", object=name) from error
    if whole.parts is None:
        return None
    if None not in (whole.tableId, table_id) and whole.tableId != table_id:
        raise NotThisTable(f"{name} belongs to table {whole.tableId}, not to {table_id}")
    for part in whole.parts:
        if "/" in part or not part.startswith(f"{version:020d}.checkpoint."):
            raise CorruptLog(f"{name} names a part {part!r} that cannot be one of its own", object=name)
    return [f"{LOG_DIR}/{part}" for part in whole.parts]


def decode_checkpoint(log: TableLog, key: str, text: bytes) -> Actions:
    """The actions of a checkpoint or of one part, after its checksum was compared."""
    name = f"{log.url}/{key}"
    if text.startswith(_INFO_PREFIX):
        first, _, text = text.partition(b"\n")
        _verify(name, first, text)
    return log.decode_text(key, _one_object(text) or text)


def _verify(name: str, first: bytes, rest: bytes) -> None:
    try:
        info = msgspec.json.decode(first, type=_InfoLine).checkpointInfo
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptLog(f"{name} is damaged: {error}", object=name) from error
    if info.checksum != _checksum(rest):
        raise CorruptLog(
            f"{name} is damaged: its checksum is {_checksum(rest)}, it should be {info.checksum}", object=name
        )


def _one_object(text: bytes) -> bytes | None:
    """The older shape, one object with all adds in a list, perhaps printed over several lines, as action lines."""
    start = text[:200].lstrip()
    if not start.startswith(b"{"):
        return None
    try:
        value: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # several objects: action lines
    if not isinstance(value.get("add"), list) and len(value) < len(("protocol", "metaData")):
        return None  # one action line
    lines = [{kind: value[kind]} for kind in ("protocol", "metaData") if value.get(kind) is not None]
    lines += [{"add": add} for add in value.get("add") or ()]
    removes = value.get("remove")
    lines += [{"remove": remove} for remove in (removes if isinstance(removes, list) else ())]
    return msgspec.json.Encoder().encode_lines(lines)


def _snapshot_of(log: TableLog, version: int, found: StoredObject, actions: Actions, table_id: str | None) -> Snapshot:
    name = f"{log.url}/{found.meta.key}"
    metadata = _check_has_metadata(name, actions)
    owner = actions.table_id or metadata.id
    if table_id is not None and owner != table_id:
        raise NotThisTable(f"{name} belongs to table {owner}, not to {table_id}")
    info = actions.commit_info
    known_time = info.timestamp if info is not None else None
    timestamp = known_time if known_time is not None else found.meta.last_modified_ms
    rest = msgspec.structs.replace(actions, adds=(), removes=())
    count = len(actions.adds)
    by_path = {add.path: add for add in actions.adds}
    adds = list(by_path.values()) if len(by_path) < count else actions.adds
    table = files_table(adds, [version] * len(adds), [timestamp] * len(adds))
    start = first_snapshot(log.url, version, timestamp, rest)
    return replace(start, file_set=FileSet(table), base=version)


def write_checkpoint(at: LogAtVersion) -> bool:
    """Write the snapshot as a JSON checkpoint and point to it. False when it was given up because it took too long.

    A checkpoint of this table that is there already is success; one of another table is not.
    """
    log, snapshot = at.log, at.snapshot
    check_writable(log.url, snapshot.protocol)
    if snapshot.gap is not None:
        raise VersionGap(
            f"table {log.url}: version {snapshot.gap} is missing; repair the log before a checkpoint",
            missing=snapshot.gap,
        )
    key = checkpoint_key(snapshot.version)
    pieces = list(_pieces(snapshot, log.options[opt.CHECKPOINT_MULTIPART_MAX_ACTIONS_PER_PART]))
    compress = log.options[opt.TRANSACTION_COMPRESSION_ENABLED]
    packed = [pack(piece, compress=compress, framed=True) for piece in pieces]
    checkpoint_id = None
    body = packed[0]
    if len(packed) > 1:
        checkpoint_id = log.clock.uuid().replace("-", "")[:12]
        names = [part_name(snapshot.version, checkpoint_id, number) for number in range(1, len(packed) + 1)]
        for name, part in zip(names, packed, strict=True):
            log.store.put(f"{LOG_DIR}/{name}", part)
        body = msgspec.json.encode(
            {
                "version": snapshot.version,
                "tableId": snapshot.table_id,
                "checkpointId": checkpoint_id,
                "parts": names,
                "createdTime": log.clock.wall_ms(),
                "format": "json",
            }
        )
    if log.clock.boot() - snapshot.checked > max(snapshot.safety_age_seconds / 2, QUICK_SECONDS):
        return False
    fate = _create(at, key, body)
    if fate == "given up":
        return False
    if fate == "there":
        write_pointer(log.store, Pointer(version=snapshot.version, num_files=snapshot.files.num_rows))
        return True
    write_pointer(
        log.store,
        Pointer(
            version=snapshot.version,
            size=snapshot.files.num_rows + 2,
            size_in_bytes=sum(map(len, packed)),
            num_files=snapshot.files.num_rows,
            created_time=log.clock.wall_ms(),
            parts=len(packed) if checkpoint_id else None,
            checkpoint_id=checkpoint_id,
        ),
    )
    return True


def _create(at: LogAtVersion, key: str, body: bytes) -> Literal["ours", "there", "given up"]:
    """Create the checkpoint. A checkpoint of this table that is there already is as good as ours."""
    log = at.log
    for attempt in range(log.options[opt.STATE_RETRY_MAX_ATTEMPTS]):
        if attempt:
            state_back_off(log.options).wait(log.clock, attempt - 1)
        match create_and_read_back(log.store, key, body, lambda found: found.data == body):
            case Won():
                return "ours"
            case Theirs(found):
                return "there" if _is_this_tables(at, found) else "given up"
            case Refused(error) if attempt == 0:
                raise error
            case Refused() | Absent():
                continue
            case Unknown(error):
                raise error
            case never:
                assert_never(never)
    return "given up"


def _is_this_tables(at: LogAtVersion, found: StoredObject) -> bool:
    """Whether a checkpoint that another writer created belongs to this table. Raises CorruptLog where it cannot be read."""
    try:
        load_checkpoint(at.log, at.snapshot.version, found, at.snapshot.table_id)
    except NotThisTable:
        return False
    return True


def _pieces(snapshot: Snapshot, most_adds: int) -> Iterator[bytes]:
    """The texts of the checkpoint: one, or one a part. The first holds everything but the rest of the adds."""
    adds = rows_to_adds(snapshot.files)
    head = Actions(
        commit_info=CommitInfo(
            table_id=snapshot.table_id,
            timestamp=snapshot.timestamp,
            time_travel_floor=snapshot.floor or None,
        ),
        protocol=snapshot.protocol,
        metadata=with_registry(snapshot),
        txns=tuple(txn for app in snapshot.transactions if (txn := snapshot.latest_txn(app)) is not None),
        adds=tuple(adds[:most_adds]),
        skips=useful_skips(snapshot),
    )
    yield _with_info(head)
    for start in range(most_adds, len(adds), most_adds):
        yield _with_info(Actions(adds=tuple(adds[start : start + most_adds])))


def useful_skips(snapshot: Snapshot) -> tuple[SkipAction, ...]:
    """Skip records of live files, and of others while they hold. By the version's own time, so that all writers agree."""
    if not snapshot.skips:
        return ()  # without looking at the files, which a state need not have read
    live = paths_in(snapshot.files, [skip.path for skip in snapshot.skips])
    return tuple(skip for skip in snapshot.skips if skip.path in live or (skip.retry_after or 0) > snapshot.timestamp)


def with_registry(snapshot: Snapshot) -> MetadataAction:
    """The metadata with every registered doc mapping, also those that the newest metadata action left out."""
    configuration = dict(snapshot.metadata.configuration)
    for schema_hash, text in snapshot.registry.items():
        configuration.setdefault(f"docMappingSchema.{schema_hash}", text)
    return msgspec.structs.replace(snapshot.metadata, configuration=configuration)


def _with_info(actions: Actions) -> bytes:
    text = encode_actions(actions)
    info = {"checkpointInfo": {"checksum": _checksum(text), "numActions": actions.size}}
    return msgspec.json.encode(info) + b"\n" + text


def _checksum(text: bytes) -> str:
    return f"xxh3:{xxhash.xxh3_64_hexdigest(text)}"
