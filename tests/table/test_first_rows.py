"""The first rows in the order of columns are those that sorting all rows in Python gives, whatever the log says of its files."""

from __future__ import annotations

import functools
import json
import math
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import predicate_data as data
from effort import examples
from indextables import AddAction, Table
from indextables.core.bound_texts import column_stats
from indextables.core.errors import OptionError, SchemaError, SplitError
from indextables.core.options import Options
from indextables.core.predicate import Predicate, to_sql
from indextables.core.row_order import FirstRows, Numbers, Parts, SortKey, Texts, first_places, is_sortable, key_parts
from indextables.core.types import spark_json_to_arrow
from indextables.log.file_entries import files_table, rows_to_adds
from indextables.log.pruning.first_files import file_ends, hold_first
from indextables.split import open_splits
from indextables.split.build import split_merge
from indextables.split.plan.costs import COSTS
from indextables.table.distributed.read_tasks import finish_first, plan_count, plan_tasks
from indextables.table.handle import TableHandle
from indextables.table.open_table import pin_version
from indextables.table.read.first_rows import files_of_first_rows, first_rows
from indextables.table.read.request import ByColumns, make_request, plan_read
from indextables.table.read.scan import scan
from split.reader_support import EVERY_INDEX, costs_of
from table.rows_support import add_rows
from table.strategies import bits
from tables import store_of

NAMES = data.SCHEMA.names
WORDS = ["disk full", "disk", "fan", "fan disk", ""]
SCHEMA = pa.schema([*data.SCHEMA, ("n", pa.int64()), ("words", pa.string())])
OPTIONS = {"spark.indextables.indexing.typemap.words": "text"}
PARTITIONS: list[tuple[str, ...]] = [(), (), (), ("day",), ("flag", "text"), ("score",), ("price",)]
"""Partition columns. Their values are drawn from `PARTITION_VALUES`."""
PARTITION_VALUES: dict[str, list[Any]] = {
    "day": [-1, 0, 19_000],
    "flag": [True, False],
    "text": ["", "a", "é"],
    "score": [-0.0, 0.0, math.nan, 1.0, -math.inf],
    "price": [Decimal("0.00"), Decimal("-0.01")],
}


def plain(value: Any) -> Any:
    """A value that Python orders as Spark does. Moments are numbers."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value


def compared(one: dict[str, Any], other: dict[str, Any], keys: tuple[SortKey, ...]) -> int:
    for name, descending, nulls_first in keys:
        left, right = one[name], other[name]
        if left is None or right is None:
            if (left is None) == (right is None):
                continue
            leads = (not descending) if nulls_first is None else nulls_first
            return -1 if (left is None) == leads else 1
        left, right = plain(left), plain(right)
        if left != right:
            return -1 if (left < right) != descending else 1
    return 0


def as_numbers(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as Python values, with moments as numbers, because Python's years end at 9999."""
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        temporal = pa.types.is_temporal(column.type)
        kind = pa.int32() if temporal and column.type.bit_width == 32 else pa.int64()
        columns[name] = (column.cast(kind) if temporal else column).to_pylist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def sorted_rows(
    handle: TableHandle, keys: tuple[SortKey, ...], where: str | None = None, query: str | None = None
) -> list[int]:
    """The numbers of all rows in their order: the naive model. Rows that are equal come by path and place."""
    rows: list[dict[str, Any]] = []
    files = handle.files()
    for path in sorted(files.column("path").to_pylist()):
        one = files.filter(pa.compute.equal(files.column("path"), path))
        found = scan(handle, make_request(handle, "reading", where=where, query=query, files=one)).read_all()
        rows += as_numbers(found)
    rows.sort(key=functools.cmp_to_key(lambda one, other: compared(one, other, keys)))
    return [row["n"] for row in rows]


def keys_of(names: list[str]) -> st.SearchStrategy[tuple[SortKey, ...]]:
    key = st.builds(SortKey, st.sampled_from(names), st.booleans(), st.none() | st.booleans())
    return st.lists(key, min_size=1, max_size=3).map(tuple)


