"""Work that somebody else may end: a flag for each piece of work, which loops over splits look at.

caller ──▶ with cancellable() as work: … ──▶ checked(splits) raises WorkCancelled at the next split
other thread ──▶ work.cancel() ──────────────────┘
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

from indextables.core.errors import WorkCancelled

T = TypeVar("T")


class Work:
    """A piece of work, and whether it is still wanted."""

    def __init__(self) -> None:
        self._cancelled = False

    def cancel(self) -> None:
        """Nobody wants the result any more. Called by any thread."""
        self._cancelled = True

    def check(self) -> None:
        """Raise WorkCancelled if nobody wants the result any more."""
        if self._cancelled:
            raise WorkCancelled("the question was cancelled before its answer was complete: ask again")


_CURRENT: Final[ContextVar[Work | None]] = ContextVar("indextables-work", default=None)
"""The work that the code of this thread belongs to; None outside of `cancellable`."""


@contextmanager
def cancellable() -> Iterator[Work]:
    """The block is one piece of work."""
    work = Work()
    token = _CURRENT.set(work)
    try:
        yield work
    finally:
        _CURRENT.reset(token)


def checked(items: Iterable[T]) -> Iterator[T]:
    """The items, unless the work that asks for them is cancelled meanwhile. The work is the caller's, whoever takes the items."""
    work = _CURRENT.get()
    return iter(items) if work is None else _each_checked(items, work)


def _each_checked(items: Iterable[T], work: Work) -> Iterator[T]:
    for item in items:
        work.check()
        yield item
