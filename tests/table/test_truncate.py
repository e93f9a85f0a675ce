"""`Table.truncate_time_travel`: the newest version becomes the oldest that can be opened."""

from __future__ import annotations

from typing import Any

import pytest

from indextables import Table
from indextables.core.errors import ChangesGone, StoreUnavailable, VersionNotFound
from indextables.log.open_snapshot import open_log
from indextables.table.handle import TableHandle
from log.support import DAY, HOUR, LOG, Hooked, MemoryStore, add, grown, live, make_log, raw_versions


def opened(store: Any, options: dict[str, Any] | None = None) -> Table:
    log = make_log(store, options)
    return Table(TableHandle(log, open_log(log)))


def old_table(versions: int = 5, age: float = 40 * DAY) -> MemoryStore:
    store = MemoryStore()
    grown(make_log(store), versions)
    store.clock.advance(age)
    return store


def numbers(store: MemoryStore) -> list[int]:
    return list(raw_versions(store.bytes()))


def states(store: MemoryStore) -> list[str]:
    return sorted(key for key in store.bytes() if key.endswith("_manifest.avro"))


class TestTruncation:
    def test_the_rows_stay_and_older_versions_cannot_be_opened(self) -> None:
        store = old_table()
        done = opened(store).truncate_time_travel()
        assert (done.status, done.checkpoint_version, done.files_preserved) == ("success", 6, 5)
        log = make_log(store)
        table = Table(TableHandle(log, open_log(log)))
        assert table.version == 6
        assert live(open_log(log)) == {f"f{number}" for number in range(1, 6)}
        from indextables.log.history import open_at

        for version in range(6):
            with pytest.raises(VersionNotFound, match=f"version {version} was truncated away, the oldest is 6") as no:
                open_at(make_log(store), version=version)
            assert no.value.floor == 6
        assert open_at(make_log(store), version=6).version == 6

    def test_what_is_young_goes_with_a_later_one(self) -> None:
        store = old_table()
        table = opened(store)
        first = table.truncate_time_travel()
        assert (first.versions_deleted, first.checkpoints_deleted) == (0, 0)
        assert "5 older version files go with a later clean-up, once they are 72 hours old" in first.message
        assert numbers(store) == [0, 1, 2, 3, 4, 5, 6]
        store.clock.advance(2 * HOUR)
        second = table.truncate_time_travel()
        assert (second.status, second.checkpoint_version, second.versions_deleted) == ("success", 6, 5)
        assert second.message == "version 6 is the oldest now; no older version file is left"
        assert numbers(store) == [0, 6]
        third = table.truncate_time_travel()
        assert (third.status, third.versions_deleted, table.version) == ("no_action", 0, 6)

    def test_versions_within_the_safety_age_stay(self) -> None:
        store = old_table()
        opened(store).commit_files([add("young")])
        opened(store).truncate_time_travel()
        store.clock.advance(2 * HOUR)
        done = opened(store).truncate_time_travel()
        assert done.versions_deleted == 5
        assert "1 older version files go with a later clean-up" in done.message
        assert numbers(store) == [0, 6, 7]

    def test_older_states_go(self) -> None:
        store = old_table()
        for path in ("one", "more"):
            opened(store).checkpoint()
            opened(store).commit_files([add(path)])
        store.clock.advance(40 * DAY)
        opened(store).truncate_time_travel()
        assert len(states(store)) == 3
        store.clock.advance(4 * DAY)
        thin = {"state.retention.versions": 1, "state.retention.hours": 0, "checkpointRetention.duration": 0}
        done = opened(store, thin).truncate_time_travel()
        assert done.checkpoints_deleted == 1
        assert len(states(store)) == 2
        assert live(open_log(make_log(store))) == {*(f"f{number}" for number in range(1, 6)), "one", "more"}

    def test_a_write_after_it_is_truncated_by_the_next(self) -> None:
        store = old_table()
        table = opened(store)
        table.truncate_time_travel()
        table.commit_files([add("more")])
        assert table.truncate_time_travel().checkpoint_version == 8

    def test_a_new_table_has_nothing_to_truncate(self) -> None:
        done = opened(old_table(0)).truncate_time_travel()
        assert (done.status, done.checkpoint_version, done.message) == (
            "no_action",
            0,
            "the table has no older version",
        )

    def test_changes_that_are_gone_are_said_to_be(self) -> None:
        store = old_table()
        opened(store).truncate_time_travel()
        store.clock.advance(2 * HOUR)
        opened(store).truncate_time_travel()
        with pytest.raises(ChangesGone):
            opened(store).changes(since=2)

    def test_the_log_says_what_was_done(self) -> None:
        store = old_table()
        table = opened(store)
        table.truncate_time_travel()
        [row] = table.history(1).to_pylist()
        assert row["operation"] == "TRUNCATE TIME TRAVEL"
        assert table.changes(since=5).adds.num_rows == 0

    def test_json_checkpoints(self) -> None:
        store = old_table()
        options = {"state.format": "json"}
        assert opened(store, options).truncate_time_travel().checkpoint_version == 6
        assert any(key.endswith("6.checkpoint.json") for key in store.bytes())
        store.clock.advance(2 * HOUR)
        assert opened(store, options).truncate_time_travel().versions_deleted == 5


class TestDryRun:
    def test_nothing_changes(self) -> None:
        store = old_table()
        before = {key: data for key, data in store.bytes().items() if not key.endswith("_probe")}
        done = opened(store).truncate_time_travel(dry_run=True)
        assert (done.status, done.checkpoint_version, done.files_preserved) == ("dry_run", 6, 5)
        assert "version 6 would be the oldest" in done.message
        assert {key: data for key, data in store.bytes().items() if not key.endswith("_probe")} == before

    def test_it_says_what_goes_at_once(self) -> None:
        store = old_table()
        opened(store).checkpoint()
        store.clock.advance(40 * DAY)
        preview = opened(store).truncate_time_travel(dry_run=True)
        done = opened(store).truncate_time_travel()
        assert (preview.versions_deleted, preview.checkpoints_deleted) == (4, 0)
        assert (done.versions_deleted, done.checkpoints_deleted) == (4, 0)


class TestFailures:
    def test_what_follows_the_commit_does_not_fail_it(self) -> None:
        store = old_table()

        def put(key: str, data: bytes) -> None:
            if key.startswith(f"{LOG}/_probe"):
                raise StoreUnavailable("no")
            store.put(key, data)

        done = opened(Hooked(store, put=put)).truncate_time_travel()
        assert done.status == "partial"
        assert "version 6 is the oldest now, but what follows failed" in done.message
        assert open_log(make_log(store)).floor == 6

    def test_objects_that_cannot_be_deleted_are_said(self) -> None:
        store = old_table()
        opened(store).truncate_time_travel()
        store.clock.advance(2 * HOUR)
        stuck = Hooked(store, delete=lambda keys: {key: StoreUnavailable("no") for key in keys})
        done = opened(stuck).truncate_time_travel()
        assert (done.status, done.versions_deleted) == ("partial", 0)
        assert "5 objects could not be deleted" in done.message
