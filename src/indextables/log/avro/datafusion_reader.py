"""Avro → Arrow by DataFusion's native reader, which is imported when the first large manifest is read as a whole.

It reads files that end in `.avro` and nothing else, so the bytes that were checked are written to a temporary one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import pyarrow as pa

from indextables.core.runtime.process_state import NativeRuntime

_RUNTIME: Final = NativeRuntime()
"""The threads of DataFusion."""


def usable() -> bool:
    """Whether DataFusion can be used here. Its threads do not survive a fork: the child of a process that used it would wait
    for them forever.
    """
    return _RUNTIME.usable


@contextmanager
def native_batches(parts: Sequence[memoryview], columns: Sequence[str]) -> Iterator[Iterator[pa.RecordBatch]]:
    """Columns of an Avro file, in batches of some thousand rows. Raises the errors of DataFusion."""
    import datafusion

    _RUNTIME.use()
    config = datafusion.SessionConfig().with_target_partitions(1)
    with tempfile.NamedTemporaryFile(suffix=".avro") as file:
        file.writelines(parts)
        file.flush()
        frame = datafusion.SessionContext(config).read_avro(file.name).select(*(f'"{column}"' for column in columns))
        yield (batch.to_pyarrow() for batch in frame.execute_stream())
