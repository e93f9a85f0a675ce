"""What the disk cache is told and answers: a split to prewarm, what prewarming did, what lies on disk, and counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

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
    positions: bool = True
    """Whether the positions of words are wanted, too. Only phrases need them."""


@dataclass(frozen=True)
class CacheContents:
    """What lies in a cache on disk now."""

    enabled: bool
    """False where nothing is kept: `cache.disk.enabled` is off."""
    splits: int = 0
    files: int = 0
    bytes: int = 0
    max_bytes: int = 0


@dataclass(frozen=True)
class Prewarmed:
    """What prewarming did: splits fetched, present already, and left out because the cache cannot hold them all."""

    fetched: int
    present: int
    left_out: int
    segments: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """The segments that were asked for, by their first names: `TERM_DICT`, `POSTINGS` …"""
    fields: tuple[str, ...] | None = field(default=None, compare=False, repr=False)
    """The columns that were asked for; None for all. Index files hold all columns, so that all come."""
    skipped_fields: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Columns that were asked for and that the table does not have."""
    duration_ms: int = field(default=0, compare=False, repr=False)
    job_id: str | None = field(default=None, compare=False, repr=False)
    """The job among the jobs of this process."""

    @property
    def splits(self) -> int:
        """Splits that are ready now."""
        return self.fetched + self.present
