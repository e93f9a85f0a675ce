"""Taking a split from local disk to the store, without holding it in memory.

The file is mapped, and the store reads from the map. A small split is one put-if-absent. A large one is a put, which remote
stores take in several parts at the same time, each with a time limit of its own: a single request of some hundred megabytes
would meet its limit on a slow line. Either is safe, because the name is new: nobody else writes it, and whoever repeats the
request writes the same bytes.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Final, cast

from indextables.storage.error_translation import translate
from indextables.storage.store import Store

ONE_REQUEST: Final = 8 << 20
"""Bytes that are sent in one request."""


def upload(store: Store, key: str, path: Path) -> None:
    """Put the file at `path` into the store under a key that was never used. Durable when it returns.

    Raises StorageError. Whether the object is there, or will be, is then unknown: take another key, and leave this one to
    nobody.
    """
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise translate(error, str(path.parent), path.name, "get") from error
    data = cast("bytes", memoryview(mapped))  # the map ends with the last reference to it, which a store may keep
    if len(data) <= ONE_REQUEST:
        store.create(key, data)
    else:
        store.put(key, data)
