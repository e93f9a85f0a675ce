"""Rows by the numbers in a column: the same as by comparing all of them."""

from __future__ import annotations

import datetime as dt
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.predicate import TRUE, ColumnBounds, Predicate, evaluate, parse_predicate
from indextables.split.index.doc_mapping import plan_mapping
from indextables.split.plan.column_lookup import ColumnLookup, KeptNumbers, Numbers
from indextables.split.plan.costs import COSTS
from indextables.split.plan.predicate_plan import fold

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("small", pa.int8()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("text", pa.string()),
    ]
)
EDGES = [-(2**63), -(2**31), -129, -128, -1, 0, 1, 127, 128, 2**31, 2**63 - 1]


@st.composite
def runs(draw: st.DrawFn) -> list[tuple[int, int]]:
    places = sorted(draw(st.sets(st.integers(-20, 20) | st.sampled_from(EDGES), max_size=12)))
    if draw(st.booleans()):
        return [(place, place) for place in places]
    return list(zip(places[::2], places[1::2], strict=False))


@given(
    values=st.lists(st.none() | st.integers(-20, 20) | st.sampled_from([-128, 127]), max_size=40),
    width=st.sampled_from([pa.int8(), pa.int32(), pa.int64()]),
    ascending=st.booleans(),
    wanted=runs(),
)
@settings(max_examples=examples(200), deadline=None)
def test_rows_in_runs(
    values: list[int | None], width: pa.DataType, ascending: bool, wanted: list[tuple[int, int]]
) -> None:
    if ascending:
        values.sort(key=lambda value: (value is not None, value or 0))
    found = Numbers(pa.array(values, width)).rows_in(wanted)
    expected = [
        row
        for row, value in enumerate(values)
        if value is not None and any(low <= value <= high for low, high in wanted)
    ]
    assert found.tolist() == expected
    assert found.dtype == np.int64


class Columns:
    """The columns of a table, and the names of those that were read."""

    def __init__(self, lookup: ColumnLookup, bounds: dict[str, ColumnBounds]) -> None:
        self.lookup, self.bounds = lookup, bounds

    def look_up(self, predicate: Predicate) -> tuple[Any, Predicate] | None:
        return self.lookup.look_up(predicate, self.bounds)


def columns(table: pa.Table, kept: KeptNumbers, read: list[str], properties: dict[str, str] | None = None) -> Columns:
    stored = {"day": pa.int32(), "at": pa.int64()}
    bounds = {
        name: ColumnBounds(min(known), max(known))
        for name in table.column_names
        if (known := [value for value in table.column(name).to_pylist() if value is not None])
    }

    def numbers(name: str) -> pa.Array:
        read.append(name)
        return table.column(name).combine_chunks().cast(stored.get(name, table.schema.field(name).type))

    mapping = plan_mapping(SCHEMA, (), properties or {})
    return Columns(ColumnLookup(kept, "split", table.num_rows, mapping, numbers, COSTS), bounds)


def logs(count: int) -> pa.Table:
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    return pa.table(
        [
            list(range(count)),
            [None if row % 7 == 0 else row % 100 for row in range(count)],
            [dt.date(2024, 1, 1) + dt.timedelta(days=row * 37 % 365) for row in range(count)],
            [start + dt.timedelta(seconds=row) for row in range(count)],
            [f"text {row % 10}" for row in range(count)],
        ],
        schema=SCHEMA,
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("id = 77", None),
        ("id <=> 77", None),
        ("id IN (5, 7, 9, 100000, NULL)", None),
        ("id = 5 OR id IN (6, 8)", None),
        ("id >= 100 AND id < 200", None),
        ("id > 200 AND id < 100", None),
        ("at >= TIMESTAMP '2024-01-01T00:01:00Z' AND at < TIMESTAMP '2024-01-01T00:02:00Z'", None),
        ("day = DATE '2024-02-29'", None),
        ("day BETWEEN DATE '2024-02-01' AND DATE '2024-02-29'", None),
        ("small = 3 AND small IS NOT NULL", None),
        ("small = 3 AND id < 500", "id < 500"),
        ("small IN (3, 4, 5) AND id < 500", None),
        ("id = 77 AND text = 'text 7'", "text = 'text 7'"),
        ("id IN (77, 78) AND NOT small = 3", "small <> 3"),
        ("id = 77 AND (text = 'a' OR small = 77)", "text = 'a' OR small = 77"),
    ],
)
def test_few_rows_are_found(text: str, left: str | None) -> None:
    table, read = logs(5_000), list[str]()
    predicate = fold(parse_predicate(text, SCHEMA), {})
    found = columns(table, KeptNumbers(), read).look_up(predicate)
    assert found is not None
    rows, residual = found
    assert residual == (TRUE if left is None else fold(parse_predicate(left, SCHEMA), {}))
    taken = table.take(pa.array(rows))
    assert taken.filter(evaluate(residual, taken)) == table.filter(evaluate(predicate, table))


