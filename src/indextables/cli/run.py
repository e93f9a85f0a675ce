"""Runs a command: its answer is shown, its error becomes one line, and either becomes an exit code."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import typer

from indextables.cli.answers import Answer
from indextables.cli.errors import (
    BAD_INPUT,
    BUG,
    FAILED,
    NOTHING_FOUND,
    OK,
    PIPE_CLOSED,
    USAGE,
    OutputFailed,
    exit_code,
    spoken,
)
from indextables.cli.render.renderer import Renderer
from indextables.cli.render.screen import Output, Screen, sentence
from indextables.cli.stop import STOP
from indextables.cli.typed import asks_for_json, typed
from indextables.core.errors import IndexTablesError, LogWarning

PROGRAM: Final = "indextables"
TRACEBACK: Final = "INDEXTABLES_TRACEBACK"
_ClickError: Final[type[Exception]] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)
"""The root of typer's own errors. Releases of typer differ in where it is defined, not in what inherits from it."""

Work = Callable[[Renderer], Answer]


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
        return _early(given, "OutputFailed", _no_output(error), FAILED)
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


def perform(work: Work, output: Output | None, *, json: bool, header: bool = True, undone: str | None = None) -> int:
    """Run one command, and print what it says.

    `undone` is for commands that change something: what is the case when one of them was stopped. It is waited for then.
    """
    STOP.patient = undone is not None
    screen = Screen.standard()
    renderer = Renderer(screen, Output.JSON if json else output, header)
    try:
        return _performed(work, renderer)
    except IndexTablesError as error:
        code = exit_code(error)
        renderer.problem(type(error).__name__, spoken(error), code, error.details)
    except RecursionError:
        code = BAD_INPUT
        renderer.problem("InputError", "what was given is nested too deeply to be read", code)
    except KeyboardInterrupt:
        code = STOP.code
        if STOP.say():
            renderer.problem("Stopped", f"{STOP.word}: {undone}" if undone else STOP.word, code)
    except BrokenPipeError:
        code = PIPE_CLOSED
        screen.discard()
    except OutputFailed as failed:
        code = FAILED
        screen.discard()
        done = "it is done, but " if undone else ""
        renderer.problem("OutputFailed", done + _no_output(failed.reason), code)
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        code = BUG
        name = type(error).__name__
        message = f"internal error, {name}: {error} (set {TRACEBACK}=1 to see where)"
        renderer.problem(name, message, code)
    return code


def _performed(work: Work, renderer: Renderer) -> int:
    STOP.check()
    with warnings.catch_warnings():
        _show_warnings(renderer)
        answer = work(renderer)
        if not STOP.patient:
            STOP.check()
        found = renderer.show(answer)
    renderer.screen.out.flush()
    return OK if found else NOTHING_FOUND


def _no_output(error: OSError) -> str:
    return f"the answer cannot be written to standard output ({error.strerror or error})"


def _show_warnings(renderer: Renderer) -> None:
    """What is wrong with a log is a line too; all other warnings are Python's."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, LogWarning):
            renderer.warning(str(message))
        else:
            usual(message, category, *place, **more)

    warnings.showwarning = show
