"""`Table.restore`: the rows of an older version become the newest ones."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import (
    CommitError,
    CommitOutcomeUnknown,
    OptionError,
    SplitError,
    StoreUnavailable,
    VersionNotFound,
)
from indextables.core.options import Options
from indextables.core.types import arrow_to_spark_json
from indextables.log.file_entries import rows_to_adds
from indextables.log.log_paths import version_key
from indextables.log.open_snapshot import open_log
from indextables.table.distributed.replace_job import begin_replace
from indextables.table.handle import TableHandle
from indextables.table.write.create import create_table
from log.support import Hooked, MemoryStore, make_log

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string())])


def some(*ids: int, day: str = "a") -> pa.Table:
    return pa.table({"id": list(ids), "day": [day] * len(ids)}, schema=SCHEMA)


def ids(table: Table) -> list[int]:
    return sorted(table.scan(columns=["id"]).read_all().column("id").to_pylist())


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Version 1 has the rows 1 and 2, version 2 also 3, and version 3 has 9 alone."""
    table = Table.create(tmp_path / "t", SCHEMA, partition_by=["day"])
    table.append(some(1, 2))
    table.append(some(3, day="b"))
    table.overwrite(some(9))
    return table


class TestRows:
    @pytest.mark.parametrize(("version", "rows"), [(0, []), (1, [1, 2]), (2, [1, 2, 3])])
    def test_of_a_version_come_back(self, table: Table, version: int, rows: list[int]) -> None:
        done = table.restore(version=version)
        assert (done.status, done.version, done.restored_version) == ("success", 4, version)
        assert (done.files_added, done.files_removed) == (version, 1)
        assert done.message == f"version 4 has the rows of version {version}"
        assert table.version == 4
        assert ids(table) == ids(Table.open(table.url)) == rows
        assert ids(Table.open(table.url, version=3)) == [9], "history stays"

    def test_of_a_time_come_back(self, table: Table) -> None:
        [then] = [row["timestamp"] for row in table.history().to_pylist() if row["version"] == 2]
        assert table.restore(timestamp=then + dt.timedelta(microseconds=500)).restored_version == 2
        assert ids(table) == [1, 2, 3]

    def test_that_are_there_already_are_left(self, table: Table) -> None:
        for version in (3, 3):
            done = table.restore(version=version)
            assert (done.status, done.version, done.files_added, done.files_removed) == ("no_action", 3, 0, 0)
            assert done.message == "the files of version 3 are live already"
        table.restore(version=1)
        assert table.restore(version=1).status == "no_action"

    def test_can_be_searched_and_changed_again(self, table: Table) -> None:
        table.restore(version=2)
        table.append(some(4, day="b"))
        assert table.count("day = 'b'") == 2
        assert table.count(query="day:b") == 2
        table.merge_splits()
        table.restore(version=3)
        table.restore(version=4)
        assert ids(table) == [1, 2, 3]

    def test_of_a_merged_table(self, table: Table) -> None:
        table.append(some(10))
        table.merge_splits()
        assert table.restore(version=4).files_added == 2
        assert ids(table) == [9, 10]

    def test_what_others_wrote_meanwhile_goes_too(self, table: Table) -> None:
        Table.open(table.url).append(some(50))
        done = table.restore(version=1)
        assert (done.version, done.files_removed) == (5, 2)
        assert ids(table) == [1, 2]

    def test_survive_a_checkpoint(self, table: Table) -> None:
        table.checkpoint()
        table.restore(version=2)
        table.checkpoint()
        assert ids(Table.open(table.url, options={"transaction.cache.enabled": False})) == [1, 2, 3]

    def test_are_a_change_of_data(self, table: Table) -> None:
        table.restore(version=1)
        changes = table.changes(since=3)
        assert changes.adds.column("numRecords").to_pylist() == [2]
        assert changes.removes.num_rows == 1

    def test_the_log_says_what_was_done(self, table: Table) -> None:
        table.restore(version=1)
        [row] = table.history(1).to_pylist()
        assert (row["operation"], dict(row["parameters"]), row["read_version"]) == ("RESTORE", {"version": "1"}, 3)

    def test_entries_keep_their_fields(self, table: Table) -> None:
        def of_version(number: int) -> list[dict[str, Any]]:
            found = Table.open(table.url, version=number).files().drop_columns(["addedAtVersion", "addedAtTimestamp"])
            return sorted(found.to_pylist(), key=lambda row: row["path"])

        table.restore(version=2)
        assert of_version(4) == of_version(2)
        assert of_version(4)[0]["docMappingJson"]


