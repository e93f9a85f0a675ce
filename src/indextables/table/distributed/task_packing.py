"""The splits of a scan, packed into tasks: which of them go together, and the bytes that travel."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Final

import numpy as np
import pyarrow as pa

from indextables.core import options as opt
from indextables.core.options import Options
from indextables.log.file_entries import FILE_SCHEMA

_FILE_COLUMNS: Final = ("path", "partitionValues", "size", "footerStartOffset", "numRecords")
_FILE_SCHEMA: Final = pa.schema([FILE_SCHEMA.field(name) for name in _FILE_COLUMNS])
_LEAST_TASK_BYTES: Final = 1 << 20
_MOST_TASK_BYTES: Final = 1 << 27
_MANY_TASKS: Final = 2_000
_LARGEST_TASK_BYTES: Final = 1 << 29
"""Of a table that would have more than many tasks: planning one takes the driver 30 µs, and starting one some milliseconds."""
_LIGHTER: Final = 4
"""Bytes that a question to the indexes gets through while rows are read from one."""
_FEW_PACKS: Final = 100
_PACKED: list[tuple[weakref.ref[pa.Table], list[tuple[int, int]], list[bytes]]] = []
"""What was packed last, if it was much: a large table is mostly asked for again as it is."""
_LOCK = threading.Lock()


def packed(files: pa.Table) -> bytes:
    """The log's rows of some files as bytes."""
    return _bytes(_batch(files))


def unpacked(data: bytes) -> pa.Table:
    """The way back."""
    return pa.Table.from_batches([pa.ipc.read_record_batch(pa.py_buffer(data), _FILE_SCHEMA)])


def packs(files: pa.Table, options: Options, most_tasks: int | None, light: bool) -> list[bytes]:
    """Neighbours together, so that the same splits are in the same task as long as the table does not change."""
    if not files.num_rows:
        return []
    cuts = _cuts(files.column("size").to_numpy(), options, most_tasks, light)
    with _LOCK:
        last = _PACKED[0] if _PACKED else None
    if last is not None and last[0]() is files and last[1] == cuts:
        return last[2]
    batch = _batch(files)
    made = [_bytes(batch.slice(start, end - start)) for start, end in cuts]
    if len(made) > _FEW_PACKS:
        with _LOCK:
            _PACKED[:] = [(weakref.ref(files), cuts, made)]
    return made


def _batch(files: pa.Table) -> pa.RecordBatch:
    batches = files.select(_FILE_SCHEMA.names).cast(_FILE_SCHEMA).combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], _FILE_SCHEMA)


def _bytes(batch: pa.RecordBatch) -> bytes:
    """Without its schema, which is the same for all: a large table has thousands of tasks."""
    return bytes(batch.serialize())


def _cuts(sizes: Any, options: Options, most_tasks: int | None, light: bool) -> list[tuple[int, int]]:
    """Where tasks begin and end: as many as there are processors, or more where they would be too large. Beginning a task takes
    longer than reading two columns of a million rows, so that there are no more than needed.
    """
    count = len(sizes)
    fixed = options[opt.READ_SPLITS_PER_TASK]
    if most_tasks is None and fixed:
        edges = np.arange(0, count, fixed)
    else:
        ends = np.cumsum(np.maximum(sizes, 1))
        wanted = most_tasks or os.cpu_count() or 1
        share = -(-int(ends[-1]) // wanted)
        weight = _LIGHTER if light else 1
        most_bytes = min(max(_MOST_TASK_BYTES, int(ends[-1]) // _MANY_TASKS), _LARGEST_TASK_BYTES)
        room = share if most_tasks else min(max(share, _LEAST_TASK_BYTES * weight), most_bytes * weight)
        packs = (ends - 1) // room
        most = count if most_tasks else options[opt.READ_MAX_SPLITS_PER_TASK]
        first = np.concatenate([[True], packs[1:] != packs[:-1]])
        begins = np.flatnonzero(first)
        within = np.arange(count) - np.repeat(begins, np.diff([*begins, count]))
        edges = np.flatnonzero(within % most == 0)
    return list(zip(edges.tolist(), [*edges[1:].tolist(), count], strict=True))


def _after_fork() -> None:
    """The parent's thread that holds the lock does not exist here."""
    global _LOCK  # noqa: PLW0603 - one per process
    _LOCK = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)

__all__ = ["packed", "packs", "unpacked"]
