"""A manifest's bytes ⇄ a table of files.

Ours say how long each record is, and are read by that (`alike.py`, `lockstep.py`). Other large ones are read by DataFusion's
native reader (`native.py`). It takes a damaged or cut file for a shorter one, so the file was taken apart and counted before
(`container.py`), and what DataFusion cannot read, or reads as another number of rows, is read again one record at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.errors import CorruptLog, UnsafePath
from indextables.log.avro.alike import Alike, promising, room
from indextables.log.avro.avro_file import Block, Container, decompress, read_container, write_container
from indextables.log.avro.column_reader import Lockstep
from indextables.log.avro.datafusion_reader import native_batches, usable
from indextables.log.avro.decode_records import decode_records
from indextables.log.avro.decoders import DECODERS
from indextables.log.avro.encode_columns import RECORD_FIELD, cut, encode_records, record_lengths
from indextables.log.avro.record_lengths import (
    LENGTHS_KEY,
    Irregular,
    Numbers,
    Sieve,
    can_read,
    pack_lengths,
    unpack_lengths,
)
from indextables.log.avro.schemas import FILE_ENTRY, FILE_ENTRY_JSON
from indextables.log.avro.shared_columns import integers, nothing, settled
from indextables.log.file_entries import FILE_SCHEMA

logger = logging.getLogger("indextables")

NULL_FIELDS_KEY = "indextables.nullFields"
"""In the file's metadata: the fields that are null in every record, so that a reader need not decode them. Believed only in
files whose checksum was compared."""

_FEW = 70
_SMALL = 1000
_FEW_COLUMNS = 6
_ROWS_PER_THREAD = 22_000
_BLOCKS_ALIKE = 6
"""Blocks that are read at once where records are alike. More make larger groups, and take more memory than a cache has."""
_NULLABLE = frozenset(field.name for field in FILE_SCHEMA if field.nullable)
_EARLY = ("path", "partitionValues")
_DEFAULTS: dict[str, Any] = {"dataChange": True, "hasFooterOffsets": False, "partitionValues": []}


def write_manifest(files: pa.Table, *, codec: str, level: int) -> bytes:
    """Files as an Avro file, with the lengths of its records and the fields that are always null in its metadata."""
    lengths = []
    empty = ",".join(null_fields(files)).encode()

    def blocks() -> Iterator[tuple[int, pa.Buffer]]:
        for records in encode_records(files, FILE_ENTRY):
            lengths.append(record_lengths(records))
            yield from cut(records)

    return write_container(
        FILE_ENTRY_JSON,
        codec,
        level,
        blocks(),
        lambda: {LENGTHS_KEY: pack_lengths(lengths), NULL_FIELDS_KEY: empty},
    )


def null_fields(files: pa.Table) -> list[str]:
    """The fields that are null in all files: counted, or, where files are records, as the manifests said that they are from."""
    if RECORD_FIELD.name in files.column_names:
        return _named_fields((files.schema.metadata or {}).get(NULL_FIELDS_KEY.encode(), b""))
    return [f.name for f in FILE_SCHEMA if f.nullable and files.column(f.name).null_count == files.num_rows]


def with_null_fields(records: pa.Table, names: Collection[str]) -> pa.Table:
    """Files as records, with a note of the fields that are null in all of them."""
    return records.replace_schema_metadata({NULL_FIELDS_KEY: ",".join(sorted(names))})


def _named_fields(text: bytes) -> list[str]:
    return [name for name in text.decode("utf-8", "replace").split(",") if name in _NULLABLE]


def read_manifest(name: str, data: bytes, columns: Sequence[str] | None = None) -> pa.Table:
    """The files in a manifest: all columns of FILE_SCHEMA, or those asked for. Fields of later writers are ignored."""
    return read_entries(read_container(name, data), data, columns)


def read_entries(
    container: Container,
    data: bytes,
    columns: Sequence[str] | None = None,
    sieve: Sieve | None = None,
    *,
    selective: bool = False,
    checked: bool = False,
) -> pa.Table:
    """The same, of a manifest that was taken apart already.

    The sieve gets the entries some thousand at a time, at times only their paths and partition values, and says which of them
    to keep. What it drops is gone before more are read. `selective` says that it may drop most of them, `checked` that the file
    is known to be as it was written.
    """
    schema = FILE_SCHEMA if columns is None else pa.schema([FILE_SCHEMA.field(column) for column in columns])
    fields = _fields(container)
    large = container.count > _SMALL
    found = None
    if large and not selective and len(schema) > _FEW_COLUMNS:
        found = _read_in_step(container, schema, sieve, alike=True)
    if found is None and container.count > _FEW:
        found = _read_in_step(container, schema, sieve, checked=checked)
    if found is None and large and usable():
        absent = _named_fields(container.metadata.get(NULL_FIELDS_KEY, b"")) if checked else []
        found = _read_natively(data, container, schema, fields - set(absent), sieve)
    if found is None:
        found = _sifted(_from_records(container.name, decode_records(container), schema), sieve)
    return found


def read_records(
    container: Container, data: bytes, columns: Sequence[str], sieve: Sieve | None = None, *, checked: bool = False
) -> pa.Table:
    """Some columns, and the entries as they would be written: what a manifest of ours has is copied, others are encoded."""
    schema = pa.schema([*(FILE_SCHEMA.field(column) for column in columns), RECORD_FIELD])
    found = None
    if container.schema == FILE_ENTRY:
        found = _read_in_step(container, schema, sieve, alike=True) if container.count > _SMALL else None
        found = _read_in_step(container, schema, sieve, checked=checked) if found is None else found
    if found is None:
        return with_records(read_entries(container, data, None, sieve), columns)
    return with_null_fields(found, _named_fields(container.metadata.get(NULL_FIELDS_KEY, b"")) if checked else ())


def with_records(files: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Some columns of files, and the files as records."""
    records = pa.chunked_array(encode_records(files, FILE_ENTRY), RECORD_FIELD.type)
    return with_null_fields(files.select(columns).append_column(RECORD_FIELD, records), null_fields(files))


