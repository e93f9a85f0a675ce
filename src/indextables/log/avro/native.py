"""Avro → Arrow by DataFusion's native reader, which is imported when the first large manifest is read as a whole.

It reads files that end in `.avro` and nothing else, so the bytes that were checked are written to a temporary one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa


@contextmanager
def native_batches(parts: Sequence[memoryview], columns: Sequence[str]) -> Iterator[Iterator[pa.RecordBatch]]:
    """Some columns of an Avro file, some thousand rows at a time. Raises whatever DataFusion raises."""
    import datafusion

    config = datafusion.SessionConfig().with_target_partitions(1)
    with tempfile.NamedTemporaryFile(suffix=".avro") as file:
        file.writelines(parts)
        file.flush()
        frame = datafusion.SessionContext(config).read_avro(file.name).select(*(f'"{column}"' for column in columns))
        yield (batch.to_pyarrow() for batch in frame.execute_stream())
