"""`Table.prewarm`: indexes on local disk before somebody asks for them. Spark's tasks call `prewarm_files`, too."""

from __future__ import annotations

import pyarrow as pa

from indextables.split.cache.cache_location import open_cache
from indextables.split.cache.index_cache import Prewarmed, WarmUp
from indextables.table.handle import TableHandle
from indextables.table.read.parallelism import reading_threads
from indextables.table.read.request import ReadRequest, plan_read
from indextables.table.read.split_readers import split_readers


def prewarm(handle: TableHandle, request: ReadRequest) -> Prewarmed:
    """Fetch the indexes of the files that may hold rows of the request. The cache leaves out what it cannot hold."""
    return _fetched(handle, _with_index(handle, plan_read(handle, request).files))


def prewarm_files(handle: TableHandle, files: pa.Table, begin: float, room: int) -> Prewarmed:
    """Fetch the indexes of some files, beginning at a share (0 to 1) of them: one of several tasks on one machine.

    All tasks choose the same indexes, of at most `room` bytes together. Otherwise a task would push out of the cache what its
    neighbours fetch.
    """
    indexed = _with_index(handle, files)
    chosen = _that_fit(indexed, room)
    first = int(begin * len(chosen))
    done = _fetched(handle, chosen[first:] + chosen[:first])
    return Prewarmed(done.fetched, done.present, done.left_out + len(indexed) - len(chosen))


def _with_index(handle: TableHandle, files: pa.Table) -> list[WarmUp]:
    """What the cache has to know of each split that has an index."""
    splits = list(split_readers(handle, files))
    warm_ups = handle.log.workers.together([split.warm_up for split in splits], limit=reading_threads(handle))
    return [split for split in warm_ups if split.regions]


def _fetched(handle: TableHandle, indexed: list[WarmUp]) -> Prewarmed:
    cache = open_cache(handle.options)
    return cache.prewarm(indexed, workers=handle.log.workers, limit=reading_threads(handle))


def _that_fit(indexed: list[WarmUp], room: int) -> list[WarmUp]:
    chosen = []
    for split in indexed:
        size = sum(region.size for region in split.regions)
        if size <= room:
            room -= size
            chosen.append(split)
    return chosen
