"""Retrying, Counting and Faulty."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from indextables.core.errors import AccessDenied, ObjectExists, ObjectNotFound, StorageError, StoreUnavailable
from indextables.core.options import Options
from indextables.core.runtime.threads import Pool
from indextables.storage.resolve import resolve
from indextables.storage.retrying import Retrying
from indextables.storage.store import ObjectMeta, Store
from indextables.storage.testing.counting import Counting
from indextables.storage.testing.faulty import Died, Fault, Faulty, Plan
from storage.helpers import FakeClock


@pytest.fixture
def memory(request: pytest.FixtureRequest) -> Store:
    return resolve(f"memory://wrappers/{request.node.name}", Options()).open(retrying=False)


def failing(store: Store, times: int, at: int = 1) -> Faulty:
    return Faulty(store, Plan(at, Fault.FAIL_BEFORE, times=times))


VERBS: dict[str, Callable[[Store], Any]] = {
    "get": lambda store: store.get("a"),
    "get_range": lambda store: store.get_range("a", 0, 1),
    "get_ranges": lambda store: store.get_ranges("a", [(0, 1)]),
    "head": lambda store: store.head("a"),
    "put": lambda store: store.put("a", b"2"),
    "list": lambda store: list(store.list("")),
    "delete": lambda store: store.delete(["a"]),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_request_is_repeated_until_it_works(memory: Store, clock: FakeClock, verb: str) -> None:
    memory.put("a", b"1")
    expected = VERBS[verb](memory)
    memory.put("a", b"1")
    faulty = failing(memory, times=3)
    found = VERBS[verb](Retrying(faulty, clock, max_attempts=4, base_delay_ms=100, max_delay_ms=250))
    if verb not in ("get", "head", "list"):
        assert found == expected
    assert faulty.calls == ((verb, "" if verb == "list" else "a"),) * 4
    assert clock.slept == [0.1, 0.2, 0.25]


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "delete"])
def test_in_the_end_the_error_is_raised(memory: Store, clock: FakeClock, verb: str) -> None:
    memory.put("a", b"1")
    faulty = failing(memory, times=99)
    with pytest.raises(StoreUnavailable) as caught:
        VERBS[verb](Retrying(faulty, clock, max_attempts=4))
    assert len(faulty.calls) == 4
    assert caught.value.attempts == 4


def test_in_the_end_failed_deletes_are_reported(memory: Store, clock: FakeClock) -> None:
    failed = Retrying(failing(memory, times=99), clock, max_attempts=4).delete(["a", "b"])
    assert {key: type(error) for key, error in failed.items()} == {"a": StoreUnavailable, "b": StoreUnavailable}
    assert len(clock.slept) == 3


def test_a_create_is_never_repeated(memory: Store, clock: FakeClock) -> None:
    for fault in (Fault.FAIL_BEFORE, Fault.FAIL_AFTER):
        faulty = Faulty(memory, Plan(1, fault))
        with pytest.raises(StoreUnavailable):
            Retrying(faulty, clock).create(fault.name, b"1")
        assert len(faulty.calls) == 1
    assert clock.slept == []


def test_what_would_not_help_is_not_repeated(memory: Store, clock: FakeClock) -> None:
    counting = Counting(memory)
    with pytest.raises(ObjectNotFound):
        Retrying(counting, clock).get("absent")
    assert counting.counts == {"get": 1}


def test_jitter_is_full() -> None:
    clock = FakeClock(jitter=0.25)
    store = resolve("memory://wrappers/jitter", Options()).open(retrying=False)
    store.put("a", b"")
    Retrying(failing(store, times=2), clock, base_delay_ms=1000, max_delay_ms=10_000).get("a")
    assert clock.slept == [0.25, 0.5]


class BreakingList:
    """A listing that breaks after every second key."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner
        self.asked: list[str | None] = []

    def list(self, prefix: str, after: str | None = None) -> Iterator[ObjectMeta]:
        self.asked.append(after)
        for number, meta in enumerate(self._inner.list(prefix, after)):
            if number == 2:
                raise StoreUnavailable("broken off")
            yield meta


def test_a_listing_goes_on_where_it_broke(memory: Store, clock: FakeClock) -> None:
    for key in "abcdefg":
        memory.put(key, b"")
    breaking = BreakingList(memory)
    listing = Retrying(breaking, clock, max_attempts=2).list("")  # type: ignore[arg-type]
    assert [meta.key for meta in listing] == list("abcdefg")
    assert breaking.asked == [None, "b", "d", "f"]


class PartialDelete:
    """Fails for some keys, each a number of times."""

    def __init__(self, inner: Store, failures: dict[str, list[StorageError]]) -> None:
        self._inner = inner
        self._failures = failures
        self.asked: list[list[str]] = []

    def delete(self, keys: Sequence[str]) -> dict[str, StorageError]:
        self.asked.append(list(keys))
        return {key: self._failures[key].pop() for key in keys if self._failures.get(key)}


def test_only_what_may_be_repeated_is_deleted_again(memory: Store, clock: FakeClock) -> None:
    lost, denied = StoreUnavailable("x"), AccessDenied("y")
    partial = PartialDelete(memory, {"b": [lost, lost], "c": [denied], "d": [lost]})
    assert Retrying(partial, clock).delete(["a", "b", "c", "d"]) == {"c": denied}  # type: ignore[arg-type]
    assert partial.asked == [["a", "b", "c", "d"], ["b", "d"], ["b"]]