@st.composite
def batches(draw: st.DrawFn, partition_by: tuple[str, ...]) -> list[list[dict[str, Any]]]:
    """Rows of several splits, with many ties."""
    few = draw(st.booleans(), label="few values")
    fields: dict[str, st.SearchStrategy[Any]] = {}
    for name in NAMES:
        values = st.sampled_from(data.POOLS[name]) if few and name in data.POOLS else data.VALUES[name]
        if name in partition_by:
            values = st.sampled_from(PARTITION_VALUES[name])
        fields[name] = st.none() | values | values | values
    fields["words"] = st.sampled_from(WORDS)
    rows = st.lists(st.fixed_dictionaries(fields), min_size=1, max_size=8)
    return draw(st.lists(rows, min_size=1, max_size=4))


def as_table(rows: list[dict[str, Any]], first: int) -> pa.Table:
    table = data.to_table(rows).append_column("n", pa.array(range(first, first + len(rows)), pa.int64()))
    return table.append_column("words", pa.array([row["words"] for row in rows]))


def numbers(table: pa.Table) -> list[int]:
    return table.column("n").to_pylist()


def check(
    handle: TableHandle,
    keys: tuple[SortKey, ...],
    where: str | None,
    query: str | None,
    bounds: list[tuple[int, int]],
) -> None:
    expected = sorted_rows(handle, keys, where, query)
    whole = scan(handle, make_request(handle, "reading")).read_all()
    by_number = dict(zip(numbers(whole), bits(whole), strict=True))
    for offset, limit in bounds:
        asked = make_request(
            handle, "reading", where=where, query=query, order=ByColumns(keys), offset=offset, limit=limit
        )
        found = first_rows(handle, asked)
        assert numbers(found) == expected[offset : offset + limit]
        assert found.schema.equals(handle.schema)
        assert bits(found) == [by_number[number] for number in numbers(found)]
        few = make_request(
            handle,
            "reading",
            columns=["n"],
            where=where,
            query=query,
            order=ByColumns(keys),
            offset=offset,
            limit=limit,
        )
        plan = plan_tasks(handle, few, most_tasks=2)
        answers = [batch for task in plan.tasks for batch in task.batches()]
        together = finish_first(few, plan, answers)
        assert together.column_names == ["n"]
        assert keyed(whole, numbers(together), keys) == keyed(whole, expected[offset : offset + limit], keys)
        assert len(set(numbers(together))) == together.num_rows
        named = tuple(dict.fromkeys(["n", *(key.column for key in keys)]))
        by_caller = plan_tasks(handle, replace(few, columns=named), most_tasks=2, cut_again=True)
        assert by_caller.schema.names == list(named), "the caller gets the columns that it asked for, and no others"
        parts = [list(task.batches()) for task in by_caller.tasks]
        assert all(sum(batch.num_rows for batch in part) <= offset + limit for part in parts)
        cut = finish_first(few, by_caller, [batch for part in parts for batch in part])
        assert keyed(whole, numbers(cut), keys) == keyed(whole, expected[offset : offset + limit], keys)


def keyed(whole: pa.Table, chosen: list[int], keys: tuple[SortKey, ...]) -> list[Any]:
    """The keys of some rows, in their order: tasks order equal rows in a way of their own."""
    rows = {row["n"]: row for row in as_numbers(whole)}
    return [tuple(None if rows[n][key.column] is None else plain(rows[n][key.column]) for key in keys) for n in chosen]


@given(source=st.data())
@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
def test_the_same_as_sorting_all_rows(source: st.DataObject) -> None:
    partition_by = source.draw(st.sampled_from(PARTITIONS), label="partition_by")
    lots = source.draw(batches(partition_by))
    url = f"memory://{uuid.uuid4().hex}/table"
    cut = source.draw(st.sampled_from([1, 2, 32]), label="cut")
    options = OPTIONS | {"spark.indextables.stats.truncation.maxLength": cut}
    table = Table.create(url, SCHEMA, partition_by=partition_by, options=options)
    first = 0
    for rows in lots:
        table.append(as_table(rows, first))
        first += len(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            split_merge, "PART_SIZES", split_merge.PartSizes(large=source.draw(st.sampled_from([1, 100_000])))
        )
        if source.draw(st.booleans(), label="merged"):
            table.merge_splits(None, None, 1, 2)
    seen = [row for rows in lots for row in rows]
    asked = source.draw(st.none() | data.predicates(NAMES, seen), label="where")
    where = to_sql(asked) if isinstance(asked, Predicate) else None
    query = source.draw(st.sampled_from([None, None, "words:disk", "words:full OR words:fan"]), label="query")
    keys = source.draw(keys_of(NAMES), label="keys")
    counts = st.sampled_from([0, 1, 2, first - 1, first, first + 5]).map(lambda count: max(0, count))
    bounds = source.draw(st.lists(st.tuples(st.sampled_from([0, 0, 1, 3, first]), counts), min_size=3, max_size=3))
    every_index = source.draw(st.booleans(), label="ask every index")
    open_splits.close_all()
    with costs_of(EVERY_INDEX if every_index else COSTS):
        check(pin_version(url, Options(options)), keys, where, query, bounds)


