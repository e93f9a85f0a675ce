"""`Table.prewarm`: indexes on local disk before somebody asks for them. Spark's tasks call `prewarm_files`, too.

plan_read ──▶ files ──▶ footers ──▶ WarmUp of each split ──▶ IndexCache.prewarm
                              a job of this process (core/runtime/jobs.py) counts the splits that are ready
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from indextables.core.metrics import METRICS
from indextables.core.runtime.jobs import JOBS, Job, RunningJob
from indextables.split.cache.cache_location import open_cache
from indextables.split.cache.index_cache import Prewarmed, WarmUp
from indextables.split.reader import SplitReader
from indextables.table.handle import TableHandle
from indextables.table.progress import ProgressCounter, Watcher
from indextables.table.read.parallelism import reading_threads
from indextables.table.read.prewarm_choice import DEFAULT_CHOICE, PrewarmChoice
from indextables.table.read.request import ReadRequest, plan_read
from indextables.table.read.split_readers import split_readers

logger = logging.getLogger("indextables")


def prewarm(
    handle: TableHandle,
    request: ReadRequest,
    choice: PrewarmChoice = DEFAULT_CHOICE,
    parallelism: int | None = None,
    progress: Watcher | None = None,
) -> Prewarmed:
    """Fetch the indexes of the files that may hold rows of the request. The cache leaves out what it cannot hold."""
    counter = ProgressCounter(progress)
    with JOBS.value.begin("prewarm", handle.url) as job:
        return _prewarmed(handle, request, choice, parallelism, _Watched(job, counter))


def begin_prewarm(
    handle: TableHandle,
    request: ReadRequest,
    choice: PrewarmChoice = DEFAULT_CHOICE,
    parallelism: int | None = None,
    progress: Watcher | None = None,
) -> Job:
    """`prewarm` on a thread of its own. Returns the job, which is listed among the jobs of this process.

    What goes wrong is in the job and in the log. The thread does not keep a program that ends from ending.
    """
    job = JOBS.value.begin("prewarm", handle.url)
    watched = _Watched(job, ProgressCounter(progress))

    def run() -> None:
        try:
            with job:
                _prewarmed(handle, request, choice, parallelism, watched)
        except Exception as error:  # noqa: BLE001 - nobody is there to catch it; the job has it
            logger.warning("table %s: a prewarm beside the program failed: %s", handle.url, error)

    begun = job.seen()
    try:
        threading.Thread(target=run, name="indextables-prewarm", daemon=True).start()
    except RuntimeError:  # the machine has no threads left
        with job:
            raise
    return begun


def prewarm_files(
    handle: TableHandle, files: pa.Table, begin: float, room: int, choice: PrewarmChoice = DEFAULT_CHOICE
) -> Prewarmed:
    """Fetch the indexes of some files, beginning at a share (0 to 1) of them: one of several tasks on one machine.

    All tasks choose the same indexes, of at most `room` bytes together. Otherwise a task would push out of the cache what its
    neighbours fetch.
    """
    with JOBS.value.begin("prewarm", handle.url) as job:
        splits = list(split_readers(handle, files))
        watched = _Watched(job, ProgressCounter(None))
        watched.plan(len(splits))
        indexed = _with_index(handle, splits, choice, None, watched)
        chosen = _that_fit(handle, indexed, room)
        first = int(begin * len(chosen))
        if not choice.index:
            return _described(Prewarmed(0, len(splits), 0), choice, watched)
        done = _fetched(handle, chosen[first:] + chosen[:first], None, watched)
        left_out = done.left_out + len(indexed) - len(chosen)
        return _described(Prewarmed(done.fetched, done.present, left_out), choice, watched)


@dataclass(frozen=True)
class _Watched:
    """A job of this process, and whoever watches this prewarm alone. Both are told of each split that is ready."""

    job: RunningJob
    counter: ProgressCounter

    def plan(self, splits: int) -> None:
        """Say how many splits there are."""
        self.job.plan(splits)
        self.counter.plan(splits)

    def advance(self, splits: int = 1) -> None:
        """Say that this many more splits are ready."""
        self.job.advance(splits)
        self.counter.add(splits=splits)


@METRICS.measured(
    "prewarm",
    splits_fetched=lambda done: done.fetched,
    splits_present=lambda done: done.present,
    splits_left_out=lambda done: done.left_out,
)
def _prewarmed(
    handle: TableHandle, request: ReadRequest, choice: PrewarmChoice, parallelism: int | None, job: _Watched
) -> Prewarmed:
    splits = list(split_readers(handle, plan_read(handle, request).files))
    job.plan(len(splits))
    indexed = _with_index(handle, splits, choice, parallelism, job)
    done = _fetched(handle, indexed, parallelism, job) if choice.index else Prewarmed(0, len(splits), 0)
    return _described(done, choice, job)


def _with_index(
    handle: TableHandle, splits: list[SplitReader], choice: PrewarmChoice, parallelism: int | None, job: _Watched
) -> list[WarmUp]:
    """What the cache has to know of each split whose index is wanted. The row files are opened on the way, where these are."""
    calls = [partial(split.warm_up, positions=choice.positions, rows=choice.rows) for split in splits]
    found = handle.log.workers.together(calls, limit=parallelism or reading_threads(handle))
    indexed = [split for split in found if split.regions] if choice.index else []
    job.advance(len(found) - len(indexed))
    return indexed


def _fetched(handle: TableHandle, indexed: list[WarmUp], parallelism: int | None, job: _Watched) -> Prewarmed:
    cache = open_cache(handle.options)
    limit = parallelism or reading_threads(handle)
    return cache.prewarm(indexed, workers=handle.log.workers, limit=limit, each=job.advance)


def _described(done: Prewarmed, choice: PrewarmChoice, watched: _Watched) -> Prewarmed:
    seen = watched.job.seen()
    return replace(
        done,
        segments=choice.segments,
        fields=choice.fields,
        skipped_fields=choice.skipped_fields,
        duration_ms=seen.duration_ms,
        job_id=seen.job_id,
    )


def _that_fit(handle: TableHandle, indexed: list[WarmUp], room: int) -> list[WarmUp]:
    cache, chosen = open_cache(handle.options), list[WarmUp]()
    for split in indexed:
        size = cache.bytes_needed(split)
        if size <= room:
            room -= size
            chosen.append(split)
    return chosen
