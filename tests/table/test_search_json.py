"""Questions at paths into JSON: numbers of every size, times, dotted keys, maps, against a model in plain Python.

Every question is answered as the model answers it, and counting, scanning, searching and aggregating agree.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import pickle
import re
import uuid
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables import Table
from indextables.core.errors import QueryError
from indextables.core.options import Options
from indextables.table.distributed.read_tasks import plan_tasks
from indextables.table.open_table import pin_version
from indextables.table.read.request import make_request

JSON = {"spark.indextables.indexing.typemap.p": "json"}
TEXT_SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("p", pa.string())])


def table_of(texts: list[str | None], pieces: int = 1) -> Table:
    """A table of JSON texts, numbered from 0; with `pieces` it was written in so many appends and merged."""
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", TEXT_SCHEMA, options=JSON)
    rows = [{"id": number, "p": text} for number, text in enumerate(texts)]
    step = -(-len(rows) // pieces)
    for first in range(0, len(rows), step):
        table.append(pa.Table.from_pylist(rows[first : first + step], schema=TEXT_SCHEMA))
    if pieces > 1:
        table.merge_splits()
    return table


def found(table: Table, query: str) -> list[int]:
    """The ids that a query finds, by all ways of asking, and by its opposite."""
    ids: list[int] = sorted(table.scan(["id"], query=query).read_all().column("id").to_pylist())
    everything = set(table.scan(["id"]).read_all().column("id").to_pylist())
    assert table.count(query=query) == len(ids)
    assert sorted(table.search(query, ["id"], limit=1000).column("id").to_pylist()) == ids
    assert table.aggregate(query=query).column("n").to_pylist() == [len(ids)]
    assert ids_by_tasks(table, query) == ids
    assert set(table.scan(["id"], query=f"NOT {query}").read_all().column("id").to_pylist()) == everything - set(ids)
    return ids


def ids_by_tasks(table: Table, query: str) -> list[int]:
    """The ids that tasks of other processes find, as Spark's do: the plan and each task are pickled."""
    handle = pin_version(table.url, Options({}))
    plan = plan_tasks(handle, make_request(handle, "reading", columns=["id"], query=query))
    tasks = [pickle.loads(pickle.dumps(task)) for task in plan.tasks]
    return sorted(number for task in tasks for batch in task.batches() for number in batch.column("id").to_pylist())


NUMBERS = [
    "9223372036854775806",
    "9223372036854775807",
    "9223372036854775808",
    "9223372036854775809",
    "9223372036854775808.0",
    "18446744073709551614",
    "18446744073709551615",
    "18446744073709551616",
    "1.8446744073709552e19",
    "-9223372036854775808",
    "-9223372036854775809",
    "1e3",
    "1000",
    "1000.0",
    "1E+3",
    "-0.0",
    "0",
    "1e-7",
    "0.1",
    "0.30000000000000004",
    "5e-324",
    "1.7976931348623157e308",
    "100000000000000000000",
    "100000000000000000001",
    "9007199254740993",
    "9007199254740992.0",
    "-7",
]


def number(text: str) -> Fraction:
    """The number of a text by the documented rule: a whole number of 64 bits is itself, every other one is a double."""
    whole = int(text) if re.fullmatch(r"-?\d+", text) else None
    if whole is not None and -(2**63) <= whole < 2**64:
        return Fraction(whole)
    return Fraction(float(text))


@pytest.fixture(scope="module", params=[1, 3])
def numbers(request: pytest.FixtureRequest) -> Table:
    return table_of([f'{{"v": {text}}}' for text in NUMBERS], request.param)


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_finds_its_equals_and_nothing_else(numbers: Table, text: str) -> None:
    same = [place for place, other in enumerate(NUMBERS) if number(other) == number(text)]
    assert found(numbers, f'p.v:"{text}"') == same


def test_a_number_is_no_text_and_no_boolean() -> None:
    table = table_of(
        ['{"v": 1}', '{"v": "1"}', '{"v": true}', '{"v": "true"}', '{"v": 1.5}', '{"v": "1.5"}', '{"v": []}']
    )
    assert found(table, "p.v:1") == [0, 1, 5]  # a text by its words: 1.5 has two
    assert found(table, "p.v:true") == [2, 3]
    assert found(table, "p.v:1.5") == [4, 5]
    assert found(table, "p.v:1.0") == [0]  # the words 1 and 0 stand in no text
    assert found(table, "p.v:1e400") == []


