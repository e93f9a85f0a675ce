"""What this process remembers of logs it has read.

Log objects never change once written, so a version file's content is remembered under the table's id, its URL and its number.
Not without the id: a table dropped and created again at the same place shares nothing with its predecessor. Not without the URL:
a copy of a table has its id, and goes its own way. The newest
snapshot of a URL is remembered too, but only as a place to start from: it is refreshed (two requests) before anybody sees
it, unless the caller asks for bounded staleness.

Entries live for `transaction.cache.expirationSeconds` and are dropped least recently used first. Questions are counted by kind
and by URL: `invalidate` says how often the cache could answer for a table, and begins to count anew.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Final, Literal

from indextables.core.runtime.process_state import Lru, ProcessLocal

Kind = Literal["snapshot", "version", "checkpoint"]

_LIMITS: dict[Kind, int] = {"snapshot": 64, "version": 1000, "checkpoint": 8}
_MOST_URLS: Final = 1024
"""URLs whose questions are counted: more than the tables that a process opens. Each takes some hundred bytes."""


@dataclass(frozen=True)
class CacheStats:
    """How often a kind of entry was asked for, and found."""

    hits: int = 0
    misses: int = 0
    entries: int = 0


@dataclass(frozen=True)
class Invalidated:
    """What was dropped, and how often it was asked for since the last time."""

    entries: int = 0
    hits: int = 0
    misses: int = 0


class LogCache:
    """A small thread-safe cache with a limit and a time to live per kind. A forked child keeps the entries."""

    def __init__(self) -> None:
        self._entries: dict[Kind, Lru[Hashable, tuple[float, Any]]] = {
            kind: Lru(most) for kind, most in _LIMITS.items()
        }
        self._counting = ProcessLocal(threading.Lock)
        self._hits = dict.fromkeys(_LIMITS, 0)
        self._misses = dict.fromkeys(_LIMITS, 0)
        self._by_url: OrderedDict[str, list[int]] = OrderedDict()
        """Hits and misses of each URL, the one that was asked for last at the end."""

    def get(self, kind: Kind, key: Hashable, *, now: float, ttl_seconds: float) -> Any | None:
        """The entry, unless it is older than its time to live."""
        entry = self._entries[kind].get(key)
        fresh = entry is not None and now - entry[0] <= ttl_seconds
        url = url_of(key)
        with self._counting.value:
            (self._hits if fresh else self._misses)[kind] += 1
            if url not in self._by_url and len(self._by_url) >= _MOST_URLS:
                self._by_url.popitem(last=False)
            self._by_url.setdefault(url, [0, 0])[0 if fresh else 1] += 1
            self._by_url.move_to_end(url)
        if entry is None:
            return None
        if not fresh:
            self._entries[kind].pop(key)
            return None
        return entry[1]

    def put(self, kind: Kind, key: Hashable, value: Any, *, now: float) -> None:
        """Remember an entry."""
        self._entries[kind].put(key, (now, value))

    def forget(self, url: str, table_id: str | None = None) -> None:
        """Drop all that is known of a URL, and of the table that was there."""
        self._entries["snapshot"].pop(url)
        for entries in (self._entries["version"], self._entries["checkpoint"]):
            for key in entries.listed():
                if isinstance(key, tuple) and key[0] == table_id:
                    entries.pop(key)

    def clear(self) -> None:
        """Drop everything; the counts stay."""
        for entries in self._entries.values():
            entries.clear()

    def invalidate(self, url: str | None = None) -> Invalidated:
        """Drop all that is known of a URL, whichever tables were there, or of all URLs. Their counts begin anew."""
        entries = sum(
            kept.pop(key)
            for kept in self._entries.values()
            for key in kept.listed()
            if url is None or url_of(key) == url
        )
        with self._counting.value:
            names = list(self._by_url) if url is None else [url]
            counts = [self._by_url.pop(name, [0, 0]) for name in names]
        return Invalidated(entries, sum(hits for hits, _ in counts), sum(misses for _, misses in counts))

    def stats(self) -> dict[Kind, CacheStats]:
        """Hits and misses per kind since the process started."""
        with self._counting.value:
            return {
                kind: CacheStats(self._hits[kind], self._misses[kind], len(self._entries[kind])) for kind in _LIMITS
            }


def url_of(key: Hashable) -> str:
    """The URL that the key of an entry is about: a snapshot's key is the URL, other keys have the URL behind the table's id."""
    return str(key[1]) if isinstance(key, tuple) else str(key)


PROCESS_CACHE = LogCache()
