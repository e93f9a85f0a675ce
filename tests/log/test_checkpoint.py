"""JSON checkpoints as we write them: what they keep, what they look like, and when one is a success."""

from __future__ import annotations

import json
from typing import Any

import pytest
import xxhash

from indextables.core.errors import CorruptLog, StoreUnavailable, UnsupportedProtocol, VersionGap
from indextables.log.actions import TxnAction
from indextables.log.commit import commit
from indextables.log.conflicts import Change, MetadataUpdate
from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.open_snapshot import LogWarning, open_log
from indextables.log.refresh import open_current
from indextables.log.skip_records import record_skips
from indextables.log.snapshot import LogAtVersion, Snapshot
from log.support import (
    DAY,
    HOUR,
    LOG,
    FakeClock,
    Hooked,
    MemoryStore,
    add,
    append,
    checkpoint_key,
    grown,
    live,
    make_log,
    new_table,
    put_version,
    raw_lines,
    unpacked,
    version_key,
)

POINTER = f"{LOG}/_last_checkpoint"


def checkpointed(store: MemoryStore, version: int | None = None, **options: Any) -> Snapshot:
    """Write a checkpoint, and open the table from it."""
    log = make_log(store, options)
    assert write_checkpoint(LogAtVersion(log, open_log(log, version)))
    snapshot = open_log(make_log(store))
    assert snapshot.base is not None
    return snapshot


def parts(store: MemoryStore) -> list[str]:
    return sorted(key for key in store.objects if key.count(".checkpoint.") and not key.endswith(".checkpoint.json"))


class TestBytes:
    @pytest.mark.parametrize("compressed", [True, False])
    def test_framed_gzip_or_plain_lines(self, compressed: bool) -> None:
        store = MemoryStore()
        grown(make_log(store), 3)
        checkpointed(store, **{"transaction.compression.enabled": compressed})
        data = store.objects[checkpoint_key(3)].data
        assert data[:4] == (b"\x01\x01\x1f\x8b" if compressed else b'{"ch')
        kinds = [next(iter(line)) for line in raw_lines(data)]
        assert kinds == ["checkpointInfo", "commitInfo", "protocol", "metaData", "add", "add", "add"]

    def test_the_first_line_holds_the_checksum_of_all_others(self) -> None:
        store = MemoryStore()
        grown(make_log(store), 3)
        checkpointed(store)
        first, _, rest = unpacked(store.objects[checkpoint_key(3)].data).partition(b"\n")
        info = json.loads(first)["checkpointInfo"]
        assert info == {"checksum": f"xxh3:{xxhash.xxh3_64_hexdigest(rest)}", "numActions": 5}

    @pytest.mark.parametrize(("files", "in_part", "expected"), [(5, 2, 3), (4, 2, 2), (5, 1, 5), (5, 5, 0), (5, 6, 0)])
    def test_parts(self, files: int, in_part: int, expected: int) -> None:
        store = MemoryStore()
        grown(make_log(store), files)
        snapshot = checkpointed(store, **{"checkpoint.multipart.maxActionsPerPart": in_part})
        assert live(snapshot) == {f"f{number}" for number in range(1, files + 1)}
        assert len(parts(store)) == expected
        if expected:
            listed = json.loads(store.objects[checkpoint_key(files)].data)
            assert [f"{LOG}/{name}" for name in listed["parts"]] == parts(store)
            assert parts(store)[0] == f"{LOG}/{files:020d}.checkpoint.{listed['checkpointId']}.00001.json"
            assert len(listed["checkpointId"]) == 12
            for key in parts(store):
                data = store.objects[key].data
                assert data.startswith(b"\x01\x01\x1f\x8b")
                assert "checkpointInfo" in raw_lines(data)[0]
                assert sum("add" in line for line in raw_lines(data)) <= in_part

    def test_parts_are_there_before_what_names_them(self) -> None:
        store = MemoryStore()
        log = make_log(store, {"checkpoint.multipart.maxActionsPerPart": 2})
        snapshot = grown(log, 5)
        order: list[str] = []
        put, create = store.put, store.create

        def recorded(call: Any) -> Any:
            return lambda key, data: (order.append(key), call(key, data))[1]

        store.put, store.create = recorded(put), recorded(create)  # type: ignore[method-assign]
        assert write_checkpoint(LogAtVersion(log, snapshot))
        writes = list(dict.fromkeys(order))
        assert writes == [*parts(store), checkpoint_key(5), POINTER]


