"""A manifest of a state: fetched, checked against what the state says of it, and decoded.

item of the state ─ get ─ length, checksum, number of entries ─▶ `CheckedManifest` ─ tombstones, question ─▶ entries
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from indextables.core.arrow_values import numpy_of
from indextables.core.errors import CorruptLog
from indextables.core.predicate import Predicate, may_match
from indextables.log.avro.avro_file import Container, read_container
from indextables.log.avro.manifest import read_entries, read_records
from indextables.log.avro.record_lengths import Numbers
from indextables.log.avro.shared_columns import integers
from indextables.log.pruning.file_pruning import manifest_bounds, pruned
from indextables.log.pruning.skipping_counts import Skipped
from indextables.log.state.block_bounds import BlockBounds
from indextables.log.state.model import ManifestItem, manifest_key
from indextables.log.state.tombstone_filter import TombstoneFilter
from indextables.log.table_log import TableLog, check_path_column

Prune = Callable[[pa.Table], tuple[pa.Table, Skipped]]
"""Files → those of them that may matter, and how many others were ruled out by what."""


@dataclass(frozen=True)
class FileQuestion:
    """Which files may hold a row for which `where` is true?"""

    where: Predicate
    schema: pa.Schema
    partition_columns: tuple[str, ...]

    def lets_in(self, item: ManifestItem) -> bool:
        """Whether a manifest may hold such a file, by its partition bounds."""
        return may_match(self.where, manifest_bounds(item.bounds, self.schema, typed=item.typed))

    def prune(self, files: pa.Table) -> tuple[pa.Table, Skipped]:
        """The files that may, by their partition values and by the bounds of their columns."""
        return pruned(files, self.where, self.schema, self.partition_columns)

    def prune_by_partition(self, files: pa.Table) -> tuple[pa.Table, Skipped]:
        """The files that may, by their partition values alone."""
        return self.prune(files.drop_columns([n for n in files.column_names if n not in ("partitionValues", "row")]))


@dataclass(frozen=True)
class CheckedManifest:
    """A manifest's bytes, which are as the state says, taken apart."""

    name: str
    data: bytes
    container: Container
    has_checksum: bool
    """Whether the bytes were compared with a checksum. Notes in the header are believed only then."""
    block_bounds: BlockBounds | None

    def bounds_for(self, question: FileQuestion) -> BlockBounds | None:
        """The bounds of the blocks, where they are about the partition columns of the question."""
        bounds = self.block_bounds
        return bounds if bounds is not None and bounds.fits(question.schema, question.partition_columns) else None


def get_manifest(log: TableLog, version: int, item: ManifestItem) -> CheckedManifest:
    """Fetch a manifest of state `version`. Raises CorruptLog unless length, checksum and number of entries are what it says."""
    key = manifest_key(item.path, version)
    name = f"{log.url}/{key}"
    data = log.store.get(key).data
    if item.length is not None and item.length != len(data):
        raise CorruptLog(f"{name} has {len(data)} bytes, state {version} says {item.length}", object=name)
    if item.checksum is not None and item.checksum != checksum(data):
        raise CorruptLog(f"{name} is damaged: its checksum is {checksum(data)}, not {item.checksum}", object=name)
    container = read_container(name, data)
    if container.count != item.num_entries:
        raise CorruptLog(f"{name} has {container.count} entries, state {version} says {item.num_entries}", object=name)
    has_checksum = item.checksum is not None
    bounds = BlockBounds.of(container.metadata, len(container.blocks)) if has_checksum else None
    return CheckedManifest(name, data, container, has_checksum, bounds)


def load_manifest(
    log: TableLog,
    version: int,
    item: ManifestItem,
    columns: Sequence[str],
    *,
    tombstones: TombstoneFilter | None = None,
    records: bool = False,
) -> pa.Table:
    """Columns of a manifest's entries without those of tombstoned paths; with the entries as records, if `records`.

    Every path must lie inside the table.
    """
    return entries_of(log, get_manifest(log, version, item), columns, tombstones, records=records)


