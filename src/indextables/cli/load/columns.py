"""The columns that rows go into, and the sentences about values that do not fit them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from indextables.cli.errors import InputError
from indextables.cli.load.texts import Misfit
from indextables.core.schema_text import Declared

_LONGEST_VALUE = 60
"""Characters of a value that a message quotes."""


class Guesser(Protocol):
    """Anything that knows the type of a column once it has seen its values."""

    @property
    def arrow(self) -> pa.DataType:
        """The type."""

    @property
    def prose(self) -> bool:
        """Whether the column is text that people wrote: three words or more, to be indexed word by word."""


@dataclass(frozen=True)
class Guessed:
    """A schema for files that somebody looked at from beginning to end."""

    schema: pa.Schema
    text: tuple[str, ...]
    """Columns to index word by word."""
    rows: int


@dataclass
class Columns:
    """Where to put the columns of a file: by name, in any letter case."""

    schema: pa.Schema
    guessed: bool = False
    """Whether columns that are not in the schema are only news, and no mistake."""
    _places: dict[str, pa.Field] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._places = {column.name.lower(): column for column in self.schema}

    def find(self, name: str, where: str) -> pa.Field | None:
        """The column for what a file calls so; None if it is one to be guessed."""
        found = self._places.get(name.lower())
        if found is None and not self.guessed:
            near = difflib.get_close_matches(name.lower(), self._places, n=1, cutoff=0.5)
            names = ", ".join(self.schema.names[:20])
            hint = f"did you mean {self._places[near[0]].name}?" if near else f"it has {names}"
            raise InputError(f"{where} has a column {name}, which the table does not have: {hint}", column=name)
        return found


def together(declared: Declared | None, guesses: dict[str, Guesser], rows: int) -> Guessed:
    """What was guessed, with what was declared in its place. What is declared only comes last."""
    known = {} if declared is None else {column.name.lower(): column for column in declared.schema}
    fields: list[pa.Field] = []
    text = list(declared.text) if declared else []
    for name, guess in guesses.items():
        fixed = known.pop(name.lower(), None)
        fields.append(fixed or pa.field(name, guess.arrow))
        if fixed is None and guess.prose:
            text.append(name)
    return Guessed(pa.schema([*fields, *known.values()]), tuple(text), rows)


def check_names(names: Iterable[str], where: str) -> None:
    """Raise InputError unless a header can be the columns of a table."""
    seen: dict[str, str] = {}
    for number, name in enumerate(names, 1):
        if not name.strip():
            raise InputError(f"{where}: column {number} has no name", column=name)
        earlier = seen.get(name.lower())
        if earlier is not None:
            how = "twice" if earlier == name else f"and {earlier}, which differ in letter case only"
            raise InputError(f"{where} has column {name} {how}: rename one of them", column=name)
        seen[name.lower()] = name


def misfit_error(where: str, column: pa.Field, misfit: Misfit) -> InputError:
    """A sentence about one value."""
    path = f"{column.name}.{misfit.path}" if misfit.path else column.name
    value = repr(misfit.value) if isinstance(misfit.value, str) else _plain(misfit.value)
    if len(value) > _LONGEST_VALUE:
        value = value[: _LONGEST_VALUE - 3] + "..."
    return InputError(f"{where}, column {path}: {value} is not {misfit.expected}", column=path)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else repr(value)
