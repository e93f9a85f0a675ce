"""Tables with a name: what the two catalogs of the connector ask.

    load      the table, or one of its hidden tables, at a version or a time
    read      the same table with a reader's options
    alter     properties set and dropped
    drop      the table deleted for good
    refuse    a statement that has no meaning here: one line that says what to do instead

The catalog `indextables` names tables by their places. `spark_catalog` keeps a name, a place and the options to reach it.
Everything else that is known of a table is in its log.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any, Final

from indextables.core.errors import OptionError, SchemaError, TableNotFound
from indextables.core.options import PREFIX
from indextables.core.options.bag import resolve
from indextables.spark.connector.planning.planner import open_handle, reader_options
from indextables.spark.connector.planning.questions import TableText, keep_handle, pin_table
from indextables.spark.connector.tables.hidden import open_hidden
from indextables.spark.reading.read_options import read_options
from indextables.table.distributed.definitions import drop_table, table_at
from indextables.table.distributed.opening import TableHandle, open_log, open_pinned, open_table_of

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_OF_CATALOG: Final = frozenset(
    ("provider", "location", "owner", "external", "is_managed_location", "table_type", "collation")
)
"""Properties by which Spark says where a table is kept. No statement changes them in a log."""
_SAME_COLUMNS: Final = frozenset(("query", "where", "limit"))
"""The reader's options that leave a table's columns as they are."""


def load_table(asked: Mapping[str, Any]) -> list[bytes]:
    """The table that a catalog found, with its properties; or the columns of one of its hidden tables."""
    options = reader_options(asked)
    if "version" in asked:
        options["versionAsOf"] = asked["version"]
    if "micros" in asked:
        moment = _EPOCH + dt.timedelta(microseconds=asked["micros"])
        options["timestampAsOf"] = moment.isoformat()
    try:
        read, handle = pin_table(options)
    except TableNotFound as error:
        if "entry" not in asked:
            raise
        raise SchemaError(
            f"the catalog has the name, and there is no table at {options['path']}: DROP TABLE takes the name away, or bring the "
            "table back"
        ) from error
    if "hidden" in asked:
        return open_hidden(asked["hidden"].lower(), options, read, handle)
    return [*open_handle(options, read, handle), json.dumps(properties_of(asked, options, handle)).encode()]


def properties_of(asked: Mapping[str, Any], options: Mapping[str, str], handle: TableHandle) -> dict[str, str]:
    """What DESCRIBE and SHOW CREATE TABLE say of a table. Credentials are left out."""
    kept = {"provider": "indextables", "location": options["path"], **table_at(handle).properties}
    entry = asked.get("entry")
    kept["is_managed_location" if entry is not None and entry["managed"] else "external"] = "true"
    if entry is not None:
        kept["owner"] = entry["owner"]
        shown = {key: value for key, value in asked["options"].items() if key != "path" and not _secret(key)}
        kept |= {f"option.{key}": value for key, value in shown.items() if key.lower().startswith(PREFIX)}
    return kept


def _secret(key: str) -> bool:
    return bool(getattr(resolve(key), "secret", False))


def read_with_options(asked: Mapping[str, Any]) -> list[bytes]:
    """The text of the same table at the same version, asked with a reader's options. The columns stay what the catalog said."""
    table = TableText.decode(asked["table"])
    given = {
        key: value for key, value in asked["options"].items() if key.lower() not in ("versionasof", "timestampasof")
    }
    for key in given:
        if key.lower() not in _SAME_COLUMNS and not key.lower().startswith(PREFIX) and resolve(key) is None:
            raise OptionError(
                f"option {key} is not for a table with a name, which takes {', '.join(sorted(_SAME_COLUMNS))} and {PREFIX}*: "
                "choose columns with select, _score is one of them",
                option=key,
            )
    lowered = {key.lower() for key in given}
    merged = {key: value for key, value in table.options if key.lower() not in lowered} | given
    text = TableText(tuple(sorted(merged.items())), table.version, table.table_id, table.schema)
    options = read_options(merged)
    assert table.version is not None, "a table with a name exists"
    assert table.table_id is not None, "a table with a name exists"
    keep_handle(text.encode(), options, open_pinned(options.url, options.options, table.version, table.table_id))
    return [text.encode().encode()]


