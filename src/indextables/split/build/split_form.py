"""`SplitForm`: what every new split of a table looks like. Decided once, and shared by all splits that are written."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from indextables.core.runtime.cached_property import cached_property
from indextables.core.types import arrow_to_spark_json
from indextables.split.index.doc_mapping import DocMapping


@dataclass(frozen=True)
class SplitForm:
    """The columns of a split, how they are indexed, and which of them have bounds. A value: it pickles."""

    schema: pa.Schema
    """Without the partition columns: these have one value per split."""
    mapping: DocMapping
    heap: int
    """Bytes that an index writer may hold in memory."""
    stats_columns: Collection[str] | None = None
    """Columns that have minima and maxima; None: all columns."""
    stats_length: int | None = None
    """Characters that texts among minima and maxima are cut to; None: texts are not cut."""
    table_schema: str = ""
    """Spark's JSON of the table's columns, if some of them are partition columns."""

    @cached_property
    def schema_json(self) -> str:
        """The schema as footers have it: Spark's JSON."""
        return arrow_to_spark_json(self.schema)

    @cached_property
    def mapping_json(self) -> str:
        """The mapping as footers and the log have it."""
        return self.mapping.to_json()

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("schema_json", "mapping_json")}
