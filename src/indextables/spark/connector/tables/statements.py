"""Statements of ours that a classic session's parser hands over: `Statements.java` asks, the session's names are resolved there.

    read_statement    is the text one of our statements, and which names are in it?
    run_statement     the rows of the answer

A statement runs once, when the session reads its text, as Spark runs its own commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from weakref import WeakValueDictionary

from indextables.core.errors import IndexTablesError
from indextables.core.runtime.process_state import ProcessLocal
from indextables.spark.connector.planning.planner import arrow_stream
from indextables.spark.connector.planning.questions import TableText
from indextables.spark.reading.arrow_types import spark_schema
from indextables.spark.reading.read_options import PART_OPTIONS, read_options
from indextables.spark.statements.run_statement import is_shared, not_whole
from indextables.spark.statements.run_statement import run_statement as run
from indextables.spark.statements.spark_table import open_in
from indextables.sql import commands as c
from indextables.sql.grammar import parse_statement
from indextables.sql.table_ref import TableName, TableRef
from indextables.table import Table
from indextables.table.distributed.opening import full_url

_SESSIONS: Final[ProcessLocal[WeakValueDictionary[str, Any]]] = ProcessLocal(WeakValueDictionary)
"""The sessions of this process that have our parser, by Spark's ids."""
_YES: Final = b"\x01"
_NO: Final = b"\x00"


def keep_session(number: str, session: Any) -> None:
    """Remember a session, whose executors do the work of its long statements."""
    _SESSIONS.value[number] = session


def read_statement(asked: Mapping[str, Any]) -> list[bytes]:
    """Whether other formats have the statement too, and the parts of each name in it. Nothing for a text that is none of ours.

    Raises StatementError with the position of a slip.
    """
    command = parse_statement(asked["sql"])
    if command is None:
        return []
    names = ["\n".join(ref.parts).encode() for ref in _named(command)]
    return [_YES if is_shared(asked["sql"], command) else _NO, *names]


def run_statement(asked: Mapping[str, Any]) -> list[bytes]:
    """The columns and the rows of the answer to a statement. Raises OptionError where a name is a view of a part of a table."""
    command = parse_statement(asked["sql"])
    assert command is not None, "the text was read before"
    session = _session(asked)
    named = _named(command)
    places = dict(zip(named, map(_place, named, asked["tables"]), strict=True))
    settings: dict[str, str] = asked["settings"]

    def table(ref: TableRef) -> Table:
        if isinstance(ref, TableName):
            url, options = places[ref]
            return open_in(session, url, {**settings, **options})
        return open_in(session, ref.url, settings)

    rows = run(session, command, table, settings)
    columns = spark_schema(rows.schema, rows.schema.names)
    return [columns.json().encode(), arrow_stream(rows, columns)]


def _named(command: c.Command) -> list[TableName]:
    table = getattr(command, "table", None)
    return [table] if isinstance(table, TableName) else []


def _place(name: TableName, found: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Where the table of a name lies, and the options by which the name reaches it.

    Raises OptionError where the name is a view of a part of the table. The reader's options of a load are in the table's text,
    those of a table with a name stand beside the text.
    """
    options = read_options(dict(TableText.decode(found["text"]).options))
    beside = {key.lower() for key in found["options"]}
    part = options.of_a_part or tuple(option for option in PART_OPTIONS if option.lower() in beside)
    if part:
        raise not_whole(name, part, full_url(options.url))
    return options.url, dict(options.options.explicit())


def _session(asked: Mapping[str, Any]) -> Any:
    """The session of a statement, with the job group and the tags of the query that runs it."""
    from pyspark.sql import SparkSession

    session = _SESSIONS.value.get(asked["session"]) or SparkSession.getActiveSession()
    if session is None:
        raise IndexTablesError(
            "this session's Python object is gone, and its executors cannot be asked: keep the session that install(spark) was "
            "called with"
        )
    for key, value in asked["properties"].items():
        session.sparkContext.setLocalProperty(key, value)
    return session


__all__ = ["keep_session", "read_statement", "run_statement"]
