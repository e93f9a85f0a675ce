"""Rows that wait in a file until Vortex writes them, because they are too many to wait in memory.

add(batch) ──▶ one Arrow file ──▶ reader(): Arrow's own reader, which runs no Python
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from indextables.core.errors import StorageError
from indextables.storage.error_translation import translate


class SpilledRows:
    """Rows of one schema, in the order in which they were added. A context manager: at its end the file is gone."""

    def __init__(self, schema: pa.Schema, path: Path) -> None:
        self._schema = schema
        self._path = path
        self._file: Any = None
        self._stream: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            with suppress(OSError):  # what a full disk did not take; nobody will read the file
                self._file.close()

    def add(self, batch: pa.RecordBatch) -> None:
        """Put rows behind those that wait. Raises StorageError if the file cannot be written."""
        with self._translated():
            self._begun().write_batch(batch)

    @contextmanager
    def reader(self) -> Iterator[pa.RecordBatchReader]:
        """All rows, once, through a reader that runs no Python.

        Raises StorageError if the file cannot be written, or was changed by something else.
        """
        with self._translated():
            self._begun().close()
            written = self._file.tell()
            self._file.close()
            found = self._path.stat().st_size
        if found != written:  # a stream that ends between two batches would pass for a shorter one
            raise StorageError(
                f"{self._path} has {found} bytes, and {written} were written: something else changed the file; write again",
                key=self._path.name,
            )
        with pa.OSFile(str(self._path)) as source, pa.ipc.open_stream(source) as rows:
            yield rows

    def _begun(self) -> Any:
        """The stream of the file, which is made when it is first needed."""
        if self._file is None:
            self._file = self._path.open("xb")
            self._stream = pa.ipc.new_stream(self._file, self._schema)
        return self._stream

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise translate(error, str(self._path.parent), self._path.name, "put") from error


__all__ = ["SpilledRows"]
