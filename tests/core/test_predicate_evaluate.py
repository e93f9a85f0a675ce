"""Evaluation against a row-by-row model, and the corners where Spark differs from Arrow."""

from __future__ import annotations

import itertools
import math
import pickle
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import PredicateError
from indextables.core.predicate import (
    And,
    Column,
    Comparison,
    IsNull,
    Literal,
    Not,
    Or,
    compare,
    evaluate,
    like,
    member,
    parse_predicate,
    push_down_not,
    to_sql,
)
from indextables.core.values import EXACT
from predicate_data import LITERALS, OPS, SCHEMA, VALUES, column, holds, meaning, predicates, rows, to_table


@pytest.mark.slow
@settings(max_examples=examples(100), deadline=None)
@given(rows(max_size=8), predicates())
def test_equals_the_row_by_row_model(data: list[dict[str, Any]], predicate: Any) -> None:
    expected = [meaning(predicate, row) for row in data]
    table = to_table(data)
    assert evaluate(predicate, table).to_pylist() == expected
    for batch in table.to_batches():
        assert evaluate(predicate, batch).to_pylist() == expected
    assert evaluate(push_down_not(predicate), table).to_pylist() == expected


@settings(max_examples=examples(100), deadline=None)
@given(predicates())
def test_sql_text_and_pickle_give_the_same_predicate_back(predicate: Any) -> None:
    again = parse_predicate(to_sql(predicate), SCHEMA)
    assert to_sql(again) == to_sql(parse_predicate(to_sql(again), SCHEMA))
    assert again == _flat(predicate)
    copy = pickle.loads(pickle.dumps(predicate))
    assert copy == predicate
    assert hash(copy) == hash(predicate)


def _flat(predicate: Any) -> Any:
    """As the parser builds it: a conjunction inside a conjunction is taken apart."""
    if isinstance(predicate, And | Or):
        kind = type(predicate)
        parts = [_flat(child) for child in predicate.children]
        return kind(tuple(p for part in parts for p in (part.children if isinstance(part, kind) else (part,))))
    if isinstance(predicate, Not):
        return Not(_flat(predicate.child))
    return predicate


EXACT_NUMBERS = ["tiny", "id", "price", "big"]


@pytest.mark.parametrize("name", EXACT_NUMBERS)
@settings(max_examples=examples(75), deadline=None)
@given(data=st.data())
def test_numbers_are_compared_by_value_and_never_rounded(name: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(VALUES[name], min_size=1, max_size=5))
    literal = data.draw(LITERALS[name] | st.sampled_from(values).map(lambda v: EXACT.add(Decimal(v), Decimal("0.001"))))
    op = data.draw(st.sampled_from(OPS))
    table = pa.table({name: pa.array([*values, None], SCHEMA.field(name).type)})
    exact = Decimal(literal)
    expected = [holds(Decimal(value), op, exact) for value in values] + [False if op == "<=>" else None]
    assert evaluate(compare(column(name), op, literal), table).to_pylist() == expected  # type: ignore[arg-type]
    listed = [Decimal(value) == exact for value in values] + [None]
    assert evaluate(member(column(name), [literal]), table).to_pylist() == listed


NAN = math.nan


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("x = CAST('NaN' AS DOUBLE)", [False, False, True, None]),
        ("x <> CAST('NaN' AS DOUBLE)", [True, True, False, None]),
        ("x < CAST('NaN' AS DOUBLE)", [True, True, False, None]),
        ("x <= CAST('NaN' AS DOUBLE)", [True, True, True, None]),
        ("x > CAST('NaN' AS DOUBLE)", [False, False, False, None]),
        ("x >= CAST('NaN' AS DOUBLE)", [False, False, True, None]),
        ("x > 1e300", [False, True, True, None]),
        ("x = 0.0", [True, False, False, None]),
        ("x IN (0, CAST('NaN' AS DOUBLE))", [True, False, True, None]),
        ("x NOT IN (0, NULL)", [False, None, None, None]),
        ("x IN (0, NULL)", [True, None, None, None]),
        ("x <=> NULL", [False, False, False, True]),
        ("NOT (x <=> 0)", [False, True, True, True]),
        ("x > 'Infinity'", [False, False, True, None]),
    ],
)
def test_nan_is_equal_to_itself_and_the_greatest(where: str, expected: list[bool | None]) -> None:
    table = pa.table({"x": pa.array([-0.0, math.inf, NAN, None])})
    assert evaluate(parse_predicate(where, table.schema), table).to_pylist() == expected


