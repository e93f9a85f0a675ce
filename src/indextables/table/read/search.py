"""`Table.search`: the best rows of all splits, with their scores.

Each split is asked for its best rows side by side with others, and of all of them the best are read. Equal scores are ordered by
the split's path and the row's number, so that the same question has the same answer each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import pyarrow as pa

from indextables.core.errors import SchemaError
from indextables.core.predicate import Predicate
from indextables.core.runtime.ordered_streams import in_order
from indextables.log.refresh import read_files
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.split.index.doc_mapping import DocMapping
from indextables.split.query.bind import Bound
from indextables.split.query.rank import Hits
from indextables.split.query.snippet import Highlighter
from indextables.split.reader import SplitReader
from indextables.table.format_gate import check_bundles
from indextables.table.read.few_rows import FEW, plain_batch, plain_rows
from indextables.table.read.request import bound_query, narrowed
from indextables.table.read.scan import chosen_columns
from indextables.table.read.split_readers import Alone, Asking, readers, reading_threads
from indextables.table.table_mapping import mapping_of

_Winner: TypeAlias = tuple[float, int, int]
"""Its score, the number of its split, and its row there."""

SCORE: Final = "_score"
SNIPPETS: Final = "_snippets"
_SNIPPET: Final = pa.struct(
    [("text", pa.string()), ("highlights", pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32())])))]
)


def search(
    log: TableLog,
    snapshot: Snapshot,
    query: str,
    columns: Sequence[str] | None = None,
    where: Predicate | None = None,
    limit: int = 10,
    snippets: Sequence[str] | None = None,
) -> tuple[Snapshot, pa.Table]:
    """The `limit` best rows, best first, with `_score`, and the snapshot that they are from."""
    check_bundles(snapshot, "searching")
    names = chosen_columns(columns, snapshot.schema)
    asked = bound_query(query, snapshot)
    mapping = mapping_of(snapshot)
    shown = _texts(snippets, snapshot.schema, mapping)
    taken = {SCORE, *([SNIPPETS] if shown else [])} & set(snapshot.schema.names)
    if taken:
        raise SchemaError(f"the table has a column {min(taken)} of its own; use scan(query=…)", column=min(taken))
    snapshot, files = read_files(log, snapshot, narrowed(where, asked))
    splits = list(readers(log, snapshot, files))
    with Asking():
        best = _winners(log, splits, where, asked, limit)
        found = _rows(log, splits, best, list(dict.fromkeys([*names, *shown])), snapshot.schema)
    fields = [snapshot.schema.field(name) for name in names] + [pa.field(SCORE, pa.float64())]
    columns = [found.column(name) for name in names] + [pa.array([score for score, _, _ in best], pa.float64())]
    if shown:
        columns.append(_snippets(found, shown, asked, mapping))
        fields.append(pa.field(SNIPPETS, columns[-1].type))
    return snapshot, pa.table(columns, schema=pa.schema(fields))


def _winners(
    log: TableLog, splits: Sequence[SplitReader], where: Predicate | None, query: Bound, limit: int
) -> list[_Winner]:
    """The best of all splits, best first. Only of these the rows are looked up."""
    alone, found = Alone(len(splits)), list[Hits]()
    for split in splits:
        found.append(split.hits(where, query, limit))
        if alone.ends():
            break
    starts = (partial(_hits, split, where, query, limit) for split in splits[len(found) :])
    found += in_order(starts, threads=reading_threads(log))
    hits = [
        (-score, split.key, place)
        for split, some in zip(splits, found, strict=True)
        for place, score in enumerate(some.scores)
    ]
    hits.sort()
    places: dict[str, list[int]] = {}
    for _, key, place in hits[:limit]:
        places.setdefault(key, []).append(place)
    numbers = {split.key: number for number, split in enumerate(splits)}
    rows = {key: iter(found[numbers[key]].rows(some).tolist()) for key, some in places.items()}
    return [(-score, numbers[key], next(rows[key])) for score, key, _ in hits[:limit]]


def _hits(split: SplitReader, where: Predicate | None, query: Bound, limit: int) -> Iterator[Hits]:
    yield split.hits(where, query, limit)


def _rows(
    log: TableLog,
    splits: Sequence[SplitReader],
    best: Sequence[_Winner],
    names: list[str],
    schema: pa.Schema,
) -> pa.Table:
    """The winners, in their order. Without columns there is nothing to read."""
    if not names:
        return pa.table({})
    by_split: dict[int, list[int]] = {}
    for _, number, row in best:
        by_split.setdefault(number, []).append(row)
    by_split = {number: sorted(rows) for number, rows in by_split.items()}
    wanted = pa.schema([schema.field(name) for name in names])
    places = {
        key: place for place, key in enumerate((number, row) for number, rows in by_split.items() for row in rows)
    }
    order = [places[number, row] for _, number, row in best]
    if 0 < len(best) <= FEW:
        plain = plain_rows(((splits[number], rows) for number, rows in by_split.items()), names)
        if plain is not None:
            return pa.Table.from_batches([plain_batch([plain[place] for place in order], wanted)])
    calls = [partial(splits[number].take, rows, names) for number, rows in by_split.items()]
    tables = log.workers.together(calls, limit=1 if len(best) <= FEW else reading_threads(log))
    return pa.concat_tables([wanted.empty_table(), *tables]).take(pa.array(order, pa.int64()))


def _texts(snippets: Any, schema: pa.Schema, mapping: DocMapping) -> list[str]:
    if snippets is None:
        return []
    names = chosen_columns(snippets, schema)
    for name in names:
        field = mapping.field(name)
        if field is None or field.kind != "text":
            raise SchemaError(f"snippets are made of text columns, {name} is not indexed as text", column=name)
    return names


def _snippets(found: pa.Table, names: Sequence[str], query: Bound, mapping: DocMapping) -> pa.Array:
    columns = []
    for name in names:
        field = mapping.field(name)
        assert field is not None
        highlighter = Highlighter(query, field, mapping.max_token_length)
        made = [highlighter.snippet(text) for text in found.column(name).to_pylist()]
        columns.append(
            pa.array(
                [
                    None
                    if snippet is None
                    else {
                        "text": snippet.text,
                        "highlights": [{"start": start, "end": end} for start, end in snippet.highlights],
                    }
                    for snippet in made
                ],
                _SNIPPET,
            )
        )
    return pa.StructArray.from_arrays(columns, list(names))
