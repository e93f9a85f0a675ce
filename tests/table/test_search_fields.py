"""Arrays, IP addresses and JSON in queries, against what a reader of the rows would say."""

from __future__ import annotations

import ipaddress
import itertools
import json
import math
import re
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import QueryError

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("tags", pa.list_(pa.field("element", pa.string()))),
        ("sizes", pa.list_(pa.field("element", pa.int32()))),
        ("ratios", pa.list_(pa.field("element", pa.float64()))),
        ("prices", pa.list_(pa.field("element", pa.decimal128(6, 2)))),
        ("client", pa.string()),
        ("payload", pa.string()),
        ("labels", pa.map_(pa.string(), pa.string())),
        ("items", pa.list_(pa.field("element", pa.struct([("name", pa.string()), ("n", pa.int64())])))),
    ]
)
OPTIONS = {
    "spark.indextables.indexing.typemap.client": "ip",
    "spark.indextables.indexing.typemap.payload": "json",
}
TAGS = [None, [], ["a"], ["a", "b c"], ["B", None], ["a" * 70_000, "z"], [""]]
SIZES = [None, [], [1], [1, 5], [-(2**31), 2**31 - 1], [None], [7, None, 3]]
RATIOS = [None, [], [0.5], [-0.0, 2.0], [math.nan], [math.inf, 1.0], [None, -1.5]]
CLIENTS = [
    None,
    "10.0.0.1",
    "10.0.0.255",
    "10.0.1.0",
    "::ffff:10.0.0.2",
    "2001:db8::1",
    "not an address",
    "255.255.255.255",
]
PAYLOADS: list[Any] = [
    None,
    {"user": {"name": "Alice Smith", "age": 5}, "ok": True},
    {"user": {"name": "bob", "age": 5.5}, "when": "2026-01-01T00:00:00Z", "ok": False},
    {"user": [{"name": "carol"}, {"name": "Smith Alice"}], "n": -7, "text": "12"},
    {"user": "alice", "n": 12, "deep": {"a": {"b": ["red", "blue sky"]}}},
    {"n": 12.0, "odd-key": "x", "user": None},
    "no object",
]


def rows() -> list[dict[str, Any]]:
    made = []
    for number in range(56):
        payload = PAYLOADS[number % len(PAYLOADS)]
        made.append(
            {
                "id": number,
                "tags": TAGS[number % len(TAGS)],
                "sizes": SIZES[number * 3 % len(SIZES)],
                "ratios": RATIOS[number * 5 % len(RATIOS)],
                "prices": [None, [], [Decimal("1.50"), Decimal("2.25")]][number % 3],
                "client": CLIENTS[number % len(CLIENTS)],
                "payload": payload if payload is None or isinstance(payload, str) else json.dumps(payload),
                "labels": [None, [], [("team", "red ants"), ("on", "call")]][number % 3],
                "items": [None, [{"name": "left shoe", "n": 2}, {"name": "hat", "n": 9}], []][number % 3],
            }
        )
    return made