def test_a_float_column_is_compared_as_double() -> None:
    table = pa.table({"f": pa.array([0.1, 0.5], pa.float32())})
    assert evaluate(parse_predicate("f = 0.1", table.schema), table).to_pylist() == [False, False]
    assert evaluate(parse_predicate("f = 0.1F", table.schema), table).to_pylist() == [True, False]
    assert evaluate(parse_predicate("f = 0.5", table.schema), table).to_pylist() == [False, True]


def test_fields_of_structs_are_null_where_the_struct_is() -> None:
    user = pa.struct([("name", pa.string()), ("home", pa.struct([("zip", pa.int32())]))])
    values = [{"name": "ann", "home": {"zip": 7}}, {"name": None, "home": None}, None]
    table = pa.table({"user": pa.array(values, user)})
    for data in (table, table.to_batches()[0]):
        assert evaluate(parse_predicate("user.name = 'ann'", table.schema), data).to_pylist() == [True, None, None]
        assert evaluate(parse_predicate("USER.home.ZIP > 6", table.schema), data).to_pylist() == [True, None, None]
        assert evaluate(parse_predicate("user.home IS NULL", table.schema), data).to_pylist() == [False, True, True]


@pytest.mark.parametrize(
    "arrow_type", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())], ids=str
)
def test_other_layouts_of_strings_are_read(arrow_type: pa.DataType) -> None:
    schema = pa.schema([("s", pa.string())])
    table = pa.table({"s": pa.array(["a", "b", None]).cast(arrow_type)})
    for where, expected in {"s = 'a'": [True, False, None], "s IN ('b')": [False, True, None]}.items():
        assert evaluate(parse_predicate(where, schema), table).to_pylist() == expected
    if not pa.types.is_dictionary(arrow_type):
        assert evaluate(parse_predicate("s LIKE '_'", table.schema), table).to_pylist() == [True, True, None]
        assert evaluate(parse_predicate("s >= 'b'", table.schema), table).to_pylist() == [False, True, None]


def test_a_timestamp_with_zone_is_an_instant() -> None:
    table = pa.table({"at": pa.array([0], pa.int64()).cast(pa.timestamp("us", "Europe/Berlin"))})
    assert evaluate(parse_predicate("at = '1970-01-01T00:00:00Z'", table.schema), table).to_pylist() == [True]
    assert evaluate(parse_predicate("at = '1970-01-01T01:00:00+01:00'", table.schema), table).to_pylist() == [True]


def test_a_missing_column_is_an_error() -> None:
    with pytest.raises(PredicateError, match="needs the column gone"):
        evaluate(IsNull(Column(("gone",), pa.int64())), pa.table({"here": [1]}))


def test_constants_have_the_length_of_the_data() -> None:
    table = pa.table({"x": [1, 2]})
    assert evaluate(parse_predicate("TRUE", table.schema), table).to_pylist() == [True, True]
    assert evaluate(parse_predicate("NULL OR FALSE", table.schema), table).to_pylist() == [None, None]
    assert evaluate(parse_predicate("TRUE", table.schema), table.slice(0, 0)).to_pylist() == []
    assert len(evaluate(parse_predicate("x = 1", table.schema), table.slice(0, 0))) == 0


def test_every_short_like_pattern() -> None:
    texts = ["".join(t) for n in range(4) for t in itertools.product("ab", repeat=n)] + ["a\nb", "😀", "a😀", None]
    table = pa.table({"text": pa.array(texts)})
    for length in range(5):
        for pattern in itertools.product("ab%_", repeat=length):
            predicate = like(column("text"), "".join(pattern))
            expected = [meaning(predicate, {"text": text}) for text in texts]
            assert evaluate(predicate, table).to_pylist() == expected, predicate


def test_numbers_beyond_a_double_are_infinite() -> None:
    table = pa.table({"score": [1e308, math.inf, -math.inf]})
    assert evaluate(compare(column("score"), "<", 10**400), table).to_pylist() == [True, False, True]
    assert evaluate(compare(column("score"), "<=", -(10**400)), table).to_pylist() == [False, False, True]


def test_long_like_patterns_work() -> None:
    table = pa.table({"s": ["x" * 5000, "y"]})
    pattern = "_" * 4999 + "x%"
    assert evaluate(parse_predicate(f"s LIKE '{pattern}'", table.schema), table).to_pylist() == [True, False]


def test_equal_nan_literals_are_equal() -> None:
    other = float("nan")
    assert Comparison("=", column("score"), Literal(NAN, pa.float64())) == Comparison(
        "=", column("score"), Literal(other, pa.float64())
    )
