"""Pages of a listing, each fetched by a thread while the caller is busy with the page before.

A listing of a million objects is a thousand requests, one after the other: a page says where the next one begins. So the time of
the store and the time of the caller would add up. A listing that ends with its first page begins no thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, Full, Queue
from typing import Final, TypeVar

T = TypeVar("T")

_WAITING: Final = 2
"""Pages that are kept for the caller, at most: more would only take memory."""
_LOOK: Final = 0.1
"""Seconds after which a thread that waits looks whether anybody still wants the pages."""


def pages_ahead(fetch: Callable[[], Sequence[T] | None], full: int) -> Iterator[Sequence[T]]:
    """The pages that `fetch` gives, until it gives None. Raises what `fetch` raises.

    A first page with fewer than `full` entries is taken for the last one but one: the next is fetched by the caller.
    """
    page = fetch()
    if page is not None and len(page) >= full:
        yield page
        yield from _by_thread(fetch)
        return
    while page is not None:
        yield page
        page = fetch()


def _by_thread(fetch: Callable[[], Sequence[T] | None]) -> Iterator[Sequence[T]]:
    waiting: Queue[Sequence[T] | BaseException | None] = Queue(_WAITING)
    unwanted = threading.Event()

    def run() -> None:
        found: Sequence[T] | BaseException | None = ()
        while found is not None and not isinstance(found, BaseException) and _wanted(unwanted):
            try:
                found = fetch()
            except BaseException as error:  # noqa: BLE001 - raised again where the pages are used
                found = error
            _put(waiting, found, unwanted)

    thread = threading.Thread(target=run, name="indextables-listing")
    thread.start()
    try:
        while (page := _get(waiting, thread)) is not None:
            if isinstance(page, BaseException):
                raise page
            yield page
    finally:
        unwanted.set()


def _put(waiting: Queue[T], value: T, unwanted: threading.Event) -> None:
    while _wanted(unwanted):
        try:
            waiting.put(value, timeout=_LOOK)
        except Full:
            continue
        return


def _wanted(unwanted: threading.Event) -> bool:
    """Whether somebody may still ask for pages. A program that ends waits for the thread, which must notice."""
    return not unwanted.is_set() and threading.main_thread().is_alive()


def _get(waiting: Queue[T], thread: threading.Thread) -> T:
    """The next value that the thread has put. Raises RuntimeError in a forked child, which has no such thread."""
    while True:
        try:
            return waiting.get(timeout=_LOOK)
        except Empty:
            if not thread.is_alive() and waiting.empty():
                raise RuntimeError("a listing cannot go on in a forked process: list again") from None