# --- what the log says of a file is not always the truth that a reader hopes for ---------------------------------------------


def written(table: Table, low: str | None, high: str | None, nulls: int | None, texts: list[str | None]) -> None:
    """A split of some texts in the column `key`, with these statistics in the log."""
    rows = pa.table({"key": pa.array(texts, pa.string()), "n": pa.array(next_numbers(table, len(texts)), pa.int64())})
    stats = {"numRecords": len(texts)} | ({} if nulls is None else {"nullCount": {"key": nulls}})
    add_rows(
        table,
        rows,
        min_values=None if low is None else {"key": low},
        max_values=None if high is None else {"key": high},
        stats=json.dumps(stats),
    )


def next_numbers(table: Table, count: int) -> range:
    rows = table.count()
    return range(rows, rows + count)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls_first", [None, False, True])
@pytest.mark.parametrize("limit", [1, 2, 3, 9])
def test_statistics_of_other_writers(descending: bool, nulls_first: bool | None, limit: int) -> None:
    table = Table.create(
        f"memory://{uuid.uuid4().hex}/t", pa.schema([("key", pa.string()), ("n", pa.int64())]), options={}
    )
    written(table, "b", "b", 0, ["b"])
    written(table, "b", "b", 0, ["bzz", "b"])  # a maximum that was cut and not rounded up
    written(table, None, None, None, ["z", None])  # nothing is known
    written(table, "x", "c", 0, ["a", "y"])  # a contradiction
    written(table, "c", "d", None, ["c", "d", None])  # nulls that nobody counted
    written(table, "\ue000", "\U0001f600", 0, ["\ue000", "\U0001f600"])  # orders differ by UTF-16
    handle = pin_version(table.url, Options({}))
    keys = (SortKey("key", descending, nulls_first),)
    expected = sorted_rows(handle, keys)
    asked = make_request(handle, "reading", order=ByColumns(keys), limit=limit)
    assert numbers(first_rows(handle, asked)) == expected[:limit]


@pytest.mark.parametrize("keys", [(SortKey("x", True),), (SortKey("x"),), (SortKey("x", True, True),)])
def test_nan_is_in_no_statistics(keys: tuple[SortKey, ...]) -> None:
    table = Table.create(f"memory://{uuid.uuid4().hex}/t", pa.schema([("x", pa.float64()), ("n", pa.int64())]))
    for number, values in enumerate([[100.0, 99.0], [1.0, math.nan], [-0.0, 0.0, None], [math.inf, 5.0]]):
        some = range(10 * number, 10 * number + len(values))
        table.append(pa.table({"x": pa.array(values, pa.float64()), "n": pa.array(some, pa.int64())}))
    handle = pin_version(table.url, Options({}))
    for limit in range(1, 10):
        asked = make_request(handle, "reading", order=ByColumns(keys), limit=limit)
        assert numbers(first_rows(handle, asked)) == sorted_rows(handle, keys)[:limit]


@given(source=st.data())
@settings(max_examples=examples(300), deadline=None)
def test_no_file_with_one_of_the_first_rows_is_left_out(source: st.DataObject) -> None:
    """By statistics alone, some of which are missing, cut, or do not count nulls."""
    name = source.draw(st.sampled_from(["tiny", "score", "text", "at", "price", "flag"]))
    pool = st.none() | st.sampled_from(data.POOLS[name])
    lots = source.draw(
        st.lists(st.lists(st.fixed_dictionaries({name: pool}), min_size=1, max_size=4), min_size=1, max_size=6)
    )
    schema = data.to_table([], [name]).schema
    adds = [statistics_of(number, data.to_table(lot, [name]), source) for number, lot in enumerate(lots)]
    files = files_table(adds, [1] * len(adds), [0] * len(adds))
    key = SortKey(name, source.draw(st.booleans()), source.draw(st.none() | st.booleans()))
    ends = file_ends(files, key, schema, ())
    rows = [row | {"file": number} for number, lot in enumerate(lots) for row in lot]
    rows.sort(key=functools.cmp_to_key(lambda one, other: compared(one, other, (key,))))
    for count in range(1, len(rows) + 2):
        kept = hold_first(ends, np.array([len(lot) for lot in lots]), count)
        last = rows[min(count, len(rows)) - 1]
        needed = {row["file"] for row in rows if compared(row, last, (key,)) <= 0}
        assert needed <= set(np.flatnonzero(kept).tolist())


