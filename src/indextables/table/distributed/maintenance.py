"""Compaction, prewarming and sizes of components by workers of an engine: what the driver calls, and what tasks run."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from indextables.core import options as opt
from indextables.core.options import Options
from indextables.core.runtime.threads import Workers
from indextables.log.state.checkpoint import Checkpointed, compacted_checkpoint
from indextables.split.cache.index_cache import Prewarmed
from indextables.table.distributed.task_packing import packed, packed_slices, unpacked
from indextables.table.handle import TableHandle
from indextables.table.inspect.component_sizes import SPLITS_AT_ONCE, components_of, together
from indextables.table.inspect.running_jobs import PREWARMED, prewarm_answer
from indextables.table.open_log import open_log
from indextables.table.open_table import open_table_of, pin_version
from indextables.table.progress import Watcher
from indextables.table.read.prewarm import prewarm_files
from indextables.table.read.prewarm_choice import DEFAULT_CHOICE, PrewarmChoice, choose
from indextables.table.read.request import make_request, plan_read


def compact_by(workers: Workers, url: str, options: Options) -> Checkpointed:
    """Write the table's compacted state, with `workers` decoding the old manifests and encoding the new ones."""
    return compacted_checkpoint(open_table_of(open_log(url, options, workers)))


def component_sizes_by(workers: Workers, handle: TableHandle, where: str | None = None) -> pa.Table:
    """`Table.component_sizes` of a version, with `workers` reading the footers."""
    files = plan_read(handle, make_request(handle, "reading", columns=(), where=where)).files
    head, starts = handle.without_files(), range(0, files.num_rows, SPLITS_AT_ONCE)
    parts = packed_slices(files, [min(SPLITS_AT_ONCE, files.num_rows - start) for start in starts])
    return together(workers.together([partial(_components_of_packed, head, part) for part in parts]))


def _components_of_packed(head: TableHandle, files: bytes) -> pa.Table:
    return components_of(head, unpacked(files))


@dataclass(frozen=True)
class PrewarmTask:
    """Indexes that a machine should have on its local disk, for one of several tasks that do the same."""

    head: TableHandle
    """The table without its files."""
    files: bytes
    """The log's entries of the splits, `packed`."""
    choice: PrewarmChoice = DEFAULT_CHOICE
    """What is to come of each split."""

    def run(self, begin: float) -> tuple[str, Prewarmed]:
        """Fetch what this machine lacks, beginning at a share (0 to 1) of the splits. Its name, and what was done."""
        room = self.head.options[opt.CACHE_DISK_MAX_BYTES]
        return socket.gethostname(), prewarm_files(self.head, unpacked(self.files), begin, room, self.choice)


def plan_prewarm(
    url: str, options: Options, where: Any = None, segments: Any = None, fields: Any = None
) -> PrewarmTask | None:
    """The task that every processor runs; None where there is nothing to fetch.

    Raises TableNotFound, PredicateError, ForeignTable, and OptionError or SchemaError for `segments` and `fields`.
    """
    handle = pin_version(url, options)
    choice = choose(handle.schema, options, segments, fields)
    files = plan_read(handle, make_request(handle, "reading", columns=(), where=where)).files
    return PrewarmTask(handle.without_files(), packed(files), choice) if files.num_rows else None


__all__ = [
    "PREWARMED",
    "Checkpointed",
    "PrewarmTask",
    "Prewarmed",
    "Watcher",
    "compact_by",
    "component_sizes_by",
    "plan_prewarm",
    "prewarm_answer",
]
