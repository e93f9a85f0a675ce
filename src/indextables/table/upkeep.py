"""`Upkeep`: the methods of `Table` that keep a table fast and small. Each method is one verb, done by a module of its own."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from indextables.log.state.checkpoint import Checkpointed, compacted_checkpoint
from indextables.table.at_version import TableAtVersion
from indextables.table.maintain.merge_plan import merge_limits
from indextables.table.partition_predicate import over_partitions
from indextables.table.progress import Watcher
from indextables.table.read.request import make_request

if TYPE_CHECKING:
    from indextables.split.cache.index_cache import Prewarmed
    from indextables.table.maintain.merge import Merged
    from indextables.table.maintain.purge import Purged
    from indextables.table.maintain.truncate import Truncated


class Upkeep(TableAtVersion):
    """What callers do to keep a table fast and small. None of it changes a row of the newest version."""

    def merge_splits(
        self,
        target_size: int | str | None = None,
        where: str | None = None,
        max_dest_splits: int | None = None,
        max_source_splits_per_merge: int = 1000,
        progress: Watcher | None = None,
    ) -> Merged:
        """Make few large splits of many small ones, in all partitions or in those that `where` (SQL) selects. Rows stay.

        `target_size` is in bytes, or text such as "1G"; `max_dest_splits` ends the work after that many results. A split that
        cannot be read is left as it is, and out of merges for a day. Raises PredicateError, OptionError, ForeignTable,
        StorageError and what `commit_files` raises.
        """
        from indextables.table.maintain.merge import merge_splits

        limits = merge_limits(self._newest().options, target_size, max_dest_splits, max_source_splits_per_merge)
        self.refresh()
        chosen = None if where is None else over_partitions(where, self._handle.snapshot, "merge_splits", "merged")
        before = self._handle
        result = merge_splits(before, limits, chosen, progress)
        self._move(before, result.handle)
        if result.merged.results and before.log.settings.purges:
            from indextables.table.maintain.purge_on_write import purge_after_merge

            purge_after_merge(self._handle)
        return result.merged

    def checkpoint(self) -> Checkpointed:
        """Make sure that the newest version has a compact state, so that opening the table needs no older versions.

        Where that version has a state that is not compact, an empty version is committed (operation `CHECKPOINT`) and its state
        is written. Where the state is compact already, nothing is written and `written` is False.
        """
        self._newest()
        self.refresh()
        before = self._handle
        done = compacted_checkpoint(before)
        self._move(before, before.moved(done.snapshot))
        return done

    def purge(
        self,
        older_than: float | str | timedelta | None = None,
        log_retention: float | str | timedelta | None = None,
        dry_run: bool = False,
        progress: Watcher | None = None,
    ) -> Purged:
        """Delete splits that no version names, and versions, states and checkpoints that are past their time. Rows stay.

        `older_than` is the age of splits to delete (`purge.defaultRetentionHours`), `log_retention` how far back time travel
        reaches afterwards (`logRetention.duration`): hours, a timedelta, or text such as "7 days". Nothing younger than the
        table's safety age goes. With `dry_run` nothing goes at all, and `paths` of the answer is what would.

        Raises OptionError for retentions below `purge.minRetentionHours`, ForeignTable, VersionGap, StorageError, and CorruptLog
        where a part of the log cannot be read: then no split is deleted.
        """
        from indextables.table.maintain.purge import purge, purge_ages

        ages = purge_ages(self._newest("purge").options, older_than, log_retention)
        self.refresh()
        return purge(self._handle, ages, dry_run=dry_run, progress=progress)

    def truncate_time_travel(self, dry_run: bool = False) -> Truncated:
        """Give up every version but the newest: a version that becomes the oldest is committed, and the log below it goes.

        Log objects that are younger than the safety age go with a later clean-up. Data files stay; purge deletes those that no
        version has any more. With `dry_run` nothing is committed or deleted. Raises what `commit_files` raises.
        """
        from indextables.table.maintain.truncate import truncate_time_travel

        before = self._newest("truncate")
        result = truncate_time_travel(before, dry_run=dry_run)
        self._move(before, result.handle)
        return result.truncated

    def prewarm(self, where: str | None = None) -> Prewarmed:
        """Bring the indexes of all splits, or of those that may hold rows for which `where` (SQL) is true, to local disk.

        What the cache (`cache.disk.maxBytes`) cannot hold is left out. Raises ForeignTable, SplitError.
        """
        from indextables.table.read.prewarm import prewarm

        handle = self._handle
        return prewarm(handle, make_request(handle, "prewarming", columns=(), where=where))
