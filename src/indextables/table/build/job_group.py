"""`JobGroup`: several splits built at the same time. The first error ends all jobs, and no job runs on after it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from indextables.core.errors import CommitError
from indextables.core.runtime.threads import Workers
from indextables.table.build.scratch_directory import scratch

__all__ = ["JobGroup", "scratch"]

T = TypeVar("T")


class JobGroup:
    """Runs jobs side by side. A long job calls `check` now and then, to find out that another job failed."""

    def __init__(self, workers: Workers, limit: int) -> None:
        self._workers = workers
        self._limit = limit
        self._idle = threading.Condition()
        self._running = 0
        self._failure: BaseException | None = None

    def together(self, jobs: Sequence[Callable[[], T]]) -> list[T]:
        """The results of all jobs, in order. Raises the first error, once no job runs any more."""
        try:
            if len(jobs) == 1:
                return [self._run(jobs[0])]
            return self._workers.together([partial(self._run, job) for job in jobs], limit=self._limit)
        except BaseException as error:
            self._end(error)
            if self._failure is not None and self._failure is not error:
                raise self._failure from None
            raise

    def check(self) -> None:
        """Raise CommitError if another job failed."""
        if self._failure is not None:
            raise CommitError("this work was ended by another error")

    def _end(self, error: BaseException) -> None:
        """Record the error, so that running jobs end at their next `check`, and wait for them."""
        with self._idle:
            self._failure = self._failure or error
            while self._running:
                self._idle.wait()

    def _run(self, job: Callable[[], T]) -> T:
        with self._idle:
            self.check()
            self._running += 1
        try:
            return job()
        except BaseException as error:
            with self._idle:
                self._failure = self._failure or error
            raise
        finally:
            with self._idle:
                self._running -= 1
                self._idle.notify_all()
