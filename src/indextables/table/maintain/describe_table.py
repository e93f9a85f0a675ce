"""`Table.describe`: a table in facts, for people and for programs. The command line shows the same facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of
from indextables.core.schema_text import type_text
from indextables.log.actions import SCHEMA_KEY
from indextables.log.listing import list_versions
from indextables.log.state.live_files import StateFiles
from indextables.table.handle import TableHandle

_INDEXES: Final = {"text": "words", "string": "exact", "json": "paths", "ip": "addresses"}
"""What the index of a column answers, in a word; numbers, times and booleans answer for their values."""
_YEAR_9999_MS: Final = 253_370_764_800_000
"""Milliseconds since 1970. Times beyond are shown as numbers: Python has no such dates."""


@dataclass(frozen=True)
class ColumnFacts:
    """A column: its type in words of SQL, and what its index answers.

    `index` is `words`, `exact`, `paths`, `addresses`, `values`, `none`, or `partition` for a partition column.
    """

    name: str
    type: str
    nullable: bool
    index: str


@dataclass(frozen=True)
class Description:
    """A table in facts. `values` are by name, in the order in which they are shown; times are ISO 8601 texts."""

    values: Mapping[str, Any]
    columns: tuple[ColumnFacts, ...]

    def table(self) -> pa.Table:
        """The facts as `property`, `value` rows. A property of the table is `property.<key>`, a column `column.<name>`."""
        rows: list[tuple[str, str | None]] = []
        for name, value in self.values.items():
            if isinstance(value, Mapping):
                rows += [(f"property.{key}", _text(inner)) for key, inner in value.items()]
            else:
                rows.append((name, _text(value)))
        for column in self.columns:
            required = "" if column.nullable else " not null"
            rows.append((f"column.{column.name}", f"{column.type}{required}, {column.index}"))
        schema = pa.schema([pa.field("property", pa.string(), nullable=False), pa.field("value", pa.string())])
        return pa.table([array_of([row[place] for row in rows], pa.string()) for place in (0, 1)], schema=schema)


def describe_table(handle: TableHandle) -> Description:
    """The facts of the table at the version of the handle."""
    snapshot, files = handle.snapshot, handle.files()
    protocol = snapshot.protocol
    times = pc.min_max(files.column("modificationTime")).as_py()
    values = {
        "url": handle.url,
        "id": handle.table_id,
        "version": handle.version,
        "committed": _time(snapshot.timestamp),
        "rows": pc.sum(files.column("numRecords")).as_py() or 0,
        "files": files.num_rows,
        "bytes": pc.sum(files.column("size")).as_py() or 0,
        "partitionBy": list(handle.partition_columns),
        "oldestFile": _time(times["min"]),
        "newestFile": _time(times["max"]),
        "minReaderVersion": protocol.min_reader_version,
        "minWriterVersion": protocol.min_writer_version,
        "features": list(dict.fromkeys([*(protocol.reader_features or ()), *(protocol.writer_features or ())])),
        **_state(handle),
        "versionsKept": sum(number <= handle.version for number in list_versions(handle.log.store, 0).versions),
        "properties": {
            key: value for key, value in snapshot.metadata.configuration.items() if not key.startswith(SCHEMA_KEY)
        },
    }
    return Description(values, describe_columns(handle))


def describe_columns(handle: TableHandle) -> tuple[ColumnFacts, ...]:
    """The columns of a table, with what the index makes of each."""
    kinds = {field.column: field.kind for field in handle.facts.mapping.fields}
    return tuple(
        ColumnFacts(
            field.name,
            type_text(field),
            field.nullable,
            "partition" if field.name in handle.partition_columns else _index(kinds.get(field.name)),
        )
        for field in handle.schema
    )


def _index(kind: str | None) -> str:
    return "none" if kind is None else _INDEXES.get(kind, "values")


def _state(handle: TableHandle) -> dict[str, Any]:
    """The state that the version stands on; nulls where there is none."""
    base = handle.snapshot.file_set.base
    if not isinstance(base, StateFiles):
        return {"stateVersion": handle.snapshot.base, "stateCreated": None, "stateAgeSeconds": None}
    age_ms = handle.log.clock.wall_ms() - base.state.created_at
    return {
        "stateVersion": base.state.version,
        "stateCreated": _time(base.state.created_at),
        "stateAgeSeconds": max(age_ms // 1000, 0),
    }


def _time(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    if not 0 <= milliseconds < _YEAR_9999_MS:
        return f"{milliseconds} ms since 1970"
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(value)
    return msgspec.json.encode(value).decode()


__all__ = ["ColumnFacts", "Description", "describe_columns", "describe_table"]
