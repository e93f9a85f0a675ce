"""The Avro schemas of what we write. Reading goes by field name, so other ids, orders and namespaces read the same."""

from __future__ import annotations

from typing import Any

import msgspec

_TEXT_MAP = {"type": "map", "values": "string"}
_TEXT_LIST = {"type": "array", "items": "string"}


def _optional(kind: Any) -> list[Any]:
    return ["null", kind]


_ENTRY_FIELDS: tuple[tuple[str, Any, int], ...] = (
    ("path", "string", 100),
    ("partitionValues", _TEXT_MAP, 101),
    ("size", "long", 102),
    ("modificationTime", "long", 103),
    ("dataChange", "boolean", 104),
    ("stats", _optional("string"), 110),
    ("minValues", _optional(_TEXT_MAP), 111),
    ("maxValues", _optional(_TEXT_MAP), 112),
    ("numRecords", _optional("long"), 113),
    ("footerStartOffset", _optional("long"), 120),
    ("footerEndOffset", _optional("long"), 121),
    ("hasFooterOffsets", "boolean", 124),
    ("splitTags", _optional(_TEXT_LIST), 132),
    ("numMergeOps", _optional("int"), 134),
    ("docMappingRef", _optional("string"), 135),
    ("uncompressedSizeBytes", _optional("long"), 136),
    ("addedAtVersion", "long", 140),
    ("addedAtTimestamp", "long", 141),
    ("companionSourceFiles", _optional(_TEXT_LIST), 150),
    ("companionDeltaVersion", _optional("long"), 151),
    ("companionFastFieldMode", _optional("string"), 152),
    ("docMappingJson", _optional("string"), 160),
    ("timeRangeStart", _optional("string"), 161),
    ("timeRangeEnd", _optional("string"), 162),
    ("tags", _optional(_TEXT_MAP), 163),
    ("deleteOpstamp", _optional("long"), 164),
    ("hotcacheStartOffset", _optional("long"), 165),
    ("hotcacheLength", _optional("long"), 166),
)


def _entry_field(name: str, kind: Any, number: int) -> dict[str, Any]:
    field: dict[str, Any] = {"name": name, "type": kind}
    if isinstance(kind, list):
        field["default"] = None
    elif name == "hasFooterOffsets":
        field["default"] = False
    return field | {"field-id": number}


FILE_ENTRY: dict[str, Any] = {
    "type": "record",
    "name": "FileEntry",
    "namespace": "io.indextables.state",
    "doc": "A file entry representing a split in the table state",
    "fields": [_entry_field(*entry) for entry in _ENTRY_FIELDS],
}

_BOUNDS = {
    "type": "record",
    "name": "PartitionBoundsItem",
    "fields": [
        {"name": "min", "type": _optional("string"), "default": None},
        {"name": "max", "type": _optional("string"), "default": None},
    ],
}

_MANIFEST_ITEM = {
    "type": "record",
    "name": "ManifestInfoItem",
    "fields": [
        {"name": "path", "type": "string"},
        {"name": "numEntries", "type": "long"},
        {"name": "minAddedAtVersion", "type": "long"},
        {"name": "maxAddedAtVersion", "type": "long"},
        {"name": "partitionBounds", "type": _optional({"type": "map", "values": _BOUNDS}), "default": None},
        {"name": "tombstoneCount", "type": "long", "default": 0},
        {"name": "liveEntryCount", "type": "long", "default": -1},
        {"name": "boundsOrder", "type": _optional("string"), "default": None},
        {"name": "length", "type": _optional("long"), "default": None},
        {"name": "checksum", "type": _optional("string"), "default": None},
        {"name": "mayRepeat", "type": _optional("boolean"), "default": None},
    ],
}

_TRANSACTION = {
    "type": "record",
    "name": "TransactionItem",
    "fields": [
        {"name": "appId", "type": "string"},
        {"name": "version", "type": "long"},
        {"name": "lastUpdated", "type": _optional("long"), "default": None},
    ],
}

STATE_MANIFEST: dict[str, Any] = {
    "type": "record",
    "name": "StateManifest",
    "namespace": "io.indextables.state",
    "fields": [
        {"name": "formatVersion", "type": "int"},
        {"name": "stateVersion", "type": "long"},
        {"name": "createdAt", "type": "long"},
        {"name": "numFiles", "type": "long"},
        {"name": "totalBytes", "type": "long"},
        {"name": "manifests", "type": {"type": "array", "items": _MANIFEST_ITEM}},
        {"name": "tombstones", "type": _TEXT_LIST},
        {"name": "schemaRegistry", "type": _TEXT_MAP},
        {"name": "protocolVersion", "type": "int", "default": 4},
        {"name": "metadata", "type": _optional("string"), "default": None},
        {"name": "protocol", "type": _optional("string"), "default": None},
        {"name": "transactions", "type": {"type": "array", "items": _TRANSACTION}, "default": []},
        {"name": "skips", "type": _TEXT_LIST, "default": []},
        {"name": "commitTimestamp", "type": _optional("long"), "default": None},
        {"name": "timeTravelFloor", "type": _optional("long"), "default": None},
    ],
}

FILE_ENTRY_JSON = msgspec.json.encode(FILE_ENTRY)
STATE_MANIFEST_JSON = msgspec.json.encode(STATE_MANIFEST)
