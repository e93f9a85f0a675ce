"""Rows come back bit by bit, in every type, by number or by filter; nothing else reaches Vortex."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import random
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import CorruptSplit, SchemaError, SplitError, StorageError, StoreUnavailable
from indextables.core.predicate import (
    FALSE,
    NULL,
    TRUE,
    Column,
    IsNotNull,
    IsNull,
    Predicate,
    compare,
    evaluate,
    like,
    member,
)
from indextables.core.types import spark_json_to_arrow
from indextables.split.bundle.bundle_reader import Pages, read_footer
from indextables.split.bundle.bundle_writer import RowsCopy
from indextables.split.bundle.footer import Part
from indextables.split.rows.held_rows import HeldRows
from indextables.split.rows.row_reader import Rows
from indextables.split.rows.row_writer import write_rows
from indextables.split.rows.segment_cache import segment_cache
from indextables.storage.local import LocalStore
from indextables.storage.testing.faulty import Died, Fault, Faulty, Plan
from predicate_data import SCHEMA, predicates, to_table
from predicate_data import rows as random_rows
from split.bundle_support import assert_same, exact, make, open_rows, scanned, seal

LONG = [0, 1, -1, 2**63 - 1, -(2**63)]
INT = [0, 1, -1, 2**31 - 1, -(2**31)]
TEXTS = ["", "a", "ü", "\0", "\U0010ffff" * 50, "x" * 100_000, "𝄞", "NULL", "a\nb"]
FLOATS = [0.0, -0.0, 1.5, math.inf, -math.inf, math.nan, 5e-324, 0.1]
SAMPLES: dict[str, list[Any]] = {
    "void": [None],
    "boolean": [True, False],
    "byte": [0, 127, -128],
    "short": [0, 2**15 - 1, -(2**15)],
    "integer": INT,
    "long": LONG,
    "float": FLOATS,
    "double": [*FLOATS, 1.7976931348623157e308],
    "decimal(1,0)": [Decimal(9), Decimal(-9)],
    "decimal(18,2)": [Decimal("0.01"), Decimal("-9999999999999999.99")],
    "decimal(38,0)": [Decimal("9" * 38), Decimal("-" + "9" * 38)],
    "decimal(38,38)": [Decimal("0." + "9" * 38)],
    "string": TEXTS,
    "char(3)": ["abc"],
    "varchar(10)": ["abc", ""],
    "string collate UNICODE_CI": ["Aa", "aA"],
    "string collate UTF8_LCASE": ["Aa", "ß"],
    "binary": [b"", b"\xff\x00", b"x" * 70_000],
    "date": INT,
    "timestamp": LONG,
    "timestamp_ltz": LONG,
    "timestamp_ntz": LONG,
    "timestamp_ntz(3)": LONG,
    "timestamp_ltz(6)": LONG,
    "timestamp_ltz(9)": LONG,
    "timestamp_ntz(9)": LONG,
    "time": [0, 86_399_999_999_999],
    "time(6)": [0, 86_399_999_999_000],
    "interval": [(0, 0, 0), (2**31 - 1, -(2**31), -(2**63)), (1, 2, 3)],
    "interval year": [0, -1],
    "interval year to month": INT,
    "interval month": INT,
    "interval day": LONG,
    "interval day to second": LONG,
    "interval hour to minute": LONG,
    "interval second": LONG,
    "variant": [{"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"}, {"value": b"", "metadata": b""}],
    "geometry(4326)": [{"srid": 4326, "wkb": b"\x01"}],
    "geography(4326)": [{"srid": 4326, "wkb": b""}],
}
NESTED: dict[str, tuple[Any, list[Any]]] = {
    "array": ({"type": "array", "elementType": "string", "containsNull": True}, [[], ["a", None], ["", "b"]]),
    "array of required": ({"type": "array", "elementType": "integer", "containsNull": False}, [[], [1, 2]]),
    "array of void": ({"type": "array", "elementType": "void", "containsNull": True}, [[], [None]]),
    "empty array": ({"type": "array", "elementType": "void", "containsNull": False}, [[]]),
    "map": (
        {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True},
        [[], [("a", 1), ("b", None)], [("a", 1), ("a", 2)]],
    ),
    "map of required": (
        {"type": "map", "keyType": "integer", "valueType": "double", "valueContainsNull": False},
        [[(1, -0.0)], []],
    ),
    "struct": (
        {
            "type": "struct",
            "fields": [
                {"name": "a", "type": "integer", "nullable": False, "metadata": {}},
                {"name": "b.c", "type": "string", "nullable": True, "metadata": {"comment": "x"}},
                {"name": "pause", "type": "interval day to second", "nullable": True, "metadata": {}},
            ],
        },
        [{"a": 1, "b.c": None, "pause": None}, {"a": 2, "b.c": "x", "pause": 7}],
    ),
    "struct without fields": ({"type": "struct", "fields": []}, [{}]),
    "deep": (
        {
            "type": "array",
            "containsNull": True,
            "elementType": {
                "type": "struct",
                "fields": [
                    {
                        "name": "m",
                        "nullable": True,
                        "metadata": {},
                        "type": {
                            "type": "map",
                            "keyType": "string",
                            "valueContainsNull": True,
                            "valueType": {"type": "array", "elementType": "decimal(10,2)", "containsNull": True},
                        },
                    },
                    {"name": "i", "type": "interval", "nullable": True, "metadata": {}},
                ],
            },
        },
        [[], [None, {"m": [("k", [Decimal("1.50"), None]), ("l", None)], "i": (1, 2, 3)}, {"m": None, "i": None}]],
    ),
    "udt": (
        {"type": "udt", "class": "org.x.Y", "pyClass": "x.Y", "sqlType": {"type": "array", "elementType": "double"}},
        [[1.0, None]],
    ),
}
TYPES: dict[str, tuple[Any, list[Any]]] = {name: (name, values) for name, values in SAMPLES.items()} | NESTED


def schema_of(spark: Any, name: str = "x", nullable: bool = True) -> pa.Schema:
    fields = [{"name": name, "type": spark, "nullable": nullable, "metadata": {"comment": "kept"}}]
    return spark_json_to_arrow(json.dumps({"type": "struct", "fields": fields}))


def array_of(values: list[Any], arrow: pa.DataType) -> pa.Array:
    """An array of any type, with times given as numbers."""
    kinds = pa.types
    if kinds.is_struct(arrow):
        children = [array_of([None if v is None else v[f.name] for v in values], f.type) for f in arrow]
        mask = pa.array([value is None for value in values], pa.bool_())
        if not children:
            return pa.array(values, arrow)
        return pa.StructArray.from_arrays(children, fields=list(arrow), mask=mask)
    if kinds.is_list(arrow) or kinds.is_map(arrow):
        offsets = np.cumsum([0, *(len(value or []) for value in values)])
        flat = [element for value in values for element in value or []]
        starts = pa.array(offsets, pa.int32())
        mask = pa.array([value is None for value in values], pa.bool_())
        if kinds.is_list(arrow):
            return pa.ListArray.from_arrays(starts, array_of(flat, arrow.value_type), arrow, mask=mask)
        keys, items = array_of([k for k, _ in flat], arrow.key_type), array_of([v for _, v in flat], arrow.item_type)
        return pa.MapArray.from_arrays(starts, keys, items, arrow, mask=mask)
    if kinds.is_temporal(arrow) and not kinds.is_interval(arrow):
        return pa.array(values, pa.int32() if arrow.bit_width == 32 else pa.int64()).view(arrow)
    return pa.array(values, arrow)


def test_every_type_of_a_spark_schema_is_tried() -> None:
    from indextables.core.types import _ARROW_OF_NAME, _ARROW_OF_PATTERN

    tried = set(SAMPLES)
    assert set(_ARROW_OF_NAME) - tried <= {"null", "decimal", "calendar interval"}  # other names of the same types
    assert all(any(pattern.fullmatch(name) for name in tried) for pattern, _ in _ARROW_OF_PATTERN)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("form", ["few", "nulls", "none", "many"])
def test_round_trip(name: str, form: str, tmp_path: Path) -> None:
    spark, values = TYPES[name]
    schema = schema_of(spark)
    chosen = {
        "few": values,
        "nulls": [None, *values, None, *values, None],
        "none": [],
        "many": [*values, None] * (200 if name in {"string", "binary"} else 3000),
    }[form]
    table = pa.table([array_of(chosen, schema.field(0).type)], schema)
    key, sealed = make(tmp_path, table)
    rows = open_rows(tmp_path, key, sealed)
    assert rows.schema.equals(schema, check_metadata=True)
    assert_same(scanned(rows), table)
    picked = sorted(random.Random(1).sample(range(len(chosen)), len(chosen) // 3))
    assert_same(rows.take(np.array(picked, np.uint64), ["x"]), table.take(pa.array(picked, pa.int64())))
    rows.take(np.array(picked, np.uint64), ["x"]).validate(full=True)


@pytest.mark.parametrize("name", TYPES)
def test_slices_round_trip(name: str, tmp_path: Path) -> None:
    spark, values = TYPES[name]
    schema = schema_of(spark)
    table = pa.table([array_of([None, *values, None, *values], schema.field(0).type)], schema)
    batch = table.to_batches()[0]
    pieces = [batch.slice(1, 2), batch.slice(3), batch.slice(0, 0), batch.slice(0, 1)]
    key, sealed = make(tmp_path, pieces, schema)
    assert_same(scanned(open_rows(tmp_path, key, sealed)), pa.Table.from_batches(pieces))


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    "double": st.floats(),
    "long": st.integers(-(2**63), 2**63 - 1),
    "timestamp": st.integers(-(2**63), 2**63 - 1),
    "date": st.integers(-(2**31), 2**31 - 1),
    "interval": st.tuples(*[st.integers(-(2**31), 2**31 - 1)] * 2, st.integers(-(2**63), 2**63 - 1)),
    "interval day": st.integers(-(2**63), 2**63 - 1),
    "boolean": st.booleans(),
    "binary": st.binary(max_size=20),
    "decimal(38,10)": st.integers(-(10**37), 10**37).map(lambda n: Decimal(n).scaleb(-10)),
}


@st.composite
def typed_columns(draw: st.DrawFn, depth: int = 2) -> tuple[Any, st.SearchStrategy[Any]]:
    kind = draw(st.sampled_from(["plain", "array", "map", "struct"] if depth else ["plain"]))
    if kind == "plain":
        name = draw(st.sampled_from(sorted(VALUES)))
        return name, VALUES[name]
    inner, values = draw(typed_columns(depth - 1))
    nullable = draw(st.booleans())
    values = st.none() | values if nullable else values
    if kind == "array":
        return {"type": "array", "elementType": inner, "containsNull": nullable}, st.lists(values, max_size=3)
    if kind == "map":
        spark = {"type": "map", "keyType": "string", "valueType": inner, "valueContainsNull": nullable}
        return spark, st.lists(st.tuples(VALUES["string"], values), max_size=3)
    fields = [{"name": "a", "type": inner, "nullable": nullable}, {"name": "b", "type": "long", "nullable": True}]
    return {"type": "struct", "fields": fields}, st.fixed_dictionaries({"a": values, "b": st.none() | VALUES["long"]})


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_nesting_round_trips(tmp_path: Path, data: st.DataObject) -> None:
    spark, values = data.draw(typed_columns())
    schema = schema_of(spark)
    cells = data.draw(st.lists(st.none() | values, max_size=8)) * data.draw(st.sampled_from([1, 1, 1, 700]))
    table = pa.table([array_of(cells, schema.field(0).type)], schema)
    key, sealed = make(tmp_path, table)
    rows = open_rows(tmp_path, key, sealed)
    assert_same(scanned(rows), table)
    picked = sorted(data.draw(st.sets(st.integers(0, len(cells) - 1), max_size=5))) if cells else []
    assert_same(rows.take(np.array(picked, np.int64), ["x"]), table.take(pa.array(picked, pa.int64())))


def test_floats_keep_every_bit(tmp_path: Path) -> None:
    bits = np.array([0x7FF8000000000001, 0xFFF8000000000000, 0x7FF0000000000001, 0, 1 << 63, 0x3FF8 << 48], np.uint64)
    generator = np.random.default_rng(0)
    rare = np.where(generator.random(20_000) < 0.999, 3, generator.integers(0, 6, 20_000))
    columns = {
        "even": bits[generator.integers(0, 6, 20_000)].view(np.float64),
        "rare": bits[rare].view(np.float64),
        "zeros": bits[generator.integers(3, 5, 20_000)].view(np.float64),
    }
    table = pa.table(columns)
    key, sealed = make(tmp_path, table)
    assert_same(scanned(open_rows(tmp_path, key, sealed)), table)


def test_no_rows_at_all(tmp_path: Path) -> None:
    key, sealed = make(tmp_path, [], SCHEMA)
    rows = open_rows(tmp_path, key, sealed)
    assert len(rows) == 0
    assert list(rows.scan(["id"])) == []
    assert list(rows.scan(["id"], predicate=compare(Column(("id",), pa.int64()), "=", 1))) == []
    assert rows.take(np.array([], np.int64), ["id", "text"]).schema.names == ["id", "text"]


def numbers(count: int, **more: Any) -> pa.Table:
    return pa.table(
        {
            "n": pa.array(range(count), pa.int64()),
            "s": pa.array([f"text {n}" for n in range(count)], pa.string()),
            **more,
        }
    )


@pytest.mark.parametrize("columns", [["n"], ["s", "n"], ["s"], ["n", "n"], []])
def test_columns_come_as_asked_for(columns: list[str], tmp_path: Path) -> None:
    table = numbers(100)
    key, sealed = make(tmp_path, table)
    rows = open_rows(tmp_path, key, sealed)
    taken = rows.take(np.array([3, 50]), columns)
    assert taken.schema.names == columns
    assert taken.num_rows == 2
    assert sum(batch.num_rows for batch in rows.scan(columns)) == 100
    found = list(rows.scan(columns, predicate=compare(Column(("n",), pa.int64()), ">=", 90)))
    assert [batch.schema.names for batch in found] == [columns] * len(found)
    assert sum(batch.num_rows for batch in found) == 10
    if "n" in columns:
        assert [n for batch in found for n in batch.column(columns.index("n")).to_pylist()] == list(range(90, 100))


def test_odd_names(tmp_path: Path) -> None:
    names = ["a.b", "a b", "`", '"', "日本", "select", "$", "a" * 300, "\n", "*"]
    table = pa.table([pa.array([number]) for number in range(len(names))], names)
    key, sealed = make(tmp_path, table)
    rows = open_rows(tmp_path, key, sealed)
    assert_same(scanned(rows), table)
    for number, name in enumerate(names):
        where = compare(Column((name,), pa.int64()), "=", number)
        assert scanned(rows, [name], predicate=where).column(0).to_pylist() == [number]


def test_an_unknown_column(tmp_path: Path) -> None:
    key, sealed = make(tmp_path, numbers(1))
    rows = open_rows(tmp_path, key, sealed)
    for call in (lambda: rows.take([0], ["m"]), lambda: rows.scan(["m"])):
        with pytest.raises(SplitError, match=rf"{key} has no column m"):
            call()
    with pytest.raises(SplitError, match="has no column m"):
        rows.scan(["n"], predicate=IsNull(Column(("m",), pa.int64())))


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([10], "has 10 rows, and rows 10 to 10"),
        ([0, 2**62], "has 10 rows"),
        (np.array([2**64 - 1], np.uint64), "has 10 rows"),
        ([-1, 3], "has 10 rows, and rows -1 to 3"),
        ([3, 2], "has 10 rows|strictly increasing"),
        ([1, 5, 2, 9], "strictly increasing"),
        ([1, 12, 2], "strictly increasing"),
        (np.array([1, 2**63 + 5, 2], np.uint64), "strictly increasing"),
        ([3, 3], "strictly increasing"),
        ([0.5], "integers"),
        ([[1]], "integers"),
        (["1"], "integers"),
        (pa.array([1, None]), "integers"),
    ],
)
def test_row_numbers_that_vortex_never_sees(indices: Any, message: str, tmp_path: Path) -> None:
    key, sealed = make(tmp_path, numbers(10))
    with pytest.raises(SplitError, match=message):
        open_rows(tmp_path, key, sealed).take(indices, ["n"])


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32, np.uint64])
def test_row_numbers_of_any_integer_type(kind: Any, tmp_path: Path) -> None:
    key, sealed = make(tmp_path, numbers(10))
    rows = open_rows(tmp_path, key, sealed)
    assert rows.take(np.array([0, 9], kind), ["n"]).column(0).to_pylist() == [0, 9]
    assert rows.take(pa.array([0, 9], pa.from_numpy_dtype(kind)), ["n"]).column(0).to_pylist() == [0, 9]
    assert rows.take(np.array([], kind), ["n"]).num_rows == 0


REQUIRED = {
    "struct": ({"type": "struct", "fields": [{"name": "a", "type": "long", "nullable": False}]}, [{"a": None}], "x.a"),
    "array": ({"type": "array", "elementType": "long", "containsNull": False}, [[None]], "x.element"),
    "map": (
        {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": False},
        [[("a", None)]],
        "x.value",
    ),
}


@pytest.mark.parametrize("name", REQUIRED)
def test_a_null_in_a_required_place(name: str, tmp_path: Path) -> None:
    spark, values, path = REQUIRED[name]
    schema = schema_of(spark)
    table = pa.table([array_of(values, schema.field(0).type)], schema)
    with pytest.raises(SchemaError, match=f"column {path} is required, and has a null"):
        make(tmp_path, table)
    none = pa.table([array_of([None] * 3, schema.field(0).type)], schema)
    key, sealed = make(tmp_path, none)
    assert_same(scanned(open_rows(tmp_path, key, sealed)), none)
    with pytest.raises(SchemaError, match="column x is required, and has a null"):
        make(tmp_path, none, schema_of(spark, nullable=False))
    assert sorted(path.name for path in tmp_path.iterdir()) == [key]


def test_what_lies_behind_a_null_does_not_count(tmp_path: Path) -> None:
    inner = pa.array([1, None, 3], pa.int64())
    hidden = pa.StructArray.from_arrays(
        [inner], fields=[pa.field("a", pa.int64(), nullable=False)], mask=pa.array([False, True, False])
    )
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, 2, 3], pa.int32()),
        inner,
        pa.list_(pa.field("element", pa.int64(), nullable=False)),
        mask=pa.array([False, True, False]),
    )
    table = pa.table({"h": hidden, "l": lists})
    key, sealed = make(tmp_path, table)
    found = scanned(open_rows(tmp_path, key, sealed))
    assert exact(found.column("h")) == [(1,), None, (3,)]
    assert exact(found.column("l")) == [[1], None, [3]]


def test_batches_that_do_not_fit(tmp_path: Path) -> None:
    schema = pa.schema([("n", pa.int64())])
    with pytest.raises(SchemaError, match="has the columns m, expected n"):
        write_rows(tmp_path / "r", schema, [pa.record_batch({"m": [1]})])
    with pytest.raises(SchemaError, match="column n has values of type string that do not fit its type int64"):
        write_rows(tmp_path / "r", schema, [pa.record_batch({"n": ["a"]})])
    with pytest.raises(SchemaError, match="column n has the Arrow type uint8, which a split cannot hold"):
        write_rows(tmp_path / "r", pa.schema([("n", pa.uint8())]), [])
    assert list(tmp_path.iterdir()) == []
    narrow = [pa.record_batch({"n": pa.array([1], pa.int8())}), pa.record_batch({"n": pa.array([2], pa.uint16())})]
    key, sealed = make(tmp_path, narrow, schema)
    assert scanned(open_rows(tmp_path, key, sealed)).column(0).to_pylist() == [1, 2]


@pytest.mark.parametrize("error", [ValueError("boom"), KeyboardInterrupt(), StoreUnavailable("gone"), Died()])
def test_what_the_iterator_raises_arrives(error: BaseException, tmp_path: Path) -> None:
    def batches() -> Any:
        yield from numbers(20_000).to_batches()
        raise error

    with pytest.raises(type(error)) as raised:
        write_rows(tmp_path / "r", numbers(0).schema, batches())
    assert raised.value is error
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(StorageError, match=r"rows cannot be written to .*full: .*No space left on device"):
        write_rows(tmp_path / "full", numbers(0).schema, numbers(200_000).to_batches())
    assert list(tmp_path.iterdir()) == []
    assert Path("/dev/full").exists()
    with pytest.raises(StorageError, match="No such file"):
        write_rows(tmp_path / "no" / "r", numbers(0).schema, numbers(1).to_batches())


def test_the_iterator_runs_on_the_calling_thread_also_while_others_read(tmp_path: Path) -> None:
    """Vortex lets a thread that waits for a row file work for all others: one that holds a lock would wait for ever."""
    table = numbers(60_000)
    key, sealed = make(tmp_path, table)
    held, stop, advanced = threading.Lock(), threading.Event(), set()

    def read() -> None:
        while not stop.is_set():
            with held:
                assert len(scanned(open_rows(tmp_path, key, sealed), ["n"])) == 60_000
            time.sleep(0.001)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in table.to_batches(2_000):
            assert held.acquire(timeout=60), (
                "the thread that reads waits for the iterator, and the iterator for that thread"
            )
            held.release()
            advanced.add(threading.get_ident())
            yield batch

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        for number in range(20):
            (written,) = write_rows(tmp_path / f"r{number}", table.schema, batches())
            assert written.rows == 60_000
    finally:
        stop.set()
    reader.join(60)
    assert advanced == {threading.get_ident()}


@pytest.mark.parametrize("budget", [0, 100_000, 1 << 30])
def test_rows_that_wait_come_in_order_from_memory_and_from_a_file(budget: int, tmp_path: Path) -> None:
    table = numbers(50_000, d=pa.array([Decimal(n) for n in range(50_000)], pa.decimal128(38, 2)))
    with HeldRows(table.schema, tmp_path / "held", memory=budget) as held:
        for batch in table.to_batches(700):
            held.add(batch)
        assert (tmp_path / "held").exists() == (budget < table.nbytes)
        with held.reader() as rows:
            assert rows.read_all().equals(table)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_of_rows_that_wait(tmp_path: Path) -> None:
    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class Place(type(tmp_path)):  # type: ignore[misc]  # Python 3.11 makes the class when it is asked for a path
        def open(self, mode: str = "r", *_: Any, **__: Any) -> Any:
            return Full()

    with (
        HeldRows(numbers(0).schema, Place(tmp_path / "held"), memory=0) as held,
        pytest.raises(StorageError, match=r"held.*No space left on device"),
    ):
        held.add(numbers(3).to_batches()[0])
    with (
        HeldRows(numbers(0).schema, tmp_path / "no" / "held", memory=0) as held,
        pytest.raises(StorageError, match="held"),
    ):
        held.add(numbers(3).to_batches()[0])
    assert list(tmp_path.iterdir()) == []


def test_wide_rows_are_spread_over_files(tmp_path: Path) -> None:
    wide = ["x" * 3000 + str(number) for number in range(100)]
    table = pa.table({"n": range(3000), "s": [*wide, *["small"] * 2800, *wide]})
    key, sealed = make(tmp_path, table, block_bytes=20_000)
    assert len(sealed.footer.parts) > 10
    assert [path.name for path in tmp_path.iterdir()] == [key]
    rows = open_rows(tmp_path, key, sealed)
    assert_same(scanned(rows), table)
    for picked in ([0, 1, 2, 2999], list(range(0, 3000, 7)), [2999], list(range(3000))):
        assert_same(rows.take(np.array(picked), ["n", "s"]), table.take(pa.array(picked)))
    where = compare(Column(("n",), pa.int64()), ">=", 2890)
    assert scanned(rows, ["s"], predicate=where).column(0).to_pylist() == ["small"] * 10 + wide


def test_a_file_ends_at_a_bound(tmp_path: Path) -> None:
    table = numbers(100_000)
    key, sealed = make(tmp_path, table, file_bytes=1_000_000)
    parts = sealed.footer.parts
    assert len(parts) in (3, 4)
    assert all(part.rows % 8192 == 0 for part in parts[:-1])
    assert_same(scanned(open_rows(tmp_path, key, sealed)), table)


def test_many_small_rows_stay_in_one_file(tmp_path: Path) -> None:
    for batch_rows in (1000, 8192, 100_000):
        _, sealed = make(tmp_path, numbers(100_000).to_batches(batch_rows), numbers(0).schema, block_bytes=500_000)
        assert len(sealed.footer.parts) == 1


@pytest.mark.slow
def test_memory_is_bounded(tmp_path: Path) -> None:
    """200 documents of a megabyte, which one file would hold in memory several times over."""
    program = f"""
        import resource
        from pathlib import Path
        import pyarrow as pa
        from indextables.split.rows.row_writer import write_rows
        schema = pa.schema([("n", pa.int64()), ("s", pa.string())])
        def batches(count):
            for number in range(count):
                yield pa.record_batch([pa.array([number]), pa.array([str(number) + " lorem ipsum" * 90_000])], schema=schema)
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        write_rows(Path({str(tmp_path / "a")!r}), schema, batches(1))
        before = peak()
        files = write_rows(Path({str(tmp_path / "b")!r}), schema, batches(200))
        print(len(files), sum(file.rows for file in files), peak() - before)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True, timeout=240
    )
    files, rows, grown = map(int, done.stdout.split())
    assert files > 2
    assert rows == 200
    assert grown < 450, f"{grown} MiB for 200 MB of rows"


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_scan_filters_as_the_model_does(tmp_path: Path, data: st.DataObject) -> None:
    drawn = data.draw(random_rows(max_size=8))
    table = to_table(drawn)
    if data.draw(st.booleans()):
        table = pa.concat_tables([table] * 3000).combine_chunks() if drawn else table
        table = table.sort_by("id") if data.draw(st.booleans()) else table
    key, sealed = make(tmp_path, table)
    rows = open_rows(tmp_path, key, sealed)
    for predicate in data.draw(st.lists(predicates(data=drawn), min_size=1, max_size=6)):
        found = scanned(rows, predicate=predicate)
        assert_same(found, table.filter(evaluate(predicate, table)))


