"""A drop that dies at any of its requests: whoever opens the table gets all rows of the newest version, or an error.

A store may carry out the keys of one delete call in any order, so every key is a request of its own here, in several orders.
"""

from __future__ import annotations

import random
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from indextables.core.errors import (
    CorruptLog,
    LogWarning,
    StorageError,
    TableExists,
    TableNotFound,
    TableReplaced,
)
from indextables.core.options import Options
from indextables.log.cleanup import clean_up
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.checkpoint import checkpoint
from indextables.log.table_log import TableLog
from indextables.storage.local import LocalStore
from indextables.storage.testing.faulty import Died, Fault, Faulty, Plan
from indextables.table.write.drop_table import drop_table
from log.crash import Operation, every_crash
from log.support import DAY, HOUR, FakeClock, Hooked, MemoryStore, append, live, make_log, new_table, version_key

GONE = frozenset({"an error"})
Order = Callable[[Sequence[str]], Sequence[str]]
ORDERS: dict[str, Order] = {
    "as given": lambda keys: keys,
    "reversed": lambda keys: keys[::-1],
    "shuffled": lambda keys: random.Random(7).sample(keys, len(keys)),
}


class OneByOne(Hooked):
    """A store that takes a request for every key that it deletes, in an order of its own."""

    def __init__(self, inner: Any, order: Order) -> None:
        super().__init__(inner)
        self._order = order

    def delete(self, keys: Sequence[str]) -> dict[str, StorageError]:
        failed: dict[str, StorageError] = {}
        for key in self._order(keys):
            failed |= self.inner.delete([key])
        return failed


def grow(log: TableLog, *states: int, versions: int = 4) -> None:
    """A split for each version, two for the first, and states of some versions."""
    snapshot = new_table(log)
    for number in range(1, versions + 1):
        paths = [f"splits/split-{number}.split", *(["splits/split-1b.split"] if number == 1 else [])]
        for path in paths:
            log.store.put(path, b"rows")
        snapshot = append(log, snapshot, *paths).snapshot
        if number in states:
            snapshot = checkpoint(LogAtVersion(log, snapshot), compact=False).snapshot


def cleaned(log: TableLog) -> None:
    """Versions 1 to 3 are cleaned up: only version 0, state 4 and what follows it are left."""
    grow(log, 4, versions=4)
    log.store.clock.advance(40 * DAY)  # type: ignore[attr-defined]
    append(log, open_log(log), "splits/split-5.split")
    log.store.put("splits/split-5.split", b"rows")
    log.store.clock.advance(2 * HOUR)  # type: ignore[attr-defined]
    clean_up(LogAtVersion(log, open_log(log)), retention_ms=0)
    assert log.head(version_key(1)) is None
    assert log.head(version_key(4)) is not None


def with_a_late_state(log: TableLog) -> None:
    """A state of an earlier table at this place, above all states of this one. It has the highest number and another id."""
    earlier = MemoryStore()
    grow(make_log(earlier, clock=FakeClock(seed=9)), 6, versions=6)
    grow(log, 2)
    for key, data in earlier.bytes().items():
        if "/state-v" in key or "/manifests/" in key:
            log.store.put(key, data)


def with_an_unreadable_state(log: TableLog) -> None:
    grow(log, 2, 3)
    log.store.put(f"_transaction_log/state-v{3:020d}/_manifest.avro", b"not Avro")


JSON = (("state.format", "json"),)
PARTS = (*JSON, ("checkpoint.multipart.maxActionsPerPart", 2))
TABLES: dict[str, tuple[Callable[[TableLog], None], tuple[tuple[str, Any], ...]]] = {
    "no state": (grow, ()),
    "no row": (lambda log: grow(log, versions=0), ()),
    "one state": (lambda log: grow(log, 2), ()),
    "the newest version has a state": (lambda log: grow(log, 1, 3, 4), ()),
    "many states": (lambda log: grow(log, 1, 2, 3), ()),
    "checkpoints": (lambda log: grow(log, 1, 3), JSON),
    "checkpoints in parts": (lambda log: grow(log, 2, 3), PARTS),
    "cleaned up": (cleaned, ()),
    "cleaned up, with checkpoints": (cleaned, JSON),
    "a late state of an earlier table": (with_a_late_state, ()),
    "an unreadable state": (with_an_unreadable_state, ()),
}


