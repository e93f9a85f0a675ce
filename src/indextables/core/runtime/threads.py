"""Doing several independent things at the same time, with one place to replace when a test wants an order of its own.

`Workers.together` runs callables side by side and returns their results in order. The first callable runs on the calling
thread, so two requests cost one hand-over. An exception of any of them is raised once all have ended: nothing is left
running behind a caller's back. A call made from inside a worker runs its callables one after the other, so that nesting
cannot exhaust the pool.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


class Workers(Protocol):
    """Runs independent callables."""

    def together(
        self, calls: Sequence[Callable[[], T]], *, limit: int | None = None, timeout_seconds: float | None = None
    ) -> list[T]:
        """Run `calls`, at most `limit` at a time, and return their results in order.

        Raises TimeoutError when `timeout_seconds` pass first; calls that have not begun are then dropped.
        """
        ...


class Inline:
    """Runs everything on the calling thread, in order. For tests, and for callers that must not use threads."""

    def together(
        self, calls: Sequence[Callable[[], T]], *, limit: int | None = None, timeout_seconds: float | None = None
    ) -> list[T]:
        """See `Workers.together`."""
        del limit, timeout_seconds
        return [call() for call in calls]


class Threads:
    """Runs callables on a shared pool of daemon-like threads. Safe to use after fork: the child makes its own pool."""

    def __init__(self, max_workers: int = 32) -> None:
        self._max_workers = max_workers
        self._pool: ThreadPoolExecutor | None = None
        self._owner = -1
        self._lock = threading.Lock()
        self._inside = threading.local()

    def together(
        self, calls: Sequence[Callable[[], T]], *, limit: int | None = None, timeout_seconds: float | None = None
    ) -> list[T]:
        """See `Workers.together`."""
        if (len(calls) <= 1 and timeout_seconds is None) or limit == 1 or getattr(self._inside, "yes", False):
            return [call() for call in calls]
        queue = _Queue(calls)
        helpers = min(len(calls), limit or self._max_workers)
        if timeout_seconds is None:
            helpers -= 1
        pool = self._executor()
        futures = [pool.submit(self._work, queue) for _ in range(helpers)]
        if timeout_seconds is None:
            queue.drain()
        _join(futures, queue, timeout_seconds)
        return queue.results()

    def begin(self, call: Callable[[], None]) -> bool:
        """Run `call` on a thread of the pool, without waiting for it. False where there can be no more threads."""
        try:
            self._executor().submit(call)
        except RuntimeError:  # the machine has none left, or the interpreter is about to end
            return False
        return True

    def _work(self, queue: _Queue[T]) -> None:
        self._inside.yes = True
        try:
            queue.drain()
        finally:
            self._inside.yes = False

    def _executor(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None or self._owner != os.getpid():
                self._pool = ThreadPoolExecutor(self._max_workers, thread_name_prefix="indextables")
                self._owner = os.getpid()
            return self._pool


class _Queue(Generic[T]):
    """The callables still to run, and the results of the others."""

    def __init__(self, calls: Sequence[Callable[[], T]]) -> None:
        self._calls = calls
        self._done: list[T | None] = [None] * len(calls)
        self._next = 0
        self._error: BaseException | None = None
        self._lock = threading.Lock()

    def drain(self) -> None:
        while (index := self._take()) is not None:
            try:
                self._done[index] = self._calls[index]()
            except BaseException as error:  # noqa: BLE001 - raised again by results(), on the caller's thread
                self.stop(error)

    def stop(self, error: BaseException) -> None:
        with self._lock:
            self._error = self._error or error
            self._next = len(self._calls)

    def results(self) -> list[T]:
        if self._error is not None:
            raise self._error
        return self._done  # type: ignore[return-value]

    def _take(self) -> int | None:
        with self._lock:
            if self._next >= len(self._calls):
                return None
            self._next += 1
            return self._next - 1


def _join(futures: list[Future[None]], queue: _Queue[T], timeout_seconds: float | None) -> None:
    try:
        _, pending = wait(futures, timeout=timeout_seconds)
    except BaseException as error:
        queue.stop(error)
        raise
    if pending:
        queue.stop(TimeoutError(f"not finished after {timeout_seconds} seconds"))


THREADS = Threads()
