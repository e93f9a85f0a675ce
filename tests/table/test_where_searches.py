"""Searches inside `where`, under AND, OR and NOT beside predicates: every verb finds what a plain model finds."""

from __future__ import annotations

import datetime as dt
import pickle
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables import Table
from indextables.core.errors import IndexTablesError, PredicateError, QueryError
from indextables.core.predicate import Column, Not, Search, evaluate, has_search, parse_predicate, to_sql
from indextables.split.open_splits import OpenSplits, close_all, replaced_by
from indextables.split.plan.access import AllRows, IndexQuery, Purpose
from indextables.split.plan.costs import COSTS
from indextables.split.query import match, tree
from indextables.split.query.bound import Words
from indextables.split.query.tree import And, Node, OneOf, Or, Phrase, Range, Term, Wildcard
from indextables.table.distributed.read_tasks import plan_count, plan_tasks
from indextables.table.read.request import make_request, plan_read
from indextables.table.read.split_readers import split_readers
from table.query_model import TEXTS
from table.test_search import OPTIONS, SCHEMA, make, queries
from table.test_search import rows as row_lists
from table.where_model import Compared, Condition, Joined, Negated, Searched, meaning, sql
from tables import handle_of

COMPARED = [
    "num > 0",
    "num IS NULL",
    "num IN (7, 0)",
    "num NOT IN (7, NULL)",
    "name = 'ERROR'",
    "name <> 'ERROR'",
    "name LIKE 'E%'",
    "name IS NOT NULL",
    "x >= 1.5",
    "x <=> 0",
    "NOT x <=> 0",
    "day = DATE '2024-01-30'",
    "day IS NULL",
    "day < DATE '2024-01-31' OR id = 3",
    "flag",
    "NOT flag",
    "body LIKE '%disk%'",
    "body IS NULL",
    "title IS NOT NULL",
    "id BETWEEN 2 AND 9",
    "id < 1000000",
    "id < 0",
    "TRUE",
    "FALSE",
    "CAST(NULL AS BOOLEAN)",
]
compared = st.sampled_from(COMPARED).map(lambda text: Compared(parse_predicate(text, SCHEMA)))
spellings = st.sampled_from(["operator", "operator", "negated", "function"])


def own(column: str) -> st.SearchStrategy[Node]:
    """Queries that name no field, for a column that is not cut into words."""
    values = {
        "num": ["-5", "0", "7", "99"],
        "id": ["0", "3", "7"],
        "x": ["0.0", "1.5", "NaN", "Infinity"],
        "name": ["ERROR", "error", "a b", ""],
        "day": ["2024-01-30", "2024-01-31"],
        "flag": ["true", "false"],
    }[column]
    value = st.sampled_from(values)
    leaf: st.SearchStrategy[Any] = st.one_of(
        st.builds(Term, st.none(), value.filter(lambda text: text and " " not in text)),
        st.builds(Phrase, st.none(), value),
        st.builds(OneOf, st.none(), st.lists(value, max_size=3).map(tuple)),
        *(
            []
            if column == "flag"
            else [st.builds(Range, st.none(), st.none() | value, st.none() | value, st.booleans())]
        ),
        *([st.builds(Wildcard, st.none(), st.sampled_from([("E", None), (None, "R")]))] if column == "name" else []),
    )
    several = st.lists(leaf, min_size=2, max_size=3).map(tuple)
    return leaf | st.builds(And, several) | st.builds(Or, several) | st.builds(tree.Not, leaf)


searched: st.SearchStrategy[Condition] = st.one_of(
    st.builds(Searched, st.none() | st.sampled_from(TEXTS), queries, spellings),
    st.builds(Searched, st.sampled_from(TEXTS), queries, spellings, st.just("TEXTSEARCH")),
    st.sampled_from(["num", "id", "x", "name", "day", "flag"]).flatmap(
        lambda column: st.builds(
            Searched, st.just(column), own(column), spellings, st.sampled_from(["INDEXQUERY", "FIELDMATCH"])
        )
    ),
)
conditions: st.SearchStrategy[Condition] = st.recursive(
    searched | compared,
    lambda inner: st.one_of(
        st.builds(
            Joined, st.sampled_from(["AND", "and", "OR", "OR"]), st.lists(inner, min_size=2, max_size=3).map(tuple)
        ),
        st.builds(Negated, inner),
    ),
    max_leaves=6,
)


