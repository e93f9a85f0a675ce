"""Pages of a listing, each fetched by a thread while the caller is busy with the page before.

A listing of a million objects is a thousand requests, one after the other: a page says where the next one begins. So the time of
the store and the time of the caller would add up. A listing that ends with its first page begins no thread, and a thread ends
with its page: a listing that is given up leaves one request behind, at most.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def pages_ahead(fetch: Callable[[], Sequence[T] | None], full: int) -> Iterator[Sequence[T]]:
    """The pages that `fetch` gives, until it gives None. Raises what `fetch` raises.

    A listing whose first page has fewer than `full` entries is short: the caller fetches what follows.
    """
    page = fetch()
    is_long = page is not None and len(page) >= full
    while page is not None:
        following = _begun(fetch) if is_long else fetch
        yield page
        page = following()


def _begun(fetch: Callable[[], T]) -> Callable[[], T]:
    """Fetch in a thread. Returns a function that waits for what was fetched, or raises what went wrong."""
    fetched: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            fetched.append(fetch())
        except BaseException as error:  # noqa: BLE001 - raised again where the page is used
            failed.append(error)

    thread = threading.Thread(target=run, name="indextables-listing")
    try:
        thread.start()
    except RuntimeError:  # the machine has no threads left, or the interpreter is about to end
        return fetch

    def wait() -> T:
        thread.join()
        if failed:
            raise failed[0]
        if not fetched:  # a fork copies no threads
            raise RuntimeError("a listing cannot go on in a forked process: list again")
        return fetched[0]

    return wait
