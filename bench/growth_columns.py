"""Growth with the columns of a table, and tables of very many columns, beside lance without an index.

write    200,000 rows of 100 columns, in fresh processes: seconds, and bytes on disk
append   three rows to a table of 2,000 columns
columns  appends to and scans of tables of 10, 100 and 1,000 columns
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import measure
import search
import wide_tables as tables
from growth_rounds import Handles, Say, at_most_ms, grows_at_most, of_sizes
from measure import once
from report import OURS, TIMES, Goal, Row
from search_tables import LANCE
from split_tables import Written

_BOTH = (OURS, LANCE)
_WRITTEN_COLUMNS = 100
_FEW_ROWS = 3
_MIB = 1 << 20
_MOST_BYTES = 1.1
"""Times the bytes of lance that 100 columns may take, their indexes included."""
_MORE_S, _MORE_BYTES = "seconds of lance's indexes", "bytes of lance's indexes"
_WRITE, _APPEND, _GROWN = "write", "append few", "grown"


@dataclass(frozen=True)
class _Sizes:
    """How many rows and columns, and how often."""

    written_rows: int
    widest: int
    """Columns of the table that gets three rows."""
    columns: tuple[int, ...]
    rows: int
    """Rows of the tables that are compared by their columns."""
    write_rounds: int
    rounds: int

    @classmethod
    def of(cls, quick: bool) -> _Sizes:
        if quick:
            return cls(20_000, 500, (10, 100), 2_000, 2, 2)
        return cls(200_000, 2_000, (10, 100, 1_000), 10_000, 3, 5)


def build(_data: Path, _quick: bool, _say: Say) -> None:
    """Nothing: what is measured here is written while it is."""


def measured(data: Path, quick: bool) -> dict[str, Row]:
    """Measure everything, by a short name."""
    sizes = _Sizes.of(quick)
    return {_WRITE: _written(data, sizes), _APPEND: _appended(data, sizes), **_grown(data, sizes)}


def _written(data: Path, sizes: _Sizes) -> Row:
    shape = (sizes.written_rows, _WRITTEN_COLUMNS)
    folders = {name: data / f"wide-{name}" for name in _BOTH}
    found = {name: once(tables.write_and_read, name, where, *shape) for name, where in folders.items()}
    if found[OURS] != found[LANCE]:
        raise AssertionError(f"what was written is read as {found}")

    def turn(name: str) -> Callable[[int], Written]:
        return lambda _number: once(tables.write, name, folders[name], *shape, True)

    results: dict[str, list[Written]] = measure.rounds(sizes.write_rounds, {name: turn(name) for name in _BOTH})
    row = Row(
        f"write {sizes.written_rows:,} rows of {_WRITTEN_COLUMNS} columns",
        {name: [each.seconds for each in writes] for name, writes in results.items()},
        {name: max(each.peak_mb for each in writes) for name, writes in results.items()},
    )
    row.amounts = {name: writes[-1].size for name, writes in results.items()}
    told = ", ".join(f"{name} {size / _MIB:,.1f}" for name, size in row.amounts.items())
    lance = results[LANCE]
    row.amounts[_MORE_S], row.amounts[_MORE_BYTES] = median(each.more_s for each in lance), lance[-1].more_bytes
    row.note = (
        f"MiB on disk: {told}; ours with its indexes, lance has none: BITMAPs of its words take another "
        f"{row.amounts[_MORE_S]:.1f} s and {row.amounts[_MORE_BYTES] / _MIB:,.1f} MiB"
    )
    return row


def _appended(data: Path, sizes: _Sizes) -> Row:
    opened = {name: (name, data / f"widest-{name}", _FEW_ROWS, sizes.widest) for name in _BOTH}
    with Handles(opened, tables) as handles:
        handles.same(tables.EVERYTHING, None)
        row = handles.rounds(f"append three rows of {sizes.widest:,} columns", tables.APPEND, None, sizes.rounds)
    row.note = "each append to what the ones before left"
    return row


def _grown(data: Path, sizes: _Sizes) -> dict[str, Row]:
    """Scans come first: every append makes the tables longer."""
    found: dict[str, Row] = {}
    opened = {
        (name, columns): (name, data / f"columns-{columns}-{name}", sizes.rows, columns)
        for columns in sizes.columns
        for name in _BOTH
    }
    with Handles(opened, tables) as handles:
        for columns in sizes.columns:
            handles.same(tables.EVERYTHING, None, [(name, columns) for name in _BOTH])
        for what, verb in (("scan", tables.EVERYTHING), ("append", tables.APPEND)):
            found |= _named(what, handles.seconds(verb, None, sizes.rounds), sizes)
    return found


def _named(what: str, seconds: Mapping[Any, list[float]], sizes: _Sizes) -> dict[str, Row]:
    """A row for each number of columns. A goal looks at the one of the most."""
    *others, last = of_sizes(
        lambda columns: f"{what} {sizes.rows:,} rows of {columns:,} columns", seconds, sizes.columns
    )
    return {**{row.what: row for row in others}, f"{_GROWN} {what}": last}


def goals(rows: Mapping[str, Row]) -> list[Goal]:
    """At least half of the speed of lance, which indexes nothing, in about its bytes; no cost grows faster than the columns."""
    row = rows[_WRITE]
    share = row.amounts[OURS] / row.amounts[LANCE]
    return [
        search._faster(row, LANCE, 0.5),
        Goal(
            f"{row.what}, at most {_MOST_BYTES}{TIMES} the bytes of lance", f"{share:.2f}{TIMES}", share <= _MOST_BYTES
        ),
        at_most_ms(rows[_APPEND], 600),
        *(grows_at_most(row) for name, row in rows.items() if name.startswith(_GROWN)),
    ]
