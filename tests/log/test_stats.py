"""Statistics: computed from rows, limited to some columns, and cut without losing anything."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.bound_texts import column_stats, truncated_maximum, truncated_minimum
from indextables.core.options import Options
from indextables.log.bound_limits import limit_stats
from predicate_data import SCHEMA, to_table

WIDE = pa.schema([("a", pa.string()), ("p", pa.string()), ("b", pa.string()), ("n", pa.int64()), ("c", pa.string())])


def limited(values: dict[str, str | None] | None, **options: Any) -> tuple[Any, Any]:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return limit_stats(values, values, schema=WIDE, partition_columns=["p"], options=Options(named))


LONG = "x" * 40
EVERY = {"a": LONG, "p": LONG, "b": "short", "n": "1" * 40, "c": LONG}


def test_long_texts_are_cut_but_not_numbers_nor_partition_columns() -> None:
    low, high = limited(EVERY)
    assert low == {"a": "x" * 32, "p": LONG, "b": "short", "n": "1" * 40, "c": "x" * 32}
    assert high == {"a": "x" * 31 + "y", "p": LONG, "b": "short", "n": "1" * 40, "c": "x" * 31 + "y"}


def test_truncation_can_be_turned_off_or_set() -> None:
    assert limited(EVERY, stats_truncation_enabled=False) == (EVERY, EVERY)
    low, high = limited({"b": "abc"}, stats_truncation_maxLength=2)
    assert (low, high) == ({"b": "ab"}, {"b": "ac"})


def test_the_first_columns_are_kept_and_partition_columns_do_not_count() -> None:
    low, high = limited(EVERY, dataSkippingNumIndexedCols=2)
    assert low is not None
    assert list(low) == list(high) == ["a", "p", "b"]
    assert limited({"a": "1"}, dataSkippingNumIndexedCols=0) == (None, None)
    assert limited(EVERY, dataSkippingNumIndexedCols=-1)[0].keys() == EVERY.keys()


def test_listed_columns_win() -> None:
    low, _ = limited(EVERY, dataSkippingStatsColumns="C,b", dataSkippingNumIndexedCols=1)
    assert list(low) == ["p", "b", "c"]


def test_names_match_in_any_case_and_unknown_ones_go() -> None:
    low, high = limited({"A": LONG, "gone": "x", "P": LONG})
    assert low == {"A": "x" * 32, "P": LONG}
    assert high == {"A": "x" * 31 + "y", "P": LONG}


def test_nothing_stays_nothing() -> None:
    assert limited(None) == (None, None)
    assert limited({}) == (None, None)
    assert limited({"a": None}) == (None, None)
    assert limited({"a": "\U0010ffff" * 40}) == ({"a": "\U0010ffff" * 32}, None)


@pytest.mark.parametrize(
    ("text", "length", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abd"),
        ("ab\U0010ffff\U0010ffff", 3, "ac"),
        ("a\ud7ffx", 2, "a\ue000"),
        ("\U0010ffff\U0010ffff", 1, None),
        ("😀😀", 1, "😁"),
        ("", 1, ""),
        ("a\ud83dx", 2, "a\ue000"),
    ],
)
def test_maxima_are_rounded_up(text: str, length: int, expected: str | None) -> None:
    assert truncated_maximum(text, length) == expected


LETTERS = st.sampled_from(["a", "b", "\u0000", "\ud7ff", "\ue000", "\uffff", "😀", "\U0010ffff"])


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(LETTERS, max_size=6).map("".join), st.integers(1, 6), st.text(max_size=3))
def test_cut_bounds_hold_for_everything_that_begins_alike(text: str, length: int, tail: str) -> None:
    low, high = truncated_minimum(text, length), truncated_maximum(text, length)
    assert low.encode() <= text.encode()
    assert len(low) <= length
    if high is not None:
        assert len(high) <= length
        assert high.encode() >= text.encode()
        if len(text) > length:
            assert high.encode() > (text[:length] + tail).encode()


def test_bounds_of_rows() -> None:
    data = [
        {"tiny": 3, "id": -5, "ratio": 0.5, "score": math.nan, "flag": True, "text": "b", "day": 1, "at": 0, "local": 1,
         "price": Decimal("1.50"), "big": Decimal("-0.0000000001"), "raw": b"x"},
        {"tiny": -3, "id": None, "ratio": -math.inf, "score": 1.5, "flag": False, "text": "😀", "day": -1, "at": -1,
         "local": -1, "price": None, "big": Decimal("7.0000000000"), "raw": None},
    ]  # fmt: skip
    low, high, nulls = column_stats(to_table(data), SCHEMA)
    assert low == {
        "tiny": "-3",
        "id": "-5",
        "ratio": "-Infinity",
        "score": "1.5",
        "flag": "false",
        "text": "b",
        "day": "1969-12-31",
        "at": "1969-12-31T23:59:59.999999Z",
        "local": "1969-12-31T23:59:59.999999",
        "price": "1.50",
        "big": "-0.0000000001",
    }
    assert high == {
        "tiny": "3",
        "id": "-5",
        "ratio": "0.5",
        "score": "1.5",
        "flag": "true",
        "text": "😀",
        "day": "1970-01-02",
        "at": "1970-01-01T00:00:00.000000Z",
        "local": "1970-01-01T00:00:00.000001",
        "price": "1.50",
        "big": "7.0000000000",
    }
    assert nulls == dict.fromkeys(SCHEMA.names, 0) | {"id": 1, "price": 1, "raw": 1}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 1.0], ("0.0", "1.0")),
        ([-0.0, 1.0], ("-0.0", "1.0")),
        ([0.0, -0.0], ("-0.0", "0.0")),
        ([-1.0, -0.0], ("-1.0", "0.0")),
        ([math.nan, 2.0, math.nan], ("2.0", "2.0")),
        ([math.nan], (None, None)),
        ([None], (None, None)),
        ([], (None, None)),
    ],
)
@pytest.mark.parametrize("arrow_type", [pa.float32(), pa.float64()], ids=str)
def test_zeros_and_nans(values: list[Any], expected: tuple[str | None, str | None], arrow_type: pa.DataType) -> None:
    schema = pa.schema([("x", arrow_type)])
    for table in (pa.table({"x": pa.array(values, arrow_type)}), pa.record_batch({"x": pa.array(values, arrow_type)})):
        low, high, nulls = column_stats(table, schema)
        assert (low.get("x"), high.get("x")) == expected
        assert nulls == {"x": values.count(None)}


def test_times_beyond_the_year_9999_have_no_bound_on_that_side() -> None:
    data = pa.table(
        {
            "at": pa.array([0, 2**63 - 1], pa.int64()).cast(pa.timestamp("us", "UTC")),
            "day": pa.array([-(2**31), 0], pa.int32()).cast(pa.date32()),
        }
    )
    low, high, _ = column_stats(data, data.schema)
    assert low == {"at": "1970-01-01T00:00:00.000000Z"}
    assert high == {"day": "1970-01-01"}


def test_narrower_data_is_widened() -> None:
    data = pa.table({"n": pa.array([2, 1], pa.int32())})
    assert column_stats(data, pa.schema([("n", pa.int64())])) == ({"n": "1"}, {"n": "2"}, {"n": 0})


def test_other_layouts_and_missing_columns() -> None:
    schema = pa.schema([("s", pa.string()), ("gone", pa.int64()), ("l", pa.list_(pa.int64()))])
    layouts = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
    for layout in layouts:
        data = pa.table({"s": pa.array(["b", "a", None]).cast(layout), "l": [[1], None, None]})
        assert column_stats(data, schema) == ({"s": "a"}, {"s": "b"}, {"s": 1, "l": 2})
