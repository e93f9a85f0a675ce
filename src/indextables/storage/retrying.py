"""Repeating what may be repeated.

Waits grow exponentially with full jitter: a random part of `base_delay_ms` doubled with every try, up to `max_delay_ms`.
Reads, listings, deletes and plain puts give the same result when repeated. A create does not, and is passed on as it is: its
caller reads the key back and knows what it wrote.

Every store of a table is wrapped here, so here requests are counted, and timed while the profiler is enabled. A request is one
call of a store, whatever became of it: several ranges of one object are one, and so are a thousand keys of a listing or a delete.
Bytes are those of objects that came back. Rows that are read through a map of a local file are no requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter_ns
from typing import Final, TypeVar

from indextables.core.clock import SYSTEM_CLOCK, BackOff, Clock
from indextables.core.errors import StorageError
from indextables.core.metrics import METRICS
from indextables.core.profiler import PROFILER
from indextables.storage.store import ObjectMeta, Store, StoredObject

T = TypeVar("T")

REQUESTS: Final = METRICS.counter("indextables.storage.requests")
"""Requests of this process to stores."""
BYTES_FETCHED: Final = METRICS.counter("indextables.storage.bytes_fetched")
"""Bytes of objects that stores sent to this process."""
_PAGE_KEYS: Final = 1_000
"""Keys that stores list or delete with one request."""


class Retrying:
    """A store that repeats failed requests whose error says that it may help."""

    def __init__(
        self,
        store: Store,
        clock: Clock = SYSTEM_CLOCK,
        max_attempts: int = 8,
        base_delay_ms: int = 50,
        max_delay_ms: int = 5_000,
    ) -> None:
        self._inner = store
        self._clock = clock
        self._max_attempts = max_attempts
        self._back_off = BackOff(base_delay_ms, max_delay_ms)

    def __repr__(self) -> str:
        return f"Retrying({self._inner!r})"

    @property
    def inner(self) -> Store:
        """The store that this one wraps."""
        return self._inner

    @property
    def root(self) -> str:
        """See `Store.root`."""
        return self._inner.root

    def get(self, key: str) -> StoredObject:
        """See `Store.get`."""
        return self._repeat("get", lambda: self._inner.get(key), _object_bytes)

    def get_range(self, key: str, start: int, end: int) -> bytes:
        """See `Store.get_range`."""
        return self._repeat("get range", lambda: self._inner.get_range(key, start, end), len)

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """See `Store.get_ranges`."""
        return self._repeat("get ranges", lambda: self._inner.get_ranges(key, ranges), _bytes_of_parts)

    def head(self, key: str) -> ObjectMeta:
        """See `Store.head`."""
        return self._repeat("head", lambda: self._inner.head(key))

    def create(self, key: str, data: bytes) -> None:
        """See `Store.create`. Never repeated."""
        self._count("create", lambda: self._inner.create(key, data))

    def put(self, key: str, data: bytes) -> None:
        """See `Store.put`."""
        self._repeat("put", lambda: self._inner.put(key, data))

    def list(self, prefix: str, after: str | None = None) -> Iterator[ObjectMeta]:
        """See `Store.list`. Goes on after the last key that was seen; every key seen is a fresh start for the count."""
        attempt = 1
        while True:
            try:
                for number, meta in enumerate(self._listing(prefix, after)):
                    if number and not number % _PAGE_KEYS:
                        REQUESTS.add(1)
                    after = meta.key
                    attempt = 1
                    yield meta
            except StorageError as error:
                self._wait_or_raise(error, attempt)
                attempt += 1
            else:
                return

    def delete(self, keys: Sequence[str]) -> dict[str, StorageError]:
        """See `Store.delete`. Only what failed, and may be repeated, is asked for again."""
        failed = self._repeat("delete", lambda: self._inner.delete(keys), requests=_pages(keys))
        for attempt in range(1, self._max_attempts):
            again = [key for key, error in failed.items() if error.retryable]
            if not again:
                break
            self._back_off.wait(self._clock, attempt - 1)
            kept = {key: error for key, error in failed.items() if not error.retryable}
            failed = kept | self._repeat("delete", partial(self._inner.delete, again), requests=_pages(again))
        return failed

    def _listing(self, prefix: str, after: str | None) -> Iterator[ObjectMeta]:
        """A listing whose first page is counted, however few keys the page has."""
        REQUESTS.add(1)
        found = self._inner.list(prefix, after)
        return PROFILER.stream("list", "store", found) if PROFILER.enabled else found

    def _repeat(self, verb: str, call: Callable[[], T], size: Callable[[T], int] | None = None, requests: int = 1) -> T:
        attempt = 1
        while True:
            try:
                return self._count(verb, call, size, requests)
            except StorageError as error:
                self._wait_or_raise(error, attempt)
                attempt += 1

    def _count(self, verb: str, call: Callable[[], T], size: Callable[[T], int] | None = None, requests: int = 1) -> T:
        """Call the store once. The request counts also if the store fails; `size` says how many bytes came back."""
        began = perf_counter_ns() if PROFILER.enabled else 0
        fetched = 0
        try:
            found = call()
            if size is not None:
                fetched = size(found)
            return found
        finally:
            REQUESTS.add(requests)
            if fetched:
                BYTES_FETCHED.add(fetched)
            if began:
                PROFILER.add(verb, "store", began)

    def _wait_or_raise(self, error: StorageError, attempt: int) -> None:
        if not error.retryable or attempt >= self._max_attempts:
            error.details["attempts"] = attempt
            raise error
        self._back_off.wait(self._clock, attempt - 1)


def _object_bytes(found: StoredObject) -> int:
    return len(found.data)


def _bytes_of_parts(found: Sequence[bytes]) -> int:
    return sum(map(len, found))


def _pages(keys: Sequence[str]) -> int:
    """Requests that a delete of these keys takes, at least."""
    return -(-len(keys) // _PAGE_KEYS)
