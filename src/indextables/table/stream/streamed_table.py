"""The table of a stream: its newest version without its files, and the files of the snapshot that a stream begins with.

look ── one refresh ──▶ newest, and what came since the last look ──▶ window
pinned(version) ── time travel ──▶ the files of a snapshot, until the stream is past it
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from indextables.core.errors import ForeignTable, TableReplaced, VersionNotFound
from indextables.core.options import TRANSACTION_CACHE_ENABLED
from indextables.log.file_entries import NO_FILES
from indextables.log.file_set import FileSet
from indextables.log.open_snapshot import open_log
from indextables.log.refresh import refresh_now
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.snapshot_files import read_files
from indextables.log.table_log import TableLog
from indextables.table.handle import TableHandle
from indextables.table.stream.stream_files import PinnedFiles
from indextables.table.stream.stream_offset import Offset
from indextables.table.stream.stream_schema import check_schema
from indextables.table.stream.version_window import VersionGone, VersionWindow

_MOST_TAKEN_IN: Final = 1_000
"""Versions that one refresh hands over to the window, at most. A file set keeps 4,096 versions, and folds them into one then."""


class StreamedTable:
    """A table that a stream goes along. Raises ForeignTable where the log does not say what commits added."""

    def __init__(self, handle: TableHandle) -> None:
        _check_committed_by_versions(handle.snapshot)
        self._log = _uncached(handle.log)
        self._opened: Snapshot | None = handle.snapshot
        """The version that the stream was opened with, together with its files; None once it is past its snapshot."""
        self._pinned: tuple[int, PinnedFiles] | None = None
        self.newest = _without_files(handle.snapshot)
        """The newest version at the last look, without its files."""
        self._first = self.newest
        self.window = VersionWindow(self._log, handle.table_id)

    @property
    def at(self) -> LogAtVersion:
        """The log at the newest version of the last look."""
        return LogAtVersion(self._log, self.newest)

    def look(self) -> None:
        """One refresh: which versions came. Raises TableReplaced, ForeignTable, SchemaError."""
        before = self.newest
        found = refresh_now(LogAtVersion(self._log, before))
        if found.table_id != before.table_id:
            raise _replaced(self._log.url, before.table_id, found.table_id)
        _check_committed_by_versions(found)
        check_schema(self._first, found)
        came = found.version - before.version
        if 0 < came <= _MOST_TAKEN_IN and found.file_set.base is _NO_BASE:
            self.window.take_in(before.version, found.version, found.file_set.pending(), found.timestamp)
        self.newest = _without_files(found)

    def check(self, offset: Offset) -> None:
        """Raise TableReplaced or VersionNotFound for an offset that is not one of this table's stream."""
        newest = self.newest
        if offset.table != newest.table_id:
            raise _replaced(self._log.url, offset.table, newest.table_id)
        if offset.version > newest.version + 1 or (offset.snapshot and offset.version > newest.version):
            raise VersionNotFound(
                f"table {self._log.url} is at version {newest.version} and the stream was at {offset.version}: an older copy of "
                "the table was put back; begin with a new checkpoint",
                url=self._log.url,
                version=offset.version,
                newest=newest.version,
            )

    def pinned(self, version: int) -> PinnedFiles:
        """The files of a version, read by time travel. Raises VersionGone."""
        if self._pinned is None or self._pinned[0] != version:
            snapshot = self._opened
            try:
                if snapshot is None or snapshot.version != version:
                    snapshot = open_log(self._log, version)
                self._check_same(snapshot)
                _, files = read_files(LogAtVersion(self._log, snapshot), None)
            except VersionNotFound as error:
                raise VersionGone(version) from error
            self._pinned = version, PinnedFiles(files)
        return self._pinned[1]

    def _check_same(self, snapshot: Snapshot) -> None:
        if snapshot.table_id != self.newest.table_id:
            raise _replaced(self._log.url, self.newest.table_id, snapshot.table_id)

    def unpin(self) -> None:
        """Forget the files of the snapshot: the stream is past it."""
        self._pinned = self._opened = None


_NO_BASE: Final = NO_FILES.slice(0)
"""The files of a snapshot that was stripped of them: what a refresh adds to this very table came since. What has another base
was opened anew, and says nothing about what came."""
_NOTHING: Final = FileSet(_NO_BASE)


def _without_files(snapshot: Snapshot) -> Snapshot:
    """A snapshot to refresh from, without what grows with the table."""
    return snapshot.changed(file_set=_NOTHING, transactions={}, skips=(), registry={})


def _uncached(log: TableLog) -> TableLog:
    """The log without the memory of this process: a snapshot without files is nobody else's business."""
    return replace(log, options=log.options.merged({TRANSACTION_CACHE_ENABLED.key: False}))


def _check_committed_by_versions(snapshot: Snapshot) -> None:
    if snapshot.state_committed:
        raise ForeignTable(
            f"table {snapshot.url} is committed by another implementation as states, without version files, so nothing says "
            "which rows a commit added: read the whole table",
            url=snapshot.url,
        )


def _replaced(url: str, then: str, now: str) -> TableReplaced:
    return TableReplaced(
        f"table {url} was dropped and created again: the stream belongs to table {then}, here is {now} now; begin with a new "
        "checkpoint",
        url=url,
        then=then,
        now=now,
    )
