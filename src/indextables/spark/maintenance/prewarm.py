"""`prewarm`: the indexes of a table on the local disks of all machines, before somebody asks for them.

Spark does not let a Python source say where a task should run, so any machine may be asked for any split, and each gets all of
them, as far as its cache can hold them. There is a task for each processor. Those of one machine share its cache, and each begins
at another split: what a neighbour has fetched already is only looked at.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from indextables.core import options as opt
from indextables.core.errors import PredicateError
from indextables.core.options import Options
from indextables.core.predicate import parse_predicate
from indextables.log.refresh import read_files
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.spark.tasks import parallelism, run_on_executors
from indextables.split.cache.cache_location import open_cache
from indextables.split.cache.index_cache import Prewarmed, WarmUp
from indextables.table.distributed.read_tasks import make_scan, open_table_log, packed, pin, unpacked
from indextables.table.read.split_readers import readers, reading_threads

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def prewarm(
    spark: SparkSession, url: str, where: str | None = None, *, options: Mapping[str, Any] | None = None
) -> dict[str, Prewarmed]:
    """Bring the indexes of all splits, or of those that may hold rows for which `where` (SQL) is true, to every machine.

    Returns what was done on each, by its name. Raises TableNotFound, PredicateError, ForeignTable, SplitError.
    """
    log = open_table_log(str(url), Options(options))
    snapshot = pin(log)
    if where is not None and not isinstance(where, str):
        raise PredicateError(f"where is SQL text, such as \"day = '2024-01-31'\", not {type(where).__name__}")
    predicate = None if where is None else parse_predicate(where, snapshot.schema)
    scan = make_scan(log, snapshot, ())
    _, files = read_files(log, snapshot, predicate)
    if not files.num_rows:
        return {}
    tasks = parallelism(spark)
    warmer = _Warmer(log, scan.head, packed(files))
    found: dict[str, list[Prewarmed]] = {}
    for machine, done in run_on_executors(spark, [partial(warmer.warm, number / tasks) for number in range(tasks)]):
        found.setdefault(machine, []).append(done)
    return {machine: _together(parts) for machine, parts in found.items()}


def _together(parts: Sequence[Prewarmed]) -> Prewarmed:
    """What the tasks of one machine did: each of them has seen all splits."""
    fetched = sum(part.fetched for part in parts)
    return Prewarmed(fetched, max(0, parts[0].fetched + parts[0].present - fetched), parts[0].left_out)


@dataclass(frozen=True)
class _Warmer:
    """What a task needs to know."""

    log: TableLog
    head: Snapshot
    files: bytes

    def warm(self, begin: float) -> tuple[str, Prewarmed]:
        """Fetch what this machine lacks, beginning at a share of the splits. Its name, and what was done."""
        files = unpacked(self.files)
        threads = reading_threads(self.log)
        splits = list(readers(self.log, self.head, files))
        warm_ups = self.log.workers.together([split.warm_up for split in splits], limit=threads)
        indexed = [split for split in warm_ups if split.regions]
        held = _that_fit(indexed, self.log.options[opt.CACHE_DISK_MAX_BYTES])
        first = int(begin * len(held))
        cache = open_cache(self.log.options)
        done = cache.prewarm(held[first:] + held[:first], workers=self.log.workers, limit=threads)
        return socket.gethostname(), Prewarmed(done.fetched, done.present, done.left_out + len(indexed) - len(held))


def _that_fit(splits: Sequence[WarmUp], room: int) -> list[WarmUp]:
    """The same ones for every task, or they would push out of the cache what the others fetch."""
    chosen = []
    for split in splits:
        size = sum(region.size for region in split.regions)
        if size <= room:
            room -= size
            chosen.append(split)
    return chosen
