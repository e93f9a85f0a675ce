"""State → bytes: `_manifest.avro`, one record."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import xxhash

from indextables.log.avro.avro_file import write_container
from indextables.log.avro.encode_record import encode_record
from indextables.log.avro.schemas import STATE_MANIFEST, STATE_MANIFEST_JSON
from indextables.log.codec import to_json_object
from indextables.log.state.model import ManifestItem, State

HASH_KEY: Final = "indextables.stateHash"
"""Where the file's header has the hash of its schema and its record."""


def encode_state(state: State, level: int) -> bytes:
    """A state as the bytes of `_manifest.avro`."""
    metadata = {"metaData": to_json_object(state.metadata)} if state.metadata else None
    record: dict[str, Any] = {
        "formatVersion": 1,
        "stateVersion": state.version,
        "createdAt": state.created_at,
        "numFiles": state.num_files,
        "totalBytes": state.total_bytes,
        "manifests": [_item_record(item) for item in state.manifests],
        "tombstones": sorted(state.tombstones),
        "schemaRegistry": dict(state.registry),
        "protocolVersion": state.protocol_version,
        "metadata": _json(metadata) if metadata else None,
        "protocol": _json(to_json_object(state.protocol)) if state.protocol else None,
        "transactions": [
            {"appId": txn.app_id, "version": txn.version, "lastUpdated": txn.last_updated}
            for txn in state.transactions.values()
        ],
        "skips": [_json(to_json_object(skip)) for skip in state.skips],
        "commitTimestamp": state.commit_timestamp,
        "timeTravelFloor": state.floor or None,
    }
    data = encode_record(STATE_MANIFEST, record)
    return write_container(
        STATE_MANIFEST_JSON, "zstandard", level, [(1, data)], lambda: {HASH_KEY: state_hash(STATE_MANIFEST_JSON, data)}
    )


def state_hash(schema_json: bytes, data: bytes) -> bytes:
    """What a state says of itself, because nothing else does: a bit that flips in a tombstone would bring a removed file back."""
    return f"xxh3:{xxhash.xxh3_64_hexdigest(schema_json + data)}".encode()


def _item_record(item: ManifestItem) -> dict[str, Any]:
    bounds = item.bounds
    return {
        "path": item.path,
        "numEntries": item.num_entries,
        "minAddedAtVersion": item.min_added_at_version,
        "maxAddedAtVersion": item.max_added_at_version,
        "partitionBounds": None
        if bounds is None
        else {c: {"min": low, "max": high} for c, (low, high) in bounds.items()},
        "tombstoneCount": item.tombstone_count,
        "liveEntryCount": item.live_entry_count,
        "boundsOrder": item.bounds_order,
        "length": item.length,
        "checksum": item.checksum,
        "mayRepeat": item.may_repeat or None,
    }


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