TEXT, ID, AT = (Column((name,), SCHEMA.field(name).type) for name in ("text", "id", "at"))


def filters() -> list[Predicate]:
    texts = ["", "a", "common prefix", "common prefix" * 30, "\U0010ffff" * 70, "é", "zzz", "common prefiy", "\0"]
    chosen: list[Predicate] = [IsNull(TEXT), IsNotNull(TEXT), IsNull(ID), TRUE, FALSE, NULL]
    chosen += [compare(TEXT, op, text) for op in ("=", "<", "<=", ">", ">=", "<>", "<=>") for text in texts]
    chosen += [like(TEXT, text + "%") for text in texts] + [like(TEXT, "%x"), like(TEXT, ""), like(TEXT, "common%9")]
    chosen += [member(TEXT, [*texts, None]), member(ID, [*range(0, 20_000, 7)]), member(ID, [5, 7, 2**63 - 1])]
    chosen += [compare(ID, op, value) for op in ("=", "<", ">=", "<>") for value in (0, 777, 2**63 - 1, -(2**63))]
    chosen += [member(TEXT, [f"common prefix {number}" for number in range(50)])]
    return chosen


def test_filters_on_many_rows(tmp_path: Path) -> None:
    """Enough rows for Vortex to skip by its own minima and maxima, with values that these cut or cannot order."""
    generator = random.Random(2)
    pool = ["\U0010ffff" * 70, "\U0010ffff" * 69 + "a", "common prefix" * 30, "", "\0", "é" * 40, None, "\ud7ff" * 60]
    texts = [f"common prefix {n}" if n < 16_384 else generator.choice(pool) for n in range(40_000)]
    ids = [None if generator.random() < 0.1 else n for n in range(39_998)] + [2**63 - 1, -(2**63)]
    table = pa.table({"text": pa.array(texts), "id": pa.array(ids, pa.int64())})
    key, sealed = make(tmp_path, table)
    rows = open_rows(tmp_path, key, sealed)
    for predicate in filters():
        expected = table.filter(evaluate(predicate, table))
        assert scanned(rows, predicate=predicate).equals(expected), predicate


