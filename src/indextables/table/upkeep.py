"""`Upkeep`: the methods of `Table` that keep a table fast and small. Each method is one verb, done by a module of its own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, overload

import pyarrow as pa

from indextables.log.state.checkpoint import Checkpointed, compacted_checkpoint
from indextables.table.arguments import at_least_one
from indextables.table.at_version import TableAtVersion
from indextables.table.maintain.merge_plan import merge_limits
from indextables.table.partition_predicate import over_partitions
from indextables.table.progress import Watcher
from indextables.table.read.request import make_request

if TYPE_CHECKING:
    from indextables.core.runtime.jobs import Job
    from indextables.split.cache.index_cache import Prewarmed
    from indextables.table.maintain.merge import Merged
    from indextables.table.maintain.optimize import Optimized
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

    def fsck(self, repair: bool = False, progress: Watcher | None = None) -> pa.Table:
        """What is wrong with the newest version of the table: `severity`, `kind`, `path` and `message` of each finding.

        Every object of the log and every byte of every live split is read and compared: checksums, sizes, rows, bounds, gaps,
        orphans, doubled rows. A table without findings is whole. With `repair`, what can be proved is repaired in place by
        additions: a pointer, or a newer state in place of a damaged one. The other findings say what to do. The command line
        (`indextables fsck`) also checks tables that cannot be opened. Raises StorageError.
        """
        from indextables.table.maintain.fsck import fsck

        if repair:
            self._newest("repair")
        found = fsck(self._handle.log, repair=repair, progress=progress)
        if repair:
            self.refresh()
        return found

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

    @overload
    def prewarm(
        self,
        where: str | None = None,
        segments: Sequence[str] | None = None,
        fields: Sequence[str] | None = None,
        parallelism: int | None = None,
        wait: Literal[True] = True,
        progress: Watcher | None = None,
    ) -> Prewarmed: ...

    @overload
    def prewarm(
        self,
        where: str | None = None,
        segments: Sequence[str] | None = None,
        fields: Sequence[str] | None = None,
        parallelism: int | None = None,
        *,
        wait: bool,
        progress: Watcher | None = None,
    ) -> Prewarmed | Job: ...

    def prewarm(
        self,
        where: str | None = None,
        segments: Sequence[str] | None = None,
        fields: Sequence[str] | None = None,
        parallelism: int | None = None,
        wait: bool = True,
        progress: Watcher | None = None,
    ) -> Prewarmed | Job:
        """Bring the indexes of all splits, or of those that may hold rows for which `where` (SQL) is true, to local disk.

        `segments` names parts of the index, terms and postings by default; positions come only if named, and `DOC_STORE` opens
        the row files. Index files hold all columns: `fields` are checked and come with all others. At most `parallelism` splits
        are fetched at a time. What the cache (`cache.disk.maxBytes`) cannot hold is left out. With `wait=False` a job of this
        process goes on beside the caller: see `indextables.inspect`. Raises OptionError, SchemaError, ForeignTable, SplitError.
        """
        from indextables.table.read.prewarm import begin_prewarm, prewarm
        from indextables.table.read.prewarm_choice import choose

        handle = self._handle
        request = make_request(handle, "prewarming", columns=(), where=where)
        choice = choose(handle.schema, handle.options, segments, fields)
        most = None if parallelism is None else at_least_one("parallelism", parallelism)
        return (prewarm if wait else begin_prewarm)(handle, request, choice, most, progress)

    def optimize(self, dry_run: bool = False, progress: Watcher | None = None, prewarm: bool = False) -> Optimized:
        """Do what the table needs now: merge small splits of like size, write a compact state of the log, purge what is due.

        With `prewarm` the indexes come to local disk. A dry run says what is needed and does nothing. Several machines may do
        this at the same time. `Optimized.table()` has a row for each step. Where the log or a key must be mended before a
        purge, the step is `partial` and its message says how. Raises StorageError, and what `merge_splits` and `checkpoint`
        raise.
        """
        from indextables.table.maintain.optimize import Work, optimize

        self._newest("optimize")
        self.refresh()
        before = self._handle
        result = optimize(before, Work(dry_run, progress), prewarm=prewarm)
        self._move(before, result.handle)
        return result.optimized
