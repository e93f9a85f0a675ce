"""`StreamPlanner`: where a stream begins, how far it may go, and which files lie between two offsets.

    initial ──▶ offset ──▶ latest(offset) ──▶ next offset ──▶ files(offset, next) ──▶ done(next)
                              │ one refresh, then the versions that came, up to a limit
                              └ the same offset where nothing came

Two offsets always have the same files between them, in the same order: in another process, after a restart, after merges and
checkpoints. So a stream that is killed plans its last step again, and gives the same rows.

A planner keeps the table's newest version without its files, and the versions that the stream has ahead of it. It belongs to
one thread at a time.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from indextables.core.errors import CorruptLog, IndexTablesError, LogWarning, RowsRemoved, TableNotFound, TableReplaced
from indextables.log.file_entries import NO_FILES
from indextables.log.pruning.file_pruning import prune_files
from indextables.log.snapshot import Snapshot
from indextables.table.handle import TableHandle
from indextables.table.read.request import ReadRequest, make_request, pruning_predicate
from indextables.table.stream.stream_files import CommittedFiles, Room, StreamFiles
from indextables.table.stream.stream_offset import Offset
from indextables.table.stream.stream_options import Limits, StreamOptions
from indextables.table.stream.stream_start import changes_gone, first_offset, oldest_version
from indextables.table.stream.streamed_table import StreamedTable
from indextables.table.stream.version_window import VersionGone

logger = logging.getLogger("indextables")

_MOST_IDLE_VERSIONS: Final = 1_000
"""Versions without new rows after which an offset moves on all the same. Sooner, an idle stream would make empty batches; never,
and clean-up would take a version that the stream still names."""
_MOST_IDLE_MS: Final = 86_400_000
"""Milliseconds after which an offset moves on likewise: a day, well within the three days in which no version is deleted."""
_COUNTED_AHEAD: Final = 1_000
"""Versions ahead of a stream whose files are counted for `lag`, at most: their files mostly are those that it keeps anyway."""


@dataclass(frozen=True)
class Lag:
    """How far a stream is behind the newest version."""

    versions: int
    files: int
    bytes: int
    is_exact: bool
    """False if there may be more files: of a stream that is far behind, only those of the next versions are counted."""


@dataclass(frozen=True)
class _Part:
    """Files of a stream that belong together: a snapshot's, or those that a version added."""

    files: StreamFiles
    version: int
    timestamp: int
    snapshot: bool = False
    after_loss: bool = False
    """Whether versions before this part are gone, and the stream goes on without them."""

    def first_of(self, start: Offset) -> int:
        """The place of the first file that a stream from `start` on gives."""
        return min(start.index, self.files.count) if self.is_at(start) else 0

    def is_at(self, offset: Offset) -> bool:
        """Whether the offset lies inside this part."""
        return (self.version, self.snapshot) == (offset.version, offset.snapshot)