def alter_table(asked: Mapping[str, Any]) -> list[bytes]:
    """Set and drop properties in the log. Raises SchemaError for every other change."""
    options = read_options(reader_options(asked))
    changes: dict[str, str | None] = {}
    for change in asked["changes"]:
        name = change.get("set", change.get("unset"))
        if name is None:
            raise SchemaError(
                f"ALTER TABLE cannot do {change['other']} here: the columns of a table are those that it was created with; "
                "REPLACE TABLE … AS SELECT writes a table with other columns in its place"
            )
        if name.lower() in _OF_CATALOG:
            raise OptionError(
                f"ALTER TABLE does not change the {name} of a table: DROP TABLE takes the name away and keeps the files of an "
                "external table, CREATE TABLE … USING indextables LOCATION gives another one"
            )
        changes[name] = change.get("value")
    table_at(open_table_of(open_log(options.url, options.options))).commit_files(
        properties=changes, operation="SET TBLPROPERTIES"
    )
    return []


def drop(asked: Mapping[str, Any]) -> list[bytes]:
    """Delete the log and the splits of a table. Raises TableNotFound."""
    options = read_options(reader_options(asked))
    drop_table(open_log(options.url, options.options))
    return []


_REFUSALS: Final = {
    "name": "{name} names no place: a table of the catalog indextables is its path, such as indextables.`s3://bucket/logs`",
    "drop": "DROP TABLE of a path would delete the table for good: say DROP TABLE indextables.`{name}` PURGE if that is meant",
    "rename": "a table of the catalog indextables is its path, and {name} cannot be renamed: move the files",
    "list": "tables of the catalog {name} are paths, which nobody keeps a list of: give a table a name with CREATE TABLE n USING "
    "indextables LOCATION '…', and SHOW TABLES lists it",
    "entry": "tables USING {name} have names only where spark.sql.catalog.spark_catalog is indextables.SessionTables, which "
    "install(spark) sets unless another format has it: name a table by its place, indextables.`/path`",
    "namespace": "{name} has too many parts: a table of spark_catalog is named by a database and a name",
    "other format": "{name} is a table of another format: DROP TABLE it first, or choose another name",
    "another format": "{name} is a table of indextables, and a table of another format cannot take its place at once: DROP "
    "TABLE it first",
    "no table": "there is no table or view {name} in this session: write the place of the table between quotes, such as "
    "'s3://bucket/logs'",
    "not a table": "{name} is no table of indextables, nor a view of all rows of one: name the table itself, or write its place "
    "between quotes",
    "add partition": "partitions are made by the rows that are written: INSERT INTO the table",
    "delete cached": "Spark does not delete from a table whose rows it has cached, {name}: UNCACHE TABLE, or unpersist() the "
    "DataFrame, before DELETE",
    "delete part": "this is a part of the table {name}, and partitions go from whole tables: name the table itself in DELETE",
    "update": "UPDATE is not done row by row: write the changed rows in place of the old ones, with INSERT INTO … REPLACE "
    "WHERE of whole partitions, or INSERT OVERWRITE of the table",
    "merge": "MERGE INTO is not done row by row: join the rows yourself and write them in place of the old ones, with INSERT "
    "INTO … REPLACE WHERE of whole partitions, or INSERT OVERWRITE of the table",
    "constraint": "a table has no constraints, and {name} cannot be given one: put the condition into the query that writes "
    "its rows, as in INSERT INTO … SELECT … WHERE",
    "like": "CREATE TABLE … LIKE makes no table of indextables, and none like one: say CREATE TABLE {name} USING … "
    "PARTITIONED BY (…) AS SELECT * FROM the other table WHERE false",
    "directory": "INSERT OVERWRITE DIRECTORY writes files, and a place of indextables is a table: say INSERT OVERWRITE "
    'indextables.`{name}` SELECT …, or df.write.format("indextables").mode("overwrite").save("{name}") where there is none yet',
}
"""Statements that no table here takes, by what Java calls them."""


def refuse(asked: Mapping[str, Any]) -> list[bytes]:
    """Raise the error of a statement that has no meaning here."""
    raise OptionError(_REFUSALS[asked["what"]].format(name=asked["name"]))
