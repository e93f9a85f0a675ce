"""Several streams read ahead at the same time, and put together in order.

The consumer's thread reads, too: what it needs next it reads itself, unless somebody is at it already, and then it reads what
comes later. So helpers only ever save time, and where all processors are taken, or there can be no more threads, nobody waits for
one.

Helpers come from a pool, and stay only while there is something to read: when enough lies ready they wait a moment and go, and
the consumer calls another one with its next step. So a reader that somebody keeps without reading on, or closes in a way that
we do not hear of (Arrow's `RecordBatchReader.close` does not tell Python), costs no threads. What lies ready is bounded by its
number per stream and by its weight, except that the stream whose turn it is may always have one item.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final, Generic, TypeVar

from indextables.core.runtime.threads import Threads

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
    """The items of all streams, one stream after the other, read by up to so many threads, the caller's among them.

    So many seconds of it are done by the caller's own thread, before others help: where all of it takes a few milliseconds, a
    thread costs more than it brings.

    What a stream raises is raised here, in its turn. Closing the iterator, or an interrupt, ends the reading before it
    returns, unless a helper hangs in a read: then that ends by itself after it.
    """
    given = iter(starts)
    if patience > 0 or threads < 2:
        begun = yield from _alone(given, patience if threads > 1 else float("inf"))
        given = chain(map(_going_on, begun), given)
    first = list(islice(given, 2))
    if len(first) < 2:
        for start in first:
            yield from start()
        return
    streams = _Streams(first, given, threads - 1, weigh, budget)
    try:
        yield from streams.items()
    finally:
        streams.stop()


def _alone(given: Iterator[Start[T]], patience: float) -> Generator[T, None, list[Iterator[T]]]:
    """What the caller's thread reads within its patience. Returns the stream in the middle of which that ended, if any."""
    began = time.perf_counter()
    for start in given:
        stream = start()
        try:
            for item in stream:
                yield item
                if time.perf_counter() - began >= patience:
                    return [stream]
        except BaseException:
            _close(stream)
            raise
        if time.perf_counter() - began >= patience:
            break
    return []


def _going_on(stream: Iterator[T]) -> Start[T]:
    return lambda: stream


def _close(stream: Any) -> None:
    close = getattr(stream, "close", None)
    if close is not None:
        close()


_HELPERS: Final = Threads(64)


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
        self._called = 0
        """Helpers that will look for work or are at it."""
        self._inside: set[threading.Thread] = set()
        """Those of them that have come."""
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
        """Read no further, and wait for the helpers that are at it. Others will see that there is nothing to do."""
        deadline = time.monotonic() + _JOIN_SECONDS
        here = threading.current_thread()
        with self._work:
            self._stopped = True
            self._work.notify_all()
            while self._inside - {here} and (left := deadline - time.monotonic()) > 0:
                self._news.wait(left)
        for lane in self._lanes:
            if not lane.running:
                _close(lane.iterator)

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
                mine = lane if not lane.running else next(self._readable(), None)
                if mine is None:
                    self._call_helpers()
                    self._news.wait()
                    continue
                mine.running = True
                self._call_helpers()
                self._advance(mine)
                if mine.error is not None and not isinstance(mine.error, Exception):
                    raise mine.error  # an interrupt was meant for this thread, whatever it was reading
            item, weight = lane.ready.popleft()
            self._held -= weight
            self._call_helpers()
            return item

    def _call_helpers(self) -> None:
        """See to it that there is a helper for each lane that may be read, as far as that is allowed."""
        free = self._called - self._busy
        wanted = sum(1 for _ in islice(self._readable(), self._most))
        self._work.notify(min(free, wanted))
        for _ in range(min(wanted - free, self._most - self._called)):
            if not _HELPERS.begin(self._help):
                return
            self._called += 1

    def _readable(self) -> Iterator[_Lane[T]]:
        for number, lane in enumerate(self._lanes):
            if number and self._held >= self._budget:
                return
            if not lane.running and not lane.ended and len(lane.ready) < _READY:
                yield lane

    def _help(self) -> None:
        here = threading.current_thread()
        with self._work:
            name, here.name = here.name, "indextables-scan"
            self._inside.add(here)
            patient = True
            while not self._stopped:
                lane = next(self._readable(), None)
                if lane is not None:
                    self._busy += 1
                    self._advance(lane)
                    self._busy -= 1
                    patient = True
                elif patient:  # a look at the lanes follows in any case: a call may come in the moment that it ends
                    patient = self._work.wait(_LINGER_SECONDS)
                else:
                    break
            here.name = name
            self._inside.discard(here)
            self._called -= 1
            self._news.notify()

    def _advance(self, lane: _Lane[T]) -> None:
        """Read one item, without the lock."""
        lane.running = True
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
            lane.running = False
            lane.error = error
            lane.ended = error is not None or item is _END
            if not lane.ended:
                lane.ready.append((item, weight))
                self._held += weight
            self._news.notify()


__all__ = ["Start", "in_order"]