@pytest.mark.parametrize(
    "text",
    [
        "text = 'text 7'",
        "id <> 7",
        "NOT id IN (7, 8)",
        "id > 100",
        "id = 7 OR text = 'text 7'",
        "id < 500 AND text = 'text 7'",
        "small IS NULL",
    ],
)
def test_others_are_not_its_business(text: str) -> None:
    table = logs(5_000)
    assert columns(table, KeptNumbers(), []).look_up(fold(parse_predicate(text, SCHEMA), {})) is None


def test_a_column_is_read_once_and_then_answers_wide_ranges_too() -> None:
    table, kept, read = logs(5_000), KeptNumbers(), list[str]()
    few, many = (fold(parse_predicate(text, SCHEMA), {}) for text in ("id = 7", "id > 100"))
    assert columns(table, kept, read).look_up(many) is None
    assert not read
    for _ in range(3):
        assert columns(table, kept, read).look_up(few) is not None
    assert read == ["id"]
    found = columns(table, kept, read).look_up(many)
    assert found is not None
    assert found[0].tolist() == list(range(101, 5_000))


def test_a_column_with_an_index_of_its_values_is_asked_there() -> None:
    table = logs(5_000)
    options = {"spark.indextables.indexing.lookupfields": "id"}
    predicate = fold(parse_predicate("id = 7", SCHEMA), {})
    assert columns(table, KeptNumbers(), [], options).look_up(predicate) is None


def test_threads_that_want_the_same_column_read_it_once() -> None:
    threads, reads = 8, list[str]()
    kept, begun, go_on = KeptNumbers(), threading.Event(), threading.Event()

    def slow() -> Numbers:
        reads.append("slow")
        begun.set()
        assert go_on.wait(30)
        return Numbers(pa.array([1, 2]))

    with ThreadPoolExecutor(threads) as pool:
        waiting = [pool.submit(kept.get_or_load, "slow", slow) for _ in range(threads - 1)]
        assert begun.wait(30)
        other = pool.submit(kept.get_or_load, "other", lambda: Numbers(pa.array([3])))
        assert other.result(30).nbytes == 8  # it did not wait for the slow one
        go_on.set()
        found = [each.result(30) for each in waiting]
    assert reads == ["slow"]
    assert all(each is found[0] for each in found)
    assert not kept.loading


def test_a_column_that_cannot_be_read_is_tried_again() -> None:
    def fail() -> Numbers:
        raise OSError("gone")

    kept = KeptNumbers()
    with pytest.raises(OSError, match="gone"):
        kept.get_or_load("id", fail)
    assert kept.get_or_load("id", lambda: Numbers(pa.array([1]))).nbytes == 8
    assert not kept.loading


def test_no_more_is_kept_than_allowed() -> None:
    kept = KeptNumbers(1_000)
    for mark in range(5):
        kept.put(mark, Numbers(pa.array(range(50), pa.int64())))
        kept.put(mark, Numbers(pa.array(range(50), pa.int64())))
        kept.get(0)
    assert [mark for mark in range(5) if kept.get(mark) is not None] == [0, 4]
    assert len(kept) == 2
    kept.put("large", Numbers(pa.array(range(500), pa.int64())))
    assert len(kept) == 0
