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

from indextables.core.runtime.threads import IO

T = TypeVar("T")

Start = Callable[[], Iterator[T]]
"""Begins a stream. Called, like the stream itself, by whichever thread has time, never by two at once."""

_READY: Final = 2
"""Items read ahead of each stream: one that the consumer takes next, and one that is read meanwhile."""
_STREAMS_PER_THREAD: Final = 4
"""Streams that are open at a time for each helper: enough that a helper finds one to read while others are full."""
_LINGER_SECONDS: Final = 0.1
"""Seconds that a helper without work waits for more before it goes: a consumer mostly comes back sooner than that."""
_JOIN_SECONDS: Final = 5.0
"""Seconds that closing waits for helpers in the middle of a read. A read that hangs longer ends by itself, unheard."""
_END: Final[Any] = object()
"""Stands for the end of a stream where an item would stand."""


def in_order(
    starts: Iterable[Start[T]],
    *,
    threads: int,
    weigh: Callable[[T], int] = lambda _: 0,
    budget: int = 1,
    patience: float = 0.0,
) -> Generator[T, None, None]:
    """The items of all streams, one stream after the other, read by at most `threads` threads, the caller's among them.

    The caller's thread reads alone for `patience` seconds before helpers come: where all reading takes a few milliseconds, a
    helper costs more than it brings. Reading ahead stops where the items that lie ready weigh `budget` together, as `weigh` says.

    An error of a stream is raised here, in the turn of its stream. Closing the iterator, or an interrupt, ends all reading before
    the iterator returns, unless a helper hangs in a read: then that read ends by itself later.
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
    """Items that the caller's thread reads alone, for `patience` seconds. Returns the stream that was begun and not ended."""
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


class _Lane(Generic[T]):
    """A stream, the items that were read of it, and its state (see `_Streams`)."""

    __slots__ = ("ended", "error", "iterator", "ready", "running", "start")

    def __init__(self, start: Start[T]) -> None:
        self.start = start
        self.iterator: Iterator[T] | None = None
        self.ready: deque[tuple[T, int]] = deque()
        self.running = False
        self.ended = False
        self.error: BaseException | None = None


class _Streams(Generic[T]):
    """The streams of one `in_order`, the items that lie ready, and the helpers that read ahead.

    Each lane (stream) is in one of four states:

        waiting ──a thread takes it──▶ reading ──┬──an item──▶ waiting, and ready if it was not
           ▲      running = True       (no lock) ├──the end──▶ ended
           │                                     └──an error─▶ ended, with the error
           └── ready: the consumer takes an item, and the lane may be read again

        waiting   not running, not ended, fewer than `_READY` items: any thread may take the lane (`_readable`)
        reading   running: one thread is inside `next(iterator)`, and no other thread touches the iterator
        ready     items lie in `lane.ready`; a lane with `_READY` of them is left alone until the consumer takes one
        ended     the iterator is used up or has failed; items that lie ready are still handed out, then the error

    The lock rule: one lock guards all fields of this object and of its lanes, and both conditions are made of that lock
    (`_work`: helpers wait for a lane to read; `_news`: the consumer and `stop` wait for a result or a helper that goes). Every
    method whose name begins with an underscore is called with the lock held, except `_top_up`, `_next` and `_help`, which take
    the lock themselves. Only `_advance` gives the lock up, for the time of one read, after it has set `running`; so a caller of
    `_advance` must look at all fields anew afterwards. The lanes' order is changed by the consumer alone.
    """

    def __init__(
        self, first: list[Start[T]], others: Iterator[Start[T]], threads: int, weigh: Callable[[T], int], budget: int
    ) -> None:
        self._lanes: deque[_Lane[T]] = deque(_Lane(start) for start in first)
        self._others = others
        self._most = threads
        self._weigh = weigh
        self._budget = budget
        self._held = 0
        """The weight of all items that lie ready."""
        self._busy = 0
        """Helpers that read at this moment."""
        self._called = 0
        """Helpers that were called and have not gone: they read, look for work, or have not come yet."""
        self._inside: set[threading.Thread] = set()
        """Threads of the helpers that have come and not gone."""
        self._stopped = False
        lock = threading.Lock()
        self._work = threading.Condition(lock)
        self._news = threading.Condition(lock)

    def items(self) -> Iterator[T]:
        """All items, in the order of the streams: the generator that the consumer reads."""
        while True:
            self._top_up()
            if not self._lanes:
                return
            while (item := self._next(self._lanes[0])) is not _END:
                yield item
            with self._work:
                self._lanes.popleft()

    def stop(self) -> None:
        """Read no further, and wait for the helpers in the middle of a read. Helpers that come later find nothing to do."""
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
        """Open more lanes, so that every helper finds some. Called by the consumer, without the lock."""
        missing = self._most * _STREAMS_PER_THREAD - len(self._lanes)
        lanes = [_Lane(start) for start in islice(self._others, missing)]
        with self._work:
            self._lanes.extend(lanes)

    def _next(self, lane: _Lane[T]) -> Any:
        """The next item of the first lane, or `_END`. The consumer reads the item itself where no helper is at it."""
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
            if not IO.begin(self._help):
                return
            self._called += 1

    def _readable(self) -> Iterator[_Lane[T]]:
        """Lanes that wait to be read, the first one first; beyond the budget of weight only the first one."""
        for number, lane in enumerate(self._lanes):
            if number and self._held >= self._budget:
                return
            if not lane.running and not lane.ended and len(lane.ready) < _READY:
                yield lane

    def _help(self) -> None:
        """The life of a helper: read what may be read, wait a moment where there is nothing, and go."""
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
        """Read one item of a lane. The lock is held by the caller, given up for the read, and held again at the end."""
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
