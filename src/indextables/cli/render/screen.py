"""Where answers go: a terminal with so many columns, or a pipe."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_WIDTH: Final = 100
_HIDDEN: Final = {
    **{code: f"\\x{code:02x}" for code in (*range(0x20), 0x7F, *range(0x80, 0xA0))},
    **{ord(mark): name for mark, name in (("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))},
    **{code: f"\\u{code:04x}" for code in (0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))},
}
"""What could move the cursor, colour the screen or turn the writing around: shown, and not done."""


class Output(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    TSV = "tsv"
    JSON = "json"


def visible(text: str) -> str:
    """A text that can be printed on a terminal, whatever is in it."""
    return text.translate(_HIDDEN)


@dataclass
class Screen:
    """The two streams of a process, and what they can show."""

    out: TextIO
    err: TextIO

    @classmethod
    def standard(cls) -> Screen:
        """Those of this process, now."""
        return cls(sys.stdout, sys.stderr)

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
