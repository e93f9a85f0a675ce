"""`Table.create`: check the schema, then win version 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from indextables.core import options as opt
from indextables.core.errors import SchemaError
from indextables.core.metrics import METRICS
from indextables.core.schema_text import Declared, read_schema
from indextables.core.types import arrow_to_spark_json, spark_json_to_arrow, validate_schema
from indextables.log.actions import Actions, MetadataAction
from indextables.log.create_log import create_log
from indextables.log.protocol import NEW_TABLE_PROTOCOL
from indextables.log.snapshot import Snapshot, first_snapshot
from indextables.log.table_log import TableLog
from indextables.table.write.usable_options import check_usable


@dataclass(frozen=True)
class Plan:
    """A table that can be made: its schema and options were checked, and nothing is in the store yet."""

    log: TableLog
    schema_string: str
    partition_columns: tuple[str, ...]
    configuration: dict[str, str]

    @property
    def schema(self) -> pa.Schema:
        """The columns, as the table will have them."""
        return spark_json_to_arrow(self.schema_string)

    def snapshot(self) -> Snapshot:
        """The table as it will be, without a name that anybody could find it by."""
        metadata = MetadataAction(
            id="",
            schema_string=self.schema_string,
            partition_columns=self.partition_columns,
            configuration=self.configuration,
        )
        return first_snapshot(self.log.url, 0, 0, Actions(protocol=NEW_TABLE_PROTOCOL, metadata=metadata))

    @METRICS.measured("create")
    def carry_out(self) -> Snapshot:
        """Win version 0. Raises TableExists."""
        return create_log(
            self.log,
            schema_string=self.schema_string,
            partition_columns=self.partition_columns,
            configuration=self.configuration,
        )


def plan_table(log: TableLog, schema: pa.Schema | str, partition_by: Sequence[str]) -> Plan:
    """A new table with this schema, and with the table options that the caller set: those about indexing must fit it."""
    declared = _declared(schema)
    arrow = declared.schema
    if isinstance(partition_by, str):
        raise SchemaError(f"partition_by must be a list of column names, not the text {partition_by!r}")
    validate_schema(arrow, partition_by)
    schema_string, configuration = arrow_to_spark_json(arrow), opt.table_options(log.options, text=declared.text)
    check_usable(spark_json_to_arrow(schema_string), partition_by, configuration)
    return Plan(log, schema_string, tuple(partition_by), dict(configuration))


def create_table(log: TableLog, schema: pa.Schema | str, partition_by: Sequence[str]) -> Snapshot:
    """Make an empty table."""
    return plan_table(log, schema, partition_by).carry_out()


def _declared(schema: pa.Schema | str) -> Declared:
    """The columns, and those to index word by word, from Arrow, from Spark's JSON or from text such as `id long, m text`."""
    if isinstance(schema, str):
        return read_schema(schema)
    if isinstance(schema, pa.Schema):
        return Declared(schema)
    raise SchemaError(
        f"a schema is a pyarrow.Schema, Spark's JSON, or text such as 'id long, m text', not {type(schema).__name__}"
    )
