"""The first half of a write: rows become splits in the store, wherever that is done.

    WritePlan ──▶ build_splits(batches) ──▶ AddAction values ──▶ whoever commits

A plan is a small value that pickles: what splits of this table look like, and the recipe of its store. So the rows of one
write can be turned into splits by many processes, and one of them commits what all of them built.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from indextables.core import options as opt
from indextables.core.runtime.cached_property import cached_property
from indextables.core.types import spark_json_to_arrow
from indextables.log.actions import AddAction
from indextables.log.bound_limits import StatsLimits
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.split.build.split_writer import write_split
from indextables.split.build.spool import Pile, Spool
from indextables.split.index.doc_mapping import DocMapping
from indextables.table.build.job_group import Crew, scratch
from indextables.table.build.split_entries import added, new_number
from indextables.table.build.uploads import Uploads, partition_directory
from indextables.table.progress import Teller, Watcher
from indextables.table.table_mapping import table_mapping


@dataclass(frozen=True)
class WritePlan:
    """What new splits of a table look like, and where they go."""

    log: TableLog
    schema_string: str
    """The table's schema as Spark's JSON: Arrow forgets nothing on its way through it."""
    partition_by: tuple[str, ...]
    mapping: DocMapping

    @cached_property
    def schema(self) -> pa.Schema:
        """The table's schema."""
        return spark_json_to_arrow(self.schema_string)

    @cached_property
    def stored(self) -> pa.Schema:
        """The columns that are in splits: all but the partition columns."""
        return pa.schema([field for field in self.schema if field.name not in self.partition_by])

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("schema", "stored")}


def plan_write(log: TableLog, snapshot: Snapshot) -> WritePlan:
    """The plan for more rows of a table. Raises OptionError where the caller's options contradict it."""
    return WritePlan(
        log,
        snapshot.metadata.schema_string,
        tuple(snapshot.metadata.partition_columns),
        table_mapping(snapshot, log.options),
    )


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
        self._teller = Teller(progress)
        self._mapping_json = plan.mapping.to_json()
        self._limits = StatsLimits(plan.schema, plan.partition_by, plan.log.options)
        self._threads = plan.log.options[opt.INDEX_WRITER_THREADS]
        self._crew = Crew(plan.log.workers, self._threads)

    def run(self, batches: Iterable[pa.RecordBatch]) -> list[AddAction]:
        adds: list[AddAction] = []
        ready: list[Pile] = []
        roll = self._log.options[opt.INDEX_WRITER_SPLIT_SIZE]
        with Spool(self._directory / "spool", self._plan.schema, self._plan.partition_by, roll=roll) as spool:
            for batch in batches:
                ready += spool.add(batch)
                self._teller.tell(rows_read=batch.num_rows)
                if len(ready) >= self._threads:
                    adds += self._crew.together([partial(self._build, pile) for pile in ready])
                    ready = []
            ready += spool.finish()
            return adds + self._crew.together([partial(self._build, pile) for pile in ready])

    def _build(self, pile: Pile) -> AddAction:
        local = write_split(
            self._directory,
            self._watched(pile.batches()),
            schema=self._plan.stored,
            mapping=self._plan.mapping,
            partition_values=pile.values,
            heap=self._log.options[opt.INDEX_WRITER_HEAP_SIZE],
            created_ms=self._log.clock.wall_ms(),
            stats_columns=self._limits.columns,
            stats_length=self._limits.length,
            source=new_number(self._log),
        )
        try:
            self._crew.check()
            key = self._uploads.put(local.path, partition_directory(pile.values))
        finally:
            local.remove()
        self._teller.tell(rows_written=pile.rows, splits=1, size=local.sealed.size)
        return added(key, local.sealed, self._mapping_json)

    def _watched(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self._crew.check()
            yield batch
            self._teller.tell(rows_indexed=batch.num_rows)
