"""Batches → files of a format, packed or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from indextables.cli.errors import UsageError
from indextables.cli.export.csv_rows import CsvRows
from indextables.cli.load.formats import Format, Packing


class Writer(Protocol):
    """Takes batches one after the other."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows to the file."""


class _Csv:
    def __init__(self, file: pa.NativeFile, schema: pa.Schema, rows: CsvRows) -> None:
        self._file, self._rows = file, rows
        file.write(rows.header(schema))

    def write(self, batch: pa.RecordBatch) -> None:
        self._file.write(self._rows.lines(batch))


class _Json:
    def __init__(self, file: pa.NativeFile) -> None:
        self._file = file

    def write(self, batch: pa.RecordBatch) -> None:
        from indextables.cli.render.plain import json_lines

        for text in json_lines(batch):
            self._file.write(text.encode())


class _Parquet:
    def __init__(self, writer: object) -> None:
        self._writer = writer

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)  # type: ignore[attr-defined]


@contextmanager
def writing(
    path: Path, schema: pa.Schema, kind: Format, packing: Packing | None, csv_rows: CsvRows
) -> Iterator[Writer]:
    """A file that gets batches until the block ends. Raises OSError, and UsageError for types that the format does not have."""
    if kind is Format.PARQUET:
        import pyarrow.parquet as pq

        try:
            parquet = pq.ParquetWriter(path, schema, compression="zstd")
        except pa.ArrowNotImplementedError as error:
            raise UsageError(
                f"Parquet has no type for one of the columns ({error}): leave it out with --columns, or export as JSON lines"
            ) from error
        with parquet:
            yield _Parquet(parquet)
        return
    with pa.OSFile(str(path), "wb") as plain, _packed(plain, packing) as file:
        yield _Json(file) if kind is Format.JSON else _Csv(file, schema, csv_rows)


@contextmanager
def _packed(file: pa.NativeFile, packing: Packing | None) -> Iterator[pa.NativeFile]:
    if packing is None:
        yield file
        return
    with pa.CompressedOutputStream(file, packing) as packed:
        yield packed