def check(table: Table, data: list[dict[str, Any]], condition: Condition) -> None:
    """Every verb, here and as tasks for other processes, against the model."""
    where = sql(condition)
    chosen = [row for row in data if meaning(condition, row) is True]
    wanted = [row["id"] for row in chosen]
    parsed = parse_predicate(where, SCHEMA)
    assert parse_predicate(to_sql(parsed), SCHEMA) == parsed == pickle.loads(pickle.dumps(parsed)), where
    assert sorted(table.scan(["id"], where).read_all().column("id").to_pylist()) == wanted, where
    assert table.count(where) == len(wanted), where
    assert table.scan(["id"], where, limit=2).read_all().num_rows == min(2, len(wanted)), where
    some = table.scan(["id", "day"], where, limit=3).read_all().column("id").to_pylist()
    assert set(some) <= set(wanted), where
    groups = {row["name"]: row["n"] for row in table.aggregate("name", where=where).to_pylist()}
    assert groups == Counter(row["name"] for row in chosen), where
    check_ranked(table, where, wanted, len(data))
    check_tasks(table, where, wanted)


def check_ranked(table: Table, where: str, wanted: list[int], rows: int) -> None:
    """A query beside the condition finds the rows of both, and its scores are those that it has alone."""
    alone = {row["id"]: row["_score"] for row in table.search("disk full^2", ["id"], limit=rows + 1).to_pylist()}
    both = {row["id"]: row["_score"] for row in table.search("disk full^2", ["id"], where, rows + 1).to_pylist()}
    assert both == {number: score for number, score in alone.items() if number in wanted}, where
    assert table.count(where, query="disk full") == len(both), where
    assert sorted(table.scan(["id"], where, "disk full").read_all().column("id").to_pylist()) == sorted(both), where


def check_tasks(table: Table, where: str, wanted: list[int]) -> None:
    handle = handle_of(table)
    request = pickle.loads(pickle.dumps(make_request(handle, None, columns=["id"], where=where)))
    tasks = pickle.loads(pickle.dumps(plan_tasks(handle, request, 2).tasks))
    found = [number for task in tasks for batch in task.batches() for number in batch.column("id").to_pylist()]
    assert sorted(found) == wanted, where
    counted = plan_count(handle, request)
    assert counted.rows_in_log + sum(task.count() for task in counted.tasks.tasks) == len(wanted), where


@contextmanager
def costs(eager: bool) -> Iterator[None]:
    """The costs of the process, or such that every split is large and every index free."""
    with ExitStack() as stack:
        if eager:
            planned = replace(COSTS, index_is_free=True, small_split_rows=0)
            stack.enter_context(replaced_by(OpenSplits(costs=planned)))
        yield


QUICK = settings(max_examples=examples(6), deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize(("cached", "eager"), [("true", False), ("true", True), ("false", False)])
@QUICK
@given(row_lists, st.integers(1, 3), st.lists(conditions, min_size=6, max_size=10))
def test_what_is_found_is_what_a_plain_model_finds(
    cached: str, eager: bool, data: list[dict[str, Any]], pieces: int, asked: list[Condition]
) -> None:
    with costs(eager):
        table, numbered = make(data, pieces, **{"spark.indextables.cache.disk.enabled": cached})
        for condition in asked:
            check(table, numbered, condition)
        table.merge_splits()
        close_all()
        for condition in asked:
            check(table, numbered, condition)


@pytest.mark.stress
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.booleans(), row_lists, st.integers(1, 3), st.lists(conditions, min_size=6, max_size=10))
def test_what_is_found_is_what_a_plain_model_finds_at_length(
    eager: bool, data: list[dict[str, Any]], pieces: int, asked: list[Condition]
) -> None:
    with costs(eager):
        table, numbered = make(data, pieces)
        for condition in asked:
            check(table, numbered, condition)
        table.merge_splits()
        for condition in asked:
            check(table, numbered, condition)


