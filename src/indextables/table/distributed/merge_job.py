"""A merge whose groups are built by many processes and committed by one, a batch at a time.

    MergeJob ──▶ MergeTask ──┬─▶ run() ──▶ MergeAnswer ─┐
     the driver              ├─▶ run() ──▶ MergeAnswer ─┼─▶ MergeJob.commit([MergeAnswer, …]), and the next batch
                             └─▶ run() ──▶ MergeAnswer ─┘
                                  tasks, anywhere

A task holds recipes only: the table's place and options, its metadata, and the log's rows of its sources. A task that ran twice,
or half, leaves a file that no version names and nothing else, and a batch that is committed stays, whatever becomes of the next.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from indextables.core.errors import IndexTablesError
from indextables.core.options import Options
from indextables.core.runtime.jobs import JOBS, RunningJob
from indextables.table.build.job_group import JobGroup, scratch
from indextables.table.build.uploads import Uploads
from indextables.table.distributed.write_job import may_pass
from indextables.table.handle import TableHandle
from indextables.table.maintain.merge import Merge, Merged, MergedGroup, groups_to_merge
from indextables.table.maintain.merge_plan import Group, Limits, merge_limits
from indextables.table.open_table import open_table
from indextables.table.partition_predicate import over_partitions


@dataclass(frozen=True)
class MergeAnswer:
    """What became of one group."""

    group: MergedGroup | None = None
    keys: tuple[str, ...] = ()
    """Every name that was uploaded, or may have been."""
    error: IndexTablesError | None = None
    """Why there is no result, and never will be; its uploads are taken back already."""


@dataclass(frozen=True)
class MergeTask:
    """A group of splits to merge, with all that another process needs."""

    head: TableHandle
    """The table without its files."""
    group: Group

    def run(self) -> MergeAnswer:
        """Merge it, in this process and with one thread. Raises what may be better the next time."""
        with scratch("merge") as directory:
            merge = Merge(self.head, directory)
            try:
                done = merge.build(self.group, JobGroup(self.head.log.workers, 1))
            except BaseException as error:
                merge.uploads.discard()
                if isinstance(error, IndexTablesError) and not may_pass(error):
                    return MergeAnswer(error=error)
                raise
            return MergeAnswer(done, merge.uploads.keys)


class MergeJob:
    """A merge of what there is to merge now: tasks for others, and commits of what they answer."""

    def __init__(self, handle: TableHandle, limits: Limits, where: str | None = None) -> None:
        chosen = None if where is None else over_partitions(where, handle.snapshot, "merge_splits", "merged")
        groups = groups_to_merge(handle, limits, chosen)
        self._log = handle.log
        self._merge = Merge(handle, Path())
        head = handle.without_files()
        self.tasks = [MergeTask(head, _with_own_files(group)) for group in groups]
        self.sources = sum(group.files.num_rows for group in groups)
        """Splits that the merge would replace."""
        self._job: RunningJob | None = None

    def begin(self) -> float:
        """Now, for `commit`: to be asked before tasks are handed out. The first time, the merge becomes a job of this process."""
        if self._job is None:
            self._job = JOBS.value.begin("merge", self._log.url, total=len(self.tasks))
            weakref.finalize(self, self._job.end, "the merge was given up before all of its tasks were done")
        return self._log.clock.boot()

    def commit(self, answers: Sequence[MergeAnswer], began: float) -> None:
        """Commit what these tasks built since `began`. The first error of a task is raised after what the others built is in."""
        try:
            self._commit(answers, began)
        except BaseException as error:
            if self._job is not None:
                self._job.end(str(error) or type(error).__name__)
            raise
        if self._job is not None:
            self._job.advance(len(answers))
            self._job.end_batch()

    def _commit(self, answers: Sequence[MergeAnswer], began: float) -> None:
        self._merge.uploads = Uploads(self._log, [key for answer in answers for key in answer.keys], began)
        try:
            self._merge.commit([answer.group for answer in answers if answer.group is not None])
        except BaseException:
            self._merge.uploads.discard()  # those of a commit that began are no longer among them
            raise
        for answer in answers:
            if answer.error is not None:
                self._merge.finish()
                raise answer.error

    def finish(self, *, lives_on: bool = True) -> Merged:
        """What all commits did. A purge follows where the options ask for purges after merges, unless `lives_on` is False.

        A purge is a thread of this process, so `lives_on` is False where the process ends right after the merge.
        """
        result = self._merge.finish()
        if self._job is not None:
            self._job.end()
        if lives_on and result.merged.results and self._log.settings.purges:
            from indextables.table.maintain.purge_on_write import purge_after_merge

            purge_after_merge(result.handle)
        return result.merged


def begin_merge(url: str, options: Options, limits: Limits, where: str | None = None) -> MergeJob:
    """Look for what there is to merge. Raises TableNotFound, ForeignTable, PredicateError, OptionError."""
    return MergeJob(open_table(url, options=options), limits, where)


def _with_own_files(group: Group) -> Group:
    """The group with a copy of its list of files: pickling a slice of a large list would take all of the list along."""
    return replace(group, files=pa.Table.from_pylist(group.files.to_pylist(), schema=group.files.schema))


__all__ = ["MergeAnswer", "MergeJob", "MergeTask", "Merged", "begin_merge", "merge_limits"]
