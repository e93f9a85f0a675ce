"""Upgrade and downgrade beyond the plan: exactly-once writers, skips, floors and tables that upgrade on their own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from indextables.log.actions import SkipAction, TxnAction
from indextables.log.commit import commit
from indextables.log.conflicts import Change
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.state.checkpoint import checkpoint
from indextables.table.handle import TableHandle
from indextables.table.write.after_commit import after_commit
from log.support import START_MS, MemoryStore, checkpoint_key, make_log, put_version, raw_lines, unpacked
from state.legacy import SHAPES, Shape, full_add, metadata, protocol, put_checkpoint, put_table
from state.support import as_entries, committed, fresh, paths, state_of, stated, stored_state, table

JSON = {"state.format": "json"}
SKIP = {"mergeskip": {"path": "part-00001.split", "skipTimestamp": START_MS, "reason": "broken", "skipCount": 2}}
STALE = {"mergeskip": {"path": "gone", "skipTimestamp": START_MS, "reason": "?", "retryAfter": START_MS}}
TXN = {"txn": {"appId": "stream", "version": 41, "lastUpdated": START_MS}}


def everything(snapshot: Snapshot) -> dict[str, Any]:
    """All that a snapshot says, but for where it came from."""
    rows = {row["path"]: row for row in as_entries(snapshot.files)}
    return {
        "files": rows,
        "registry": dict(snapshot.registry),
        "skips": sorted(snapshot.skips, key=lambda skip: skip.path),
        "txns": dict(snapshot.transactions),
        "schema": snapshot.metadata.schema_string,
        "id": snapshot.table_id,
        "partitions": tuple(snapshot.metadata.partition_columns),
        "configuration": dict(snapshot.metadata.configuration),
        "floor": snapshot.floor,
    }


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_nothing_is_lost(version: int, shape: Shape) -> None:
    store = MemoryStore()
    put_table(store, version, shape)
    put_version(store, 6, SKIP, TXN)
    before = everything(fresh(store))
    log = make_log(store)
    checkpoint(LogAtVersion(log, open_log(log)), compact=False)
    after = fresh(store)
    assert after.base == after.version == 7
    assert everything(after) == before
    assert after.latest_txn("stream") == TxnAction("stream", 41, START_MS)
    assert stored_state(store, 7)["transactions"] == [{"appId": "stream", "version": 41, "lastUpdated": START_MS}]
    assert [json.loads(skip)["path"] for skip in stored_state(store, 7)["skips"]] == ["part-00001.split"]


def test_a_table_without_a_protocol_is_version_1() -> None:
    store = MemoryStore()
    put_version(store, 0, metadata())
    put_version(store, 1, full_add(1))
    log = make_log(store)
    checkpoint(LogAtVersion(log, open_log(log)), compact=False)
    assert fresh(store).protocol.min_reader_version == 4
    assert paths(fresh(store)) == ["part-00001.split"]


def test_a_table_upgrades_at_its_next_checkpoint_on_its_own() -> None:
    """Ten commits, and it stands on an Avro state."""
    store = MemoryStore()
    put_table(store)
    log = make_log(store)
    snapshot = open_log(log)
    while snapshot.version < 10:
        snapshot = after_commit(TableHandle(log, committed(log, snapshot, [f"new-{snapshot.version}"]))).snapshot
    assert snapshot.version == 11, "ten, and the upgrade of the protocol"
    assert state_of(fresh(store)).version == 11
    assert len(paths(fresh(store))) == 16 + 5
    kept = [key for key in store.objects if key.endswith(".checkpoint.json")]
    assert kept == [checkpoint_key(4)], "and no JSON checkpoint was written"


def test_only_useful_skips_are_kept() -> None:
    """Of files that are gone, a skip record is kept while it holds; by the version's own time, so that all writers agree."""
    store = MemoryStore()
    put_table(store)
    holds = {"mergeskip": STALE["mergeskip"] | {"path": "gone-too", "retryAfter": START_MS + 10**9}}
    put_version(store, 6, SKIP, STALE, holds)
    log = make_log(store)
    checkpoint(LogAtVersion(log, open_log(log)), compact=False)
    assert {skip.path for skip in fresh(store).skips} == {"part-00001.split", "gone-too"}


