"""Bounds, order and cuts of manifests hold for any partition values: of any type, null, foreign or broken."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.values import from_text, to_text
from indextables.log.state.partition_bounds import partition_bounds, partition_order
from indextables.log.state.writing.compact import cut_evenly
from predicate_data import VALUES
from state.support import entry, files_of

SCHEMA = pa.schema(
    [
        ("tiny", pa.int8()),
        ("id", pa.int64()),
        ("ratio", pa.float32()),
        ("score", pa.float64()),
        ("flag", pa.bool_()),
        ("text", pa.string()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")),
        ("price", pa.decimal128(5, 2)),
        ("big", pa.decimal128(38, 10)),
    ]
)
QUICK = settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
STRANGE = [
    "",
    "?",
    "NULL",
    "-0",
    "+1",
    "1e2",
    " 1",
    "2024-01-01",
    "2024-01-01T00:00:00+02:00",
    "1700000000",
    "true",
    "9",
    "10",
]


def moments(name: str) -> st.SearchStrategy[Any]:
    if name == "day":
        return st.dates()
    zone = dt.UTC if name == "at" else None
    return st.datetimes().map(lambda moment: moment.replace(tzinfo=zone))


def texts(name: str) -> st.SearchStrategy[str | None]:
    """Texts of values of a column, as our writers make them."""
    values = moments(name) if name in ("day", "at", "local") else VALUES[name]
    return values.map(lambda value: to_text(value, SCHEMA.field(name).type, keep_nan=True)).filter(
        lambda t: t is not None
    )


def table_of(name: str, column: list[str | None]) -> pa.Table:
    return files_of(
        [entry(n, partitionValues={name: text} if text is not None else {}) for n, text in enumerate(column)]
    )


def rank(value: Any) -> tuple[int, Any]:
    """Spark's order: NaN above every number, strings by code point."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return (0, value.encode() if isinstance(value, str) else value)


@pytest.mark.parametrize("name", SCHEMA.names)
@QUICK
@given(data=st.data())
def test_bounds_cover_every_value(name: str, data: st.DataObject) -> None:
    column = data.draw(st.lists(texts(name), min_size=1, max_size=8))
    bounds = partition_bounds(table_of(name, column), SCHEMA, [name])
    assert bounds is not None
    low, high = bounds[name]
    assert low in column
    assert high in column
    kind = SCHEMA.field(name).type
    for text in column:
        value = from_text(text, kind)
        assert rank(from_text(low, kind)) <= rank(value) <= rank(from_text(high, kind)), (low, text, high)


@pytest.mark.parametrize("name", SCHEMA.names)
@QUICK
@given(data=st.data())
def test_what_is_null_or_not_of_the_type_leaves_no_bounds(name: str, data: st.DataObject) -> None:
    """Bounds are there only where every value can be read; and then they cover all of them, however they are spelt."""
    column = data.draw(st.lists(st.none() | texts(name) | st.sampled_from(STRANGE), min_size=1, max_size=6))
    bounds = partition_bounds(table_of(name, column), SCHEMA, [name])
    assert bounds is not None
    low, high = bounds[name]
    kind = SCHEMA.field(name).type
    values = [from_text(text, kind) for text in column]
    if None in values:
        assert (low, high) == (None, None)
    else:
        assert low is not None
        assert high is not None
        assert rank(from_text(low, kind)) == min(map(rank, values))
        assert rank(from_text(high, kind)) == max(map(rank, values))


@QUICK
@given(data=st.data())
def test_files_are_in_the_order_of_their_partitions(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(SCHEMA.names), min_size=1, max_size=2, unique=True))
    rows = data.draw(
        st.lists(st.tuples(*(st.none() | texts(name) | st.sampled_from(STRANGE) for name in names)), max_size=12)
    )
    files = files_of(
        [
            entry(n, partitionValues={name: text for name, text in zip(names, row, strict=True) if text is not None})
            for n, row in enumerate(rows)
        ]
    )
    ordered, starts = partition_order(files, SCHEMA, names)
    assert sorted(ordered["path"].to_pylist()) == sorted(files["path"].to_pylist())
    found = [tuple(dict(values).get(name) for name in names) for values in ordered["partitionValues"].to_pylist()]
    borders = [n for n, row in enumerate(found) if n == 0 or row != found[n - 1]]
    assert starts.tolist() == borders
    first = [from_text(row[0], SCHEMA.field(names[0]).type) for row in found]
    known = [rank(value) for value in first if value is not None]
    assert known == sorted(known)
    assert None not in first[: len(known)], "what cannot be compared comes last"
    assert len(set(found)) == len(borders), "each partition is in one place"


@settings(max_examples=examples(75), deadline=None)
@given(
    sizes=st.lists(st.integers(1, 30), max_size=20),
    most=st.integers(1, 40),
)
def test_pieces_are_even_and_cut_at_borders(sizes: list[int], most: int) -> None:
    rows = sum(sizes)
    files = pa.table({"row": np.arange(rows)})
    starts = np.cumsum([0, *sizes])[: len(sizes)].astype(np.int64)
    pieces = cut_evenly(files, starts, most)
    lengths = [piece.num_rows for piece in pieces]
    assert [row for piece in pieces for row in piece["row"].to_pylist()] == list(range(rows))
    assert all(0 < length <= most for length in lengths)
    assert len(lengths) == -(-rows // most), "as few as possible"
    assert all(2 * length >= most for length in lengths) or 2 * rows < most, "none is less than half full"
    if not starts[1:].size:
        assert max(lengths, default=0) - min(lengths, default=0) <= 1, "without borders, as even as can be"
    ends = np.cumsum(lengths).tolist()
    for number, (begin, end) in enumerate(pairwise([0, *ends])):
        left = len(lengths) - number - 1
        low = max(begin + (most + 1) // 2, rows - left * most)
        high = min(begin + most, rows - left * ((most + 1) // 2))
        allowed = [border for border in starts.tolist() if low <= border <= high]
        if left and allowed:
            assert end in allowed, "a border, where one leaves all pieces half full"


def test_a_decimal_that_is_written_otherwise_is_the_same_number() -> None:
    bounds = partition_bounds(table_of("price", ["1.50", "1.5", "-2"]), SCHEMA, ["price"])
    assert bounds is not None
    low, high = bounds["price"]
    assert low == "-2"
    assert Decimal(high or "0") == Decimal("1.5")