def entries_of(
    log: TableLog,
    manifest: CheckedManifest,
    columns: Sequence[str],
    tombstones: TombstoneFilter | None,
    *,
    records: bool = False,
) -> pa.Table:
    """Columns of a manifest's entries without those of tombstoned paths; see `load_manifest`."""
    sieve = _Sieve(log, manifest, tombstones, None)
    read = read_records if records else read_entries
    entries = read(manifest.container, manifest.data, columns, sieve, checked=manifest.has_checksum)
    _check_counts(manifest.name, entries)
    return entries


def entries_that_may_match(
    log: TableLog,
    manifest: CheckedManifest,
    columns: Sequence[str],
    question: FileQuestion,
    *,
    tombstones: TombstoneFilter,
    by_partition_only: bool = False,
) -> tuple[pa.Table, Skipped]:
    """Columns of the entries that the question lets in, and how many others there are.

    Blocks whose bounds rule them out are not decoded.
    """
    bounds = manifest.bounds_for(question)
    blocks = None if bounds is None else bounds.that_may_hold(question.where, question.schema)
    prune = question.prune_by_partition if by_partition_only else question.prune
    sieve = _Sieve(log, manifest, tombstones, prune)
    entries = read_entries(
        manifest.container, manifest.data, columns, sieve, checked=manifest.has_checksum, blocks=blocks
    )
    _check_counts(manifest.name, entries)
    return entries, sieve.skipped()


_COUNTS = ("size", "numRecords")
"""Columns that are summed up. An entry that says less than 0 is damaged, and would make the sums wrong."""


def _check_counts(name: str, entries: pa.Table) -> None:
    """Raise CorruptLog if a file has less than 0 bytes or rows."""
    for column in _COUNTS:
        if column in entries.column_names:
            lowest = pc.min(entries.column(column)).as_py()
            if lowest is not None and lowest < 0:
                raise CorruptLog(
                    f"{name} says that {column} of a file is {lowest}, which cannot be less than 0", object=name
                )


class _Sieve:
    """Chooses entries of a manifest, some thousand at a time, and counts those that the question rules out."""

    def __init__(
        self, log: TableLog, manifest: CheckedManifest, tombstones: TombstoneFilter | None, prune: Prune | None
    ) -> None:
        self._url = log.url
        self._manifest = manifest
        self._tombstones = tombstones
        self._prune = prune
        self._seen: list[tuple[int, Skipped]] = []
        """For each call the number of entries, and how many live ones of them were ruled out."""

    def __call__(self, entries: pa.Table) -> Numbers | None:
        """The numbers of the rows to keep; None where that is all of them. Raises UnsafePath."""
        check_path_column(self._url, entries.column("path"), self._manifest.name)
        rows: Any = np.arange(entries.num_rows)
        if self._tombstones:
            hidden = self._tombstones.rows(entries.column("path"))
            rows = np.delete(rows, hidden) if len(hidden) else rows
        if self._prune is not None:
            numbered = entries.append_column("row", integers(np.arange(entries.num_rows)))
            live = numbered if len(rows) == entries.num_rows else numbered.take(integers(rows))
            kept, skipped = self._prune(live)
            self._seen.append((entries.num_rows, skipped))
            rows = numpy_of(kept.column("row"))
        return None if len(rows) == entries.num_rows else rows

    def skipped(self) -> Skipped:
        """What the question ruled out: of the entries that were seen, and by passing over whole blocks."""
        seen = sum(count for count, _ in self._seen)
        passed_over = Skipped(by_block=max(0, self._manifest.container.count - seen))
        return sum((skipped for _, skipped in self._seen), passed_over)


def checksum(data: bytes) -> str:
    """A manifest's checksum as states carry it."""
    return f"xxh3:{xxhash.xxh3_64_hexdigest(data)}"
