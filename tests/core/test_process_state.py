"""Values of one process, the one cache of the package, and native threads: what a fork keeps, and what it makes anew."""

from __future__ import annotations

import gc
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from forked import true_in_child
from indextables.core.runtime.process_state import Lru, NativeRuntime, ProcessLocal

forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


@forks
def test_a_child_makes_its_own_value_and_the_parent_keeps_its_own() -> None:
    local: ProcessLocal[list[int]] = ProcessLocal(list)
    before = local.value
    before.append(1)
    assert true_in_child(lambda: local.value == [] and local.value is not before and before == [1])
    assert local.value is before
    assert before == [1]


@forks
def test_a_child_of_a_child_makes_its_own_value_too() -> None:
    local: ProcessLocal[list[int]] = ProcessLocal(list)

    def child() -> bool:
        local.value.append(2)
        return true_in_child(lambda: local.value == [])

    assert true_in_child(child)


def test_a_value_is_forgotten_with_its_owner() -> None:
    local: ProcessLocal[set[int]] = ProcessLocal(set)
    gone = weakref.ref(local)
    del local
    gc.collect()
    assert gone() is None


@forks
def test_native_threads_are_lost_in_the_child_of_a_process_that_used_them() -> None:
    unused, used = NativeRuntime(), NativeRuntime()
    used.use()
    assert used.usable

    def child() -> bool:
        fresh = unused.usable
        unused.use()
        return fresh and unused.usable and not used.usable and true_in_child(lambda: not (unused.usable or used.usable))

    assert true_in_child(child)
    assert unused.usable
    assert used.usable


@given(
    steps=st.lists(st.tuples(st.sampled_from(["get", "put", "load", "pop", "in"]), st.integers(0, 6)), max_size=60),
    capacity=st.integers(1, 5),
)
@settings(max_examples=examples(200), deadline=None)
def test_a_cache_by_count_agrees_with_a_simple_one(steps: list[tuple[str, int]], capacity: int) -> None:
    lru: Lru[int, str] = Lru(capacity)
    model: OrderedDict[int, str] = OrderedDict()

    def put(key: int, value: str) -> None:
        model[key] = value
        model.move_to_end(key)
        while len(model) > capacity:
            model.popitem(last=False)

    for number, (step, key) in enumerate(steps):
        fresh = f"{key}#{number}"
        match step:
            case "get":
                assert lru.get(key) == model.get(key)
                if key in model:
                    model.move_to_end(key)
            case "put":
                lru.put(key, fresh)
                put(key, fresh)
            case "load":
                expected = model.get(key, fresh)
                assert lru.get_or_load(key, lambda fresh=fresh: fresh) == expected  # type: ignore[misc]
                put(key, expected)
            case "pop":
                lru.pop(key)
                model.pop(key, None)
            case _:
                assert (key in lru) == (key in model)
        assert lru.listed() == list(model)
        assert len(lru) == len(model)


@given(weights=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 120)), max_size=60))
@settings(max_examples=examples(200), deadline=None)
def test_a_cache_by_weight_never_holds_more_than_its_capacity(weights: list[tuple[int, int]]) -> None:
    lru: Lru[int, bytes] = Lru(100, weigh=len)
    model: OrderedDict[int, bytes] = OrderedDict()
    for key, weight in weights:
        lru.put(key, bytes(weight))
        model[key] = bytes(weight)
        model.move_to_end(key)
        while sum(map(len, model.values())) > 100:
            model.popitem(last=False)
        assert lru.listed() == list(model)
        assert lru.weight == sum(map(len, model.values())) <= 100
    lru.clear()
    assert (len(lru), lru.weight) == (0, 0)


def test_a_value_that_is_too_heavy_is_loaded_and_not_kept() -> None:
    lru: Lru[str, bytes] = Lru(10, weigh=len)
    assert lru.get_or_load("a", lambda: bytes(11)) == bytes(11)
    assert "a" not in lru


