"""From a call of a command about one table to the statement that it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.cli.command import Call

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.cli.sql.run_command import Asked, Manner
    from indextables.sql.commands import Command
    from indextables.sql.table_ref import TableRef
    from indextables.table import Table


def run_about(
    call: Call, what: Command, manner: Manner | None = None, tables: Callable[[TableRef], Table] | None = None
) -> int:
    """Run a statement about the table of a call."""
    from indextables.cli.sql.run_command import run_command

    return run_command(what, asked_by(call), manner, tables)


def asked_by(call: Call) -> Asked:
    """How a call wants its answer."""
    from indextables.cli.sql.run_command import Asked

    return Asked((), call.option or (), call.output, call.json, not call.no_header)