DOTTED = [
    '{"service.name": "api"}',
    '{"service": {"name": "api"}}',
    '{"service": {"name.x": "api"}}',
    '{"service.name.x": "api"}',
    '{"service.name": {"x": "api"}}',
    '{"service": {"name": {"x": "api"}}}',
    '{"a": [{"service.name": 5}], "odd key": "api", "k/ey": "api", "back\\\\slash": "api"}',
    '{"service\\u0001name": "api"}',
    '{"": "api", ".": "api"}',
]


def test_a_dot_is_a_step_or_belongs_to_a_key() -> None:
    for pieces in (1, 3):
        table = table_of(list(DOTTED), pieces)
        assert found(table, "p.service.name:api") == [0, 1]
        assert found(table, "p.service.name.x:api") == [2, 3, 4, 5]
        assert found(table, 'p.service.name.x:"API"') == [2, 3, 4, 5]
        assert found(table, "p.a.service.name:5") == [6]
        assert found(table, "`p.odd key`:api") == [6]
        assert found(table, "`p.k/ey`:api") == [6]
        assert found(table, "p.back\\\\slash:api") == [6]
    assert "p.service.name has the word api" in table.explain("p.service.name:api")


def test_a_path_has_few_keys() -> None:
    keys = "abcdefghij"
    value: Any = "word"
    for key in reversed(keys):
        value = {key: value}
    table = table_of([json.dumps(value), json.dumps({".".join(keys): "word"})])
    assert found(table, f"p.{'.'.join(keys)}:word") == [0, 1]
    with pytest.raises(QueryError, match="at most 10 keys") as caught:
        table.count(query=f"id:1 AND p.{'.'.join(keys)}.k:word")
    assert caught.value.details["position"] == 9 + len(f"p.{'.'.join(keys)}.k:")


TIMES = {
    "2026-01-01T00:00:00Z": "2026-01-01T00:00:00",
    "2026-01-01T01:00:00.25+01:00": "2026-01-01T00:00:00",
    "2026-01-01 00:00:00Z": "2026-01-01T00:00:00",
    "1970-01-01T00:00:00Z": "1970-01-01T00:00:00",
    "1970-01-01T00:00:01Z": "1970-01-01T00:00:01",
    "1969-12-31T23:59:59.5Z": "1969-12-31T23:59:59",
    "1969-12-31T23:59:59Z": "1969-12-31T23:59:59",
    "1969-12-31T23:59:58.123456789123Z": "1969-12-31T23:59:58",
    "2016-12-31T23:59:60Z": "2016-12-31T23:59:59",
    "2400-01-01T00:00:00Z": "2400-01-01T00:00:00",
    "9999-12-31T23:59:59-01:00": "late",
    "0000-01-01T00:00:00+01:00": "early",
}


def test_a_time_is_found_by_its_second() -> None:
    table = table_of([json.dumps({"t": text}) for text in TIMES])
    for text, second in TIMES.items():
        same = [place for place, other in enumerate(TIMES.values()) if other == second]
        assert found(table, f'p.t:"{text}"') == same, text


@pytest.mark.parametrize("tokenizer", ["raw", "whitespace", "default"])
def test_a_time_outside_of_the_years_is_a_text(tokenizer: str) -> None:
    options = {**JSON, f"spark.indextables.indexing.tokenizer.{tokenizer}": "p"}
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", TEXT_SCHEMA, options=options)
    texts = [
        "9999-12-31T23:59:59-01:00",
        "0000-01-01T00:59:59+01:00",
        "9999-12-31T22:59:59-01:00",
        "0000-01-01T01:00:00+01:00",
    ]
    rows = [{"id": number, "p": json.dumps({"t": text})} for number, text in enumerate(texts)]
    table.append(pa.Table.from_pylist(rows, schema=TEXT_SCHEMA))
    for number, text in enumerate(texts):
        assert found(table, f'p.t:"{text}"') == [number]


