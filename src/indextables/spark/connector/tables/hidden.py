"""Hidden tables: what a table says of itself, as rows of Spark. `n.files`, `n.history`, `n.partitions`, `n.changes`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from indextables.spark.connector.planning.planner import arrow_stream
from indextables.spark.connector.planning.questions import TableText, keep_handle, opened
from indextables.spark.reading.read_options import ReadOptions
from indextables.table.distributed.definitions import described_columns, described_rows
from indextables.table.distributed.opening import TableHandle


def open_hidden(which: str, options: Mapping[str, str], read: ReadOptions, handle: TableHandle) -> list[bytes]:
    """The text, the name and the columns of a hidden table."""
    text = TableText(tuple(sorted(options.items())), handle.version, handle.table_id).encode()
    keep_handle(text, read, handle)
    schema = _schema(which, handle)
    return [text.encode(), f"indextables {handle.url} {which}".encode(), schema.json().encode()]


def hidden_rows(asked: Mapping[str, Any]) -> list[bytes]:
    """The rows of a hidden table as an Arrow stream."""
    which = asked["hidden"].lower()
    handle = opened(asked["table"])[1]
    rows = described_rows(which, handle)
    return [arrow_stream(rows.cast(_in_spark(rows.schema)), _schema(which, handle))]


def _schema(which: str, handle: TableHandle) -> StructType:
    schema: StructType = from_arrow_schema(_in_spark(described_columns(which, handle)))
    return schema


def _in_spark(schema: pa.Schema) -> pa.Schema:
    """Times of the log count milliseconds, those of Spark microseconds."""
    return pa.schema(
        [
            pa.field(field.name, pa.timestamp("us", field.type.tz), field.nullable)
            if pa.types.is_timestamp(field.type)
            else field
            for field in schema
        ]
    )
