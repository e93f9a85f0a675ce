"""Rows on their way into splits, gathered by partition, with bounded memory and any number of partitions.

    add(batch) ──▶ a pile per partition ──▶ handed over when it has reached the size of a split, the rest at the end
                        │ all piles together hold too much
                        ▼
                   one spool file with the batches of all piles, one behind the other

A split is built from the rows of one partition, and building one needs an index writer with a heap of its own. So the rows
of each partition are gathered first, and splits are built a few at a time. Batches stay in memory up to a budget; beyond it
everything in memory goes into one spool file as Arrow's messages, whose places the piles remember. There are as many files
as the budget fits into the rows, never as many as partitions, and none stays open. A file goes when its last batch was read.

Batches come back in the order in which they were added, small ones joined. Partition columns are left out: a pile has one
value for each of them, as the log's text.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of_numbers
from indextables.core.bound_texts import bound_text
from indextables.core.errors import SchemaError
from indextables.core.values import to_text
from indextables.storage.error_translation import translate

MEMORY_BYTES: Final = 64 << 20
"""What all piles together keep in memory."""

JOINED_ROWS: Final = 1 << 16
"""Rows up to which batches are joined when they are read."""
JOINED_BYTES: Final = 16 << 20
"""Bytes up to which batches are joined when they are read: each costs the index and the row store the same effort."""

PartitionValues = tuple[str | None, ...]


class Pile:
    """Rows of one partition. `batches` may be called once; it takes the rows out."""

    def __init__(self, values: dict[str, str | None]) -> None:
        self.values = values
        self.rows = 0
        self.bytes = 0
        """The bytes of the rows in Arrow."""
        self._parts: list[pa.RecordBatch | _Spooled] = []
        self._held = 0

    @property
    def held(self) -> int:
        """How many of its bytes are in memory."""
        return self._held

    def add(self, batch: pa.RecordBatch) -> None:
        """Put rows behind those that are there."""
        size = batch.nbytes
        self.rows += batch.num_rows
        self.bytes += size
        self._held += size
        self._parts.append(batch)

    def spill(self, write: Callable[[pa.RecordBatch], _Spooled]) -> None:
        """Replace what is in memory by places in a spool file."""
        self._parts = [part if isinstance(part, _Spooled) else write(part) for part in self._parts]
        self._held = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in batches of a useful size."""
        gathered: list[pa.RecordBatch] = []
        rows = size = 0
        parts, self._parts = self._parts[::-1], []
        while parts:
            part = parts.pop()
            batch = part.read() if isinstance(part, _Spooled) else part
            if gathered and (rows + batch.num_rows > JOINED_ROWS or size + batch.nbytes > JOINED_BYTES):
                yield _joined(gathered)
                gathered, rows, size = [], 0, 0
            gathered.append(batch)
            rows += batch.num_rows
            size += batch.nbytes
        if gathered:
            yield _joined(gathered)


