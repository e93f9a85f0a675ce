"""The command line: `indextables search logs timeout`.

    typed text ──app──▶ command ──▶ reading or writing ──▶ answer ──render──▶ terminal, pipe or JSON
                                          └─ load ◀── files to import

    app.py           what can be typed: commands, options, help
    params.py        options that several commands share
    command.py       how a command is declared
    examples.py      the examples of `--help`
    complete.py      completes what is typed with what the table has
    typed.py         what a command line says before it is parsed
    targets.py       which table a command is about, and as of when
    reading.py       commands that ask, one function each: they return an answer
    writing.py       create and import
    answers.py       what commands return
    errors.py        exit codes, and errors in the words of a command line
    run.py           finds the command of a command line
    perform.py       runs a command, shows its answer or its error, and returns the exit code
    stop.py          what Ctrl-C does
    sql/             the command `sql`, and commands that are one statement each
    load/            reads the files that `import` is given, and guesses their schema
    arriving/        `import --follow`: the files of a directory as they arrive
    looking/         tail, ls, partitions and export
    maintaining/     optimize and drop
    export/          writes rows to files that `import` reads
    render/          the one place that prints: tables, tab-separated lines, JSON, progress

A command that is not typed costs nothing: everything heavy is imported by the function that needs it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from indextables.cli.stop import watched
from indextables.cli.typed import last_words


class _WithoutPandas:
    """Where pandas is installed, Arrow loads it before it makes its first array, to know it should it see it.

    Here it never does, and a command would take more than twice as long to start.
    """

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Refuse pandas, and say nothing about any other module."""
        del path, target
        if name == "pandas":
            raise ModuleNotFoundError("the command line does without pandas", name=name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; the exit code is the answer.

    Without arguments this is the program, and ends as signals ask. Signals of any other program that calls this are its own.
    """

    def work() -> int:
        from indextables.cli.run import run_app

        return run_app(arguments)

    if arguments is not None:
        return work()
    sys.meta_path.insert(0, _WithoutPandas())
    return watched(work, last_words)
