"""`indextables import --follow`: looks at a directory, takes what is whole in batches, and says a row about each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from indextables.cli.answers import Rows
from indextables.cli.arriving.arrivals import Arrivals, Arrived
from indextables.cli.arriving.ledger import Batch, Ledger
from indextables.cli.arriving.take_batch import Reading, StillWritten, Taken, check_newest, take_batch, was_committed
from indextables.cli.errors import UsageError
from indextables.cli.load.formats import Format
from indextables.cli.load.schema_file import schema_argument
from indextables.cli.load.sources import Source, format_of
from indextables.cli.render.progress import Stage
from indextables.cli.stop import STOP
from indextables.cli.targets import Target
from indextables.cli.writing import Import, about_files, check_same, existing_table, plan_of, schema_lines
from indextables.core.errors import TableExists
from indextables.core.schema_text import Declared, read_schema
from indextables.table import Table

STATE: Final = ".indextables-imports"
"""The directory inside a followed one that holds the ledgers: where the files are mounted elsewhere, their ledgers go along."""
_MOST_FILES: Final = 1_000
"""Files of one commit, at most: the first look at a full directory makes several commits, each of which can be redone alone."""
_MOST_BYTES: Final = 1 << 30
"""Bytes of the files of one commit, at most 1 GiB unless a single file is larger: what has to be read again after a crash."""

_SCHEMA: Final = pa.schema(
    [
        pa.field("version", pa.int64(), nullable=False),
        pa.field("files", pa.int64(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("names", pa.list_(pa.string()), nullable=False),
    ]
)


@dataclass(frozen=True)
class Follow:
    """How a directory is followed."""

    interval: float
    """Seconds between two looks."""
    settle: float
    """Seconds for which a file must not have changed."""
    state: str | None = None
    """Where the ledger lies, if not in the directory."""
    most_files: int = _MOST_FILES
    """Files of one commit."""
    most_bytes: int = _MOST_BYTES
    """Bytes of the files of one commit, unless it is one file."""


def follow_directory(target: Target, wanted: Import, follow: Follow, stage: Stage) -> Rows:
    """Take the files of a directory as they arrive, until Ctrl-C. A row for each commit."""
    for name, seconds, least in (("interval", follow.interval, 0.001), ("settle", follow.settle, 0.0)):
        if not least <= seconds < math.inf:
            raise UsageError(
                f"--{name} is {seconds:g}, but must be {'0 or more' if not least else 'more than 0'} seconds"
            )
    directory = Path(wanted.files[0]).expanduser()
    if len(wanted.files) != 1 or not directory.is_dir():
        raise UsageError("--follow takes one directory of this machine, in place of files", file=wanted.files[0])
    commits = _Followed(target, wanted, follow, directory, stage).commits()
    return Rows(_SCHEMA, commits, shown=("version", "files", "rows", "bytes"), title="commit", follows=True)


class _Followed:
    """A directory and the table that its files go into."""

    def __init__(self, target: Target, wanted: Import, follow: Follow, directory: Path, stage: Stage) -> None:
        self._target = target
        self._wanted = wanted
        self._follow = follow
        self._stage = stage
        self._directory = directory
        self._arrivals = Arrivals(directory, follow.settle)
        self._state = Path(follow.state).expanduser() if follow.state else directory / STATE
        self._format = Format(wanted.format) if wanted.format else None
        self._reading = Reading(self._format, wanted.delimiter, wanted.nulls)
        self._said: set[str] = set()
        """Names that a note was made about: one is enough."""
        self._declared: Declared | None = None
        if wanted.schema:
            self._declared = read_schema(schema_argument(wanted.schema))

    def commits(self) -> Iterator[pa.RecordBatch]:
        """A row for each commit, without an end."""
        table = self._table()
        ledger = Ledger(self._state, table.id)
        try:
            check_newest(table, ledger)
            if ledger.open_batch is not None and was_committed(table, ledger, ledger.open_batch):
                ledger.done()
            while True:
                batch = self._next_batch(ledger)
                if batch is None:
                    STOP.wait(self._follow.interval)
                    continue
                try:
                    taken = take_batch(table, ledger, self._arrivals, self._reading, self._stage)
                except StillWritten as changed:
                    self._note(changed.name, "changed while it was read, and is read again once it is whole")
                    STOP.wait(self._follow.interval)
                    continue
                ledger.done()
                yield _row(taken)
        finally:
            ledger.close()

    def _table(self) -> Table:
        """The table; one that does not exist is made once there are files that tell what it is."""
        table = existing_table(self._target, self._wanted.create)
        while table is None:
            files = self._untaken(self._arrivals.look(), {})
            if files:
                table = self._created(files)
            else:
                STOP.wait(self._follow.interval)
        check_same(table, self._declared, self._wanted.partition_by)
        return table

    def _created(self, files: Sequence[Arrived]) -> Table:
        from indextables.table.loading import create_planned

        paths = [self._arrivals.path(file.name) for file in files]
        first = self._format or format_of(paths[0].name)
        alike = [path for path in paths if (self._format or format_of(path.name)) == first]
        load = self._reading.load([Source(str(path), path) for path in alike])
        with self._stage.bytes("reading", load.size) as bytes_read:
            guessed = load.look(self._declared, bytes_read)
        with about_files():
            plan = plan_of(self._target, guessed, self._wanted.partition_by)
        try:
            table = create_planned(plan)
        except TableExists:
            return self._target.open()
        self._stage.note(f"{self._target.url} is new, with this schema:", schema_lines(guessed))
        return table

    def _next_batch(self, ledger: Ledger) -> Batch | None:
        """The batch to take now: one that was begun before, or what arrived since. None where there is nothing."""
        lay_there = ledger.lies_in(self._directory)
        there = self._arrivals.look()
        place = self._arrivals.place
        batch = ledger.open_batch
        if batch is not None:
            files = [there[file.name] for file in batch.files if file.name in there]
            if not all(self._arrivals.is_whole(file) for file in files):
                return None
            return batch if tuple(files) == batch.files else ledger.amend(files)
        if any(there.get(name) == file for name, file in ledger.taken.items()):
            ledger.remember(place)
        proven = lay_there and ledger.lies_in(self._directory)
        if place is not None and (proven or place == ledger.place):
            # Elsewhere, an empty mount point looks like removed files.
            ledger.forget(ledger.taken.keys() - there.keys())
        files = self._untaken(there, ledger.taken)
        if not files:
            return None
        batch = ledger.begin(files)
        ledger.remember(place)
        return batch

    def _untaken(self, there: dict[str, Arrived], taken: dict[str, Arrived]) -> list[Arrived]:
        """The next whole files that were not taken, the oldest first: as many as one commit takes."""
        found: list[Arrived] = []
        size = 0
        for file in sorted(there.values()):
            before = taken.get(file.name)
            if before is not None:
                if before != file and self._arrivals.is_whole(file):
                    self._note(
                        file.name, "changed after it was imported: what came is not imported, give it a new name"
                    )
            elif self._arrivals.is_whole(file) and self._is_known(file.name):
                size += file.size
                if found and (len(found) >= self._follow.most_files or size > self._follow.most_bytes):
                    break
                found.append(file)
        return found

    def _is_known(self, name: str) -> bool:
        if self._format is None:
            try:
                format_of(name)
            except UsageError:
                self._note(name, "has no ending that tells its format, and is left alone")
                return False
        return True

    def _note(self, name: str, what: str) -> None:
        if (note := f"{self._arrivals.path(name)} {what}") not in self._said:
            self._said.add(note)
            self._stage.note(note, [])


def _row(taken: Taken) -> pa.RecordBatch:
    names = [file.name for file in taken.files]
    size = sum(file.size for file in taken.files)
    row = {"version": taken.commit.version, "files": len(names), "rows": taken.rows, "bytes": size, "names": names}
    return pa.RecordBatch.from_pylist([row], schema=_SCHEMA)
