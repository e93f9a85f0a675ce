"""`Ledger`: which files were taken into a table, on disk.

    {"format":1,"id":"<uuid>","table":"<id>"}            the ledger's own name: batches are numbered under it in the table's log
    {"batch":7,"time":…,"files":[["a.csv",120,17…]]}     these files are taken together: written before the first of them is read
    {"done":7}                                           their commit happened
    {"gone":["a.csv"]}                                   these files were removed: another file of such a name is a new one
    {"place":[2049,131,7710…]}                           the directory where files were taken, or seen that had been (`Place`)

Lines are only added, and each is on disk before anything follows from it. A line that was cut off in the middle, where the
program was killed, was not acted upon and is dropped. A ledger that is lost has lost its name, too, so a new one takes every file
again instead of leaving out batches whose numbers were used before. Releases that do not know a kind of line overlook such lines.
"""

from __future__ import annotations

import fcntl
import os
import time
import uuid
from collections.abc import Iterable, Sequence
from io import FileIO
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from indextables.cli.arriving.arrivals import Arrived, Place
from indextables.cli.errors import InputError
from indextables.storage.durable import sync_directory, write_over

_FORMAT: Final = 1
"""The newest format of ledgers that this release reads and writes."""
_MOST_LINES: Final = 1_000
"""Lines after which a ledger is written anew when it is opened: only the files that are still there then."""


class _Head(msgspec.Struct):
    format: int
    id: str
    table: str


class _Line(msgspec.Struct, omit_defaults=True):
    """A line after the first one: one of the four kinds."""

    batch: int | None = None
    time: int = 0
    files: list[tuple[str, int, int]] = []
    done: int | None = None
    gone: list[str] = []
    place: Place | None = None


class Batch(msgspec.Struct, frozen=True):
    """Files that are taken by one commit."""

    number: int
    began: int
    """Milliseconds since 1970."""
    files: tuple[Arrived, ...]


