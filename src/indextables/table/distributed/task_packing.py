"""The splits of a read, packed into tasks: which splits go together, and the bytes that travel."""

from __future__ import annotations

import os
import uuid
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from indextables.core import options as opt
from indextables.core.options import Options
from indextables.core.runtime.process_state import ProcessLocal
from indextables.table.split_entry import ENTRY_SCHEMA

_LEAST_TASK_BYTES: Final = 1 << 20
"""Bytes of splits. A smaller task takes longer to begin than to read."""
_MOST_TASK_BYTES: Final = 1 << 27
"""Bytes of splits in a task, unless the table would have more than `_MANY_TASKS` tasks: a lost task repeats little work."""
_MANY_TASKS: Final = 2_000
"""Tasks from which on tasks become larger instead of more: planning a task takes the driver 30 µs, starting one milliseconds."""
_LARGEST_TASK_BYTES: Final = 1 << 29
"""Bytes of splits in a task of the largest tables."""
_LIGHTER: Final = 4
"""An index query gets through about 4 times as many bytes in the same time as reading rows."""
_FEW_PACKS: Final = 100
"""Up to so many tasks are packed again for every question; the bytes of more tasks are kept for the next question."""


@dataclass(frozen=True)
class _Packed:
    """A list of files, where its tasks begin and end, the bytes of the tasks, and a name that no other list has."""

    files: weakref.ref[pa.Table]
    cuts: list[tuple[int, int]]
    made: list[bytes]
    name: str


class _LastPacked:
    """The bytes of the list of files that was packed last: a large table is mostly asked for again as it is."""

    def __init__(self) -> None:
        self.kept: _Packed | None = None


_LAST: Final[ProcessLocal[_LastPacked]] = ProcessLocal(_LastPacked)


def packed(files: pa.Table) -> bytes:
    """The log's entries of some files as bytes, without the schema. `unpacked` reads them."""
    return _bytes(_batch(files))


def unpacked(data: bytes) -> pa.Table:
    """The log's entries that `packed` or `packs` made bytes of, as a table with the columns of `ENTRY_SCHEMA`."""
    return pa.Table.from_batches([pa.ipc.read_record_batch(pa.py_buffer(data), ENTRY_SCHEMA)])


def packs(
    files: pa.Table, options: Options, most_tasks: int | None, light: bool, processors: int | None = None
) -> list[bytes]:
    """The entries of each task as bytes. Neighbours stay together, so that an unchanged table has the same tasks again.

    `processors` are the tasks that run side by side; None for the processors of this machine.
    """
    if not files.num_rows:
        return []
    cuts = _cuts(files.column("size").to_numpy(), options, most_tasks, light, processors or os.cpu_count() or 1)
    last = _LAST.value.kept
    if last is not None and last.files() is files and last.cuts == cuts:
        return last.made
    batch = _batch(files)
    made = [_bytes(batch.slice(start, end - start)) for start, end in cuts]
    if len(made) > _FEW_PACKS:
        _LAST.value.kept = _Packed(weakref.ref(files), cuts, made, uuid.uuid4().hex)
    return made


def name_of(made: list[bytes]) -> str:
    """The name of a list that `packs` returned and keeps for the next question; empty for any other list.

    Who has got the bytes of a name already need not get them again.
    """
    last = _LAST.value.kept
    return last.name if last is not None and last.made is made else ""


def packed_slices(files: pa.Table, counts: Sequence[int]) -> list[bytes]:
    """The entries of tasks that have so many files each, one after the other."""
    batch, made, start = _batch(files), [], 0
    for count in counts:
        made.append(_bytes(batch.slice(start, count)))
        start += count
    return made


def _batch(files: pa.Table) -> pa.RecordBatch:
    batches = files.select(ENTRY_SCHEMA.names).cast(ENTRY_SCHEMA).combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], ENTRY_SCHEMA)


def _bytes(batch: pa.RecordBatch) -> bytes:
    """Without its schema, which is the same for all: a large table has thousands of tasks."""
    return bytes(batch.serialize())


def _cuts(sizes: Any, options: Options, most_tasks: int | None, light: bool, processors: int) -> list[tuple[int, int]]:
    """Where tasks begin and end: as many as there are processors, or more where they would be too large. Beginning a task takes
    longer than reading two columns of a million rows, so that there are no more than needed.
    """
    count = len(sizes)
    fixed = options[opt.READ_SPLITS_PER_TASK]
    if most_tasks is None and fixed:
        edges = np.arange(0, count, fixed)
    else:
        ends = np.cumsum(np.maximum(sizes, 1))
        wanted = most_tasks or processors
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


__all__ = ["name_of", "packed", "packed_slices", "packs", "unpacked"]
