"""One statement as a command: its command value is run, and its answer shown as rows, or to people as a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from indextables.cli.answers import Answer, Rows
from indextables.cli.errors import UsageError
from indextables.cli.perform import perform
from indextables.cli.render.screen import Output
from indextables.cli.targets import target
from indextables.core.errors import IndexTablesError

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.cli.render.renderer import Renderer
    from indextables.sql.answer import Result
    from indextables.sql.commands import Command
    from indextables.sql.table_ref import TableRef
    from indextables.table import Table

_UNDONE: Final = "what was committed before stays, and nothing is left of the rest"
"""What is the case when a statement was stopped, where its command has no better words."""
_SHOWN: Final = {"DescribeLog": ("version", "action_type", "path", "num_records", "size", "is_checkpoint")}
"""Columns for people, of answers that have too many."""


@dataclass(frozen=True)
class Asked:
    """What was typed beside the statements: names of tables, options, and how to print."""

    tables: Sequence[str] = ()
    option: Sequence[str] = ()
    output: Output | None = None
    json: bool = False
    header: bool = True

    def perform(self, work: Callable[[Renderer], Answer], undone: str | None = None) -> int:
        """Do some work and print its answer, or its error."""
        return perform(work, self.output, json=self.json, header=self.header, undone=undone)

    def named(self) -> dict[str, str]:
        """Where the tables with a name of their own lie. Raises UsageError."""
        named: dict[str, str] = {}
        for text in self.tables:
            name, mark, url = text.partition("=")
            if not mark or not name.strip() or not url.strip():
                raise UsageError(f"--table is {text!r}, but must be name=table, such as logs=s3://bucket/logs")
            named[name.strip()] = url.strip()
        return named

    def options(self) -> dict[str, str]:
        """The options by their keys. Raises UsageError."""
        return target("", self.option).options


@dataclass(frozen=True)
class Manner:
    """How a command shows its statement's progress and answer, and what it says when it was stopped."""

    label: str | None = None
    """What the progress is called; None is the name of the statement."""
    undone: str | None = None
    """What is the case when the command was stopped; None where it changes nothing, or where the words for all statements do."""
    told: Callable[[Result], str] | None = None
    """Makes the sentence for people; without it people get a table."""
    more: Callable[[Result], pa.Table] = field(default=lambda done: done.table)
    """The answer's rows, perhaps with columns that the statement does not have."""


def run_command(
    command: Command, asked: Asked, manner: Manner | None = None, tables: Callable[[TableRef], Table] | None = None
) -> int:
    """Run a command and print its answer or its error. Without `tables` its table is named by its path."""
    from indextables.sql.run_text import GivenTables

    try:
        tables = tables or GivenTables({}, asked.options())
    except IndexTablesError as error:
        return fail(error, asked)
    return run_one(command, tables, asked, [], manner)


def run_one(
    command: Command,
    tables: Callable[[TableRef], Table],
    asked: Asked,
    errors: list[IndexTablesError],
    manner: Manner | None = None,
) -> int:
    """Run one command and print its answer. An error that ends it is added to `errors`."""
    from indextables.sql.executor import changes, execute, moves

    manner = manner or Manner()
    name = type(command).__name__
    label = manner.label or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()

    def work(renderer: Renderer) -> Answer:
        try:
            options = asked.options() or None
            if moves(command):
                with renderer.stage.rows(label, 0, 0) as (watcher, _):
                    done = execute(command, tables, options, watcher)
            else:
                done = execute(command, tables, options)
        except IndexTablesError as error:
            errors.append(error)
            raise
        found = manner.more(done)
        told = manner.told(done) if manner.told is not None else ""
        return Rows(found.schema, found.to_batches(), shown=_SHOWN.get(name), told=told)

    return asked.perform(work, manner.undone or (_UNDONE if changes(command) else None))


def fail(error: IndexTablesError, asked: Asked) -> int:
    """Print an error as the error of a command. Returns the exit code."""

    def work(renderer: Renderer) -> Answer:
        del renderer
        raise error

    return asked.perform(work)


def only_row(done: Result) -> dict[str, Any]:
    """The row of an answer that has one."""
    row: dict[str, Any] = done.table.to_pylist()[0]
    return row
