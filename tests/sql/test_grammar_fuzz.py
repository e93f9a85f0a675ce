"""Whatever a text holds, the grammar gives a command, leaves the text alone, or says where the slip is."""

from __future__ import annotations

import dataclasses
import random
import time
from contextlib import suppress
from typing import get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import StatementError
from indextables.sql.commands import Command
from indextables.sql.forms import Hole
from indextables.sql.grammar import FORMS, parse_script, parse_statement
from indextables.sql.next_words import next_keywords
from sql.support import pairs

MOST_CHARACTERS = 10_000
"""A text of so many characters takes about 15 milliseconds: the grammar reads every word once."""
MOST_SECONDS = 0.05
"""Processor time for a text of at most `MOST_CHARACTERS`."""
STATEMENTS = [pair.statement for pair in pairs()]
KEYWORDS = sorted({piece for form in FORMS for piece in form.pattern if not isinstance(piece, Hole)})
CLAUSES = sorted(
    {piece for form in FORMS for clause in form.clauses for piece in clause if not isinstance(piece, Hole)}
)
WORDS = [
    *KEYWORDS,
    *CLAUSES,
    *("INDEXTABLE", "tantivy4spark", "logs", "a.b", "'x'", "`z`", "5", "100M", "-1", "1e9"),
    *(";", "(", ")", ",", ".", "=", "<", "AND", "OR", "NOT", "IN", "NULL", "'", "`", "/*", "*/", "--"),
    *('"y"', '"', "\n", "\x00", "\ud800", "日本", "\u0130", "ß", "\u2028"),
]


def check(text: str) -> None:
    """One of the three, in time, and a position that lies in the text."""
    if len(text) <= MOST_CHARACTERS:
        taken = seconds_for(text)
        assert taken < MOST_SECONDS or seconds_for(text) < MOST_SECONDS, f"{taken:.3f} s for {len(text)} characters"
    try:
        found = parse_statement(text)
    except StatementError as error:
        slip = error
    else:
        slip = None
    if slip is not None:
        position = slip.details.get("position")
        assert position is None or 1 <= position <= len(text) + 1
        assert "\n" not in slip.message
        assert len(slip.message) < 2_000
        return
    assert found is None or isinstance(found, get_args(Command))
    if found is not None:
        assert hash(found) == hash(dataclasses.replace(found))


def seconds_for(text: str) -> float:
    """Processor time of one attempt."""
    began = time.process_time()
    with suppress(StatementError):
        parse_statement(text)
    return time.process_time() - began


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A statement of the file with characters or words taken out, doubled, swapped or put in."""
    text = draw(st.sampled_from(STATEMENTS))
    chance = random.Random(draw(st.integers(0, 2**32)))
    for _ in range(draw(st.integers(1, 4))):
        pieces = text.split(" ") if chance.random() < 0.6 else list(text)
        if not pieces:
            break
        joint = " " if " " in text and len(pieces) < len(text) else ""
        place = chance.randrange(len(pieces))
        match chance.randrange(5):
            case 0:
                del pieces[place]
            case 1:
                pieces.insert(place, pieces[chance.randrange(len(pieces))])
            case 2:
                other = chance.randrange(len(pieces))
                pieces[place], pieces[other] = pieces[other], pieces[place]
            case 3:
                pieces.insert(place, chance.choice(WORDS))
            case 4:
                pieces = pieces[:place]
        text = joint.join(pieces)
    return text[:MOST_CHARACTERS]


@settings(max_examples=examples(800), deadline=None)
@given(mutated())
def test_statements_with_slips(text: str) -> None:
    check(text)


@settings(max_examples=examples(100), deadline=None)
@given(mutated(), st.lists(st.sampled_from(WORDS), min_size=1, max_size=12), st.sampled_from([" ", "", "\n"]))
def test_long_texts(begin: str, words: list[str], between: str) -> None:
    """Words that are repeated behind a statement, up to ten thousand characters: lists, long conditions, and nonsense."""
    piece = between.join([*words, ""])
    check((begin + between + piece * (MOST_CHARACTERS // max(len(piece), 1)))[:MOST_CHARACTERS])


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=40), st.sampled_from([" ", "", "\n"]))
def test_random_words(words: list[str], between: str) -> None:
    check(between.join(words)[:MOST_CHARACTERS])


@settings(max_examples=examples(400), deadline=None)
@given(
    st.sampled_from(["", "MERGE SPLITS ", "PURGE INDEXTABLE t ", "ALTER INDEXTABLES t SET PROPERTIES ("]),
    st.text(max_size=200),
)
def test_random_characters(begin: str, rest: str) -> None:
    check(begin + rest)


@settings(max_examples=examples(200), deadline=None)
@given(mutated())
@example("-- a comment goes on to the end of the line")
@example("PURGE INDEXTABLES t; -- and so does this one")
def test_scripts_and_prompts(text: str) -> None:
    assert all(isinstance(word, str) for word in next_keywords(text))
    try:
        commands = parse_script(text)
    except StatementError:
        return
    assert all(isinstance(command, get_args(Command)) for command in commands)


@pytest.mark.parametrize(
    "text",
    [
        "MERGE SPLITS t WHERE " + "(" * 20_000,
        "MERGE SPLITS t WHERE " + "(" * 20_000 + "a = 1" + ")" * 20_000,
        "MERGE SPLITS t WHERE " + "NOT " * 20_000 + "a",
        "MERGE SPLITS t WHERE " + "a = 1 AND " * 10_000 + "a = 1",
        "MERGE SPLITS t WHERE a IN (" + "1, " * 30_000 + "1)",
        "MERGE SPLITS " + "a." * 50_000 + "b",
        "MERGE SPLITS t " + "MAX " * 25_000,
        "MERGE SPLITS t " + "/*" * 50_000,
        "MERGE SPLITS t " + "'" * 100_001,
        "MERGE SPLITS '" + "''" * 50_000,
        "MERGE SPLITS t TARGET SIZE " + "9" * 100_000,
        "MERGE SPLITS t MAX DEST SPLITS " + "9" * 100_000,
        "MERGE SPLITS t WHERE a = " + "9" * 100_000,
        "ALTER INDEXTABLES t SET PROPERTIES (" + "a = 1, " * 15_000 + "a = 1)",
        "PURGE INDEXTABLE t " + "\\" * 100_000,
        "MERGE SPLITS t WHERE a = 1 " + "PRECOMMIT " * 10_000,
        "\n" * 100_000 + "MERGE SPLITS t",
        ";" * 100_000,
        "SELECT " + "x, " * 30_000,
    ],
    ids=lambda text: f"{text[:30].strip()}… {len(text):,}",
)
def test_a_hundred_kilobytes_are_read_in_time_that_grows_with_them(text: str) -> None:
    """Ten times the text takes about ten times as long, never a hundred times: two seconds leave room for a busy machine."""
    began = time.process_time()
    check(text)
    assert time.process_time() - began < 2.0