def statistics_of(number: int, rows: pa.Table, source: st.DataObject) -> AddAction:
    """A file's entry in the log, with as many statistics as its writer felt like."""
    low, high, nulls = column_stats(rows, rows.schema)
    if source.draw(st.booleans(), label="cut"):
        high = {name: text[:2] if rows.schema.field(name).type == pa.string() else text for name, text in high.items()}
    return AddAction(
        f"{number}.split",
        {},
        size=1,
        num_records=rows.num_rows,
        min_values=low if source.draw(st.booleans(), label="minima") else None,
        max_values=high if source.draw(st.booleans(), label="maxima") else None,
        stats=json.dumps({"nullCount": nulls} if source.draw(st.booleans(), label="nulls") else {}),
    )


# --- which files are read ---------------------------------------------------------------------------------------------------

DAYS = 6
ROWS = 40


@pytest.fixture(scope="module")
def daily(tmp_path_factory: pytest.TempPathFactory) -> Table:
    schema = pa.schema(
        [("ts", pa.timestamp("us", "UTC")), ("n", pa.int64()), ("same", pa.int64()), ("text", pa.string())]
    )
    table = Table.create(tmp_path_factory.mktemp("daily") / "t", schema)
    for day in range(DAYS):
        ids = np.arange(day * ROWS, (day + 1) * ROWS)
        moments = pa.array(ids * 2_160_000_000, pa.int64()).cast(schema.field("ts").type)
        texts = pa.array([f"row {n}" for n in ids])
        table.append(pa.table([moments, pa.array(ids), pa.array([7] * ROWS), texts], schema=schema))
    return table


def read_paths(handle: TableHandle, keys: tuple[SortKey, ...], limit: int, where: str | None, lost: str) -> list[int]:
    """The answer, while one file of the table is gone."""
    path = Path(handle.url, lost)
    away = path.rename(path.with_suffix(".away"))
    open_splits.close_all()
    try:
        asked = make_request(handle, "reading", order=ByColumns(keys), limit=limit, where=where)
        return numbers(first_rows(handle, asked))
    finally:
        away.rename(path)


def in_order_of_days(handle: TableHandle) -> list[str]:
    return [
        path
        for _, path in sorted(
            (dict(low)["ts"], path)
            for low, path in zip(
                handle.files().column("minValues").to_pylist(), handle.files().column("path").to_pylist(), strict=True
            )
        )
    ]


@pytest.mark.parametrize("where", [None, "n >= 0 AND text LIKE 'row%'"])
def test_files_that_cannot_have_a_row_of_the_answer_are_not_read(daily: Table, where: str | None) -> None:
    handle = pin_version(daily.url, Options({}))
    days = in_order_of_days(handle)
    last = list(range(DAYS * ROWS - 1, DAYS * ROWS - 11, -1))
    assert read_paths(handle, (SortKey("ts", True),), 10, where, days[0]) == last
    assert read_paths(handle, (SortKey("ts", True),), 10, where, days[-2]) == last
    assert read_paths(handle, (SortKey("ts"),), 10, where, days[-1]) == list(range(10))
    with pytest.raises(SplitError, match="is missing"):
        read_paths(handle, (SortKey("ts", True),), 10, where, days[-1])
    with pytest.raises(SplitError, match="is missing"):
        read_paths(handle, (SortKey("ts", True),), ROWS + 1, where, days[-2])


def test_where_all_rows_are_equal_one_file_is_read(daily: Table) -> None:
    handle = pin_version(daily.url, Options({}))
    paths = sorted(handle.files().column("path").to_pylist())
    keys = (SortKey("same"),)
    assert read_paths(handle, keys, 5, None, paths[1]) == sorted_rows(handle, keys)[:5]
    with pytest.raises(SplitError, match="is missing"):
        read_paths(handle, (SortKey("same"), SortKey("n")), 5, None, paths[1])


