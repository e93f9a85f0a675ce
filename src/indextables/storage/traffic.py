"""Requests to stores, counted for the process: each attempt of `Retrying` is one, whatever became of it.

A request is one call of a store: several ranges of one object are one request, and so are a thousand keys of a listing or of a
delete. Bytes are those of objects that came back. Rows that are read through a map of a local file are no requests.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from indextables.core.metrics import METRICS
from indextables.core.runtime.process_state import ProcessLocal

PAGE_KEYS: Final = 1_000
"""Keys that stores list or delete with one request."""


@dataclass(frozen=True)
class TrafficTotals:
    """Requests since the process began, and the bytes of objects that they brought."""

    requests: int = 0
    bytes_fetched: int = 0


class Traffic:
    """Adds requests up. Safe to use from many threads."""

    __slots__ = ("_bytes", "_lock", "_requests")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._requests = self._bytes = 0

    def add(self, requests: int, fetched: int) -> None:
        """Add requests, and the bytes that they brought."""
        with self._lock:
            self._requests += requests
            self._bytes += fetched

    def totals(self) -> TrafficTotals:
        """All requests so far."""
        with self._lock:
            return TrafficTotals(self._requests, self._bytes)


TRAFFIC: Final[ProcessLocal[Traffic]] = ProcessLocal(Traffic)
"""The requests of this process. A forked child counts its own."""

METRICS.counter("indextables.storage.requests", lambda: TRAFFIC.value.totals().requests)
METRICS.counter("indextables.storage.bytes_fetched", lambda: TRAFFIC.value.totals().bytes_fetched)
