"""`Table.prewarm`: indexes on local disk before somebody asks for them."""

from __future__ import annotations

from indextables.core.predicate import Predicate
from indextables.log.refresh import read_files
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.split.cache.cache_location import open_cache
from indextables.split.cache.index_cache import Prewarmed
from indextables.table.format_gate import check_bundles
from indextables.table.read.split_readers import readers, reading_threads


def prewarm(log: TableLog, snapshot: Snapshot, where: Predicate | None = None) -> tuple[Snapshot, Prewarmed]:
    """Fetch the indexes of the files that may hold rows for which `where` is true, and the snapshot that they are from."""
    check_bundles(snapshot, "prewarming")
    snapshot, files = read_files(log, snapshot, where)
    threads = reading_threads(log)
    splits = list(readers(log, snapshot, files))
    warm_ups = log.workers.together([split.warm_up for split in splits], limit=threads)
    indexed = [split for split in warm_ups if split.regions]
    return snapshot, open_cache(log.options).prewarm(indexed, workers=log.workers, limit=threads)
