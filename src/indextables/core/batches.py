"""Batches cut to size, so that whoever holds one at a time holds little."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa


def pieces(batch: pa.RecordBatch, rows: int, size: int) -> Iterator[pa.RecordBatch]:
    """Slices of at most so many rows, and of at most so many bytes as far as rows can be told apart."""
    for start in range(0, batch.num_rows, rows):
        yield from _halves(batch.slice(start, rows), size)


def _halves(batch: pa.RecordBatch, size: int) -> Iterator[pa.RecordBatch]:
    if batch.num_rows > 1 and batch.nbytes > size:
        middle = batch.num_rows // 2
        yield from _halves(batch.slice(0, middle), size)
        yield from _halves(batch.slice(middle), size)
    else:
        yield batch
