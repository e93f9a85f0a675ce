"""Commands → answers: each command has one executor, which calls a method of `Table` or asks this process.

command ──EXECUTORS──▶ statements/<group>.py ──▶ Table.<verb> ──▶ rows ──▶ Result with exactly the columns of the statement
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from indextables.core.errors import PredicateError
from indextables.sql.answer import Done, Executor, Result, Setting, answer
from indextables.sql.commands import Command, Where
from indextables.sql.statements import caches, changing, figures, looking, mending, tidying
from indextables.sql.table_ref import TableRef

if TYPE_CHECKING:
    from indextables.table import Table
    from indextables.table.progress import Watcher

EXECUTORS: Final[dict[type, Executor]] = {
    **tidying.EXECUTORS,
    **changing.EXECUTORS,
    **mending.EXECUTORS,
    **looking.EXECUTORS,
    **caches.EXECUTORS,
    **figures.EXECUTORS,
}
"""The executor of every command."""
_IN_FILTER: Final = re.compile(r"position (\d+) of the filter")


def execute(
    command: Command,
    tables: Callable[[TableRef], Table],
    options: Mapping[str, Any] | None = None,
    progress: Watcher | None = None,
) -> Result:
    """Run one command. `tables` opens the tables that the command names.

    `options` hold where a log is repaired or a copy is written; other tables are opened with those of `tables`. A verb that moves
    rows calls `progress` with its totals. Raises what the method of `Table` raises.
    """
    executor = EXECUTORS[type(command)]
    try:
        found = executor.run(command, Setting(tables, options, progress))
    except PredicateError as error:
        raise _in_statement(error, getattr(command, "where", None)) from error
    rows, value = (found.rows, found.value) if isinstance(found, Done) else (found, None)
    return Result(command, answer(executor.schema, rows), value)


def _in_statement(error: PredicateError, where: str | None) -> PredicateError:
    """The error with positions in the statement, where the statement says at which place its condition stands."""
    if not isinstance(where, Where) or "position" not in error.details:
        return error
    before = where.position - 1
    message = _IN_FILTER.sub(lambda match: f"position {int(match[1]) + before} of the statement", error.message)
    return PredicateError(message, **{**error.details, "position": error.details["position"] + before})


def answer_schema(command: Command | type[Command]) -> pa.Schema | None:
    """The columns of a command's answer, known before it runs; None where they depend on the table."""
    return EXECUTORS[command if isinstance(command, type) else type(command)].schema


def changes(command: Command) -> bool:
    """Whether a command may change a table: whoever stops it must wait until it has tidied up."""
    return EXECUTORS[type(command)].changes


def moves(command: Command) -> bool:
    """Whether a command may take long, and tells the watcher how far it has come."""
    executor = EXECUTORS[type(command)]
    return executor.changes or executor.moves
