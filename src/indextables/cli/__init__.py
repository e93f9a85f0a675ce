"""The command line: `indextables search logs timeout`.

    app        what can be typed: commands, options, help
    reading    commands that ask, one function each: they return an answer
    writing    commands that change a table
    load/      reads the files that `import` is given, and guesses their schema
    render/    the one place that prints: tables, tab-separated lines, JSON, progress
    run        runs a command, shows its answer or its error, and knows the exit codes

A command that is not typed costs nothing: everything heavy is imported by the function that needs it.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; the exit code is the answer."""
    from indextables.cli.run import run_app

    return run_app(arguments)
