"""The command `sql`: statements of a text, of a file or of a prompt, each with an answer of its own."""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from indextables.cli.errors import OK, InputError, UsageError
from indextables.cli.render.screen import Screen, visible
from indextables.cli.sql.run_command import Asked, fail, run_one
from indextables.core.errors import IndexTablesError, PredicateError, StatementError

if TYPE_CHECKING:
    from indextables.sql.commands import Command

_WIDEST: Final = 100
"""Characters of a statement that are shown above a caret, around the place."""


def run_statements(text: str | None, file: str | None, asked: Asked) -> int:
    """Run what was given; without a text and a file a prompt, or standard input where nobody types."""
    if text is not None and file is not None:
        return fail(UsageError("statements are given twice, as text and with --file: leave one out"), asked)
    if text is None and file is None and sys.stdin is not None and sys.stdin.isatty():
        from indextables.cli.sql.sql_prompt import prompt

        return prompt(lambda typed: run_text(typed, asked))
    if text is None:
        try:
            text = _read(file or "-")
        except InputError as error:
            return fail(error, asked)
    return run_text(text, asked)


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 text: byte {error.start} is none") from error


def run_text(text: str, asked: Asked) -> int:
    """Run the statements of a text one after the other, up to the first that fails. All are parsed before the first one runs."""
    from indextables.sql.grammar import parse_script
    from indextables.sql.run_text import GivenTables

    try:
        named = asked.named()
        commands = [_with_path(command, named) for command in parse_script(text)]
        tables = GivenTables(named, asked.options())
    except IndexTablesError as error:
        code = fail(error, asked)
        _point(text, error, asked)
        return code
    for command in commands:
        errors: list[IndexTablesError] = []
        code = run_one(command, tables, asked, errors)
        if code != OK:
            for ended in errors:
                _point(text, ended, asked)
            return code
    return OK


def _with_path(command: Command, named: Collection[str]) -> Command:
    """The command about a directory, where a statement names a table that nobody gave a name."""
    from indextables.sql.table_ref import TableName, TablePath

    table = getattr(command, "table", None)
    if isinstance(table, TableName) and str(table) not in named:
        return cast("Command", replace(cast("Any", command), table=TablePath(str(table))))
    return command


def _point(text: str, error: IndexTablesError, asked: Asked) -> None:
    """For people: the line that is wrong, and a caret under the place."""
    err = Screen.standard().err
    place = error.details.get("position")
    if not isinstance(error, StatementError | PredicateError) or place is None or asked.json or not err.isatty():
        return
    for line in pointed(text, place):
        err.write(f"{line}\n")
    err.flush()


def pointed(text: str, position: int) -> tuple[str, str]:
    """The line of a text that holds a position, counted from 1, and a line with a caret below it. Long lines are cut."""
    before, after = text[: position - 1], text[position - 1 :]
    start = before.rsplit("\n", 1)[-1][-_WIDEST // 2 :]
    end = after.split("\n", 1)[0][: _WIDEST // 2]
    shown = visible(start)
    return f"  {shown}{visible(end)}", f"  {' ' * len(shown)}^"
