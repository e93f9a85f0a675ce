"""Bytes → state. `_manifest.avro`, or `_manifest.json` of older writers; fields by name, absent ones by their defaults."""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa

from indextables.core.errors import CorruptLog
from indextables.log.actions import MetadataAction, ProtocolAction, SkipAction, TxnAction
from indextables.log.avro.avro_file import read_container
from indextables.log.avro.decode_records import decode_records
from indextables.log.state.model import ManifestItem, State
from indextables.log.state.tombstone_filter import Paths
from indextables.log.state.writing.encode_state import HASH_KEY, state_hash


class _Wrapped(msgspec.Struct):
    metaData: MetadataAction  # noqa: N815 - the name on disk


def decode_state(name: str, data: bytes, version: int) -> State:
    """A state from the bytes of its manifest. Raises CorruptLog with the file's name."""
    record = _json_record(name, data) if data[:1] in (b"{", b" ", b"\n") else _avro_record(name, data)
    try:
        return _state(record, version)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptLog(f"{name} is not a state: {error!r}", object=name) from error


def _avro_record(name: str, data: bytes) -> dict[str, Any]:
    container = read_container(name, data)
    said = container.metadata.get(HASH_KEY)
    if said is not None:
        found = b"".join(data for _, data in container.records())
        if said != state_hash(container.metadata.get("avro.schema", b""), found):
            raise CorruptLog(f"{name} is damaged: its bytes are not those that its header has the hash of", object=name)
    records = decode_records(container, columnar=True)
    if len(records) != 1 or not isinstance(records[0], dict):
        raise CorruptLog(f"{name} is not a state: it has {len(records)} records, not one", object=name)
    record: dict[str, Any] = records[0]
    return record


def _json_record(name: str, data: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptLog(f"{name} is damaged: {error}", object=name) from error


def _state(record: dict[str, Any], version: int) -> State:
    if record.get("formatVersion", 1) != 1:
        raise ValueError(f"format version {record['formatVersion']}, known is 1")
    _check_kinds(record)
    if record["stateVersion"] != version:
        raise ValueError(f"it says it is state {record['stateVersion']}, but lies in the place of {version}")
    return State(
        version=version,
        created_at=record.get("createdAt") or 0,
        manifests=tuple(_item(item) for item in record["manifests"]),
        tombstones=Paths.of(record.get("tombstones")),
        registry=dict(record.get("schemaRegistry") or {}),
        metadata=_metadata(record.get("metadata")),
        protocol=_protocol(record.get("protocol")),
        protocol_version=record.get("protocolVersion") or 4,
        transactions={
            item["appId"]: TxnAction(item["appId"], item["version"], item.get("lastUpdated"))
            for item in record.get("transactions") or ()
        },
        skips=tuple(msgspec.json.decode(text, type=SkipAction) for text in _texts(record.get("skips"))),
        commit_timestamp=record.get("commitTimestamp"),
        floor=record.get("timeTravelFloor") or 0,
        num_files=record.get("numFiles") or 0,
        total_bytes=record.get("totalBytes") or 0,
    )


_NUMBERS = (
    "stateVersion",
    "createdAt",
    "numFiles",
    "totalBytes",
    "protocolVersion",
    "commitTimestamp",
    "timeTravelFloor",
)
_ITEM_NUMBERS = (
    "numEntries",
    "minAddedAtVersion",
    "maxAddedAtVersion",
    "tombstoneCount",
    "liveEntryCount",
    "length",
)


def _check_kinds(record: dict[str, Any]) -> None:
    """JSON can hold anything anywhere; a state of other kinds of values is damaged, and must not be found so later."""
    for name in _NUMBERS:
        _check_number(record, name)
    for item in record["manifests"]:
        for name in _ITEM_NUMBERS:
            _check_number(item, name)
        if item["numEntries"] is None or item["numEntries"] < 0:
            raise ValueError(f"a manifest has {item['numEntries']!r} entries")
    tombstones = record.get("tombstones")
    texts = [
        *(() if isinstance(tombstones, pa.Array) else tombstones or ()),
        *(record.get("schemaRegistry") or {}).values(),
    ]
    strange = next((text for text in texts if not isinstance(text, str)), None)
    if strange is not None:
        raise ValueError(f"{strange!r} stands where a text should")


def _texts(found: pa.Array | list[str] | None) -> list[str]:
    """A list as Avro or JSON gives it."""
    texts: list[str] = found.to_pylist() if isinstance(found, pa.Array) else found or []
    return texts


def _check_number(record: dict[str, Any], name: str) -> None:
    value = record.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise ValueError(f"{name} is {value!r}, not a number")


def _item(item: dict[str, Any]) -> ManifestItem:
    path = item["path"]
    if not path or {"..", ".", ""} & set(path.split("/")) or ":" in path or "\0" in path:
        raise ValueError(f"it names a manifest {path!r} outside the log")
    bounds = item.get("partitionBounds")
    return ManifestItem(
        path=path,
        num_entries=item["numEntries"],
        min_added_at_version=item.get("minAddedAtVersion") or 0,
        max_added_at_version=item.get("maxAddedAtVersion") or 0,
        bounds=None if bounds is None else {key: (value.get("min"), value.get("max")) for key, value in bounds.items()},
        tombstone_count=item.get("tombstoneCount") or 0,
        live_entry_count=item.get("liveEntryCount", -1),
        bounds_order=item.get("boundsOrder"),
        length=item.get("length"),
        checksum=item.get("checksum"),
        may_repeat=bool(item.get("mayRepeat")),
    )


def _metadata(text: str | None) -> MetadataAction | None:
    if not text:
        return None
    value = msgspec.json.decode(text)
    if isinstance(value, dict) and "metaData" in value:
        return msgspec.json.decode(text, type=_Wrapped).metaData
    return msgspec.json.decode(text, type=MetadataAction)


def _protocol(text: str | None) -> ProtocolAction | None:
    return msgspec.json.decode(text, type=ProtocolAction) if text else None
