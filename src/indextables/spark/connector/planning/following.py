"""DataFrames that move on with their table: `read.following.enabled`.

    load ──▶ version 3, its columns ──▶ a query ──▶ newest ──▶ version 5 for every reference of this query
                                        a later query ──▶ newest ──▶ version 8

Spark plans each query anew, and the connector asks here then. The versions that a query has chosen come with the question, so
a table that is named twice in a query is read at one version. A DataFrame whose version was named (`versionAsOf`, `VERSION AS
OF`) stays where it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql.types import StructType

from indextables.core import options as opt
from indextables.core.errors import SchemaError
from indextables.spark.connector.planning.questions import TableText, keep_handle
from indextables.spark.reading.arrow_types import check_schema
from indextables.spark.reading.read_options import ReadOptions, read_options
from indextables.table.distributed.opening import TableHandle, open_pinned, pin_version
from indextables.table.distributed.read_tasks import SCORE


def follows(options: ReadOptions) -> bool:
    """True if a DataFrame with these options reads the newest version whenever it is asked."""
    return options.version is None and options.timestamp_ms is None and options.options[opt.READ_FOLLOWING_ENABLED]


def newest(asked: Mapping[str, Any]) -> list[bytes]:
    """The table of a query at the version that the query reads: text, name, id, version, partition columns.

    The answer is empty for a DataFrame that stays at its version. Raises TableReplaced, TableNotFound, SchemaError.
    """
    table = TableText.decode(asked["table"])
    options = read_options(dict(table.options))
    if table.version is None or table.table_id is None or not follows(options):
        return []
    version = asked["versions"].get(table.table_id)
    if version is None:
        version = pin_version(options.url, options.options).version
    handle = open_pinned(options.url, options.options, version, table.table_id)
    _check_columns(asked["schema"], options, handle)
    text = replace(table, version=version).encode()
    keep_handle(text, options, handle)
    parts = [text, table_name(options, handle), table.table_id, str(version), "\n".join(handle.partition_columns)]
    return [part.encode() for part in parts]


def table_name(options: ReadOptions, handle: TableHandle) -> str:
    """What `explain` calls a table. The version of a table that moves on stands in the line about its scan.

    The options of a read of a part are named last: statements in a Connect session see them here, and nowhere else.
    """
    version = "newest version" if follows(options) else f"version {handle.version}"
    part = f", read with {', '.join(options.of_a_part)}" if options.of_a_part else ""
    return f"indextables {handle.url} {version}{part}"


def _check_columns(schema: str, options: ReadOptions, handle: TableHandle) -> None:
    """Raise SchemaError where the newest version does not have the columns that the DataFrame was loaded with."""
    loaded = StructType.fromJson(json.loads(schema))
    columns = StructType([field for field in loaded if not (options.score and field.name == SCORE)])
    try:
        check_schema(columns, handle.schema, months=True)
    except SchemaError as error:
        raise SchemaError(
            f"table {handle.url} has other columns since this DataFrame was loaded ({error}): load it anew"
        ) from error