def test_a_filter_reads_little(tmp_path: Path) -> None:
    """Vortex skips by its own minima: a point look-up must not read the texts of all rows."""
    generator = random.Random(0)
    texts = pa.array([generator.randbytes(200).hex() for _ in range(100_000)])
    key, sealed = make(tmp_path, pa.table({"n": range(100_000), "s": texts}))
    footer, read = sealed.footer, [0]

    class Counted(Pages):
        def read(self, offset: int, length: int) -> memoryview:
            read[-1] += length
            return super().read(offset, length)

    rows = Rows(Counted(LocalStore(tmp_path), key, footer), footer, key)
    assert scanned(rows, predicate=compare(Column(("n",), pa.int64()), "=", -5)).num_rows == 0
    read.append(0)
    found = scanned(rows, predicate=compare(Column(("n",), pa.int64()), "=", 50_000))
    assert found.column("s").to_pylist() == [texts[50_000].as_py()]
    assert read[0] < footer.rows_length / 50
    assert read[1] < footer.rows_length / 2


@pytest.mark.parametrize("verb", ["take", "scan", "filter"])
def test_errors_of_the_store_arrive_as_they_are(verb: str, tmp_path: Path) -> None:
    table = numbers(30_000)
    key, sealed = make(tmp_path, table)
    footer = sealed.footer

    def read(store: Any) -> pa.Table:
        return again(Rows(Pages(store, key, footer), footer, key))

    def again(rows: Rows) -> pa.Table:
        if verb == "take":
            return rows.take(np.arange(0, 30_000, 3), ["n", "s"])
        where = compare(Column(("n",), pa.int64()), ">=", 0) if verb == "filter" else None
        return scanned(rows, predicate=where)

    counted = Faulty(LocalStore(tmp_path))
    expected = read(counted)
    calls = len(counted.calls)
    assert calls >= 1
    for at in range(1, calls + 1):
        for fault, kind in ((Fault.FAIL_BEFORE, StoreUnavailable), (Fault.DIE_BEFORE, Died)):
            segment_cache().clear()
            with pytest.raises(kind):
                read(Faulty(LocalStore(tmp_path), Plan(at, fault)))
        segment_cache().clear()
        rows = Rows(Pages(Faulty(LocalStore(tmp_path), Plan(at, Fault.FAIL_BEFORE)), key, footer), footer, key)
        with pytest.raises(StoreUnavailable):
            again(rows)
        assert again(rows).equals(expected)  # the failure was not remembered


