"""What append and overwrite have in common: rows become splits in the store, and the splits a commit.

    rows_in ──▶ Spool ──▶ piles ──▶ write_split ──▶ Uploads ──▶ AddAction ──▶ commit
                              as many at a time as `indexWriter.threads` says

Until the commit began, whatever ends the write takes its uploads back, an interrupt included. Afterwards only an error that
says for certain that nothing was committed does.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from indextables.core import options as opt
from indextables.core.errors import CommitError, CommitOutcomeUnknown, IndexTablesError
from indextables.log.actions import AddAction
from indextables.log.commit import Committed, commit
from indextables.log.conflicts import Change, Replace
from indextables.log.protocol import check_writable
from indextables.log.snapshot import Snapshot
from indextables.log.stats import StatsLimits
from indextables.log.tablelog import TableLog
from indextables.split.spool import Pile, Spool
from indextables.split.writer import LocalSplit, write_split
from indextables.storage.mapping import translate
from indextables.table.foreign import check_bundles
from indextables.table.indexing import table_mapping
from indextables.table.progress import Progress, Watcher
from indextables.table.uploads import Uploads, partition_directory


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
    try:
        done = commit(log, snapshot, change, operation="WRITE", parameters=parameters, uploads_began=uploads.began)
    except CommitOutcomeUnknown:
        raise
    except IndexTablesError:
        if not snapshot.state_committed:  # taking a table over has no read-back: nobody can tell there
            uploads.discard()
        raise
    uploads.discard(keep=[add.path for add in adds] if done.written else ())
    return done


class _Builds:
    """Builds the splits of one write, a few at a time. The first error ends all of them, and nothing runs on after it."""

    def __init__(self, log: TableLog, snapshot: Snapshot, uploads: Uploads, progress: Watcher | None) -> None:
        self._log = log
        self._uploads = uploads
        self._watcher = progress
        self._progress = Progress()
        self._table_schema = snapshot.schema
        self._partition_by = tuple(snapshot.metadata.partition_columns)
        self._schema = pa.schema([field for field in snapshot.schema if field.name not in self._partition_by])
        self._mapping = table_mapping(snapshot, log.options)
        self._mapping_json = self._mapping.to_json()
        self._limits = StatsLimits(snapshot.schema, self._partition_by, log.options)
        self._threads = log.options[opt.INDEX_WRITER_THREADS]
        self._idle = threading.Condition()
        self._running = 0
        self._failure: BaseException | None = None
        self._directory = Path()

    def run(self, batches: Iterable[pa.RecordBatch]) -> list[AddAction]:
        """Write all rows. The splits are in the store then, and nothing of them on local disk."""
        try:
            self._directory = Path(tempfile.mkdtemp(prefix="indextables-write-"))
        except OSError as error:
            raise translate(error, tempfile.gettempdir(), "", "put") from error
        try:
            return self._run(batches)
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)

    def _run(self, batches: Iterable[pa.RecordBatch]) -> list[AddAction]:
        adds: list[AddAction] = []
        ready: list[Pile] = []
        roll = self._log.options[opt.INDEX_WRITER_SPLIT_SIZE]
        with Spool(self._directory / "spool", self._table_schema, self._partition_by, roll=roll) as spool:
            for batch in batches:
                ready += spool.add(batch)
                self._tell(rows_read=batch.num_rows)
                if len(ready) >= self._threads:
                    adds += self._together(ready)
                    ready = []
            ready += spool.finish()
            return adds + self._together(ready)

    def _together(self, piles: list[Pile]) -> list[AddAction]:
        try:
            return self._log.workers.together([partial(self._build, pile) for pile in piles], limit=self._threads)
        except BaseException as error:
            self._end(error)
            if self._failure is not None and self._failure is not error:
                raise self._failure from None
            raise

    def _end(self, error: BaseException) -> None:
        """Let the builds that still run find out, and wait for them."""
        with self._idle:
            self._failure = self._failure or error
            while self._running:
                self._idle.wait()

    def _build(self, pile: Pile) -> AddAction:
        with self._idle:
            self._check()
            self._running += 1
        try:
            return self._built(pile)
        except BaseException as error:
            with self._idle:
                self._failure = self._failure or error
            raise
        finally:
            with self._idle:
                self._running -= 1
                self._idle.notify_all()

    def _built(self, pile: Pile) -> AddAction:
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
            source=uuid.UUID(self._log.clock.uuid()).int % 2**63,
        )
        try:
            self._check()
            key = self._uploads.put(local.path, partition_directory(pile.values))
        finally:
            local.remove()
        self._tell(rows_written=pile.rows, splits=1, size=local.sealed.size)
        return self._added(key, pile, local)

    def _watched(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self._check()
            yield batch

    def _check(self) -> None:
        if self._failure is not None:
            raise CommitError("this write was ended by another error")

    def _added(self, key: str, pile: Pile, local: LocalSplit) -> AddAction:
        sealed, footer = local.sealed, local.sealed.footer
        start, end = footer.time_range or (None, None)
        return AddAction(
            path=key,
            partition_values={name: text for name, text in pile.values.items() if text is not None},
            size=sealed.size,
            modification_time=footer.created_ms,
            stats=msgspec.json.encode({"numRecords": footer.rows, "nullCount": footer.null_counts}).decode(),
            min_values=dict(footer.min_values) or None,
            max_values=dict(footer.max_values) or None,
            num_records=footer.rows,
            footer_start_offset=sealed.footer_start,
            footer_end_offset=sealed.size,
            has_footer_offsets=True,
            time_range_start=start,
            time_range_end=end,
            num_merge_ops=0,
            doc_mapping_json=self._mapping_json,
            uncompressed_size_bytes=footer.uncompressed_bytes,
        )

    def _tell(self, *, rows_read: int = 0, rows_written: int = 0, splits: int = 0, size: int = 0) -> None:
        if self._watcher is None:
            return
        with self._idle:
            now = self._progress
            self._progress = replace(
                now,
                rows_read=now.rows_read + rows_read,
                rows_written=now.rows_written + rows_written,
                splits=now.splits + splits,
                bytes=now.bytes + size,
            )
            self._watcher(self._progress)
