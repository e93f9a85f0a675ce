"""Texts of any bytes, up to the longest that is allowed, and patterns that take long: answered or refused, and soon."""

from __future__ import annotations

import random
import time
import uuid
from typing import Any

import pyarrow as pa
import pytest
import tantivy

from effort import examples
from indextables import Table
from indextables.core.errors import IndexTablesError, QueryError
from indextables.split.query.binding import bind_words

LONGEST = 10_000
SECONDS = 30
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("body", pa.string()),
        ("exact", pa.string()),
        ("client", pa.string()),
        ("tags", pa.list_(pa.string())),
        ("labels", pa.map_(pa.string(), pa.int64())),
        ("user", pa.struct([("name", pa.string()), ("age", pa.int64())])),
    ]
)
OPTIONS = {
    "indexing.typemap.text": "body,exact",
    "indexing.tokenizer.whitespace": "exact",
    "indexing.typemap.ip": "client",
}
FIELDS = ["id:", "name:", "at:", "body:", "exact:", "client:", "tags:", "labels.a:", "labels:", "user.name:", "user:"]
SIGNS = [
    *list("()[]{}\"'/*?~^+-!<>=\\ .\n\t\x00`|&"),
    " TO ",
    " AND ",
    " OR ",
    "NOT ",
    "IN [",
    "~2",
    "^2",
    ">=",
    " ",
    " ",
]
WORDS = [
    "a",
    "disk",
    "n7",
    "é",
    "İ",
    "日本",
    "\u2028",
    "\ud800",
    "\udcff",
    "\uffff",
    "\U0001f600",
    "1",
    "-1",
    "1e9",
    "NaN",
]
WORDS += ["2024-01-01", "10.0.0.0/8", "::1", "9" * 30, "[a-z]", ".{1,50}", "(a|b)*", "\\p{L}", "[^", "(?i)", "a{,5}"]
UNITS = [
    "{}~2 ",
    "+{} ",
    "-{} ",
    "{}* ",
    "*{}* ",
    '"{} {}"~5 ',
    "/.*{}.*/ ",
    "(body:{} OR ",
    "id:[{} TO 5] ",
    "*?",
    "NOT ",
]
UNITS += [
    "/(.*{}){{5}}/ ",
    "/\\w+{}/ ",
    "/\\p{{L}}+{}/ ",
    "client:IN [{} {}] ",
    "tags:*{}* ",
    "({}",
    "{}) ",
    "{}^3 ",
    "user.name:{} ",
]


@pytest.fixture(scope="module")
def table() -> Table:
    made = Table.create(f"memory://{uuid.uuid4().hex}/table", SCHEMA, options=OPTIONS)
    for first in range(0, 600, 200):
        numbers = range(first, first + 200)
        rows = [
            {
                "id": number,
                "name": f"n{number % 50}",
                "at": number * 10**9,
                "body": f"disk w{number} " + "a " * (number % 9),
                "exact": f"A-b W{number}",
                "client": f"10.0.0.{number % 256}",
                "tags": [f"t{number % 5}"],
                "labels": [("a", number)],
                "user": {"name": "ann", "age": number},
            }
            for number in numbers
        ]
        made.append(pa.Table.from_pylist(rows, schema=SCHEMA))
    return made


def text_of(seed: int) -> str:
    """Any characters, any bytes, parts of the language, or one thing said again and again."""
    rng = random.Random(seed)
    length = rng.choice([10, 100, 1_000, LONGEST - 1, LONGEST])
    words = [*WORDS, *(f"w{rng.randrange(600)}" for _ in range(20))]
    parts: list[str] = []
    match rng.randrange(4):
        case 0:
            return "".join(chr(rng.randrange(rng.choice([0x80, 0x3000, 0x110000]))) for _ in range(length))
        case 1:
            return rng.randbytes(length).decode("utf-8", rng.choice(["replace", "surrogateescape"]))[:length]
        case 2:
            pieces = [*FIELDS, *SIGNS, *words]
            parts = rng.choices(pieces, k=length)
        case _:
            unit = rng.choice(UNITS)
            parts = [unit.format(*rng.choices(words, k=2)) for _ in range(length)]
    text = "".join(parts)[:length]
    return text + ")" * min(text.count("(") - text.count(")"), LONGEST - len(text)) if rng.random() < 0.5 else text