LARGE = 12_000


@pytest.fixture(scope="module")
def large() -> tuple[Table, list[dict[str, Any]]]:
    """Two splits of more rows than a scan is always taken for, one of them merged from two."""
    words = ["disk", "full", "node-1", "dusk", "Ärger"]
    data = [
        {
            "day": None,
            "name": ["ERROR", "error", None, "a b"][number % 4],
            "num": None if number % 11 == 0 else number % 50 - 5,
            "x": None if number % 13 == 0 else number / 7,
            "flag": number % 3 == 0,
            "body": None if number % 17 == 0 else " ".join(words[: number % 6]) + f" w{number % 400}",
            "title": words[number % 5] if number % 2 else None,
        }
        for number in range(2 * LARGE)
    ]
    table, numbered = make(data[:LARGE], 2)
    table.merge_splits()
    more = [{"id": LARGE + number, **row} for number, row in enumerate(data[LARGE:])]
    table.append(pa.Table.from_pylist(more, schema=SCHEMA))
    assert table.files().num_rows == 2
    return table, numbered + more


@pytest.mark.parametrize("batch_rows", [match.BATCH_ROWS, 1_000])
@settings(max_examples=examples(18), deadline=None, suppress_health_check=list(HealthCheck))
@given(condition=conditions)
def test_large_splits(
    large: tuple[Table, list[dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
    batch_rows: int,
    condition: Condition,
) -> None:
    monkeypatch.setattr(match, "BATCH_ROWS", batch_rows)
    table, data = large
    where = sql(condition)
    wanted = [row["id"] for row in data if meaning(condition, row) is True]
    assert table.scan(["id"], where).read_all().column("id").to_pylist() == wanted, where
    assert table.count(where) == len(wanted), where
    assert table.scan(["id"], where, limit=5).read_all().column("id").to_pylist() == wanted[:5], where
    groups = {row["name"]: row["n"] for row in table.aggregate("name", where=where).to_pylist()}
    assert groups == Counter(data[number]["name"] for number in wanted), where


@pytest.fixture(scope="module")
def logs() -> Table:
    """Two splits of four rows, one a day; the third body is null."""
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", SCHEMA, ["day"], OPTIONS)
    bodies = ["disk is full", "node-7 timed out", None, "full moon"]
    for first, day in ((0, dt.date(2024, 1, 30)), (4, dt.date(2024, 1, 31))):
        lines = [
            {"id": first + at, "day": day, "name": f"n{at}", "num": at, "body": body} for at, body in enumerate(bodies)
        ]
        table.append(pa.Table.from_pylist(lines, schema=SCHEMA))
    return table


def ids(table: Table, where: str, **more: Any) -> list[int]:
    return sorted(table.scan(["id"], where, **more).read_all().column("id").to_pylist())


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("body INDEXQUERY 'full'", [0, 3]),
        ("NOT body INDEXQUERY 'full'", [1]),
        ("body INDEXQUERY 'NOT full'", [1]),
        ("body INDEXQUERY 'full' OR num = 2", [0, 2, 3]),
        ("NOT (body INDEXQUERY 'full' AND num = 0)", [1, 2, 3]),
        ("NOT (body INDEXQUERY 'full' OR num = 0)", [1]),
        ("(body INDEXQUERY 'full') IS NULL OR TRUE", None),
        ("INDEXQUERYALL('full')", [0, 3]),
        ("NOT INDEXQUERYALL('full')", [1, 2]),
        ("body INDEXQUERY 'name:n2 OR name:n3'", [3]),
        ("INDEXQUERYALL('name:n2 OR name:n3')", [2, 3]),
        ("num = 0 OR num = 2 OR body INDEXQUERY 'moon'", [0, 2, 3]),
        ("num < 2 AND num > 0 AND body INDEXQUERY 'timed'", [1]),
        ("body INDEXQUERY 'disk OR name:n2'", [0]),
        ("body INDEXQUERY '(disk OR name:n2) (node OR name:n2)'", [0, 1]),
        ("NOT body INDEXQUERY 'disk OR name:n2'", [1, 3]),
        ("body INDEXQUERY NULL", []),
        ("NOT body INDEXQUERY NULL", []),
    ],
)
def test_a_search_of_a_null_is_null(logs: Table, where: str, found: list[int] | None) -> None:
    if found is None:
        with pytest.raises(PredicateError, match="IS NULL on anything but a column"):
            logs.count(where)
        return
    assert ids(logs, f"({where}) AND day = '2024-01-30'") == found
    assert logs.count(where) == 2 * len(found)