def _sifted(entries: pa.Table, sieve: Sieve | None) -> pa.Table:
    rows = None if sieve is None else sieve(entries)
    if rows is None:
        return entries
    chosen = integers(rows)
    kept = [
        nothing(len(rows), column.type) if column.null_count == len(column) else column.take(chosen)
        for column in entries.columns
    ]
    return pa.Table.from_arrays(kept, schema=entries.schema)


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


def _read_in_step(
    container: Container, schema: pa.Schema, sieve: Sieve | None, *, checked: bool = False, alike: bool = False
) -> pa.Table | None:
    packed = container.metadata.get(LENGTHS_KEY)
    if packed is None or not can_read(container.schema, schema):
        return None
    fields = container.schema["fields"]
    reader = Alike(fields, schema, _EARLY, sieve) if alike else Lockstep(fields, schema, _EARLY, sieve, checked=checked)
    try:
        lengths = unpack_lengths(packed, container.count)
        if alike and not promising(lengths):
            return None
        calls = [
            partial(_pieces, container, reader, schema, blocks, lengths[first:]) for blocks, first in _groups(container)
        ]
        pieces = [call() for call in calls] if container.count <= _SMALL else DECODERS.together(calls)
    except Irregular as error:
        logger.info("%s: its records cannot be read in step (%s)", container.name, error)
        return None
    return pa.concat_tables([schema.empty_table(), *pieces])


