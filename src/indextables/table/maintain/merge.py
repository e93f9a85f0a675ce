"""`Table.merge_splits`: many small splits become few large ones, with the same rows.

    plan_merges ──▶ groups ──▶ merge, as many at a time as `indexWriter.threads` says ──▶ Uploads ──▶ commit, once a minute

A commit says that no data changed, and takes in only the groups whose sources are all still live at that moment: whatever
others do to the table meanwhile, no row is lost, doubled or brought back. A source that cannot be merged is left as it is, with a
note in the log that keeps it out for a day, and its group goes on without it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from indextables.core import options as opt
from indextables.core.errors import CorruptLog
from indextables.core.metrics import METRICS
from indextables.core.predicate import Predicate
from indextables.core.runtime.jobs import JOBS, RunningJob
from indextables.log.actions import AddAction
from indextables.log.commit import Committed
from indextables.log.conflicts import Change, Rewrite
from indextables.log.file_entries import paths_in
from indextables.log.skip_records import skip_record, without_cooldown
from indextables.split.build.split_merge import BrokenSource, Target, merge
from indextables.split.build.split_writer import LocalSplit
from indextables.split.reader import SplitReader
from indextables.table.build.job_group import JobGroup, scratch
from indextables.table.build.split_entries import added, source_number
from indextables.table.build.uploads import Uploads, commit_uploads, partition_directory
from indextables.table.handle import TableHandle
from indextables.table.maintain.merge_plan import Group, Limits, plan_merges
from indextables.table.progress import ProgressCounter, Watcher
from indextables.table.read.split_readers import split_readers
from indextables.table.write.after_commit import after_commit, after_merge

logger = logging.getLogger("indextables")

OPERATION = "MERGE SPLITS"
_COMMIT_EVERY_SECONDS = 60.0
"""Seconds of building after which finished groups are committed: work that ends early loses at most a minute."""


@dataclass(frozen=True)
class Merged:
    """What a merge did."""

    version: int
    """The version that the table is at afterwards."""
    sources: int = 0
    """Splits that are gone."""
    results: int = 0
    """Splits in their place."""
    rows: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    overtaken: int = 0
    """Results that were thrown away, because somebody else replaced one of their sources meanwhile."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Splits that could not be merged, and why: they stay as they are, and are left alone for a day."""

    @property
    def written(self) -> bool:
        """Whether something was merged."""
        return self.results > 0

    @property
    def status(self) -> str:
        """`success`, `no_action` where there was nothing to merge, or `partial` where a split or a result was left out."""
        if self.skipped or self.overtaken:
            return "partial"
        return "success" if self.written else "no_action"

    @property
    def message(self) -> str:
        """What was merged, and what was left out."""
        told = f"{self.sources} splits became {self.results}" if self.written else "nothing to merge"
        if self.overtaken:
            told += f"; {self.overtaken} results were given up, because others replaced their sources"
        if self.skipped:
            told += f"; splits that cannot be read stay as they are: {', '.join(sorted(self.skipped))}"
        return told


@dataclass(frozen=True)
class MergeResult:
    """What a merge did, and the table afterwards."""

    handle: TableHandle
    merged: Merged


def merge_splits(
    handle: TableHandle, limits: Limits, where: Predicate | None = None, progress: Watcher | None = None
) -> MergeResult:
    """Merge what can be merged in the partitions that `where` selects."""
    groups = groups_to_merge(handle, limits, where)
    if not groups:
        return MergeResult(handle, Merged(handle.version))
    with scratch("merge") as directory:
        return Merge(handle, directory, progress).run(groups)


def groups_to_merge(handle: TableHandle, limits: Limits, where: Predicate | None = None) -> list[Group]:
    """The groups of splits that should become one, without splits that an earlier merge could not read."""
    handle.require_writable("merging")
    # options that contradict the table are an error even if there is nothing to do
    handle.require_matching_options()
    files = handle.files(where)
    files = without_cooldown(files, handle.snapshot, handle.log.clock.wall_ms(), "merge")
    return plan_merges(files, handle.partition_columns, limits)


@dataclass
class MergedGroup:
    """A group after its merge. Without a result too few sources were left."""

    result: AddAction | None
    sources: list[str]
    size: int
    """Bytes of the sources."""
    broken: dict[str, str]


