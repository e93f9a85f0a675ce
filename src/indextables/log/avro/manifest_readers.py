"""The three readers of a manifest's entries. Each gives the same table.

    read_one_by_one        `decode_records.py`: one record after the other in Python. THE REFERENCE: it reads every Avro file,
                           and its errors name what is wrong. The other two are tested against it.
    read_columns           `column_reader.py`: one field of thousands of records at a time. Needs the lengths of the records,
                           which our manifests note in their header. None where the lengths do not fit.
    read_with_datafusion   `datafusion_reader.py`: DataFusion's native reader. None where DataFusion cannot read the file, or
                           reads another number of records: DataFusion takes a cut file for a shorter one.

`choose_reader` (`reader_choice.py`) decides which reader is asked first. Where it gives None, another one is asked.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of, empty_table, scalar_of
from indextables.core.errors import CorruptLog, UnsafePath
from indextables.core.runtime.threads import CPU
from indextables.log.avro.avro_file import Block, Container, decompress
from indextables.log.avro.column_reader import ColumnReader
from indextables.log.avro.datafusion_reader import native_batches
from indextables.log.avro.decode_records import decode_records
from indextables.log.avro.encode_columns import RECORD_FIELD
from indextables.log.avro.reader_choice import ROWS_PER_THREAD, SMALL_MANIFEST
from indextables.log.avro.record_lengths import LENGTHS_KEY, Irregular, Numbers, Sieve, unpack_lengths
from indextables.log.avro.shared_columns import all_null, compact_columns, integers

logger = logging.getLogger("indextables")

_FIELDS_OF_THE_SIEVE = ("path", "partitionValues")
"""Fields that a sieve judges entries by. They are the first two of a record, so the rest of a dropped record is not read."""
_DEFAULTS: dict[str, Any] = {"dataChange": True, "hasFooterOffsets": False, "partitionValues": []}
"""Values of fields that must have one, for entries of writers that leave them out."""

Part = tuple[Block, Numbers]
"""A block, and the lengths of its records."""


def read_one_by_one(container: Container, schema: pa.Schema, sieve: Sieve | None) -> pa.Table:
    """All entries by the reference reader."""
    return sift(records_as_table(container.name, decode_records(container), schema), sieve)


def sift(entries: pa.Table, sieve: Sieve | None) -> pa.Table:
    """The entries that the sieve keeps."""
    rows = None if sieve is None else sieve(entries)
    if rows is None:
        return entries
    chosen = integers(rows)
    kept = [
        all_null(len(rows), column.type) if column.null_count == len(column) else column.take(chosen)
        for column in entries.columns
    ]
    return pa.Table.from_arrays(kept, schema=entries.schema)


def read_columns(
    container: Container,
    schema: pa.Schema,
    sieve: Sieve | None,
    *,
    checked: bool = False,
    blocks: Collection[int] | None = None,
) -> pa.Table | None:
    """Entries by the lengths of their records; None where the lengths do not fit.

    `blocks` are the numbers of the blocks to read; None reads all. `checked` says that the file is known to be as it was
    written: then nothing behind the last wanted field is looked at.
    """
    if blocks is not None and not blocks:
        return empty_table(schema)
    reader = ColumnReader(container.schema["fields"], schema, _FIELDS_OF_THE_SIEVE, sieve, checked=checked)
    try:
        lengths = unpack_lengths(container.metadata.get(LENGTHS_KEY, b""), container.count)
        parts = [part for n, part in enumerate(_parts(container, lengths)) if blocks is None or n in blocks]
        rows = sum(block.count for block, _ in parts)
        calls = [partial(_read_parts, container, reader, schema, some) for some in _evenly(parts, rows)]
        pieces = [call() for call in calls] if rows <= SMALL_MANIFEST else CPU.together(calls)
    except Irregular as error:
        logger.info("%s: its records cannot be read by their lengths (%s)", container.name, error)
        return None
    return pa.concat_tables([empty_table(schema), *pieces])


def _parts(container: Container, lengths: Numbers) -> Iterator[Part]:
    first = 0
    for block in container.blocks:
        yield block, lengths[first : first + block.count]
        first += block.count


def _evenly(parts: Sequence[Any], rows: int) -> Iterator[Sequence[Any]]:
    """The parts, divided among threads. No share is empty or has two parts more than another: a thread with fewer would wait."""
    shares = max(1, min(-(-rows // ROWS_PER_THREAD), len(parts)))
    ends = [number * len(parts) // shares for number in range(shares + 1)] if parts else []
    return (parts[begin:end] for begin, end in pairwise(ends))


def _read_parts(container: Container, reader: ColumnReader, schema: pa.Schema, parts: Sequence[Part]) -> pa.Table:
    pieces = []
    for block, lengths in parts:
        columns = reader.read(decompress(container.name, container.codec, block.data), lengths)
        if columns:
            rows = len(next(iter(columns.values())))
            whole = [
                _complete(container.name, f, columns[f.name]) if f.name in columns else _absent(container.name, f, rows)
                for f in schema
            ]
            pieces.append(pa.Table.from_arrays(whole, schema=schema))
    table = pa.concat_tables(pieces) if pieces else empty_table(schema)
    return table if RECORD_FIELD.name in schema.names else compact_columns(table)


def read_with_datafusion(
    data: bytes, container: Container, schema: pa.Schema, fields: set[str], sieve: Sieve | None
) -> pa.Table | None:
    """All entries by DataFusion, which reads only `fields`; the other columns of the schema are null or have their default."""
    columns = [name for name in schema.names if name in fields]
    calls = [
        partial(_native_pieces, container, data, blocks, schema, columns, sieve)
        for blocks in _evenly(container.blocks, container.count)
    ]
    try:
        pieces = CPU.together(calls)
    except UnsafePath:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the slow reader has the last word
        logger.info("%s: DataFusion cannot read it (%s)", container.name, error)
        return None
    return pa.concat_tables([empty_table(schema), *pieces])


def _native_pieces(
    container: Container,
    data: bytes,
    blocks: Sequence[Block],
    schema: pa.Schema,
    columns: Sequence[str],
    sieve: Sieve | None,
) -> pa.Table:
    """The entries of some neighbouring blocks, which DataFusion reads as a file of their own."""
    view = memoryview(data)
    pieces = [empty_table(schema)]
    seen = 0
    with native_batches(
        [view[: container.blocks[0].start], view[blocks[0].start : blocks[-1].end]], columns
    ) as batches:
        for batch in batches:
            seen += batch.num_rows
            pieces.append(sift(_conform(container.name, batch, schema), sieve))
    if seen != sum(block.count for block in blocks):
        raise ValueError(f"{seen} records of {sum(block.count for block in blocks)} were read")
    return compact_columns(pa.concat_tables(pieces))


def _conform(name: str, batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """DataFusion's batch as a table of the schema."""
    columns = []
    for field in schema:
        index = batch.schema.get_field_index(field.name)
        if index < 0:
            columns.append(_absent(name, field, batch.num_rows))
            continue
        column = batch.column(index)
        if field.nullable and column.null_count == len(column):
            columns.append(all_null(len(column), field.type))
        else:
            columns.append(_complete(name, field, column.cast(field.type)))
    return pa.Table.from_arrays(columns, schema=schema)


