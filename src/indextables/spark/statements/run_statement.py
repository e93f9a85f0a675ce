"""A command in a Spark session: run in this process, by executors, or in each of them.

figures of processes (caches, storage, profiler, environment)   here, and in every executor
PREWARM                                                         on every machine that has executors, else here
everything else                                                 here; `SparkTable` lets executors do what is long
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.core.errors import OptionError
from indextables.spark.statements.each_executor import PER_PROCESS, has_executors, with_executors
from indextables.spark.statements.prewarm_machines import prewarm_machines
from indextables.sql import commands as c
from indextables.sql.executor import execute
from indextables.sql.table_ref import TableName, TableRef

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from indextables.table import Table


def run_statement(
    spark: SparkSession, command: c.Command, tables: Callable[[TableRef], Table], options: Mapping[str, Any]
) -> pa.Table:
    """The answer to a command. Raises what the method of `Table` raises."""
    if isinstance(command, c.Prewarm) and has_executors(spark):
        return prewarm_machines(spark, command, tables(command.table))
    here = execute(command, tables, options).table
    return with_executors(spark, command, options, here) if type(command) in PER_PROCESS else here


def is_shared(text: str, command: c.Command) -> bool:
    """True for a statement that other formats have too: `DESCRIBE HISTORY t`, without a word that says whose table it is."""
    said = text.lower().partition("history")[0]
    return isinstance(command, c.DescribeHistory) and not any(word in said for word in ("index", "tantivy4spark"))


def not_whole(name: TableName, options: Sequence[str], url: str) -> OptionError:
    """The error of a statement that names a view of a part of a table. The statement would be about the other rows, too."""
    return OptionError(
        f"{name} is a view that was read with {', '.join(options)}, and a statement is about a whole table as it is now: name "
        f"the table by its place, '{url}'"
    )


__all__ = ["is_shared", "not_whole", "run_statement"]
