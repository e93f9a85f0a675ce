"""A table's metadata from the footers of its splits, where no log has it any more.

    newest footer ─┬─ columns, and the partition columns with their types ──▶ schema
                   └─ how each column is indexed ──▶ the properties that ask for it

Properties that say nothing about indexing (retention, the table's name) stand in no footer and are lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from indextables.core.errors import IndexTablesError
from indextables.core.options import PREFIX
from indextables.core.types import arrow_to_spark_json, spark_json_to_arrow
from indextables.log.actions import MetadataAction
from indextables.split.bundle.footer import Footer
from indextables.split.index.doc_mapping import DocMapping, FieldMapping, plan_mapping

_GUESSES: Final = (
    (re.compile(r"true|false"), pa.bool_()),
    (re.compile(r"-?(0|[1-9][0-9]{0,17})"), pa.int64()),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), pa.date32()),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z"), pa.timestamp("us", "UTC")),
)
"""What partition values look like that can only be of one type, or are most likely of this one. All others are texts."""


@dataclass(frozen=True)
class FoundMetadata:
    """Metadata that footers gave, and what they could not say."""

    metadata: MetadataAction
    doubts: tuple[str, ...]
    """Clauses for a message."""


def metadata_from(footers: Sequence[Footer]) -> FoundMetadata:
    """The metadata of the table that the splits belong to. The newest footer counts; columns of older ones are added."""
    newest = max(footers, key=lambda footer: footer.created_ms)
    partition_by = tuple(newest.partition_values)
    doubts: list[str] = []
    if newest.table_schema or not partition_by:
        schema = spark_json_to_arrow(newest.table_schema or newest.schema)
    else:
        guessed = [pa.field(name, _guessed(footers, name)) for name in partition_by]
        schema = pa.schema([*spark_json_to_arrow(newest.schema), *guessed])
        shown = ", ".join(f"{field.name} {field.type}" for field in guessed)
        doubts.append(f"the types of partition columns were guessed from their values ({shown})")
    schema = _with_older_columns(schema, footers)
    configuration = properties_of(schema, partition_by, newest.doc_mapping)
    if not _gives(schema, partition_by, configuration, newest.doc_mapping):
        doubts.append(
            "new splits are indexed otherwise than the old ones, because a footer does not say which options these had"
        )
    doubts.append("properties of the table that are not about indexing are lost")
    metadata = MetadataAction(
        id="",
        schema_string=arrow_to_spark_json(schema),
        partition_columns=partition_by,
        configuration=configuration,
        created_time=min(footer.created_ms for footer in footers),
    )
    return FoundMetadata(metadata, tuple(doubts))


def _guessed(footers: Sequence[Footer], column: str) -> pa.DataType:
    values = {footer.partition_values.get(column) for footer in footers} - {None, ""}
    for form, kind in _GUESSES:
        if values and all(value is not None and form.fullmatch(value) for value in values):
            return kind
    return pa.string()


def _with_older_columns(schema: pa.Schema, footers: Sequence[Footer]) -> pa.Schema:
    """The schema with columns that only other splits have, as nullable ones at the end."""
    texts = dict.fromkeys(footer.schema for footer in footers)
    for text in texts:
        for field in spark_json_to_arrow(text):
            if field.name not in schema.names:
                schema = schema.append(field.with_nullable(True))
    return schema


def properties_of(schema: pa.Schema, partition_by: Sequence[str], mapping: str) -> dict[str, str]:
    """The properties that make a table index its columns as a mapping does."""
    wanted = DocMapping.from_json(mapping)
    usual = {field.column: field for field in plan_mapping(schema, partition_by, {}).fields}
    lists: dict[str, list[str]] = {}
    for field in wanted.fields:
        for key in _options_of(field, usual.get(field.column)):
            lists.setdefault(f"{PREFIX}indexing.{key}", []).append(field.column)
    found = {key: ",".join(columns) for key, columns in lists.items()}
    if wanted.max_token_length != DocMapping(()).max_token_length:
        found[f"{PREFIX}indexing.text.maxTokenLength"] = str(wanted.max_token_length)
    return found


def _options_of(field: FieldMapping, usual: FieldMapping | None) -> list[str]:
    """The options that list a column, so that it is indexed as the field says."""
    keys: list[str] = []
    if usual is None:
        return keys
    if field.kind != usual.kind:
        keys.append(f"typemap.{field.kind}")
    has_words = field.kind in ("text", "json")
    if field.tokenizer is not None and field.tokenizer != ("default" if has_words else "raw"):
        keys.append(f"tokenizer.{field.tokenizer}")
    if field.record is not None and field.record != ("position" if has_words else "basic"):
        keys.append(f"indexrecordoption.{field.record}")
    if field.fast and field.kind in ("string", "text", "json"):
        keys.append("fastfields")
    if field.indexed and field.kind in ("i64", "bool", "f64"):
        keys.append("lookupfields")
    return keys


def _gives(schema: pa.Schema, partition_by: Sequence[str], configuration: dict[str, str], mapping: str) -> bool:
    """Whether a table with these properties indexes its columns as the mapping does."""
    wanted = {field.column: field for field in DocMapping.from_json(mapping).fields}
    try:
        planned = plan_mapping(schema, partition_by, configuration)
    except IndexTablesError:
        return False
    return {field.column: field for field in planned.fields if field.column in wanted} == wanted
