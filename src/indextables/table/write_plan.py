"""`WritePlan`: everything that a write of rows must know of its table, decided once for all writes with the same metadata.

A plan is a small value that pickles: what splits of the table look like, and the recipe of its store. So the rows of one write
can be turned into splits by many processes, and one of them commits what all of them built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from indextables.core import options as opt
from indextables.core.runtime.cached_property import cached_property
from indextables.core.types import spark_json_to_arrow
from indextables.log.actions import MetadataAction
from indextables.log.bound_limits import StatsLimits
from indextables.log.table_log import TableLog
from indextables.split.build.split_form import SplitForm
from indextables.split.index.doc_mapping import DocMapping


@dataclass(frozen=True)
class WritePlan:
    """What new splits of a table look like, and where they go."""

    log: TableLog
    schema_string: str
    """The table's schema as Spark's JSON: Arrow forgets nothing on its way through it."""
    partition_by: tuple[str, ...]
    mapping: DocMapping
    index_threads: int
    """Splits that are built at a time."""
    heap: int
    """Bytes that the index writer of a split may hold in memory."""
    roll: int
    """Bytes of rows in Arrow after which a partition's split is full, and another one begins."""
    stats_columns: frozenset[str]
    """Columns whose minima and maxima the log keeps."""
    stats_length: int | None
    """Characters that minima and maxima are cut to; None where they are not cut."""

    @cached_property
    def schema(self) -> pa.Schema:
        """The table's schema."""
        return spark_json_to_arrow(self.schema_string)

    @cached_property
    def form(self) -> SplitForm:
        """The form of every split: all columns but the partition columns."""
        stored = pa.schema([field for field in self.schema if field.name not in self.partition_by])
        whole = self.schema_string if self.partition_by else ""
        return SplitForm(stored, self.mapping, self.heap, self.stats_columns, self.stats_length, whole)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("schema", "form")}


def plan_write(log: TableLog, metadata: MetadataAction, mapping: DocMapping, limits: StatsLimits) -> WritePlan:
    """The plan for more rows of the table with this metadata, whose splits have this mapping and these bounds."""
    return WritePlan(
        log,
        metadata.schema_string,
        tuple(metadata.partition_columns),
        mapping,
        index_threads=log.options[opt.INDEX_WRITER_THREADS],
        heap=log.options[opt.INDEX_WRITER_HEAP_SIZE],
        roll=log.options[opt.INDEX_WRITER_SPLIT_SIZE],
        stats_columns=limits.columns,
        stats_length=limits.length,
    )
