"""Avro → Arrow by DataFusion's native reader, which is imported when the first large manifest is read as a whole.

It reads files that end in `.avro` and nothing else, so the bytes that were checked are written to a temporary one.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

_first_user: int | None = None


def usable() -> bool:
    """Whether DataFusion can be used here. Its threads do not survive a fork: the child of a process that used it would wait
    for them forever.
    """
    return _first_user in (None, os.getpid())


@contextmanager
def native_batches(parts: Sequence[memoryview], columns: Sequence[str]) -> Iterator[Iterator[pa.RecordBatch]]:
    """Some columns of an Avro file, some thousand rows at a time. Raises whatever DataFusion raises."""
    global _first_user  # noqa: PLW0603 - a fact about the process
    import datafusion

    _first_user = os.getpid()
    config = datafusion.SessionConfig().with_target_partitions(1)
    with tempfile.NamedTemporaryFile(suffix=".avro") as file:
        file.writelines(parts)
        file.flush()
        frame = datafusion.SessionContext(config).read_avro(file.name).select(*(f'"{column}"' for column in columns))
        yield (batch.to_pyarrow() for batch in frame.execute_stream())
