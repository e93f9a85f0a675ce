"""`spark.sql` of a Connect session, with our statements: they run in this process, and their answers become DataFrames.

A Connect client has no parser of its own, and the server sends a text that is no command of Spark's back to be asked again. So
`install` puts a function around the session's `sql`, which looks at the first words of each text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

from indextables.core.errors import TableNotFound
from indextables.core.options import PREFIX
from indextables.spark.reading.arrow_types import spark_schema
from indextables.spark.statements.client_names import place_of
from indextables.spark.statements.run_statement import is_shared, run_statement
from indextables.spark.statements.spark_table import open_in
from indextables.sql import commands as c
from indextables.sql.grammar import parse_statement
from indextables.sql.table_ref import TableName, TableRef

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from indextables.table import Table

_MARK: Final = "__indextables__"
"""The attribute of a function that is wrapped already."""


def wrap_sql(session: Any) -> None:
    """Let a session's `sql` take our statements. Twice is once."""
    own: Callable[..., DataFrame] = session.sql
    if getattr(own, _MARK, False):
        return

    @wraps(own)
    def sql(sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:  # noqa: N803 - PySpark's name
        command = parse_statement(sqlQuery) if isinstance(sqlQuery, str) and not args and not kwargs else None
        if command is None or (is_shared(sqlQuery, command) and not _is_ours(session, command)):
            return own(sqlQuery, args, **kwargs)
        settings = session_settings(session)

        def table(ref: TableRef) -> Table:
            url = place_of(session, ref) if isinstance(ref, TableName) else ref.url
            return open_in(session, url, settings)

        rows = run_statement(session, command, table, settings)
        schema = spark_schema(rows.schema, rows.schema.names)
        return session.createDataFrame(rows if rows.num_rows else [], schema)

    setattr(sql, _MARK, True)
    session.sql = sql


def session_settings(session: Any) -> dict[str, str]:
    """The session's settings of ours, which are the options of the tables that its statements name."""
    return {key: str(value) for key, value in session.conf.getAll.items() if key.startswith(PREFIX)}


def _is_ours(session: Any, command: c.Command) -> bool:
    table = getattr(command, "table", None)
    if not isinstance(table, TableName):
        return True
    try:
        place_of(session, table)
    except TableNotFound:
        return False
    return True


__all__ = ["session_settings", "wrap_sql"]
