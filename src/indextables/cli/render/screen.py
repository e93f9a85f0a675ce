"""Where answers go: a terminal with so many columns, or a pipe."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

from indextables.cli.errors import OutputFailed
from indextables.core.runtime.cached_property import cached_property

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_WIDTH: Final = 100
"""Characters of a line where there is no terminal and COLUMNS is not set."""
_HIDDEN: Final = {
    **{code: f"\\x{code:02x}" for code in (*range(0x20), 0x7F, *range(0x80, 0xA0))},
    **{ord(mark): name for mark, name in (("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))},
    **{code: f"\\u{code:04x}" for code in (0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))},
}
"""What could move the cursor, colour the screen or turn the writing around: shown, and not done."""
_IN_JSON: Final = {code: f"\\u{code:04x}" for code in _HIDDEN if code >= 0x7F}
"""The same inside of JSON, where everything below is written like this anyway."""
_IN_LINES: Final = {code: shown for code, shown in _HIDDEN.items() if chr(code) not in "\t\n"}


class Output(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    TSV = "tsv"
    JSON = "json"


def visible(text: str) -> str:
    """A text that can be printed on a terminal, whatever is in it."""
    return text.translate(_HIDDEN)


def harmless(text: str, output: Output) -> str:
    """Lines for programs that a person looks at: nothing in them is obeyed by the terminal."""
    return text.translate(_IN_JSON if output is Output.JSON else _IN_LINES)


def sentence(text: str) -> str:
    """With a small letter first, unless it is a name such as JSON."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


@dataclass
class Screen:
    """The two streams of a process, and what they can show."""

    out: TextIO
    err: TextIO
    held: list[str] | None = None
    """Messages that wait until a bar is gone; None where none is drawn."""

    @classmethod
    def standard(cls) -> Screen:
        """The streams of this process, as they are now."""
        _keep_standard_files()
        out, err = (cast("TextIO | None", stream) for stream in (sys.stdout, sys.stderr))
        return cls(cast("TextIO", _Out(out or _Closed())), cast("TextIO", _Messages(err or io.StringIO())))

    @property
    def terminal(self) -> bool:
        """Whether a person looks at the output."""
        return self.out.isatty()

    def prepare(self, output: Output) -> None:
        """Programs get UTF-8 whatever the locale; people get what their terminal can show, and escapes for the rest."""
        for stream, kind in ((self.out, output), (self.err, Output.TABLE)):
            reconfigure: Any = getattr(stream, "reconfigure", None)
            if reconfigure is None:
                continue
            if kind is Output.TABLE:
                reconfigure(errors="backslashreplace")
            else:
                reconfigure(encoding="utf-8", newline="\n")

    @property
    def blocks(self) -> bool:
        """Whether there are characters beyond ASCII."""
        return (getattr(self.out, "encoding", None) or "").lower().replace("-", "").startswith("utf")

    @cached_property
    def console(self) -> Console:
        """Rich's view of the output."""
        return _console(self.out)

    @cached_property
    def notes(self) -> Console:
        """Rich's view of the messages."""
        return _console(self.err)

    @contextmanager
    def messages_held(self) -> Iterator[None]:
        """Hold messages back while a bar is drawn where they would be written, and write them afterwards."""
        self.held = []
        try:
            yield
        finally:
            held, self.held = self.held, None
            self.err.write("".join(held))
            self.err.flush()

    def discard(self) -> None:
        """Nobody reads any more: what is still buffered goes nowhere, quietly."""
        with suppress(OSError, ValueError, AttributeError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.out.fileno())
            os.close(nowhere)


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    width = None
    if not stream.isatty():
        given = os.environ.get("COLUMNS", "")
        width = max(int(given), 20) if given.isdigit() else _PIPE_WIDTH
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def _keep_standard_files() -> None:
    """A standard file that is closed is opened on nothing, or the next file would get its number, and what is printed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free, which is this one


class _Closed(io.StringIO):
    """An output that somebody closed before the program began."""

    def write(self, text: str) -> int:
        del text
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


class _Stream:
    """A stream, whose failures are told from those of everything else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Out(_Stream):
    """Answers: what cannot be written ends the command."""

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputFailed(error) from error

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputFailed(error) from error


class _Messages(_Stream):
    """Messages: where nobody can be told, nobody is."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            return self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()
