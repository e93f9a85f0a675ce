"""`search`, `scan(query=)` and `count(query=)` find what the words say, in the right order, and nothing else."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables import Table
from indextables.core.errors import OptionError, QueryError, SchemaError
from indextables.split.query.tree import (
    All,
    And,
    Boost,
    Clauses,
    Exists,
    FieldName,
    Fuzzy,
    Node,
    Not,
    OneOf,
    Or,
    Phrase,
    Range,
    Regex,
    Term,
    Wildcard,
)
from split.query_text import to_text
from table.query_model import TEXTS, finds

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("day", pa.date32()),
        ("name", pa.string()),
        ("num", pa.int32()),
        ("x", pa.float64()),
        ("flag", pa.bool_()),
        ("body", pa.string()),
        ("title", pa.string()),
    ]
)
OPTIONS = {"spark.indextables.indexing.typemap.text": "body,title"}
WORDS = ["disk", "Disk", "dusk", "full", "fool", "node-1", "Ärger", "日本", "a", "don't", "full_disk", "x" * 300]
DAYS = [dt.date(2024, 1, 30), dt.date(2024, 1, 31), None]
NAMES = ["ERROR", "error", "WARN", "", "a b", None]
NUMBERS = [-5, 0, 7, 2**31 - 1, None]
FLOATS = [0.0, -0.0, 1.5, math.inf, -math.inf, math.nan, None]

texts = st.none() | st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "day": st.sampled_from(DAYS),
            "name": st.sampled_from(NAMES),
            "num": st.sampled_from(NUMBERS),
            "x": st.sampled_from(FLOATS),
            "flag": st.sampled_from([True, False, None]),
            "body": texts,
            "title": texts,
        }
    ),
    max_size=25,
)


def named(*names: str) -> st.SearchStrategy[FieldName]:
    return st.sampled_from(names).map(FieldName)


FLOAT_TEXTS = ["0.0", "1.5", "Infinity", "-Infinity", "2", "NaN"]
SINGLE = ["disk", "DISK", "dusk", "full", "fool", "Ärger", "日本", "a", "nothing"]
word_fields = st.none() | named(*TEXTS)
leaves: st.SearchStrategy[Node] = st.one_of(
    st.just(All()),
    st.builds(Exists, named("day", "name", "num", "x", "flag", *TEXTS)),
    st.builds(Term, word_fields, st.sampled_from([*SINGLE, "node-1", "don't", "full_disk"])),
    st.builds(Phrase, word_fields, st.sampled_from(["disk full", "full disk", "node 1", "Disk disk full", "a"])),
    st.builds(Fuzzy, word_fields, st.sampled_from(["disk", "dsik", "ful", "fulll", "日"]), st.integers(0, 2)),
    st.builds(
        Wildcard,
        word_fields,
        st.sampled_from(
            [("di", None), ("d", True, "sk"), (None, "l"), ("F", None, "l"), ("日", True), (None, "s", None)]
        ),
    ),
    st.builds(Regex, word_fields, st.sampled_from(["d.sk", "(full|fool)", "[a-f].*", "ä.*"])),
    st.builds(Term, named("num", "id"), st.sampled_from(["-5", "0", "7", "99"])),
    st.builds(Term, named("x"), st.sampled_from(FLOAT_TEXTS)),
    st.builds(Term, named("name"), st.sampled_from(["ERROR", "error", "nobody"])),
    st.builds(Phrase, named("name"), st.sampled_from(["a b", "ERROR", ""])),
    st.builds(Term, named("flag"), st.sampled_from(["true", "false"])),
    st.builds(Term, named("day"), st.sampled_from(["2024-01-30", "2024-01-31", "2025-01-01"])),
    st.builds(OneOf, named("num"), st.lists(st.sampled_from(["-5", "0", "7", "3"]), max_size=3).map(tuple)),
    st.builds(OneOf, named("name"), st.lists(st.sampled_from(["ERROR", "WARN", "a b"]), max_size=3).map(tuple)),
    st.builds(Wildcard, named("name"), st.sampled_from([("E", None), (None, "R"), ("a", True, "b")])),
    st.builds(
        Range,
        named("num", "id"),
        st.sampled_from([None, "-5", "0", "3"]),
        st.sampled_from([None, "7", "12"]),
        st.booleans(),
        st.booleans(),
    ),
    st.builds(
        Range,
        named("x"),
        st.sampled_from([None, *FLOAT_TEXTS]),
        st.sampled_from([None, *FLOAT_TEXTS]),
        st.booleans(),
        st.booleans(),
    ),
    st.builds(
        Range, named("name"), st.sampled_from([None, "A", "ERROR"]), st.sampled_from([None, "a", "z"]), st.booleans()
    ),
    st.builds(Range, named("day"), st.sampled_from([None, "2024-01-31"]), st.none(), st.booleans(), st.booleans()),
)
some = st.lists(leaves, min_size=1, max_size=2).map(tuple)
queries: st.SearchStrategy[Node] = st.recursive(
    leaves,
    lambda nodes: st.one_of(
        st.builds(And, st.lists(nodes, min_size=2, max_size=3).map(tuple)),
        st.builds(Or, st.lists(nodes, min_size=2, max_size=3).map(tuple)),
        st.builds(Not, nodes),
        st.builds(Boost, nodes, st.sampled_from([0.5, 2.0])),
        st.builds(Clauses, some, st.lists(nodes, max_size=2).map(tuple), some),
    ),
    max_leaves=6,
)


def make(data: list[dict[str, Any]], pieces: int, **options: str) -> tuple[Table, list[dict[str, Any]]]:
    numbered = [{"id": number, **row} for number, row in enumerate(data)]
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", SCHEMA, ["day"], {**OPTIONS, **options})
    step = max(1, -(-len(numbered) // pieces))
    for first in range(0, len(numbered), step):
        table.append(pa.Table.from_pylist(numbered[first : first + step], schema=SCHEMA))
    return table, numbered


def check(table: Table, data: list[dict[str, Any]], node: Node) -> None:
    text = to_text(node)
    wanted = [row["id"] for row in data if finds(node, row)]
    assert sorted(table.scan(["id"], query=text).read_all().column("id").to_pylist()) == wanted, text
    assert table.count(query=text) == len(wanted), text
    best = table.search(text, ["id"], limit=len(data) + 1)
    assert sorted(best.column("id").to_pylist()) == wanted, text
    scores = best.column("_score").to_pylist()
    assert scores == sorted(scores, reverse=True), text
    assert table.search(text, ["id"], limit=3).to_pylist() == best.slice(0, 3).to_pylist(), text
    where = "num > 0 OR x IS NULL"
    left = [row["id"] for row in data if row["id"] in wanted and ((row["num"] or 0) > 0 or row["x"] is None)]
    assert table.count(where, query=text) == len(left), text
    assert sorted(table.search(text, ["id"], where, 100).column("id").to_pylist()) == left, text


QUICK = settings(max_examples=examples(4), deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("cached", ["true", "false"])
@QUICK
@given(rows, st.integers(1, 3), st.lists(queries, min_size=6, max_size=10))
def test_what_is_found_is_what_a_plain_model_finds(
    cached: str, data: list[dict[str, Any]], pieces: int, asked: list[Node]
) -> None:
    table, numbered = make(data, pieces, **{"spark.indextables.cache.disk.enabled": cached})
    for node in asked:
        check(table, numbered, node)
    table.merge_splits()
    for node in asked:
        check(table, numbered, node)


@pytest.mark.stress
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows, st.integers(1, 3), st.lists(queries, min_size=6, max_size=10))
def test_what_is_found_is_what_a_plain_model_finds_at_length(
    data: list[dict[str, Any]], pieces: int, asked: list[Node]
) -> None:
    table, numbered = make(data, pieces)
    for node in asked:
        check(table, numbered, node)
    table.merge_splits()
    for node in asked:
        check(table, numbered, node)


@pytest.fixture(scope="module")
def logs() -> Table:
    lines = [
        "disk 1 is full",
        "the disk is not full",
        "full moon over disk city, and the disk spins on and on " * 6,
        "node-7 timed out",
    ]
    data = [
        {"day": DAYS[number % 2], "name": "ERROR", "num": number, "x": 1.0, "flag": True, "body": line, "title": None}
        for number, line in enumerate(lines)
    ]
    return make(data, 2)[0]


def test_best_rows_come_first_with_their_scores(logs: Table) -> None:
    found = logs.search("disk full", ["id"], limit=2)
    assert found.schema.names == ["id", "_score"]
    assert found.num_rows == 2
    assert found.column("_score").to_pylist() == sorted(found.column("_score").to_pylist(), reverse=True)
    assert logs.search("disk full", limit=0).num_rows == 0
    assert logs.search("nothing").num_rows == 0
    assert logs.search("disk", []).select(["_score"]).num_rows == 3
    assert logs.search("disk", [], snippets=["body"]).schema.names == ["_score", "_snippets"]
    assert logs.search("name:ERROR", ["id"]).column("_score").to_pylist() == [0.0] * 4
    boosted = logs.search("disk node^100", ["id"], limit=1)
    assert boosted.column("id").to_pylist() == [3]


def test_snippets_show_where_the_words_are(logs: Table) -> None:
    found = logs.search("disk OR tim*", ["id"], snippets=["body"], limit=10)
    assert found.schema.names == ["id", "_score", "_snippets"]
    for row in found.to_pylist():
        snippet = row["_snippets"]["body"]
        marked = {snippet["text"][part["start"] : part["end"]] for part in snippet["highlights"]}
        assert marked == ({"timed"} if row["id"] == 3 else {"disk"})
        assert len(snippet["text"]) <= 160
    with pytest.raises(SchemaError, match="name is not indexed as text"):
        logs.search("disk", snippets=["name"])
    with pytest.raises(SchemaError, match="did you mean body"):
        logs.search("disk", snippets=["bodi"])


def test_a_limit_and_columns_are_checked(logs: Table) -> None:
    with pytest.raises(OptionError, match="limit is -1"):
        logs.search("disk", limit=-1)
    with pytest.raises(SchemaError, match="no column nope"):
        logs.search("disk", ["nope"])


ERRORS = [
    ("bodi:disk", 0, "there is no field bodi; did you mean body?"),
    ("disk AND nme:x", 9, "did you mean name?"),
    ("num:seven", 4, "'seven' cannot be cast"),
    ("day:yesterday", 4, "'yesterday' cannot be cast"),
    ("body:[a TO b]", 5, "is cut into words"),
    ("body:IN [a b]", 5, "is cut into words"),
    ("name:/a/", 5, "not cut into words"),
    ("name:err~1", 5, "not cut into words"),
    ("num:7*", 4, "LIKE needs a string column"),
    ('"..."', 0, "there is no word in it"),
    ("/(/", 0, "the pattern cannot be used"),
    ("id.a:5", 0, "id is int64 and has no field a"),
    ("a AND", 5, "AND needs something after it"),
]


@pytest.mark.parametrize(("query", "position", "what"), ERRORS, ids=[query for query, _, _ in ERRORS])
@pytest.mark.parametrize("verb", ["search", "scan", "count", "explain"])
def test_what_the_table_does_not_have_is_an_error_with_a_position(
    logs: Table, verb: str, query: str, position: int, what: str
) -> None:
    ask = {
        "search": logs.search,
        "scan": lambda text: logs.scan(query=text),
        "count": lambda text: logs.count(query=text),
        "explain": logs.explain,
    }[verb]
    with pytest.raises(QueryError) as caught:
        ask(query)
    assert what in str(caught.value)
    assert caught.value.position == position
    assert "\n" not in str(caught.value)


def test_phrases_need_positions() -> None:
    options = {**OPTIONS, "spark.indextables.indexing.indexrecordoption.freq": "body"}
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", SCHEMA, ["day"], options)
    assert table.count(query="body:disk") == 0
    with pytest.raises(QueryError, match=r"without the places of words.*ask for the words: \(disk AND full\)"):
        table.count(query='body:"disk full"')
    with pytest.raises(QueryError, match=r"\(node AND 1\)"):
        table.count(query="body:node-1")


def test_without_a_text_column_a_field_is_needed() -> None:
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", SCHEMA)
    with pytest.raises(QueryError, match="no text column to search, name a field: id, day, name"):
        table.count(query="disk")
    assert table.count(query="name:disk") == 0


def test_a_query_in_words(logs: Table) -> None:
    assert logs.explain("body:Disk AND NOT name:ERROR") == (
        "all of\n  body has the word disk, from Disk\n  none of\n    `name` = 'ERROR'"
    )
    assert logs.explain('+body:"disk  full"~2 title:a^2 -num:>=5') == (
        "together\n"
        "  all of\n"
        '    body has the words disk full in a row, up to 2 moves apart, from "disk  full"~2\n'
        "  a higher score for any of\n"
        "    with 2 times the score\n"
        "      title has the word a\n"
        "  none of\n"
        "    `num` >= 5"
    )
    assert logs.explain("dis*") == (
        "any of\n  body has a word that matches /dis.*/\n  title has a word that matches /dis.*/"
    )
