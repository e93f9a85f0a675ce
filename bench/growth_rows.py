"""Growth with the rows of a table, one split in place of ten, and aggregates of all rows.

rows        a table of ten splits, and another with five times the rows; an exponent of 1 is growth with the work
merged      one split in place of ten, beside lance
aggregates  of all rows, beside DuckDB over Parquet
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from statistics import median

import growth_tables as tables
import search
import split_data
import split_tables
from growth_rounds import ASKED, Handles, Say, Sizes, build_missing, chosen
from growth_tables import AGGREGATES
from report import OURS, TIMES, Goal, Row
from search_data import Search
from search_tables import DUCKDB, LANCE

_TIMES_LARGER = 5
_LARGE, _LARGE_ROWS, _WHOLE, _MERGED = "large", "rows-large", "whole", "merged"
_GROWING = {
    **ASKED,
    "fetch a phrase": ("rows", "phrase"),
    "fetch a word, ERROR": ("rows", "level"),
    "count": ("count", "common"),
}


def build(data: Path, quick: bool, say: Say) -> None:
    """The tables of the search benchmark, one of five times the rows, and one that is merged."""
    sizes = Sizes.of(quick)
    search.build(data, sizes.search, say)
    build_missing(
        [
            (data / _LARGE_ROWS, split_data.generate, data / _LARGE_ROWS, sizes.search.rows * _TIMES_LARGER),
            (data / _LARGE, split_tables.write_ours, data / _LARGE_ROWS, data / _LARGE),
            (data / _WHOLE, split_tables.write_pieces, data / "rows", data / _WHOLE, split_data.BATCHES_A_DAY, False),
            (data / _MERGED, tables.merge_into_one, data / _WHOLE, data / _MERGED),
        ],
        say,
    )


def measured(data: Path, quick: bool) -> dict[str, Row]:
    """Measure everything, by a short name."""
    sizes = Sizes.of(quick)
    asked = chosen(data, sizes)
    return {**_grown(data, asked, sizes), **_merged(data, asked, sizes), **_aggregated(data, sizes)}


def _grown(data: Path, asked: Mapping[str, Search], sizes: Sizes) -> dict[str, Row]:
    """Both tables are of one generator, so that a word has as large a share of the rows of one as of the other."""
    found = {}
    cache = data / "cache"
    with Handles({OURS: (OURS, data / OURS, cache), _LARGE: (OURS, data / _LARGE, cache)}) as handles:
        for name, (verb, which) in _GROWING.items():
            row = handles.rounds(
                f"{name}, {sizes.search.rows * _TIMES_LARGER:,} rows", verb, asked[which], sizes.rounds
            )
            row.beside = row.seconds[OURS]
            row.seconds = {OURS: row.seconds.pop(_LARGE)}
            growth = median(row.seconds[OURS]) / median(row.beside)
            row.note = (
                f"{median(row.beside) * 1e3:.2f} ms with {sizes.search.rows:,} rows: {growth:.1f}{TIMES} as long for "
                f"{_TIMES_LARGER}{TIMES} the rows, exponent {math.log(growth) / math.log(_TIMES_LARGER):.2f}"
            )
            found[f"grown {name}"] = row
    return found


def _merged(data: Path, asked: Mapping[str, Search], sizes: Sizes) -> dict[str, Row]:
    found = {}
    cache = data / "cache"
    with Handles({OURS: (OURS, data / _MERGED, cache), LANCE: (LANCE, data / LANCE, cache)}) as handles:
        for name, (verb, which) in ASKED.items():
            handles.same(verb, asked[which])
            found[f"merged {name}"] = handles.rounds(f"{name}, all rows in one split", verb, asked[which], sizes.rounds)
    return found


def _aggregated(data: Path, sizes: Sizes) -> dict[str, Row]:
    found = {}
    cache = data / "cache"
    parquet = data / split_tables.PARQUET
    with Handles({OURS: (OURS, data / OURS, cache), DUCKDB: (DUCKDB, parquet, cache)}) as handles:
        for name in AGGREGATES:
            handles.same(name, None)
            found[name] = handles.rounds(f"{name}, {sizes.search.rows:,} rows", name, None, sizes.rounds)
    return found


def goals(rows: Mapping[str, Row]) -> list[Goal]:
    """No cost grows faster than the work, and we are ahead of each peer."""
    most = {"best ten": 6, "best ten of two words": 6, "count": 6}
    least = {"sum of doubles": 1.5}
    return [
        *(_grows(rows[f"grown {name}"], most.get(name, 7)) for name in _GROWING),
        *(search._faster(rows[f"merged {name}"], LANCE, 1) for name in ASKED),
        *(search._faster(rows[name], DUCKDB, least.get(name, 1)) for name in AGGREGATES),
    ]


def _grows(row: Row, most: float) -> Goal:
    growth = median(row.seconds[OURS]) / median(row.beside)
    text = f"{row.what}, at most {most}{TIMES} the time of {_TIMES_LARGER}{TIMES} fewer"
    return Goal(text, f"{growth:.1f}{TIMES}", growth <= most)
