"""An opening in the middle of which days pass: clean-up goes on, and what was listed first is not there any more.

What is gone then says nothing about the table: not that its log has a gap, and not that others commit it by states alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from indextables.core.errors import LogReadTimeout
from indextables.log.cleanup import clean_up
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.checkpoint import checkpoint
from log.support import DAY, LOG, Hooked, MemoryStore, append, grown, live, make_log, version_key

STATES = f"{LOG}/state-v"
RETENTION = {"logRetention.duration": 10 * 86_400_000}


def committed(store: MemoryStore, path: str) -> None:
    """One more version, and its state."""
    log = make_log(store)
    done = append(log, open_log(log), path)
    assert checkpoint(LogAtVersion(log, done.snapshot), compact=False).written


def weeks_pass(store: MemoryStore, path: str) -> None:
    """A new version with its state, and clean-up, weeks later, of the versions that it replaces."""
    store.clock.advance(20 * DAY)
    committed(store, path)
    store.clock.advance(20 * DAY)
    log = make_log(store, RETENTION)
    clean_up(LogAtVersion(log, open_log(log)))


def slow_reader(store: MemoryStore, held_up: Callable[[int], bool]) -> Hooked:
    """A reader's store: version `n` and its state come between the two listings, and weeks pass before version `n` is headed.

    `held_up` is asked at each attempt whether all that happens in it.
    """
    attempts = [0]

    def listing(prefix: str, after: str | None = None) -> Any:
        if prefix == STATES and held_up(attempts[0]):
            committed(store, f"between{attempts[0]}")
        return store.list(prefix, after)

    def head(key: str) -> Any:
        if key != version_key(0) and held_up(attempts[0]):
            weeks_pass(store, f"later{attempts[0]}")
            attempts[0] += 1
        return store.head(key)

    return Hooked(store, list=listing, head=head)


def test_a_table_is_not_foreign_because_its_version_was_cleaned_up_meanwhile() -> None:
    store = MemoryStore()
    grown(make_log(store), 14)
    snapshot = open_log(make_log(slow_reader(store, lambda attempt: attempt == 0)))
    assert version_key(15) not in store.objects
    assert (snapshot.version, snapshot.state_committed, snapshot.gap) == (16, False, None)
    assert live(snapshot) == {*(f"f{number}" for number in range(1, 15)), "between0", "later0"}
    assert append(make_log(store), snapshot, "mine").snapshot.version == 17


def test_a_version_that_is_travelled_to_is_not_foreign_either() -> None:
    """The states are listed first here, then weeks pass, then the versions are listed."""
    store = MemoryStore()
    grown(make_log(store), 3)
    committed(store, "f4")
    passed: list[str] = []

    def states_first(calls: Any, **_: Any) -> list[Any]:
        results = [call() for call in calls[1::-1]]
        return [*results[::-1], *(call() for call in calls[2:])]

    def listing(prefix: str, after: str | None = None) -> Any:
        found = list(store.list(prefix, after))
        if prefix == STATES and not passed:
            passed.append(prefix)
            weeks_pass(store, "f5")
        return iter(found)

    class StatesFirst:
        together = staticmethod(states_first)

    log = make_log(Hooked(store, list=listing), workers=StatesFirst())  # type: ignore[arg-type]
    snapshot = open_log(log, 5)
    assert version_key(4) not in store.objects
    assert (snapshot.version, snapshot.state_committed, snapshot.gap) == (5, False, None)
    assert live(snapshot) == {"f1", "f2", "f3", "f4", "f5"}


def test_one_that_is_held_up_every_time_says_so() -> None:
    store = MemoryStore()
    grown(make_log(store), 14)
    with pytest.raises(LogReadTimeout, match=r"held up for more than 30 minutes, 4 times over.*open it again") as error:
        open_log(make_log(slow_reader(store, lambda attempt: True)))
    assert error.value.retryable


@pytest.mark.parametrize("with_state", [False, True])
def test_a_table_that_is_created_between_two_looks_is_not_damaged(with_state: bool) -> None:
    """Version 0 is not there when it is read, and there when it is listed."""
    store = MemoryStore()
    looks: list[str] = []

    def get(key: str) -> Any:
        if key == version_key(0) and not looks:
            looks.append(key)
            try:
                return store.get(key)
            finally:
                newest = grown(make_log(store), 1)
                if with_state:
                    checkpoint(LogAtVersion(make_log(store), newest), compact=False)
        return store.get(key)

    def zero_first(calls: Any, **_: Any) -> list[Any]:
        return [call() for call in calls[::-1]][::-1]

    class ZeroFirst:
        together = staticmethod(zero_first)

    snapshot = open_log(make_log(Hooked(store, get=get), workers=ZeroFirst()))  # type: ignore[arg-type]
    assert live(snapshot) == {"f1"}
    assert snapshot.anchor is not None
