"""A table whose long verbs are done by Spark's executors, where that pays. To a statement it is a `Table` as any other."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from indextables.spark.maintenance.maintain import run_merge
from indextables.spark.tasks import ExecutorWorkers
from indextables.table import Table
from indextables.table.distributed.definitions import handle_of
from indextables.table.distributed.maintenance import Checkpointed, compact_by, component_sizes_by
from indextables.table.distributed.merge_job import Merged, begin_merge, merge_limits
from indextables.table.distributed.purge_job import Purged, purge_by

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from indextables.table.distributed.maintenance import Watcher

MERGE_BYTES: Final = 1 << 30
"""Bytes of live splits from which executors merge: 1 GiB, which one process merges in about half a minute. Spark takes some
seconds to begin its tasks."""
COMPACT_FILES: Final = 1_000_000
"""Files from which executors write the state: below, one process takes less time than Spark needs to begin."""
PURGE_FILES: Final = 1_000_000
"""Files from which executors read the log and delete what a purge finds: below, one process lists and deletes in about a minute,
most of which it waits for the store."""
FOOTER_FILES: Final = 20_000
"""Files from which executors read footers: one process reads so many in about half a minute from a store."""


class SparkTable(Table):
    """A table in a session."""

    session: SparkSession

    def in_session(self, session: SparkSession) -> SparkTable:
        """Let the executors of a session do the long work of this table. Returns the table."""
        self.session = session
        return self

    def merge_splits(
        self,
        target_size: int | str | None = None,
        where: str | None = None,
        max_dest_splits: int | None = None,
        max_source_splits_per_merge: int = 1000,
        progress: Watcher | None = None,
    ) -> Merged:
        """`Table.merge_splits`, by executors if there is much to merge."""
        given = (target_size, where, max_dest_splits, max_source_splits_per_merge)
        if not self._pays("size", MERGE_BYTES):
            return super().merge_splits(*given, progress=progress)
        options = self._newest("merge").options
        limits = merge_limits(options, target_size, max_dest_splits, max_source_splits_per_merge)
        done = run_merge(self.session, begin_merge(self.url, options, limits, where))
        self.refresh()
        return done

    def checkpoint(self) -> Checkpointed:
        """`Table.checkpoint`, by executors if there are very many files."""
        if not self._pays(None, COMPACT_FILES):
            return super().checkpoint()
        done = compact_by(ExecutorWorkers(self.session), self.url, self._newest("checkpoint").options)
        self.refresh()
        return done

    def purge(
        self,
        older_than: float | str | timedelta | None = None,
        log_retention: float | str | timedelta | None = None,
        dry_run: bool = False,
        progress: Watcher | None = None,
    ) -> Purged:
        """`Table.purge`, by executors if there are very many files."""
        given = (older_than, log_retention)
        if not self._pays(None, PURGE_FILES):
            return super().purge(*given, dry_run, progress)
        options = self._newest("purge").options
        return purge_by(ExecutorWorkers(self.session), self.url, options, *given, dry_run=dry_run, progress=progress)

    def component_sizes(self, where: str | None = None) -> pa.Table:
        """`Table.component_sizes`, by executors if there are many files."""
        if not self._pays(None, FOOTER_FILES):
            return super().component_sizes(where)
        return component_sizes_by(ExecutorWorkers(self.session), handle_of(self), where)

    def _pays(self, column: str | None, least: int) -> bool:
        """True if the live files are so many, or so large together, that executors are faster than this process."""
        files = self.refresh().files()
        much: int = files.num_rows if column is None else sum(files.column(column).to_pylist())
        return much >= least


def open_in(session: SparkSession, url: str, options: Any) -> SparkTable:
    """The newest version of a table, for a session. Raises TableNotFound."""
    table = SparkTable.open(url, options=options)
    assert isinstance(table, SparkTable), "open makes a table of the class that it is called on"
    return table.in_session(session)


__all__ = ["COMPACT_FILES", "FOOTER_FILES", "MERGE_BYTES", "PURGE_FILES", "SparkTable", "open_in"]
