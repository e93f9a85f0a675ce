"""How far a command has come: a bar on a terminal, on the stream of messages, and a line now and then anywhere else.

Work that cannot say how far it is has a bar that moves, and lines with the time that it takes. Every
progress report also checks for Ctrl-C.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

from indextables.cli.render.screen import Screen, visible
from indextables.cli.stop import STOP

_READ: Final = 0.15
"""The share of the work that reading rows is, as measured on log files. Indexing is the rest."""
_WRITTEN: Final = 0.1
"""The shares of an import that go into reading files, and into storing what was made of them; the rest is indexing."""
_STEADY: Final = 1.0
"""Seconds until a rate says something."""
_LINE_EVERY: Final = 10.0
"""Seconds between two lines about progress where nobody watches: a log of an hour has some hundred lines."""
_LOOKED_EVERY: Final = 1.0
"""Seconds after which a thread looks whether a line is due, while the work reports nothing."""


class Told(Protocol):
    """What a watcher is told: see `indextables.table.progress.Progress`."""

    @property
    def rows_read(self) -> int:
        """Rows taken from the data."""

    @property
    def rows_indexed(self) -> int:
        """Rows that are in the index of a file, finished or not."""

    @property
    def rows_written(self) -> int:
        """Rows in files that are in the store."""

    @property
    def rows_total(self) -> int | None:
        """How many rows there are to do."""

    @property
    def splits(self) -> int:
        """Files that are done."""

    @property
    def splits_total(self) -> int | None:
        """How many files there are to do, where files are counted and not rows."""

    @property
    def looked_at(self) -> int:
        """Objects that were looked at to find out what there is to do."""


class Stage:
    """What commands report to while they work."""

    def __init__(self, screen: Screen, *, notes: bool) -> None:
        self._screen = screen
        self._notes = notes

    @property
    def watched(self) -> bool:
        """Whether a person looks at the messages."""
        return self._screen.err.isatty()

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
                STOP.check()
                done += count
                update(done / size if size else None, f"{done / 1e6:,.0f} MB")

            yield told

    @contextmanager
    def rows(self, label: str, rows: int, size: int) -> Iterator[tuple[Callable[[Told], None], Callable[[int], None]]]:
        """A bar of rows, or of files where no rows are counted.

        How many there are is known, or estimated from the bytes, or not known at all.
        """
        with self._bar(label) as update:
            read = 0
            began = time.monotonic()

            def told(count: int) -> None:
                nonlocal read
                STOP.check()
                read += count

            def watch(progress: Told) -> None:
                STOP.check()
                known = rows or progress.rows_total or 0
                share = min(read / size, 1.0) if size else None
                total = known or (progress.rows_read / share if share else 0)
                update(_fraction(progress, total), _counted(progress, known, time.monotonic() - began))

            yield watch, told

    @contextmanager
    def counted(self, label: str, total: int | None, noun: str = "rows") -> Iterator[Callable[[int], None]]:
        """A bar of things that are done, of a number that is known or not."""
        with self._bar(label) as update:
            done = 0

            def told(count: int) -> None:
                nonlocal done
                STOP.check()
                done += count
                of = f" of {total:,}" if total else ""
                update(done / total if total else None, f"{done:,}{of} {noun}")

            yield told

    @contextmanager
    def _bar(self, label: str) -> Iterator[Callable[[float | None, str], None]]:
        if not self.watched:
            if self._notes:
                with _Lines(self._screen, label).going_on() as update:
                    yield update
            else:
                yield lambda _fraction, _text: None
            return
        from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn
        from rich.table import Column

        console = self._screen.notes
        blocks = (getattr(self._screen.err, "encoding", None) or "").lower().startswith("utf")
        columns: tuple[Any, ...] = (
            SpinnerColumn("dots" if blocks else "line"),
            TextColumn("{task.description}"),
            BarColumn(min(max(console.width - 66, 8), 40)),
            TaskProgressColumn(),
            TextColumn("{task.fields[text]}", table_column=Column(no_wrap=True, overflow="crop")),
        )
        with self._screen.messages_held(), Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task(label, total=None, text="")

            def update(fraction: float | None, text: str) -> None:
                progress.update(
                    task, total=None if fraction is None else 1.0, completed=min(fraction or 0.0, 1.0), text=text
                )

            yield update


class _Lines:
    """Lines about progress where nobody watches: at a report if a line is due, and from a thread where no report comes."""

    def __init__(self, screen: Screen, label: str) -> None:
        self._screen = screen
        self._label = label
        self._lock = threading.Lock()
        self._began = self._last = time.monotonic()
        self._told: list[str] = []

    @contextmanager
    def going_on(self) -> Iterator[Callable[[float | None, str], None]]:
        """While the work goes on, lines are written. What is yielded takes a report."""
        ended = threading.Event()
        thread = threading.Thread(target=self._until, args=(ended,), name="indextables-progress", daemon=True)
        thread.start()
        try:
            yield self._update
        finally:
            ended.set()
            thread.join()

    def _update(self, fraction: float | None, text: str) -> None:
        with self._lock:
            share = [] if fraction is None else [f"{min(fraction, 1.0):.0%}"]
            self._told = [text, *share]
            self._write_if_due(self._told)

    def _until(self, ended: threading.Event) -> None:
        """Repeat the last report with the time so far, for work that reports nothing for long."""
        while not ended.wait(_LOOKED_EVERY):
            with self._lock:
                self._write_if_due([*self._told, f"{time.monotonic() - self._began:,.0f} s"])

    def _write_if_due(self, told: Sequence[str]) -> None:
        now = time.monotonic()
        if now - self._last >= _LINE_EVERY:
            self._last = now
            self._screen.err.write(f"{self._label}: {', '.join(told)}\n")
            self._screen.err.flush()


def _fraction(progress: Told, total: float) -> float | None:
    """How much of the work is done, None where nobody knows how much there is."""
    if not total and progress.splits_total and not progress.rows_read:
        return progress.splits / progress.splits_total
    if not total:
        return None
    indexed = max(progress.rows_indexed, progress.rows_written)
    done = progress.rows_read * _READ + indexed * (1 - _READ - _WRITTEN) + progress.rows_written * _WRITTEN
    return done / total


def _counted(progress: Told, known: int, seconds: float) -> str:
    """Rows that are done, of how many, and how fast that goes. Before anything is indexed, those that were read.

    Verbs that move no rows count files, or what they look at.
    """
    indexed = max(progress.rows_indexed, progress.rows_written)
    if not (known or indexed or progress.rows_read):
        if progress.splits or progress.splits_total:
            all_of = f" of {progress.splits_total:,}" if progress.splits_total else ""
            return f"{progress.splits:,}{all_of} files"
        if progress.looked_at:
            return f"{progress.looked_at:,} objects looked at"
    of = f" of {known:,}" if known else ""
    if not indexed:
        return f"{progress.rows_read:,}{of} rows read"
    rate = f", {indexed / seconds:,.0f}/s" if seconds > _STEADY else ""
    return f"{indexed:,}{of} rows{rate}"
