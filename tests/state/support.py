"""What the tests of states share: file entries, tables made of them, and a reader and a writer of Avro that are not ours.

`stored_state` and `naive_live` take a log apart with fastavro and dicts alone: they are what a state must mean, whatever the
code under test believes.
"""

from __future__ import annotations

import ctypes
import io
import json
import tracemalloc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.actions import AddAction
from indextables.log.commit import commit
from indextables.log.conflicts import Change
from indextables.log.file_entries import FILE_SCHEMA
from indextables.log.file_set import FileSet
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.state.checkpoint import checkpoint
from indextables.log.state.live_files import StateFiles
from indextables.log.state.model import State
from indextables.log.state.write import StateWritten, write_state
from indextables.log.table_log import TableLog
from log.support import LOG, METADATA, START_MS, MemoryStore, make_log, new_table

T = TypeVar("T")

HERE = Path(__file__).parent
ORIGINAL_FILE_ENTRY: dict[str, Any] = json.loads((HERE / "original_file_entry.avsc").read_text())
ORIGINAL_STATE: dict[str, Any] = json.loads((HERE / "original_state_manifest.avsc").read_text())
"""What stands in the headers of the files of the original implementation."""

CODECS = ("zstandard", "snappy", "null", "deflate")

COLUMNS = {"id": "long", "message": "string", "day": "date", "region": "string", "level": "integer"}
SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in COLUMNS.items()],
    }
)
OPTIONAL = tuple(field.name for field in FILE_SCHEMA if field.nullable)
SEED_FIELDS = {
    "path": 100,
    "partitionValues": 101,
    "size": 102,
    "modificationTime": 103,
    "dataChange": 104,
    "stats": 110,
    "minValues": 111,
    "maxValues": 112,
    "numRecords": 113,
    "footerStartOffset": 120,
    "footerEndOffset": 121,
    "hasFooterOffsets": 124,
    "splitTags": 132,
    "numMergeOps": 134,
    "docMappingRef": 135,
    "uncompressedSizeBytes": 136,
    "addedAtVersion": 140,
    "addedAtTimestamp": 141,
}
"""The 18 fields of the format's own schema, with their ids."""


def entry(number: int = 1, **fields: Any) -> dict[str, Any]:
    """A file entry that says no more than it must."""
    needed = {
        "path": f"splits/split-{number:06d}.split",
        "partitionValues": {},
        "size": 100 + number,
        "modificationTime": START_MS + number,
        "dataChange": True,
        "hasFooterOffsets": False,
        "addedAtVersion": number % 7,
        "addedAtTimestamp": START_MS + number % 7,
    }
    return dict.fromkeys(OPTIONAL) | needed | fields


def full_entry(number: int = 1, **fields: Any) -> dict[str, Any]:
    """A file entry that says all it can, in values of which no two are alike."""
    everything = {
        "partitionValues": {"day": "2024-01-31", "region": f"región-{number} 😀"},
        "dataChange": False,
        "stats": json.dumps({"numRecords": number, "nullCount": {"id": 0}}),
        "minValues": {"id": str(number), "message": "äpfel\u2028\n"},
        "maxValues": {"id": str(number + 9), "message": "zebra\x00"},
        "numRecords": 10 + number,
        "footerStartOffset": 2**40 + number,
        "footerEndOffset": 2**41 + number,
        "hasFooterOffsets": True,
        "splitTags": ["hot", f"tag-{number}", ""],
        "numMergeOps": 3,
        "docMappingRef": f"ref{number % 3}",
        "uncompressedSizeBytes": 2**62 + number,
        "addedAtVersion": 7,
        "companionSourceFiles": [f"part-{number}.parquet", "part-b.parquet"],
        "companionDeltaVersion": 2**33 + number,
        "companionFastFieldMode": "HYBRID",
        "docMappingJson": '[{"name":"id","type":"i64"}]',
        "timeRangeStart": "2024-01-31T00:00:00Z",
        "timeRangeEnd": "2024-01-31T23:59:59Z",
        "tags": {"origin": "test", "": ""},
        "deleteOpstamp": 2**34 + number,
        "hotcacheStartOffset": 2**35 + number,
        "hotcacheLength": 2**36 + number,
    }
    return entry(number) | everything | fields


