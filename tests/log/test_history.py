"""Looking back: history, changes, log lines, and travelling in time by version and by timestamp."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from indextables.core.errors import ChangesGone, VersionNotFound
from indextables.core.predicate import parse_predicate
from indextables.log.actions import TxnAction
from indextables.log.commit import commit
from indextables.log.conflicts import Change, MetadataUpdate, Replace, Rewrite
from indextables.log.file_entries import FILE_SCHEMA
from indextables.log.history import (
    HISTORY_SCHEMA,
    LOG_SCHEMA,
    REMOVES_SCHEMA,
    open_at,
    read_changes,
    read_history,
    read_log,
    version_at,
)
from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.open_snapshot import open_log
from indextables.log.skip_records import record_skips
from indextables.log.snapshot import LogAtVersion
from log.support import (
    LOG,
    START_MS,
    Hooked,
    MemoryStore,
    add,
    append,
    foreign_table,
    grown,
    live,
    make_log,
    new_table,
    put_version,
    raw_add,
    raw_remove,
    version_key,
)


def every_ten_seconds(versions: int) -> MemoryStore:
    """Version n was committed 10 n seconds after the start."""
    store = MemoryStore()
    log = make_log(store)
    snapshot = new_table(log)
    for number in range(1, versions + 1):
        store.clock.advance(10)
        snapshot = append(log, snapshot, f"f{number}").snapshot
    return store


def newest(store: Any) -> Any:
    return open_log(make_log(store))


class TestHistory:
    def test_newest_first_with_everything_that_the_commits_said(self) -> None:
        store = every_ten_seconds(2)
        log = make_log(store)
        change = Change(adds=(add("x"),), replace=Replace())
        done = commit(
            LogAtVersion(log, open_log(log, 1)),
            change,
            operation="OVERWRITE",
            parameters={"mode": "all", "n": 1, "l": [1]},
        )
        table = read_history(LogAtVersion(log, done.snapshot))
        assert table.schema == HISTORY_SCHEMA
        first, *_, last = table.to_pylist()
        assert table.column("version").to_pylist() == [3, 2, 1, 0]
        assert first["operation"] == "OVERWRITE"
        assert dict(first["parameters"]) == {"mode": "all", "n": "1", "l": "[1]"}
        assert dict(first["metrics"])["numRemovedFiles"] == "2"
        assert (first["txn_id"], first["read_version"]) == (done.txn_id, 1)
        assert first["engine"].startswith("indextables/")
        assert last["operation"] == "CREATE TABLE"
        assert last["timestamp"] == datetime.fromtimestamp(START_MS / 1000, UTC)

    @pytest.mark.parametrize(
        ("limit", "expected"), [(0, []), (1, [5]), (3, [5, 4, 3]), (99, [5, 4, 3, 2, 1, 0]), (-1, [])]
    )
    def test_limit(self, limit: int, expected: list[int]) -> None:
        store = every_ten_seconds(5)
        table = read_history(LogAtVersion(make_log(store), newest(store)), limit)
        assert table.schema == HISTORY_SCHEMA
        assert table.column("version").to_pylist() == expected

    def test_of_an_older_version(self) -> None:
        store = every_ten_seconds(5)
        table = read_history(LogAtVersion(make_log(store), open_log(make_log(store), 3)))
        assert table.column("version").to_pylist() == [3, 2, 1, 0]

    def test_what_was_cleaned_up_is_left_out(self) -> None:
        store = every_ten_seconds(5)
        assert write_checkpoint(LogAtVersion(make_log(store), open_log(make_log(store), 4)))
        for number in (1, 2, 3):
            del store.objects[version_key(number)]
        assert read_history(LogAtVersion(make_log(store), newest(store))).column("version").to_pylist() == [5, 4, 0]

    def test_of_other_writers_the_stores_time_made_to_grow(self) -> None:
        store = MemoryStore()
        foreign_table(store, [raw_add("a")], [raw_add("b")], [raw_add("c")], [raw_add("d")])
        store.age(-500, lambda key: key == version_key(2))
        table = read_history(LogAtVersion(make_log(store), newest(store)))
        stamps = [int(row["timestamp"].timestamp() * 1000) - START_MS for row in table.to_pylist()[::-1]]
        assert stamps == [0, 1, 500_000, 500_001, 500_002]
        assert newest(store).timestamp == START_MS + 500_002
        assert set(table.column("operation").to_pylist()) == {None}
        assert set(table.column("txn_id").to_pylist()) == {None}

    def test_our_commits_after_theirs(self) -> None:
        store = MemoryStore()
        foreign_table(store, [raw_add("a")])
        store.age(-500, lambda key: key == version_key(1))
        log = make_log(store)
        done = append(log, open_log(log), "b")
        assert done.snapshot.timestamp == START_MS + 500_001


class TestChanges:
    def test_adds_and_removes_in_the_order_in_which_they_happened(self) -> None:
        store = every_ten_seconds(2)
        log = make_log(store)
        change = Change(adds=(add("x", partition_values={"day": "1"}),), replace=Replace())
        snapshot = commit(LogAtVersion(log, newest(store)), change, operation="OVERWRITE").snapshot
        changes = read_changes(LogAtVersion(log, snapshot), 1)
        assert changes.version == 3
        assert changes.adds.schema == FILE_SCHEMA
        assert changes.removes.schema == REMOVES_SCHEMA
        added = changes.adds.select(["path", "addedAtVersion", "addedAtTimestamp"]).to_pylist()
        assert [tuple(row.values()) for row in added] == [
            ("f2", 2, START_MS + 20_000),
            ("x", 3, snapshot.timestamp),
        ]
        assert {(row["path"], row["removedAtVersion"], row["size"]) for row in changes.removes.to_pylist()} == {
            ("f1", 3, 100),
            ("f2", 3, 100),
        }

    @pytest.mark.parametrize(
        ("since", "expected"), [(-1, "f1 f2 f3"), (0, "f1 f2 f3"), (2, "f3"), (3, ""), (-9, "f1 f2 f3")]
    )
    def test_since(self, since: int, expected: str) -> None:
        store = every_ten_seconds(3)
        changes = read_changes(LogAtVersion(make_log(store), newest(store)), since)
        assert changes.adds.column("path").to_pylist() == expected.split()
        assert changes.removes.num_rows == 0
        assert changes.version == 3

    def test_rearranged_rows_are_no_changes(self) -> None:
        store = every_ten_seconds(2)
        log = make_log(store)
        merge = Change(rewrites=(Rewrite(("f1", "f2"), (add("m"),), data_change=False),))
        snapshot = commit(LogAtVersion(log, newest(store)), merge, operation="MERGE SPLITS").snapshot
        snapshot = append(log, snapshot, "f4").snapshot
        changes = read_changes(LogAtVersion(log, snapshot), 2)
        assert changes.adds.column("path").to_pylist() == ["f4"]
        assert changes.removes.num_rows == 0

    def test_added_and_removed_again_is_both(self) -> None:
        store = MemoryStore()
        foreign_table(store, [raw_add("a")], [raw_remove("a")], [raw_remove("a"), raw_add("a", size=9)])
        changes = read_changes(LogAtVersion(make_log(store), newest(store)), 0)
        assert changes.adds.column("path").to_pylist() == ["a", "a"]
        assert changes.removes.column("removedAtVersion").to_pylist() == [2, 3]

    @pytest.mark.parametrize("silent", ["add", "remove"])
    def test_a_file_added_again_is_none_where_one_action_says_that_no_data_changed(self, silent: str) -> None:
        store = MemoryStore()
        again = [raw_remove("a", dataChange=silent != "remove"), raw_add("a", dataChange=silent != "add")]
        foreign_table(store, [raw_add("a"), raw_add("b")], [*again, raw_remove("b"), raw_add("c")])
        changes = read_changes(LogAtVersion(make_log(store), newest(store)), 1)
        assert changes.adds.column("path").to_pylist() == ["c"]
        assert changes.removes.column("path").to_pylist() == ["b"]

    def test_versions_of_another_table_are_none(self) -> None:
        store = every_ten_seconds(1)
        put_version(store, 2, {"commitInfo": {"tableId": "another"}}, raw_add("alien"))
        assert read_changes(LogAtVersion(make_log(store), newest(store)), 1).adds.num_rows == 0

    @pytest.mark.parametrize(("gone", "oldest"), [({1, 2}, 2), ({1, 2, 3}, 3)])
    def test_what_is_gone_is_said_with_the_oldest_version_still_possible(self, gone: set[int], oldest: int) -> None:
        store = every_ten_seconds(5)
        assert write_checkpoint(LogAtVersion(make_log(store), open_log(make_log(store), 4)))
        for number in gone:
            del store.objects[version_key(number)]
        log, snapshot = make_log(store), newest(store)
        for since in range(-1, oldest):
            with pytest.raises(ChangesGone, match=f"version {oldest} was cleaned up.*since {oldest};") as raised:
                read_changes(LogAtVersion(log, snapshot), since)
            assert raised.value.oldest == oldest
        possible = read_changes(LogAtVersion(log, snapshot), raised.value.oldest)
        assert possible.adds.column("path").to_pylist() == [f"f{number}" for number in range(oldest + 1, 6)]

    def test_since_the_future(self) -> None:
        store = every_ten_seconds(2)
        with pytest.raises(VersionNotFound, match="is at version 2, so there are no changes since 3"):
            read_changes(LogAtVersion(make_log(store), newest(store)), 3)


class TestLog:
    def table(self) -> MemoryStore:
        store = MemoryStore()
        log = make_log(store)
        snapshot = append(log, new_table(log), "f1", txn=TxnAction("app", 1)).snapshot
        assert write_checkpoint(LogAtVersion(log, snapshot))
        snapshot = record_skips(LogAtVersion(log, snapshot), ["f1"], reason="r").snapshot
        change = Change(removes=("f1",), adds=(add("f2"),), metadata=MetadataUpdate({"k": "v"}))
        commit(LogAtVersion(log, snapshot), change, operation="WRITE")
        return store

    def test_since_the_checkpoint(self) -> None:
        store = self.table()
        table = read_log(LogAtVersion(make_log(store), newest(store)), include_all=False)
        assert table.schema == LOG_SCHEMA
        rows = [(row["version"], row["action"], row["path"]) for row in table.to_pylist()]
        assert rows == [
            (2, "commitInfo", None),
            (2, "mergeskip", "f1"),
            (3, "commitInfo", None),
            (3, "metaData", None),
            (3, "remove", "f1"),
            (3, "add", "f2"),
        ]

    def test_all_that_is_kept(self) -> None:
        store = self.table()
        table = read_log(LogAtVersion(make_log(store), newest(store)), include_all=True)
        kinds = table.column("action").to_pylist()
        assert kinds[:6] == ["commitInfo", "protocol", "metaData", "commitInfo", "txn", "add"]
        assert len(kinds) == 12

    def test_the_line_as_it_stands_on_disk(self) -> None:
        store = self.table()
        table = read_log(LogAtVersion(make_log(store), newest(store)), include_all=False)
        (row,) = [row for row in table.to_pylist() if row["action"] == "add"]
        assert json.loads(row["json"]) == {
            "path": "f2",
            "partitionValues": {},
            "size": 100,
            "modificationTime": START_MS,
            "dataChange": True,
            "numRecords": 10,
            "hasFooterOffsets": False,
        }
        assert row["timestamp"] == datetime.fromtimestamp(newest(store).timestamp / 1000, UTC)


class TestTime:
    @pytest.mark.parametrize(
        ("seconds", "expected"),
        [(0, 0), (0.001, 0), (9.999, 0), (10, 1), (10.001, 1), (25, 2), (69.999, 6), (70, 7), (80, 7), (10**9, 7)],
    )
    def test_the_newest_version_at_or_before_it(self, seconds: float, expected: int) -> None:
        store = every_ten_seconds(7)
        moment = START_MS + int(seconds * 1000)
        assert version_at(make_log(store), moment) == expected
        snapshot = open_at(make_log(store), timestamp_ms=moment)
        assert live(snapshot) == {f"f{number}" for number in range(1, expected + 1)}

    def test_before_the_first_is_an_error(self) -> None:
        store = every_ten_seconds(2)
        with pytest.raises(
            VersionNotFound, match=r"nothing is known of it at \d{4}-\d\d-\d\dT[\d:.]+Z, its oldest version, 0"
        ):
            version_at(make_log(store), START_MS - 1)

    def test_of_other_writers_the_stores_time_made_to_grow(self) -> None:
        store = MemoryStore()
        foreign_table(store, [raw_add("a")], [raw_add("b")], [raw_add("c")])
        store.age(-500, lambda key: key == version_key(1))
        times = [START_MS, START_MS + 500_000, START_MS + 500_001, START_MS + 500_002]
        for version, moment in enumerate(times):
            assert version_at(make_log(store), moment) == version
            assert version_at(make_log(store), moment - 1 if version else moment) == max(version - 1, 0)

    def test_writers_with_wrong_clocks(self) -> None:
        store = every_ten_seconds(2)
        log = make_log(store)
        store.clock.wall_offset_ms = -(10**9)
        snapshot = append(log, newest(store), "behind").snapshot
        assert snapshot.timestamp == START_MS + 20_001
        assert version_at(make_log(store), START_MS + 20_000) == 2
        assert version_at(make_log(store), START_MS + 20_001) == 3

    def test_what_was_cleaned_up_is_an_error(self) -> None:
        store = every_ten_seconds(6)
        assert write_checkpoint(LogAtVersion(make_log(store), open_log(make_log(store), 4)))
        for number in (1, 2, 3):
            del store.objects[version_key(number)]
        assert version_at(make_log(store), START_MS + 40_000) == 4
        with pytest.raises(VersionNotFound, match="its oldest version, 4, is from"):
            version_at(make_log(store), START_MS + 30_000)
        for version in (1, 2, 3):
            with pytest.raises(VersionNotFound, match=f"version {version} "):
                open_at(make_log(store), version=version)
        assert live(open_at(make_log(store), version=5)) == {f"f{number}" for number in range(1, 6)}

    def test_a_version_that_vanishes_while_its_time_is_looked_up(self) -> None:
        store = every_ten_seconds(12)
        log = make_log(store)
        assert write_checkpoint(LogAtVersion(log, newest(store)))
        reads: list[str] = []

        def get(key: str) -> Any:
            if key == version_key(6):
                reads.append(key)
                for number in range(1, 8):
                    store.objects.pop(version_key(number), None)
            return store.get(key)

        assert version_at(make_log(Hooked(store, get=get)), START_MS + 85_000) == 8
        assert reads

    def test_everything_that_was_known_vanishes_before_it_is_listed(self) -> None:
        """Someone who looks up a time, and sleeps for days after the first look, must not end up at version 0."""
        store = every_ten_seconds(4)
        listings = 0

        def listed(prefix: str, after: str | None = None) -> Any:
            nonlocal listings
            listings += not after and prefix.startswith(f"{LOG}/0")
            if listings == 2:
                listings += 1
                store.clock.advance(30 * 86_400)
                log = make_log(store)
                snapshot = newest(store)
                for number in range(5, 9):
                    snapshot = append(log, snapshot, f"f{number}").snapshot
                assert write_checkpoint(LogAtVersion(log, snapshot))
                for number in range(1, 8):
                    del store.objects[version_key(number)]
            return store.list(prefix, after)

        with pytest.raises(VersionNotFound, match="its oldest version, 8, is from"):
            version_at(make_log(Hooked(store, list=listed)), START_MS + 25_000)
        assert listings > 2


class TestTravel:
    def test_to_every_version(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        snapshot = new_table(log, partition_columns=("day",))
        states = [set[str]()]
        changes = [
            Change(adds=(add("a", partition_values={"day": "1"}), add("b", partition_values={"day": "2"}))),
            Change(removes=("a",)),
            Change(adds=(add("a", partition_values={"day": "1"}, size=5),)),
            Change(adds=(add("c"),), replace=Replace(parse_predicate("day = '1'", snapshot.schema))),
            Change(metadata=MetadataUpdate({"k": "v"})),
        ]
        for change in changes:
            snapshot = commit(LogAtVersion(log, snapshot), change, operation="ANY").snapshot
            states.append(live(snapshot))
        assert states == [set(), {"a", "b"}, {"b"}, {"a", "b"}, {"b", "c"}, {"b", "c"}]
        for version, expected in enumerate(states):
            found = open_at(make_log(store), version=version)
            assert (found.version, live(found)) == (version, expected)
            assert ("k" in found.metadata.configuration) == (version == 5)

    def test_from_the_nearest_checkpoint_below(self) -> None:
        store = every_ten_seconds(9)
        for version in (3, 6):
            assert write_checkpoint(LogAtVersion(make_log(store), open_log(make_log(store), version)))
        bases = [open_at(make_log(store), version=version).base for version in range(10)]
        assert bases == [None, None, None, 3, 3, 3, 6, 6, 6, 6]

    def test_to_the_newest(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        grown(log, 2)
        assert open_at(log).version == 2
