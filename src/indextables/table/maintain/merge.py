"""`Table.merge_splits`: many small splits become few large ones, with the same rows.

    plan_merges ──▶ groups ──▶ merge, as many at a time as `indexWriter.threads` says ──▶ Uploads ──▶ commit, once a minute

A commit says that no data changed, and takes in only the groups whose sources are all still live at that moment: whatever
others do to the table meanwhile, no row is lost, doubled or brought back. A source that cannot be merged is left as it is, with a
note in the log that keeps it out for a day, and its group goes on without it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from indextables.core import options as opt
from indextables.core.errors import CorruptLog
from indextables.core.predicate import Predicate
from indextables.log.actions import AddAction
from indextables.log.bound_limits import StatsLimits
from indextables.log.commit import Committed
from indextables.log.conflicts import Change, MergeGroup
from indextables.log.file_entries import paths_in
from indextables.log.protocol import check_writable
from indextables.log.refresh import read_files, refresh
from indextables.log.skip_records import skip_record, without_cooldown
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.split.build.split_merge import BrokenSource, Target, merge
from indextables.split.build.split_writer import LocalSplit
from indextables.split.reader import SplitReader
from indextables.table.build.job_group import Crew, scratch
from indextables.table.build.split_entries import added, new_number, stored_columns
from indextables.table.build.uploads import Uploads, commit_uploads, partition_directory
from indextables.table.format_gate import check_bundles
from indextables.table.maintain.merge_plan import Group, Limits, plan_merges
from indextables.table.progress import Teller, Watcher
from indextables.table.read.split_readers import readers
from indextables.table.table_mapping import table_mapping
from indextables.table.write.after_commit import after_commit, after_merge

logger = logging.getLogger("indextables")

OPERATION = "MERGE SPLITS"
_COMMIT_EVERY_SECONDS = 60.0


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


def merge_splits(
    log: TableLog, snapshot: Snapshot, limits: Limits, where: Predicate | None = None, progress: Watcher | None = None
) -> tuple[Snapshot, Merged]:
    """Merge what can be merged in the partitions that `where` selects. Returns the snapshot to go on with."""
    snapshot, groups = groups_to_merge(log, snapshot, limits, where)
    if not groups:
        return snapshot, Merged(snapshot.version)
    with scratch("merge") as directory:
        return Merge(log, snapshot, directory, progress).run(groups)


def groups_to_merge(
    log: TableLog, snapshot: Snapshot, limits: Limits, where: Predicate | None = None
) -> tuple[Snapshot, list[Group]]:
    """What there is to do, and the snapshot that it was found in."""
    check_bundles(snapshot, "merging")
    check_writable(log.url, snapshot.protocol)
    table_mapping(
        snapshot, log.options
    )  # options that contradict the table are an error even if there is nothing to do
    snapshot, files = read_files(log, snapshot, where)
    files = without_cooldown(files, snapshot, log.clock.wall_ms(), "merge")
    return snapshot, plan_merges(files, snapshot.metadata.partition_columns, limits)


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

    def __init__(self, log: TableLog, snapshot: Snapshot, directory: Path, progress: Watcher | None = None) -> None:
        self._log = log
        self._snapshot = snapshot
        self._directory = directory
        self._watcher = progress
        self._teller = Teller(progress)
        self.uploads = Uploads(log)
        self._committed: list[tuple[MergedGroup, AddAction]] = []
        self._overtaken = 0
        self._skipped: dict[str, str] = {}

    def run(self, groups: Sequence[Group]) -> tuple[Snapshot, Merged]:
        """Merge all of them in this process."""
        self._teller = Teller(self._watcher, rows_total=sum(group.rows for group in groups))
        threads = self._log.options[opt.INDEX_WRITER_THREADS]
        crew = Crew(self._log.workers, threads)
        waiting: list[MergedGroup] = []
        began = self._log.clock.boot()
        for start in range(0, len(groups), threads):
            try:
                jobs = [partial(self.build, group, crew) for group in groups[start : start + threads]]
                waiting += crew.together(jobs)
                last = start + threads >= len(groups)
                if last or self._log.clock.boot() - began >= _COMMIT_EVERY_SECONDS:
                    self.commit(waiting)
                    waiting, began = [], self._log.clock.boot()
            except BaseException:
                self.uploads.discard()  # those of a commit that began are no longer among them
                raise
        return self.finish()

    def finish(self) -> tuple[Snapshot, Merged]:
        """The table after all commits, and what they did."""
        if self._committed:
            self._snapshot = after_merge(self._log, self._snapshot)
        return self._snapshot, self._summary()

    def build(self, group: Group, crew: Crew) -> MergedGroup:
        """Merge a group, without the sources that cannot be."""
        try:
            sources = list(readers(self._log, self._snapshot, group.files))
        except CorruptLog as error:  # a partition value that cannot be read: all files of the group have it
            logger.warning("table %s: a partition is left out of the merge: %s", self._log.url, error)
            return MergedGroup(None, [], 0, {})
        sizes = dict(zip(group.files.column("path").to_pylist(), group.files.column("size").to_pylist(), strict=True))
        broken: dict[str, str] = {}
        while len(sources) > 1:
            try:
                local = self._write(sources, group, crew)
            except BrokenSource as found:
                logger.warning("table %s: %s is left out of a merge: %s", self._log.url, found.source.key, found)
                broken[found.source.key] = str(found)
                sources.remove(found.source)
                continue
            result = self._upload(local, group, crew)
            self._teller.tell(
                rows_read=group.rows, rows_written=local.sealed.footer.rows, splits=1, size=local.sealed.size
            )
            merged = [source.key for source in sources]
            return MergedGroup(result, merged, sum(sizes[key] for key in merged), broken)
        self._teller.tell(rows_read=group.rows)
        return MergedGroup(None, [], 0, broken)

    def _write(self, sources: Sequence[SplitReader], group: Group, crew: Crew) -> LocalSplit:
        crew.check()
        log, snapshot = self._log, self._snapshot
        limits = StatsLimits(snapshot.schema, snapshot.metadata.partition_columns, log.options)
        target = Target(
            schema=stored_columns(snapshot),
            mapping=table_mapping(snapshot, log.options),
            partition_values=group.partition_values,
            created_ms=log.clock.wall_ms(),
            heap=log.options[opt.INDEX_WRITER_HEAP_SIZE],
            stats_columns=limits.columns,
            stats_length=limits.length,
            source=new_number(log),
            check=partial(self._check, crew),
        )
        return merge(self._directory, sources, target, log.workers)

    def _check(self, crew: Crew) -> None:
        """Whether to go on: another group may have failed, and the watcher may have had enough."""
        crew.check()
        self._teller.tell()

    def _upload(self, local: LocalSplit, group: Group, crew: Crew) -> AddAction:
        try:
            crew.check()
            key = self.uploads.put(local.path, partition_directory(group.partition_values))
        finally:
            local.remove()
        return added(key, local.sealed, local.sealed.footer.doc_mapping)

    def commit(self, finished: Sequence[MergedGroup]) -> None:
        """Commit what is finished: results in place of their sources, and notes about what is broken."""
        broken = self._still_live({path: why for done in finished for path, why in done.broken.items()})
        uploads, self.uploads = self.uploads, Uploads(self._log)
        groups = [(done, done.result) for done in finished if done.result is not None]
        if not groups and not broken:
            return
        now_ms = self._log.clock.wall_ms()
        change = Change(
            groups=tuple(MergeGroup(tuple(done.sources), (result,)) for done, result in groups),
            skips=tuple(skip_record(path, why, now_ms) for path, why in broken.items()),
            data_change=False,
        )
        committed = commit_uploads(
            self._log, self._snapshot, change, uploads, operation=OPERATION, parameters={"groups": len(groups)}
        )
        live = self._taken_in(committed, [result.path for _, result in groups])
        uploads.discard(keep=live)
        self._committed += [(done, result) for done, result in groups if result.path in live]
        self._overtaken += len(groups) - len(live)
        self._skipped |= broken
        self._snapshot = committed.snapshot
        if committed.written:
            self._snapshot = after_commit(self._log, committed.snapshot)

    def _taken_in(self, committed: Committed, results: Sequence[str]) -> set[str]:
        """The results that are in the table now: all of them, unless somebody was faster."""
        if not committed.written:
            return set()
        if (committed.metrics or {}).get("numAddedFiles") == len(results):
            return set(results)
        _, files = read_files(self._log, committed.snapshot, None)
        return paths_in(files, results)

    def _still_live(self, broken: dict[str, str]) -> dict[str, str]:
        """Without those that are gone because somebody else replaced them, and that were purged before we read them."""
        if not broken:
            return {}
        _, files = read_files(self._log, refresh(self._log, self._snapshot), None)
        live = paths_in(files, list(broken))
        return {path: why for path, why in broken.items() if path in live}

    def _summary(self) -> Merged:
        done = self._committed
        return Merged(
            version=self._snapshot.version,
            sources=sum(len(each.sources) for each, _ in done),
            results=len(done),
            rows=sum(result.num_records or 0 for _, result in done),
            bytes_before=sum(each.size for each, _ in done),
            bytes_after=sum(result.size for _, result in done),
            overtaken=self._overtaken,
            skipped=self._skipped,
        )
