"""Which table a command is about, and as of when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from indextables.cli.errors import UsageError

if TYPE_CHECKING:
    from indextables.table import Table


@dataclass(frozen=True)
class Target:
    """A table as it was typed."""

    url: str
    options: dict[str, str] = field(default_factory=dict)
    version: int | None = None
    timestamp: str | None = None

    def open(self) -> Table:
        """The table, at the version that was asked for."""
        from indextables.table import Table

        return Table.open(self.url, self.version, self.timestamp, self.options)


def target(
    url: str, options: Sequence[str] | None = None, version: int | None = None, timestamp: str | None = None
) -> Target:
    """From the command line's texts."""
    pairs = {}
    for text in options or ():
        key, mark, value = text.partition("=")
        if not mark or not key.strip():
            raise UsageError(f"--option is {text!r}, but must be key=value, such as checkpoint.interval=50")
        pairs[key.strip()] = value.strip()
    return Target(url, pairs, version, timestamp)
