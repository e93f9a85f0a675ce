"""Rows for people: an aligned table where the terminal is wide enough for one, else a record after the other.

Rows are printed as they come. The first few decide how wide columns are; a cell that is longer is cut, or wrapped where there are
only a few rows anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Final

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from indextables.cli.render.bars import bar
from indextables.cli.render.plain import plain_text
from indextables.cli.render.screen import visible

_FIRST: Final = 200
"""Rows that are looked at together to choose the widths of columns, and printed together."""
_NARROWEST: Final = 8
"""Characters that a column gets at least. If some column would get less, rows are shown as records."""
_GAP: Final = 2
"""Blanks between two columns."""
_BAR: Final = (12, 40)
"""Characters that a bar has at least and at most."""
_HIT: Final = "bold yellow"


@dataclass(frozen=True)
class Look:
    """How rows are to be shown."""

    blocks: bool = True
    """Whether there are characters beyond ASCII."""
    wrap: bool = False
    """Long cells take several lines, instead of being cut."""
    bars: str | None = None
    """A column that is drawn."""
    numbers: frozenset[str] = frozenset()
    """Columns that are aligned to the right."""
    whole: frozenset[str] = frozenset()
    """Columns whose cells are never cut, because a part of a number or of a date is another number or date."""
    marks: bool = False
    """Show what was found with stars, because there are no colours."""


def show(console: Console, names: Sequence[str], rows: Iterable[Sequence[Any]], look: Look) -> None:
    """Print rows. Cells are JSON values, or texts with styles."""
    stream = iter(rows)
    first = list(islice(stream, _FIRST))
    cells = [[_cell(value, name) for name, value in zip(names, row, strict=True)] for row in first]
    natural = _natural(names, cells)
    drawn = names.index(look.bars) if look.bars in names else None
    spare = (_BAR[0] + _GAP) if drawn is not None else 0
    least = _least(names, cells, look)
    widths = fitted(natural, console.width - spare, least)
    if widths is None and drawn is not None:
        drawn, widths = None, fitted(natural, console.width, least)
    rest: Iterator[list[Text]] = (
        [_cell(value, name) for name, value in zip(names, row, strict=True)] for row in stream
    )
    if widths is None:
        _records(console, names, chain(cells, rest))
        return
    if drawn is None:
        _tables(console, names, widths, cells, rest, look)
        return
    everything = [*first, *stream]
    largest = max((row[drawn] for row in everything if isinstance(row[drawn], int | float)), default=0)
    room = min(_BAR[1], console.width - sum(widths) - _GAP * len(widths))
    drawings = [bar(row[drawn], largest, room, blocks=look.blocks) for row in everything]
    cells = [
        [*(_cell(value, name) for name, value in zip(names, row, strict=True)), drawing]
        for row, drawing in zip(everything, drawings, strict=True)
    ]
    _tables(console, [*names, ""], [*widths, room], cells, iter(()), look)


def show_parts(console: Console, names: Sequence[str], parts: Iterable[list[list[Any]]], look: Look) -> None:
    """Print rows part by part, as they come. The first part decides how wide columns are; the last text gets what is left."""
    widths: list[int] | None = None
    header = True
    for part in parts:
        if not part:
            continue
        cells = [[_cell(value, name) for name, value in zip(names, row, strict=True)] for row in part]
        if header:
            widths = fitted(_natural(names, cells), console.width, _least(names, cells, look))
            if widths is not None:
                widest = max((n for n, name in enumerate(names) if name not in look.numbers), default=0)
                widths[widest] += console.width - sum(widths) - _GAP * (len(widths) - 1)
        if widths is None:
            _records(console, names, cells)
        else:
            _tables(console, names, widths, cells, iter(()), look, header=header)
        header = False


def _natural(names: Sequence[str], cells: Sequence[Sequence[Text]]) -> list[int]:
    """The widths at which nothing is cut."""
    columns = zip(*cells, strict=True) if cells else [[Text()]] * len(names)
    return [
        max(cell_len(visible(name)), *(cell.cell_len for cell in column))
        for name, column in zip(names, columns, strict=True)
    ]


def _least(names: Sequence[str], cells: Sequence[Sequence[Text]], look: Look) -> list[int]:
    """The width that each column must have: that of its cells where these are never cut. Names of columns may be cut."""
    columns = zip(*cells, strict=True) if cells else [[Text()]] * len(names)
    return [
        max((cell.cell_len for cell in column), default=0) if name in look.whole else 0
        for name, column in zip(names, columns, strict=True)
    ]


def fitted(natural: Sequence[int], width: int, least: Sequence[int]) -> list[int] | None:
    """Widths that fit: the widest columns give way, but none below a few characters or below `least`. None if they do not fit."""
    available = width - _GAP * (len(natural) - 1)
    if sum(natural) <= available:
        return list(natural)
    for cap in range(max(natural), _NARROWEST - 1, -1):
        widths = [max(min(size, cap), needed) for size, needed in zip(natural, least, strict=True)]
        if sum(widths) <= available:
            spare = available - sum(widths)
            for place, size in enumerate(natural):
                if spare and size > widths[place]:
                    widths[place] += 1
                    spare -= 1
            return widths
    return None


def _tables(
    console: Console,
    names: Sequence[str],
    widths: Sequence[int],
    cells: Sequence[list[Text]],
    rest: Iterator[list[Text]],
    look: Look,
    *,
    header: bool = True,
) -> None:
    part: Sequence[list[Text]] = cells
    while part or header:
        grid = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, show_header=header, header_style="bold")
        for name, width in zip(names, widths, strict=True):
            grid.add_column(
                Text(visible(name)),
                width=width,
                justify="right" if name in look.numbers else "left",
                no_wrap=not look.wrap,
                overflow="fold" if look.wrap else "ellipsis" if look.blocks else "crop",
            )
        for row in part:
            grid.add_row(*row)
        console.print(grid)
        header = False
        part = list(islice(rest, _FIRST))


def _records(console: Console, names: Sequence[str], rows: Iterable[list[Text]]) -> None:
    """A line for each cell: what no table has room for."""
    shown = [visible(name) for name in names]
    width = min(max(map(cell_len, shown), default=0), max(console.width // 3, _NARROWEST))
    for number, row in enumerate(rows, 1):
        console.print(Text(f"{'' if number == 1 else chr(10)}-- {number} --", "dim"))
        grid = Table.grid(padding=(0, _GAP, 0, 0), pad_edge=False)
        grid.add_column(width=width, style="bold", overflow="fold")
        grid.add_column(overflow="fold")
        for name, cell in zip(shown, row, strict=True):
            grid.add_row(Text(name), cell)
        console.print(grid)


def _cell(value: Any, name: str) -> Text:
    if isinstance(value, Text):
        return value
    if value is None:
        return Text("null", "dim")
    if isinstance(value, float):
        return Text(f"{value:.2f}" if name == "_score" else f"{value:.6g}" if abs(value) < 1e6 else f"{value:.15g}")
    return Text(visible(plain_text(value)))


def highlighted(text: str | None, snippet: Any, look: Look) -> Text | None:
    """The part of a text that was found, with its words marked."""
    if text is None or snippet is None:
        return None
    part, place = snippet["text"], 0
    more = "\u2026" if look.blocks else "..."
    shown = Text("" if text.startswith(part) else more)
    for mark in snippet["highlights"]:
        shown.append(visible(part[place : mark["start"]]))
        word = visible(part[mark["start"] : mark["end"]])
        shown.append(f"*{word}*" if look.marks else word, _HIT)
        place = mark["end"]
    shown.append(visible(part[place:]))
    if not text.endswith(part):
        shown.append(more)
    return shown
