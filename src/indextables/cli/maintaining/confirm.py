"""A question to the person at the terminal, before something is lost for good."""

from __future__ import annotations

import select
import sys
from typing import Final

from indextables.cli.errors import UsageError
from indextables.cli.render.screen import Screen, visible
from indextables.cli.stop import STOP, Stopped

_PATIENCE: Final = 0.1
"""Seconds after which a question that waits looks for Ctrl-C."""


def confirm(screen: Screen, question: str, *, yes: bool) -> bool:
    """Whether the person says yes. With `yes` nobody is asked. Raises UsageError where nobody can be."""
    if yes:
        return True
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(f"{question} Nobody is at a terminal to say so: give --yes")
    screen.err.write(f"{visible(question)} [y/N] ")
    screen.err.flush()
    try:
        return _line().strip().lower() in ("y", "yes")
    except Stopped:
        screen.err.write("\n")  # what is said next begins a line
        raise


def _line() -> str:
    """A line that was typed. Ctrl-C ends the waiting: no thread that reads could be asked to stop."""
    while not select.select([sys.stdin], [], [], _PATIENCE)[0]:
        STOP.check()
    return sys.stdin.readline()
