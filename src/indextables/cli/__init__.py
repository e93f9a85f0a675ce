"""The command line: `indextables search logs timeout`.

    app        what can be typed: commands, options, help
    reading    commands that ask, one function each: they return an answer
    writing    commands that change a table
    load/      reads the files that `import` is given, and guesses their schema
    render/    the one place that prints: tables, tab-separated lines, JSON, progress
    run        runs a command, shows its answer or its error, and knows the exit codes
    stop       what Ctrl-C does

A command that is not typed costs nothing: everything heavy is imported by the function that needs it.
"""

from __future__ import annotations

from collections.abc import Sequence

from indextables.cli.stop import watched
from indextables.cli.typed import last_words


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; the exit code is the answer.

    Without arguments this is the program, and ends as signals ask. Signals of any other program that calls this are its own.
    """

    def work() -> int:
        from indextables.cli.run import run_app

        return run_app(arguments)

    if arguments is not None:
        return work()
    return watched(work, last_words)