def test_the_log_alone_leaves_files_out(daily: Table) -> None:
    handle = pin_version(daily.url, Options({}))

    def kept(limit: int, where: str | None = None, offset: int = 0) -> int:
        order = ByColumns((SortKey("ts", True),))
        asked = make_request(handle, "reading", order=order, limit=limit, where=where, offset=offset)
        return files_of_first_rows(plan_read(handle, asked)).num_rows

    assert [kept(limit) for limit in (1, ROWS, ROWS + 1, 3 * ROWS, 100 * ROWS)] == [1, 1, 2, 3, DAYS]
    assert kept(10, offset=ROWS) == 2
    assert kept(10, where="text LIKE '%1'") == DAYS
    asked = make_request(handle, "reading", columns=["n"], order=ByColumns((SortKey("ts", True),)), limit=3)
    plan = plan_tasks(handle, asked, most_tasks=4)
    assert len(plan.tasks) == 1
    assert plan.schema.names == ["n", "ts"]
    found = make_request(handle, "reading", where="text LIKE '%1'", order=ByColumns((SortKey("ts"),)), limit=7)
    counted = plan_count(handle, found)
    assert counted.rows_in_log + sum(task.count() for task in counted.tasks.tasks) == 7


def test_columns_and_empty_answers(daily: Table) -> None:
    handle = pin_version(daily.url, Options({}))
    order = ByColumns((SortKey("TS", True),))
    asked = make_request(handle, "reading", columns=["text"], order=order, limit=2, offset=1)
    assert first_rows(handle, asked).to_pydict() == {"text": [f"row {DAYS * ROWS - 2}", f"row {DAYS * ROWS - 3}"]}
    nothing = make_request(handle, "reading", columns=(), order=order, limit=7)
    assert first_rows(handle, nothing).num_rows == 7
    for limit, where in [(0, None), (5, "n < 0")]:
        asked = make_request(handle, "reading", order=order, limit=limit, offset=3, where=where)
        assert first_rows(handle, asked).equals(handle.schema.empty_table())
        plan = plan_tasks(handle, asked)
        answers = (batch for task in plan.tasks for batch in task.batches())
        assert finish_first(asked, plan, answers).equals(handle.schema.empty_table())


def test_a_table_without_rows(tmp_path: Path) -> None:
    table = Table.create(tmp_path / "t", pa.schema([("a", pa.int64())]))
    handle = pin_version(table.url, Options({}))
    asked = make_request(handle, "reading", order=ByColumns((SortKey("a"),)), limit=3)
    assert first_rows(handle, asked).equals(handle.schema.empty_table())


def test_a_column_that_old_splits_lack(tmp_path: Path) -> None:
    """A split without the column has a null in each row."""
    table = Table.create(tmp_path / "t", pa.schema([("a", pa.int64()), ("n", pa.int64())]))
    old = pa.table({"n": pa.array([0, 1], pa.int64())})
    narrow = Table.create(tmp_path / "narrow", old.schema)
    (path,) = add_rows(narrow, old)
    store_of(table).create(path, store_of(narrow).get(path).data)
    table.commit_files([msgspec.structs.replace(add, partition_values={}) for add in adds_of(narrow)])
    table.append(pa.table({"a": pa.array([5, None], pa.int64()), "n": pa.array([2, 3], pa.int64())}))
    handle = pin_version(table.url, Options({}))
    for key in (SortKey("a"), SortKey("a", True), SortKey("a", False, False), SortKey("a", True, True)):
        asked = make_request(handle, "reading", order=ByColumns((key,)), limit=3)
        assert numbers(first_rows(handle, asked)) == sorted_rows(handle, (key,))[:3]


def adds_of(table: Table) -> Iterator[Any]:
    return iter(rows_to_adds(table.files()))


# --- requests ---------------------------------------------------------------------------------------------------------------


