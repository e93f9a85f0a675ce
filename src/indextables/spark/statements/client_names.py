"""The tables behind the names of a Connect session. A client sees no plan, so the server is asked in words.

DESCRIBE TABLE EXTENDED n   a name in a catalog: its provider and its location
explain                     a temporary view: the place of the table below it
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from indextables.core.errors import TableNotFound
from indextables.spark.statements.run_statement import not_whole
from indextables.sql.table_ref import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RELATION: Final = re.compile(
    r"^[ :+-]*RelationV2\[.*?\] indextables (.+?) (?:version \d+|newest version)(?:, read with (\w+(?:, \w+)*))?$"
)
"""A table of the connector in an analyzed plan, as `table_name` of `connector/planning/following.py` names it: its place, and the
options of a read of a part of it."""
_AROUND: Final = re.compile(r"^[ :+-]*(?:SubqueryAlias|View|Project|RelationV2)\b")
"""Nodes of a plan that is a table, and not a query over one."""
_COMPUTED: Final = re.compile(r"Project \[.*\bAS\b")


def place_of(spark: SparkSession, name: TableName) -> str:
    """The place of the table of ours that a name stands for in a session.

    Raises TableNotFound, and OptionError where the name is a view of a part of a table.
    """
    quoted = ".".join("`" + part.replace("`", "``") + "`" for part in name.parts)
    found = _in_catalog(spark, quoted) or _below_view(spark, quoted, name)
    if found is None:
        raise TableNotFound(
            f"{name} is no table of indextables in this session: write its place between quotes, such as 's3://bucket/logs'",
            name=str(name),
        )
    return found


def _in_catalog(spark: SparkSession, quoted: str) -> str | None:
    from pyspark.errors import PySparkException

    try:
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {quoted}").collect()
    except PySparkException:
        return None
    facts = {row[0]: row[1] for row in rows}
    return str(facts["Location"]) if str(facts.get("Provider", "")).lower() == "indextables" else None


def _below_view(spark: SparkSession, quoted: str, name: TableName) -> str | None:
    from pyspark.errors import PySparkException

    try:
        text = spark.table(quoted)._explain_string(extended=True)  # noqa: SLF001 - explain prints it
    except PySparkException:
        return None
    plan = text.partition("== Analyzed Logical Plan ==")[2].partition("== Optimized Logical Plan ==")[0]
    lines = [line for line in plan.splitlines()[2:] if line.strip()]
    if not lines or any(not _AROUND.match(line) or _COMPUTED.search(line) for line in lines):
        return None
    found = _RELATION.match(lines[-1])
    if found is None:
        return None
    if found[2] is not None:
        raise not_whole(name, found[2].split(", "), found[1])
    return found[1]


__all__ = ["place_of"]
