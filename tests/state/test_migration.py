"""§7 of the plan: JSON checkpoints are read, and the next checkpoint turns them into a state with nothing lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

import indextables
from indextables import Table
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.state.checkpoint import checkpoint
from indextables.table.handle import TableHandle
from log.support import MemoryStore, lines, make_log, naive_live, put_version, raw_lines, raw_remove, raw_versions
from state.legacy import MAPPING, OTHER_MAPPING, SHAPES, Shape, full_add, put_table
from state.support import (
    as_entries,
    committed,
    fresh,
    grown,
    many_files,
    paths,
    state_of,
    stated,
    stored_entries,
    stored_state,
)
from state.support import naive_live as live_in_state


def upgraded(store: MemoryStore) -> Snapshot:
    """The table after its next checkpoint, as a process sees it that knows nothing."""
    log = make_log(store)
    done = checkpoint(LogAtVersion(log, open_log(log)), compact=False)
    assert (done.format, done.written) == ("avro-state", True)
    after = fresh(store)
    assert after.base == after.version == done.snapshot.version
    assert state_of(after).version == after.version
    return after


def rows(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in as_entries(snapshot.files)}


@pytest.mark.parametrize("shape", SHAPES)
def test_read_legacy_json_checkpoint(shape: Shape) -> None:
    store = MemoryStore()
    put_table(store, shape=shape)
    snapshot = fresh(store)
    assert (snapshot.version, snapshot.base) == (5, 4)
    assert set(paths(snapshot)) == set(naive_live(raw_versions(store.bytes())))
    for number in range(1, 4):  # only the checkpoint knows them now
        del store.objects[f"_transaction_log/{number:020d}.json"]
    assert rows(fresh(store)) == rows(snapshot)


@pytest.mark.parametrize("shape", SHAPES)
def test_auto_upgrade_on_read(shape: Shape) -> None:
    """A legacy checkpoint is a snapshot like any other, and reading it writes nothing."""
    store = MemoryStore()
    put_table(store, shape=shape)
    before = store.bytes()
    snapshot = fresh(store)
    assert set(paths(snapshot)) == set(naive_live(raw_versions(store.bytes())))
    assert snapshot.registry == {"refA": MAPPING, "refB": OTHER_MAPPING}
    assert snapshot.protocol.min_reader_version == 2
    assert store.bytes() == before


def test_checkpoint_sql_upgrade() -> None:
    store = MemoryStore()
    put_table(store)
    log = make_log(store)
    t = Table(TableHandle(log, open_log(log)))
    (done,) = indextables.sql("CHECKPOINT INDEXTABLES logs", logs=t).to_pylist()
    assert (done["status"], done["checkpoint_version"], done["protocol_version"]) == ("success", 6, 4)
    assert (done["num_files"], done["is_multi_part"]) == (16, False)
    assert t.version == 6, "the protocol was committed first"
    assert json.loads(store.objects["_transaction_log/_last_checkpoint"].data)["format"] == "avro-state"
    assert stored_state(store, 6)["protocolVersion"] == 4
    assert dict(zip(*t.state().to_pydict().values(), strict=True))["format"] == "avro-state"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_upgrade_preserves_all_files(version: int, shape: Shape) -> None:
    store = MemoryStore()
    put_table(store, version, shape)
    before = rows(fresh(store))
    after = rows(upgraded(store))
    assert len(before) == 16
    assert after == before
    assert set(live_in_state(store, 6)) == set(before)


def test_upgrade_preserves_partition_values() -> None:
    store = MemoryStore()
    put_table(store)
    upgraded(store)
    values = {path: entry["partitionValues"] for path, entry in live_in_state(store, 6).items()}
    assert values == {
        action["add"]["path"]: action["add"]["partitionValues"]
        for action in (full_add(number) for number in (*range(12), 14, 15, 16, 17))
    }
    assert {"ü 😀", "", "eu"} == {value["region"] for value in values.values()}


def test_upgrade_preserves_statistics() -> None:
    store = MemoryStore()
    put_table(store)
    upgraded(store)
    live = live_in_state(store, 6)
    for number in (*range(12), 14, 15, 16, 17):
        theirs = full_add(number)["add"]
        ours = live[theirs["path"]]
        for name in theirs.keys() - {"path", "partitionValues"}:
            assert ours[name] == theirs[name], name


def test_upgrade_preserves_schema_registry() -> None:
    """Also the schemas that only versions below the checkpoint registered."""
    store = MemoryStore()
    put_table(store)
    (first, *rest) = raw_lines(store.objects["_transaction_log/00000000000000000004.checkpoint.json"].data)
    without = [first, {"metaData": rest[0]["metaData"] | {"configuration": {}}}, *rest[1:]]
    store.put("_transaction_log/00000000000000000004.checkpoint.json", lines(*without))
    after = upgraded(store)
    record = stored_state(store, 6)
    assert record["schemaRegistry"] == {"refA": MAPPING, "refB": OTHER_MAPPING}
    configuration = json.loads(record["metadata"])["metaData"]["configuration"]
    assert configuration == {"docMappingSchema.refA": MAPPING, "docMappingSchema.refB": OTHER_MAPPING}
    assert {entry["docMappingRef"] for entry in live_in_state(store, 6).values()} == {"refA", "refB"}
    assert after.registry == {"refA": MAPPING, "refB": OTHER_MAPPING}


def test_write_after_upgrade() -> None:
    """From then on states build on states, and no JSON checkpoint is written."""
    store = MemoryStore()
    put_table(store)
    snapshot = upgraded(store)
    log = make_log(store)
    before = [key for key in store.objects if "checkpoint" in key]
    snapshot = stated(log, committed(log, snapshot, ["new"]))
    assert [item["numEntries"] for item in stored_state(store, 7)["manifests"]] == [16, 1]
    assert "new" in paths(fresh(store))
    assert [key for key in store.objects if "checkpoint" in key] == before


def test_mixed_format_rollback() -> None:
    """`state.format=json` writes a JSON checkpoint again: readers that know nothing newer find all they need in it."""
    store = MemoryStore()
    put_table(store)
    snapshot = upgraded(store)
    log = make_log(store, {"state.format": "json"})
    snapshot = committed(log, open_log(log), ["after"], ["part-00003.split"])
    done = checkpoint(LogAtVersion(log, snapshot), compact=True)
    assert (done.format, done.written) == ("json", True)
    pointer = json.loads(store.objects["_transaction_log/_last_checkpoint"].data)
    assert (pointer["version"], pointer.get("format"), pointer.get("stateDir")) == (7, None, None)
    actions = raw_lines(store.objects["_transaction_log/00000000000000000007.checkpoint.json"].data)
    assert {a["add"]["path"] for a in actions if "add" in a} == set(paths(snapshot))
    expected = rows(snapshot)
    for key in [key for key in store.objects if "state-v" in key or "/manifests/" in key]:
        del store.objects[key]
    again = fresh(store)
    assert (again.base, rows(again).keys()) == (7, expected.keys())
    for path, row in rows(again).items():
        row.pop("addedAtVersion"), row.pop("addedAtTimestamp")
        assert row == {name: value for name, value in expected[path].items() if not name.startswith("addedAt")}


def test_upgrade_from_v2_to_v4() -> None:
    """The protocol is a commit of its own before the state, so that replay and state agree."""
    store = MemoryStore()
    put_table(store, 2)
    after = upgraded(store)
    info, protocol_line = raw_versions(store.bytes())[6]
    assert info["commitInfo"]["operation"] == "UPGRADE PROTOCOL"
    assert protocol_line["protocol"]["minReaderVersion"] == protocol_line["protocol"]["minWriterVersion"] == 4
    assert set(protocol_line["protocol"]["readerFeatures"]) == {"avroState", "schemaDeduplication"}
    assert after.protocol.min_reader_version == 4
    assert json.loads(stored_state(store, 6)["protocol"]) == protocol_line["protocol"]
    del store.objects["_transaction_log/state-v00000000000000000006/_manifest.avro"]
    assert fresh(store).protocol == after.protocol, "by replay"
    assert "bundleSplits" not in after.protocol.reader_features, "its data files are another implementation's"


def test_upgrade_large_table() -> None:
    """20,000 files from a JSON checkpoint in two parts (how long 70,000 may take is the benchmarks' business)."""
    store = MemoryStore()
    log = make_log(store, {"state.format": "json", "checkpoint.multipart.maxActionsPerPart": 15_000})
    files = many_files(20_000, days=30)
    checkpoint(LogAtVersion(log, grown(log, files, "day")), compact=False)
    assert len([key for key in store.objects if ".checkpoint." in key]) == 3
    log = make_log(store)
    done = checkpoint(LogAtVersion(log, open_log(log)), compact=False)
    assert done.kind == "compacted"
    found = fresh(store).files.sort_by("size")
    assert found.drop_columns(["addedAtVersion", "addedAtTimestamp"]).equals(
        files.drop_columns(["addedAtVersion", "addedAtTimestamp"])
    )


def test_upgrade_with_active_tombstones() -> None:
    """Removes after the checkpoint are applied: the state has neither the files nor tombstones for them."""
    store = MemoryStore()
    put_table(store)
    put_version(store, 6, raw_remove("part-00002.split"), raw_remove("part-00017.split"), full_add(99))
    put_version(store, 7, raw_remove("part-00099.split"))
    before = rows(fresh(store))
    after = upgraded(store)
    assert after.version == 8
    assert rows(after) == before
    assert not {"part-00002.split", "part-00017.split", "part-00099.split"} & set(before)
    assert stored_state(store, 8)["tombstones"] == []
    stored = {entry["path"] for entries in stored_entries(store, 8) for entry in entries}
    assert stored == set(before)
