"""The one place that prints answers and errors, in one of three forms."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, assert_never

from indextables.cli.answers import Answer, Facts, Number, Rows
from indextables.cli.errors import OutputFailed
from indextables.cli.render.progress import Stage
from indextables.cli.render.screen import Output, Screen, harmless, visible
from indextables.cli.stop import STOP, Stopped

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Renderer:
    """Prints what a command found."""

    screen: Screen
    wanted: Output | None = None
    header: bool = True
    began: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self.screen.prepare(self.output)

    @property
    def output(self) -> Output:
        """Tables for people, tab-separated lines for pipes, unless somebody asked for something else."""
        return self.wanted or (Output.TABLE if self.screen.terminal else Output.TSV)

    @property
    def stage(self) -> Stage:
        """What commands report progress to."""
        return Stage(self.screen, notes=self.output is not Output.JSON)

    def show(self, answer: Answer) -> bool:
        """Print an answer. False if it was asked to find rows, and there are none, or if it says that a table is damaged."""
        match answer:
            case Rows():
                return (self._rows(answer) or not answer.found) and not answer.damaged
            case Number():
                self._write(_json({answer.name: answer.value}) if self.output is Output.JSON else f"{answer.value}\n")
            case Facts():
                self._facts(answer)
            case _:
                assert_never(answer)
        return True

    def problem(self, kind: str, message: str, code: int, details: dict[str, Any] | None = None) -> None:
        """An error: one line, or one object, with those of its facts that JSON has. What was found before it comes first."""
        with suppress(OSError, OutputFailed):
            self.screen.out.flush()
        facts = {name: value for name, value in (details or {}).items() if _is_plain(value)}
        self._message("error", message, {"type": kind, "message": message, "exitCode": code, **facts})

    def warning(self, message: str) -> None:
        """Something that is wrong, and did not stop the command."""
        self._message("warning", message, {"message": message})

    def _message(self, kind: str, message: str, facts: dict[str, Any]) -> None:
        err = self.screen.err
        text = f"{kind}: {visible(message)}\n"
        if self.output is Output.JSON:
            text = _json({kind: facts})
            text = harmless(text, Output.JSON) if err.isatty() else text
        if self.screen.held is not None:
            self.screen.held.append(text)
            return
        err.write(text)
        err.flush()

    def _write(self, text: str) -> None:
        self.screen.out.write(harmless(text, self.output) if self.screen.terminal else text)

    def _rows(self, answer: Rows) -> bool:
        counted = _Counted(answer)
        with suppress(Stopped) if answer.follows else nullcontext():
            if self.output is Output.TABLE:
                self._table(answer, counted)
            else:
                self._lines(answer, counted)
        self.screen.out.flush()
        return counted.rows > 0 or answer.follows

    def _lines(self, answer: Rows, counted: _Counted) -> None:
        from indextables.cli.render.plain import json_lines, tsv_line, tsv_lines

        if self.output is Output.JSON:
            for batch in counted:
                for text in json_lines(batch):
                    self._write(text)
                self._shown(answer)
            return
        names = list(answer.shown or answer.schema.names)
        if self.header:
            self._write(tsv_line(names))
            self._shown(answer)
        for batch in counted:
            for text in tsv_lines(batch.select(names)):
                self._write(text)
            self._shown(answer)

    def _shown(self, answer: Rows) -> None:
        """Rows that come one by one are there for the reader when they are written."""
        if answer.follows:
            self.screen.out.flush()

    def _table(self, answer: Rows, counted: _Counted) -> None:
        from indextables.cli.render import grid

        console = self.screen.console
        look = grid.Look(
            blocks=self.screen.blocks,
            wrap=answer.snippets or answer.wraps,
            bars=answer.bars,
            numbers=_numbers(answer.schema),
            whole=_whole(answer.schema),
            marks=answer.snippets and console.color_system is None,
        )
        if answer.told:
            for line in answer.told.split("\n"):
                self._write(visible(line) + "\n")
            return
        names = list(answer.shown or answer.schema.names)
        if answer.snippets:
            names = ["_score", *(name for name in names if name not in ("_score", "_snippets"))]
        if answer.follows:
            parts = (list(_cells([batch], names, look, snippets=answer.snippets)) for batch in counted)
            grid.show_parts(console, names, parts, look)
            return
        rows = _cells(counted, names, look, snippets=answer.snippets)
        first = next(rows, None)
        if first is not None:
            grid.show(console, names, _chained(first, rows), look)
        self._footer(answer, counted.rows)

    def _footer(self, answer: Rows, rows: int) -> None:
        """How many there were, for people who see them fly past."""
        if not (self.screen.terminal and self.screen.err.isatty()):
            return
        from rich.text import Text

        self.screen.out.flush()
        seconds = time.perf_counter() - self.began
        taken = f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
        self.screen.notes.print(Text(f"{rows:,} {answer.title}{'' if rows == 1 else 's'}, {taken}", "dim"))

    def _facts(self, answer: Facts) -> None:
        from indextables.cli.render.plain import tsv_line

        if self.output is Output.JSON:
            self._write(_json({**answer.values, **answer.parts}))
        elif self.output is Output.TSV:
            for name, value in answer.values.items():
                self._write(tsv_line([name, value]))
            for part, things in answer.parts.items():
                for thing in things:
                    self._write(tsv_line([part, *thing.values()]))
        elif answer.told:
            self._write(visible(answer.told) + "\n")
        else:
            self._fact_tables(answer)
        self.screen.out.flush()

    def _fact_tables(self, answer: Facts) -> None:
        from rich.table import Table
        from rich.text import Text

        from indextables.cli.render import grid

        console = self.screen.console
        facts = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
        facts.add_column(style="dim", overflow="fold")
        facts.add_column(overflow="fold")
        for name, text in _fact_lines(answer.values):
            facts.add_row(name, Text(visible(text)))
        console.print(facts)
        for things in answer.parts.values():
            if things:
                console.print()
                names = list(things[0])
                grid.show(console, names, [list(thing.values()) for thing in things], grid.Look(self.screen.blocks))


class _Counted:
    """Batches, and how many rows they had."""

    def __init__(self, answer: Rows) -> None:
        self._answer = answer
        self.rows = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._answer.batches:
            if not STOP.patient or self._answer.follows:  # what changed something is done, and says so
                STOP.check()
            self.rows += batch.num_rows
            yield batch


def _cells(
    batches: Iterable[pa.RecordBatch], names: Sequence[str], look: Any, *, snippets: bool
) -> Iterator[list[Any]]:
    from indextables.cli.render import grid
    from indextables.cli.render.values import json_values

    for whole in batches:
        for start in range(0, whole.num_rows, 1000):
            batch = whole.slice(start, 1000)
            columns = {name: json_values(batch.column(name)) for name in names}
            for name, values in columns.items():
                if _is_time(batch.schema.field(name).type):
                    columns[name] = [value and value.replace("T", " ", 1) for value in values]
            if snippets:
                for row, found in enumerate(json_values(batch.column("_snippets"))):
                    for name, snippet in found.items():
                        if name in columns:
                            columns[name][row] = grid.highlighted(columns[name][row], snippet, look)
            yield from (list(row) for row in zip(*columns.values(), strict=True))


def _chained(first: list[Any], rest: Iterator[list[Any]]) -> Iterator[list[Any]]:
    yield first
    yield from rest


def _is_time(arrow: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_timestamp(arrow))


def _numbers(schema: pa.Schema) -> frozenset[str]:
    import pyarrow as pa

    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return frozenset(column.name for column in schema if any(test(column.type) for test in tests))


def _whole(schema: pa.Schema) -> frozenset[str]:
    """The columns of numbers, dates and times."""
    import pyarrow as pa

    return frozenset(
        column.name for column in schema if pa.types.is_primitive(column.type) or pa.types.is_decimal(column.type)
    )


def _fact_lines(values: Any) -> Iterator[tuple[str, str]]:
    from indextables.cli.render.plain import plain_text

    for name, value in values.items():
        if isinstance(value, dict):
            yield from ((key, plain_text(inner)) for key, inner in value.items())
        elif isinstance(value, list):
            yield name, ", ".join(map(plain_text, value)) or "-"
        elif isinstance(value, int) and not isinstance(value, bool):
            yield name, f"{value:,}"
        elif value is not None:
            yield name, plain_text(value)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _json(value: Any) -> str:
    """Print an object as one line of JSON. Arrow is not loaded for it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"
