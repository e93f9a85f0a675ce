"""CREATE TABLE, REPLACE TABLE and their AS SELECT: what a statement says of a new table, checked and carried out.

    stage     the statement is checked; nothing is in the store yet
    create    a table without rows is made, found or replaced; the commit of a write does it where there are rows
    entry     what spark_catalog keeps of the table
    undo      a table that the statement made is deleted again, after a later step failed

Purposes of a statement:

    create               a new table; an error where there is one
    adopt                a table that exists gets a name
    create_or_adopt      the same, or a new one where there is none
    replace              the columns and rows of a table are replaced
    create_or_replace    the same, or a new table where there is none
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql.types import StructType

from indextables.core.errors import OptionError, SchemaError, TableExists, TableNotFound
from indextables.core.options import PREFIX, Options, table_options
from indextables.core.options.bag import resolve
from indextables.core.options.kinds import join_list
from indextables.spark.connector.planning.planner import NOT_OURS, open_handle, reader_options
from indextables.spark.connector.planning.questions import TableText, pin_table
from indextables.spark.connector.tables.catalog import properties_of
from indextables.spark.reading.arrow_types import spark_schema
from indextables.spark.reading.read_options import check_known
from indextables.table.distributed.definitions import drop_table, table_at
from indextables.table.distributed.opening import TableHandle, full_url, open_log, open_table_of
from indextables.table.distributed.replace_job import begin_replace
from indextables.table.distributed.write_job import WriteJob, begin_write

PROPERTIES: Final = "indextables.properties"
"""The option by which a staged table tells its write the user's own properties, as JSON."""
_TEXT_TYPE: Final = "__CHAR_VARCHAR_TYPE_STRING"
"""Spark's name for the type of a CHAR or VARCHAR column in the column's metadata."""
_NOT_KEPT: Final = NOT_OURS | {"path", "before", "collation", "table_type"}


@dataclass(frozen=True)
class Statement:
    """What a statement says of a table."""

    url: str
    purpose: str
    schema: str
    """Spark's JSON; no fields where the statement names no columns."""
    partition_by: tuple[str, ...]
    options: dict[str, str]
    """How the table is reached and, if it is new, indexed."""
    kept: dict[str, str]
    """Of these options, the ones of OPTIONS (…): a catalog keeps them for every later use."""
    properties: dict[str, str]
    """The user's own properties, which go into the log as they are."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [field["name"] for field in json.loads(self.schema)["fields"]]


def read_statement(asked: Mapping[str, Any]) -> Statement:
    """The statement of a question. Raises OptionError and SchemaError for what no table can have."""
    given = {key: value for key, value in asked["properties"].items() if not key.startswith("option.")}
    url = asked["options"]["path"]
    _check_place(given, url)
    kept = {
        key: value for key, value in given.items() if f"option.{key}" in asked["properties"] and key.lower() != "path"
    }
    check_known({key.lower(): value for key, value in kept.items()}, (), "a table")
    own, options = {}, dict(kept)
    for key, value in given.items():
        if key in kept or (key.lower() in _NOT_KEPT and key.lower() != "comment"):
            continue
        entry = resolve(key)
        if key.lower().startswith(PREFIX) or (entry is not None and entry.scope == "table"):
            options[key] = value
        else:
            own[key] = value
    _check_of_table({key: value for key, value in options.items() if key not in kept})
    session = reader_options({**asked, "options": {}})
    names = {key.lower() for key in options}
    merged = {key: value for key, value in session.items() if key.lower() not in names} | options
    return Statement(url, asked["purpose"], asked["schema"], _partition_columns(asked), merged, kept, own)


def _check_place(given: Mapping[str, str], url: str) -> None:
    provider, location = given.get("provider"), given.get("location")
    if provider is not None and provider.lower() != "indextables":
        raise OptionError(f"a table of the catalog indextables is not USING {provider}: leave USING out")
    if location is not None and full_url(location) != full_url(url):
        raise OptionError(
            f"LOCATION is {location}, and the table is at {url}: leave LOCATION out, or DROP TABLE first to give the name to "
            "another place"
        )


def _check_of_table(options: Mapping[str, str]) -> None:
    checked = Options(options)
    others = sorted(checked.explicit().keys() - table_options(checked).keys())
    if others:
        raise OptionError(
            f"{', '.join(others)} cannot be a property of a table: put it into OPTIONS (…), or set it in the session"
        )


def _partition_columns(asked: Mapping[str, Any]) -> tuple[str, ...]:
    names = []
    for one in asked["partition_by"]:
        if one["transform"] != "identity" or len(one.get("column", ())) != 1:
            raise SchemaError(
                f"a table is partitioned by columns, not by {one['text']}: make a column of it and name the column"
            )
        names.append(one["column"][0])
    return tuple(names)


def stage(asked: Mapping[str, Any]) -> list[bytes]:
    """The table that a statement is going to make, as a write and DESCRIBE see it."""
    said = read_statement(asked)
    options = {**said.options, "path": said.url}
    there = _existing(options)
    if there is not None and said.purpose in ("create", "create_or_adopt", "adopt"):
        _check_same(asked, said, there)
        return [*open_handle(options, *pin_table(options)), json.dumps(properties_of(asked, options, there)).encode()]
    if there is None and not said.columns:
        raise SchemaError(
            f"there is no table at {said.url}, and the statement names no columns: CREATE TABLE n (id BIGINT, …) USING "
            "indextables"
        )
    _job(said)  # what can be wrong is an error here
    staged = options | {"partitionBy": join_list(said.partition_by), PROPERTIES: json.dumps(said.properties)}
    text = TableText(tuple(sorted(staged.items())), None, None, said.schema).encode()
    return [
        text.encode(),
        f"indextables {said.url}".encode(),
        said.schema.encode(),
        "\n".join(said.partition_by).encode(),
        json.dumps(said.properties).encode(),
    ]


def _check_same(asked: Mapping[str, Any], said: Statement, there: TableHandle) -> None:
    """Raise where a table that exists is not the one that the statement describes."""
    if said.purpose == "create" or (asked.get("managed") and said.purpose != "adopt"):
        raise TableExists(
            f"there is a table at {said.url} already: CREATE TABLE n USING indextables LOCATION '{said.url}' gives it a name, "
            "INSERT INTO writes to it",
            url=said.url,
        )
    if not said.columns:
        return
    given = StructType.fromJson(json.loads(said.schema))
    has = spark_schema(there.schema, there.schema.names, months=True)
    if _columns_text(given).lower() != _columns_text(has).lower():
        raise SchemaError(
            f"the table at {said.url} has the columns {_columns_text(has)}, and the statement {_columns_text(given)}: leave "
            "the columns out"
        )
    if said.partition_by and [name.lower() for name in said.partition_by] != [
        name.lower() for name in there.partition_columns
    ]:
        raise SchemaError(
            f"the table at {said.url} is partitioned by {', '.join(there.partition_columns) or 'nothing'}: leave PARTITIONED "
            "BY out"
        )
    held = table_at(there).properties
    asked_for = said.properties | table_options(Options({k: v for k, v in said.options.items() if k not in said.kept}))
    other = sorted(key for key, value in asked_for.items() if held.get(key) != value)
    if other:
        raise OptionError(
            f"the table at {said.url} exists, with {other[0]}={held.get(other[0])!r}: leave the property out, and change it "
            "with ALTER TABLE … SET TBLPROPERTIES"
        )


def _columns_text(schema: StructType) -> str:
    """The columns with their types. A CHAR or VARCHAR is a string whose own type stands in the column's metadata."""
    types = [field.metadata.get(_TEXT_TYPE, field.dataType.simpleString()) for field in schema]
    return ", ".join(f"{field.name} {kind}" for field, kind in zip(schema, types, strict=True))


