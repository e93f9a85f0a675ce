"""Independent calls side by side, with one place to replace when a test wants an order of its own.

    caller ──▶ Workers.together(calls) ──▶ Inline   one after the other, on the caller's thread (tests, a simulation)
                                      └──▶ Pool     IO: calls that mostly wait     CPU: calls that decode or pack

`Workers.together` runs callables side by side and returns their results in order. An exception of a call is raised once all calls
that began have ended: no call is left running behind the caller's back. A `together` inside a call of the same pool runs its
callables one after the other, so that nesting cannot exhaust the pool.

The process has two pools. `IO` has more threads than there are processors, because its calls mostly wait for a store, and the
caller's thread takes calls too: two requests cost one hand-over. `CPU` has one thread for each processor, and the caller only
waits: memory allocators keep what a thread frees for that thread, so more threads would not be faster, only larger.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Final, Generic, Protocol, TypeVar

from indextables.core.runtime.process_state import ProcessLocal

T = TypeVar("T")

_IO_CALLS: Final = 32
"""Calls of `IO.together` that run at a time: requests to stores, which answer in tens of milliseconds. More of them make
stores refuse.
"""
_IO_BACKGROUND: Final = 64
"""Calls of `IO.begin` that run at a time: helpers that read streams ahead, however many streams are open. A scan of a remote
table has seven helpers on a machine of eight processors or fewer, so nine such scans get all of theirs.
"""


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


class Pool:
    """Runs callables on threads that are started when they are first needed. A forked child starts threads of its own."""

    def __init__(
        self, threads: int = _IO_CALLS, *, background: int = 0, caller_helps: bool = True, name: str = "indextables"
    ) -> None:
        """At most `threads` calls of `together` and `background` calls of `begin` run at a time.

        With `caller_helps` the thread that calls `together` takes calls too.
        """
        self._threads = threads
        self._background = background
        self._caller_helps = caller_helps
        self._name = name
        self._running = ProcessLocal(self._begin_process)
        self._inside = threading.local()

    def together(
        self, calls: Sequence[Callable[[], T]], *, limit: int | None = None, timeout_seconds: float | None = None
    ) -> list[T]:
        """See `Workers.together`."""
        if (len(calls) <= 1 and timeout_seconds is None) or limit == 1 or getattr(self._inside, "yes", False):
            return [call() for call in calls]
        queue = _Queue(calls)
        helps = self._caller_helps and timeout_seconds is None
        helpers = min(len(calls), limit or self._threads) - helps
        executor, _ = self._running.value
        futures = [executor.submit(self._work, queue) for _ in range(helpers)]
        if helps:
            queue.drain()
            futures = [future for future in futures if not future.cancel()]
        _join(futures, queue, timeout_seconds)
        return queue.results()

    def begin(self, call: Callable[[], None]) -> bool:
        """Run `call` on a thread of the pool, without waiting for it. False where there can be no more such calls now."""
        executor, background = self._running.value
        if background is None or not background.acquire(blocking=False):
            return False
        begun = threading.Lock()

        def run() -> None:
            if begun.acquire(blocking=False):
                try:
                    call()
                finally:
                    background.release()

        try:
            executor.submit(run)
        except RuntimeError:  # the machine has no threads left, or the interpreter is about to end
            if begun.acquire(blocking=False):  # the executor has queued `run` all the same, and may still come to it
                background.release()
                return False
        return True

    def _begin_process(self) -> tuple[ThreadPoolExecutor, threading.Semaphore | None]:
        """What the threads of one process share. No thread is started yet."""
        executor = ThreadPoolExecutor(self._threads + self._background, thread_name_prefix=self._name)
        return executor, threading.Semaphore(self._background) if self._background else None

    def _work(self, queue: _Queue[T]) -> None:
        self._inside.yes = True
        try:
            queue.drain()
        finally:
            self._inside.yes = False


class _Queue(Generic[T]):
    """The callables of one `together` that have not begun, and the results of the others."""

    def __init__(self, calls: Sequence[Callable[[], T]]) -> None:
        self._calls = calls
        self._done: list[T | None] = [None] * len(calls)
        self._next = 0
        self._errors: list[tuple[int, BaseException]] = []
        self._lock = threading.Lock()

    def drain(self) -> None:
        """Run one callable after the other until none is left."""
        while (index := self._take()) is not None:
            try:
                self._done[index] = self._calls[index]()
            except BaseException as error:  # noqa: BLE001 - raised again by results(), on the caller's thread
                self.stop(error, index if isinstance(error, Exception) else -1)

    def stop(self, error: BaseException, index: int = -1) -> None:
        """Begin no more callables, because the callable with this number failed, or (-1) because the caller must end."""
        with self._lock:
            self._errors.append((index, error))
            self._next = len(self._calls)

    def results(self) -> list[T]:
        """The results in the order of the callables.

        Raises an interrupt, else the error of the first callable that failed. Callables begin in order, so that no error of an
        earlier one is still to come, and the same failures always raise the same error.
        """
        if self._errors:
            raise min(self._errors, key=lambda failed: failed[0])[1]
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


IO: Final = Pool(_IO_CALLS, background=_IO_BACKGROUND)
"""Calls that mostly wait: requests to stores, uploads, and streams that are read ahead."""
CPU: Final = Pool(os.cpu_count() or 1, caller_helps=False, name="indextables-decode")
"""Calls that decode or pack manifests: one for each processor, however many manifests are read or written at a time."""

__all__ = ["CPU", "IO", "Inline", "Pool", "Workers"]