def test_requests_that_are_refused(daily: Table) -> None:
    handle = pin_version(daily.url, Options({}))
    with pytest.raises(OptionError, match=r"ordered by columns \(ts\) up to a limit"):
        make_request(handle, "reading", order=ByColumns((SortKey("ts"),)))
    with pytest.raises(OptionError, match="names no column"):
        make_request(handle, "reading", order=ByColumns(()), limit=3)
    with pytest.raises(SchemaError, match="no column nope"):
        make_request(handle, "reading", order=ByColumns((SortKey("nope"),)), limit=3)
    with pytest.raises(OptionError, match="have no scores and snippets"):
        make_request(handle, "reading", order=ByColumns((SortKey("ts"),)), limit=3, score=True, query="text:row")
    same = make_request(handle, "reading", order=ByColumns((SortKey("TS", True),)), limit=3)
    assert same == make_request(handle, "reading", order=ByColumns((SortKey("ts", True, False),)), limit=3)


SPARK = (
    ("string", True),
    ("varchar(4)", True),
    ("char(4)", False),
    ("string collate UTF8_LCASE", False),
    ("decimal(38,10)", True),
    ("interval day to second", True),
    ("interval year to month", True),
    ("interval", False),
    ("variant", False),
    ("binary", True),
    ("boolean", True),
    ("timestamp_ntz", True),
    ("time(6)", True),
    ({"type": "array", "elementType": "long", "containsNull": True}, False),
)


@pytest.mark.parametrize(("kind", "sortable"), SPARK)
def test_columns_whose_order_is_known(kind: Any, sortable: bool) -> None:
    column = {"name": "x", "type": kind, "nullable": True, "metadata": {}}
    schema = spark_json_to_arrow(json.dumps({"type": "struct", "fields": [column]}))
    assert is_sortable(schema.field("x")) is sortable


# --- the order itself -------------------------------------------------------------------------------------------------------


@given(source=st.data())
@settings(max_examples=examples(200), deadline=None)
def test_parts_of_keys_are_in_the_order_of_the_values(source: st.DataObject) -> None:
    keys = source.draw(keys_of(NAMES))
    rows = source.draw(data.rows(max_size=30))
    table = data.to_table(rows)
    wanted = source.draw(st.integers(1, 31))
    parts = [part for key in keys for part in key_parts(table.column(key.column).combine_chunks(), key)]
    expected = sorted(
        range(len(rows)), key=functools.cmp_to_key(lambda one, other: compared(rows[one], rows[other], keys))
    )
    assert first_places(tuple(parts), wanted).tolist() == expected[:wanted]


@given(
    lots=st.lists(st.lists(st.tuples(st.integers(-3, 3), st.binary(max_size=1)), max_size=9), max_size=9),
    most=st.integers(1, 12),
    descending=st.booleans(),
)
@example(lots=[[(0, b"")] * 9] * 9, most=3, descending=False)
def test_rows_that_are_added_lot_by_lot(lots: list[list[tuple[int, bytes]]], most: int, descending: bool) -> None:
    best, everything = FirstRows(most), list[tuple[int, bytes, int]]()
    for lot in lots:
        rows = [(number, text, len(everything) + place) for place, (number, text) in enumerate(lot)]
        everything += rows
        if rows:
            best.add(parts_of(rows, descending))
        best.rows()
    found = best.rows()
    expected = sorted(
        everything, key=lambda row: (row[0], row[1] if not descending else bytes(255 - b for b in row[1]), row[2])
    )
    if descending:  # the empty text comes after all texts
        expected = sorted(everything, key=lambda row: (row[0], -len(row[1]), bytes(255 - b for b in row[1]), row[2]))
    assert (found[-1].ranks().tolist() if found else []) == [row[2] for row in expected[:most]]
    assert (best.limit is None) is (len(everything) < most)


def parts_of(rows: list[tuple[int, bytes, int]], descending: bool) -> Parts:
    numbers, texts, places = zip(*rows, strict=True)
    return (
        Numbers(np.array(numbers)),
        Texts(pa.array(texts, pa.large_binary()), descending),
        Numbers(np.array(places)),
    )


def test_moments_beyond_pythons_calendar() -> None:
    far = pa.array([2**62, None, -(2**62), 0], pa.int64()).cast(pa.timestamp("us"))
    assert first_places(key_parts(far, SortKey("x")), 4).tolist() == [1, 2, 3, 0]
    assert first_places(key_parts(far, SortKey("x", True)), 4).tolist() == [0, 3, 2, 1]
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert first_places(key_parts(pa.array([now, None]), SortKey("x", True, True)), 1).tolist() == [1]