class TestRefused:
    def test_a_version_that_is_not_there(self, table: Table) -> None:
        with pytest.raises(VersionNotFound, match="version 7 does not exist"):
            table.restore(version=7)

    @pytest.mark.parametrize("arguments", [{}, {"version": 1, "timestamp": "2024-01-01"}, {"version": "1"}])
    def test_arguments(self, table: Table, arguments: dict[str, Any]) -> None:
        with pytest.raises(OptionError):
            table.restore(**arguments)

    def test_an_older_version_of_the_table(self, table: Table) -> None:
        with pytest.raises(CommitError, match="open it without a version to restore"):
            Table.open(table.url, version=2).restore(version=1)

    def test_a_file_that_is_gone(self, table: Table) -> None:
        path = Table.open(table.url, version=1).files().column("path")[0].as_py()
        (Path(table.url) / path).unlink()
        with pytest.raises(SplitError, match=r"version 2 cannot be restored: .* is gone from the store") as no:
            table.restore(version=2)
        assert no.value.split == path
        assert (table.version, ids(table)) == (3, [9])

    def test_a_version_below_the_floor(self, table: Table) -> None:
        table.truncate_time_travel()
        with pytest.raises(VersionNotFound, match="version 2 was truncated away, the oldest is 4"):
            table.restore(version=2)
        table.append(some(10))
        table.restore(version=4)
        assert ids(table) == [9]


NEW = pa.schema([("word", pa.string()), ("day", pa.string())])
TEXT = {"spark.indextables.indexing.typemap.word": "text"}


class TestColumns:
    def test_go_back_and_other_properties_stay(self, table: Table) -> None:
        table.commit_files(properties={"owner": "me", "logRetention.duration": None})
        job = begin_replace(
            table.url,
            arrow_to_spark_json(NEW),
            Options(TEXT),
            partition_by=["day"],
            properties={"owner": "me", "team": "blue"},
        )
        job.commit([job.build(pa.table({"word": ["disk full"], "day": ["c"]}).to_batches())])
        table.refresh()
        assert table.restore(version=2).status == "success"
        assert (table.schema.names, table.properties) == (["id", "day"], {"owner": "me", "team": "blue"})
        assert ids(table) == [1, 2, 3]
        table.append(some(4))
        assert table.restore(version=5).status == "success"
        assert (table.schema.names, table.properties) == (["word", "day"], {**TEXT, "owner": "me", "team": "blue"})
        assert table.count(query="word:full") == 1

    def test_alone_are_restored_too(self, table: Table) -> None:
        before = table.schema
        wide = [*before, pa.field("more", pa.int64())]
        begin_replace(table.url, arrow_to_spark_json(pa.schema(wide)), Options(), partition_by=["day"]).commit([])
        begin_replace(table.url, arrow_to_spark_json(before), Options(), partition_by=["day"]).commit([])
        table.refresh()
        done = table.restore(version=4)
        assert (done.status, done.files_added, done.files_removed) == ("success", 0, 0)
        assert table.schema.names == ["id", "day", "more"]


# the target goes while it is restored

OPTIONS = {"cache.disk.enabled": False, "checkpoint.enabled": False}


def in_memory(*, one_day: bool = False) -> MemoryStore:
    """The table of the fixture, in a store that can be listened to. With `one_day` all of its files lie in one partition."""
    store = MemoryStore()
    log = make_log(store, OPTIONS)
    table = Table(TableHandle(log, create_table(log, SCHEMA, ["day"])))
    table.append(some(1, 2))
    table.append(some(3, day="a" if one_day else "b"))
    table.overwrite(some(9))
    return store


def opened(store: Any) -> Table:
    log = make_log(store, OPTIONS)
    return Table(TableHandle(log, open_log(log)))


def after_version(store: MemoryStore, number: int, then: Callable[[], Any]) -> Hooked:
    """The store; once the version is written, and before anybody is told, something else happens."""

    def create(key: str, body: bytes) -> None:
        store.create(key, body)
        if key == version_key(number):
            then()

    return Hooked(store, create=create)


def lose_target(store: MemoryStore) -> None:
    """Clean-up removes version 1: nothing below 3 can be opened any more."""
    opened(store).checkpoint()
    store.delete([version_key(1)])