@pytest.fixture(scope="module", params=[1, "merged"])
def table(request: pytest.FixtureRequest) -> Table:
    pieces = 3 if request.param == "merged" else request.param
    made = Table.create(f"memory://{uuid.uuid4().hex}/table", SCHEMA, options=OPTIONS)
    data = rows()
    step = -(-len(data) // pieces)
    for first in range(0, len(data), step):
        made.append(pa.Table.from_pylist(data[first : first + step], schema=SCHEMA))
    if request.param == "merged":
        made.merge_splits()
    return made


def found(table: Table, query: str) -> list[int]:
    ids = sorted(table.scan(["id"], query=query).read_all().column("id").to_pylist())
    assert table.count(query=query) == len(ids)
    assert sorted(table.search(query, ["id"], limit=100).column("id").to_pylist()) == ids
    missing = set(range(len(rows()))) - set(ids)
    assert set(table.scan(["id"], query=f"NOT ({query})").read_all().column("id").to_pylist()) == missing
    return ids


def where(test: Any) -> list[int]:
    return [row["id"] for row in rows() if test(row)]


def some(column: str, test: Any) -> Any:
    return lambda row: any(item is not None and test(item) for item in row[column] or [])


ARRAYS = {
    "tags:a": some("tags", lambda tag: tag == "a"),
    'tags:"b c"': some("tags", lambda tag: tag == "b c"),
    "tags:b": some("tags", lambda tag: tag == "b"),
    'tags:""': some("tags", lambda tag: tag == ""),
    "tags:IN [z B]": some("tags", lambda tag: tag in ("z", "B")),
    "tags:[b TO *]": some("tags", lambda tag: tag >= "b"),
    "tags:b*": some("tags", lambda tag: tag.startswith("b")),
    "tags:*c": some("tags", lambda tag: tag.endswith("c")),
    "tags:a*": some("tags", lambda tag: tag.startswith("a")),
    "tags:*": lambda row: row["tags"] is not None,
    "tags:[* TO *]": lambda row: row["tags"] is not None,
    "sizes:1": some("sizes", lambda size: size == 1),
    "sizes:[2 TO 4]": some("sizes", lambda size: 2 <= size <= 4),
    "sizes:{1 TO 7}": some("sizes", lambda size: 1 < size < 7),
    "sizes:>=5": some("sizes", lambda size: size >= 5),
    "sizes:[-2147483648 TO *]": some("sizes", lambda _: True),
    "sizes:IN [3 99]": some("sizes", lambda size: size in (3, 99)),
    "ratios:0": some("ratios", lambda ratio: ratio == 0),
    "ratios:>1": some("ratios", lambda ratio: ratio > 1 or math.isnan(ratio)),
    "ratios:NaN": some("ratios", math.isnan),
    "ratios:<0": some("ratios", lambda ratio: ratio < 0),
    "prices:1.5": some("prices", lambda price: price == 1.5),
    "prices:>2": some("prices", lambda price: price > 2),
}


@pytest.mark.parametrize("query", ARRAYS)
def test_an_element_is_enough(table: Table, query: str) -> None:
    wanted = where(ARRAYS[query])
    assert found(table, query) == wanted
    assert found(table, f"{query} AND id:>20") == [number for number in wanted if number > 20]


def address(text: str | None) -> int | None:
    try:
        ip = ipaddress.ip_address(text or "")
    except ValueError:
        return None
    return int(ip) + (0xFFFF << 32 if ip.version == 4 else 0)


def between(low: str, high: str) -> Any:
    return lambda row: address(row["client"]) is not None and address(low) <= address(row["client"]) <= address(high)


ADDRESSES = {
    "client:10.0.0.1": between("10.0.0.1", "10.0.0.1"),
    'client:"::ffff:10.0.0.1"': between("10.0.0.1", "10.0.0.1"),
    "client:10.0.0.0\\/24": between("10.0.0.0", "10.0.0.255"),
    "client:[10.0.0.2 TO 10.0.1.0]": between("10.0.0.2", "10.0.1.0"),
    "client:{10.0.0.1 TO 10.0.1.0}": between("10.0.0.2", "10.0.0.255"),
    "client:[10.0.0.255 TO *]": between("10.0.0.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    "client:<10.0.0.2": between("::", "10.0.0.1"),
    'client:IN ["2001:db8::1" 10.0.0.255]': lambda row: row["client"] in ("2001:db8::1", "10.0.0.255"),
    'client:"2001:db8::/32"': lambda row: row["client"] == "2001:db8::1",
    "client:{10.0.0.1 TO 10.0.0.2}": lambda _: False,
    "client:*": lambda row: row["client"] is not None,
    "client:10.0*": lambda row: (row["client"] or "").startswith("10.0"),
}


@pytest.mark.parametrize("query", ADDRESSES)
def test_addresses_are_compared_as_such(table: Table, query: str) -> None:
    assert found(table, query) == where(ADDRESSES[query])


def at(value: Any, path: list[str]) -> Iterator[Any]:
    """Everything at a path, through arrays."""
    if isinstance(value, list):
        yield from itertools.chain.from_iterable(at(item, path) for item in value)
    elif not path:
        yield value
    elif isinstance(value, dict) and path[0] in value:
        yield from at(value[path[0]], path[1:])


def has_words(value: Any, words: list[str]) -> bool:
    cut = re.findall(r"\w+", value.lower()) if isinstance(value, str) else []
    return any(cut[start : start + len(words)] == words for start in range(len(cut)))


def parsed(row: dict[str, Any]) -> Any:
    try:
        return json.loads(row["payload"] or "")
    except ValueError:
        return None


def words_at(path: str, *words: str) -> Any:
    return lambda row: any(has_words(value, list(words)) for value in at(parsed(row), path.split(".")))


def value_at(path: str, wanted: Any) -> Any:
    return lambda row: any(
        value == wanted
        and isinstance(value, bool) is isinstance(wanted, bool)
        and isinstance(value, bool | int | float)
        for value in at(parsed(row), path.split("."))
    )


JSON = {
    "payload.user.name:alice": words_at("user.name", "alice"),
    "payload.user.name:ALICE": words_at("user.name", "alice"),
    'payload.user.name:"alice smith"': words_at("user.name", "alice", "smith"),
    'payload.user.name:"smith alice"~2': words_at("user.name", "smith"),
    "payload.user:alice": words_at("user", "alice"),
    "payload.user.age:5": value_at("user.age", 5),
    "payload.user.age:5.5": value_at("user.age", 5.5),
    "payload.n:-7": value_at("n", -7),
    "payload.n:12": value_at("n", 12),
    "payload.n:12.0": value_at("n", 12),
    "payload.text:12": words_at("text", "12"),
    "payload.ok:true": value_at("ok", True),
    "payload.ok:false": value_at("ok", False),
    "payload.deep.a.b:sky": words_at("deep.a.b", "sky"),
    'payload.deep.a.b:"red blue"': lambda _: False,
    'payload.when:"2026-01-01T00:00:00Z"': lambda row: (
        (parsed(row) or {}).get("when") is not None if isinstance(parsed(row), dict) else False
    ),
    "payload.nobody:alice": lambda _: False,
    "payload.odd-key:x": words_at("odd-key", "x"),
    "payload.n:1.2e1": value_at("n", 12),
    "items.NAME:shoe": lambda row: bool(row["items"]),
    "items.n:[3 TO 9]": lambda row: bool(row["items"]),
    "items.n:>9": lambda _: False,
    "labels.team:ants": lambda row: bool(row["labels"]),
    'labels.on:"call"': lambda row: bool(row["labels"]),
    "items.name:shoe": lambda row: bool(row["items"]),
    "items.n:9": lambda row: bool(row["items"]),
    "items.n:3": lambda _: False,
}


@pytest.mark.parametrize("query", JSON)
def test_json_is_words_and_values_by_path(table: Table, query: str) -> None:
    assert found(table, query) == where(JSON[query])


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("client:somewhere", "no IP address and no network"),
        ("client:[10.0.0.1 TO x]", "no IP address"),
        ("payload.user.name:[a TO b]", "only words, phrases and values"),
        ("payload.user.name:al*", "only words, phrases and values"),
        ("payload..user:x", "a key of the path is empty"),
        ("payload.a.b.c.d.e.f.g.h.i.j.k:x", "at most 10 keys, this one has 11"),
        ("items.nmae:shoe", "items has no field nmae; its fields are name, n"),
        ("items.n:shoe", "shoe"),
        ('payload.user:"--"', "there is no word in it"),
        ("sizes:big", "big"),
        ("id.x:1", "has no field x"),
        ("tags:/a.*/", "regular expressions cannot be searched"),
    ],
)
def test_what_cannot_be_asked_is_said(table: Table, query: str, says: str) -> None:
    with pytest.raises(QueryError) as caught:
        table.count(query=query)
    assert says in str(caught.value)


