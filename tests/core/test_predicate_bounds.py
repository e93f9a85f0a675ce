"""May-match: what bounds rule out, and what they must not."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.predicate import (
    ColumnBounds,
    VectorBounds,
    VectorValues,
    compare,
    may_match,
    may_match_table,
    member,
    parse_predicate,
    prefix_maximum,
)
from predicate_data import POOLS, SCHEMA, column, meaning, predicates, seen_literals

NUMBERS = ColumnBounds(min=5, max=9)
TEXTS = ColumnBounds(min="bar", max="foo")
DOUBLES = ColumnBounds(min=5.0, max=9.0)
NO_NAN = ColumnBounds(min=5.0, max=9.0, has_nan=False)
ONE = ColumnBounds(min=5, max=5)


def may(where: str, **bounds: ColumnBounds) -> bool:
    return may_match(parse_predicate(where, SCHEMA), bounds)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("id = 4", False),
        ("id = 5", True),
        ("id = 9", True),
        ("id = 10", False),
        ("id < 5", False),
        ("id <= 5", True),
        ("id > 9", False),
        ("id >= 9", True),
        ("id <> 5", True),
        ("id <=> 4", False),
        ("NOT (id <=> 4)", True),
        ("id IN (1, 2, 10, 11)", False),
        ("id IN (1, 7, 11)", True),
        ("id NOT IN (5, 9)", True),
        ("id NOT IN (1, NULL)", False),
        ("id IS NULL", True),
        ("id IS NOT NULL", True),
        ("NOT id >= 5", False),
        ("NOT (id < 5 OR id = 7)", True),
        ("NOT (id > 4 AND id < 10)", False),
        ("NOT NOT id = 4", False),
        ("id = 4 OR NULL", False),
        ("id = 4 OR TRUE", True),
        ("id = 4 OR text = 'x'", True),
        ("id = 4 AND text = 'x'", False),
    ],
)
def test_integers(where: str, expected: bool) -> None:
    assert may(where, id=NUMBERS) is expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("id <> 5", False),
        ("id <> 6", True),
        ("id NOT IN (5, 6)", False),
        ("id NOT IN (6)", True),
        ("NOT (id <=> 5)", True),
    ],
)
def test_one_value_only(where: str, expected: bool) -> None:
    assert may(where, id=ONE) is expected


def test_nulls() -> None:
    assert not may("id IS NULL", id=ColumnBounds(has_nulls=False))
    assert may("id IS NULL", id=ColumnBounds(has_nulls=True))
    assert not may("id IS NOT NULL", id=ColumnBounds(all_null=True))
    for where in ("id = 5", "id <> 5", "id IN (5)", "id NOT IN (5)", "id < 5"):
        assert not may(where, id=ColumnBounds(all_null=True)), where
    assert may("NOT (id <=> 5)", id=ColumnBounds(all_null=True, has_nulls=True))
    assert not may("NOT (id <=> 5)", id=ColumnBounds(min=5, max=5, has_nulls=False))
    assert not may("id <=> NULL", id=ColumnBounds(has_nulls=False))


@pytest.mark.parametrize(
    ("where", "unknown", "none"),
    [
        ("score > 10", True, False),
        ("score >= 10", True, False),
        ("NOT score <= 10", True, False),
        ("score = 10", False, False),
        ("score < 5", False, False),
        ("score <= 4", False, False),
        ("score IN (4, 10)", False, False),
        ("score = 'NaN'", True, False),
        ("score >= 'NaN'", True, False),
        ("score > 'NaN'", False, False),
        ("score < 'NaN'", True, True),
        ("score <= 'NaN'", True, True),
        ("score <> 'NaN'", True, True),
        ("score IN (4, 'NaN')", True, False),
        ("score NOT IN (4, 'NaN')", True, True),
        ("score > 10 AND score < 20", False, False),
        ("score BETWEEN 10 AND 20", False, False),
        ("score > 10 AND (score < 20 OR score IS NULL)", True, False),
        ("score > 10 AND score <> 'NaN'", False, False),
        ("score > 10 OR score < 4", True, False),
        ("score < 20 AND (id = 1 OR score > 10)", True, True),
        ("score > 10 AND score > 11", True, False),
        ("score > 10 AND ratio < 11", True, False),
    ],
)
def test_nan_is_above_every_maximum(where: str, unknown: bool, none: bool) -> None:
    assert may(where, score=DOUBLES) is unknown
    assert may(where, score=NO_NAN) is none


def test_nan_and_a_single_value() -> None:
    assert may("score <> 5", score=ColumnBounds(min=5.0, max=5.0))
    assert not may("score <> 5", score=ColumnBounds(min=5.0, max=5.0, has_nan=False))
    assert may("score NOT IN (5)", score=ColumnBounds(min=5.0, max=5.0))
    assert not may("score NOT IN (5, 'NaN')", score=ColumnBounds(min=5.0, max=5.0))
    assert not may("score NOT IN (0) AND score <= 1", score=ColumnBounds(min=-0.0, max=0.0))
    assert may("NOT (score <=> 5)", score=ColumnBounds(min=5.0, max=5.0, has_nulls=False))


def test_a_nan_bound_is_no_bound() -> None:
    assert may("score = 1", score=ColumnBounds(min=math.nan, max=math.nan))
    assert may("score < 1", score=ColumnBounds(min=math.nan, max=2.0))


def test_both_zeros_are_one() -> None:
    for zero in (0.0, -0.0):
        assert may("score = 0", score=ColumnBounds(min=zero, max=zero))
        assert may("score IN (-0.0, 7)", score=ColumnBounds(min=zero, max=zero))
        assert not may("score < 0", score=ColumnBounds(min=zero, max=1.0))


def test_a_float_column_compares_as_double() -> None:
    single = ColumnBounds(min=0.10000000149011612, max=0.10000000149011612)
    assert not may("ratio = 0.1", ratio=single)
    assert may("ratio = 0.1F", ratio=single)


@pytest.mark.parametrize(
    ("where", "exact", "prefix"),
    [
        ("text = 'bar'", True, True),
        ("text = 'ba'", False, False),
        ("text = 'foo'", True, True),
        ("text = 'foobar'", False, True),
        ("text > 'foo'", False, True),
        ("text > 'fop'", False, False),
        ("text >= 'foo'", True, True),
        ("text < 'bar'", False, False),
        ("text <= 'bar'", True, True),
        ("text LIKE 'b%'", True, True),
        ("text LIKE 'a%'", False, False),
        ("text LIKE 'foob%'", False, True),
        ("text LIKE 'g%'", False, False),
        ("text LIKE '%x'", True, True),
        ("text LIKE '_x'", True, True),
        ("text LIKE 'zebra'", False, False),
        ("text NOT LIKE 'b%'", True, True),
        ("text IN ('a', 'foobar')", False, True),
        ("text IN ('a', 'z')", False, False),
    ],
)
def test_texts(where: str, exact: bool, prefix: bool) -> None:
    assert may(where, text=TEXTS) is exact
    assert may(where, text=ColumnBounds(min="bar", max="foo", max_is_prefix=True)) is prefix


def test_not_like_a_common_beginning() -> None:
    same = ColumnBounds(min="error: a", max="error: b", max_is_prefix=True)
    assert not may("text NOT LIKE 'error%'", text=same)
    assert may("text NOT LIKE 'error: a%'", text=same)
    assert may("text NOT LIKE 'error%x'", text=same)
    assert not may("text NOT LIKE 'x'", text=ColumnBounds(min="x", max="x"))
    assert may("text NOT LIKE 'x'", text=ColumnBounds(min="x", max="x", max_is_prefix=True))


def test_a_prefix_maximum_loses_what_was_left_of_a_character() -> None:
    maxima = pa.array(["ab?", "ab\ufffd", "?", "", None, "a?b"])
    assert prefix_maximum(maxima).to_pylist() == [b"ab\xff", b"ab\xff", None, None, None, b"a?b\xff"]
    assert prefix_maximum(pa.array([None], pa.string())).to_pylist() == [None]


def test_half_a_surrogate_pair_is_a_cut() -> None:
    cut = ColumnBounds(min="x\ud83d", max="x\ud83d")
    assert may("text = 'x😀'", text=cut)
    assert may("text = 'x'", text=cut)
    assert not may("text = 'y'", text=cut)
    assert not may("text = 'w'", text=cut)


@pytest.mark.parametrize(
    ("name", "low", "high", "inside", "outside"),
    [
        ("flag", False, False, "FALSE", "TRUE"),
        ("day", dt.date(2024, 1, 1), dt.date(2024, 1, 31), "'2024-01-15'", "'2024-02-01'"),
        ("at", dt.datetime(2024, 1, 1, tzinfo=dt.UTC), None, "'2024-01-15'", "'2023-12-31'"),
        ("local", None, dt.datetime(2024, 1, 1), "'2023-01-15'", "'2024-01-02'"),  # noqa: DTZ001
        ("price", Decimal("1.00"), Decimal("2.00"), "1.5", "2.01"),
        ("raw", b"a", b"b", "X'61'", "X'7A'"),
    ],
)
def test_every_type_is_compared(name: str, low: Any, high: Any, inside: str, outside: str) -> None:
    bounds = {name: ColumnBounds(min=low, max=high)}
    assert may(f"{name} = {inside}", **bounds)
    assert not may(f"{name} = {outside}", **bounds)
    assert may(f"{name} IN ({inside}, {outside})", **bounds)
    assert not may(f"{name} IN ({outside}, {outside})", **bounds)


def test_contradictions_and_unknown_columns_rule_nothing_out() -> None:
    assert may("id = 100", id=ColumnBounds(min=9, max=5))
    assert may("id = 100", other=NUMBERS)
    assert may("id = 100")
    assert not may("FALSE")
    assert not may("NULL")


def test_one_bound_is_enough() -> None:
    assert not may("id = 4", id=ColumnBounds(min=5))
    assert may("id = 400", id=ColumnBounds(min=5))
    assert may("id IN (4, 400)", id=ColumnBounds(min=5))
    assert not may("id IN (1, 2)", id=ColumnBounds(min=5))
    assert not may("id IN (10, 11)", id=ColumnBounds(max=5))


def test_fields_of_structs_and_types_without_order() -> None:
    schema = pa.schema([("user", pa.struct([("age", pa.int64())]))])
    bounds = {"user": ColumnBounds(has_nulls=False), "user.age": NUMBERS, "age": NUMBERS}
    assert may_match(parse_predicate("user.age = 100", schema), bounds)
    assert not may_match(parse_predicate("user IS NULL", schema), bounds)
    assert may_match(parse_predicate("user.age IS NULL", schema), bounds)


def test_many_files_at_once() -> None:
    predicate = parse_predicate("id = 5 AND text = 'x'", SCHEMA)
    ids = VectorBounds(
        min=pa.chunked_array([[1, 6], [None, 9]], pa.int64()), max=pa.chunked_array([[9, 9, 4, 1]], pa.int64())
    )
    texts = VectorValues(pa.array(["x", "x", "x", None]), pa.array([True, True, True, False]))
    answer = may_match_table(predicate, {"id": ids, "text": texts}, length=4)
    assert isinstance(answer, pa.BooleanArray)
    assert answer.to_pylist() == [True, False, False, True]
    assert may_match_table(predicate, {"id": ids}, length=4).to_pylist() == [True, False, False, True]
    assert may_match_table(predicate, {}, length=2).to_pylist() == [True, True]
    assert may_match_table(predicate, {}, length=0).to_pylist() == []


def test_known_values_are_exact() -> None:
    values = VectorValues(pa.array(["a", "b", None]))
    for where, expected in {
        "text <> 'a'": [False, True, False],
        "text NOT LIKE 'a%'": [False, True, False],
        "text LIKE '%a'": [True, False, False],
        "text NOT IN ('a', NULL)": [False, False, False],
        "NOT (text <=> 'a')": [False, True, True],
        "text IS NULL OR text = 'b'": [False, True, True],
    }.items():
        answer = may_match_table(parse_predicate(where, SCHEMA), {"text": values}, length=3)
        assert answer.to_pylist() == expected, where


def test_long_lists_agree_with_single_comparisons() -> None:
    lows, highs = pa.array([0, 11, 25, None, 500]), pa.array([9, 19, 25, 15, None])
    listed = [10, 20, 25, 30, *range(100, 400, 7)]
    ids = {"id": VectorBounds(min=lows, max=highs)}
    together = may_match_table(member(column("id"), listed), ids, length=5).to_pylist()
    single = [may_match_table(compare(column("id"), "=", value), ids, length=5).to_pylist() for value in listed]
    assert together == [any(answers) for answers in zip(*single, strict=True)] == [False, False, True, True, False]


TYPED = [name for name in POOLS if name not in {"day", "at", "local"}]


@pytest.mark.slow
@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_bounds_never_rule_out_a_row_that_matches(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(TYPED))
    values = data.draw(st.lists(st.none() | st.sampled_from(POOLS[name]), min_size=1, max_size=4))
    present = [v for v in values if v is not None and v == v]
    has_nan = any(v != v for v in values)
    bounds = ColumnBounds(
        min=min(present, default=None),
        max=max(present, default=None),
        has_nulls=data.draw(st.sampled_from([None, None in values])),
        all_null=data.draw(st.sampled_from([None, set(values) == {None}])),
        has_nan=data.draw(st.sampled_from([None, has_nan])),
        max_is_prefix=data.draw(st.booleans()),
    )
    rows = [{name: value} for value in values]
    predicate = data.draw(predicates([name], rows))
    if any(meaning(predicate, row) is True for row in rows):
        assert may_match(predicate, {name: bounds})


@pytest.mark.parametrize("name", TYPED)
def test_bounds_rule_out_what_they_can(name: str) -> None:
    """For one row per file, a comparison prunes exactly the files that cannot match, NaN and cut texts aside."""
    literals = seen_literals([{name: value} for value in POOLS[name]])[name]
    for value in POOLS[name]:
        bounds = {name: ColumnBounds(value, value, has_nulls=False, has_nan=False)}
        if value != value:
            continue
        for op in ("=", "<>", "<", "<=", ">", ">=", "<=>"):
            for literal in literals:
                predicate = compare(column(name), op, literal)
                assert may_match(predicate, bounds) is meaning(predicate, {name: value}), (op, value, literal)