ERRORS = [
    ("body FIELDMATCH 'x'", PredicateError, "FIELDMATCH (its text at position 17 of the filter)", "use TEXTSEARCH"),
    ("num = 1 OR name TEXTSEARCH 'x'", PredicateError, "TEXTSEARCH (its text at position 28", "use FIELDMATCH"),
    ("body INDEXQUERY 'a AND'", QueryError, "body INDEXQUERY (its text at position 17", "AND needs something after it"),
    ("NOT INDEXQUERYALL('nme:x')", QueryError, "INDEXQUERYALL (its text at position 19", "did you mean name?"),
    ("day INDEXQUERY '10:30'", QueryError, "there is no field 10", "between double quotes"),
    ("num INDEXQUERY 'seven'", QueryError, "num INDEXQUERY", "'seven' cannot be cast"),
    ("body INDEXQUERY ''", QueryError, "character 1, at its end", "a word, a phrase or a field is expected"),
    ("body INDEXQUERY '[a TO b]'", QueryError, "body INDEXQUERY", "is cut into words"),
    ("bodi INDEXQUERY 'x'", PredicateError, "unknown column bodi at position 1", "did you mean body?"),
    (" OR ".join(["body INDEXQUERY 'x'"] * 257), PredicateError, "more than 256 searches", "join texts"),
]


@pytest.mark.parametrize(("where", "kind", "what", "way_out"), ERRORS, ids=[error[0][:40] for error in ERRORS])
@pytest.mark.parametrize("verb", ["scan", "count", "search", "aggregate", "files", "prewarm"])
def test_what_cannot_be_searched_is_an_error_of_one_line(
    logs: Table, verb: str, where: str, kind: type[IndexTablesError], what: str, way_out: str
) -> None:
    ask = {
        "scan": lambda: logs.scan(where=where),
        "count": lambda: logs.count(where),
        "search": lambda: logs.search("disk", where=where),
        "aggregate": lambda: logs.aggregate(where=where),
        "files": lambda: logs.files(where),
        "prewarm": lambda: logs.prewarm(where),
    }[verb]
    with pytest.raises(kind) as caught:
        ask()
    assert what in str(caught.value)
    assert way_out in str(caught.value)
    assert "\n" not in str(caught.value)


def test_verbs_of_whole_partitions_refuse_searches(logs: Table) -> None:
    for verb in (
        lambda: logs.merge_splits(where="day INDEXQUERY '2024-01-30'"),
        lambda: logs.overwrite(pa.table({"id": [1]}), where="INDEXQUERYALL('x') OR day = '2024-01-30'"),
    ):
        with pytest.raises(PredicateError, match=r"has a search, but only whole partitions are (merged|replaced)"):
            verb()


def accesses(table: Table, where: str) -> list[Any]:
    handle = handle_of(table)
    plan = plan_read(handle, make_request(handle, "reading", columns=(), where=where))
    condition = plan.condition
    return [
        split.access(Purpose.SCAN, condition.predicate, condition.query) for split in split_readers(handle, plan.files)
    ]


