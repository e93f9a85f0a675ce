"""Statements and the commands that they are, from `statements.txt`, and commands in few words."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indextables.core.errors import StatementError
from indextables.sql.grammar import parse_statement

FILE = Path(__file__).parent / "statements.txt"


@dataclass(frozen=True)
class Pair:
    """A statement, and what it is: a command in few words, `none`, or `! position: message`."""

    statement: str
    expected: str
    line: int

    @property
    def is_error(self) -> bool:
        return self.expected.startswith("! ")

    @property
    def is_ours(self) -> bool:
        return self.expected != "none"


def pairs() -> list[Pair]:
    """Lines that begin with `> ` are a statement, and the line after them is the command."""
    found: list[Pair] = []
    statement: list[str] = []
    for number, line in enumerate(FILE.read_text("utf-8").splitlines(), 1):
        if line.startswith("> "):
            statement.append(line[2:])
        elif statement:
            found.append(Pair("\n".join(statement), line, number))
            statement = []
    return found


def brief(value: Any) -> str:
    """A command without the fields that have their default, or a table as a statement may write it."""
    if not dataclasses.is_dataclass(value):
        return repr(value)
    name = type(value).__name__
    if name == "TablePath":
        return f"path {value.url!r}"
    if name == "TableName":
        return f"name {'.'.join(value.parts)}"
    said = [
        f"{field.name}={brief(getattr(value, field.name))}"
        for field in dataclasses.fields(value)
        if getattr(value, field.name) != field.default
    ]
    return f"{name}({', '.join(said)})"


def parsed(text: str) -> str:
    """What the grammar says of a text, in the words of `statements.txt`."""
    try:
        command = parse_statement(text)
    except StatementError as error:
        return f"! {error.details.get('position')}: {error}"
    return "none" if command is None else brief(command)
