"""Words of SQL: random texts are put together from words that are known, and taken apart again."""

from __future__ import annotations

import itertools
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import PredicateError, StatementError
from indextables.core.sql_tokens import MAX_LENGTH, Language, Word, first_words, split

SIGNS: Final = [
    "<=>",
    "<>",
    "!=",
    "<=",
    ">=",
    "==",
    "=",
    "<",
    ">",
    "(",
    ")",
    ",",
    "+",
    "-",
    "*",
    "/",
    "%",
    "||",
    "::",
    "[",
    "?",
    "/*+",
]
LETTERS: Final = st.sampled_from("abzAZ_éß中07")
QUOTES: Final = st.sampled_from("'\"")


def quoted(text: str, quote: str) -> str:
    return quote + text.replace("\\", "\\\\").replace(quote, quote * 2) + quote


TEXT: Final = st.builds(
    lambda text, quote: (quoted(text, quote), ("text", text, "")), st.text("ab' \"\\\n中%-/*", max_size=6), QUOTES
)
RAW: Final = st.builds(
    lambda text, prefix: (f"{prefix}'{text}'", ("text", text, "")),
    st.text('ab "\\n', max_size=5),
    st.sampled_from("rR"),
)
BYTES: Final = st.builds(lambda text: (f"x'{text}'", ("bytes", text, "")), st.text("0123abcDEF", max_size=6))
NAME: Final = st.builds(
    lambda text: ("`" + text.replace("`", "``") + "`", ("name", text, "")), st.text("ab`' .\\-", max_size=5)
)
WORD: Final = st.builds(
    lambda first, rest: (first + rest, ("word", first + rest, "")),
    st.sampled_from("abzAZ_é"),
    st.text(LETTERS, max_size=5),
).filter(lambda word: word[0].lower() not in {"r", "x"})
NUMBER: Final = st.builds(
    lambda number, exponent, suffix: (number + exponent + suffix, ("number", number + exponent, suffix.upper())),
    st.sampled_from(["0", "7", "12", "1.5", "1.", ".5", "007.250"]),
    st.sampled_from(["", "e3", "E+3", "e-12"]),
    st.sampled_from(["", "L", "s", "Y", "f", "D", "bd", "BD"]),
).filter(lambda number: number[1][2] not in {"L", "S", "Y"} or number[1][1].isdecimal())
SIGN: Final = st.sampled_from(SIGNS).map(lambda sign: (sign, ("sign", sign, "")))
GAP: Final = st.sampled_from(
    [" ", "\n", "\t ", ' -- it\'s "a" comment\n', "/* 'one' */", " /* a /* b */ c */ ", "--\n", "/**/"]
)


def split_or_mistake(text: str) -> tuple[list[Word] | None, PredicateError | None]:
    try:
        return split(text), None
    except PredicateError as error:
        return None, error


def words_of(text: str) -> list[tuple[str, str, str]]:
    return [(word.kind, word.text, word.suffix) for word in split(text)[:-1]]


@given(st.lists(st.tuples(st.one_of(TEXT, RAW, BYTES, NAME, WORD, NUMBER, SIGN), GAP), max_size=12))
@settings(max_examples=examples(300), deadline=None)
def test_words_come_out_as_they_went_in(parts):
    text = "".join(source + gap for (source, _), gap in parts)
    expected: list[tuple[str, str, str]] = []
    for (_, word), _ in parts:
        if word[0] == "text" and expected and expected[-1][0] == "text":
            expected[-1] = ("text", expected[-1][1] + word[1], "")
        else:
            expected.append(word)
    assert words_of(text) == expected