def _absent(name: str, field: pa.Field, rows: int) -> pa.Array:
    """A column that the file does not have."""
    if field.nullable:
        return all_null(rows, field.type)
    if field.name in _DEFAULTS:
        return pa.repeat(scalar_of(_DEFAULTS[field.name], field.type), rows)
    raise CorruptLog(f"{name}: its entries have no {field.name}", object=name)


def _complete(name: str, field: pa.Field, column: Any) -> Any:
    """The column with its default in place of nulls, where the schema demands a value. Raises CorruptLog without a default."""
    if field.nullable or not column.null_count:
        return column
    if field.name not in _DEFAULTS:
        raise CorruptLog(f"{name}: {column.null_count} of its entries have no {field.name}", object=name)
    return pc.if_else(column.is_valid(), column, scalar_of(_DEFAULTS[field.name], field.type))


def records_as_table(name: str, records: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """Records of the reference reader as a table."""
    columns = []
    for field in schema:
        if records and field.name not in records[0]:
            columns.append(_absent(name, field, len(records)))
            continue
        values = [record[field.name] for record in records]
        if pa.types.is_map(field.type):
            values = [list(value.items()) if isinstance(value, dict) else value for value in values]
        try:
            columns.append(_complete(name, field, array_of(values, field.type)))
        except (pa.ArrowException, TypeError, OverflowError) as error:
            raise CorruptLog(f"{name}: column {field.name} is no {field.type} ({error})", object=name) from error
    return pa.Table.from_arrays(columns, schema=schema)
