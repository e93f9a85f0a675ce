"""A read whose tasks have one partition of the table each, for engines that then exchange no rows between tasks.

`plan_partitions` makes a `PartitionedPlan` of a request: tasks, and the partition values of each task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from indextables.core import options as opt
from indextables.core.arrow_values import array_of
from indextables.table.distributed.column_facts import partition_keys
from indextables.table.distributed.read_tasks import ReadRequest, TaskPlan, make_job
from indextables.table.distributed.task_packing import packed_slices
from indextables.table.handle import TableHandle
from indextables.table.open_table import same_table
from indextables.table.read.request import plan_read

_MOST_TASK_BYTES: Final = 1 << 27
"""Bytes of splits in a task, at most 128 MiB: the engine reads the tasks of one partition one after the other."""


@dataclass(frozen=True)
class PartitionedPlan:
    """Tasks that read one partition each. A partition may have several tasks."""

    plan: TaskPlan
    keys: pa.Table
    """The partition values of each task, a row for a task, a column for a partition column."""


def plan_partitions(handle: TableHandle, request: ReadRequest, *, one_each: bool) -> PartitionedPlan:
    """The splits that may hold rows of the request, packed into tasks by partition, in the order of their files.

    With `one_each`, a partition has one task, however large it is: an engine that filters a read while it runs takes fewer tasks
    for a partition than before, and never more.
    """
    with same_table(handle):
        files = plan_read(handle, request).files
    keys = partition_keys(handle, files)
    assert keys is not None, "partitions that cannot be read are not asked for"
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, key in enumerate(zip(*(column.to_pylist() for column in keys.columns), strict=True)):
        groups.setdefault(key, []).append(number)
    sizes = files.column("size").to_pylist()
    fixed = handle.options[opt.READ_SPLITS_PER_TASK]
    tasks = [task for rows in groups.values() for task in ([rows] if one_each else _divided(rows, sizes, fixed))]
    ordered = files.take(array_of([row for task in tasks for row in task], pa.int64()))
    plan = TaskPlan(make_job(handle, request), packed_slices(ordered, [len(task) for task in tasks]), files)
    return PartitionedPlan(plan, keys.take(array_of([task[0] for task in tasks], pa.int64())))


def _divided(rows: Sequence[int], sizes: Sequence[int], fixed: int) -> list[list[int]]:
    """Rows of one partition as tasks of at most `fixed` files, or of at most so many bytes where `fixed` is 0."""
    if fixed:
        return [list(rows[start : start + fixed]) for start in range(0, len(rows), fixed)]
    tasks: list[list[int]] = []
    held = _MOST_TASK_BYTES
    for row in rows:
        if held + sizes[row] > _MOST_TASK_BYTES:
            tasks.append([])
            held = 0
        tasks[-1].append(row)
        held += sizes[row]
    return tasks


__all__ = ["PartitionedPlan", "plan_partitions"]
