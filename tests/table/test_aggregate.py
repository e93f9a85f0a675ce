"""`aggregate` says what a plain model says, whichever way it takes, however the rows lie in files."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import indextables.split.execute as execute_module
from effort import examples
from indextables import Table
from indextables.core.errors import QueryError
from split.query_text import to_text
from table import aggregate_model as model
from table.query_model import finds
from table.strategies import SCHEMA, tables
from table.test_search import make, queries
from table.test_search import rows as texts
from tables import handle_of, store_of

DAY = 86_400_000_000
PRICES = ["< -10.5", "[-10.5, 0)", "[0, 100)", ">= 100"]
TINY = ["< 0.5", "[0.5, 7)", ">= 7"]
DATES = ["< 1969-12-31", "[1969-12-31, 1970-01-02)", ">= 1970-01-02"]


def plain(column: str) -> model.KeyOf:
    return lambda row: model.same(row[column])


KEYS: list[tuple[str, model.KeyOf]] = [
    *((name, plain(name)) for name in ("tiny", "id", "ratio", "score", "flag", "text", "day", "at", "price", "raw")),
    ("inner.y", lambda row: None if row["inner"] is None else row["inner"]["y"]),
    ("histogram(tiny, 3)", model.steps("tiny", 3)),
    ("histogram(whole, 1000000007)", model.steps("whole", 1_000_000_007)),
    ("histogram(score, 0.5)", model.float_steps("score", 0.5)),
    ("date_histogram(at, '1 hour')", model.steps("at", 3_600_000_000)),
    ("date_histogram(local, '15m')", model.steps("local", 900_000_000)),
    ("date_histogram(at, 'week')", model.steps("at", 7 * DAY, 4 * DAY)),
    ("date_histogram(day, '2 days')", model.steps("day", 2)),
    ("date_histogram(day, 'week')", model.steps("day", 7, 4)),
    ("date_histogram(day, 'month')", model.months("day", 1, 1)),
    ("date_histogram(at, 'quarter')", model.months("at", 3, DAY)),
    ("date_histogram(local, 'year')", model.months("local", 12, DAY)),
    (
        "range(price, -10.5, 0, 100)",
        model.ranges("price", [Decimal("-10.5"), Decimal(0), Decimal(100)], PRICES),
    ),
    ("range(tiny, 0.5, 7)", model.ranges("tiny", [0.5, 7], TINY)),
    ("range(day, '1969-12-31', '1970-01-02')", model.ranges("day", [-1, 1], DATES)),
    ("range(score, 0.5)", model.ranges("score", [0.5], ["< 0.5", ">= 0.5"])),
]
NUMBERS = ["tiny", "short", "whole", "id", "ratio", "score", "price", "big"]
ORDERED = [*NUMBERS, "flag", "text", "day", "at", "local", "raw", "long"]
METRICS: list[tuple[str, str, str | None]] = [
    ("count", "count", None),
    *((f"count({name})", "count", name) for name in [*ORDERED, "tags", "inner"]),
    *((f"count(distinct {name})", "count distinct", name) for name in ORDERED),
    *((f"{what}({name})", what, name) for name in NUMBERS for what in ("sum", "avg")),
    *((f"{what}({name})", what, name) for name in ORDERED for what in ("min", "max")),
]


def listed(table: pa.Table) -> list[tuple[Any, ...]]:
    """Plain values, dates and moments as numbers."""
    columns = []
    for column in table.columns:
        kind = column.type
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            column = column.cast(pa.int32() if pa.types.is_date(kind) else pa.int64())
        columns.append([model.same(value) for value in column.to_pylist()])
    return list(zip(*columns, strict=True))


def grouped(rows: list[dict[str, Any]], keys: list[model.KeyOf]) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {} if keys else {(): []}
    for row in rows:
        groups.setdefault(tuple(key(row) for key in keys), []).append(row)
    return groups


def fits(value: Any, kind: pa.DataType) -> bool:
    """Whether a sum is one that its type holds."""
    if isinstance(value, int) and pa.types.is_integer(kind):
        return -(2**63) <= value < 2**63
    if not pa.types.is_decimal(kind) or value is None:
        return True
    return bool(value.copy_abs() < Decimal(10) ** (kind.precision - kind.scale))  # abs() would round it to 28 digits


def check(
    table: Table,
    rows: list[dict[str, Any]],
    by: list[tuple[str, model.KeyOf]],
    metrics: list[tuple[str, str, str | None]],
) -> None:
    wanted = []
    for group, members in grouped(rows, [key for _, key in by]).items():
        numbers = [
            model.metric(what, column, None if column is None else SCHEMA.field(column).type, members)
            for _, what, column in metrics
        ]
        wanted.append((*group, *numbers))
    asked = [text for text, _ in by], [text for text, _, _ in metrics]
    least = [_least(text) for text, _ in by]
    too_small = any(isinstance(row[i], int) and row[i] < low for row in wanted for i, low in enumerate(least))
    kinds = [_type(what, column) for _, what, column in metrics]
    sums = [(value, kind) for row in wanted for value, kind in zip(row[len(by) :], kinds, strict=True)]
    if too_small or not all(fits(value, kind) for value, kind in sums):
        with pytest.raises(QueryError):
            table.aggregate(*asked)
        return
    found = table.aggregate(*asked)
    assert found.column_names == [*asked[0], *asked[1]]
    assert sorted(map(repr, listed(found))) == sorted(map(repr, wanted)), asked


def _least(text: str) -> int:
    return -(2**31) if "(day" in text else -(2**63)


def _type(what: str, column: str | None) -> pa.DataType:
    kind = None if column is None else SCHEMA.field(column).type
    if what in {"sum", "avg"} and pa.types.is_decimal(kind):
        extra = 10 if what == "sum" else 4
        scale = kind.scale if what == "sum" else min(kind.scale + 4, 38 - (kind.precision - kind.scale))
        return pa.decimal128(min(38, kind.precision + extra), scale)
    return pa.int64()


several = st.lists(st.sampled_from(KEYS), max_size=2, unique_by=lambda key: key[0])
metrics = st.lists(st.sampled_from(METRICS), min_size=1, max_size=5, unique_by=lambda part: part[0])
SLOW = settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))


@SLOW
@given(st.data())
def test_every_type_and_every_metric(data: st.DataObject) -> None:
    partition_by = data.draw(st.sampled_from([(), ("day",), ("text", "flag"), ("score",)]))
    arrow, rows = data.draw(tables(partition_by, max_size=30))
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", SCHEMA, partition_by)
    step = data.draw(st.integers(1, 30))
    for first in range(0, len(rows), step):
        table.append(arrow.slice(first, step))
    asked = [(data.draw(several), data.draw(metrics)) for _ in range(8)]
    for by, wanted in asked:
        check(table, rows, by, wanted)
    table.merge_splits()
    for by, wanted in asked[:4]:
        check(table, rows, by, wanted)


TEXT_KEYS: list[tuple[str, model.KeyOf]] = [
    *((name, plain(name)) for name in ("name", "num", "x", "flag", "day")),
    ("histogram(num, 4)", model.steps("num", 4)),
    ("histogram(id, 3)", model.steps("id", 3)),
    ("range(num, 0, 5)", model.ranges("num", [0, 5], ["< 0", "[0, 5)", ">= 5"])),
    ("range(x, 0, 2)", model.ranges("x", [0, 2], ["< 0", "[0, 2)", ">= 2"])),
    ("range(name, 'F')", model.ranges("name", ["F"], ["< F", ">= F"])),
]
TEXT_METRICS: list[tuple[str, str, str | None]] = [
    ("count", "count", None),
    *((f"{what}(num)", what, "num") for what in ("count", "sum", "avg", "min", "max")),
    *((f"{what}(id)", what, "id") for what in ("count", "sum", "avg", "min", "max")),
    ("count(name)", "count", "name"),
    ("count(distinct name)", "count distinct", "name"),
    ("sum(x)", "sum", "x"),
    ("max(x)", "max", "x"),
    ("min(day)", "min", "day"),
]


@pytest.mark.parametrize("cached", ["true", "false"])
@settings(max_examples=examples(6), deadline=None, suppress_health_check=list(HealthCheck))
@given(texts, st.integers(1, 3), st.data())
def test_of_what_a_query_finds(cached: str, rows: list[dict[str, Any]], pieces: int, data: st.DataObject) -> None:
    table, numbered = make(rows, pieces, **{"spark.indextables.cache.disk.enabled": cached})
    several = st.lists(st.sampled_from(TEXT_KEYS), max_size=2, unique_by=lambda key: key[0])
    wanted = st.lists(st.sampled_from(TEXT_METRICS), min_size=1, max_size=4, unique_by=lambda part: part[0])
    asked = [(data.draw(queries), data.draw(several), data.draw(wanted)) for _ in range(6)]
    days = [{**row, "day": None if row["day"] is None else (row["day"] - dt.date(1970, 1, 1)).days} for row in numbered]
    for merged in (False, True):
        if merged:
            table.merge_splits()
        for node, by, parts in asked:
            text = to_text(node)
            found = [later for row, later in zip(numbered, days, strict=True) if finds(node, row)]
            expected = [
                (*group, *(model.metric(what, column, None, members) for _, what, column in parts))
                for group, members in grouped(found, [key for _, key in by]).items()
            ]
            result = table.aggregate([text for text, _ in by], [text for text, _, _ in parts], query=text)
            assert sorted(map(repr, listed(result))) == sorted(map(repr, expected)), (text, by, parts)


@pytest.fixture(scope="module")
def logs() -> Table:
    """400 rows with the word disk in every other one, in one split, one of ten parts without a level."""
    schema = pa.schema(
        [
            ("at", pa.timestamp("us", "UTC")),
            ("level", pa.string()),
            ("size", pa.int64()),
            ("cost", pa.float64()),
            ("message", pa.string()),
        ]
    )
    first = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    rows = [
        {
            "at": first + dt.timedelta(minutes=number),
            "level": [None, "INFO", "WARN", "INFO", "ERROR"][number % 10 % 5] if number % 10 else None,
            "size": number % 7,
            "cost": number / 8,
            "message": "disk full" if number % 2 else "node up",
        }
        for number in range(400)
    ]
    table = Table.create(
        f"memory://{uuid.uuid4().hex}/logs", schema, options={"spark.indextables.indexing.typemap.message": "text"}
    )
    table.append(pa.Table.from_pylist(rows, schema=schema))
    return table


@pytest.fixture
def from_index(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], None]:
    """`from_index(function)`: what an index answers for the rest of the test."""

    def answer(function: Callable[..., Any]) -> None:
        monkeypatch.setattr(execute_module, "from_index", function)

    return answer


@pytest.fixture
def pushed(from_index: Callable[[Callable[..., Any]], None]) -> list[bool]:
    """Whether the index was enough, for each split that was asked."""
    seen: list[bool] = []
    original: Callable[..., Any] = execute_module.from_index

    def watched(*arguments: Any) -> Any:
        answer = original(*arguments)
        seen.append(answer is not None)
        return answer

    from_index(watched)
    return seen


class TestIndex:
    """What the index can answer, it answers, and the rows say the same."""

    @pytest.mark.parametrize(
        ("by", "metrics"),
        [
            ((), ["count"]),
            (("level",), ["count"]),
            (("date_histogram(at, 'hour')",), ["count"]),
            (("level", "date_histogram(at, '2 hours')"), ["count", "sum(size)", "avg(size)", "min(at)", "max(size)"]),
            (("range(size, 2, 5)", "level"), ["count", "count(at)"]),
            (("size",), ["count", "min(size)"]),
            (("histogram(size, 2)", "level"), ["sum(size)"]),
            ((), ["sum(size)", "min(at)"]),
        ],
    )
    def test_is_enough(
        self, logs: Table, pushed: list[bool], from_index: Callable[..., None], by: tuple[str, ...], metrics: list[str]
    ) -> None:
        found = logs.aggregate(by, metrics, query="disk")
        assert pushed == [True]
        from_index(lambda *_: None)
        assert found.equals(logs.aggregate(by, metrics, query="disk"))
        assert found.num_rows

    @pytest.mark.parametrize(
        ("by", "metrics"),
        [
            (("cost",), ["count"]),
            (("histogram(cost, 10)",), ["count"]),
            (("level",), ["sum(cost)"]),
            (("level",), ["count(distinct size)"]),
            (("date_histogram(at, 'month')",), ["count"]),
            (("message",), ["count"]),
        ],
    )
    def test_is_not_enough(self, logs: Table, pushed: list[bool], by: tuple[str, ...], metrics: list[str]) -> None:
        assert logs.aggregate(by, metrics, query="disk").num_rows
        assert pushed == [False]

    def test_answers_with_where_too(self, logs: Table, pushed: list[bool]) -> None:
        assert logs.aggregate("level", where="size > 3", query="disk").column("n").to_pylist() == [17, 34, 17, 17]
        assert pushed == [True]


def test_sums_do_not_depend_on_files() -> None:
    numbers = [1e300, 1.0, -1e300, 1e-20, 2.0**53, 1.0, -(2.0**53)]
    exact = math.fsum(numbers)
    for pieces in (1, 2, 7):
        table = Table.create(f"memory://{uuid.uuid4().hex}/table", pa.schema([("x", pa.float64())]))
        for first in range(pieces):
            table.append(pa.table({"x": numbers[first::pieces]}))
        assert table.aggregate(metrics={"s": "sum(x)"}).to_pylist() == [{"s": exact}]


def test_large_splits_answer_as_small_ones() -> None:
    """A split with more rows than a batch of an aggregate has, beside several splits of the same rows, by filters too."""
    random = np.random.default_rng(11)
    count = 300_000
    x = np.ldexp(random.standard_normal(count), random.integers(-40, 40, count))
    levels = np.array(["INFO", "WARN", "ERROR", ""])[random.integers(0, 4, count)].tolist()
    rows = pa.table(
        {
            "level": pa.array(levels).dictionary_encode().cast(pa.string()),
            "x": pa.array(x, mask=random.random(count) < 0.01),
            "n": pa.array(random.integers(-(2**31), 2**31 - 1, count).astype(np.int32)),
        }
    )
    tables = []
    for step in (count, 110_000):
        table = Table.create(f"memory://{uuid.uuid4().hex}/table", rows.schema)
        for first in range(0, count, step):
            table.append(rows.slice(first, step))
        tables.append(table)
    metrics = {"s": "sum(x)", "i": "sum(n)", "a": "avg(n)", "c": "count(x)", "d": "count(distinct n)", "l": "max(x)"}
    plain = rows.to_pydict()
    for by in ([], ["level"]):
        for where, lowest in ((None, -(2**31)), ("n >= 0", 0)):
            one, several = (table.aggregate(by, metrics, where=where).to_pylist() for table in tables)
            assert one == several
            for group in one:
                level = group.get("level")
                kept = [
                    (value, number)
                    for value, number, name in zip(plain["x"], plain["n"], plain["level"], strict=True)
                    if number >= lowest and level in (None, name)
                ]
                doubles = [value for value, _ in kept if value is not None]
                assert group["s"] == math.fsum(doubles)
                assert group["i"] == sum(number for _, number in kept)
                assert group["a"] == group["i"] / len(kept)
                assert (group["c"], group["l"]) == (len(doubles), max(doubles))
                assert group["d"] == len({number for _, number in kept})


def test_the_answer_has_the_order_of_its_keys() -> None:
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", pa.schema([("a", pa.float64()), ("b", pa.string())]))
    table.append(pa.table({"a": [math.nan, None, 2.0, -0.0, 0.0, 2.0], "b": ["x", "x", "z", "y", None, "a"]}))
    assert listed(table.aggregate(["a", "b"])) == [
        (0.0, "y", 1),
        (0.0, None, 1),
        (2.0, "a", 1),
        (2.0, "z", 1),
        ("NaN", "x", 1),
        (None, "x", 1),
    ]


def test_nothing_is_one_group_without_keys_and_none_with_keys(logs: Table) -> None:
    metrics = {"n": "count", "s": "sum(size)", "d": "count(distinct size)", "f": "avg(cost)"}
    nothing = [{"n": 0, "s": None, "d": 0, "f": None}]
    assert logs.aggregate((), metrics, query="nobody").to_pylist() == nothing
    assert logs.aggregate((), metrics, where="size > 100").to_pylist() == nothing
    assert logs.aggregate("level", metrics, query="nobody").to_pylist() == []
    empty = Table.create(f"memory://{uuid.uuid4().hex}/empty", logs.schema)
    assert empty.aggregate((), metrics).to_pylist() == nothing
    assert empty.aggregate("level", metrics).schema.names == ["level", *metrics]


def test_counts_of_partitions_come_from_the_log() -> None:
    schema = pa.schema([("day", pa.date32()), ("x", pa.int64())])
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", schema, ["day"])
    days = [dt.date(2026, 1, 1), dt.date(2026, 1, 2), None]
    table.append(pa.table({"day": pa.array(days * 2, pa.date32()), "x": pa.array(range(6), pa.int64())}))
    for path in table.files().column("path").to_pylist():
        store_of(table).delete(path)
    assert table.aggregate("day").column("n").to_pylist() == [2, 2, 2]


@pytest.mark.parametrize("kind", ["decimal(10,2)", "decimal(38,2)", "boolean", "date", "timestamp", "double", "string"])
def test_a_group_whose_partition_value_is_null(tmp_path: Path, kind: str) -> None:
    table = Table.create(tmp_path / "t", f"id long, p {kind}", ["p"])
    table.append(pa.table({"id": [1, 2], "p": pa.nulls(2, table.schema.field("p").type)}))
    assert table.aggregate("p").to_pylist() == [{"p": None, "n": 2}]
    assert table.aggregate("p", {"most": "max(id)"}, where="id > 1").to_pylist() == [{"p": None, "most": 2}]


def test_names(logs: Table) -> None:
    found = logs.aggregate(
        {"Hour": "date_histogram(AT, 'Day')", "l": "`level`"}, {"rows": "COUNT(*)", "mean": "mean(size)"}
    )
    assert found.column_names == ["Hour", "l", "rows", "mean"]
    assert found.schema.field("Hour").type == pa.timestamp("us", "UTC")
    assert logs.aggregate("level", "count").column_names == ["level", "count"]


@pytest.mark.parametrize(
    ("by", "metrics", "says"),
    [
        ("levle", "count", "did you mean level"),
        ("level", "sum(level)", "string, which has no sum"),
        ("level", "median(size)", "no metric median"),
        ("level", "count(", "stands where"),
        ("level", "sum(size", "')' is expected"),
        ("level", "sum(size) x", "'x' is too much"),
        ("level", "sum('size')", "where a column is expected"),
        ("level", "size", "no metric size"),
        ("level", {"level": "count"}, "two columns of the result are named level"),
        (["level", "level"], "count", "two columns of the result are named level"),
        ("cube(level)", "count", "no function cube for keys"),
        ("histogram(level, 1)", "count", "of whole numbers or floats, level is a string"),
        ("histogram(size, 0)", "count", "no number above 0"),
        ("histogram(size, -1)", "count", "no number above 0"),
        ("histogram(size, 0.5)", "count", "is a whole number below 2^63, not 0.5"),
        ("histogram(size, 9223372036854775808)", "count", "below 2^63"),
        ("histogram(cost, 1e-400)", "count", "no double above 0"),
        ("histogram(size)", "count", "',' is expected"),
        ("date_histogram(size, 'hour')", "count", "of dates or timestamps"),
        ("date_histogram(at, 'fortnight')", "count", "'fortnight' is none of"),
        ("date_histogram(at, '0 hours')", "count", "is none of"),
        ("date_histogram(at, '2 months')", "count", "is none of"),
        ("date_histogram(at, 5)", "count", "is none of"),
        ("range(size)", "count", "at least one edge"),
        ("range(size, 5, 1)", "count", "the edge 1 does not lie above 5"),
        ("range(size, 5, 5)", "count", "does not lie above"),
        ("range(size, 'x')", "count", "'x'"),
        ("range(size, level)", "count", "a number or a text between quotes"),
        ("'unclosed", "count", "never closed"),
        ("", "count", "without a name"),
        (5, "count", "must be texts"),
        ([5], "count", "must have texts"),
        ("level", 7, "must be texts"),
        ((), {}, "nothing to say"),
        ("level.x", "count", "unknown column level.x"),
    ],
)
def test_what_is_wrong_is_said(logs: Table, by: Any, metrics: Any, says: str) -> None:
    with pytest.raises(QueryError) as caught:
        logs.aggregate(by, metrics)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_sum_that_does_not_fit_is_an_error() -> None:
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", pa.schema([("x", pa.int64())]))
    table.append(pa.table({"x": [2**63 - 1, 2**63 - 1, 3]}))
    with pytest.raises(QueryError, match="too large for int64"):
        table.aggregate(metrics="sum(x)")
    assert table.aggregate(metrics={"a": "avg(x)"}).to_pylist() == [{"a": (2**64 + 1) / 3}]


def test_a_bucket_below_the_least_number_is_an_error() -> None:
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", pa.schema([("x", pa.int64())]))
    table.append(pa.table({"x": [-(2**63), 2**63 - 1]}))
    with pytest.raises(QueryError, match="before the least int64"):
        table.aggregate("histogram(x, 10)")
    assert table.aggregate("histogram(x, 2)").column("n").to_pylist() == [1, 1]


def test_a_bucket_of_doubles_begins_below_its_numbers() -> None:
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", pa.schema([("x", pa.float64())]))
    numbers = [6.999999999999999, 7.0, 1e308, -1e308, math.inf, 0.3]
    table.append(pa.table({"x": numbers}))
    found = table.aggregate("histogram(x, 0.7)").column(0).to_pylist()
    assert found == [-1e308, 0.0, 9 * 0.7, 10 * 0.7, 1e308, math.inf]


@pytest.mark.parametrize("by", ["date_histogram(at, '999999999 days')", "range(cost, 0, 'NaN')"])
def test_what_is_too_large_is_said(logs: Table, by: str) -> None:
    with pytest.raises(QueryError):
        logs.aggregate(by)


def test_a_long_text_is_not_repeated_in_full(logs: Table) -> None:
    with pytest.raises(QueryError) as caught:
        logs.aggregate(by="(" * 5000)
    assert len(str(caught.value)) < 500


def test_a_handle_never_goes_back(logs: Table) -> None:
    """A reader that began before another thread's commit ends after it."""
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", pa.schema([("x", pa.int64())]))
    before = handle_of(table)
    table.append(pa.table({"x": [1]}))
    table._move(before, before)
    assert table.version == 1
    assert table.count() == 1