class Ledger:
    """The ledger of one directory and one table. Held by one program at a time."""

    def __init__(self, directory: Path, table_id: str, most_lines: int = _MOST_LINES) -> None:
        """Open the ledger, or begin one. A ledger of more than `most_lines` lines is written anew.

        Raises InputError where another program holds it, or it cannot be read or written.
        """
        self._path = directory / f"{table_id}.ledger"
        self.taken: dict[str, Arrived] = {}
        """Every file that was taken and is still there, as it was then."""
        self.open_batch: Batch | None = None
        """The newest batch, if nothing says yet that its commit happened."""
        self.place: Place | None = None
        """The directory where files were taken, or seen that had been, when last one was. None where no release wrote it down."""
        self._last = 0
        try:
            if not directory.is_dir():
                directory.mkdir(parents=True, exist_ok=True)
                sync_directory(str(directory.parent))  # or a power cut takes the ledger with the directory
            self._lock = self._locked(directory / f"{table_id}.lock")
        except OSError as error:
            raise self._unusable(error) from error
        try:
            self._file = self._opened(table_id, most_lines)
        except OSError as error:
            self._lock.close()
            raise self._unusable(error) from error
        except InputError:
            self._lock.close()
            raise

    @property
    def app_id(self) -> str:
        """The name under which the table's log counts the batches."""
        return f"import:{self._id}"

    @property
    def last(self) -> int:
        """The number of the newest batch, 0 where there is none."""
        return self._last

    @property
    def path(self) -> Path:
        """Where the ledger lies."""
        return self._path

    def begin(self, files: Sequence[Arrived]) -> Batch:
        """A new batch of these files. It is on disk when this returns."""
        batch = Batch(self._last + 1, time.time_ns() // 1_000_000, tuple(files))
        self._write(_line_of(batch))
        self._take(batch)
        return batch

    def amend(self, files: Sequence[Arrived]) -> Batch:
        """The newest batch has these files now: some were removed, or written again, before its commit."""
        assert self.open_batch is not None
        batch = msgspec.structs.replace(self.open_batch, files=tuple(files))
        for file in self.open_batch.files:
            del self.taken[file.name]
        self._write(_line_of(batch))
        self._take(batch)
        return batch

    def done(self) -> None:
        """The commit of the newest batch happened."""
        self._write(_Line(done=self._last))
        self.open_batch = None

    def forget(self, names: Iterable[str]) -> None:
        """Files were removed from the directory."""
        gone = sorted(name for name in names if name in self.taken)
        if gone:
            self._write(_Line(gone=gone))
            for name in gone:
                del self.taken[name]

    def remember(self, place: Place | None) -> None:
        """Files were taken in this directory, or seen that had been. A place that is known or None is not written."""
        if place is not None and place != self.place:
            self._write(_Line(place=place))
            self.place = place

    def lies_in(self, directory: Path) -> bool:
        """Whether this very ledger is found inside the directory and in its file system: files were taken from there then."""
        try:
            state = self._path.parent.resolve(strict=True)
            same = os.path.samestat(self._path.stat(), os.fstat(self._file.fileno()))
            return same and state.is_relative_to(directory.resolve()) and state.stat().st_dev == directory.stat().st_dev
        except OSError:
            return False

    def close(self) -> None:
        """Let another program have the ledger."""
        self._file.close()
        self._lock.close()

    def _take(self, batch: Batch) -> None:
        self._last, self.open_batch = batch.number, batch
        self.taken |= {file.name: file for file in batch.files}

    def _locked(self, path: Path) -> IO[bytes]:
        lock = path.open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.close()
            raise InputError(
                f"another import follows this directory into this table already: {path} is locked"
            ) from error
        return lock

    def _opened(self, table_id: str, most_lines: int) -> FileIO:
        try:
            raw = self._path.read_bytes()
        except FileNotFoundError:
            raw = b""
        whole = raw[: raw.rfind(b"\n") + 1]
        lines = whole.splitlines()
        if not lines:
            self._id = str(uuid.uuid4())
            self._rewrite(table_id)
        else:
            self._read(lines, table_id)
            if len(lines) > most_lines:
                self._rewrite(table_id)
            elif len(whole) < len(raw):
                write_over(str(self._path.parent), self._path.name, whole)
        return FileIO(self._path, "a")

    def _read(self, lines: Sequence[bytes], table_id: str) -> None:
        try:
            head = msgspec.json.decode(lines[0], type=_Head)
            self._id = head.id
            if head.format > _FORMAT:
                raise InputError(
                    f"{self._path} has format {head.format}, which a later release of IndexTables wrote: update IndexTables"
                )
            if head.table != table_id:
                raise InputError(f"{self._path} belongs to table {head.table}: give another directory with --state")
            for line in lines[1:]:
                self._apply(msgspec.json.decode(line, type=_Line))
        except msgspec.DecodeError as error:
            raise InputError(
                f"{self._path} is damaged ({error}), so nobody knows which files were taken: put back a copy that was made "
                "since the last import, or remove it to take every file of the directory again"
            ) from error

    def _apply(self, line: _Line) -> None:
        if line.batch is not None:
            if self.open_batch is not None and line.batch == self.open_batch.number:
                for file in self.open_batch.files:
                    self.taken.pop(file.name, None)
            files = tuple(Arrived(modified, name, size) for name, size, modified in line.files)
            self._take(Batch(line.batch, line.time, files))
        if line.done is not None and line.done == self._last:
            self.open_batch = None
        for name in line.gone:
            self.taken.pop(name, None)
        self.place = line.place or self.place

    def _rewrite(self, table_id: str) -> None:
        """Write the ledger anew: what it says, without what came and went."""
        batch = self.open_batch
        own = {file.name for file in batch.files} if batch is not None else set()
        before = tuple(sorted(file for name, file in self.taken.items() if name not in own))
        lines: list[Any] = [_Head(_FORMAT, self._id, table_id)]
        if before or self._last:
            number = self._last if batch is None else batch.number - 1
            lines += [_line_of(Batch(number, 0, before)), _Line(done=number)]
        if batch is not None:
            lines.append(_line_of(batch))
        if self.place is not None:
            lines.append(_Line(place=self.place))
        text = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        write_over(str(self._path.parent), self._path.name, text)

    def _write(self, line: _Line) -> None:
        try:
            left = memoryview(msgspec.json.encode(line) + b"\n")
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> InputError:
        return InputError(
            f"{self._path}, which says what files were taken, cannot be used ({error.strerror or error}): give another directory "
            "with --state",
            file=str(self._path),
        )


def _line_of(batch: Batch) -> _Line:
    return _Line(
        batch=batch.number, time=batch.began, files=[(file.name, file.size, file.modified) for file in batch.files]
    )
