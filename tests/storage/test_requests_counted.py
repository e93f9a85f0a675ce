"""Requests and bytes of a process: compared with a store that remembers every request."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from forked import true_in_child
from indextables.core.errors import ObjectExists, ObjectNotFound, StorageError, StoreUnavailable
from indextables.core.metrics import METRICS
from indextables.core.options import Options
from indextables.core.profiler import PROFILER
from indextables.storage.resolve import resolve
from indextables.storage.retrying import BYTES_FETCHED, REQUESTS, Retrying
from indextables.storage.store import Store
from indextables.storage.testing.counting import Counting
from indextables.storage.testing.faulty import Fault, Faulty, Plan
from storage.helpers import FakeClock

KEYS = st.sampled_from(["a", "b", "c/d"])
STEPS: dict[str, Callable[[Store, str], Any]] = {
    "get": lambda store, key: store.get(key),
    "get_range": lambda store, key: store.get_range(key, 0, 2),
    "get_ranges": lambda store, key: store.get_ranges(key, [(0, 1), (1, 3)]),
    "head": lambda store, key: store.head(key),
    "create": lambda store, key: store.create(key, b"12345"),
    "put": lambda store, key: store.put(key, b"123"),
    "list": lambda store, _: list(store.list("")),
    "list one": lambda store, _: next(iter(store.list("")), None),
    "delete": lambda store, key: store.delete([key, "none"]),
}


def memory() -> Store:
    return resolve(f"memory://requests/{uuid.uuid4().hex}", Options()).open(retrying=False)


class Since:
    """Requests and bytes that were counted since this was made."""

    def __init__(self) -> None:
        self._requests, self._bytes = REQUESTS.total, BYTES_FETCHED.total

    @property
    def counted(self) -> tuple[int, int]:
        return REQUESTS.total - self._requests, BYTES_FETCHED.total - self._bytes


@given(steps=st.lists(st.tuples(st.sampled_from(sorted(STEPS)), KEYS), max_size=15))
@settings(max_examples=examples(150), deadline=None)
def test_every_request_is_counted(steps: list[tuple[str, str]]) -> None:
    inner = Counting(memory())
    store, since = Retrying(inner), Since()
    for step, key in steps:
        with suppress(ObjectNotFound, ObjectExists, StorageError):
            STEPS[step](store, key)
    fetched = sum(inner.bytes_moved[verb] for verb in ("get", "get_range", "get_ranges"))
    assert since.counted == (sum(inner.counts.values()), fetched)


def test_each_attempt_is_a_request(clock: FakeClock) -> None:
    inner = memory()
    inner.put("a", b"12345")
    since = Since()
    store = Retrying(Faulty(inner, Plan(1, Fault.FAIL_BEFORE, times=3)), clock, max_attempts=4)
    assert store.get("a").data == b"12345"
    assert since.counted == (4, 5)
    since = Since()
    with pytest.raises(StoreUnavailable):
        Retrying(Faulty(inner, Plan(1, Fault.FAIL_BEFORE, times=9)), clock, max_attempts=3).head("a")
    assert since.counted == (3, 0)


@pytest.mark.parametrize(("keys", "pages"), [(0, 1), (1, 1), (1_000, 1), (1_001, 2), (2_500, 3)])
def test_a_thousand_keys_are_a_page(keys: int, pages: int) -> None:
    store = Retrying(memory())
    for number in range(keys):
        store.put(f"k{number:05d}", b"")
    since = Since()
    assert sum(1 for _ in store.list("")) == keys
    assert since.counted == (pages, 0)
    since = Since()
    assert store.delete([f"k{number:05d}" for number in range(keys)]) == {}
    assert since.counted == (-(-keys // 1_000), 0)


def test_threads_lose_no_request() -> None:
    store = Retrying(memory())
    store.put("a", b"12345")
    since = Since()

    def work(_: int) -> None:
        for _ in range(50):
            store.get("a")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert since.counted == (400, 2_000)


def test_the_metrics_show_the_counts() -> None:
    counters = METRICS.counters()
    assert counters["indextables.storage.requests"] == REQUESTS.total
    assert counters["indextables.storage.bytes_fetched"] == BYTES_FETCHED.total


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_counts_its_own() -> None:
    Retrying(memory()).put("a", b"1")
    assert REQUESTS.total > 0
    assert true_in_child(lambda: (REQUESTS.total, BYTES_FETCHED.total) == (0, 0))


@pytest.fixture
def profiled() -> Iterator[None]:
    PROFILER.reset()
    PROFILER.enable()
    yield
    PROFILER.disable()
    PROFILER.reset()


@pytest.mark.usefixtures("profiled")
def test_requests_are_timed_while_the_profiler_is_enabled() -> None:
    store = Retrying(memory())
    for step in STEPS.values():
        with suppress(StorageError):
            step(store, "a")
    calls = {section.name: section.calls for section in PROFILER.sections() if section.category == "store"}
    assert calls.keys() == {"get", "get range", "get ranges", "head", "create", "put", "list", "delete"}
    PROFILER.disable()
    store.put("a", b"1")
    assert calls == {section.name: section.calls for section in PROFILER.sections() if section.category == "store"}
