"""`Table.prewarm`: indexes on local disk before somebody asks for them."""

from __future__ import annotations

from indextables.core.predicate import Predicate
from indextables.log.refresh import read_files
from indextables.log.snapshot import Snapshot
from indextables.log.tablelog import TableLog
from indextables.split.cache import Prewarmed
from indextables.split.cache_open import open_cache
from indextables.table.foreign import check_bundles
from indextables.table.splits import readers, reading_threads


def prewarm(log: TableLog, snapshot: Snapshot, where: Predicate | None = None) -> tuple[Snapshot, Prewarmed]:
    """Fetch the indexes of the files that may hold rows for which `where` is true, and the snapshot that they are from."""
    check_bundles(snapshot, "prewarming")
    snapshot, files = read_files(log, snapshot, where)
    threads = reading_threads(log)
    splits = list(readers(log, snapshot, files))
    warm_ups = log.workers.together([split.warm_up for split in splits], limit=threads)
    indexed = [split for split in warm_ups if split.regions]
    return snapshot, open_cache(log.options).prewarm(indexed, workers=log.workers, limit=threads)
