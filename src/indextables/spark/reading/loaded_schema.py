"""The columns of a table that options leave, as Spark sees them when the table is loaded."""

from __future__ import annotations

from pyspark.sql.types import StructType

from indextables.spark.reading.arrow_types import spark_schema
from indextables.spark.reading.read_options import ReadOptions
from indextables.table.distributed.opening import TableHandle
from indextables.table.distributed.read_tasks import SCORE, make_request


def loaded_schema(options: ReadOptions, handle: TableHandle, *, months: bool = False) -> StructType:
    """The columns, and `_score` where it is asked for. Everything that can be wrong with the options is said here.

    With `months`, intervals of months may be among the columns. Raises what `make_request` raises.
    """
    request = make_request(
        handle,
        "reading" if options.query is None else "searching",
        columns=options.columns,
        where=options.where,
        query=options.query,
        score=options.score,
    )
    return spark_schema(handle.schema, request.columns, SCORE if options.score else None, months=months)
