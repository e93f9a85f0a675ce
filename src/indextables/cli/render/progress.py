"""How far a command has come: a bar on a terminal, on the stream of messages, and nothing anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

from indextables.cli.render.screen import Screen, visible

_READING: Final = 0.2
"""The share of an import that goes into reading files; the rest is indexing."""


class Told(Protocol):
    """What a watcher is told: see `indextables.table.progress.Progress`."""

    @property
    def rows_read(self) -> int:
        """Rows taken from the data."""

    @property
    def rows_written(self) -> int:
        """Rows in files that are in the store."""


class Stage:
    """What commands report to while they work."""

    def __init__(self, screen: Screen, *, notes: bool) -> None:
        self._screen = screen
        self._notes = notes

    def note(self, title: str, lines: Sequence[tuple[str, str]]) -> None:
        """Names and what they are, for people."""
        if not self._notes:
            return
        from rich.text import Text

        console = self._screen.notes
        console.print(Text(visible(title), "dim"), soft_wrap=True)
        width = max((len(name) for name, _ in lines), default=0)
        for name, what in lines:
            console.print(Text.assemble("  ", visible(name).ljust(width + 2), (visible(what), "cyan")), soft_wrap=True)

    @contextmanager
    def bytes(self, label: str, size: int) -> Iterator[Callable[[int], None]]:
        """A bar of bytes read."""
        with self._bar(label) as update:
            done = 0

            def told(count: int) -> None:
                nonlocal done
                done += count
                update(done / size if size else None, "")

            yield told

    @contextmanager
    def rows(
        self, label: str, rows: int, size: int
    ) -> Iterator[tuple[Callable[[Told], None] | None, Callable[[int], None]]]:
        """A bar of rows: how many there are is known, or estimated from the bytes, or not known at all."""
        with self._bar(label) as update:
            read = 0

            def told(count: int) -> None:
                nonlocal read
                read += count

            def watch(progress: Told) -> None:
                share = min(read / size, 1.0) if size else None
                total = rows or (progress.rows_read / share if share else 0)
                fraction = None
                if total:
                    fraction = (progress.rows_read * _READING + progress.rows_written * (1 - _READING)) / total
                of = f" of {rows:,}" if rows else ""
                update(fraction, f"{max(progress.rows_read, progress.rows_written):,}{of} rows")

            yield watch, told

    @contextmanager
    def _bar(self, label: str) -> Iterator[Callable[[float | None, str], None]]:
        if not self._screen.err.isatty():
            yield lambda _fraction, _text: None
            return
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns: tuple[Any, ...] = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        with Progress(
            *columns, TextColumn("{task.fields[text]}"), console=self._screen.notes, transient=True
        ) as progress:
            task = progress.add_task(label, total=None, text="")

            def update(fraction: float | None, text: str) -> None:
                progress.update(
                    task, total=None if fraction is None else 1.0, completed=min(fraction or 0.0, 1.0), text=text
                )

            yield update
