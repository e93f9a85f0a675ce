"""Vortex's caches of compressed segments, for all splits of the process: a cache for each split would grow to the same size.

segments of mapped files ──▶ a share of the memory by account; the bytes are the system's, and the cache spares reads
other segments ────────────▶ a quarter of that share, because what stays in memory is more than the segments
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from indextables.core.runtime.memory import LEAST_CACHE_BYTES, cache_bytes
from indextables.core.runtime.process_state import Lru, ProcessLocal
from indextables.split.bundle.footer import Part
from indextables.split.rows import vortex_library as vx

_KEPT_READS: Final = 4
"""Bytes in memory for each byte of a segment that is kept, at worst about so many. Vortex reads up to 16 MiB at once, and all of
a read stays for as long as one of its segments does: 255 MiB of segments were 1 GiB of memory."""
_ALIGNED: Final = 64
"""Bytes. Vortex uses bytes of a map as they are if their file begins at a multiple of this inside of the bundle, and copies
others."""


def segment_cache(*, mapped: bool = False) -> Any:
    """The cache for segments of files that are mapped, or for those of files that are read."""
    most = cache_bytes() if mapped else max(cache_bytes() // _KEPT_READS, LEAST_CACHE_BYTES)
    return SEGMENT_CACHES.value.get_or_load("mapped" if mapped else "read", lambda: vx.SegmentCache(most))


def forget_segments() -> int:
    """Forget the caches. Files that are open keep theirs until they are closed. Returns how many caches there were."""
    return SEGMENT_CACHES.value.clear()


def is_aligned(part: Part) -> bool:
    """Whether Vortex uses the bytes of a file inside of a bundle where they lie in a map."""
    return part.offset % _ALIGNED == 0


SEGMENT_CACHES: Final[ProcessLocal[Lru[str, Any]]] = ProcessLocal(partial(Lru, 2))
"""The caches, made on first use, because few processes that import this module read rows. A forked child makes caches of its own:
a thread of the parent may hold a lock inside of the parent's caches.
"""

__all__ = ["SEGMENT_CACHES", "forget_segments", "is_aligned", "segment_cache"]
