"""`Table.search`: the best rows of all splits, with their scores.

ReadPlan ──▶ each split ranks its rows ──▶ ranking.best_rows ──▶ the winners' rows are read ──▶ `_score`, `_snippets`
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from indextables.core.arrow_values import array_of
from indextables.core.predicate import Predicate
from indextables.core.runtime.ordered_streams import in_order
from indextables.split.query.bound import Bound
from indextables.split.query.condition import Condition
from indextables.split.query.rank import Hits
from indextables.split.reader import SplitReader
from indextables.table.handle import TableHandle
from indextables.table.read.parallelism import ActiveQuery, SerialPhase, reading_threads
from indextables.table.read.ranking import best_rows, read_winners
from indextables.table.read.request import SCORE, SNIPPETS, ReadRequest, bound_query, plan_read
from indextables.table.read.snippets import Snippets
from indextables.table.read.split_readers import split_readers


def search(handle: TableHandle, request: ReadRequest) -> pa.Table:
    """The best rows, best first, with `_score`: at most `limit` after the first `offset`."""
    plan = plan_read(handle, request)
    last = request.last
    assert request.query is not None, "a search has a query"
    assert last is not None, "a search has a limit"
    names = request.columns
    splits = list(split_readers(handle, plan.files))
    with ActiveQuery():
        hits = _ranked(handle, splits, plan.condition, last)
        best = best_rows([split.path for split in splits], hits, last)[request.offset :]
        wanted = list(dict.fromkeys([*names, *request.snippets]))
        rows = read_winners(handle, splits, [(number, row) for _, number, row in best], wanted, reading_threads(handle))
    fields = [handle.schema.field(name) for name in names] + [pa.field(SCORE, pa.float64())]
    columns = [rows.column(name) for name in names] + [array_of([score for score, _, _ in best], pa.float64())]
    if request.snippets:
        shown = Snippets(handle, bound_query(handle, request.query).bound, request.snippets)
        made = [shown.of(name, rows.column(name)) for name in request.snippets]
        columns.append(pa.StructArray.from_arrays(made, list(request.snippets)))
        fields.append(pa.field(SNIPPETS, columns[-1].type))
    return pa.table(columns, schema=pa.schema(fields))


def _ranked(handle: TableHandle, splits: Sequence[SplitReader], condition: Condition, limit: int) -> list[Hits]:
    """The best rows of each split, at most `limit` of each, in the order of the splits."""
    where, bound = condition.predicate, condition.query
    assert bound is not None, "a search has a query"
    phase, ranked = SerialPhase(len(splits)), list[Hits]()
    for split in splits:
        ranked.append(split.hits(where, bound, limit))
        if phase.should_parallelise():
            break
    if len(ranked) < len(splits):
        starts = (partial(_hits, split, where, bound, limit) for split in splits[len(ranked) :])
        ranked += in_order(starts, threads=reading_threads(handle))
    return ranked


def _hits(split: SplitReader, where: Predicate | None, bound: Bound, limit: int) -> Iterator[Hits]:
    yield split.hits(where, bound, limit)
