"""Rows that wait until Vortex writes them: in memory up to a budget, in a file beyond the budget.

    add(batch) ──▶ a list of batches ──▶ reader(): Arrow's own reader, which runs no Python
                        │ the list holds too much
                        ▼
                   one Arrow file

Vortex has one executor for the whole process. A thread that waits for Vortex runs any task of the executor meanwhile: a thread
that opens one file advances the iterator of another thread that writes. If that iterator is Python, and waits for a lock that
the first thread holds, both wait for ever. So Vortex gets no iterator of Python's: all rows of a file are gathered first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pyarrow as pa

from indextables.storage.error_translation import translate

MEMORY_BYTES: Final = 16 << 20
"""Bytes of rows, in Arrow, that wait in memory. The rows of most splits do."""


class HeldRows:
    """Rows of one schema, in the order in which they were added. A context manager: at its end the file is gone."""

    def __init__(self, schema: pa.Schema, path: Path, *, memory: int = MEMORY_BYTES) -> None:
        """`path` is made once more than `memory` bytes wait."""
        self._schema = schema
        self._path = path
        self._memory = memory
        self._batches: list[pa.RecordBatch] = []
        self._held = 0
        self._file: Any = None
        self._stream: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._batches.clear()
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            with suppress(OSError):  # what a full disk did not take; nobody will read the file
                self._file.close()

    def add(self, batch: pa.RecordBatch) -> None:
        """Put rows behind those that wait. Raises StorageError if the file cannot be written."""
        self._batches.append(batch)
        self._held += batch.nbytes
        if self._held > self._memory:
            with self._translated():
                self._spill()

    @contextmanager
    def reader(self) -> Iterator[pa.RecordBatchReader]:
        """All rows, once, through a reader that runs no Python. Raises StorageError if the file cannot be written."""
        if self._file is None:
            yield pa.Table.from_batches(self._batches, self._schema).to_reader()
            return
        with self._translated():
            self._spill()
            self._stream.close()
            self._file.close()
        with pa.OSFile(str(self._path)) as source, pa.ipc.open_stream(source) as rows:
            yield rows

    def _spill(self) -> None:
        if self._file is None:
            self._file = self._path.open("xb")
            self._stream = pa.ipc.new_stream(self._file, self._schema)
        for batch in self._batches:
            self._stream.write_batch(batch)
        self._batches.clear()
        self._held = 0

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise translate(error, str(self._path.parent), self._path.name, "put") from error


__all__ = ["MEMORY_BYTES", "HeldRows"]