def seen(log: TableLog) -> frozenset[str]:
    """The splits of the newest version, of which none may be missing, or that opening is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogWarning)
        try:
            paths = live(open_log(log))
        except (TableNotFound, CorruptLog):
            return GONE
    assert all(log.head(path) is not None for path in paths), "the log names splits that are gone"
    return frozenset(paths)


def operation(name: str, order: str) -> Operation:
    prepare, options = TABLES[name]

    def drop(log: TableLog) -> None:
        drop_table(make_log(OneByOne(log.store, ORDERS[order]), dict(options)))

    store = MemoryStore()
    prepare(make_log(store, dict(options)))
    return Operation(name, prepare, drop, seen(make_log(store)), GONE, options, commits=False, look=seen)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.filterwarnings("ignore::indextables.core.errors.LogWarning")
def test_what_is_left_is_the_newest_version_or_no_table(name: str, order: str) -> None:
    dropped = operation(name, order)
    outcomes = set()
    for crash in every_crash(dropped):
        left = dropped.look(dropped.log(crash.store.copy()))
        assert left in (dropped.before, GONE), crash.where
        assert crash.error is not None or not crash.store.objects, crash.where
        outcomes.add(left)
        if crash.store.objects and any("_transaction_log/" in key for key in crash.store.objects):
            named = any(key.endswith(".json") or "/state-v" in key for key in crash.store.objects)
            again = dropped.log(crash.store.copy())
            if named:
                with pytest.raises(TableExists):
                    new_table(again)
                drop_table(again)
                assert not list(again.store.list("")), (crash.where, "a second drop ends what the first one began")
            new_table(again)
            assert seen(again) == frozenset(), crash.where
    assert outcomes == {dropped.before, GONE}


@pytest.mark.parametrize("name", ["no state", "many states", "checkpoints in parts"])
def test_on_local_disk(name: str, tmp_path: Path) -> None:
    """The same with files, of which a killed process has deleted some."""
    prepare, options = TABLES[name]
    prepare(TableLog(LocalStore(str(tmp_path / "t")), Options(dict(options))))

    def copies() -> Iterator[tuple[int, Path]]:
        for number in range(1, 100):
            yield number, Path(shutil.copytree(tmp_path / "t", tmp_path / str(number)))

    before = seen(TableLog(LocalStore(str(tmp_path / "t")), Options()))
    outcomes = []
    for number, place in copies():
        faulty = Faulty(LocalStore(str(place)), Plan(number, Fault.DIE_AFTER))
        try:
            drop_table(TableLog(OneByOne(faulty, ORDERS["as given"]), Options()))  # type: ignore[arg-type]
        except Died:
            outcomes.append(seen(TableLog(LocalStore(str(place)), Options())))
            continue
        assert not faulty.fired
        assert not place.exists()
        break
    assert set(outcomes) == {before, GONE}
    assert outcomes == sorted(outcomes, key=lambda outcome: outcome == GONE), "gone is gone"


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.filterwarnings("ignore::indextables.core.errors.LogWarning")
def test_a_creator_waits_for_the_last_name_and_its_table_stays(name: str) -> None:
    """Between any two requests of a drop somebody tries to create a table: who succeeds keeps it."""
    prepare, options = TABLES[name]
    store = MemoryStore()
    prepare(make_log(store, dict(options)))
    made: list[bytes] = []

    def delete(keys: Sequence[str]) -> dict[str, StorageError]:
        failed = store.delete(keys)
        if not made:
            with suppress(TableExists):
                new_table(make_log(store, clock=FakeClock(seed=3)))
                made.append(store.bytes()[version_key(0)])
        return failed

    with suppress(TableReplaced):
        drop_table(make_log(OneByOne(Hooked(store, delete=delete), ORDERS["as given"])))
    assert made == [store.bytes()[version_key(0)]]
    assert live(open_log(make_log(store))) == set()


def test_a_table_that_was_created_in_the_middle_is_left_alone() -> None:
    """A creator that looked before the dropped table was made wins version 0 as soon as it is free, and keeps it."""
    store = MemoryStore()
    grow(make_log(store), 2)
    other = MemoryStore()
    new_table(make_log(other, clock=FakeClock(seed=3)))
    zero = other.bytes()[version_key(0)]

    def delete(keys: Sequence[str]) -> dict[str, StorageError]:
        failed = store.delete(keys)
        if version_key(0) in keys:
            store.create(version_key(0), zero)
        return failed

    with pytest.raises(TableReplaced, match="purge"):
        drop_table(make_log(Hooked(store, delete=delete)))
    assert store.bytes()[version_key(0)] == zero
    assert live(open_log(make_log(store))) == set(), "versions and states of the old table count for nothing"
