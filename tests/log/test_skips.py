"""Skip records: counted where they land, in force until they are not, and gone when nobody needs them."""

from __future__ import annotations

from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.open_snapshot import open_log
from indextables.log.skip_records import COOLDOWN_HOURS, in_cooldown, record_skips, without_cooldown
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.table.maintain.list_skips import SKIPS_SCHEMA, skips_table
from log.support import HOUR, MemoryStore, append, grown, live, make_log


def table() -> MemoryStore:
    store = MemoryStore()
    grown(make_log(store), 3)
    return store


def skip(store: MemoryStore, *paths: str, read: Snapshot | None = None, **arguments: object) -> Snapshot:
    log = make_log(store)
    done = record_skips(LogAtVersion(log, read or open_log(log)), paths, **{"reason": "cannot be read", **arguments})  # type: ignore[arg-type]
    return done.snapshot


def test_a_skipped_file_stays_live() -> None:
    store = table()
    snapshot = skip(store, "f1", "f2")
    assert snapshot.version == 4
    assert live(snapshot) == {"f1", "f2", "f3"}
    assert [(s.path, s.reason, s.operation, s.skip_count) for s in open_log(make_log(store)).skips] == [
        ("f1", "cannot be read", "merge", 1),
        ("f2", "cannot be read", "merge", 1),
    ]


def test_a_path_that_is_named_twice_is_skipped_once() -> None:
    assert len(skip(table(), "f1", "f1").skips) == 1


def test_the_cooldown() -> None:
    store = table()
    snapshot = skip(store, "f1")
    began = store.clock.wall_ms()
    until = began + int(COOLDOWN_HOURS * HOUR * 1000)
    assert in_cooldown(snapshot, began) == {"f1": until}
    assert in_cooldown(snapshot, until - 1) == {"f1": until}
    assert in_cooldown(snapshot, until) == {}, "it may be tried again"


def test_the_longest_cooldown_of_a_path_holds() -> None:
    store = table()
    began = store.clock.wall_ms()
    skip(store, "f1", cooldown_hours=10)
    snapshot = skip(store, "f1", cooldown_hours=1)
    assert in_cooldown(snapshot, began) == {"f1": began + 10 * 3_600_000}
    assert [s.skip_count for s in snapshot.skips] == [1, 2]


def test_each_operation_has_its_own() -> None:
    store = table()
    skip(store, "f1")
    snapshot = skip(store, "f2", operation="prewarm")
    now = store.clock.wall_ms()
    assert in_cooldown(snapshot, now).keys() == {"f1", "f2"}
    assert in_cooldown(snapshot, now, "merge").keys() == {"f1"}
    assert in_cooldown(snapshot, now, "prewarm").keys() == {"f2"}


def test_what_an_operation_may_try() -> None:
    store = table()
    snapshot = skip(store, "f1")
    now = store.clock.wall_ms()
    tried = without_cooldown(snapshot.files, snapshot, now, "merge")
    assert set(tried.column("path").to_pylist()) == {"f2", "f3"}
    later = now + int(COOLDOWN_HOURS * HOUR * 1000)
    assert without_cooldown(snapshot.files, snapshot, later, "merge").num_rows == 3
    assert without_cooldown(snapshot.files, snapshot, now, "prewarm").num_rows == 3


def test_two_writers_that_skip_the_same_file_count_one_and_two() -> None:
    store = table()
    read = open_log(make_log(store))
    skip(store, "f1", read=read)
    snapshot = skip(store, "f1", read=read)
    assert [(s.path, s.skip_count) for s in snapshot.skips] == [("f1", 1), ("f1", 2)]


def test_the_count_goes_on_over_a_checkpoint() -> None:
    store = table()
    skip(store, "f1")
    assert write_checkpoint(LogAtVersion(make_log(store), open_log(make_log(store))))
    for number in range(1, 5):
        del store.objects[f"_transaction_log/{number:020d}.json"]
    assert skip(store, "f1").skips[-1].skip_count == 2


def test_as_a_table() -> None:
    store = table()
    skip(store, "f2")
    store.clock.advance(COOLDOWN_HOURS * HOUR)
    snapshot = skip(store, "f2", "f1", reason="again")
    found = skips_table(snapshot, store.clock.wall_ms())
    assert found.schema == SKIPS_SCHEMA
    rows = [(row["path"], row["reason"], row["skipCount"], row["inCooldown"]) for row in found.to_pylist()]
    assert rows == [("f1", "again", 1, True), ("f2", "cannot be read", 1, False), ("f2", "again", 2, True)]


def test_skipping_does_not_disturb_appends() -> None:
    store = table()
    log = make_log(store)
    read = open_log(log)
    skip(store, "f1")
    assert append(log, read, "f4").snapshot.version == 5
