"""Where the disk cache of a process is, from the options of the tables it opens."""

from __future__ import annotations

import os
import tempfile
import threading
from functools import lru_cache
from pathlib import Path

from indextables.core.errors import OptionError
from indextables.core.options import Options, keys
from indextables.split.cache.index_cache import IndexCache

_OPEN: dict[tuple[Path | None, int], IndexCache] = {}
_OPEN_LOCK = threading.Lock()


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


@lru_cache(maxsize=16)
def _fixed(directory: str) -> Path:
    """Every question asks for it, and making a path takes longer than some answers."""
    return Path(directory)


def _open(directory: Path | None, max_bytes: int) -> IndexCache:
    place = (directory, max_bytes)
    with _OPEN_LOCK:
        if place not in _OPEN:
            _OPEN[place] = IndexCache(directory, max_bytes)
        return _OPEN[place]


def _after_fork() -> None:
    """Leases and counts are the parent's, and so is whoever held a lock."""
    global _OPEN, _OPEN_LOCK
    _OPEN, _OPEN_LOCK = {}, threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def _home() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path("~/.cache").expanduser()).absolute() / "indextables"
