"""Where the disk cache of a process is, from the options of the tables it opens."""

from __future__ import annotations

import os
import tempfile
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from indextables.core.errors import OptionError
from indextables.core.options import Options, keys
from indextables.core.runtime.process_state import Lru, ProcessLocal
from indextables.split.cache.index_cache import IndexCache

_MOST_CACHES: Final = 1024
"""Disk caches of one process: more than a process names. A cache that is opened twice is correct, but counts its leases twice."""
OPEN_CACHES: Final[ProcessLocal[Lru[tuple[Path | None, int], IndexCache]]] = ProcessLocal(partial(Lru, _MOST_CACHES))
"""The disk caches of this process by directory and size. A forked child opens its own: leases and counts are the parent's."""


def open_cache(options: Options) -> IndexCache:
    """The cache that these options describe; one per process and place, so that its tables share leases and counts."""
    max_bytes = options[keys.CACHE_DISK_MAX_BYTES]
    chosen = options[keys.CACHE_DISK_DIRECTORY]
    if not options[keys.CACHE_DISK_ENABLED]:
        return _open(None, 0)
    if chosen is not None:
        return _open(_fixed(chosen) if chosen.startswith("/") else Path(chosen).expanduser().absolute(), max_bytes)
    try:
        return _open(_home(), max_bytes)
    except (OptionError, RuntimeError):  # no home, or none that can be used
        return _open(Path(tempfile.gettempdir()) / f"indextables-{os.geteuid()}", max_bytes)


def opened_caches() -> list[IndexCache]:
    """The caches that this process has opened so far."""
    caches = OPEN_CACHES.value
    return [cache for cache in map(caches.get, caches.listed()) if cache is not None]


@lru_cache(maxsize=16)
def _fixed(directory: str) -> Path:
    """Every question asks for it, and making a path takes longer than some answers."""
    return Path(directory)


def _open(directory: Path | None, max_bytes: int) -> IndexCache:
    return OPEN_CACHES.value.get_or_load((directory, max_bytes), lambda: IndexCache(directory, max_bytes))


def _home() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path("~/.cache").expanduser()).absolute() / "indextables"
