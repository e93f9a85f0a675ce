"""The words of searches in SQL texts: only as operators between a column and a text do they change what a text means.

Everywhere else, in strings, comments, names and aliases, the session's parser answers as Spark's own does, with the same plan or
the same error.
"""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from effort import examples

pytestmark = pytest.mark.spark

OURS = ["indexquery", "INDEXQUERY", "TextSearch", "FIELDMATCH", "indexqueryall", "_indexall", "_score"]
PIECES = [
    *[
        "SELECT",
        "FROM",
        "WHERE",
        "AND",
        "OR",
        "NOT",
        "AS",
        "t",
        "a",
        "b",
        "(",
        ")",
        ",",
        ".",
        "=",
        "*",
        "1",
        "LIKE",
        "IN",
    ],
    *["?", "?", ":p", "'%x'", "SHOW TABLES", "IS NULL", "GROUP BY", "ORDER BY", "LIMIT 1", "CASE WHEN", "THEN", "END"],
    *OURS,
    *[f"`{word}`" for word in OURS[:4]],
    *["'indexquery'", "'a INDEXQUERY ''b'''", "\"x INDEXQUERY 'y'\"", "'a\\' INDEXQUERY \\'b'", "r'a INDEXQUERY \\'"],
    *["/* INDEXQUERY 'x' */", "/* a /* INDEXQUERY 'x' */ b */", "-- a INDEXQUERY 'x'\n", "/*+ indexquery(a) */"],
    *["indexquery(a, 'b')", "a.indexquery", "indexquery.a", ":indexquery", "a indexquery", "AS `a INDEXQUERY 'b'`"],
]
"""Pieces of texts. A random row of them is rarely SQL."""
TEMPLATES = [
    "SELECT a AS {n}, b {n} FROM t WHERE a = {s}",
    "SELECT {n}.a, t.{n} FROM {n} JOIN t ON {n}.a = t.a {c} WHERE b IN ({s}, {s})",
    "WITH {n} AS (SELECT a {n} FROM t) SELECT {c} count(*) FROM {n} GROUP BY {n} HAVING max(a) LIKE {s}",
    "SELECT {n}(a, {s}), {n}({s}) FROM t {n} ORDER BY {n} {c}",
    "SELECT a -> {n}, named_struct({s}, 1).{n} FROM t LATERAL VIEW explode(x) {n} AS {n}",
    "INSERT INTO {n} SELECT {s} AS {n} {c} FROM t",
    "CREATE TABLE {n} ({n} STRING COMMENT {s}) USING parquet OPTIONS ({n} {s}) {c}",
    "CREATE VIEW {n} AS SELECT {n}.{n} FROM t {n} WHERE {n} <> {s} {c}",
    "ALTER TABLE {n} SET TBLPROPERTIES ('{w}' = {s}) {c}",
    "SELECT CASE {n} WHEN {s} THEN {n} END, a[{s}].{n}, CAST({n} AS STRING) FROM VALUES ({s}) AS {n}({n})",
    "SELECT * FROM {n}(t => {s}) {c}",
    "DESCRIBE {n}.{n} {c}",
    "SELECT DATE '2024-01-01' AS {n}, interval '1' day {n}, X'00' {n} {c}",
    "SET {w}={w}",
]
"""Statements with names {n}, strings {s}, comments {c} and bare words {w} that are ours."""
TOKEN = re.compile(
    r"(?P<space>\s+|--[^\n]*|/\*(?:[^*/]|\*(?!/)|/(?!\*)|/\*(?:[^*]|\*(?!/))*\*/)*\*/)"
    r"|(?P<text>[rR]'[^']*'|[rR]\"[^\"]*\"|'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\")"
    r"|(?P<mark>:\w+|\?)|(?P<name>`(?:[^`]|``)*`|\w+)|(?P<other>.)",
    re.DOTALL,
)


def uses_an_operator(text: str) -> bool:
    """True if a text has a name, one of the words and a string or a parameter in a row, as a search has them."""
    tokens = [(found.lastgroup, found.group()) for found in TOKEN.finditer(text) if found.lastgroup != "space"]
    words, begins = (
        {"indexquery", "textsearch", "fieldmatch"},
        {"where", "on", "and", "or", "when", "having", "select", "by"},
    )
    for (left, column), (kind, word), (right, _) in zip(tokens, tokens[1:], tokens[2:], strict=False):
        named = left == kind == "name" and column.lower() not in begins
        if named and right in ("text", "mark") and word.lower() in words:
            return True
    return False