def test_a_footer_that_lies_about_the_rows(tmp_path: Path) -> None:
    table = numbers(10)
    key, sealed = make(tmp_path, table)
    pages, length = Pages(LocalStore(tmp_path), key, sealed.footer), sealed.footer.rows_length
    short = seal(tmp_path / "short", table.schema, [RowsCopy(pages, Part(0, length, 11))])
    with pytest.raises(CorruptSplit, match=r"short is damaged: its rows are 10 of .*, its footer says 11"):
        open_rows(tmp_path, "short", short).take([10], ["n"])
    other = pa.schema([("n", pa.int64()), ("s", pa.int64())])
    wrong = seal(tmp_path / "wrong", other, [RowsCopy(pages, Part(0, length, 10))])
    with pytest.raises(CorruptSplit, match="wrong is damaged"):
        list(open_rows(tmp_path, "wrong", wrong).scan(["s"]))


def test_merged_parts_are_read_as_one(tmp_path: Path) -> None:
    tables = [numbers(20_000), numbers(0), numbers(1), numbers(9000)]
    store = LocalStore(tmp_path)
    copies = []
    for table in tables:
        key, _ = make(tmp_path, table)
        footer = read_footer(store, key)
        copies += [RowsCopy(Pages(store, key, footer), part) for part in footer.parts]
    sealed = seal(tmp_path / "merged", tables[0].schema, copies)
    rows = open_rows(tmp_path, "merged", sealed)
    whole = pa.concat_tables(tables)
    assert_same(scanned(rows), whole)
    picked = [0, 19_999, 20_000, 20_001, 29_000]
    assert_same(rows.take(np.array(picked), ["s", "n"]), whole.take(pa.array(picked)).select(["s", "n"]))


def test_many_threads(tmp_path: Path) -> None:
    table = numbers(50_000)
    key, sealed = make(tmp_path, table)
    rows = open_rows(tmp_path, key, sealed)
    wrong: list[Any] = []

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        for _ in range(15):
            picked = np.sort(generator.choice(50_000, 20, replace=False))
            if rows.take(picked, ["n"]).column(0).to_pylist() != picked.tolist():
                wrong.append(picked)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_scan_can_be_left_early(tmp_path: Path) -> None:
    key, sealed = make(tmp_path, numbers(200_000))
    rows = open_rows(tmp_path, key, sealed)
    assert next(iter(rows.scan(["n"], batch_rows=1000))).num_rows == 1000
    assert pc.sum(rows.take([199_999], ["n"]).column(0)).as_py() == 199_999


def test_opening_a_table_loads_no_engine() -> None:
    program = "import sys, indextables, indextables.split.bundle.bundle_writer, indextables.split.build.statistics; "
    program += "print([name for name in ('vortex', 'tantivy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