def test_threads_that_miss_the_same_key_call_one_loader_even_if_its_value_is_not_kept() -> None:
    threads, loads = 8, list[str]()
    lru: Lru[str, bytes] = Lru(10, weigh=len)
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> bytes:
        loads.append("slow")
        begun.set()
        assert go_on.wait(30)
        return bytes(11)

    with ThreadPoolExecutor(threads) as pool:
        waiting = [pool.submit(lru.get_or_load, "slow", slow) for _ in range(threads - 1)]
        assert begun.wait(30)
        assert pool.submit(lru.get_or_load, "other", lambda: b"1").result(30) == b"1", "it does not wait for the other"
        while lru.loading["slow"] < threads - 1:
            threading.Event().wait(0.001)
        go_on.set()
        found = [each.result(30) for each in waiting]
    assert loads == ["slow"]
    assert all(each is found[0] for each in found)
    assert not lru.loading


def test_a_loader_that_fails_is_followed_by_the_next_one() -> None:
    lru: Lru[str, int] = Lru(3)
    both, failing = threading.Event(), threading.Event()

    def fail() -> int:
        failing.set()
        assert both.wait(30)
        raise OSError("gone")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lru.get_or_load, "a", fail)
        assert failing.wait(30)
        second = pool.submit(lru.get_or_load, "a", lambda: 7)
        both.set()
        with pytest.raises(OSError, match="gone"):
            first.result(30)
        assert second.result(30) == 7
    assert lru.get("a") == 7
    assert not lru.loading


def test_many_threads_use_one_cache() -> None:
    lru: Lru[int, int] = Lru(20, weigh=lambda value: value % 7)

    def work(seed: int) -> bool:
        right = True
        for step in range(3_000):
            key = (seed * 31 + step * 17) % 50
            right &= lru.get_or_load(key, lambda key=key: key) == key  # type: ignore[misc]
            if step % 11 == 0:
                lru.pop(key)
        return right

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))
    assert lru.weight == sum(key % 7 for key in lru.listed()) <= 20


@forks
def test_a_child_keeps_the_entries_and_does_not_wait_for_loaders_of_the_parent() -> None:
    lru: Lru[str, int] = Lru(3)
    lru.put("kept", 1)
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> int:
        begun.set()
        assert go_on.wait(30)
        return 2

    thread = threading.Thread(target=lru.get_or_load, args=("slow", slow))
    thread.start()
    try:
        assert begun.wait(30)
        with lru.lock:
            assert true_in_child(lambda: lru.get("kept") == 1 and lru.get_or_load("slow", lambda: 3) == 3)
    finally:
        go_on.set()
        thread.join(30)
    assert lru.get("slow") == 2


class _AsksAgain:
    """A value that uses its cache once more when it is freed, as a callback of the garbage collector may."""

    def __init__(self, cache: Lru[str, object], freed: list[bool]) -> None:
        self._cache = cache
        self._freed = freed

    def __del__(self) -> None:
        self._freed.append(self._cache.get("other") is None)


@pytest.mark.parametrize("forget", [lambda c: c.put("b", 1), lambda c: c.put("a", 1), lambda c: c.pop("a"), Lru.clear])
def test_a_value_that_leaves_may_ask_the_cache_when_it_is_freed(forget: Callable[[Lru[str, object]], None]) -> None:
    freed: list[bool] = []
    for weigh in (None, lambda _: 1):
        cache: Lru[str, object] = Lru(1, weigh)
        cache.put("a", _AsksAgain(cache, freed))
        ended = threading.Thread(target=forget, args=(cache,), daemon=True)
        ended.start()
        ended.join(10)
        assert not ended.is_alive()
    assert freed == [True, True]


def test_a_loader_that_asks_for_its_own_key_does_not_wait_for_itself() -> None:
    cache: Lru[str, int] = Lru(4)
    loaded: list[int] = []
    thread = threading.Thread(
        target=lambda: loaded.append(cache.get_or_load("k", lambda: cache.get_or_load("k", lambda: 1) + 1)), daemon=True
    )
    thread.start()
    thread.join(10)
    assert loaded == [2]
    assert cache.get("k") == 2


def test_a_none_leaves_with_its_weight() -> None:
    cache: Lru[str, None] = Lru(10, lambda _: 3)
    for _ in range(6):
        cache.put("k", None)
    assert (cache.weight, len(cache)) == (3, 1)
