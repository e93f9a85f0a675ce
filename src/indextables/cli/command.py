"""How a command is declared: a function says what only it takes, and gets the rest, which all commands take, as a `Call`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import typer

from indextables.cli import params as p
from indextables.cli.examples import epilog
from indextables.cli.perform import Work, perform
from indextables.cli.render.screen import Output
from indextables.cli.targets import Target, target

Command = TypeVar("Command", bound=Callable[..., int])


@dataclass(frozen=True)
class Call:
    """What was typed for any command: which table, as of when, and how to print."""

    table: str
    option: Sequence[str] | None = None
    output: Output | None = None
    json: bool = False
    version: int | None = None
    timestamp: str | None = None
    no_header: bool = False

    @property
    def target(self) -> Target:
        """The table. Raises UsageError."""
        return target(self.table, self.option, self.version, self.timestamp)

    def answer(self, work: Work, undone: str | None = None) -> int:
        """Do the work and print what it says; `undone` is what is the case if it changes something and was stopped."""
        return perform(work, self.output, json=self.json, header=not self.no_header, undone=undone)


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


_TABLE: Final = _parameter("table", p.TableUrl)
_TRAVEL: Final = (_parameter("version", p.Version, None), _parameter("timestamp", p.Timestamp, None))
_ALL: Final = (
    _parameter("option", p.StoreOptions, None),
    _parameter("output", p.Out, None),
    _parameter("json", p.Json, False),
)
_ROWS: Final = (_parameter("no_header", p.NoHeader, False),)


def command(
    app: typer.Typer, name: str, *, travels: bool = False, rows: bool = False, place: str = "TABLE"
) -> Callable[[Command], Command]:
    """Declare a command: one that `travels` takes a version or a time, one of `rows` may leave their header out.

    `place` is the name of the first argument in the help, for a command that is not about one table.
    """
    first = _TABLE if place == "TABLE" else _parameter("table", p.place(place))

    def declare(function: Command) -> Command:
        own = list(inspect.signature(function).parameters.values())[1:]
        shared = (first, *(_TRAVEL if travels else ()), *_ALL, *(_ROWS if rows else ()))

        def run(**typed: Any) -> int:
            call = Call(**{parameter.name: typed.pop(parameter.name) for parameter in shared})
            return function(call, **typed)

        asked = [first, *(one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own), *shared[1:]]
        run.__doc__ = function.__doc__
        run.__signature__ = inspect.Signature(asked)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in asked}
        app.command(name, epilog=epilog(name))(run)
        return function

    return declare