NESTED = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("days", pa.map_(pa.string(), pa.date32())),
        ("times", pa.map_(pa.string(), pa.timestamp("us", "UTC"))),
        ("prices", pa.map_(pa.string(), pa.decimal128(10, 2))),
        ("ratios", pa.map_(pa.string(), pa.float32())),
        ("doubles", pa.map_(pa.int32(), pa.float64())),
        ("flags", pa.map_(pa.string(), pa.bool_())),
        ("labels", pa.map_(pa.string(), pa.string())),
        ("items", pa.list_(pa.field("element", pa.struct([("n.x", pa.int64()), ("ok", pa.bool_())])))),
        ("s", pa.struct([("tags", pa.list_(pa.string())), ("m", pa.map_(pa.string(), pa.int64()))])),
        ("r", pa.struct([("a.b", pa.int64()), ("a", pa.struct([("b", pa.int64()), ("c.d", pa.list_(pa.string()))]))])),
        ("user.id", pa.map_(pa.string(), pa.int64())),
    ]
)
NESTED_ROWS: list[dict[str, Any]] = [
    {
        "id": 0,
        "days": [("a", dt.date(2026, 1, 31))],
        "times": [("a", dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC))],
        "prices": [("a", Decimal("1.50"))],
        "ratios": [("a", 0.1)],
        "doubles": [(1, float("nan")), (2, 2.0**63)],
        "flags": [("a", True)],
        "labels": [("service.name", "api"), ("n", "12")],
        "items": [{"n.x": 5, "ok": True}, {"n.x": None, "ok": None}],
        "s": {"tags": ["x", "y"], "m": [("k", 7)]},
        "r": {"a.b": 1, "a": {"b": 2, "c.d": ["x"]}},
        "user.id": [("a.b", 2**63 - 1)],
    },
    {
        "id": 1,
        "days": [("a", dt.date(1969, 1, 1)), ("b", dt.date(2026, 1, 31))],
        "times": [("a", dt.datetime(2026, 1, 31, 12, 0, 0, 1, tzinfo=dt.UTC))],
        "prices": [("a", Decimal("150.00"))],
        "ratios": [("a", 0.5), ("b", 0.1)],
        "doubles": [(1, float("inf"))],
        "flags": [("a", False)],
        "labels": [],
        "items": [],
        "s": {"tags": None, "m": None},
        "r": {"a.b": 2, "a": None},
        "user.id": [("a", 1)],
    },
    {"id": 2},
]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("days.a:2026-01-31", [0]),
        ("days.a:>=1969-01-01", [0, 1]),
        ("days.a:IN [1969-01-01 2026-01-31]", [0, 1]),
        ("days.a:*", [0, 1]),
        ('times.a:"2026-01-31T12:00:00Z"', [0]),
        ('times.a:"2026-01-31 12:00:00.000001"', [1]),
        ("prices.a:1.5", [0]),
        ("prices.a:>1.5", [1]),
        ("ratios.a:0.1", [0]),
        ("ratios.b:0.1", [1]),
        ("doubles.1:NaN", [0]),
        ("doubles.1:Infinity", [1]),
        ("doubles.2:9223372036854775808", [0]),
        ("flags.a:true", [0]),
        ("flags.a:no", [1]),
        ("labels.service.name:API", [0]),
        ("labels.n:12", [0]),
        ("labels.n:12.0", []),
        ("items.n.x:5", [0]),
        ("items.N.X:[4 TO 6]", [0]),
        ("items.n.x:6", []),
        ("items.ok:true", [0]),
        ("s.tags:y", [0]),
        ("s.tags:>x", [0]),
        ("s.m.k:7", [0]),
        ("r.a.b:1", [0]),
        ("r.a.b:2", [0, 1]),
        ("r.A.B:>1", [0, 1]),
        ("r.a.b:*", [0, 1]),
        ("r.a.c.d:x", [0]),
        ("user.id.a.b:9223372036854775807", [0]),
        ("user.id.a:1", [1]),
        ("(user.id.a:1 OR days.b:2026-01-31 OR labels.service.name:api)", [0, 1]),
    ],
)
def test_values_inside_maps_and_arrays_are_compared_as_their_type(nested: Table, query: str, ids: list[int]) -> None:
    assert found(nested, query) == ids