class TestPointer:
    def test_of_one_object(self) -> None:
        store = MemoryStore()
        grown(make_log(store), 3)
        checkpointed(store)
        assert json.loads(store.objects[POINTER].data) == {
            "version": 3,
            "size": 5,
            "sizeInBytes": len(store.objects[checkpoint_key(3)].data),
            "numFiles": 3,
            "createdTime": store.clock.wall_ms(),
        }

    def test_of_parts(self) -> None:
        store = MemoryStore()
        grown(make_log(store), 3)
        checkpointed(store, **{"checkpoint.multipart.maxActionsPerPart": 2})
        pointer = json.loads(store.objects[POINTER].data)
        listed = json.loads(store.objects[checkpoint_key(3)].data)
        assert (pointer["parts"], pointer["checkpointId"]) == (2, listed["checkpointId"])
        assert pointer["sizeInBytes"] == sum(len(store.objects[key].data) for key in parts(store))


class TestWhatItKeeps:
    def test_doc_mappings_also_those_that_newer_metadata_left_out(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        snapshot = new_table(log)
        for number in range(3):
            change = Change(adds=(add(f"f{number}", doc_mapping_json=f'{{"n": {number}}}'),))
            snapshot = commit(LogAtVersion(log, snapshot), change, operation="WRITE").snapshot
        metadata = {
            "id": snapshot.table_id,
            "schemaString": snapshot.metadata.schema_string,
            "configuration": {"k": "v"},
        }
        put_version(store, 4, {"metaData": metadata})
        before = open_log(make_log(store))
        assert len(before.registry) == 3
        assert checkpointed(store).registry == before.registry
        for number in range(1, 4):
            del store.objects[version_key(number)]
        assert open_log(make_log(store)).registry == before.registry

    def test_doc_mappings_that_others_left_out_are_looked_for_below_it(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        change = Change(adds=(add("f1", doc_mapping_json='{"n": 1}'),))
        snapshot = commit(LogAtVersion(log, new_table(log)), change, operation="WRITE").snapshot
        (ref,) = snapshot.registry
        entry = {"path": "f1", "size": 1, "docMappingRef": ref}
        metadata = {"id": snapshot.table_id, "schemaString": snapshot.metadata.schema_string}
        append(log, snapshot, "f2")
        whole = {"metaData": metadata, "add": [entry]}
        store.put(checkpoint_key(2), json.dumps(whole).encode())
        opened = open_log(make_log(store))
        assert opened.base == 2
        assert opened.registry == {ref: '{"n": 1}'}

    def test_transactions_that_are_not_forgotten(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        snapshot = append(log, new_table(log), "a", txn=TxnAction("old", 3)).snapshot
        store.clock.advance(31 * DAY)
        snapshot = append(log, snapshot, "b", txn=TxnAction("new", 8)).snapshot
        kept = checkpointed(store)
        assert kept.transactions == {"new": TxnAction("new", 8, snapshot.timestamp)}
        log = make_log(store)
        assert not append(log, kept, "again", txn=TxnAction("new", 8)).written
        assert append(log, kept, "again", txn=TxnAction("old", 3)).written

    def test_skips_of_live_files_and_of_others_while_they_hold(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        snapshot = grown(log, 3)
        snapshot = record_skips(LogAtVersion(log, snapshot), ["f1", "gone"], reason="r").snapshot
        assert {skip.path for skip in checkpointed(store).skips} == {"f1", "gone"}
        store.clock.advance(25 * HOUR)
        snapshot = append(log, snapshot, "later").snapshot
        assert {skip.path for skip in checkpointed(store).skips} == {"f1"}

    def test_the_floor_of_time_travel(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        snapshot = commit(
            LogAtVersion(log, grown(log, 2)), Change(), operation="TRUNCATE", time_travel_floor=True
        ).snapshot
        append(log, snapshot, "a")
        assert checkpointed(store).floor == 3

    def test_the_time_of_its_version(self) -> None:
        store = MemoryStore()
        snapshot = grown(make_log(store), 3)
        store.clock.advance(1000)
        kept = checkpointed(store)
        assert kept.timestamp == snapshot.timestamp
        assert set(kept.files.column("addedAtTimestamp").to_pylist()) == {snapshot.timestamp}
        assert set(kept.files.column("addedAtVersion").to_pylist()) == {3}

    def test_protocol_and_metadata(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        change = Change(metadata=MetadataUpdate({"k": "v"}, name="n", description="d"))
        snapshot = commit(LogAtVersion(log, grown(log, 1)), change, operation="UPDATE").snapshot
        kept = checkpointed(store)
        assert (kept.protocol, kept.metadata, kept.anchor) == (snapshot.protocol, snapshot.metadata, snapshot.anchor)

    def test_an_empty_table(self) -> None:
        store = MemoryStore()
        new_table(make_log(store))
        kept = checkpointed(store)
        assert (kept.base, kept.files.num_rows) == (0, 0)


class TestWriting:
    def test_one_of_this_table_that_is_there_already_is_success(self) -> None:
        store = MemoryStore()
        grown(make_log(store), 3)
        checkpointed(store, **{"checkpoint.multipart.maxActionsPerPart": 2})
        before = store.objects[checkpoint_key(3)]
        store.clock.advance(60)
        assert write_checkpoint(LogAtVersion(make_log(store), open_log(make_log(store))))
        assert store.objects[checkpoint_key(3)] == before

    def test_a_damaged_one_is_not_overwritten(self) -> None:
        store = MemoryStore()
        snapshot = grown(make_log(store), 3)
        store.put(checkpoint_key(3), b"\x00")
        with pytest.raises(CorruptLog, match="checkpoint"):
            write_checkpoint(LogAtVersion(make_log(store), snapshot))
        assert store.objects[checkpoint_key(3)].data == b"\x00"
        assert POINTER not in store.objects

    def test_one_of_another_table_is_not(self) -> None:
        alien = MemoryStore(FakeClock(seed=3))
        grown(make_log(alien), 3)
        checkpointed(alien)
        store = MemoryStore()
        snapshot = grown(make_log(store), 3)
        store.objects[checkpoint_key(3)] = alien.objects[checkpoint_key(3)]
        assert not write_checkpoint(LogAtVersion(make_log(store), snapshot))
        assert POINTER not in store.objects

    def test_a_create_that_stays_unanswered_gives_up(self) -> None:
        store = MemoryStore()
        snapshot = grown(make_log(store), 3)

        def create(key: str, data: bytes) -> None:
            raise StoreUnavailable("no answer")

        assert not write_checkpoint(LogAtVersion(make_log(Hooked(store, create=create)), snapshot))
        assert POINTER not in store.objects

    def test_a_snapshot_of_long_ago_is_given_up(self) -> None:
        store = MemoryStore()
        snapshot = grown(make_log(store), 3)
        store.clock.advance(37 * HOUR)
        assert not write_checkpoint(LogAtVersion(make_log(store), snapshot))
        assert checkpoint_key(3) not in store.objects

    def test_not_by_who_may_not_write(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        grown(log, 1)
        put_version(store, 2, {"protocol": {"minReaderVersion": 1, "minWriterVersion": 9}})
        with pytest.raises(UnsupportedProtocol):
            write_checkpoint(LogAtVersion(log, open_log(log)))

    def test_not_behind_a_gap(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        grown(log, 4)
        del store.objects[version_key(2)]
        with pytest.warns(LogWarning):
            snapshot = open_log(make_log(store))
        with pytest.raises(VersionGap, match="version 2 is missing"):
            write_checkpoint(LogAtVersion(log, snapshot))

    def test_of_an_older_version_moves_the_pointer_back_and_does_no_harm(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        grown(log, 6)
        checkpointed(store, 5)
        checkpointed(store, 2)
        assert json.loads(store.objects[POINTER].data)["version"] == 2
        assert open_log(make_log(store)).base == 5

    def test_writing_after_it_goes_on(self) -> None:
        store = MemoryStore()
        grown(make_log(store), 3)
        kept = checkpointed(store)
        log = make_log(store)
        following = append(log, kept, "f4").snapshot
        assert (following.version, following.base) == (4, 3)
        assert live(open_log(make_log(store))) == {"f1", "f2", "f3", "f4"}
        assert live(open_current(log)) == {"f1", "f2", "f3", "f4"}