class StreamPlanner:
    """A stream of the files of one table. Raises ForeignTable, SchemaError, PredicateError and QueryError when it is made."""

    def __init__(self, handle: TableHandle, options: StreamOptions | None = None) -> None:
        """`handle` is at a version that was the newest one when it was opened, not one that somebody travelled to.

        What follows an old version may be cleaned up, and a refresh from there would not see that anything came.
        """
        self._options = options or StreamOptions()
        handle.require_bundles("reading")
        self._table = StreamedTable(handle)
        self._window = self._table.window
        self._initial: Offset | None = None
        self._target: int | None = None
        self.head = TableHandle(handle.log, self._newest)
        """The table as it was when the stream was opened, without its files: the schema of all rows of the stream."""
        self._request = make_request(
            self.head,
            "reading",
            columns=self._options.columns,
            where=self._options.where,
            query=self._options.query,
            files=NO_FILES,
        )

    @property
    def _newest(self) -> Snapshot:
        return self._table.newest

    @property
    def schema(self) -> pa.Schema:
        """The columns of the stream's rows."""
        return self._request.output_schema(self.head.schema)

    def initial(self) -> Offset:
        """Where the stream begins if there is no checkpoint: the same answer each time. Raises VersionNotFound, ChangesGone."""
        if self._initial is None:
            if self._target is None:
                self._table.look()
            options, at = self._options, self._table.at
            wants_snapshot = options.starting_version is None and options.starting_timestamp is None
            has_files = wants_snapshot and self._table.pinned(self._newest.version).count > 0
            self._initial = first_offset(at, options, has_files=has_files)
        return self._initial

    def latest(self, start: Offset, limits: Limits | None = None) -> Offset:
        """How far the next step goes: as far as the limits allow, those of the options unless others are given.

        The answer is `start` where nothing is to be given. The first look for new versions is one refresh. Raises TableReplaced,
        ChangesGone, RowsRemoved, SchemaError.
        """
        if self._target is None:
            self._table.look()
        last = self._newest.version if self._target is None else self._target
        self._table.check(start)
        self._forget(start)
        room = Room(self._options.limits if limits is None else limits)
        end, idle_since, lost = start, self._newest.timestamp, False
        try:
            for part in self._parts(start, last):
                first = part.first_of(start)
                count = room.admit(part.files, first)
                if first + count < part.files.count:
                    return replace(start, version=part.version, index=first + count, snapshot=part.snapshot)
                idle_since, lost = min(idle_since, part.timestamp), lost or part.after_loss
                end = replace(start, version=part.version + 1, index=0, snapshot=False)
                if room.is_full:
                    break
        except RowsRemoved:
            if not room.taken:
                raise  # otherwise what came before is given first
        idle = end.version - start.version
        long_idle = idle >= _MOST_IDLE_VERSIONS or self._newest.timestamp - idle_since >= _MOST_IDLE_MS
        return end if room.taken or lost or (idle > 0 and long_idle) else start

    def files(self, start: Offset, end: Offset) -> pa.Table:
        """The log's entries of the files between two offsets, in order. Raises what `latest` raises."""
        last = end.version if end.snapshot or end.index else end.version - 1
        if max(start.version, last) > self._newest.version:
            self._table.look()
        self._table.check(start)
        self._table.check(end)
        parts = [NO_FILES]
        for part in self._parts(start, last, only_snapshot=end.snapshot):
            until = min(end.index, part.files.count) if part.is_at(end) else part.files.count
            if part.first_of(start) < until:
                parts.append(part.files.entries(part.first_of(start), until))
        return pa.concat_tables(parts)

    def request(self, start: Offset, end: Offset) -> ReadRequest:
        """What to read of the table (`head`) for the rows between two offsets: only files that may have some."""
        files = self.files(start, end)
        wanted = pruning_predicate(self.head, self._request)
        if wanted is not None:
            files = prune_files(files, wanted, self.head.schema, self.head.partition_columns)
        return replace(self._request, files=files)

    def report(self) -> Offset:
        """The offset behind everything that was in the table at the last look."""
        return Offset(self._newest.table_id, self._newest.version + 1)

    def prepare_available_now(self) -> None:
        """From now on the stream ends at the version that is the newest one now."""
        self._table.look()
        self._target = self._newest.version

    def lag(self, offset: Offset) -> Lag:
        """How far an offset is behind the newest version of the last look. No refresh, and no error for what is gone."""
        first, files, size = offset.version, 0, 0
        last = min(self._newest.version, first + _COUNTED_AHEAD)
        is_exact = last == self._newest.version
        try:
            if offset.snapshot:
                pinned = self._table.pinned(offset.version)
                files, size = max(pinned.count - offset.index, 0), int(pinned.sizes[offset.index :].sum())
                first += 1
            for found in self._window.read(first, last):
                start = offset.index if found.version == offset.version and not offset.snapshot else 0
                files += max(found.count - start, 0)
                size += int(found.sizes[start:].sum())
        except VersionGone:
            is_exact = False
        return Lag(max(self._newest.version + 1 - offset.version, 0), files, size, is_exact)

    def check_not_dropped(self) -> None:
        """Raise TableNotFound, TableReplaced or CorruptLog if the table is not there any more: that is why something is gone."""
        try:
            self._table.look()
        except (CorruptLog, TableNotFound, TableReplaced):
            raise
        except IndexTablesError as error:
            logger.info("table %s cannot be looked at: %s", self.head.url, error)

    def done(self, end: Offset) -> None:
        """Forget what lies before an offset: it was given, and no step will ask for it again."""
        self._forget(end)

    def _forget(self, offset: Offset) -> None:
        self._window.forget(offset.version)
        if not offset.snapshot:
            self._table.unpin()

    def _parts(self, start: Offset, last: int, *, only_snapshot: bool = False) -> Iterator[_Part]:
        """What a stream gives from an offset on, up to version `last`. Raises ChangesGone, RowsRemoved."""
        version, after_loss = start.version, False
        if start.snapshot:
            try:
                files = self._table.pinned(version)
                yield _Part(files, version, self._newest.timestamp, snapshot=True)
                version += 1
            except VersionGone:
                version, after_loss = self._go_on_after(version, "snapshot"), True
        while version <= last and not only_snapshot:
            try:
                for found in self._window.read(version, last):
                    yield _Part(self._given(found), version, found.timestamp, after_loss=after_loss)
                    version, after_loss = version + 1, False
            except VersionGone as gone:
                version, after_loss = self._go_on_after(gone.version, "version"), True

    def _given(self, found: CommittedFiles) -> CommittedFiles:
        """What the stream gives of a commit. Raises RowsRemoved where the options do not say what becomes of removed rows."""
        options = self._options
        if not found.removes or options.ignore_changes:
            return found
        if options.skip_change_commits:
            return replace(found, adds=())
        if not found.adds and options.ignore_deletes:
            return found
        what = "replaced rows by others" if found.adds else "removed rows"
        way = "ignoreChanges=true to get the new rows, " if found.adds else "ignoreDeletes=true to go on, "
        raise RowsRemoved(
            f"table {self.head.url}: version {found.version} {what}, and a stream cannot take back what it gave: set {way}"
            "skipChangeCommits=true to leave out such commits, or begin with a new checkpoint",
            url=self.head.url,
            version=found.version,
        )

    def _go_on_after(self, gone: int, what: str) -> int:
        """The version to go on with where one is gone. Raises ChangesGone, unless the options allow to lose rows."""
        url, oldest = self.head.url, oldest_version(self._table.at)
        if self._options.fail_on_data_loss:
            raise changes_gone(url, gone, oldest, what)
        text = f"table {url}: {what} {gone} was cleaned up before the stream gave its rows; it goes on with version {oldest}"
        logger.warning("%s", text)
        warnings.warn(text, LogWarning, stacklevel=2)
        return max(oldest, gone + 1)
