"""What reading and writing a log costs, in requests and in round trips.

`Rounds` counts a group of requests that may run side by side as one; one test shows with real threads that they do.
"""

from __future__ import annotations

from typing import Any

import pytest

from indextables.core.errors import TableReplaced
from indextables.core.runtime.threads import Pool
from indextables.log.commit import commit
from indextables.log.conflicts import Change
from indextables.log.history import read_changes, read_history, version_at
from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.log_cache import CacheStats
from indextables.log.open_snapshot import open_log
from indextables.log.refresh import open_current, refresh
from indextables.log.snapshot import LogAtVersion
from indextables.log.table_log import TableLog
from indextables.storage.testing.counting import Counting
from log.support import (
    HOUR,
    FakeClock,
    Hooked,
    MemoryStore,
    Rounds,
    add,
    append,
    checkpoint_key,
    grown,
    make_log,
    new_table,
    version_key,
)

POINTER = "_transaction_log/_last_checkpoint"


class Budget:
    """A log whose requests are counted."""

    def __init__(self, store: MemoryStore, options: dict[str, Any] | None = None) -> None:
        self.store = Counting(store)
        self.rounds = Rounds(self.store)
        self.log = make_log(self.store, options, workers=self.rounds)

    def reset(self) -> None:
        self.rounds.reset()

    @property
    def spent(self) -> tuple[dict[str, int], int]:
        """Requests by verb, and round trips, since the last reset."""
        return dict(self.store.counts), self.rounds.count


def table(versions: int, checkpoint: int | None = None, options: dict[str, Any] | None = None) -> MemoryStore:
    store = MemoryStore()
    log = make_log(store, options)
    grown(log, versions)
    if checkpoint is not None:
        assert write_checkpoint(LogAtVersion(log, open_log(log, checkpoint)))
    return store


class TestRefresh:
    def test_nothing_new_is_two_requests_side_by_side(self) -> None:
        budget = Budget(table(5))
        snapshot = open_log(budget.log)
        budget.reset()
        assert refresh(LogAtVersion(budget.log, snapshot)).version == 5
        assert budget.spent == ({"get": 1, "head": 1}, 1)
        assert set(budget.store.keys) == {version_key(6), version_key(0)}

    def test_the_two_requests_really_overlap(self) -> None:
        store = Counting(table(5), latency_seconds=0.2)
        log = make_log(store, workers=Pool())
        snapshot = open_log(make_log(store.inner))
        refresh(LogAtVersion(log, snapshot))
        assert store.counts == {"get": 1, "head": 1}
        assert store.rounds == 1

    def test_one_new_version(self) -> None:
        store = table(5)
        budget = Budget(store)
        snapshot = open_log(budget.log)
        append(make_log(store), open_log(make_log(store)), "new")
        budget.reset()
        assert refresh(LogAtVersion(budget.log, snapshot)).version == 6
        assert budget.spent == ({"get": 1, "head": 1, "list": 1}, 2)

    @pytest.mark.parametrize("new", [2, 5, 12])
    def test_several_new_versions_are_one_list_and_gets_side_by_side(self, new: int) -> None:
        store = table(2)
        budget = Budget(store)
        snapshot = open_log(budget.log)
        writer = make_log(store)
        other = open_log(writer)
        for number in range(new):
            other = append(writer, other, f"new{number}").snapshot
        budget.reset()
        assert refresh(LogAtVersion(budget.log, snapshot)).version == 2 + new
        assert budget.spent == ({"get": new, "head": 1, "list": 1}, 3)

    @pytest.mark.parametrize("versions", [1, 40])
    def test_the_size_of_the_log_does_not_matter(self, versions: int) -> None:
        budget = Budget(table(versions))
        snapshot = open_log(budget.log)
        budget.reset()
        refresh(LogAtVersion(budget.log, snapshot))
        assert budget.spent == ({"get": 1, "head": 1}, 1)

    def test_bounded_staleness_costs_nothing(self) -> None:
        store = table(5)
        budget = Budget(store, {"transaction.maxStaleness": 60})
        snapshot = open_current(budget.log)
        append(make_log(store), open_log(make_log(store)), "new")
        budget.reset()
        store.clock.advance(60)
        assert refresh(LogAtVersion(budget.log, snapshot)).version == 5
        assert open_current(budget.log).version == 5
        assert budget.spent == ({}, 0)
        store.clock.advance(1)
        assert refresh(LogAtVersion(budget.log, snapshot)).version == 6
        assert budget.spent[0] == {"get": 1, "head": 1, "list": 1}

    def test_a_commit_never_relies_on_staleness(self) -> None:
        store = table(5)
        budget = Budget(store, {"transaction.maxStaleness": 60})
        snapshot = open_current(budget.log)
        append(make_log(store), open_log(make_log(store)), "new")
        assert append(budget.log, snapshot, "mine").snapshot.version == 7

    def test_a_snapshot_checked_too_long_ago_is_opened_anew(self) -> None:
        store = table(5, checkpoint=5)
        budget = Budget(store)
        snapshot = open_log(budget.log)
        store.clock.advance(36 * HOUR)
        budget.reset()
        still = refresh(LogAtVersion(budget.log, snapshot))
        assert budget.spent[0] == {"get": 1, "head": 1}
        store.clock.advance(36 * HOUR + 1)
        budget.reset()
        refresh(LogAtVersion(budget.log, still))
        assert budget.store.keys[0] == POINTER

    def test_a_process_that_slept_between_question_and_answer_opens_anew(self) -> None:
        """Version 6 was absent when it was asked for, may have come since, and may be gone again."""
        store = table(5)
        log = make_log(store)
        snapshot = open_log(log)

        def head(key: str) -> Any:
            store.clock.advance(37 * HOUR)
            append(make_log(store), open_log(make_log(store)), "meanwhile")
            return store.head(key)

        assert refresh(LogAtVersion(make_log(Hooked(store, head=head)), snapshot)).version == 6

    def test_a_replaced_table_is_another_table(self) -> None:
        store = table(5)
        log = make_log(store)
        snapshot = open_log(log)
        store.objects.clear()
        new_table(make_log(store, clock=FakeClock(seed=9)))
        with pytest.raises(TableReplaced):
            refresh(LogAtVersion(log, snapshot))
        replaced = open_current(log)
        assert (replaced.version, replaced.files.num_rows) == (0, 0)
        assert replaced.table_id != snapshot.table_id