def test_explain_tells_them_apart(table: Table) -> None:
    text = table.explain('tags:a client:10.0.0.0\\/31 payload.user.name:"Alice Smith" payload.n:12')
    assert text.splitlines() == [
        "any of",
        "  an element of tags has `tags` = 'a'",
        "  client is an address of ::ffff:a00:0 to ::ffff:a00:1",
        "  payload.user.name has the words alice smith in a row",
        "  payload.n has the word 12 or the value 12",
    ]


def test_a_split_without_the_column_has_nothing() -> None:
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", SCHEMA, options=OPTIONS)
    table.append(pa.Table.from_pylist([{"id": 1}], schema=pa.schema([SCHEMA.field("id")])))
    for query in ("tags:a", "client:10.0.0.1", "payload.a:b", "sizes:>0"):
        assert table.count(query=query) == 0
        assert table.count(query=f"NOT {query}") == 1


def test_numbers_in_json_are_exact() -> None:
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", SCHEMA, options=OPTIONS)
    numbers = ["9007199254740992.0", "9007199254740993", "0.1"]
    rows = [{"id": n, "payload": f'{{"n": {text}}}'} for n, text in enumerate(numbers)]
    table.append(pa.Table.from_pylist(rows, schema=pa.schema([SCHEMA.field("id"), SCHEMA.field("payload")])))
    for query, ids in {"9007199254740993": [1], "9007199254740992": [0], "0.1": [2]}.items():
        assert table.scan(["id"], query=f"payload.n:{query}").read_all().column("id").to_pylist() == ids
    assert table.count(query='payload.n:"0001-01-01T00:00:00+10:00"') == 0
