"""Commits that go well: what is in the version file, and what exactly-once writers may rely on."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from indextables._version import __version__
from indextables.core.errors import TableExists
from indextables.core.predicate import parse_predicate
from indextables.log.actions import TxnAction
from indextables.log.commit import commit
from indextables.log.conflicts import Change, MetadataUpdate, Replace, Rewrite
from indextables.log.open_snapshot import open_log
from indextables.log.refresh import open_current
from indextables.log.snapshot import LogAtVersion
from log.support import (
    DAY,
    HOUR,
    SCHEMA,
    START_MS,
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
    raw_versions,
    version_key,
)


def last(store: MemoryStore) -> list[dict[str, Any]]:
    versions = raw_versions(store.bytes())
    return versions[max(versions)]


class TestVersionZero:
    def test_what_it_says(self) -> None:
        store = MemoryStore()
        snapshot = new_table(make_log(store), partition_columns=("day",), configuration={"a": "b"}, name="n")
        assert list(store.objects) == [version_key(0)]
        info, protocol, metadata = raw_lines(store.objects[version_key(0)].data)
        features = ["avroState", "bundleSplits", "schemaDeduplication"]
        assert protocol == {
            "protocol": {
                "minReaderVersion": 4,
                "minWriterVersion": 4,
                "readerFeatures": features,
                "writerFeatures": features,
            }
        }
        assert metadata["metaData"] == {
            "id": snapshot.table_id,
            "name": "n",
            "format": {"provider": "indextables", "options": {}},
            "schemaString": SCHEMA,
            "partitionColumns": ["day"],
            "configuration": {"a": "b"},
            "createdTime": START_MS,
        }
        assert info["commitInfo"]["operation"] == "CREATE TABLE"
        assert info["commitInfo"]["tableId"] == snapshot.table_id
        assert info["commitInfo"]["timestamp"] == START_MS
        assert str(uuid.UUID(snapshot.table_id)) == snapshot.table_id

    @pytest.mark.parametrize(
        ("key", "says"),
        [
            (version_key(0), "open it with Table.open"),
            (version_key(7), "up to version 7, without its version 0"),
            (checkpoint_key(5), "up to version 5, without its version 0"),
            ("_transaction_log/state-v00000000000000000003/_manifest.avro", "up to version 3"),
            ("_transaction_log/state-v00000000000000000003/_manifest.json", "up to version 3"),
        ],
    )
    def test_never_over_another_table(self, key: str, says: str) -> None:
        store = MemoryStore()
        store.put(key, b"something")
        with pytest.raises(TableExists, match=says):
            new_table(make_log(store))
        assert store.bytes() == {key: b"something"}

    def test_somebody_else_is_faster(self) -> None:
        store = MemoryStore()
        create = store.create

        def overtaken(key: str, data: bytes) -> None:
            store.create = create  # type: ignore[method-assign]
            put_version(store, 0, {"metaData": {"id": "x", "schemaString": SCHEMA}})
            create(key, data)

        store.create = overtaken  # type: ignore[method-assign]
        with pytest.raises(TableExists):
            new_table(make_log(store))
        assert open_log(make_log(store)).table_id == "x"


class TestVersionFile:
    @pytest.mark.parametrize("compressed", [True, False])
    def test_bytes(self, compressed: bool) -> None:
        store = MemoryStore()
        log = make_log(store, {"transaction.compression.enabled": compressed})
        append(log, new_table(log), "a")
        start = store.objects[version_key(1)].data[:2]
        assert start == (b"\x1f\x8b" if compressed else b'{"')

    def test_commit_info_is_the_first_line(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        snapshot = grown(log, 2)
        store.clock.advance(5)
        old = open_log(make_log(store), 1)
        done = append(log, old, "a", "b", operation="MERGE SPLITS")
        info, *rest = last(store)
        assert info["commitInfo"] == {
            "txnId": done.txn_id,
            "tableId": snapshot.table_id,
            "timestamp": START_MS + 5000,
            "operation": "MERGE SPLITS",
            "operationParameters": {},
            "operationMetrics": {
                "numAddedFiles": 2,
                "numRemovedFiles": 0,
                "numAddedBytes": 200,
                "numAddedRecords": 20,
                "numAttempts": 1,
            },
            "engineInfo": f"indextables/{__version__}",
            "readVersion": 1,
            "numActions": 2,
        }
        assert done.metrics == info["commitInfo"]["operationMetrics"]
        assert [action["add"]["path"] for action in rest] == ["a", "b"]

    def test_parameters(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        commit(
            LogAtVersion(log, new_table(log)),
            Change(adds=(add("a"),)),
            operation="WRITE",
            parameters={"mode": "append", "n": [1]},
        )
        assert last(store)[0]["commitInfo"]["operationParameters"] == {"mode": "append", "n": [1]}

    def test_a_floor_for_time_travel(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        done = commit(LogAtVersion(log, grown(log, 2)), Change(), operation="TRUNCATE", time_travel_floor=True)
        assert last(store)[0]["commitInfo"]["timeTravelFloor"] == 3
        assert done.snapshot.floor == 3
        assert append(log, done.snapshot, "a").snapshot.floor == 3

    def test_the_snapshot_is_the_one_that_opening_gives(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        snapshot = new_table(log, partition_columns=("day",))
        changes = [
            Change(adds=(add("a", partition_values={"day": "1"}), add("b", partition_values={"day": "2"}))),
            Change(adds=(add("c", doc_mapping_json='{"x": 1}'),), txn=TxnAction("app", 3)),
            Change(adds=(add("d"),), replace=Replace(parse_predicate("day = '1'", snapshot.schema))),
            Change(rewrites=(Rewrite(("b", "d"), (add("bd"),), data_change=False),)),
            Change(removes=("c",), adds=(add("c"),)),
            Change(metadata=MetadataUpdate(properties={"p": "q"})),
        ]
        for change in changes:
            snapshot = commit(LogAtVersion(log, snapshot), change, operation="ANY").snapshot
            opened = open_log(make_log(store))
            assert snapshot.files.sort_by("path").to_pylist() == opened.files.sort_by("path").to_pylist()
            for name in ("version", "timestamp", "protocol", "metadata", "transactions", "skips", "registry", "anchor"):
                assert getattr(snapshot, name) == getattr(opened, name), name
        assert live(snapshot) == {"bd", "c"}

    def test_what_was_committed_is_what_this_process_opens_next(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        done = append(log, new_table(log), "a")
        assert open_current(log).file_set is done.snapshot.file_set

    def test_older_tables_are_written_as_they_are(self) -> None:
        store = MemoryStore()
        put_version(store, 0, {"metaData": {"id": "old", "schemaString": SCHEMA, "configuration": {}}})
        log = make_log(store)
        done = append(log, open_log(log), "a")
        assert done.snapshot.protocol.min_writer_version == 1
        assert not any("protocol" in action for action in last(store))
        assert json.loads(json.dumps(last(store)[0]))["commitInfo"]["tableId"] == "old"


class TestExactlyOnce:
    def write(self, store: MemoryStore, batch: int, path: str, app: str = "app") -> bool:
        log = make_log(store)
        return append(log, open_log(log), path, txn=TxnAction(app, batch)).written

    def table(self, **configuration: str) -> MemoryStore:
        store = MemoryStore()
        new_table(make_log(store), configuration={f"spark.indextables.{k}": v for k, v in configuration.items()})
        return store

    def test_a_batch_is_written_once(self) -> None:
        store = self.table()
        assert self.write(store, 1, "one")
        assert not self.write(store, 1, "one again")
        assert self.write(store, 2, "two")
        assert not self.write(store, 1, "one once more")
        assert self.write(store, 1, "another's one", app="other")
        assert live(open_log(make_log(store))) == {"one", "two", "another's one"}

    def test_nothing_written_says_why_and_where(self) -> None:
        store = self.table()
        self.write(store, 4, "a")
        log = make_log(store)
        done = append(log, open_log(log), "b", txn=TxnAction("app", 3))
        assert (done.written, done.snapshot.version) == (False, 1)
        assert done.reason == "batch 3 of app is in the table already"

    def test_also_on_a_snapshot_from_before(self) -> None:
        store = self.table()
        log = make_log(store)
        early = open_log(log)
        self.write(store, 1, "one")
        assert not append(log, early, "one again", txn=TxnAction("app", 1)).written

    def test_the_time_is_the_commits(self) -> None:
        store = self.table()
        store.clock.advance(7)
        self.write(store, 1, "one")
        (txn,) = [action["txn"] for action in last(store) if "txn" in action]
        assert txn == {"appId": "app", "version": 1, "lastUpdated": START_MS + 7000}

    @pytest.mark.parametrize(("hours", "forgotten"), [(29 * 24, False), (31 * 24, True)])
    def test_it_is_forgotten_after_thirty_days(self, hours: int, forgotten: bool) -> None:
        store = self.table()
        self.write(store, 5, "five")
        store.clock.advance(hours * HOUR)
        log = make_log(store)
        append(log, open_log(log), "something")
        assert self.write(store, 5, "five again") is forgotten

    def test_only_versions_let_time_pass(self) -> None:
        """The newest version's time counts, not the reader's clock: every client forgets at the same version."""
        store = self.table()
        self.write(store, 5, "five")
        store.clock.advance(100 * DAY)
        assert not self.write(store, 5, "five again")

    def test_the_table_says_how_long(self) -> None:
        store = self.table(**{"txn.retention.hours": "2"})
        self.write(store, 5, "five")
        store.clock.advance(3 * HOUR)
        log = make_log(store)
        append(log, open_log(log), "something")
        assert self.write(store, 5, "five again")
