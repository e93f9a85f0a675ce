"""Rows into the row store of a split.

Writing is one pass over an iterator of batches, which are gathered (`HeldRows`) until a file has enough of them. Writing needs
as much memory as a few batches. Vortex holds 8,192 rows of every column before it writes any of them: a lot, if they are
documents of a megabyte each. So a file ends when such a block grows too large, and the next one begins behind it in the same
bundle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pyarrow as pa
import vortex as vx

from indextables.core.batches import pieces
from indextables.core.errors import SchemaError, StorageError
from indextables.split.bundle.bundle_writer import RowsFile
from indextables.split.bundle.native_errors import first_line, is_failure
from indextables.split.rows.block_cache import BLOCK_ROWS
from indextables.split.rows.held_rows import HeldRows
from indextables.split.rows.stored_types import is_stored_as_is, stored_schema, to_stored

BLOCK_BYTES: Final = 1 << 26
"""Bytes of a block of rows, at most: Vortex holds a whole block in memory."""
FILE_BYTES: Final = 1 << 30
"""Bytes of a file of rows, at most: its rows fit into one batch, whose texts must stay below 2 GiB."""


def write_rows(
    path: Path,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    *,
    block_bytes: int = BLOCK_BYTES,
    file_bytes: int = FILE_BYTES,
) -> tuple[RowsFile, ...]:
    """Write all rows to `path`, and to `path.1` and so on where one file is not enough. Returns the files, in order.

    A file has at most `file_bytes` of rows, and a block of rows in a file at most `block_bytes`.

    The iterator is advanced on the calling thread alone, and never while Vortex works: it may read other row files, and wait for
    locks. What it raises is raised here. After an error no file is left. Raises SchemaError for batches that do not fit.
    """
    feed = _Feed(schema, batches, block_bytes, file_bytes)
    files: list[RowsFile] = []
    try:
        while True:
            target = path.with_name(f"{path.name}.{len(files)}") if files else path
            rows = feed.rows
            files.append(RowsFile(target, 0))
            _write_file(target, feed)
            files[-1] = RowsFile(target, feed.rows - rows)
            if feed.exhausted:
                return tuple(files)
    except BaseException:
        for file in files:
            with suppress(OSError):
                file.path.unlink()
        raise


def _write_file(target: Path, feed: _Feed) -> None:
    with HeldRows(feed.schema, target.with_name(f"{target.name}.held")) as held:
        for batch in feed.next_file():
            held.add(batch)
        with held.reader() as rows:
            try:
                vx.io.write(rows, str(target))
            except BaseException as error:
                if not is_failure(error):
                    raise
                message = f"rows cannot be written to {target}: {first_line(error)}"
                raise StorageError(message, key=str(target)) from error


class _Feed:
    """Batches in the types of the row store, cut where a file ends."""

    def __init__(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], block_bytes: int, file_bytes: int) -> None:
        self._given = schema
        self._block_bytes = block_bytes
        self._file_bytes = file_bytes
        self.schema = stored_schema(schema)
        self._as_is = is_stored_as_is(schema)
        self._pieces = (piece for batch in batches for piece in pieces(batch, BLOCK_ROWS, block_bytes))
        self._next: pa.RecordBatch | None = None
        self.rows = 0
        self.exhausted = False

    def next_file(self) -> Iterator[pa.RecordBatch]:
        """The batches of the next file."""
        total = block = rows = 0
        while (batch := self._peek()) is not None:
            size = batch.nbytes
            if rows and (total + size > self._file_bytes or block + size > self._block_bytes):
                return
            self._next = None
            total += size
            rows += batch.num_rows
            block = size if rows // BLOCK_ROWS > (rows - batch.num_rows) // BLOCK_ROWS else block + size
            self.rows += batch.num_rows
            yield batch
        self.exhausted = True

    def _peek(self) -> pa.RecordBatch | None:
        if self._next is None:
            piece = next(self._pieces, None)
            if piece is not None:
                self._next = self._stored(piece)
        return self._next

    def _stored(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if batch.schema.names != self._given.names:
            raise SchemaError(
                f"a batch has the columns {', '.join(batch.schema.names)}, expected {', '.join(self._given.names)}"
            )
        if self._as_is and batch.schema.equals(self._given):
            return pa.RecordBatch.from_arrays(batch.columns, schema=self.schema)
        return to_stored(batch, self._given)


__all__ = ["BLOCK_BYTES", "FILE_BYTES", "write_rows"]
