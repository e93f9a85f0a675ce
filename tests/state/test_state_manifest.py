"""§3 of the plan: the one record that a state is, and what its tombstones do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from indextables.log.actions import MetadataAction, ProtocolAction, SkipAction, TxnAction
from indextables.log.state.model import ManifestItem, State
from indextables.log.state.read import decode_state
from indextables.log.state.writing.encode_state import encode_state
from log.support import METADATA, START_MS, MemoryStore, make_log
from state.support import (
    ORIGINAL_STATE,
    add,
    avro_bytes,
    avro_header,
    avro_records,
    committed,
    entry,
    foreign_item,
    foreign_metadata,
    fresh,
    grown,
    many_files,
    naive_live,
    paths,
    put_foreign_state,
    state_of,
    stated,
    stored_entries,
    stored_state,
    table,
    written,
)

FOREIGN: dict[str, Any] = {
    "formatVersion": 1,
    "stateVersion": 12,
    "createdAt": START_MS,
    "numFiles": 70_500,
    "totalBytes": 2**50,
    "manifests": [
        foreign_item(
            "manifests/manifest-a1b2c3d4.avro",
            [],
            numEntries=50_000,
            minAddedAtVersion=1,
            maxAddedAtVersion=50,
            partitionBounds={"day": {"min": "2024-01-01", "max": "2024-01-15"}, "region": {"min": None, "max": None}},
        ),
        foreign_item("state-v00000000000000000003/manifest-e5f6a7b8.avro", [], numEntries=20_000, tombstoneCount=5),
        foreign_item("manifest-c9d0e1f2.avro", [], numEntries=500, liveEntryCount=499),
    ],
    "tombstones": ["splits/a.split", "splits/ü 😀.split"],
    "schemaRegistry": {"abc123": '{"fields":[]}'},
    "protocolVersion": 4,
    "metadata": json.dumps(METADATA),
}


def test_read_state_manifest() -> None:
    state = decode_state("s", avro_bytes(ORIGINAL_STATE, [FOREIGN]), 12)
    assert state.version == 12
    assert state.created_at == START_MS
    assert (state.num_files, state.total_bytes, state.num_entries) == (70_500, 2**50, 70_500)
    assert state.manifests == (
        ManifestItem(
            "manifests/manifest-a1b2c3d4.avro",
            50_000,
            1,
            50,
            {"day": ("2024-01-01", "2024-01-15"), "region": (None, None)},
        ),
        ManifestItem("state-v00000000000000000003/manifest-e5f6a7b8.avro", 20_000, tombstone_count=5),
        ManifestItem("manifest-c9d0e1f2.avro", 500, live_entry_count=499),
    )
    assert not any(item.typed for item in state.manifests)
    assert state.tombstones == {"splits/a.split", "splits/ü 😀.split"}
    assert state.registry == {"abc123": '{"fields":[]}'}
    assert state.metadata is not None
    assert state.metadata.id == METADATA["metaData"]["id"]
    assert (state.protocol, state.protocol_version) == (None, 4)
    assert (state.transactions, state.skips, state.commit_timestamp, state.floor) == ({}, (), None, 0)
    as_json = json.dumps(FOREIGN | {"metadata": json.dumps(METADATA["metaData"])}).encode()
    assert decode_state("s", as_json, 12) == state, "the older form, and the metadata without its wrapping"


def test_write_state_manifest() -> None:
    state = State(
        version=2**40,
        created_at=START_MS,
        manifests=(
            ManifestItem(
                "manifests/m.avro",
                9,
                1,
                2**40,
                {"day": ("a", None)},
                2,
                7,
                "typed",
                1234,
                "xxh3:0123456789abcdef",
                True,
            ),
            ManifestItem("manifests/n.avro", 3, live_entry_count=3),
        ),
        tombstones=frozenset({"b", "a"}),
        registry={"ref": "{}"},
        metadata=MetadataAction(id="t", schema_string="{}", partition_columns=("day",), configuration={"k": "ü"}),
        protocol=ProtocolAction(4, 4, ("avroState",), ("avroState",)),
        transactions={"app": TxnAction("app", 7, START_MS), "b": TxnAction("b", -1)},
        skips=(SkipAction("p", START_MS, reason="broken"),),
        commit_timestamp=START_MS + 1,
        floor=5,
        num_files=8,
        total_bytes=2**60,
    )
    data = encode_state(state, 3)
    (record,) = avro_records(data)
    schema, codec = avro_header(data)
    assert (schema["namespace"], schema["name"], codec) == ("io.indextables.state", "StateManifest", "zstandard")
    assert record["formatVersion"] == 1
    assert record["stateVersion"] == 2**40
    assert (record["createdAt"], record["commitTimestamp"], record["timeTravelFloor"]) == (START_MS, START_MS + 1, 5)
    assert (record["numFiles"], record["totalBytes"], record["protocolVersion"]) == (8, 2**60, 4)
    assert record["manifests"][0] == {
        "path": "manifests/m.avro",
        "numEntries": 9,
        "minAddedAtVersion": 1,
        "maxAddedAtVersion": 2**40,
        "partitionBounds": {"day": {"min": "a", "max": None}},
        "tombstoneCount": 2,
        "liveEntryCount": 7,
        "boundsOrder": "typed",
        "length": 1234,
        "checksum": "xxh3:0123456789abcdef",
        "mayRepeat": True,
    }
    assert record["manifests"][1]["partitionBounds"] is None
    assert record["tombstones"] == ["a", "b"]
    assert record["schemaRegistry"] == {"ref": "{}"}
    assert json.loads(record["metadata"])["metaData"]["configuration"] == {"k": "ü"}
    assert json.loads(record["protocol"])["readerFeatures"] == ["avroState"]
    assert record["transactions"] == [
        {"appId": "app", "version": 7, "lastUpdated": START_MS},
        {"appId": "b", "version": -1, "lastUpdated": None},
    ]
    assert json.loads(record["skips"][0])["reason"] == "broken"
    assert decode_state("s", data, 2**40) == state
    known = {field["name"] for field in ORIGINAL_STATE["fields"]}
    ours = {field["name"] for field in schema["fields"]}
    assert ours - known == {"protocol", "transactions", "skips", "commitTimestamp", "timeTravelFloor"}
    assert known <= ours


def test_state_manifest_with_tombstones() -> None:
    store = MemoryStore()
    log = make_log(store)
    snapshot = stated(log, committed(log, table(log), [f"f{number:02d}" for number in range(40)]))
    snapshot = stated(log, committed(log, snapshot, removes=["f03", "f01"]))
    assert stored_state(store, 2)["tombstones"] == ["f01", "f03"]
    snapshot = stated(log, committed(log, snapshot, removes=["f02"]))
    assert stored_state(store, 3)["tombstones"] == ["f01", "f02", "f03"]
    assert [item["tombstoneCount"] for item in stored_state(store, 3)["manifests"]] == [3]
    assert state_of(fresh(store)).tombstones == {"f01", "f02", "f03"}
    assert paths(fresh(store)) == [f"f{number:02d}" for number in range(40) if number not in (1, 2, 3)]


@pytest.mark.parametrize("where", ["schemaRegistry", "metadata"])
def test_state_manifest_with_schema_registry(where: str) -> None:
    """Schemas are found in either of the two places, and written to both."""
    store = MemoryStore()
    log = make_log(store)
    mapping = '[{"name":"id","type":"i64"}]'
    snapshot = stated(log, committed(log, table(log), [add("f1", doc_mapping_json=mapping)]))
    (ref,) = state_of(snapshot).registry
    record = stored_state(store, 1)
    assert record["schemaRegistry"] == {ref: mapping}
    assert json.loads(record["metadata"])["metaData"]["configuration"][f"docMappingSchema.{ref}"] == mapping

    foreign = MemoryStore()
    metadata = foreign_metadata(**{f"docMappingSchema.{ref}": mapping})
    fields: dict[str, Any] = {"schemaRegistry": {ref: mapping}} if where == "schemaRegistry" else {"metadata": metadata}
    put_foreign_state(foreign, 1, {"manifests/a.avro": [entry(docMappingRef=ref)]}, **fields)
    assert fresh(foreign).registry == {ref: mapping}


def test_state_manifest_version_bounds() -> None:
    """Each manifest knows the oldest and the newest version that added one of its entries."""
    store = MemoryStore()
    log = make_log(store)
    snapshot = table(log)
    for number in range(1, 4):
        snapshot = committed(log, snapshot, [f"f{number}"])
    snapshot = stated(log, snapshot)
    for number in range(4, 7):
        snapshot = committed(log, snapshot, [f"f{number}"])
    snapshot = stated(log, snapshot)

    def bounds(version: int) -> list[tuple[int, int]]:
        items = stored_state(store, version)["manifests"]
        return [(item["minAddedAtVersion"], item["maxAddedAtVersion"]) for item in items]

    assert bounds(3) == [(1, 3)]
    assert bounds(6) == [(1, 3), (4, 6)]
    for (low, high), entries in zip(bounds(6), stored_entries(store, 6), strict=True):
        assert {item["addedAtVersion"] for item in entries} == set(range(low, high + 1))
    snapshot = committed(log, snapshot, removes=["f1"])
    stated(log, snapshot, compact=True)
    assert bounds(7) == [(2, 6)]


def _counted(store: MemoryStore, version: int) -> dict[str, int]:
    """What a state says of its numbers is what its bytes amount to."""
    record = stored_state(store, version)
    live = naive_live(store, version)
    dead = set(record["tombstones"])
    for item, entries in zip(record["manifests"], stored_entries(store, version), strict=True):
        gone = sum(entry["path"] in dead for entry in entries)
        assert (item["tombstoneCount"], item["liveEntryCount"]) == (gone, len(entries) - gone)
        assert item["numEntries"] == len(entries)
    assert record["numFiles"] == len(live)
    assert record["totalBytes"] == sum(entry["size"] for entry in live.values())
    return {"files": record["numFiles"], "bytes": record["totalBytes"]}


def _busy(store: MemoryStore) -> list[dict[str, int]]:
    """Appends, removals, a re-add and an overwrite of one path, with a state after each."""
    log = make_log(store, {"state.compaction.tombstoneThreshold": 0.9})
    snapshot = committed(log, table(log), [add(f"f{number}", size=10**number) for number in range(6)])
    counts = []
    for change in (
        {},
        {"adds": [add("g", size=7)]},
        {"removes": ["f1", "f5"]},
        {"adds": [add("f1", size=3)]},
        {"adds": [add("f2", size=5)], "removes": ["f2"]},
        {"adds": [add("f3", size=9)]},
        {"removes": ["f0", "f1", "f2", "f3", "f4", "g"]},
    ):
        snapshot = stated(log, committed(log, snapshot, **change))
        counts.append(_counted(store, snapshot.version))
    return counts


def test_state_manifest_num_files() -> None:
    assert [count["files"] for count in _busy(MemoryStore())] == [6, 7, 5, 6, 6, 6, 0]


def test_state_manifest_total_bytes() -> None:
    everything = 111_111
    assert [count["bytes"] for count in _busy(MemoryStore())] == [
        everything,
        everything + 7,
        everything + 7 - 100_010,
        everything + 7 - 100_010 + 3,
        everything + 7 - 100_010 + 3 - 100 + 5,
        everything + 7 - 100_010 + 3 - 100 + 5 - 1000 + 9,
        0,
    ]


def test_apply_tombstones() -> None:
    """A tombstone hides every entry of its path, in older and in newer manifests."""
    store = MemoryStore()
    manifests = {
        "manifests/a.avro": [entry(1, path="x"), entry(2, path="y")],
        "manifests/b.avro": [entry(3, path="x"), entry(4, path="z")],
    }
    put_foreign_state(store, 1, manifests, tombstones=["x", "never-there"])
    assert paths(fresh(store)) == ["y", "z"]
    put_foreign_state(store, 2, manifests)
    twice = fresh(store).files
    assert dict(zip(twice["path"].to_pylist(), twice["size"].to_pylist(), strict=True)) == {
        "x": 103,
        "y": 102,
        "z": 104,
    }


def test_empty_tombstones() -> None:
    store = MemoryStore()
    log = make_log(store)
    snapshot = stated(log, committed(log, table(log), ["f1", "f2"]))
    assert stored_state(store, 1)["tombstones"] == []
    assert paths(fresh(store)) == ["f1", "f2"]
    stated(log, committed(log, snapshot, ["f3"]))
    assert stored_state(store, 2)["tombstones"] == []
    assert paths(fresh(store)) == ["f1", "f2", "f3"]


def test_large_tombstone_list() -> None:
    store = MemoryStore()
    log = make_log(store, {"state.compaction.tombstoneThreshold": 0.9, "state.entriesPerManifest": 6000})
    files = many_files(24_000)
    snapshot = stated(log, grown(log, files))
    gone = files["path"].to_pylist()[::2]
    done = written(log, committed(log, snapshot, removes=gone))
    assert done.kind == "incremental"
    assert len(stored_state(store, 2)["tombstones"]) == 12_000
    assert [item.live_entry_count for item in done.state.manifests] == [3000] * 4
    assert fresh(store).files["path"].to_pylist() == files["path"].to_pylist()[1::2]
