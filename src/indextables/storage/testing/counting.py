"""Counting requests, so that a test can hold an operation to its budget.

`rounds` is what a user waits for: the longest chain of requests of which each began after the one before had ended. Two
requests side by side are one round. To see that they are, give `Counting` a `latency_seconds` that is long against the
start of a thread; a request to memory may be over before the next one begins.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from indextables.core.errors import StorageError
from indextables.storage.store import ObjectMeta, Store, StoredObject

T = TypeVar("T")

PAGE = 1000
"""Keys that a listing returns with one request."""


@dataclass
class Request:
    """A request. `begin` and `end` are places in the order of all begins and ends, not times."""

    verb: str
    keys: tuple[str, ...]
    begin: int
    end: int | None = None
    size: int = 0


class Counting:
    """A store that remembers every request made through it. Safe for many threads."""

    def __init__(self, store: Store, latency_seconds: float = 0.0) -> None:
        self._inner = store
        self._latency_seconds = latency_seconds
        self._requests: list[Request] = []
        self._moment = 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Counting({self._inner!r})"

    @property
    def inner(self) -> Store:
        """The store that this one wraps."""
        return self._inner

    @property
    def root(self) -> str:
        """See `Store.root`."""
        return self._inner.root

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request since the last reset, in the order of their begins."""
        with self._lock:
            return tuple(self._requests)

    @property
    def counts(self) -> Counter[str]:
        """How many requests of each verb there were: `store.counts == {"get": 1, "head": 1}`."""
        return Counter(request.verb for request in self.requests)

    @property
    def bytes_moved(self) -> Counter[str]:
        """How many bytes of objects each verb moved."""
        moved: Counter[str] = Counter()
        for request in self.requests:
            moved[request.verb] += request.size
        return moved

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that were asked for (of a listing, its prefix), in order."""
        return tuple(key for request in self.requests for key in request.keys)

    @property
    def rounds(self) -> int:
        """The length of the longest chain of requests that did not overlap."""
        rounds, last = 0, -1
        for begin, end in sorted((r.begin, r.end) for r in self.requests if r.end is not None):
            if begin > last:
                rounds, last = rounds + 1, end
            else:
                last = min(last, end)
        return rounds

    def reset(self) -> None:
        """Forget what was counted."""
        with self._lock:
            self._requests.clear()

    def get(self, key: str) -> StoredObject:
        """See `Store.get`."""
        with self._request("get", key) as request:
            found = self._inner.get(key)
            request.size = len(found.data)
            return found

    def get_range(self, key: str, start: int, end: int) -> bytes:
        """See `Store.get_range`."""
        with self._request("get_range", key) as request:
            found = self._inner.get_range(key, start, end)
            request.size = len(found)
            return found

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """See `Store.get_ranges`."""
        with self._request("get_ranges", key) as request:
            found = self._inner.get_ranges(key, ranges)
            request.size = sum(map(len, found))
            return found

    def head(self, key: str) -> ObjectMeta:
        """See `Store.head`."""
        with self._request("head", key):
            return self._inner.head(key)

    def create(self, key: str, data: bytes) -> None:
        """See `Store.create`."""
        with self._request("create", key) as request:
            request.size = len(data)
            self._inner.create(key, data)

    def put(self, key: str, data: bytes) -> None:
        """See `Store.put`."""
        with self._request("put", key) as request:
            request.size = len(data)
            self._inner.put(key, data)

    def list(self, prefix: str, after: str | None = None) -> Iterator[ObjectMeta]:
        """See `Store.list`. A request for every thousand keys that were taken, each as long as its first key takes."""
        found = self._inner.list(prefix, after)
        taken = 0
        while True:
            if taken % PAGE == 0:
                with self._request("list", prefix):
                    meta = next(found, None)
            else:
                meta = next(found, None)
            if meta is None:
                return
            taken += 1
            yield meta

    def delete(self, keys: Sequence[str]) -> dict[str, StorageError]:
        """See `Store.delete`."""
        with self._request("delete", *keys):
            return self._inner.delete(keys)

    @contextmanager
    def _request(self, verb: str, *keys: str) -> Iterator[Request]:
        with self._lock:
            self._moment += 1
            request = Request(verb, keys, self._moment)
            self._requests.append(request)
        try:
            if self._latency_seconds:
                time.sleep(self._latency_seconds)
            yield request
        finally:
            with self._lock:
                self._moment += 1
                request.end = self._moment
