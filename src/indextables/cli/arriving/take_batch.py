"""One batch: its files are read and committed in one version, or were committed already before the program was killed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.cli.arriving.arrivals import Arrivals, Arrived
from indextables.cli.arriving.ledger import Batch, Ledger
from indextables.cli.errors import InputError
from indextables.cli.load.formats import Format
from indextables.cli.load.load import Load, reader_of
from indextables.cli.load.sources import Source, format_of
from indextables.cli.writing import about_files

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.cli.load.sources import Told
    from indextables.cli.render.progress import Stage
    from indextables.table import Commit, Table


@dataclass(frozen=True)
class Reading:
    """How the files are read."""

    format: Format | None
    delimiter: str | None
    nulls: Sequence[str]

    def load(self, sources: Sequence[Source]) -> Load:
        """What reads files of one format. Raises UsageError where their names do not tell which."""
        return Load(sources, reader_of(self.format or format_of(sources[0].name), self.delimiter, self.nulls))


class StillWritten(Exception):
    """A file changed while it was read: nothing of the batch was committed."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True)
class Taken:
    """What became of a batch."""

    files: tuple[Arrived, ...]
    rows: int
    commit: Commit


def check_newest(table: Table, ledger: Ledger) -> None:
    """Raise InputError where the table has batches that the ledger does not know: an older copy of the ledger was put back."""
    from indextables.table.loading import newest_batch

    newest = newest_batch(table.refresh(), ledger.app_id)
    if newest > ledger.last:
        raise InputError(
            f"{ledger.path} is older than the table: it ends with batch {ledger.last}, and the table has batch {newest}, so "
            "nobody knows which files were taken since; put back the newest copy, or remove it to take every file again",
            file=str(ledger.path),
        )


def was_committed(table: Table, ledger: Ledger, batch: Batch) -> bool:
    """Whether the commit of a batch that an earlier run began is in the table. Raises InputError where nobody can tell."""
    from indextables.table.loading import batches_are_known_for, newest_batch

    if newest_batch(table.refresh(), ledger.app_id) >= batch.number:
        return True
    hours = (time.time_ns() // 1_000_000 - batch.began) / 3_600_000
    if hours >= batches_are_known_for(table):
        raise InputError(
            f"{ledger.path}: batch {batch.number} began {hours:,.0f} hours ago, and the table knows batches for "
            f"{batches_are_known_for(table):g} hours (txn.retention.hours): if {batch.files[0].name} is in the table, add the "
            f'line {{"done":{batch.number}}}, otherwise remove the last line',
            file=str(ledger.path),
        )
    return False


def take_batch(table: Table, ledger: Ledger, arrivals: Arrivals, reading: Reading, stage: Stage) -> Taken:
    """Read the files of the newest batch and commit them. Raises StillWritten, InputError, and what `Table.append` raises."""
    from indextables.table.loading import append_once

    batch = ledger.open_batch
    assert batch is not None
    rows = 0

    def read(told: Told) -> Iterator[pa.RecordBatch]:
        nonlocal rows
        for file in batch.files:
            if arrivals.state(file.name) != file:
                raise StillWritten(file.name)
            load = reading.load([Source(str(arrivals.path(file.name)), arrivals.path(file.name))])
            yield from load.batches(table.schema, told)
            if arrivals.state(file.name) != file:
                raise StillWritten(file.name)
            rows += load.rows

    size = sum(file.size for file in batch.files)
    with stage.rows("importing", 0, size) as (watcher, bytes_read), about_files():
        done = append_once(table, read(bytes_read), ledger.app_id, batch.number, watcher)
    return Taken(batch.files, rows, done)
