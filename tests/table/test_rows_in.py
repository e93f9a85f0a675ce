"""What fits a table's columns: exactly, or not at all."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import SchemaError
from indextables.core.types import arrow_to_spark_json, spark_json_to_arrow
from indextables.table.build.incoming_rows import rows_in

UTC = pa.timestamp("us", "UTC")
LIST = pa.list_(pa.field("element", pa.int64()))


def fitted(values: Any, wanted: pa.DataType) -> list[Any]:
    schema = pa.schema([("c", wanted)])
    whole = pa.Table.from_batches(rows_in(pa.table({"c": values}), schema), schema)
    whole.validate(full=True)
    found: list[Any] = whole.column("c").to_pylist()
    return found


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (pa.array([1, None], pa.int8()), pa.int16()),
        (pa.array([255], pa.uint8()), pa.int16()),
        (pa.array([2**32 - 1], pa.uint32()), pa.int64()),
        (pa.array([2**64 - 1], pa.uint64()), pa.decimal128(20, 0)),
        (pa.array([1.5, None], pa.float16()), pa.float32()),
        (pa.array([0.1], pa.float32()), pa.float64()),
        (pa.array([Decimal("1.5")], pa.decimal128(5, 1)), pa.decimal128(10, 3)),
        (pa.array([Decimal("1.5")], pa.decimal256(40, 1)), pa.decimal128(38, 1)),
        (pa.array(["a", None], pa.large_string()), pa.string()),
        (pa.array(["a", "b" * 40], pa.string_view()), pa.string()),
        (pa.array(["a", None, "a"]).dictionary_encode(), pa.string()),
        (pc.run_end_encode(pa.array([1, 1, 2])), pa.int64()),
        (pa.array([b"ab"], pa.binary(2)), pa.binary()),
        (pa.array([b"ab"], pa.large_binary()), pa.binary()),
        (pa.array([b"ab"], pa.binary_view()), pa.binary()),
        (pa.array([86_400_000], pa.date64()), pa.date32()),
        (pa.array([5], pa.time32("s")), pa.time64("ns")),
        (pa.array([5], pa.duration("s")), pa.duration("us")),
        (pa.array([None, None]), pa.string()),
        (pa.array([[1], None, []], pa.large_list(pa.int32())), LIST),
        (pa.array([[1, 2], None], pa.list_(pa.int32(), 2)), LIST),
        (pa.array([[1], None, [2, 3]], pa.list_view(pa.int64())), LIST),
        (pa.array([[("a", 1)], None], pa.map_(pa.large_string(), pa.int8())), pa.map_(pa.string(), pa.int64())),
        (pa.array([[["a"], None], None], pa.large_list(pa.list_(pa.large_string()))), pa.list_(pa.list_(pa.string()))),
    ],
)
def test_nothing_is_lost_on_the_way(values: Any, wanted: pa.DataType) -> None:
    if pa.types.is_decimal256(values.type) and wanted.precision == 38:
        with pytest.raises(SchemaError, match=r"decimal256\(40, 1\)"):
            fitted(values, wanted)
        return
    expected = [int(v) if isinstance(v, Decimal) and wanted == pa.int64() else v for v in values.to_pylist()]
    assert fitted(values, wanted) == expected
    assert fitted(values.slice(1), wanted) == expected[1:], "also from the middle"


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_every_unit_and_zone(unit: str) -> None:
    moment = dt.datetime(2024, 1, 31, 12, tzinfo=dt.UTC)
    assert fitted(pa.array([moment], pa.timestamp(unit, "Europe/Paris")), UTC) == [moment]
    plain = moment.replace(tzinfo=None)
    assert fitted(pa.array([plain], pa.timestamp(unit)), pa.timestamp("us")) == [plain]


@pytest.mark.parametrize(
    ("values", "wanted", "message"),
    [
        (pa.array([1]), pa.int32(), r"column c is integer \(int32\), the data has int64.*: cast it to int32 first"),
        (pa.array([1]), pa.float64(), "the data has int64"),
        (pa.array([1.0]), pa.float32(), r"column c is float \(float\), the data has double"),
        (pa.array([1], pa.uint32()), pa.int32(), "the data has uint32"),
        (pa.array([True]), pa.int64(), "the data has bool"),
        (pa.array(["1"]), pa.int64(), "the data has string"),
        (pa.array([1]), pa.string(), "the data has int64"),
        (pa.array([b"x"]), pa.string(), "the data has binary"),
        (pa.array(["x"]), pa.binary(), "the data has string"),
        (pa.array([Decimal("1.55")]), pa.decimal128(10, 1), r"the data has decimal128\(3, 2\)"),
        (pa.array([1], pa.timestamp("us")), UTC, "assume_timezone"),
        (pa.array([1], UTC), pa.timestamp("us"), "drop the time zone"),
        (
            pa.array([1], pa.timestamp("ns")),
            pa.timestamp("us"),
            "cannot hold exactly .*would lose data: 1.* round or cast",
        ),
        (pa.array([2**60], pa.timestamp("s")), pa.timestamp("us"), "cannot hold exactly"),
        (pa.array([1], pa.duration("ns")), pa.duration("us"), "cannot hold exactly"),
        (pa.array([[1.5]]), LIST, r"column c\.element is long \(int64\), the data has double"),
        (pa.array([{"x": 1}]), pa.struct([("x", pa.int8())]), r"column c\.x is byte \(int8\), the data has int64"),
        (
            pa.array([{"x": 1, "why": 2}]),
            pa.struct([("x", pa.int64())]),
            r"a column c\.why, column c has no such field",
        ),
        (pa.array([{"x": 1}]), pa.int64(), "build a column of type int64 first"),
    ],
)
def test_everything_else_is_the_callers_decision(values: Any, wanted: pa.DataType, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        fitted(values, wanted)


def test_fields_of_structs_are_found_by_name() -> None:
    wanted = pa.struct([("x", pa.int64()), ("y", pa.string()), ("z", pa.list_(pa.float64()))])
    given = pa.array(
        [{"Y": "a", "x": 1}, None, {"Y": None, "x": 2}], pa.struct([("Y", pa.large_string()), ("x", pa.int8())])
    )
    expected = [{"x": 1, "y": "a", "z": None}, None, {"x": 2, "y": None, "z": None}]
    assert fitted(given, wanted) == expected
    assert fitted(given.slice(1), wanted) == expected[1:]


def test_large_batches_are_cut() -> None:
    schema = pa.schema([("c", pa.string())])
    wide = pa.record_batch({"c": ["x" * 1_000_000] * 40})
    pieces = list(rows_in(wide, schema))
    assert sum(piece.num_rows for piece in pieces) == 40
    assert max(piece.nbytes for piece in pieces) <= 17 << 20
    long = pa.record_batch({"c": pa.nulls(200_000, pa.string())})
    assert [piece.num_rows for piece in rows_in(long, schema)] == [65536, 65536, 65536, 3392]


TYPES = st.recursive(
    st.sampled_from(
        [
            pa.int8(),
            pa.uint16(),
            pa.uint64(),
            pa.float32(),
            pa.string(),
            pa.large_string(),
            pa.string_view(),
            pa.binary_view(),
            pa.bool_(),
            pa.date32(),
            pa.timestamp("ms", "UTC"),
            pa.decimal128(9, 3),
        ]
    ),
    lambda inner: st.one_of(
        inner.map(pa.large_list),
        inner.map(pa.list_view),
        inner.map(lambda arrow: pa.struct([("a", arrow), ("b", pa.int32())])),
        inner.map(lambda arrow: pa.map_(pa.large_string(), arrow)),
    ),
    max_leaves=3,
)


DICTIONARY = pa.dictionary(pa.int8(), pa.string())
"""Not inside others: pyarrow itself makes invalid arrays of structs that are null and hold one."""


def value_of(arrow: pa.DataType, number: int) -> Any:
    """Some value of a type, null now and then."""
    kinds = pa.types
    if number % 4 == 3:
        return None
    if kinds.is_struct(arrow):
        return {"a": value_of(arrow.field("a").type, number + 1), "b": number}
    if kinds.is_map(arrow):
        return [(str(key), value_of(arrow.item_type, key)) for key in range(number % 3)]
    if kinds.is_nested(arrow):
        return [value_of(arrow.value_type, part) for part in range(number, number + number % 3)]
    if kinds.is_dictionary(arrow) or "string" in str(arrow):
        return f"text {number}"
    if kinds.is_binary_view(arrow):
        return b"bytes" * number
    if kinds.is_boolean(arrow):
        return number % 2 == 0
    if kinds.is_date32(arrow):
        return dt.date(2024, 1, 1 + number % 28)
    if kinds.is_timestamp(arrow):
        return dt.datetime(2024, 1, 1 + number % 28, tzinfo=dt.UTC)
    return Decimal(number) if kinds.is_decimal(arrow) else number


@settings(max_examples=examples(50), deadline=None)
@given(
    arrow=TYPES | st.just(DICTIONARY),
    numbers=st.lists(st.integers(0, 40), min_size=1, max_size=20),
    start=st.integers(0, 5),
)
def test_data_fits_the_table_that_is_made_from_its_schema(arrow: pa.DataType, numbers: list[int], start: int) -> None:
    values = [value_of(arrow, number) for number in numbers]
    data = pa.record_batch([pa.array(values, arrow)], ["c"]).slice(min(start, len(values) - 1))
    schema = spark_json_to_arrow(arrow_to_spark_json(data.schema))
    [batch] = rows_in(data, schema)
    batch.validate(full=True)
    assert batch.schema.equals(schema, check_metadata=True)
    assert batch.column(0).to_pylist() == data.column(0).to_pylist()
