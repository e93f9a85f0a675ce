"""Whether a table whose metadata changed can still be streamed.

The columns of a stream are those that the table had when the stream was opened. New nullable columns are left out until it is
opened again. A column that is gone, has another type or must have values is an error, because rows of both kinds would come.
"""

from __future__ import annotations

import pyarrow as pa

from indextables.core.errors import SchemaError
from indextables.core.schema_text import type_text
from indextables.log.snapshot import Snapshot


def check_schema(opened: Snapshot, now: Snapshot) -> None:
    """Raise SchemaError if the columns of a table changed in more than new nullable ones since a stream was opened."""
    if now.metadata is opened.metadata:
        return
    what = _change(opened.schema, now.schema)
    if what is None and now.metadata.partition_columns != opened.metadata.partition_columns:
        names = ", ".join(now.metadata.partition_columns) or "nothing"
        column = next(iter({*opened.metadata.partition_columns} ^ {*now.metadata.partition_columns}), "")
        what = column, f"changed its partition columns to {names}"
    if what is not None:
        column, change = what
        raise SchemaError(
            f"table {now.url} {change} since the stream began: start the stream again, and it reads the new columns",
            column=column,
            version=now.version,
        )


def _change(before: pa.Schema, after: pa.Schema) -> tuple[str, str] | None:
    """The first column that is not as it was, and what happened to it; None where only nullable columns came."""
    for field in before:
        place = after.get_field_index(field.name)
        if place < 0:
            return field.name, f"lost its column {field.name}"
        now = after.field(place)
        if now.type != field.type:
            return field.name, f"changed its column {field.name} from {type_text(field)} to {type_text(now)}"
        if now.nullable and not field.nullable:
            return field.name, f"began to allow nulls in its column {field.name}"
    for field in after:
        if before.get_field_index(field.name) < 0 and not field.nullable:
            return field.name, f"got a column {field.name} that must have values"
    return None
