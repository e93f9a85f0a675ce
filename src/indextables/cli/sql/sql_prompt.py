"""A prompt for statements. A semicolon at the end of a line, or an empty line, runs what was typed.

What was typed is kept in a history file; the tabulator completes keywords, and paths between quotes.
"""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from indextables.cli.errors import OK
from indextables.cli.stop import STOP
from indextables.core.errors import StatementError
from indextables.core.sql_tokens import split

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROMPT: Final = "indextables> "
_MORE: Final = "         ... "
_MOST_LINES: Final = 1000
"""Lines of history that are kept: some days of typing, in a file that is read at once."""
_WELCOME: Final = "Statements end with a semicolon. help shows them all, exit or Ctrl-D ends."


def typed_line(asking: str) -> str:
    """A line that somebody types after a prompt. Raises EOFError at the end of the input.

    Where standard output goes to a program, the prompt is a message.
    """
    if sys.stdout.isatty():
        return input(asking)
    sys.stderr.write(asking)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.removesuffix("\n")


def prompt(run: Callable[[str], int], read: Callable[[str], str] = typed_line) -> int:
    """Read statements until the input ends, and run each. The exit code is that of the last statement."""
    sys.stderr.write(f"{_WELCOME}\n")
    code, typed = OK, ""
    with _readline() as remember:
        while True:
            try:
                line = read(_MORE if typed else _PROMPT)
            except EOFError:
                sys.stderr.write("\n")
                return code
            if not typed and line.strip().lower().rstrip(";") in {"exit", "quit"}:
                return code
            if not typed and line.strip().lower().rstrip(";") == "help":
                sys.stderr.write(f"{help_text()}\n")
                continue
            typed = f"{typed}\n{line}" if typed else line
            ends = not line.strip() or (line.rstrip().endswith(";") and is_complete(typed))
            if ends:
                if typed.strip():
                    remember(typed)
                    code = run(typed)
                    STOP.patient = False  # an idle prompt has nothing to tidy up, whatever the last statement changed
                typed = ""
            if STOP.signal:
                return STOP.code


def is_complete(typed: str) -> bool:
    """Whether no quote and no comment is open at the end of what was typed."""
    from indextables.sql.statement_cursor import STATEMENT

    try:
        split(typed, STATEMENT)
    except StatementError:
        return False
    return True


def one_line(typed: str) -> str:
    """A statement as a line of the history. Comments would hide what follows, so they go, unless a quote makes one doubtful."""
    lines = typed.split("\n")
    plain = [line if {"'", '"', "`"} & set(line) else line.partition("--")[0] for line in lines[:-1]]
    return " ".join([*plain, lines[-1]])


def help_text() -> str:
    """Every statement, one a line."""
    from indextables.sql.grammar import FORMS

    return "\n".join(f"  {form.syntax}" for form in FORMS if form.command is not None)


def history_file() -> Path:
    """Where the history is kept: the user's directory for the state of programs."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "indextables" / "sql_history"


@contextmanager
def _readline() -> Iterator[Callable[[str], None]]:
    """Editing, history and completion while the prompt is open. The terminal gets back what it was."""
    try:
        import readline
        import termios
    except ImportError:  # Python was built without them: lines can be typed all the same
        yield lambda _typed: None
        return
    file = history_file()
    with suppress(OSError):  # the history is a convenience: the first prompt has none, and a read-only home keeps none
        readline.read_history_file(file)
    readline.set_history_length(_MOST_LINES)
    readline.set_auto_history(False)
    readline.set_completer(_Completer().complete)
    readline.set_completer_delims(" \t\n'\"`(),;=")
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    before = termios.tcgetattr(sys.stdin.fileno()) if sys.stdin.isatty() else None

    def restore() -> None:
        if before is not None:
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, before)

    def remember(typed: str) -> None:
        """Add a statement to the history, also on disk: Ctrl-C ends the program at once. Comments are left out."""
        readline.add_history(one_line(typed))
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(file)

    STOP.restore = restore
    try:
        yield remember
    finally:
        STOP.restore = None


class _Completer:
    """Completions of a word, given one after another as readline asks for them."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def complete(self, word: str, number: int) -> str | None:
        """The completion of this number; None after the last one."""
        if number == 0:
            import readline

            self._found = completions(readline.get_line_buffer()[: readline.get_begidx()], word)
        return self._found[number] if number < len(self._found) else None


def completions(before: str, word: str) -> list[str]:
    """What a word can become: a path after an open quote, else a keyword that may stand there."""
    quotes = [mark for mark in "'\"`" if before.count(mark) % 2]
    if quotes:
        home = os.path.expanduser(word)  # noqa: PTH111 - pathlib drops the last slash
        found = sorted(glob.glob(f"{glob.escape(home)}*"))  # noqa: PTH207 - the same
        return [path + "/" if Path(path).is_dir() else path + quotes[0] for path in found]
    from indextables.sql.next_words import next_keywords

    return [f"{keyword} " for keyword in next_keywords(before) if keyword.startswith(word.upper())]