def test_a_split_asks_its_index_only_for_what_nothing_else_decides(logs: Table) -> None:
    first, second = accesses(logs, "day = '2024-01-30' OR body INDEXQUERY 'full'")
    assert first == AllRows()
    assert isinstance(second.question.bound, Words)
    assert accesses(logs, "day = '2024-01-30' AND body INDEXQUERY 'full'")[0].residual == parse_predicate(
        "TRUE", SCHEMA
    )
    assert accesses(logs, "id < 4 OR (num > 9 AND body INDEXQUERY 'full')") == [AllRows()]
    first, second = accesses(logs, "NOT day INDEXQUERY '2024-01-31' AND (id = 3 OR body INDEXQUERY 'full') OR id >= 4")
    assert (isinstance(first, IndexQuery), second) == (True, AllRows())


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("NOT id INDEXQUERY '>=0'", 0),
        ("NOT id INDEXQUERY '<0'", 8),
        ("id INDEXQUERY '>=0'", 8),
        ("NOT id INDEXQUERY '<0 OR num:5'", 8),
        ("NOT id INDEXQUERY '<4 OR num:>=0'", 0),
        ("id = 9 OR NOT id INDEXQUERY '>=0'", 0),
        ("NOT day INDEXQUERY '2024-01-30'", 4),
        ("NOT day INDEXQUERY '2024-01-30' OR INDEXQUERYALL('disk')", 5),
        ("NOT (day INDEXQUERY '2024-01-30' OR INDEXQUERYALL('disk'))", 3),
        ("INDEXQUERYALL('*') AND NOT INDEXQUERYALL('NOT *')", 8),
    ],
)
def test_what_a_split_knows_beforehand_is_right(logs: Table, where: str, found: int) -> None:
    assert logs.count(where) == len(ids(logs, where)) == found
    assert logs.aggregate(where=where).column("n").to_pylist() == [found]
    assert logs.count(where, query="disk OR NOT disk") == found


def test_files_are_left_out_by_what_searches_imply(logs: Table) -> None:
    assert logs.files("id INDEXQUERY '[0 TO 3]'").num_rows == 1
    assert logs.files("body INDEXQUERY 'full AND id:<4' OR id = 2").num_rows == 1
    assert logs.files("NOT id INDEXQUERY '[0 TO 3]'").num_rows == 2, "what a search does not find may be anywhere"
    assert logs.files("INDEXQUERYALL('full') AND day = '2024-01-31'").num_rows == 1
    assert logs.files("INDEXQUERYALL('full') OR day = '2024-01-31'").num_rows == 2
    assert ids(logs, "id INDEXQUERY '[0 TO 3]' AND NOT id INDEXQUERY '3'") == [0, 1, 2]


def test_snippets_show_the_words_of_the_query_alone(logs: Table) -> None:
    found = logs.search("disk", ["id"], "body INDEXQUERY 'full'", snippets=["body"], limit=1).to_pylist()[0]
    snippet = found["_snippets"]["body"]
    assert [snippet["text"][part["start"] : part["end"]] for part in snippet["highlights"]] == ["disk"]


@pytest.mark.parametrize(
    "where", ["body INDEXQUERY 'full'", "num > 5 OR body INDEXQUERY 'full' AND INDEXQUERYALL('is')"]
)
def test_searches_in_where_have_no_scores(logs: Table, where: str) -> None:
    alone, beside = logs.search("disk", ["id"]), logs.search("disk", ["id"], where)
    assert beside.to_pylist() == alone.to_pylist() != []
    assert logs.search("name:n0", ["id"], where).column("_score").to_pylist() == [0.0, 0.0]


def test_a_condition_is_bound_once(logs: Table) -> None:
    handle = handle_of(logs)
    one, other = (make_request(handle, None, columns=(), where="body INDEXQUERY 'full' OR id = 1") for _ in range(2))
    assert plan_read(handle, one).condition is plan_read(handle, other).condition
    many = f"body INDEXQUERY 'full' OR id IN ({', '.join(map(str, range(5000)))})"
    assert logs.count(many) == 8


def test_a_search_is_a_value_and_no_row_can_answer_it() -> None:
    body = Column(("body",), pa.string())
    search = Search(body, "full", position=3)
    assert search == Search(body, "full")
    assert {search: 1}[pickle.loads(pickle.dumps(search))] == 1
    assert search != Search(body, "full", "TEXTSEARCH")
    assert has_search(Not(search))
    with pytest.raises(PredicateError, match="INDEXQUERY 'full' is a search, which an index answers"):
        evaluate(Not(search), pa.table({"body": ["full"]}))
