"""`Table.create`: check the schema, then win version 0."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from indextables.core import options as opt
from indextables.core.errors import SchemaError
from indextables.core.types import arrow_to_spark_json, spark_json_to_arrow, validate_schema
from indextables.log.create import create_log
from indextables.log.snapshot import Snapshot
from indextables.log.tablelog import TableLog
from indextables.split.mapping import plan_mapping


def create_table(log: TableLog, schema: pa.Schema | str, partition_by: Sequence[str]) -> Snapshot:
    """A new table with this schema, and with the table options that the caller set: those about indexing must fit it."""
    arrow = as_arrow(schema)
    if isinstance(partition_by, str):
        raise SchemaError(f"partition_by must be a list of column names, not the text {partition_by!r}")
    validate_schema(arrow, partition_by)
    schema_string, configuration = arrow_to_spark_json(arrow), opt.table_options(log.options)
    plan_mapping(spark_json_to_arrow(schema_string), tuple(partition_by), configuration)
    return create_log(
        log,
        schema_string=schema_string,
        partition_columns=tuple(partition_by),
        configuration=configuration,
    )


def as_arrow(schema: pa.Schema | str) -> pa.Schema:
    """The schema as Arrow, from Arrow or from Spark's JSON."""
    if isinstance(schema, str):
        return spark_json_to_arrow(schema)
    if isinstance(schema, pa.Schema):
        return schema
    raise SchemaError(f"a schema is a pyarrow.Schema or Spark's JSON text, not {type(schema).__name__}")