class TestOpen:
    def test_without_a_checkpoint(self) -> None:
        budget = Budget(table(6))
        assert open_log(budget.log).version == 6
        assert budget.spent == ({"get": 2 + 6, "list": 2}, 3)

    def test_from_a_checkpoint(self) -> None:
        budget = Budget(table(12, checkpoint=10))
        snapshot = open_log(budget.log)
        assert (snapshot.version, snapshot.base) == (12, 10)
        assert budget.spent == ({"get": 3 + 2, "list": 2}, 3)
        assert budget.store.keys[0] == POINTER
        assert set(budget.store.keys[1:5]) == {
            "_transaction_log/0",
            "_transaction_log/state-v",
            version_key(0),
            checkpoint_key(10),
        }
        assert set(budget.store.keys[5:]) == {version_key(11), version_key(12)}

    def test_from_a_checkpoint_with_nothing_after_it(self) -> None:
        budget = Budget(table(10, checkpoint=10))
        open_log(budget.log)
        assert budget.spent == ({"get": 3, "list": 2}, 2)

    def test_the_versions_below_the_checkpoint_are_neither_listed_nor_read(self) -> None:
        few, many = Budget(table(12, checkpoint=10)), Budget(table(52, checkpoint=50))
        open_log(few.log)
        open_log(many.log)
        assert few.spent == many.spent

    def test_parts_are_one_more_round(self) -> None:
        store = table(12, checkpoint=10, options={"checkpoint.multipart.maxActionsPerPart": 3})
        budget = Budget(store)
        assert open_log(budget.log).base == 10
        assert budget.spent == ({"get": 3 + 4 + 2, "list": 2}, 4)

    def test_a_missing_pointer_costs_one_more_round(self) -> None:
        store = table(12, checkpoint=10)
        del store.objects[POINTER]
        budget = Budget(store)
        assert open_log(budget.log).base == 10
        assert budget.spent == ({"get": 2 + 1 + 2, "list": 2}, 4)

    def test_the_round_trips_really_overlap(self) -> None:
        store = Counting(table(12, checkpoint=10), latency_seconds=0.2)
        open_log(make_log(store, workers=Pool()))
        assert store.rounds == 3


class TestSecondOpen:
    def test_it_is_a_refresh(self) -> None:
        budget = Budget(table(12, checkpoint=10))
        first = open_current(budget.log)
        budget.reset()
        second = open_current(budget.log)
        assert budget.spent == ({"get": 1, "head": 1}, 1)
        assert second.file_set is first.file_set

    def test_with_the_cache_off_it_is_an_open(self) -> None:
        budget = Budget(table(12, checkpoint=10), {"transaction.cache.enabled": False})
        open_current(budget.log)
        budget.reset()
        open_current(budget.log)
        assert budget.spent == ({"get": 5, "list": 2}, 3)
        stats = budget.log.cache.stats()
        assert set(stats.values()) == {CacheStats(0, 0, 0)}

    def test_after_the_time_to_live_it_is_an_open(self) -> None:
        store = table(12, checkpoint=10)
        budget = Budget(store, {"transaction.cache.expirationSeconds": 100})
        open_current(budget.log)
        store.clock.advance(101)
        budget.reset()
        open_current(budget.log)
        assert budget.spent == ({"get": 5, "list": 2}, 3)

    def test_a_table_at_the_same_place_shares_nothing_with_its_predecessor(self) -> None:
        store = table(3)
        budget = Budget(store)
        first = open_current(budget.log)
        store.objects.clear()
        new_table(make_log(store, clock=type(store.clock)(seed=9)))
        second = open_current(budget.log)
        assert second.table_id != first.table_id
        assert second.version == 0
        assert second.files.num_rows == 0


