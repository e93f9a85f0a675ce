"""Several streams read ahead at the same time, and put together in order.

A thread here is there only while there is something to read: when enough lies ready it waits a moment and ends, and the
consumer starts another one with its next step. So a reader that somebody keeps without reading on, or closes in a way that we do
not hear of (Arrow's `RecordBatchReader.close` does not tell Python), costs no threads. What lies ready is bounded by its
number per stream and by its weight, except that the stream whose turn it is may always have one item.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

Start = Callable[[], Iterator[T]]
"""Begins a stream. Called, like the stream itself, by whichever thread has time, never by two at once."""

_READY: Final = 2
"""Items read ahead of each stream."""
_STREAMS_PER_THREAD: Final = 4
_LINGER_SECONDS: Final = 0.1
_JOIN_SECONDS: Final = 5.0
_END: Final[Any] = object()


def in_order(
    starts: Iterable[Start[T]],
    *,
    threads: int,
    weigh: Callable[[T], int] = lambda _: 0,
    budget: int = 1,
    patience: float = 0.0,
) -> Generator[T, None, None]:
    """The items of all streams, one stream after the other, read by up to so many threads.

    So many seconds of it are done by the caller's own thread, before others help: where all of it takes a few milliseconds, a
    thread costs more than it brings, because Python's threads hand over to each other in steps of five.

    What a stream raises is raised here, in its turn. Closing the iterator, or an interrupt, ends the threads before it
    returns, unless one hangs in a read: then it ends by itself after it.
    """
    given = iter(starts)
    began = time.perf_counter()
    while patience > 0 and time.perf_counter() - began < patience:
        start = next(given, None)
        if start is None:
            return
        yield from start()
    first = list(islice(given, 2))
    if threads < 2 or len(first) < 2:
        for start in (*first, *given):
            yield from start()
        return
    streams = _Streams(first, given, threads, weigh, budget)
    try:
        yield from streams.items()
    finally:
        streams.stop()


class _Lane(Generic[T]):
    """One stream and what was read of it."""

    __slots__ = ("ended", "error", "iterator", "ready", "running", "start")

    def __init__(self, start: Start[T]) -> None:
        self.start = start
        self.iterator: Iterator[T] | None = None
        self.ready: deque[tuple[T, int]] = deque()
        self.running = False
        self.ended = False
        self.error: BaseException | None = None


class _Streams(Generic[T]):
    def __init__(
        self, first: list[Start[T]], others: Iterator[Start[T]], threads: int, weigh: Callable[[T], int], budget: int
    ) -> None:
        self._lanes: deque[_Lane[T]] = deque(_Lane(start) for start in first)
        self._others = others
        self._most = threads
        self._weigh = weigh
        self._budget = budget
        self._held = 0
        self._busy = 0
        self._reading = 0
        """Threads that will look for work or are at it."""
        self._threads: set[threading.Thread] = set()
        """The same, and those that are about to end."""
        self._stopped = False
        lock = threading.Lock()
        self._work = threading.Condition(lock)
        self._news = threading.Condition(lock)

    def items(self) -> Iterator[T]:
        """What the consumer sees."""
        while True:
            self._top_up()
            if not self._lanes:
                return
            while (item := self._next(self._lanes[0])) is not _END:
                yield item
            with self._work:
                self._lanes.popleft()

    def stop(self) -> None:
        """Read no further, and wait for the threads."""
        deadline = time.monotonic() + _JOIN_SECONDS
        here = threading.current_thread()
        with self._work:
            self._stopped = True
            self._work.notify_all()
            # One whose start was interrupted cannot be joined yet, but it will say when it has ended.
            while self._reading > (here in self._threads) and (left := deadline - time.monotonic()) > 0:
                self._news.wait(left)
        for thread in self._threads - {here}:
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))
        for lane in self._lanes:
            close = getattr(lane.iterator, "close", None)
            if close is not None and not lane.running:
                close()

    def _top_up(self) -> None:
        missing = self._most * _STREAMS_PER_THREAD - len(self._lanes)
        lanes = [_Lane(start) for start in islice(self._others, missing)]
        with self._work:
            self._lanes.extend(lanes)

    def _next(self, lane: _Lane[T]) -> Any:
        with self._work:
            while not lane.ready:
                if lane.error is not None:
                    raise lane.error
                if lane.ended:
                    return _END
                self._hire()
                self._news.wait()
            item, weight = lane.ready.popleft()
            self._held -= weight
            self._hire()
            return item

    def _hire(self) -> None:
        """See to it that there is a thread for each lane that may be read, as far as that is allowed."""
        free = self._reading - self._busy
        wanted = sum(1 for _ in islice(self._readable(), self._most))
        self._work.notify(min(free, wanted))
        for _ in range(min(wanted - free, self._most - self._reading)):
            thread = threading.Thread(target=self._read, name="indextables-scan")
            self._threads = {known for known in self._threads if known.is_alive()} | {thread}
            self._reading += 1
            try:
                thread.start()
            except RuntimeError:  # there can be no more threads
                self._reading -= 1
                raise

    def _readable(self) -> Iterator[_Lane[T]]:
        for number, lane in enumerate(self._lanes):
            if number and self._held >= self._budget:
                return
            if not lane.running and not lane.ended and len(lane.ready) < _READY:
                yield lane

    def _read(self) -> None:
        with self._work:
            patient = True
            while not self._stopped:
                lane = next(self._readable(), None)
                if lane is not None:
                    self._advance(lane)
                    patient = True
                elif patient:  # a look at the lanes follows in any case: a call may come in the moment that it ends
                    patient = self._work.wait(_LINGER_SECONDS)
                else:
                    break
            self._reading -= 1
            self._news.notify()

    def _advance(self, lane: _Lane[T]) -> None:
        """Read one item, without the lock."""
        lane.running = True
        self._busy += 1
        item, weight, error = _END, 0, None
        self._work.release()
        try:
            if lane.iterator is None:
                lane.iterator = lane.start()
            item = next(lane.iterator, _END)
            if item is not _END:
                weight = self._weigh(item)
        except BaseException as caught:  # noqa: BLE001 - raised again on the consumer's thread
            error = caught
        finally:
            self._work.acquire()
            self._busy -= 1
            lane.running = False
            lane.error = error
            lane.ended = error is not None or item is _END
            if not lane.ended:
                lane.ready.append((item, weight))
                self._held += weight
            self._news.notify()


__all__ = ["Start", "in_order"]