def files_of(entries: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Entries as the table that a snapshot holds."""
    rows = [{k: list(v.items()) if isinstance(v, dict) else v for k, v in item.items()} for item in entries]
    return pa.Table.from_pylist(rows, FILE_SCHEMA)


def as_entries(table: pa.Table) -> list[dict[str, Any]]:
    """The way back."""
    return table.to_pylist(maps_as_pydicts="strict")


def many_files(count: int, days: int = 1, start: int = 0) -> pa.Table:
    """Many files at once, column by column: file n is in partition n % days."""
    numbers = np.arange(start, start + count)
    texts = pa.array(numbers).cast(pa.string())
    day = np.datetime_as_string(np.datetime64("2024-01-01") + (numbers % days).astype("timedelta64[D]"))
    ends = pa.array(np.arange(count + 1, dtype=np.int32))
    keys, values = pa.array(["day"] * count), pa.array(day.tolist(), pa.string())
    minima = pa.MapArray.from_arrays(ends, pa.array(["id"] * count), texts)
    columns: dict[str, Any] = {
        "path": pc.binary_join_element_wise("splits/split-", texts, ".split", ""),
        "partitionValues": pa.MapArray.from_arrays(ends, keys, values),
        "size": pa.array(numbers + 1),
        "modificationTime": pa.array(START_MS + numbers),
        "dataChange": pa.repeat(pa.scalar(True), count),
        "hasFooterOffsets": pa.repeat(pa.scalar(True), count),
        "footerStartOffset": pa.array(numbers * 1000),
        "footerEndOffset": pa.array(numbers * 1000 + 999),
        "numRecords": pa.array(numbers % 100),
        "minValues": minima,
        "maxValues": minima,
        "addedAtVersion": pa.array(np.ones(count, np.int64)),
        "addedAtTimestamp": pa.array(np.full(count, START_MS + 1)),
    }
    arrays = [columns[f.name] if f.name in columns else pa.nulls(count, f.type) for f in FILE_SCHEMA]
    return pa.Table.from_arrays(arrays, schema=FILE_SCHEMA)


def avro_bytes(schema: Any, records: Iterable[Mapping[str, Any]], codec: str = "zstandard", **options: Any) -> bytes:
    """A file as fastavro writes it."""
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema, _force=True), list(records), codec=codec, **options)
    return out.getvalue()


def avro_records(data: bytes) -> list[dict[str, Any]]:
    """A file's records as fastavro reads them."""
    return list(fastavro.reader(io.BytesIO(data)))  # type: ignore[arg-type]


def avro_header(data: bytes) -> tuple[dict[str, Any], str]:
    """The schema and the codec in a file's header."""
    reader = fastavro.reader(io.BytesIO(data))
    return json.loads(reader.metadata["avro.schema"]), reader.metadata["avro.codec"]


def blocks_of(data: bytes) -> list[int]:
    """How many records each block of a file has."""
    return [block.num_records for block in fastavro.block_reader(io.BytesIO(data))]


def state_key(version: int, name: str = "_manifest.avro") -> str:
    return f"{LOG}/state-v{version:020d}/{name}"


def stored_state(store: MemoryStore, version: int) -> dict[str, Any]:
    """A state as it lies in the store."""
    (record,) = avro_records(store.objects[state_key(version)].data)
    return record


def key_of(path: str, version: int) -> str:
    """Where a manifest lies, from the three forms in which a state may name it."""
    return f"{LOG}/{path}" if "/" in path else state_key(version, path)


def stored_entries(store: MemoryStore, version: int) -> list[list[dict[str, Any]]]:
    """The entries of each of a state's manifests."""
    items = stored_state(store, version)["manifests"]
    return [avro_records(store.objects[key_of(item["path"], version)].data) for item in items]


def naive_live(store: MemoryStore, version: int) -> dict[str, dict[str, Any]]:
    """Path to entry: what is live in a state, by a dict."""
    found = {item["path"]: item for entries in stored_entries(store, version) for item in entries}
    for path in stored_state(store, version)["tombstones"]:
        found.pop(path, None)
    return found


def add(path: str, **fields: Any) -> AddAction:
    """A file to commit. `day`, `region` and `level` are partition values."""
    partition = {c: fields.pop(c) for c in ("day", "region", "level") if c in fields}
    return AddAction(path, partition, **{"size": 100, "modification_time": START_MS, "num_records": 10, **fields})


def table(log: TableLog, *partition_columns: str) -> Snapshot:
    """Version 0 of a table with the columns above."""
    return new_table(log, schema_string=SCHEMA, partition_columns=partition_columns)


def committed(
    log: TableLog, snapshot: Snapshot, adds: Iterable[AddAction | str] = (), removes: Iterable[str] = (), **change: Any
) -> Snapshot:
    """The snapshot after one more version."""
    actions = tuple(add(each) if isinstance(each, str) else each for each in adds)
    return commit(
        LogAtVersion(log, snapshot), Change(adds=actions, removes=tuple(removes), **change), operation="WRITE"
    ).snapshot


def stated(log: TableLog, snapshot: Snapshot, *, compact: bool = False) -> Snapshot:
    """Write the snapshot's state, and go on from it."""
    done = checkpoint(LogAtVersion(log, snapshot), compact=compact)
    assert done.written
    return done.snapshot


def written(log: TableLog, snapshot: Snapshot, *, compact: bool = False) -> StateWritten:
    """Write the snapshot's state, and look at what was written."""
    done = write_state(LogAtVersion(log, snapshot), compact=compact)
    assert done is not None
    return done


def fresh(store: MemoryStore, options: Mapping[str, Any] | None = None, at: int | None = None) -> Snapshot:
    """The table as a process sees it that knows nothing."""
    return open_log(make_log(store, options), at)


def state_of(snapshot: Snapshot) -> State:
    """The state that a snapshot stands on."""
    assert isinstance(snapshot.file_set.base, StateFiles), "the snapshot does not stand on an Avro state"
    return snapshot.file_set.base.state


def paths(snapshot: Snapshot) -> list[str]:
    """Live paths, sorted; a path that is live twice stands there twice."""
    return sorted(snapshot.files.column("path").to_pylist())


def grown(log: TableLog, files: pa.Table, *partition_columns: str) -> Snapshot:
    """A table that has these files at version 1, without the price of committing them one by one."""
    start = committed(log, table(log, *partition_columns))
    return replace(start, file_set=FileSet(files))


def foreign_metadata(*partition_columns: str, **configuration: str) -> dict[str, Any]:
    """The metaData line of another implementation's table with the columns above."""
    fields = {"schemaString": SCHEMA, "partitionColumns": list(partition_columns), "configuration": configuration}
    return {"metaData": METADATA["metaData"] | fields}


def foreign_item(path: str, entries: Sequence[Mapping[str, Any]], **fields: Any) -> dict[str, Any]:
    """A manifest as the original implementation's states name it: no bounds unless given, no counts worth anything."""
    return {
        "path": path,
        "numEntries": len(entries),
        "minAddedAtVersion": 0,
        "maxAddedAtVersion": 0,
        "partitionBounds": None,
        "tombstoneCount": 0,
        "liveEntryCount": -1,
    } | fields


def put_foreign_state(
    store: MemoryStore,
    version: int,
    manifests: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    bounds: Mapping[str, Any] | None = None,
    codec: str = "zstandard",
    metadata: Mapping[str, Any] = METADATA,
    **fields: Any,
) -> None:
    """A state as the original implementation writes it. `manifests`: entries by the path under which the state names them.

    A path that is in the store already is named and not written again.
    """
    items = []
    for path, entries in manifests.items():
        items.append(foreign_item(path, entries, partitionBounds=(bounds or {}).get(path)))
        key = key_of(path, version)
        if key not in store.objects:
            store.put(key, avro_bytes(ORIGINAL_FILE_ENTRY, entries, codec))
    count = sum(map(len, manifests.values()))
    record = {
        "formatVersion": 1,
        "stateVersion": version,
        "createdAt": store.clock.wall_ms(),
        "numFiles": count,
        "totalBytes": sum(item["size"] for entries in manifests.values() for item in entries),
        "manifests": items,
        "tombstones": [],
        "schemaRegistry": {},
        "protocolVersion": 4,
        "metadata": json.dumps(metadata),
    }
    store.put(state_key(version), avro_bytes(ORIGINAL_STATE, [record | fields]))
    pointer = {"version": version, "size": count, "numFiles": count, "parts": None, "checkpointId": None}
    pointer |= {"format": "avro-state", "stateDir": f"state-v{version:020d}"}
    store.put(f"{LOG}/_last_checkpoint", json.dumps(pointer).encode())


def peak_of(call: Callable[[], T]) -> tuple[T, int]:
    """What a call returns, and the most memory that Arrow, numpy and Python together took for it at any time."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(pool))  # buffers go back to their pool, which must outlive them all
    tracemalloc.start()
    pa.set_memory_pool(pool)
    try:
        result = call()
        python = tracemalloc.get_traced_memory()[1]
    finally:
        pa.set_memory_pool(before)
        tracemalloc.stop()
    return result, python + (pool.max_memory() or 0)