def ask(table: Table, text: str) -> str:
    """What is said to it: nothing where it is answered."""
    began = time.thread_time()
    refused: QueryError | None = None
    try:
        found = table.count(query=text)
        assert table.search(text, ["id"], limit=3).num_rows == min(found, 3)
    except QueryError as error:
        refused = error
    assert time.thread_time() - began < SECONDS
    if refused is None:
        return ""
    assert refused.position in range(len(text) + 1)
    assert 0 < len(str(refused)) < 600
    assert "\n" not in str(refused)
    return str(refused)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_texts_up_to_the_longest(table: Table) -> None:
    seeds = random.sample(range(10**9), examples(240))
    for seed in seeds:
        try:
            ask(table, text_of(seed))
        except IndexTablesError as error:
            pytest.fail(f"seed {seed}: {error!r}")
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error


def test_the_texts_are_of_all_kinds(table: Table) -> None:
    """Some are answered, some refused, some have halves of characters, and some are as long as can be."""
    texts = [text_of(seed) for seed in range(120)]
    assert max(map(len, texts)) == LONGEST
    assert sum(any("\ud800" <= letter <= "\udfff" for letter in text) for text in texts) > 10
    said = [ask(table, text) for text in texts[:60]]
    assert "" in said
    assert len({line.rpartition(": ")[2] for line in said}) > 5


@pytest.mark.parametrize("text", ["\ud800", "a \udcff", 'body:"\udfff"', "/\ud800/", "name:\udc80*", "id:IN [\ud800]"])
def test_half_a_character_is_refused_where_it_stands(table: Table, text: str) -> None:
    at = next(place for place, letter in enumerate(text) if "\ud800" <= letter <= "\udfff")
    with pytest.raises(QueryError, match=rf"character {at + 1}, .*half a character") as caught:
        table.count(query=text)
    assert caught.value.position == at


@pytest.mark.parametrize(
    "ask",
    [
        lambda table: table.count("name LIKE '\ud800%'"),
        lambda table: table.count("name = '\ud800'"),
        lambda table: table.aggregate(metrics={"\ud800": "count"}),
        lambda table: table.aggregate(by={"\ud800": "name"}),
    ],
)
def test_and_refused_elsewhere(table: Table, ask: Any) -> None:
    with pytest.raises(IndexTablesError, match="half a surrogate pair"):
        ask(table)


@pytest.mark.parametrize("unit", ["body:*{}* ", "body:{}~2 ", "body:/.*{}.*/ ", "body:?{} "])
def test_there_is_an_end_to_patterns(table: Table, unit: str) -> None:
    assert ask(table, "".join(unit.format(f"w{number}") for number in range(100))) == ""
    assert "at most 100 patterns" in ask(table, "".join(unit.format(f"w{number}") for number in range(101)))
    bare = unit.replace("body:", "")
    assert "at most 100 patterns" in ask(table, "".join(bare.format(f"w{number}") for number in range(51)))


def test_patterns_that_take_long_to_understand(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(table, "body:/w.*9/") == ""
    monkeypatch.setattr(bind_words, "_MOST_SECONDS", 0.01)
    assert "understanding the patterns up to here took more than" in ask(table, "body:/w.*8/ body:/\\p{L}+/")


class Watched:
    """Tantivy's queries, and the patterns that were made into some."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.made: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def regex_query(self, schema: Any, name: str, regex: str) -> Any:
        self.made.append(regex)
        return self._real.regex_query(schema, name, regex)


def test_a_pattern_is_understood_once_for_all_splits(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(tantivy.Query)
    monkeypatch.setattr(tantivy, "Query", watched)
    assert table.files().num_rows == 3
    assert table.count(query="body:w1?9") == 10
    assert watched.made == ["w1.9"] * 2, "once to see whether it can be used"
