"""Runs one command: its answer is shown, its error becomes one line, and either becomes an exit code."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, Final

from indextables.cli.answers import Answer
from indextables.cli.errors import (
    BAD_INPUT,
    BUG,
    FAILED,
    NOTHING_FOUND,
    OK,
    PIPE_CLOSED,
    OutputFailed,
    exit_code,
    spoken,
)
from indextables.cli.render.renderer import Renderer
from indextables.cli.render.screen import Output, Screen
from indextables.cli.stop import STOP
from indextables.core.errors import IndexTablesError, LogWarning

TRACEBACK: Final = "INDEXTABLES_TRACEBACK"
"""The environment variable that shows where a bug is."""

Work = Callable[[Renderer], Answer]


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
        renderer.problem("OutputFailed", done + no_output(failed.reason), code)
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


def no_output(error: OSError) -> str:
    """The message for standard output that cannot be written."""
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
    warnings.simplefilter("always", LogWarning)  # each of them, and not the first of a kind alone
