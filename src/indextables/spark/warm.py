"""`prewarm`: the indexes of a table on the local disks of all machines, before somebody asks for them.

Spark does not let a Python source say where a task should run, so any machine may be asked for any split, and each gets all of
them, as far as its cache can hold them. The tasks of one machine divide them. For that they must know of each other, which is
what a barrier stage is: all of its tasks run at the same time. Where Spark refuses one (dynamic allocation, more tasks than
processors), each split goes to the machine that some task happens to run on.
"""

from __future__ import annotations

import pickle
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.core import options as opt
from indextables.core.errors import PredicateError
from indextables.core.options import Options
from indextables.core.predicate import parse_predicate
from indextables.log.refresh import read_files
from indextables.log.snapshot import Snapshot
from indextables.log.tablelog import TableLog
from indextables.spark.errors import one_line
from indextables.spark.failures import plainly
from indextables.spark.tasks import parallelism
from indextables.split.cache import Prewarmed
from indextables.split.cache_open import open_cache
from indextables.table.scan_tasks import make_scan, open_table_log, packed, pin
from indextables.table.splits import readers, reading_threads

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
    chosen = files.select(["path", "partitionValues", "size", "footerStartOffset", "numRecords"]).combine_chunks()
    if not chosen.num_rows:
        return {}
    work = _Warmer(log, scan.head, packed(chosen))
    tasks = parallelism(spark)
    found: dict[str, Prewarmed] = {}
    for machine, done in _run(spark, work, tasks):
        sofar = found.get(machine, Prewarmed(0, 0, 0))
        found[machine] = Prewarmed(
            sofar.fetched + done.fetched, sofar.present + done.present, sofar.left_out + done.left_out
        )
    return found


def _run(spark: SparkSession, work: _Warmer, tasks: int) -> list[tuple[str, Prewarmed]]:
    from pyspark.errors import PySparkException

    numbers = spark.range(0, tasks, 1, tasks)
    schema = "answer binary"
    with plainly():
        try:
            answers = numbers.mapInArrow(work, schema, barrier=True).toArrow()
        except PySparkException as error:
            if "barrier" not in str(error).lower():
                raise
            answers = numbers.mapInArrow(_Alone(work, tasks), schema).toArrow()
    return [pickle.loads(answer.as_buffer()) for answer in answers.column("answer")]  # noqa: S301 - from our own tasks


@dataclass(frozen=True)
class _Warmer:
    """What a task of a barrier stage does: its share of what its machine needs."""

    log: TableLog
    head: Snapshot
    files: bytes

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import BarrierTaskContext

        for _ in numbers:
            pass
        context = BarrierTaskContext.get()
        machines = [info.address.rpartition(":")[0] for info in context.getTaskInfos()]
        own = context.partitionId()
        mates = [number for number, machine in enumerate(machines) if machine == machines[own]]
        yield self.share(mates.index(own), len(mates))

    def share(self, number: int, of: int) -> pa.RecordBatch:
        with one_line():
            files = pa.ipc.open_stream(self.files).read_all()
            mine = files.take(list(range(number, files.num_rows, of)))
            answer = (socket.gethostname(), self._warm(mine, of))
        return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(answer)], pa.binary())], names=["answer"])

    def _warm(self, files: pa.Table, sharing: int) -> Prewarmed:
        splits = list(readers(self.log, self.head, files))
        threads = reading_threads(self.log)
        warm_ups = self.log.workers.together([split.warm_up for split in splits], limit=threads)
        room = self.log.options[opt.CACHE_DISK_MAX_BYTES] // sharing
        chosen, sizes = [], 0
        indexed = [split for split in warm_ups if split.regions]
        for split in indexed:
            size = sum(region.size for region in split.regions)
            if sizes + size <= room:
                sizes += size
                chosen.append(split)
        done = open_cache(self.log.options).prewarm(chosen, workers=self.log.workers, limit=threads)
        return Prewarmed(done.fetched, done.present, done.left_out + len(indexed) - len(chosen))


@dataclass(frozen=True)
class _Alone:
    """What a task does that knows of no others."""

    work: _Warmer
    tasks: int

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield self.work.share(number, self.tasks)
