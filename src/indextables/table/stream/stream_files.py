"""Files in an order that never changes, and how many of them a limit admits.

A version's files stand in the order of its version file, which never changes. A snapshot's files are put in the order of their
modification times and paths, which stand in the log's own entries. The version that added a file would not do: entries that
come out of a JSON checkpoint count as added by the checkpoint's version, so it may be another one after a restart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.runtime.cached_property import cached_property
from indextables.log.actions import Actions, AddAction, added_again
from indextables.log.file_entries import FILE_SCHEMA, files_table
from indextables.table.stream.stream_options import Limits

Numbers = npt.NDArray[np.int64]


class StreamFiles(Protocol):
    """Files in the order in which a stream gives them."""

    @property
    def count(self) -> int:
        """How many files there are."""
        ...

    @property
    def sizes(self) -> Numbers:
        """The bytes of each file."""
        ...

    @property
    def rows(self) -> Numbers:
        """The rows of each file; 0 where the log does not know."""
        ...

    def entries(self, start: int, end: int) -> pa.Table:
        """The log's entries of some of the files."""
        ...


@dataclass(frozen=True)
class CommittedFiles:
    """What a commit changed: the files whose rows it added, and how many files it removed together with their rows."""

    version: int
    timestamp: int
    adds: tuple[AddAction, ...] = ()
    removes: int = 0

    @property
    def count(self) -> int:
        """How many files the commit added."""
        return len(self.adds)

    @cached_property
    def sizes(self) -> Numbers:
        """The bytes of each file."""
        return np.fromiter((add.size for add in self.adds), np.int64, len(self.adds))

    @cached_property
    def rows(self) -> Numbers:
        """The rows of each file; 0 where the log does not know."""
        return np.fromiter((add.num_records or 0 for add in self.adds), np.int64, len(self.adds))

    def entries(self, start: int, end: int) -> pa.Table:
        """The log's entries of some of the files."""
        adds = self.adds[start:end]
        return files_table(adds, [self.version] * len(adds), [self.timestamp] * len(adds)).cast(FILE_SCHEMA)


def committed_files(version: int, timestamp: int, actions: Actions) -> CommittedFiles:
    """What the actions of a version changed: nothing where it only rearranged rows, or removed a file and added it again."""
    again = added_again(actions)
    adds = tuple(add for add in actions.adds if add.data_change and add.path not in again)
    removes = {remove.path for remove in actions.removes if remove.data_change and remove.path not in again}
    return CommittedFiles(version, timestamp, adds, len(removes))


class PinnedFiles:
    """The files of a snapshot. Their list is held as long as the stream is inside the snapshot."""

    def __init__(self, files: pa.Table) -> None:
        self._files = files
        self._order = pc.sort_indices(
            files.select(["modificationTime", "path"]), [("modificationTime", "ascending"), ("path", "ascending")]
        )

    @property
    def count(self) -> int:
        """How many files the snapshot has."""
        return int(self._files.num_rows)

    @cached_property
    def sizes(self) -> Numbers:
        """The bytes of each file."""
        return self._numbers("size")

    @cached_property
    def rows(self) -> Numbers:
        """The rows of each file; 0 where the log does not know."""
        return self._numbers("numRecords")

    def _numbers(self, name: str) -> Numbers:
        column = pc.fill_null(self._files.column(name), 0).take(self._order)
        return np.asarray(column.to_numpy(), np.int64)

    def entries(self, start: int, end: int) -> pa.Table:
        """The log's entries of some of the files."""
        return self._files.take(self._order.slice(start, max(end - start, 0))).cast(FILE_SCHEMA)


class Room:
    """What is left of the limits of one step."""

    def __init__(self, limits: Limits) -> None:
        self._files = limits.files
        self._bytes = limits.bytes
        self._rows = limits.rows
        self.taken = 0
        """Files that were admitted."""

    def admit(self, files: StreamFiles, start: int) -> int:
        """How many of the files from place `start` on this step takes: the first one of the step in any case."""
        left = files.count - start
        if left <= 0:
            return 0
        count = left if self._files is None else min(left, self._files)
        sizes, rows = files.sizes[start : start + count], files.rows[start : start + count]
        count = min(_fitting(sizes, self._bytes), _fitting(rows, self._rows), count)
        if not count and not self.taken:
            count = 1
        self.taken += count
        self._files = _less(self._files, count)
        self._bytes = _less(self._bytes, int(sizes[:count].sum()))
        self._rows = _less(self._rows, int(rows[:count].sum()))
        return count

    @property
    def is_full(self) -> bool:
        """Whether certainly no further file is admitted."""
        return self.taken > 0 and 0 in (self._files, self._bytes, self._rows)


def _fitting(numbers: Numbers, most: int | None) -> int:
    """How many of the first numbers have a sum of at most `most`."""
    if most is None:
        return len(numbers)
    return int(np.searchsorted(np.cumsum(numbers), most, side="right"))


def _less(left: int | None, taken: int) -> int | None:
    return None if left is None else max(left - taken, 0)
