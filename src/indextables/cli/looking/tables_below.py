"""`indextables ls`: the tables below a place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from indextables.cli.answers import Rows
from indextables.cli.errors import spoken
from indextables.cli.targets import Target
from indextables.core.arrow_values import table_of_rows

if TYPE_CHECKING:
    from indextables.table.loading import FoundTable

_SCHEMA: Final = pa.schema(
    [
        pa.field("table", pa.string(), nullable=False),
        pa.field("version", pa.int64()),
        pa.field("rows", pa.int64()),
        pa.field("files", pa.int64()),
        pa.field("bytes", pa.int64()),
        pa.field("committed", pa.string()),
        pa.field("partitionBy", pa.list_(pa.string())),
        pa.field("url", pa.string(), nullable=False),
        pa.field("error", pa.string()),
    ]
)
_SHOWN: Final = ("table", "version", "rows", "files", "bytes", "committed")


def tables_below(target: Target) -> Rows:
    """The tables at a place and below it, as they are found. A table that cannot be opened is one with an error."""
    from indextables.table.loading import find_tables

    tables = find_tables(target.url, target.options)

    def rows() -> Iterator[pa.RecordBatch]:
        for found in tables:
            yield from table_of_rows([_row(found)], _SCHEMA).to_batches()

    return Rows(_SCHEMA, rows(), shown=_SHOWN, title="table", wraps=True)


def _row(found: FoundTable) -> dict[str, Any]:
    row: dict[str, Any] = {**dict.fromkeys(_SCHEMA.names), "table": found.path or ".", "url": found.url}
    if found.facts is None:
        assert found.error is not None
        return {**row, "committed": f"error: {spoken(found.error)}", "error": spoken(found.error)}
    names = ("version", "rows", "files", "bytes", "committed", "partitionBy")
    return {**row, **{name: found.facts.values[name] for name in names}}