def test_counting(memory: Store) -> None:
    store = Counting(memory)
    assert store.root == memory.root
    store.create("a", b"12")
    store.put("b/c", b"345")
    store.get("a")
    store.get_range("a", 0, 1)
    store.get_ranges("b/c", [(0, 1), (1, 3)])
    store.head("a")
    assert len(list(store.list("b"))) == 1
    store.delete(["a", "b/c"])
    assert store.counts == dict.fromkeys(
        ("create", "put", "get", "get_range", "get_ranges", "head", "list", "delete"), 1
    )
    moved = {"create": 2, "put": 3, "get": 2, "get_range": 1, "get_ranges": 3, "head": 0, "list": 0, "delete": 0}
    assert store.bytes_moved == moved
    assert store.keys == ("a", "b/c", "a", "a", "b/c", "a", "b", "a", "b/c")
    assert store.rounds == 8
    store.reset()
    assert (store.requests, store.rounds) == ((), 0)


def test_failed_requests_count_too(memory: Store) -> None:
    store = Counting(memory)
    with pytest.raises(ObjectNotFound):
        store.get("absent")
    assert (store.counts, store.rounds) == ({"get": 1}, 1)


def test_requests_side_by_side_are_one_round(memory: Store) -> None:
    memory.put("a", b"")
    store = Counting(memory, latency_seconds=0.1)
    Pool(4).together([lambda: store.get("a"), lambda: store.head("a"), lambda: next(store.list(""))])
    assert (len(store.requests), store.rounds) == (3, 1)
    store.get("a")
    assert store.rounds == 2


def test_rounds_are_the_longest_chain(memory: Store) -> None:
    """One long request beside three short ones after each other: three rounds."""
    memory.put("a", b"")
    store = Counting(memory)
    with store._request("get", "long"):
        for _ in range(3):
            store.head("a")
    assert store.rounds == 3


def test_a_listing_counts_its_pages(memory: Store) -> None:
    for number in range(1001):
        memory.put(f"{number:04d}", b"")
    store = Counting(memory)
    assert len(list(store.list(""))) == 1001
    assert store.counts == {"list": 2}
    store.reset()
    next(store.list(""))
    assert store.counts == {"list": 1}


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("verb", ["create", "put"])
def test_faults_of_writes(memory: Store, fault: Fault, verb: str) -> None:
    store = Faulty(memory, Plan(2, fault))
    getattr(store, verb)("a", b"1")
    with pytest.raises((StorageError, Died)) as caught:
        getattr(store, verb)("b", b"2")
    expected = {
        Fault.FAIL_BEFORE: StoreUnavailable,
        Fault.FAIL_AFTER: StoreUnavailable,
        Fault.DIE_BEFORE: Died,
        Fault.DIE_AFTER: Died,
        Fault.CONFLICT: ObjectExists if verb == "create" else StoreUnavailable,
    }
    assert type(caught.value) is expected[fault]
    happened = fault in (Fault.FAIL_AFTER, Fault.DIE_AFTER)
    assert [meta.key for meta in memory.list("")] == (["a", "b"] if happened else ["a"])
    assert store.fired == (Plan(2, fault),)


@pytest.mark.parametrize("fault", [Fault.DIE_BEFORE, Fault.DIE_AFTER])
def test_the_dead_make_no_requests(memory: Store, fault: Fault) -> None:
    store = Faulty(memory, Plan(1, fault))
    with pytest.raises(Died):
        store.head("a")
    asks: list[Callable[[], object]] = [
        lambda: store.put("a", b""),
        lambda: store.delete(["a"]),
        lambda: list(store.list("")),
    ]
    for ask in asks:
        with pytest.raises(Died):
            ask()
    assert not issubclass(Died, Exception)


def test_faults_of_listings_and_deletes(memory: Store) -> None:
    for key in "abc":
        memory.put(key, b"")
    store = Faulty(memory, Plan(1, Fault.FAIL_AFTER), Plan(2, Fault.FAIL_BEFORE), Plan(3, Fault.FAIL_AFTER))
    listing = store.list("")
    assert next(listing).key == "a"
    with pytest.raises(StoreUnavailable):
        next(listing)
    assert store.delete(["a", "b"]).keys() == {"a", "b"}
    assert len(list(memory.list(""))) == 3
    assert store.delete(["a", "b"]).keys() == {"a", "b"}
    assert len(list(memory.list(""))) == 1
    assert len(store.fired) == 3


def test_only_mutations_are_counted(memory: Store) -> None:
    store = Faulty(memory, Plan(1, Fault.CONFLICT), mutations_only=True)
    assert list(store.list("")) == []
    with pytest.raises(ObjectNotFound):
        store.get("a")
    with pytest.raises(ObjectExists):
        store.create("a", b"")
    store.create("a", b"")
    assert store.calls == (("create", "a"), ("create", "a"))


def test_wrappers_show_what_they_wrap(tmp_path: Path) -> None:
    store = Retrying(Counting(Faulty(resolve(tmp_path, Options()).open(retrying=False))))
    assert store.root == str(tmp_path)
    assert repr(store) == f"Retrying(Counting(Faulty(LocalStore({str(tmp_path)!r}))))"
