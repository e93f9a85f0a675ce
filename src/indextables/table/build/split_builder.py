"""The first half of a write: rows become splits in the store, wherever that is done.

WritePlan ──▶ build_splits(batches) ──▶ AddAction values ──▶ whoever commits
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa

from indextables.log.actions import AddAction
from indextables.split.build.split_writer import write_split
from indextables.split.build.spool import Pile, Spool
from indextables.table.build.job_group import JobGroup, scratch
from indextables.table.build.split_entries import added, source_number
from indextables.table.build.uploads import Uploads, partition_directory
from indextables.table.progress import ProgressCounter, Watcher
from indextables.table.write_plan import WritePlan


def build_splits(
    plan: WritePlan, batches: Iterable[pa.RecordBatch], uploads: Uploads, progress: Watcher | None = None
) -> list[AddAction]:
    """Write all rows, as many splits at a time as `indexWriter.threads` says.

    The splits are in the store then, and nothing of them on local disk. After an error `uploads` knows what to take back.
    """
    with scratch("write") as directory:
        return _Builds(plan, uploads, directory, progress).run(batches)


class _Builds:
    """Builds the splits of one write, a few at a time."""

    def __init__(self, plan: WritePlan, uploads: Uploads, directory: Path, progress: Watcher | None) -> None:
        self._plan = plan
        self._log = plan.log
        self._uploads = uploads
        self._directory = directory
        self._progress = None if progress is None else ProgressCounter(progress)
        self._threads = plan.index_threads
        self._jobs = JobGroup(plan.log.workers, self._threads)

    def run(self, batches: Iterable[pa.RecordBatch]) -> list[AddAction]:
        adds: list[AddAction] = []
        ready: list[Pile] = []
        plan = self._plan
        with Spool(self._directory / "spool", plan.schema, plan.partition_by, roll=plan.roll) as spool:
            for batch in batches:
                ready += spool.add(batch)
                if self._progress is not None:
                    self._progress.add(rows_read=batch.num_rows)
                if len(ready) >= self._threads:
                    adds += self._jobs.together([partial(self._build, pile) for pile in ready])
                    ready = []
            ready += spool.finish()
            return adds + self._jobs.together([partial(self._build, pile) for pile in ready])

    def _build(self, pile: Pile) -> AddAction:
        local = write_split(
            self._directory,
            self._watched(pile.batches()),
            self._plan.form,
            partition_values=pile.values,
            created_ms=self._log.clock.wall_ms(),
            source=source_number(self._log.clock.uuid()),
        )
        try:
            self._jobs.check()
            key = self._uploads.put(local.path, partition_directory(pile.values))
        finally:
            local.remove()
        if self._progress is not None:
            self._progress.add(rows_written=pile.rows, splits=1, size=local.sealed.size)
        return added(key, local.sealed)

    def _watched(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self._jobs.check()
            yield batch
            if self._progress is not None:
                self._progress.add(rows_indexed=batch.num_rows)
