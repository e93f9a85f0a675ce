"""Streams side by side: order, errors, bounds, and that nothing goes on behind the consumer's back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.runtime import ordered_streams
from indextables.core.runtime.ordered_streams import in_order


def scan_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "indextables-scan"]


def until(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def come_and_gone() -> bool:
    """Helpers stay a tenth of a second after their work, so nobody misses them."""
    return until(lambda: bool(scan_threads())) and until(lambda: not scan_threads())


@given(
    lengths=st.lists(st.integers(0, 6), max_size=30),
    threads=st.integers(1, 4),
    budget=st.sampled_from([1, 5, 10_000]),
    taken=st.none() | st.integers(0, 20),
)
@settings(max_examples=examples(50), deadline=None)
def test_items_come_in_order(lengths: list[int], threads: int, budget: int, taken: int | None) -> None:
    def stream(number: int) -> Iterator[tuple[int, int]]:
        for item in range(lengths[number]):
            if (number * 7 + item) % 5 == 0:
                time.sleep(0.0005)
            yield number, item

    starts = ((lambda number=number: stream(number)) for number in range(len(lengths)))
    expected = [(number, item) for number, length in enumerate(lengths) for item in range(length)]
    items = in_order(starts, threads=threads, weigh=lambda _: 1, budget=budget)
    if taken is None:
        assert list(items) == expected
    else:
        assert [item for item, _ in zip(items, range(taken), strict=False)] == expected[:taken]
        items.close()
    assert not scan_threads()


def test_streams_are_read_side_by_side() -> None:
    meet = threading.Barrier(3)

    def stream() -> Iterator[int]:
        meet.wait(5)
        yield 1

    assert sum(in_order([stream] * 3, threads=3)) == 3


def test_no_more_threads_than_allowed() -> None:
    seen: list[int] = []
    helping: list[int] = []

    def stream() -> Iterator[int]:
        for _ in range(3):
            seen.append(threading.get_ident())
            helping.append(len(scan_threads()))
            time.sleep(0.001)
            yield 1

    assert sum(in_order([stream] * 20, threads=3)) == 60
    assert max(helping) == 2, "beside the consumer"
    assert threading.get_ident() in seen


def test_the_consumer_reads_what_nobody_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered_streams.IO, "begin", lambda _call: False)
    here = threading.current_thread()
    streams_of_it = [lambda: iter([threading.current_thread()] * 3)] * 5
    assert list(in_order(streams_of_it, threads=4)) == [here] * 15


def test_an_interrupt_of_the_consumer_is_raised_at_once() -> None:
    entered = threading.Event()

    def slow() -> Iterator[int]:
        if threading.current_thread() is here:
            entered.wait(5)
            raise KeyboardInterrupt
        entered.set()
        time.sleep(0.05)
        yield 1

    here = threading.current_thread()
    with pytest.raises(KeyboardInterrupt):
        list(in_order([slow] * 4, threads=2))
    assert not scan_threads()


def test_patience_ends_in_the_middle_of_a_stream() -> None:
    closed: list[int] = []

    def stream(number: int) -> Iterator[tuple[int, int]]:
        try:
            for item in range(4):
                time.sleep(0.002)
                yield number, item
        finally:
            closed.append(number)

    def starts() -> list[Callable[[], Iterator[tuple[int, int]]]]:
        return [lambda number=n: stream(number) for n in range(4)]

    expected = [(number, item) for number in range(4) for item in range(4)]
    assert list(in_order(starts(), threads=2, patience=0.003)) == expected
    assert sorted(closed) == [0, 1, 2, 3]
    closed.clear()
    items = in_order(starts(), threads=2, patience=60)
    assert next(items) == (0, 0)
    items.close()
    assert closed == [0]


def test_one_stream_needs_no_thread() -> None:
    here = threading.current_thread()
    assert list(in_order([lambda: iter([threading.current_thread()])], threads=8)) == [here]
    assert list(in_order([lambda: iter([threading.current_thread()])] * 3, threads=1)) == [here] * 3


def test_an_error_is_raised_in_its_turn() -> None:
    def good() -> Iterator[int]:
        time.sleep(0.02)
        yield from (1, 2)

    def bad() -> Iterator[int]:
        yield 3
        raise LookupError("gone")

    items = in_order([good, bad, good], threads=3)
    assert [next(items), next(items), next(items)] == [1, 2, 3]
    with pytest.raises(LookupError, match="gone"):
        next(items)
    assert not scan_threads()


def test_an_error_between_streams() -> None:
    def starts() -> Iterator[Callable[[], Iterator[int]]]:
        yield from [lambda: iter([1])] * 2
        raise LookupError("no such file")

    with pytest.raises(LookupError, match="no such file"):
        list(in_order(starts(), threads=2))
    assert not scan_threads()


def test_reading_ahead_is_bounded_by_weight_and_number() -> None:
    read: list[int] = []

    def stream(number: int) -> Iterator[int]:
        for _ in range(100):
            read.append(number)
            yield number

    items = in_order([lambda number=n: stream(number) for n in range(100)], threads=2, weigh=lambda _: 10, budget=60)
    assert next(items) == 0
    assert come_and_gone(), "helpers go when there is nothing that they may read"
    assert len(read) <= 9
    for _ in range(99):
        assert next(items) == 0
    assert next(items) == 1
    items.close()


def test_a_consumer_that_stops_without_a_word_has_no_threads() -> None:
    items = in_order([lambda: iter(range(1000))] * 10, threads=4)
    assert next(items) == 0
    assert come_and_gone()
    assert [next(items) for _ in range(999)] == list(range(1, 1000)), "and it can go on"
    items.close()


def test_closing_closes_the_streams() -> None:
    closed: list[int] = []

    def stream(number: int) -> Iterator[int]:
        try:
            yield from range(100)
        finally:
            closed.append(number)

    items = in_order([lambda number=n: stream(number) for n in range(3)], threads=3)
    next(items)
    assert come_and_gone()
    items.close()
    assert sorted(closed) == [0, 1, 2]


class _Unlucky(threading.Condition):
    """Its calls come in the moment in which a wait ends by itself."""

    def wait(self, timeout: float | None = None) -> bool:
        called = super().wait(timeout)
        return called and timeout is None


def test_a_thread_that_is_about_to_end_is_not_counted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {name: getattr(threading, name) for name in ("Lock", "Thread", "current_thread")}
    monkeypatch.setattr(ordered_streams, "threading", SimpleNamespace(Condition=_Unlucky, **parts))
    monkeypatch.setattr(ordered_streams, "_LINGER_SECONDS", 0.05)
    found: list[int] = []

    def consume() -> None:
        for item in in_order([lambda: iter(range(60))] * 2, threads=2):
            found.append(item)
            if item % 6 == 0:
                time.sleep(0.01)

    consumer = threading.Thread(target=consume, daemon=True)
    consumer.start()
    consumer.join(20)
    assert found == [*range(60)] * 2
