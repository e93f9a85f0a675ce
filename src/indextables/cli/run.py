"""Runs a command: its answer is shown, its error becomes one line, and either becomes an exit code."""

from __future__ import annotations

import itertools
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import typer

from indextables.cli.answers import Answer
from indextables.cli.errors import BAD_INPUT, BUG, INTERRUPTED, NOTHING_FOUND, OK, PIPE_CLOSED, USAGE, exit_code
from indextables.cli.render.renderer import Renderer
from indextables.cli.render.screen import Output, Screen
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
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _command()(args=given, prog_name=PROGRAM, standalone_mode=False)
    except _ClickError as error:
        return _misused(error, given)
    except SystemExit as done:  # completion ends the program itself
        return done.code if isinstance(done.code, int) else OK
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        Screen.standard().discard()
        return PIPE_CLOSED
    return code if isinstance(code, int) else OK


@cache
def _command() -> Any:
    from indextables.cli.app import app

    return typer.main.get_command(app)


def _misused(error: Any, given: Sequence[str]) -> int:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else PROGRAM
    message = error.format_message().rstrip(".").replace("\n", " ")
    message = f"{message[:1].lower()}{message[1:]} (see {command} --help)"
    pairs = set(itertools.pairwise(given))
    wanted = {"--json", "--output=json", "-o=json", "-ojson"} & set(given) or pairs & {
        ("-o", "json"),
        ("--output", "json"),
    }
    renderer = Renderer(Screen.standard(), Output.JSON if wanted else Output.TSV)
    renderer.problem("UsageError", message, USAGE)
    return USAGE


def perform(work: Work, output: Output | None, *, json: bool, header: bool = True) -> int:
    """Run one command, and print what it says."""
    screen = Screen.standard()
    renderer = Renderer(screen, Output.JSON if json else output, header)
    try:
        with warnings.catch_warnings():
            _show_warnings(renderer)
            found = renderer.show(work(renderer))
        screen.out.flush()
    except IndexTablesError as error:
        code = exit_code(error)
        renderer.error(error, code)
        return code
    except RecursionError:
        renderer.problem("InputError", "what was given is nested too deeply to be read", BAD_INPUT)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        screen.discard()
        return PIPE_CLOSED
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        renderer.problem(
            type(error).__name__,
            f"internal error, {type(error).__name__}: {error} (set {TRACEBACK}=1 to see where)",
            BUG,
        )
        return BUG
    return OK if found else NOTHING_FOUND


def _show_warnings(renderer: Renderer) -> None:
    """What is wrong with a log is a line too; all other warnings are Python's."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, LogWarning):
            renderer.warning(str(message))
        else:
            usual(message, category, *place, **more)

    warnings.showwarning = show