class TestDowngrade:
    def avro(self, store: MemoryStore) -> Snapshot:
        log = make_log(store)
        snapshot = committed(log, table(log, "day"), [])
        change = Change(skips=(SkipAction("f1", START_MS, "broken"),), txn=TxnAction("stream", 7))
        snapshot = commit(LogAtVersion(log, snapshot), change, operation="WRITE").snapshot
        return stated(log, committed(log, snapshot, ["f1", "f2"]))

    @pytest.mark.parametrize("per_part", [1, 50_000])
    def test_json_is_written_again_and_read(self, per_part: int) -> None:
        store = MemoryStore()
        snapshot = self.avro(store)
        log = make_log(store, JSON | {"checkpoint.multipart.maxActionsPerPart": per_part})
        snapshot = committed(log, snapshot, ["f3"], ["f2"])
        done = checkpoint(LogAtVersion(log, snapshot), compact=False)
        assert (done.format, done.written) == ("json", True)
        opened = fresh(store)
        assert opened.base == 4
        assert not hasattr(opened.file_set.base, "state"), "the newer base wins, not the state below it"
        assert (paths(opened), opened.transactions["stream"].version) == (["f1", "f3"], 7)
        assert [skip.path for skip in opened.skips] == ["f1"]
        assert opened.protocol == snapshot.protocol
        parts = [key for key in store.objects if ".checkpoint." in key]
        assert len(parts) == (3 if per_part == 1 else 1)

    def test_and_back_again(self) -> None:
        store = MemoryStore()
        snapshot = self.avro(store)
        old, new = make_log(store, JSON), make_log(store)
        snapshot = committed(old, snapshot, ["f3"])
        checkpoint(LogAtVersion(old, snapshot), compact=False)
        opened = open_log(new)
        stated(new, committed(new, opened, ["f4"], ["f1"]))
        assert state_of(fresh(store)).version == 5
        assert paths(fresh(store)) == ["f2", "f3", "f4"]
        for version in range(1, 6):
            assert fresh(store, at=version).version == version

    def test_a_state_and_a_checkpoint_of_one_version_say_the_same(self) -> None:
        store = MemoryStore()
        snapshot = self.avro(store)
        checkpoint(LogAtVersion(make_log(store, JSON), snapshot), compact=False)
        by_state = everything(fresh(store))
        manifests = {k: v for k, v in store.objects.items() if "state-v" in k}
        for key in manifests:
            del store.objects[key]
        by_json = everything(fresh(store))
        for rows in (by_state["files"], by_json["files"]):
            for row in rows.values():
                del row["addedAtVersion"], row["addedAtTimestamp"]
        assert by_json == by_state

    def test_old_readers_find_a_checkpoint_they_can_parse(self) -> None:
        """Action lines behind `01 01` and gzip, and a pointer without a format."""
        store = MemoryStore()
        checkpoint(LogAtVersion(make_log(store, JSON), self.avro(store)), compact=False)
        data = store.objects[checkpoint_key(3)].data
        assert data.startswith(b"\x01\x01\x1f\x8b")
        kinds = [next(iter(action)) for action in raw_lines(data)]
        assert {"protocol", "metaData", "add"} <= set(kinds)
        pointer = json.loads(store.objects["_transaction_log/_last_checkpoint"].data)
        assert "format" not in pointer
        assert "stateDir" not in pointer
        assert unpacked(data).endswith(b"\n")


def test_a_json_checkpoint_that_is_newer_than_a_state_wins_and_the_other_way_round() -> None:
    store = MemoryStore()
    put_table(store, 2)
    log = make_log(store)
    snapshot = stated(log, open_log(log))
    assert snapshot.version == 6
    head = [protocol(2), metadata()]
    put_version(store, 7, full_add(50))
    actions = [*head, *(full_add(number) for number in (*range(12), 14, 15, 16, 17, 50))]
    put_checkpoint(store, 7, actions, "lines")
    opened = fresh(store)
    assert (opened.version, opened.base) == (7, 7)
    assert len(paths(opened)) == 17
    stated(log, committed(log, open_log(log), ["later"]))
    opened = fresh(store)
    assert opened.base == opened.version
    assert state_of(opened).version == opened.version
    assert len(paths(opened)) == 18
