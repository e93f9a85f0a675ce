"""The best k rows of several splits, and the columns of the winners.

Each split ranks its own rows; here the rankings are put together. Equal scores are ordered by the split's path and the row's
place in the split, so that the same question has the same answer each time. Row numbers are looked up for the winners only, and
columns are read of the winners only (`read_winners`), whatever rows are ordered by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias

import pyarrow as pa

from indextables.core.arrow_values import array_of, empty_table
from indextables.split.query.rank import Hits
from indextables.split.reader import SplitReader
from indextables.table.handle import TableHandle
from indextables.table.read.few_rows import FEW_ROWS, few_rows_batch, read_few_rows

Winner: TypeAlias = tuple[float, int, int]
"""A row of the answer: its score, the place of its split in the list of splits, and its row number there."""


def best_rows(paths: Sequence[str], hits: Sequence[Hits], limit: int) -> list[Winner]:
    """At most `limit` rows, best first. `paths` and `hits` are those of the splits, in one order."""
    ranked = [
        (-score, path, place) for path, some in zip(paths, hits, strict=True) for place, score in enumerate(some.scores)
    ]
    ranked.sort()
    del ranked[limit:]
    places: dict[str, list[int]] = {}
    for _, path, place in ranked:
        places.setdefault(path, []).append(place)
    numbers = {path: number for number, path in enumerate(paths)}
    rows = {path: iter(hits[numbers[path]].rows(some).tolist()) for path, some in places.items()}
    return [(-score, numbers[path], next(rows[path])) for score, path, _ in ranked]


def read_winners(
    handle: TableHandle,
    splits: Sequence[SplitReader] | Mapping[int, SplitReader],
    winners: Sequence[tuple[int, int]],
    names: Sequence[str],
    threads: int,
) -> pa.Table:
    """Rows of some splits with these columns, in the order of the winners: the number of a split, and the row's number there.

    Many rows are read by at most `threads` threads. Without columns there is nothing to read, and the answer has no rows.
    """
    if not names:
        return pa.table({})
    by_split: dict[int, list[int]] = {}
    for number, row in winners:
        by_split.setdefault(number, []).append(row)
    by_split = {number: sorted(rows) for number, rows in by_split.items()}
    schema = pa.schema([handle.schema.field(name) for name in names])
    places = {
        key: place for place, key in enumerate((number, row) for number, rows in by_split.items() for row in rows)
    }
    order = [places[winner] for winner in winners]
    if 0 < len(winners) <= FEW_ROWS:
        few = read_few_rows(((splits[number], rows) for number, rows in by_split.items()), names)
        if few is not None:
            return pa.Table.from_batches([few_rows_batch([few[place] for place in order], schema)])
    calls = [partial(splits[number].take, rows, names) for number, rows in by_split.items()]
    tables = handle.log.workers.together(calls, limit=1 if len(winners) <= FEW_ROWS else threads)
    return pa.concat_tables([empty_table(schema), *tables]).take(array_of(order, pa.int64()))