def parsed(parser: Any, method: str, text: str) -> str:
    """The plan of a text, or Spark's error."""
    try:
        return re.sub(r"#\d+", "", str(getattr(parser, method)(text).toString()))
    except PySparkException as error:
        return f"error: {error}"


@pytest.fixture
def parsers(spark: SparkSession) -> tuple[Any, Any]:
    """Spark's own parser, and the session's."""
    return spark._jvm.org.apache.spark.sql.execution.SparkSqlParser(), spark._jsparkSession.sessionState().sqlParser()  # type: ignore[union-attr]


def test_no_text_that_spark_reads_is_read_otherwise(parsers: tuple[Any, Any]) -> None:
    """Random pieces: where Spark's own parser has an answer, or no word is an operator, the session's answer is the same."""
    dice = random.Random(20)
    read = refused = 0
    for _ in range(examples(900)):
        text = " ".join(dice.choices(PIECES, k=dice.randrange(1, 9)))
        text = f"SELECT {text}" if dice.random() < 0.7 else text
        method = dice.choice(["parsePlan", "parsePlan", "parseExpression", "parseMultipartIdentifier"])
        own, session = (parsed(parser, method, text) for parser in parsers)
        if not own.startswith("error: "):
            assert session == own, text
            read += 1
        elif not uses_an_operator(text):
            assert session == own, text
            refused += 1
    assert read > 20, "the texts are too strange"
    assert refused > 20


def test_words_that_are_names_or_inside_of_texts_mean_nothing(parsers: tuple[Any, Any]) -> None:
    """Statements with our words as names, in strings and in comments, whole and with a token lost."""
    dice = random.Random(21)

    def name() -> str:
        word = dice.choice(OURS)
        return dice.choice([word, f"`{word}`", f"`a {word} 'b'`", "a"])

    def string() -> str:
        word = dice.choice(OURS)
        return dice.choice(
            [f"'{word}'", f"'a {word} ''b'''", f"'a {word} \\'b\\''", f"\"a {word} 'b'\"", f"r'a {word} b'", "'x'"]
        )

    def comment() -> str:
        word = dice.choice(OURS)
        return dice.choice(["", f"/* a {word} 'b' */", f"/* /* {word} */ a {word} 'b' */", f"-- a {word} 'b'\n"])

    fill = {"{n}": name, "{s}": string, "{c}": comment, "{w}": lambda: dice.choice(OURS)}
    read = refused = 0
    for number in range(examples(900)):
        text = re.sub(r"\{[nscw]\}", lambda found: fill[found.group()](), TEMPLATES[number % len(TEMPLATES)])
        if dice.random() < 0.4:
            tokens = [found.group() for found in TOKEN.finditer(text)]
            del tokens[dice.randrange(len(tokens))]
            text = "".join(tokens)
        if uses_an_operator(text):
            continue
        own, session = (parsed(parser, "parsePlan", text) for parser in parsers)
        assert session == own, text
        read, refused = read + (not own.startswith("error: ")), refused + own.startswith("error: ")
    assert min(read, refused) > 30, (read, refused)


@pytest.mark.parametrize("word", ["INDEXQUERY", "textsearch", "FieldMatch"])
def test_an_operator_means_something_to_the_session_alone(parsers: tuple[Any, Any], word: str) -> None:
    """Without this the other tests would hold for a session that knows no word of ours."""
    for method, text in [("parseExpression", f"a {word} 'x'"), ("parsePlan", f"SELECT * FROM t WHERE a {word} 'x'")]:
        own, session = (parsed(parser, method, text) for parser in parsers)
        assert "[PARSE_SYNTAX_ERROR]" in own, own
        assert not session.startswith("error: "), session
        assert f"{word.lower()}(" in session.lower(), session


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a INDEXQUERY 'x'", True),
        ("a /* c */ fieldmatch -- d\n ?", True),
        ("a NOT TEXTSEARCH :p", True),
        ("'a INDEXQUERY ''x'''", False),
        ("/* a INDEXQUERY 'x' */ b", False),
        ("/* a /* b */ c INDEXQUERY 'x' */ d", False),
        ("a AS `indexquery`, 'x'", False),
        ("indexquery(a, 'x')", False),
        ("indexquery 'x'", False),
        ("SELECT a WHERE INDEXQUERY 'x'", False),
    ],
)
def test_what_an_operator_is(text: str, expected: bool) -> None:
    assert uses_an_operator(text) is expected
