"""Pools: results in order, errors that do not depend on chance, and no call that waits for another pool's threads."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from indextables.core.runtime.threads import CPU, IO, Inline, Pool, Workers


@pytest.mark.parametrize("workers", [Inline(), IO, CPU, Pool(2), Pool(2, caller_helps=False)])
def test_results_are_in_the_order_of_the_calls(workers: Workers) -> None:
    def call(number: int) -> int:
        time.sleep(0.001 * (number % 3))
        return number

    calls = [lambda number=number: call(number) for number in range(40)]  # type: ignore[misc]
    assert workers.together(calls) == list(range(40))
    assert workers.together(calls, limit=2) == list(range(40))
    assert workers.together([]) == []


@pytest.mark.parametrize("helps", [True, False])
def test_of_several_errors_the_first_call_s_is_raised(helps: bool) -> None:
    """However late it fails: calls begin in order, so that its failure is always seen."""
    pool, second = Pool(3, caller_helps=helps), threading.Event()

    def late() -> None:
        assert second.wait(30)
        raise ValueError("first")

    def early() -> None:
        second.set()
        raise ValueError("second")

    with pytest.raises(ValueError, match="first"):
        pool.together([late, early])


def test_an_interrupt_is_raised_before_any_error() -> None:
    begun = threading.Event()

    def fail() -> None:
        assert begun.wait(30)
        raise ValueError("of a call")

    def interrupted() -> None:
        begun.set()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Pool(2).together([fail, interrupted])


def test_the_caller_does_not_wait_for_threads_that_are_busy_elsewhere() -> None:
    pool, go_on, begun = Pool(2, background=1), threading.Event(), threading.Barrier(5)

    def busy() -> None:
        begun.wait(30)
        go_on.wait(30)

    assert pool.begin(busy)
    with ThreadPoolExecutor(1) as other:
        others = other.submit(pool.together, [busy, busy, busy], limit=3)
        begun.wait(30)
        here = threading.get_ident()
        assert pool.together([threading.get_ident] * 5) == [here] * 5
        go_on.set()
        others.result(30)


def test_background_calls_have_a_limit_and_make_room_again() -> None:
    pool, go_on, done = Pool(1, background=2), threading.Event(), threading.Semaphore(0)

    def busy() -> None:
        go_on.wait(30)
        done.release()

    assert [pool.begin(busy) for _ in range(3)] == [True, True, False]
    go_on.set()
    assert all(done.acquire(timeout=30) for _ in range(2))
    for _ in range(1_000):
        if pool.begin(lambda: None):
            break
        time.sleep(0.01)
    else:
        pytest.fail("there was no room again")
    assert not Pool(1).begin(lambda: None), "a pool without background calls has none"


def test_a_call_inside_a_pool_does_not_need_its_threads() -> None:
    pool = Pool(2)
    nested = [lambda: pool.together([threading.get_ident] * 3)] * 4
    assert all(len(set(idents)) == 1 for idents in pool.together(nested)[1:])


def test_what_takes_too_long_is_left_behind() -> None:
    pool, go_on, ran = Pool(1), threading.Event(), list[int]()
    with pytest.raises(TimeoutError, match=r"after 0\.05 seconds"):
        pool.together([lambda: go_on.wait(30), lambda: ran.append(1)], timeout_seconds=0.05)
    go_on.set()
    assert not pool.together([lambda: ran], timeout_seconds=30)[0]
