"""A manifest's bytes ⇄ a table of files.

Large manifests are read by DataFusion's native reader, which is imported when the first one is met. It takes a damaged or cut
file for a shorter one, so the file was taken apart and counted before (`container.py`), and what DataFusion cannot read, or
reads as another number of rows, is read again one record at a time.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.errors import CorruptLog
from indextables.log.avro.container import Container, read_container, write_container
from indextables.log.avro.decode import decode_records
from indextables.log.avro.encode import encode_blocks
from indextables.log.avro.schemas import FILE_ENTRY, FILE_ENTRY_JSON
from indextables.log.files import FILE_SCHEMA

logger = logging.getLogger("indextables")

_SMALL = 1000
_DEFAULTS: dict[str, Any] = {"dataChange": True, "hasFooterOffsets": False, "partitionValues": []}


def write_manifest(files: pa.Table, *, codec: str, level: int) -> bytes:
    """Files as an Avro file."""
    return write_container(FILE_ENTRY_JSON, codec, level, encode_blocks(files, FILE_ENTRY))


def read_manifest(name: str, data: bytes, columns: Sequence[str] | None = None) -> pa.Table:
    """The files in a manifest: all columns of FILE_SCHEMA, or those asked for. Fields of later writers are ignored."""
    container = read_container(name, data)
    schema = FILE_SCHEMA if columns is None else pa.schema([FILE_SCHEMA.field(column) for column in columns])
    fields = _fields(container)
    if container.count > _SMALL:
        found = _read_natively(data, container, schema, fields)
        if found is not None:
            return found
    return _from_records(name, decode_records(container), schema)


def _fields(container: Container) -> set[str]:
    schema = container.schema
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise CorruptLog(f"{container.name} is not a manifest: its records are {schema!r:.80}", object=container.name)
    try:
        fields = {field["name"] for field in schema.get("fields", [])}
    except (KeyError, TypeError) as error:
        raise CorruptLog(
            f"{container.name} is not a manifest: its schema is broken ({error!r})", object=container.name
        ) from error
    if "path" not in fields:
        raise CorruptLog(f"{container.name} is not a manifest: its entries have no path", object=container.name)
    return fields


def _read_natively(data: bytes, container: Container, schema: pa.Schema, fields: set[str]) -> pa.Table | None:
    import datafusion

    columns = [name for name in schema.names if name in fields]
    with tempfile.NamedTemporaryFile(suffix=".avro") as file:
        file.write(data)
        file.flush()
        try:
            frame = datafusion.SessionContext().read_avro(file.name).select(*(f'"{column}"' for column in columns))
            table = pa.Table.from_batches(frame.collect(), frame.schema())
            return _conform(container.name, table, schema) if table.num_rows == container.count else None
        except Exception as error:  # noqa: BLE001 - whatever it is, the slow reader has the last word
            logger.info("%s: DataFusion cannot read it (%s)", container.name, error)
            return None


def _conform(name: str, table: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = []
    for field in schema:
        if field.name not in table.column_names:
            columns.append(_absent(name, field, table.num_rows))
            continue
        columns.append(_complete(name, field, table.column(field.name).cast(field.type)))
    return pa.Table.from_arrays(columns, schema=schema)


def _absent(name: str, field: pa.Field, rows: int) -> pa.Array:
    if field.nullable:
        return pa.nulls(rows, field.type)
    if field.name in _DEFAULTS:
        return pa.repeat(pa.scalar(_DEFAULTS[field.name], field.type), rows)
    raise CorruptLog(f"{name}: its entries have no {field.name}", object=name)


def _complete(name: str, field: pa.Field, column: Any) -> Any:
    """A column that must have values, and has none in places: the default, where there is one."""
    if field.nullable or not column.null_count:
        return column
    if field.name not in _DEFAULTS:
        raise CorruptLog(f"{name}: {column.null_count} of its entries have no {field.name}", object=name)
    return pc.if_else(column.is_valid(), column, pa.scalar(_DEFAULTS[field.name], field.type))


def _from_records(name: str, records: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    columns = []
    for field in schema:
        if records and field.name not in records[0]:
            columns.append(_absent(name, field, len(records)))
            continue
        values = [record[field.name] for record in records]
        if pa.types.is_map(field.type):
            values = [list(value.items()) if isinstance(value, dict) else value for value in values]
        try:
            columns.append(_complete(name, field, pa.array(values, field.type)))
        except (pa.ArrowException, TypeError, OverflowError) as error:
            raise CorruptLog(f"{name}: column {field.name} is no {field.type} ({error})", object=name) from error
    return pa.Table.from_arrays(columns, schema=schema)
