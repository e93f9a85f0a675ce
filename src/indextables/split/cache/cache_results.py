"""What the disk cache is told and answers: a split to prewarm, what prewarming did, and the counts of a process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from indextables.split.bundle.footer import Region
from indextables.split.cache.cache_entry import CacheKey, Fetch


@dataclass(frozen=True)
class CacheStatistics:
    """Counts of this process since it started, and the entries and bytes that lie on disk now."""

    hits: int = 0
    """Leases that needed no download."""
    waits: int = 0
    """Hits that waited for somebody else's download."""
    misses: int = 0
    """Downloads."""
    fetched_bytes: int = 0
    damaged: int = 0
    """Entries thrown away because files were missing or wrong."""
    uncached: int = 0
    """Downloads that went to a private directory, because the cache is off, full or unusable."""
    evictions: int = 0
    evicted_bytes: int = 0
    entries: int = 0
    bytes: int = 0
    max_bytes: int = 0

    def plus(self, **counts: int) -> CacheStatistics:
        """A copy of the statistics with some counts added."""
        return replace(self, **{name: getattr(self, name) + more for name, more in counts.items()})


@dataclass(frozen=True)
class WarmUp:
    """A split to prewarm: the regions of its index, the tails of its positions files, and how their bytes are fetched."""

    key: CacheKey
    regions: Sequence[Region]
    fetch: Fetch
    tails: Sequence[Region] = ()


@dataclass(frozen=True)
class Prewarmed:
    """What prewarming did: splits fetched, present already, and left out because the cache cannot hold them all."""

    fetched: int
    present: int
    left_out: int