def _existing(options: Mapping[str, str]) -> TableHandle | None:
    try:
        return pin_table(options)[1]
    except TableNotFound:
        return None


def _job(said: Statement) -> WriteJob:
    """The write of a statement, planned."""
    options = Options(said.options)
    if said.purpose in ("replace", "create_or_replace"):
        try:
            return begin_replace(
                said.url,
                said.schema,
                options,
                partition_by=said.partition_by,
                properties=said.properties,
                nullable=False,
            )
        except TableNotFound:
            if said.purpose == "replace":
                raise
    return begin_write(
        said.url,
        said.schema,
        options,
        mode="append",
        partition_by=said.partition_by,
        properties=said.properties,
        nullable=False,
    )


def create(asked: Mapping[str, Any]) -> list[bytes]:
    """Make, find or replace a table without rows. The answer is the id of a table that was made, or empty."""
    said = read_statement(asked)
    if said.purpose in ("adopt", "create_or_adopt") and _existing({**said.options, "path": said.url}) is not None:
        return [b""]
    job = _job(said)
    made = not job.metadata.id
    job.commit([])
    return [open_table_of(job.log).table_id.encode() if made else b""]


def entry(asked: Mapping[str, Any]) -> list[bytes]:
    """What spark_catalog keeps of a table that exists now."""
    said = read_statement(asked)
    handle = pin_table({**said.options, "path": said.url})[1]
    kept = {
        "schema": spark_schema(handle.schema, handle.schema.names, months=True).json(),
        "partition_by": list(handle.partition_columns),
        "options": said.kept,
    }
    return [json.dumps(kept).encode()]


def undo(asked: Mapping[str, Any]) -> list[bytes]:
    """Delete the table that a failed statement made, unless somebody wrote to it since."""
    said = read_statement(asked)
    log = open_log(said.url, Options(said.options))
    try:
        there = open_table_of(log)
    except TableNotFound:
        return []
    if there.table_id == asked["made"] and there.version <= _FIRST_ROWS:
        drop_table(log)
    return []


_FIRST_ROWS: Final = 1
"""The version that the first write of a new table makes: the table itself is version 0."""
