"""A manifest's bytes ⇄ a table of files.

    files ─ encode_columns ─ blocks ─ avro_file ─▶ bytes
    bytes ─ avro_file ─▶ container ─ choose_reader ─▶ one of three readers ─▶ files

Our manifests note the length of each record in their header, and are read by that. A file is taken apart and counted
(`avro_file.py`) before any reader is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import pyarrow as pa

from indextables.core.errors import CorruptLog
from indextables.log.avro.avro_file import Container, read_container, write_container
from indextables.log.avro.datafusion_reader import usable
from indextables.log.avro.encode_columns import RECORD_FIELD, cut, encode_records, record_lengths
from indextables.log.avro.manifest_readers import read_columns, read_one_by_one, read_with_datafusion
from indextables.log.avro.reader_choice import Reader, choose_reader
from indextables.log.avro.record_lengths import LENGTHS_KEY, Sieve, can_read, pack_lengths
from indextables.log.avro.schemas import FILE_ENTRY, FILE_ENTRY_JSON
from indextables.log.file_entries import FILE_SCHEMA

NULL_FIELDS_KEY = "indextables.nullFields"
"""In the file's metadata: the fields that are null in every record, so that a reader need not decode them. Believed only in
files whose checksum was compared."""

_NULLABLE = frozenset(field.name for field in FILE_SCHEMA if field.nullable)

BlockNotes = Callable[[Sequence[int]], Mapping[str, bytes]]
"""The number of records in each block → what the header is to note about the blocks."""


def _no_notes(_block_counts: Sequence[int]) -> Mapping[str, bytes]:
    return {}


def write_manifest(files: pa.Table, *, codec: str, level: int, block_notes: BlockNotes = _no_notes) -> bytes:
    """Files as an Avro file. Its metadata has the lengths of its records, the fields that are always null, and `block_notes`."""
    lengths = []
    block_counts = []
    empty = ",".join(null_fields(files)).encode()

    def blocks() -> Iterator[tuple[int, pa.Buffer]]:
        for records in encode_records(files, FILE_ENTRY):
            lengths.append(record_lengths(records))
            for count, data in cut(records):
                block_counts.append(count)
                yield count, data

    def notes() -> Mapping[str, bytes]:
        return {LENGTHS_KEY: pack_lengths(lengths), NULL_FIELDS_KEY: empty, **block_notes(block_counts)}

    return write_container(FILE_ENTRY_JSON, codec, level, blocks(), notes)


def null_fields(files: pa.Table) -> list[str]:
    """The fields that are null in all files. Where the files are records, the note of `with_null_fields` says which."""
    if RECORD_FIELD.name in files.column_names:
        return _named_fields((files.schema.metadata or {}).get(NULL_FIELDS_KEY.encode(), b""))
    return [f.name for f in FILE_SCHEMA if f.nullable and files.column(f.name).null_count == files.num_rows]


def with_null_fields(records: pa.Table, names: Collection[str]) -> pa.Table:
    """Files as records, with a note of the fields that are null in all of them."""
    return records.replace_schema_metadata({NULL_FIELDS_KEY: ",".join(sorted(names))})


def _named_fields(text: bytes) -> list[str]:
    return [name for name in text.decode("utf-8", "replace").split(",") if name in _NULLABLE]


def read_manifest(name: str, data: bytes, columns: Sequence[str] | None = None) -> pa.Table:
    """The files in a manifest: all columns of FILE_SCHEMA, or only `columns`. Fields of later writers are ignored."""
    return read_entries(read_container(name, data), data, columns)


def read_entries(
    container: Container,
    data: bytes,
    columns: Sequence[str] | None = None,
    sieve: Sieve | None = None,
    *,
    checked: bool = False,
    blocks: Collection[int] | None = None,
) -> pa.Table:
    """The files in a manifest that was taken apart already: all columns of FILE_SCHEMA, or only `columns`.

    The sieve gets the entries some thousand at a time, at times only their paths and partition values, and says which of them
    to keep. Entries that it drops are not decoded further. `checked` says that the file is known to be as it was written.
    `blocks` are the numbers of the blocks that may hold an entry that the sieve keeps: a reader may pass over the others.
    """
    schema = FILE_SCHEMA if columns is None else pa.schema([FILE_SCHEMA.field(column) for column in columns])
    fields = _fields(container)
    reader = choose_reader(container.count, by_length=_has_lengths(container, schema), datafusion=usable())
    if reader is Reader.COLUMNS:
        found = read_columns(container, schema, sieve, checked=checked, blocks=blocks)
        if found is not None:
            return found
        reader = choose_reader(container.count, by_length=False, datafusion=usable())
    if reader is Reader.DATAFUSION:
        absent = _named_fields(container.metadata.get(NULL_FIELDS_KEY, b"")) if checked else []
        found = read_with_datafusion(data, container, schema, fields - set(absent), sieve)
        if found is not None:
            return found
    return read_one_by_one(container, schema, sieve)


def read_records(
    container: Container, data: bytes, columns: Sequence[str], sieve: Sieve | None = None, *, checked: bool = False
) -> pa.Table:
    """Columns of the entries, and the entries as records (`RECORD_FIELD`).

    The records of a manifest with our schema are copied as they are. Other manifests are decoded and encoded again.
    """
    schema = pa.schema([*(FILE_SCHEMA.field(column) for column in columns), RECORD_FIELD])
    found = None
    if container.schema == FILE_ENTRY and _has_lengths(container, schema):
        found = read_columns(container, schema, sieve, checked=checked)
    if found is None:
        return with_records(read_entries(container, data, None, sieve), columns)
    return with_null_fields(found, _named_fields(container.metadata.get(NULL_FIELDS_KEY, b"")) if checked else ())


def _has_lengths(container: Container, schema: pa.Schema) -> bool:
    return LENGTHS_KEY in container.metadata and can_read(container.schema, schema)


def with_records(files: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Columns of files, and the files as records (`RECORD_FIELD`)."""
    records = pa.chunked_array(encode_records(files, FILE_ENTRY), RECORD_FIELD.type)
    return with_null_fields(files.select(columns).append_column(RECORD_FIELD, records), null_fields(files))


def _fields(container: Container) -> set[str]:
    """The names of the fields of a record. Raises CorruptLog where these are no entries of files."""
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