class Merge:
    """The work of one merge: groups are built here or elsewhere, and committed here."""

    def __init__(self, handle: TableHandle, directory: Path, progress: Watcher | None = None) -> None:
        self._handle = handle
        self._log = handle.log
        self._directory = directory
        self._watcher = progress
        self._progress = ProgressCounter(progress)
        self.uploads = Uploads(handle.log)
        self._committed: list[tuple[MergedGroup, AddAction]] = []
        self._overtaken = 0
        self._skipped: dict[str, str] = {}
        self._began = time.perf_counter()

    def run(self, groups: Sequence[Group]) -> MergeResult:
        """Merge all of them in this process."""
        self._progress = ProgressCounter(self._watcher, rows_total=sum(group.rows for group in groups))
        threads = self._log.options[opt.INDEX_WRITER_THREADS]
        with JOBS.value.begin(
            "merge", self._handle.url, total=len(groups), total_batches=-(-len(groups) // threads)
        ) as job:
            self._build_all(groups, threads, job)
            return self.finish()

    def _build_all(self, groups: Sequence[Group], threads: int, job: RunningJob) -> None:
        """Build all groups, as many at a time as there are threads, and commit about once a minute."""
        jobs = JobGroup(self._log.workers, threads)
        finished_groups: list[MergedGroup] = []
        began = self._log.clock.boot()
        for start in range(0, len(groups), threads):
            try:
                calls = [partial(self.build, group, jobs) for group in groups[start : start + threads]]
                built = jobs.together(calls)
                job.advance(len(built))
                finished_groups += built
                last = start + threads >= len(groups)
                if last or self._log.clock.boot() - began >= _COMMIT_EVERY_SECONDS:
                    self.commit(finished_groups)
                    finished_groups, began = [], self._log.clock.boot()
                job.end_batch()
            except BaseException:
                self.uploads.discard()  # those of a commit that began are no longer among them
                METRICS.observe("indextables.merge.failures", 1)
                raise

    def finish(self) -> MergeResult:
        """The table after all commits, and what they did."""
        if self._committed:
            self._handle = after_merge(self._handle)
        merged = self._summary()
        METRICS.observe("indextables.merge.duration_ms", (time.perf_counter() - self._began) * 1000.0)
        for name in ("sources", "results", "rows", "bytes_before", "bytes_after", "overtaken"):
            METRICS.observe(f"indextables.merge.{name}", getattr(merged, name))
        return MergeResult(self._handle, merged)

    def build(self, group: Group, jobs: JobGroup) -> MergedGroup:
        """Merge a group, without the sources that cannot be."""
        try:
            sources = list(split_readers(self._handle, group.files))
        except CorruptLog as error:  # a partition value that cannot be read: all files of the group have it
            logger.warning("table %s: a partition is left out of the merge: %s", self._log.url, error)
            return MergedGroup(None, [], 0, {})
        sizes = dict(zip(group.files.column("path").to_pylist(), group.files.column("size").to_pylist(), strict=True))
        broken: dict[str, str] = {}
        while len(sources) > 1:
            try:
                local = self._write(sources, group, jobs)
            except BrokenSource as found:
                logger.warning("table %s: %s is left out of a merge: %s", self._log.url, found.source.path, found)
                broken[found.source.path] = str(found)
                sources.remove(found.source)
                continue
            result = self._upload(local, group, jobs)
            self._progress.add(
                rows_read=group.rows, rows_written=local.sealed.footer.rows, splits=1, size=local.sealed.size
            )
            merged = [source.path for source in sources]
            return MergedGroup(result, merged, sum(sizes[path] for path in merged), broken)
        self._progress.add(rows_read=group.rows)
        return MergedGroup(None, [], 0, broken)

    def _write(self, sources: Sequence[SplitReader], group: Group, jobs: JobGroup) -> LocalSplit:
        jobs.check()
        log = self._log
        target = Target(
            form=self._handle.write_plan.form,
            partition_values=group.partition_values,
            created_ms=log.clock.wall_ms(),
            source=source_number(log.clock.uuid()),
            check=partial(self._check, jobs),
        )
        return merge(self._directory, sources, target, log.workers)

    def _check(self, jobs: JobGroup) -> None:
        """Whether to go on: another group may have failed, and the watcher may have had enough."""
        jobs.check()
        self._progress.add()

    def _upload(self, local: LocalSplit, group: Group, jobs: JobGroup) -> AddAction:
        try:
            jobs.check()
            key = self.uploads.put(local.path, partition_directory(group.partition_values))
        finally:
            local.remove()
        return added(key, local.sealed)

    def commit(self, finished: Sequence[MergedGroup]) -> None:
        """Commit what is finished: results in place of their sources, and notes about what is broken."""
        broken = self._still_live({path: why for done in finished for path, why in done.broken.items()})
        uploads, self.uploads = self.uploads, Uploads(self._log)
        groups = [(done, done.result) for done in finished if done.result is not None]
        if not groups and not broken:
            return
        now_ms = self._log.clock.wall_ms()
        change = Change(
            rewrites=tuple(Rewrite(tuple(done.sources), (result,), data_change=False) for done, result in groups),
            skips=tuple(skip_record(path, why, now_ms) for path, why in broken.items()),
        )
        committed = commit_uploads(
            self._handle, change, uploads, operation=OPERATION, parameters={"groups": len(groups)}
        )
        live = self._committed_results(committed, [result.path for _, result in groups])
        uploads.discard(keep=live)
        self._committed += [(done, result) for done, result in groups if result.path in live]
        self._overtaken += len(groups) - len(live)
        self._skipped |= broken
        self._handle = self._handle.moved(committed.snapshot)
        if committed.written:
            self._handle = after_commit(self._handle)

    def _committed_results(self, committed: Committed, results: Sequence[str]) -> set[str]:
        """The results that are in the table now: all of them, unless somebody was faster."""
        if not committed.written:
            return set()
        if (committed.metrics or {}).get("numAddedFiles") == len(results):
            return set(results)
        return paths_in(self._handle.moved(committed.snapshot).files(), results)

    def _still_live(self, broken: dict[str, str]) -> dict[str, str]:
        """Without those that are gone because somebody else replaced them, and that were purged before we read them."""
        if not broken:
            return {}
        live = paths_in(self._handle.refreshed().files(), list(broken))
        return {path: why for path, why in broken.items() if path in live}

    def _summary(self) -> Merged:
        done = self._committed
        return Merged(
            version=self._handle.version,
            sources=sum(len(each.sources) for each, _ in done),
            results=len(done),
            rows=sum(result.num_records or 0 for _, result in done),
            bytes_before=sum(each.size for each, _ in done),
            bytes_after=sum(result.size for _, result in done),
            overtaken=self._overtaken,
            skipped=self._skipped,
        )