def _groups(container: Container) -> Iterator[tuple[Sequence[Block], int]]:
    """Blocks that are decoded by one thread, and the number of their first record."""
    first = 0
    for blocks in _evenly(container.blocks, -(-container.count // _ROWS_PER_THREAD)):
        yield blocks, first
        first += sum(block.count for block in blocks)


def _evenly(blocks: Sequence[Block], parts: int) -> Iterator[Sequence[Block]]:
    """So many parts, none of which is empty or has two blocks more than another: a thread that gets less waits for the others."""
    parts = max(1, min(parts, len(blocks)))
    ends = [number * len(blocks) // parts for number in range(parts + 1)] if blocks else []
    return (blocks[begin:end] for begin, end in pairwise(ends))


def _pieces(
    container: Container, reader: Lockstep | Alike, schema: pa.Schema, blocks: Sequence[Block], lengths: Numbers
) -> pa.Table:
    """Some blocks: one by one, or several at once where that makes larger groups of records that are alike."""
    pieces = []
    at = 0
    at_once = _BLOCKS_ALIKE if isinstance(reader, Alike) else 1
    for some in _evenly(blocks, -(-len(blocks) // at_once)):
        count = sum(block.count for block in some)
        data = _unpacked(container, some, lengths[at : at + count])
        columns = reader.read(data, lengths[at : at + count])
        at += count
        if columns:
            rows = len(next(iter(columns.values())))
            whole = [
                _complete(container.name, f, columns[f.name]) if f.name in columns else _absent(container.name, f, rows)
                for f in schema
            ]
            pieces.append(pa.Table.from_arrays(whole, schema=schema))
    table = pa.concat_tables(pieces) if pieces else schema.empty_table()
    return table if RECORD_FIELD.name in schema.names else settled(table)


def _unpacked(container: Container, blocks: Sequence[Block], lengths: Numbers) -> Any:
    """The records of some blocks, one behind the other."""
    if len(blocks) == 1:
        return decompress(container.name, container.codec, blocks[0].data)
    size = int(lengths.sum())
    whole = room(size, np.uint8)
    at = 0
    for block in blocks:
        data = decompress(container.name, container.codec, block.data)
        if len(data) > size - at:
            raise Irregular("the lengths do not fit the blocks")
        whole[at : at + len(data)] = np.frombuffer(data, np.uint8)
        at += len(data)
    return whole[:at]


def _read_natively(
    data: bytes, container: Container, schema: pa.Schema, fields: set[str], sieve: Sieve | None
) -> pa.Table | None:
    columns = [name for name in schema.names if name in fields]
    calls = [
        partial(_native_pieces, container, data, blocks, schema, columns, sieve) for blocks, _ in _groups(container)
    ]
    try:
        pieces = DECODERS.together(calls)
    except UnsafePath:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the slow reader has the last word
        logger.info("%s: DataFusion cannot read it (%s)", container.name, error)
        return None
    return pa.concat_tables([schema.empty_table(), *pieces])


def _native_pieces(
    container: Container,
    data: bytes,
    blocks: Sequence[Block],
    schema: pa.Schema,
    columns: Sequence[str],
    sieve: Sieve | None,
) -> pa.Table:
    """Some blocks, as a file of their own."""
    view = memoryview(data)
    pieces = [schema.empty_table()]
    seen = 0
    with native_batches(
        [view[: container.blocks[0].start], view[blocks[0].start : blocks[-1].end]], columns
    ) as batches:
        for batch in batches:
            seen += batch.num_rows
            pieces.append(_sifted(_conform(container.name, batch, schema), sieve))
    if seen != sum(block.count for block in blocks):
        raise ValueError(f"{seen} records of {sum(block.count for block in blocks)} were read")
    return settled(pa.concat_tables(pieces))


def _conform(name: str, batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    columns = []
    for field in schema:
        index = batch.schema.get_field_index(field.name)
        if index < 0:
            columns.append(_absent(name, field, batch.num_rows))
            continue
        column = batch.column(index)
        if field.nullable and column.null_count == len(column):
            columns.append(nothing(len(column), field.type))
        else:
            columns.append(_complete(name, field, column.cast(field.type)))
    return pa.Table.from_arrays(columns, schema=schema)


def _absent(name: str, field: pa.Field, rows: int) -> pa.Array:
    if field.nullable:
        return nothing(rows, field.type)
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
