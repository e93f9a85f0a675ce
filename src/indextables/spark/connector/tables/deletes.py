"""Rows taken out of a table by the log alone: whole partitions, or everything. DELETE, TRUNCATE and DROP PARTITION come here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from indextables.core.errors import PredicateError, TableReplaced
from indextables.core.predicate import Predicate, all_of, columns_of, has_search, to_sql
from indextables.spark.connector.planning.filters import answer_tree
from indextables.spark.connector.planning.planner import arrow_stream
from indextables.spark.connector.planning.questions import opened
from indextables.spark.reading.arrow_types import spark_schema
from indextables.table.distributed.definitions import drop_partitions, partition_values, purge_after_write
from indextables.table.distributed.filter_answers import Exactness
from indextables.table.distributed.opening import TableHandle, open_table_of


def partition_filter(trees: list[Any], schema: pa.Schema, columns: tuple[str, ...], request: str) -> Predicate | None:
    """Spark's filters as one predicate over partition columns; None for no filter. Raises PredicateError for any other filter."""
    answers = [answer_tree(tree, schema) for tree in trees]
    if not answers:
        return None
    known = [answer.predicate for answer in answers if answer.predicate is not None]
    exact = all(answer.exactness is Exactness.EXACT for answer in answers) and not any(map(has_search, known))
    others = sorted({column.name for part in known for column in columns_of(part)} - set(columns))
    if exact and not others:
        return all_of(known)
    asked = f" ({to_sql(all_of(known))})" if exact else ""
    way = (
        f"INSERT INTO … REPLACE WHERE of a partition ({', '.join(columns)}) with the rows that stay"
        if columns
        else "INSERT OVERWRITE of the table with the rows that stay"
    )
    raise PredicateError(
        f"{request} takes whole partitions, selected by partition columns ({', '.join(columns) or 'this table has none'}) "
        f"compared with constants, and this condition{asked} selects rows: write {way}"
    )


def deletable(asked: Mapping[str, Any]) -> list[bytes]:
    """Check that the filters of a delete select whole partitions. Raises PredicateError otherwise. The answer is empty."""
    _filter(asked, _whole(asked))
    return []


def delete(asked: Mapping[str, Any]) -> list[bytes]:
    """Take out the partitions that the filters select, or everything, as they are now."""
    pinned = _whole(asked)
    newest = open_table_of(pinned.log)
    if newest.table_id != pinned.table_id:
        raise TableReplaced(f"table {pinned.url} was dropped and created again since it was named; delete again")
    where = _filter(asked, newest)
    done = drop_partitions(newest, where, "DELETE" if where is not None else "TRUNCATE")
    if done.written and newest.log.settings.purges:
        purge_after_write(newest.moved(done.snapshot))
    return []


def _whole(asked: Mapping[str, Any]) -> TableHandle:
    """The table that a statement names. Raises PredicateError where it names a part of a table, or an older version."""
    options, handle = opened(asked["table"])
    if options.of_a_part:
        raise PredicateError(
            f"this was read with {', '.join(options.of_a_part)}, and partitions go from whole tables: name the table by its "
            f"place, indextables.`{handle.url}`"
        )
    return handle


def _filter(asked: Mapping[str, Any], handle: TableHandle) -> Predicate | None:
    return partition_filter(asked["filters"], handle.schema, handle.partition_columns, "DELETE")


def partitions(asked: Mapping[str, Any]) -> list[bytes]:
    """The partition values of all partitions that have files, as an Arrow stream."""
    handle = opened(asked["table"])[1]
    found = partition_values(handle).select(range(len(handle.partition_columns)))
    schema: StructType = spark_schema(handle.schema, handle.partition_columns)
    return [arrow_stream(found, schema)]