class Spool:
    """Gathers rows of a table's schema. A context manager: at its end nothing is left on disk.

    `directory` is made, and taken away at the end. A pile that reaches `roll` bytes (in Arrow) is handed over at once.
    Raises StorageError if the disk is full or fails, SchemaError for a partition value that has no text.
    """

    def __init__(
        self,
        directory: Path,
        schema: pa.Schema,
        partition_by: Sequence[str],
        *,
        roll: int,
        memory: int = MEMORY_BYTES,
    ) -> None:
        self._directory = directory
        self._partition_by = [schema.field(name) for name in partition_by]
        self._columns = [name for name in schema.names if name not in partition_by]
        self._schema = pa.schema([schema.field(name) for name in self._columns])
        self._roll = roll
        self._memory = memory
        self._piles: dict[PartitionValues, Pile] = {}
        self._held = 0
        self._files = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._piles.clear()
        shutil.rmtree(self._directory, ignore_errors=True)

    def add(self, batch: pa.RecordBatch) -> Iterator[Pile]:
        """Put the rows of a batch onto their piles. Returns the piles that are high enough now; take all of them."""
        for values, part in self._parted(batch):
            pile = self._piles.get(values)
            if pile is None:
                names = (column.name for column in self._partition_by)
                pile = self._piles[values] = Pile(dict(zip(names, values, strict=True)))
            before = pile.held
            pile.add(part)
            self._held += pile.held - before
            if pile.bytes >= self._roll:
                del self._piles[values]
                self._held -= pile.held
                yield pile
        if self._held > self._memory:
            self._spill()

    def finish(self) -> Iterator[Pile]:
        """The piles that are left, the highest first: building them side by side then ends with the small ones."""
        piles = sorted(self._piles.values(), key=lambda pile: -pile.bytes)
        self._piles.clear()
        self._held = 0
        yield from piles

    def _parted(self, batch: pa.RecordBatch) -> Iterator[tuple[PartitionValues, pa.RecordBatch]]:
        """The rows of each partition, in their order, without the partition columns."""
        if not batch.num_rows:
            return
        rows = batch.select(self._columns)
        if not self._partition_by:
            yield (), rows
            return
        numbers, values = self._partitions(batch)
        if len(values) == 1:
            yield values[0], rows
            return
        order = np.argsort(numbers, kind="stable")
        ordered = rows.take(array_of_numbers(order))
        borders = np.flatnonzero(np.diff(numbers[order])) + 1
        starts = np.concatenate(([0], borders, [len(order)]))
        for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            yield values[numbers[order[start]]], ordered.slice(start, end - start)

    def _partitions(self, batch: pa.RecordBatch) -> tuple[Any, list[PartitionValues]]:
        """For each row the number of its partition, and the values of each partition."""
        numbers: Any = np.zeros(batch.num_rows, np.int64)
        texts: list[PartitionValues] = [()]
        for column in self._partition_by:
            codes, found = _coded(batch.column(batch.schema.get_field_index(column.name)), column)
            pairs, numbers = np.unique(numbers * len(found) + codes, return_inverse=True)
            texts = [(*texts[pair // len(found)], found[pair % len(found)]) for pair in pairs.tolist()]
        return numbers, texts

    def _spill(self) -> None:
        path = self._directory / f"{self._files}.spool"
        self._files += 1
        file = _SpoolFile(path, self._schema, self._lock)
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as out:
                for pile in self._piles.values():
                    if pile.held:
                        pile.spill(lambda batch: file.append(out, batch))
        except OSError as error:
            with suppress(OSError):
                path.unlink()
            raise translate(error, str(self._directory), path.name, "put") from error
        self._held = 0


@dataclass
class _SpoolFile:
    """Arrow messages one behind the other. The file goes when the last of them was read."""

    path: Path
    schema: pa.Schema
    lock: threading.Lock
    unread: int = field(default=0)
    length: int = field(default=0)

    def append(self, out: Any, batch: pa.RecordBatch) -> _Spooled:
        message = batch.serialize()
        out.write(message)
        place = _Spooled(self, self.length, message.size)
        self.length += message.size
        self.unread += 1
        return place

    def read(self, offset: int, length: int) -> pa.RecordBatch:
        try:
            with self.path.open("rb") as source:
                source.seek(offset)
                message = source.read(length)
            if len(message) != length:
                raise OSError(f"{len(message)} of {length} bytes are left at {offset}")
        except OSError as error:
            raise translate(error, str(self.path.parent), self.path.name, "get") from error
        with self.lock:
            self.unread -= 1
            done = self.unread == 0
        if done:
            with suppress(OSError):
                self.path.unlink()
        return pa.ipc.read_record_batch(pa.py_buffer(message), self.schema)


@dataclass(frozen=True)
class _Spooled:
    """The place of a batch in a spool file."""

    file: _SpoolFile
    offset: int
    length: int

    def read(self) -> pa.RecordBatch:
        return self.file.read(self.offset, self.length)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _coded(values: Any, column: pa.Field) -> tuple[Any, list[str | None]]:
    """A number for each row, and the partition value of each number as the log's text."""
    arrow = column.type
    if pa.types.is_floating(arrow):
        # By their bits: Arrow's encoding takes the two zeros for one.
        values = values.view(pa.int32() if pa.types.is_float32(arrow) else pa.int64())
    encoded = values.dictionary_encode("encode")
    known = encoded.dictionary
    texts = [_text(value, column) for value in (known.view(arrow) if pa.types.is_floating(arrow) else known)]
    codes = pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False)
    return codes.astype(np.int64), texts


def _text(value: Any, column: pa.Field) -> str | None:
    """The text of a scalar. Raises SchemaError for a year that has none: the row could never be found again."""
    if not value.is_valid:
        return None
    arrow = column.type
    if pa.types.is_floating(arrow):
        return to_text(value.as_py(), arrow, keep_nan=True)
    counted = pa.types.is_timestamp(arrow) or pa.types.is_date32(arrow)
    text = bound_text(value.value if counted else value.as_py(), arrow)
    if text is None:
        raise SchemaError(
            f"partition column {column.name} has the value {value.value} ({arrow}), which lies outside the years 1 to 9999 "
            "and cannot name a partition: leave such rows out, or partition by another column",
            column=column.name,
        )
    return text
