"""Commands → answers: each command has one executor, which calls a method of `Table` or asks this process.

command ──EXECUTORS──▶ statements/<group>.py ──▶ Table.<verb> ──▶ rows ──▶ Result with exactly the columns of the statement
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from indextables.sql.answer import Executor, Result, Setting, answer
from indextables.sql.commands import Command
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
    rows = executor.run(command, Setting(tables, options, progress))
    return Result(command, answer(executor.schema, rows))


def answer_schema(command: Command | type[Command]) -> pa.Schema | None:
    """The columns of a command's answer, known before it runs; None where they depend on the table."""
    return EXECUTORS[command if isinstance(command, type) else type(command)].schema


def changes(command: Command) -> bool:
    """Whether a command may change a table: whoever stops it must wait until it has tidied up."""
    return EXECUTORS[type(command)].changes