@given(st.text(st.sampled_from("ab1.eELx'\"`\\/*-\n <=>!|:,(é中 "), max_size=40))
@settings(max_examples=examples(500), deadline=None)
def test_any_text_is_words_or_an_error_with_its_position(text):
    words, mistake = split_or_mistake(text)
    if mistake is not None:
        assert "is never closed" in str(mistake)
        assert text[mistake.position - 1] in "'\"`/"
        return
    assert words[-1] == Word("end", "", len(text), len(text))
    for word, following in itertools.pairwise(words):
        assert word.start < word.end <= following.start
        if word.kind in ("word", "sign"):
            assert text[word.start : word.end] == word.text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a.b", [("word", "a"), ("sign", "."), ("word", "b")]),
        ("a.5", [("word", "a"), ("sign", "."), ("number", "5")]),
        ("`a`.5", [("name", "a"), ("sign", "."), ("number", "5")]),
        ("a .5", [("word", "a"), ("number", ".5")]),
        ("1abc", [("word", "1abc")]),
        ("1e", [("word", "1e")]),
        ("1_000", [("word", "1_000")]),
        ("1.5L", [("sign", "1.5L")]),
        (".5s", [("sign", ".5s")]),
        ("1e2Y", [("sign", "1e2Y")]),
        ("1 /* /*+ x */ 2 -- */", [("number", "1"), ("number", "2")]),
        ("1.a", [("number", "1"), ("sign", "."), ("word", "a")]),
        ("0x1F", [("word", "0x1F")]),
        ("'it''s'", [("text", "it's")]),
        ("'a' \"b\"", [("text", "ab")]),
        ("'a'\"b\"", [("text", "ab")]),
        (r"'\u0041\t\%'", [("text", "A\t\\%")]),
        ("a--b\n=1", [("word", "a"), ("sign", "="), ("number", "1")]),
        ("-- a \\\nb\n1", [("number", "1")]),
        ("a/*b*/c", [("word", "a"), ("word", "c")]),
        ("a - -1", [("word", "a"), ("sign", "-"), ("sign", "-"), ("number", "1")]),
    ],
)
def test_words_as_spark_reads_them(text, words):
    assert [(word.kind, word.text) for word in split(text)[:-1]] == words


@pytest.mark.parametrize(
    ("text", "opener", "position"),
    [
        ("a = 'x", "'", 5),
        ('a = "x', '"', 5),
        ("`a", "`", 1),
        ("a /* b /* c */", "/*", 3),
        (r"'a\'", "'", 1),
        ("x'", "'", 2),
    ],
)
def test_what_is_never_closed_is_named(text, opener, position):
    with pytest.raises(PredicateError, match="is never closed") as caught:
        split(text)
    assert f"the {opener} at position {position} of the filter" in str(caught.value)


@pytest.mark.parametrize("piece", ["1", "a", "'", "''", "\\", "/*", "1.", ".1", "e1", "`", "--", "x'", " "])
@pytest.mark.timeout(60)
def test_long_texts_end(piece):
    """A pattern that tries again from every place would take hours for these; they take a second."""
    text = piece * (MAX_LENGTH // len(piece))
    words, mistake = split_or_mistake(text)
    assert "never closed" in str(mistake) if words is None else words[-1].end == len(text)


@pytest.mark.parametrize("text", ["٣", "1٣", "५"])
def test_digits_of_numbers_are_those_of_ascii(text: str) -> None:
    word, end = split(text)
    assert (word.kind, word.text, end.kind) == ("word", text, "end")


def test_the_first_words_of_a_text_of_any_length() -> None:
    assert [word.text for word in first_words("-- so\nMERGE /* x */ SPLITS 'a' 'b' t", 3)] == ["MERGE", "SPLITS", "ab"]
    assert [word.text for word in first_words("SELECT '" + "x" * 2 * MAX_LENGTH, 3)] == ["SELECT"]
    assert [word.text for word in first_words("a /* never closed", 3)] == ["a"]
    assert first_words("", 3) == []


@given(st.text("ab '\"`/*-;.1\n\\", max_size=30), st.integers(0, 5))
def test_the_first_words_are_the_beginning_of_all_words(text: str, most: int) -> None:
    try:
        words = split(text)[:-1]
    except PredicateError:
        return
    assert first_words(text, most) == words[:most]


def test_a_language_names_itself_in_errors() -> None:
    statement = Language("statement", StatementError, "use several statements")
    with pytest.raises(StatementError, match="the ' at position 3 of the statement is never closed"):
        split("a 'b", statement)
    with pytest.raises(StatementError, match=r"the statement has 1,000,001 characters, .*: use several statements"):
        split("x" * (MAX_LENGTH + 1), statement)


def test_a_word_in_a_message_is_short() -> None:
    assert len(str(split("x" * 5_000)[0])) < 100
