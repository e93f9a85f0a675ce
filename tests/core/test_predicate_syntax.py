"""The syntax of a filter is checked without a table: what parses for a table passes, and a slip has its position."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import PredicateError
from indextables.core.predicate import check_syntax, parse_predicate
from indextables.core.sql_tokens import split
from predicate_data import SCHEMA

PIECES = [
    "id",
    "text",
    "flag",
    "=",
    "<>",
    "<=>",
    "<",
    "(",
    ")",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "LIKE",
    "IS",
    "NULL",
    "TRUE",
    "DISTINCT",
    "FROM",
    "1",
    "'x'",
    "2.5",
    ",",
    "DATE",
    "CAST",
    "AS",
    "INT",
    "+",
    "INDEXQUERY",
    ".",
    "upper",
    "SELECT",
    "ESCAPE",
    "!",
    "x'0A'",
]


@settings(max_examples=examples(600), deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12))
def test_what_parses_for_a_table_passes(pieces: list[str]) -> None:
    text = " ".join(pieces)
    try:
        parse_predicate(text, SCHEMA)
    except PredicateError:
        return
    check_syntax(split(text))


@pytest.mark.parametrize(
    "text",
    [
        "anything > 5",
        "a.b.c IN (1, 'x', NULL)",
        "flag",
        "NOT flag AND other",
        "x LIKE 'a%'",
        "n BETWEEN 1 AND 'z'",
        "a <=> NULL",
        "x IS DISTINCT FROM 5",
        "m INDEXQUERY 'a AND b'",
        "_indexall INDEXQUERY 'a'",
        "INDEXQUERYALL('a')",
        "c IS TRUE",
        "5 < c",
    ],
)
def test_columns_may_have_any_name_and_type(text: str) -> None:
    check_syntax(split(text))


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("a =", 4),
        ("a = 1 b", 7),
        ("(a = 1", 7),
        ("upper(a) = 1", 1),
        ("a = b", 3),
        ("a + 1 = 2", 3),
        ("a IN ()", 7),
        ("a IS 5", 6),
    ],
)
def test_a_slip_has_its_position(text: str, position: int) -> None:
    with pytest.raises(PredicateError) as caught:
        check_syntax(split(text))
    assert caught.value.position == position


def test_positions_are_those_of_the_whole_text() -> None:
    words = split("MERGE SPLITS t WHERE a = = 1")
    with pytest.raises(PredicateError) as caught:
        check_syntax(words[4:])
    assert caught.value.position == 26