@pytest.fixture(scope="module")
def nested() -> Table:
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", NESTED)
    table.append(pa.Table.from_pylist(NESTED_ROWS, schema=NESTED))
    return table


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("days.a:soon", "'soon' cannot be cast to date32.*the type of column days.a"),
        ("items.n.x:5.5", "the type of column items.n.x"),
        ("labels.n:[1 TO 2]", "only words, phrases and values"),
        ("items.q:1", "items has no field q; its fields are n.x, ok"),
        ("s.m:1", "of which only s.m:\\* can be asked"),
        ("s.nothing:1", "there is no field s.nothing"),
        ("r.a.c:1", "there is no field r.a.c; did you mean r.a.c.d"),
        ("labels.:1", "a key of the path is empty"),
    ],
)
def test_what_lies_nowhere_is_refused(nested: Table, query: str, says: str) -> None:
    with pytest.raises(QueryError, match=says) as caught:
        nested.count(query=f"id:1 AND {query}")
    assert caught.value.details["position"] >= len("id:1 AND ")


def test_explain_names_the_value_at_a_path(nested: Table) -> None:
    assert nested.explain("days.a:2026-01-31") == "a value has `days.a` = DATE '2026-01-31'"


# The model: any document, any question.

KEYS = st.sampled_from(["a", "b", "a.b", "b.a", "a.b.a", "c-d"])
TEXTS = st.sampled_from(["red", "blue sky", "Red 12", "12", "1e3", "true", "-7", "1.0", *TIMES])
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    TEXTS,
    st.integers(-20, 20),
    st.integers(-(2**65), 2**65),
    st.sampled_from([2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), 10**20]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1e3, 12.0, 2.0**63, 2.0**64, -(2.0**63), 1e300]),
)
DOCUMENTS = st.dictionaries(
    KEYS,
    st.recursive(
        VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
    ),
    max_size=4,
)


def leaves(value: Any, parts: tuple[str, ...]) -> Iterator[Any]:
    """What lies at a dotted path, through arrays, whichever of its dots belong to keys."""
    if isinstance(value, list):
        yield from itertools.chain.from_iterable(leaves(item, parts) for item in value)
    elif not parts:
        yield value
    elif isinstance(value, dict):
        for taken in range(1, len(parts) + 1):
            key = ".".join(parts[:taken])
            if key in value:
                yield from leaves(value[key], parts[taken:])


def is_found(leaf: Any, text: str) -> bool:
    if isinstance(leaf, bool):
        return text == json.dumps(leaf)
    if isinstance(leaf, int | float):
        return re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", text) is not None and number(json.dumps(leaf)) == number(
            text
        )
    if not isinstance(leaf, str):
        return False
    if leaf in TIMES and len(TIMES[leaf]) > 5 and not leaf.startswith("2400"):
        return TIMES.get(text) == TIMES[leaf]
    words, wanted = re.findall(r"[^\W_]+", leaf.lower()), re.findall(r"[^\W_]+", text.lower())
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words) - len(wanted) + 1))


@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_every_question_is_answered_as_the_model_answers_it(data: st.DataObject) -> None:
    documents = data.draw(st.lists(DOCUMENTS, min_size=1, max_size=8))
    table = table_of([json.dumps(document) for document in documents])
    held = [leaf for document in documents for leaf in every_leaf(document) if leaf is not None]
    own = st.sampled_from([leaf if isinstance(leaf, str) else json.dumps(leaf) for leaf in held] or ["red"])
    for _ in range(6):
        path = data.draw(st.lists(st.sampled_from(["a", "b", "c-d"]), min_size=1, max_size=4))
        text = data.draw(own | TEXTS | st.sampled_from(NUMBERS))
        wanted = [
            place
            for place, document in enumerate(documents)
            if any(is_found(leaf, text) for leaf in leaves(document, tuple(path)))
        ]
        assert found(table, f'p.{".".join(path)}:"{text}"') == wanted, (documents, path, text)


def every_leaf(value: Any) -> Iterator[Any]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if inside is None:
        yield value
    else:
        for item in inside:
            yield from every_leaf(item)
