"""A write that replaces a table: its columns, its partition columns, its properties and all of its rows, in one commit.

The table keeps its place, its id and its history: older versions are read with the columns that they had, partition columns too.
A write that fails leaves the table as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from indextables.core.options import Options
from indextables.log.actions import SCHEMA_KEY, MetadataAction
from indextables.log.conflicts import MetadataUpdate
from indextables.table.build.incoming_schema import as_nullable
from indextables.table.distributed.write_job import WriteJob, new_table, task_plan
from indextables.table.open_log import open_log
from indextables.table.open_table import open_table_of


def begin_replace(
    url: str,
    schema_json: str,
    options: Options,
    *,
    partition_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    nullable: bool = True,
) -> WriteJob:
    """Plan the replacement of a table by one with this Spark schema. The arguments are those of `begin_write`.

    Raises TableNotFound, SchemaError, OptionError.
    """
    log = open_log(url, options)
    began = log.clock.boot()
    before = open_table_of(log)
    before.require_writable("writing")
    schema_string = as_nullable(schema_json) if nullable else schema_json
    after = new_table(log, schema_string, partition_by, properties or {})
    old, new = before.snapshot.metadata, after.snapshot.metadata
    plan, renewed, version = task_plan(after), _difference(old, new), before.version
    return WriteJob(log, plan, "overwrite", old, None, None, began, renewed=renewed, planned_version=version)


def _difference(old: MetadataAction, new: MetadataAction) -> MetadataUpdate | None:
    """What has to change so that the metadata become the new ones; None where nothing has to."""
    kept = {key: value for key, value in old.configuration.items() if not key.startswith(SCHEMA_KEY)}
    columns = tuple(new.partition_columns)
    if kept == new.configuration and old.schema_string == new.schema_string and tuple(old.partition_columns) == columns:
        return None
    gone: dict[str, str | None] = {key: None for key in kept if key not in new.configuration}
    return MetadataUpdate(
        properties={**gone, **new.configuration}, schema_string=new.schema_string, partition_columns=columns
    )


__all__ = ["begin_replace"]
