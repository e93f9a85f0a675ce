"""Runs a command line: finds its command, which `perform` runs, and says what is wrong with the line itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import typer

from indextables.cli.errors import FAILED, OK, PIPE_CLOSED, USAGE
from indextables.cli.perform import no_output
from indextables.cli.render.renderer import Renderer
from indextables.cli.render.screen import Output, Screen, sentence
from indextables.cli.stop import STOP
from indextables.cli.typed import asks_for_json, typed

PROGRAM: Final = "indextables"
_ClickError: Final[type[Exception]] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)
"""The root of typer's own errors. Releases of typer differ in where it is defined, not in what inherits from it."""


def run_app(arguments: Sequence[str] | None = None) -> int:
    """Read a command line and run its command."""
    given = typed(arguments)
    STOP.begin()
    screen = Screen.standard()
    try:
        code = _command()(args=given, prog_name=PROGRAM, standalone_mode=False)
        screen.out.flush()
    except _ClickError as error:
        return _misused(error, given)
    except SystemExit as done:  # completion ends the program itself
        return done.code if isinstance(done.code, int) else OK
    except (typer.Abort, KeyboardInterrupt):
        return _early(given, "Stopped", STOP.word, STOP.code) if STOP.say() else STOP.code
    except BrokenPipeError:
        screen.discard()
        return PIPE_CLOSED
    except OSError as error:
        screen.discard()
        return _early(given, "OutputFailed", no_output(error), FAILED)
    return code if isinstance(code, int) else OK


@cache
def _command() -> Any:
    from indextables.cli.app import app

    return typer.main.get_command(app)


def _misused(error: Any, given: Sequence[str]) -> int:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else PROGRAM
    message = sentence(" ".join(error.format_message().rstrip(".").split("\n")))
    return _early(given, "UsageError", f"{message} (see {command} --help)", USAGE)


def _early(given: Sequence[str], kind: str, message: str, code: int) -> int:
    """An error of no command."""
    renderer = Renderer(Screen.standard(), Output.JSON if asks_for_json(given) else Output.TSV)
    renderer.problem(kind, message, code)
    return code
