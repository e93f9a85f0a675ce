"""Version files on their way through a stream: what they changed is read once, and kept until the stream is past it.

refresh ── what came since the last look ──▶ kept ──▶ read(first, last) ──▶ CommittedFiles, one version after the other
store ──── versions that are not kept, some at a time ──┘                     forget(before) ◀── the stream went on
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from indextables.log.file_entries import Version
from indextables.log.table_log import TableLog
from indextables.table.stream.stream_files import CommittedFiles, committed_files

_VERSIONS_AT_ONCE: Final = 64
"""Version files that are read side by side: enough to hide a store's latency, few enough to be read in vain."""
_MOST_ENTRIES: Final = 50_000
"""Files and versions of which the log's entries are kept, at most, in about 50 MB. What is beyond is read again in its turn."""


class VersionGone(Exception):
    """A version file that a stream needs was deleted."""

    def __init__(self, version: int) -> None:
        super().__init__(version)
        self.version = version


class VersionWindow:
    """What the versions ahead of a stream changed."""

    def __init__(self, log: TableLog, table_id: str, most_entries: int = _MOST_ENTRIES) -> None:
        """`most_entries` are the files and versions that are kept."""
        self._log = log
        self._table_id = table_id
        self._most = most_entries
        self._kept: dict[int, CommittedFiles] = {}
        self._entries = 0

    def take_in(self, after: int, through: int, changed: list[Version], timestamp: int) -> None:
        """Keep what a refresh found in the versions after `after`, up to `through`, whose time is `timestamp`.

        `changed` are those of them that add or remove files.
        """
        found = {version: (moment, actions) for version, moment, actions in changed}
        for version in range(after + 1, through + 1):
            moment, actions = found.get(version, (timestamp, None))
            files = CommittedFiles(version, moment) if actions is None else committed_files(version, moment, actions)
            if not self._keep(files):
                return

    def read(self, first: int, last: int) -> Iterator[CommittedFiles]:
        """What each version from `first` to `last` changed. Raises VersionGone at the first one that is not there."""
        version = first
        while version <= last:
            kept = self._kept.get(version)
            if kept is not None:
                yield kept
                version += 1
                continue
            for files in self._fetched(version, last):
                yield files
                version += 1

    def _fetched(self, first: int, last: int) -> list[CommittedFiles]:
        """Some versions from `first` on, up to the next one that is kept: at least one. Raises VersionGone."""
        numbers = [first]
        while numbers[-1] < last and len(numbers) < _VERSIONS_AT_ONCE and numbers[-1] + 1 not in self._kept:
            numbers.append(numbers[-1] + 1)
        fetched: list[CommittedFiles] = []
        for number, found in zip(numbers, self._log.read_versions(numbers, None), strict=True):
            if found is None:
                break  # if versions before it are there, they are given first
            if found.belongs_to(self._table_id):
                files = committed_files(number, found.timestamp, found.actions)
            else:  # a late version of a table that was dropped here: replay takes it as empty, too
                files = CommittedFiles(number, found.timestamp)
            fetched.append(files)
            self._keep(files)
        if not fetched:
            raise VersionGone(first)
        return fetched

    def _keep(self, files: CommittedFiles) -> bool:
        """Whether the version is kept: a stream goes forward, so what is kept already is needed first."""
        if files.version not in self._kept:
            if self._kept and self._entries + files.count >= self._most:
                return False
            self._kept[files.version] = files
            self._entries += files.count + 1
        return True

    def forget(self, before: int) -> None:
        """Drop the versions below `before`: the stream is past them."""
        for version in [version for version in self._kept if version < before]:
            self._entries -= self._kept.pop(version).count + 1