class TestCommit:
    @pytest.mark.parametrize("files", [1, 1_000, 20_000])
    def test_an_append_costs_the_same_whatever_the_size(self, files: int) -> None:
        store = MemoryStore()
        log = make_log(store)
        many = Change(adds=tuple(add(f"f{number}") for number in range(files)))
        commit(LogAtVersion(log, new_table(log)), many, operation="WRITE")
        budget = Budget(store)
        snapshot = open_log(budget.log)
        budget.reset()
        append(budget.log, snapshot, "new")
        requests, rounds = budget.spent
        assert requests == {"get": 1, "head": 1, "create": 1}
        assert sum(requests.values()) <= 4
        assert rounds == 2

    def test_the_next_append_costs_the_same(self) -> None:
        budget = Budget(table(1))
        snapshot = open_log(budget.log)
        for number in range(5):
            budget.reset()
            snapshot = append(budget.log, snapshot, f"new{number}").snapshot
            assert budget.spent == ({"get": 1, "head": 1, "create": 1}, 2)

    def test_a_lost_race_costs_a_read_back_and_another_try(self) -> None:
        store = table(3)
        budget = Budget(store)
        snapshot = open_log(budget.log)
        create, raced = store.create, []

        def overtaken(key: str, data: bytes) -> None:
            if not raced:
                raced.append(key)
                store.create = create  # type: ignore[method-assign]
                append(make_log(store), open_log(make_log(store)), "theirs")
            create(key, data)

        store.create = overtaken  # type: ignore[method-assign]
        budget.reset()
        assert append(budget.log, snapshot, "mine").snapshot.version == 5
        assert raced == [version_key(4)]
        first = {"get": 1, "head": 1, "create": 1}
        read_back, newest = {"get": 1}, {"get": 1, "head": 1, "list": 1, "create": 1}
        assert sum(budget.spent[0].values()) == sum(sum(part.values()) for part in (first, read_back, newest))

    def test_creating(self) -> None:
        budget = Budget(MemoryStore())
        new_table(budget.log)
        assert budget.spent[0] == {"list": 4, "create": 1, "get": 2}


class TestCache:
    def seen(self, log: TableLog) -> dict[str, tuple[int, int]]:
        return {kind: (stats.hits, stats.misses) for kind, stats in log.cache.stats().items()}

    def test_hits_and_misses_per_kind(self) -> None:
        log = make_log(table(4, checkpoint=2))
        open_current(log)
        assert self.seen(log) == {"snapshot": (0, 1), "version": (0, 2), "checkpoint": (0, 1)}
        open_current(log)
        assert self.seen(log) == {"snapshot": (1, 1), "version": (0, 2), "checkpoint": (0, 1)}
        open_log(log)
        assert self.seen(log) == {"snapshot": (1, 1), "version": (2, 2), "checkpoint": (1, 1)}
        assert log.cache.stats()["version"].entries == 2

    def test_history_reads_a_version_once(self) -> None:
        budget = Budget(table(6))
        snapshot = open_current(budget.log)
        budget.reset()
        assert read_history(LogAtVersion(budget.log, snapshot)).num_rows == 7
        assert budget.spent[0] == {"list": 1, "get": 1}, "version 0 alone was not replayed"
        budget.reset()
        read_history(LogAtVersion(budget.log, snapshot))
        assert budget.spent[0] == {"list": 1}
        budget.reset()
        read_changes(LogAtVersion(budget.log, snapshot), 2)
        assert budget.spent[0] == {}

    def test_a_limit_reads_no_more_than_it_returns(self) -> None:
        budget = Budget(table(20, checkpoint=20))
        snapshot = open_log(budget.log)
        budget.reset()
        assert read_history(LogAtVersion(budget.log, snapshot), limit=3).num_rows == 3
        assert budget.spent[0] == {"list": 1, "get": 3}

    def test_a_time_is_found_by_bisection(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        snapshot = new_table(log)
        for number in range(1, 65):
            store.clock.advance(10)
            snapshot = append(log, snapshot, f"f{number}").snapshot
        assert write_checkpoint(LogAtVersion(log, snapshot))
        budget = Budget(store)
        when = snapshot.timestamp - 100_000
        assert version_at(budget.log, when) == 54
        opening = 3
        assert budget.spent[0]["get"] <= opening + 1 + 7

    def test_the_least_recently_used_goes_first(self) -> None:
        from indextables.log.log_cache import LogCache

        cache = LogCache()
        for number in range(70):
            cache.put("snapshot", f"url{number}", number, now=0.0)
        assert cache.stats()["snapshot"].entries == 64
        assert cache.get("snapshot", "url5", now=0.0, ttl_seconds=1) is None
        assert cache.get("snapshot", "url6", now=0.0, ttl_seconds=1) == 6
        cache.put("snapshot", "url70", 70, now=0.0)
        assert cache.get("snapshot", "url6", now=0.0, ttl_seconds=1) == 6
        assert cache.get("snapshot", "url7", now=0.0, ttl_seconds=1) is None
        cache.clear()
        assert cache.stats()["snapshot"] == CacheStats(hits=2, misses=2, entries=0)
