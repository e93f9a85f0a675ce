"""Tables as older releases of the format wrote them: protocol 1 to 3, JSON checkpoints in each of their shapes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from log.support import LOG, Form, MemoryStore, checkpoint_key, lines, packed, put_version, raw_add
from state.support import foreign_metadata

Shape = Literal["lines", "object", "parts"]
SHAPES: tuple[Shape, ...] = ("lines", "object", "parts")
MAPPING = '[{"name":"id","type":"i64","stored":true}]'
OTHER_MAPPING = '[{"name":"message","type":"text","stored":true}]'


def protocol(version: int) -> dict[str, Any]:
    return {"protocol": {"minReaderVersion": version, "minWriterVersion": version}}


def full_add(number: int, **fields: Any) -> dict[str, Any]:
    """An add action that says all it can."""
    everything = {
        "partitionValues": {"day": f"2024-01-{number % 28 + 1:02d}", "region": ["eu", "ü 😀", ""][number % 3]},
        "size": 1000 + number,
        "stats": json.dumps({"numRecords": number, "nullCount": {"id": 1}}),
        "minValues": {"id": str(number), "message": "a\u2028"},
        "maxValues": {"id": str(number + 5), "message": "z" * 40},
        "numRecords": number,
        "footerStartOffset": 10_000 + number,
        "footerEndOffset": 20_000 + number,
        "hasFooterOffsets": True,
        "hotcacheStartOffset": 1,
        "hotcacheLength": 2,
        "timeRangeStart": "2024-01-01T00:00:00Z",
        "timeRangeEnd": "2024-01-02T00:00:00Z",
        "splitTags": ["a", "b"],
        "tags": {"k": "v"},
        "deleteOpstamp": 3,
        "numMergeOps": number % 4,
        "docMappingRef": ["refA", "refB"][number % 2],
        "uncompressedSizeBytes": 5000 + number,
    }
    return raw_add(f"part-{number:05d}.split", **everything | fields)


def metadata(**configuration: str) -> dict[str, Any]:
    """Two partition columns, and the schemas that the adds above refer to."""
    schemas = {"docMappingSchema.refA": MAPPING, "docMappingSchema.refB": OTHER_MAPPING}
    return foreign_metadata("day", "region", **schemas | configuration)


def put_checkpoint(
    store: MemoryStore, version: int, actions: Sequence[Mapping[str, Any]], shape: Shape, form: Form = "framed"
) -> None:
    """A JSON checkpoint, and the pointer to it."""
    pointer: dict[str, Any] = {"version": version, "size": len(actions), "parts": None, "checkpointId": None}
    if shape == "object":
        whole: dict[str, Any] = {key: value for action in actions[:2] for key, value in action.items()}
        whole["add"] = [action["add"] for action in actions[2:]]
        store.put(checkpoint_key(version), packed(json.dumps(whole).encode(), form))
    elif shape == "lines":
        store.put(checkpoint_key(version), packed(lines(*actions), form))
    else:
        third = -(-len(actions) // 3)
        names = [f"{version:020d}.checkpoint.abcdef012345.{part:05d}.json" for part in (1, 2, 3)]
        for place, name in enumerate(names):
            store.put(f"{LOG}/{name}", packed(lines(*actions[place * third : (place + 1) * third]), form))
        listing = {"version": version, "parts": names, "checkpointId": "abcdef012345", "numParts": 3}
        store.put(checkpoint_key(version), json.dumps(listing).encode())
        pointer |= {"parts": 3, "checkpointId": "abcdef012345"}
    store.put(f"{LOG}/_last_checkpoint", json.dumps(pointer).encode())


def put_table(store: MemoryStore, version: int = 2, shape: Shape = "lines", files: int = 12, at: int = 4) -> None:
    """A table of protocol `version`: files in version 1, a checkpoint at version `at`, one more file after it."""
    head = [protocol(version), metadata()]
    adds = [full_add(number) for number in range(files)]
    put_version(store, 0, *head)
    put_version(store, 1, *adds)
    for number in range(2, at + 1):
        put_version(store, number, full_add(files + number))
        adds.append(full_add(files + number))
    put_checkpoint(store, at, [*head, *adds], shape)
    put_version(store, at + 1, full_add(files + at + 1))
