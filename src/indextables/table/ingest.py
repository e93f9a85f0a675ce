"""What append and overwrite have in common: rows become splits in the store, and the splits a commit.

    rows_in ──▶ Spool ──▶ piles ──▶ write_split ──▶ Uploads ──▶ AddAction ──▶ commit
                              as many at a time as `indexWriter.threads` says

Until the commit began, whatever ends the write takes its uploads back, an interrupt included. Afterwards only an error that
says for certain that nothing was committed does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from indextables.core import options as opt
from indextables.log.actions import AddAction
from indextables.log.commit import Committed
from indextables.log.conflicts import Change, Replace
from indextables.log.protocol import check_writable
from indextables.log.snapshot import Snapshot
from indextables.log.stats import StatsLimits
from indextables.log.tablelog import TableLog
from indextables.split.spool import Pile, Spool
from indextables.split.writer import write_split
from indextables.table.adds import added, new_number, stored_columns
from indextables.table.crew import Crew, scratch
from indextables.table.foreign import check_bundles
from indextables.table.indexing import table_mapping
from indextables.table.progress import Teller, Watcher
from indextables.table.uploads import Uploads, commit_uploads, partition_directory


def ingest(
    log: TableLog,
    snapshot: Snapshot,
    batches: Iterable[pa.RecordBatch],
    *,
    parameters: dict[str, Any],
    replaced: Replace | None = None,
    progress: Watcher | None = None,
) -> Committed:
    """Write batches of the table's schema and commit them. Without rows and without `replaced` nothing is committed."""
    check_bundles(snapshot, "writing")
    check_writable(log.url, snapshot.protocol)
    uploads = Uploads(log)
    try:
        adds = _Builds(log, snapshot, uploads, progress).run(batches)
    except BaseException:
        uploads.discard()
        raise
    if not adds and replaced is None:
        return Committed(snapshot, "", written=False, reason="the data has no rows", metrics={})
    change = Change(adds=tuple(adds), replace=replaced)
    done = commit_uploads(log, snapshot, change, uploads, operation="WRITE", parameters=parameters)
    uploads.discard(keep=[add.path for add in adds] if done.written else ())
    return done


class _Builds:
    """Builds the splits of one write, a few at a time."""

    def __init__(self, log: TableLog, snapshot: Snapshot, uploads: Uploads, progress: Watcher | None) -> None:
        self._log = log
        self._uploads = uploads
        self._teller = Teller(progress)
        self._table_schema = snapshot.schema
        self._partition_by = tuple(snapshot.metadata.partition_columns)
        self._schema = stored_columns(snapshot)
        self._mapping = table_mapping(snapshot, log.options)
        self._mapping_json = self._mapping.to_json()
        self._limits = StatsLimits(snapshot.schema, self._partition_by, log.options)
        self._threads = log.options[opt.INDEX_WRITER_THREADS]
        self._crew = Crew(log.workers, self._threads)
        self._directory = Path()

    def run(self, batches: Iterable[pa.RecordBatch]) -> list[AddAction]:
        """Write all rows. The splits are in the store then, and nothing of them on local disk."""
        with scratch("write") as self._directory:
            return self._run(batches)

    def _run(self, batches: Iterable[pa.RecordBatch]) -> list[AddAction]:
        adds: list[AddAction] = []
        ready: list[Pile] = []
        roll = self._log.options[opt.INDEX_WRITER_SPLIT_SIZE]
        with Spool(self._directory / "spool", self._table_schema, self._partition_by, roll=roll) as spool:
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
            schema=self._schema,
            mapping=self._mapping,
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