class TestTargetThatGoes:
    def test_what_came_back_is_taken_back(self) -> None:
        store = in_memory()
        table = opened(after_version(store, 4, lambda: lose_target(store)))
        with pytest.raises(VersionNotFound, match="version 2 was cleaned up while it was restored as version 4") as no:
            table.restore(version=2)
        assert "version 5 has the rows of version 3 again" in str(no.value)
        after = opened(store)
        assert (after.version, ids(after)) == (5, [9])
        operations = after.history().column("operation").to_pylist()
        assert operations[:2] == ["UNDO RESTORE", "RESTORE"]

    def test_an_append_meanwhile_stays(self) -> None:
        store = in_memory()

        def then() -> None:
            lose_target(store)
            opened(store).append(some(77))

        with pytest.raises(VersionNotFound, match="version 6 has the rows of version 3 again"):
            opened(after_version(store, 4, then)).restore(version=2)
        assert ids(opened(store)) == [9, 77]

    def test_an_overwrite_meanwhile_stays_and_nothing_is_brought_back(self) -> None:
        store = in_memory()

        def then() -> None:
            lose_target(store)
            opened(store).overwrite(some(77), where="day = 'a'")

        with pytest.raises(
            VersionNotFound, match="version 6 removes what came back, and keeps what others wrote since"
        ):
            opened(after_version(store, 4, then)).restore(version=2)
        assert ids(opened(store)) == [77]

    def test_an_overwrite_of_everything_leaves_nothing_to_do(self) -> None:
        store = in_memory()

        def then() -> None:
            lose_target(store)
            opened(store).overwrite(some(77))

        with pytest.raises(VersionNotFound, match="others have replaced what came back"):
            opened(after_version(store, 4, then)).restore(version=2)
        assert ids(opened(store)) == [77]

    def test_a_partition_that_others_empty_meanwhile_stays_empty(self) -> None:
        store = in_memory()

        def then() -> None:
            lose_target(store)
            opened(store).drop_partitions("day = 'a'")

        with pytest.raises(VersionNotFound, match=r"what the restore removed is in version 3: restore that one"):
            opened(after_version(store, 4, then)).restore(version=2)
        assert ids(opened(store)) == []

    def test_after_a_file_that_others_remove_meanwhile_it_says_where_the_rows_are(self) -> None:
        store = in_memory(one_day=True)

        def then() -> None:
            lose_target(store)
            table = opened(store)
            table.commit_files(removes=[table.files()["path"].to_pylist()[0]])

        with pytest.raises(
            VersionNotFound, match=r"keeps what others wrote since; what the restore removed is in version 3"
        ):
            opened(after_version(store, 4, then)).restore(version=2)
        assert ids(opened(store)) == []

    def test_what_somebody_else_brought_back_meanwhile_is_not_added_again(self) -> None:
        store = in_memory()
        (replaced,) = rows_to_adds(opened(store).files())

        def then() -> None:
            lose_target(store)
            opened(store).commit_files(adds=[replaced])

        with pytest.raises(VersionNotFound, match="has the rows of version 3 again"):
            opened(after_version(store, 4, then)).restore(version=2)
        table = opened(store)
        assert ids(table) == [9]
        assert table.changes(table.version - 1).adds.num_rows == 0

    def test_after_a_merge_meanwhile_it_says_where_the_rows_are(self) -> None:
        store = in_memory(one_day=True)

        def then() -> None:
            lose_target(store)
            assert opened(store).merge_splits().results

        with pytest.raises(
            VersionNotFound, match=r"what the restore removed is in version 3: restore that one to have it again$"
        ):
            opened(after_version(store, 4, then)).restore(version=2)
        assert ids(opened(store)) == [1, 2, 3]

    def test_nothing_of_it_is_remembered(self) -> None:
        """The process has read the target before, and asks the store all the same."""
        store = in_memory()
        hooked = after_version(store, 4, lambda: lose_target(store))
        log = make_log(hooked, OPTIONS)
        Table(TableHandle(log, open_log(log, 2))).scan().read_all()
        with pytest.raises(VersionNotFound, match="was cleaned up while it was restored"):
            Table(TableHandle(log, open_log(log))).restore(version=2)

    def test_a_restore_that_only_removes_needs_no_target(self) -> None:
        store = in_memory()
        opened(store).append(some(10))
        table = opened(after_version(store, 5, lambda: lose_target(store)))
        assert table.restore(version=3).status == "success"
        assert ids(opened(store)) == [9]

    def test_a_store_that_does_not_answer_is_no_answer(self) -> None:
        store = in_memory()
        silent = False

        def create(key: str, body: bytes) -> None:
            nonlocal silent
            store.create(key, body)
            silent = silent or key == version_key(4)

        def listed(prefix: str, after: str | None = None) -> Any:
            if silent:
                raise StoreUnavailable("no answer")
            return store.list(prefix, after)

        with pytest.raises(CommitOutcomeUnknown, match="version 4 restores version 2, and nobody can tell") as no:
            opened(Hooked(store, create=create, list=listed)).restore(version=2)
        assert no.value.version == 4
        assert ids(opened(store)) == [1, 2, 3]
