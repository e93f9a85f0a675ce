"""Values as text: one form is written, many are read, and what cannot be read is unknown."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import SchemaError
from indextables.core.values import column_from_text, from_text, has_text_form, timestamp_text, to_text

UTC = pa.timestamp("us", "UTC")
NTZ = pa.timestamp("us")
NOON = dt.datetime(2024, 1, 31, 12, 0, 0, 5, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("value", "arrow_type", "text"),
    [
        (-7, pa.int8(), "-7"),
        (2**63 - 1, pa.int64(), "9223372036854775807"),
        (0.1, pa.float64(), "0.1"),
        (0.1, pa.float32(), "0.1"),
        (1e16, pa.float64(), "1e+16"),
        (-0.0, pa.float64(), "-0.0"),
        (math.inf, pa.float64(), "Infinity"),
        (-math.inf, pa.float32(), "-Infinity"),
        (math.nan, pa.float64(), None),
        (True, pa.bool_(), "true"),
        (False, pa.bool_(), "false"),
        (dt.date(1, 2, 3), pa.date32(), "0001-02-03"),
        (NOON, UTC, "2024-01-31T12:00:00.000005Z"),
        (NOON.astimezone(dt.timezone(dt.timedelta(hours=5))), UTC, "2024-01-31T12:00:00.000005Z"),
        (NOON.replace(tzinfo=None), NTZ, "2024-01-31T12:00:00.000005"),
        (Decimal("1.5"), pa.decimal128(5, 2), "1.50"),
        (Decimal("1E+3"), pa.decimal128(10, 0), "1000"),
        ("as it is\n😀", pa.string(), "as it is\n😀"),
        ("", pa.string(), ""),
        (None, pa.int64(), None),
    ],
)
def test_each_type_has_one_text(value: Any, arrow_type: pa.DataType, text: str | None) -> None:
    assert to_text(value, arrow_type) == text


def test_partition_values_keep_nan() -> None:
    assert to_text(math.nan, pa.float64(), keep_nan=True) == "NaN"


@pytest.mark.parametrize(
    ("value", "arrow_type"),
    [
        ("x", pa.int64()),
        (True, pa.int64()),
        (1, pa.bool_()),
        (5, pa.string()),
        ("x", pa.float64()),
        (Decimal("1.005"), pa.decimal128(5, 2)),
        (Decimal("NaN"), pa.decimal128(5, 2)),
        ("2024-01-31", pa.date32()),
        (dt.date(2024, 1, 31), UTC),
        (b"x", pa.binary()),
        ([1], pa.list_(pa.int64())),
    ],
)
def test_a_value_of_another_type_is_an_error(value: Any, arrow_type: pa.DataType) -> None:
    with pytest.raises(SchemaError, match=r"does not fit|no text form"):
        to_text(value, arrow_type)


def utc(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)  # type: ignore[arg-type,misc]


READ = [
    ("5", pa.int32(), 5),
    ("+5", pa.int32(), 5),
    ("5.0", pa.int32(), 5),
    ("1E3", pa.int32(), 1000),
    ("5.5", pa.int32(), None),
    ("128", pa.int8(), None),
    ("255", pa.uint8(), 255),
    ("256", pa.uint8(), None),
    ("-1", pa.uint8(), None),
    ("five", pa.int32(), None),
    (" 5", pa.int32(), None),
    ("1E999999999", pa.int64(), None),
    ("9" * 5000, pa.int64(), None),
    ("1.0E10", pa.float64(), 1e10),
    ("Infinity", pa.float64(), math.inf),
    ("-inf", pa.float32(), -math.inf),
    ("0.1", pa.float32(), 0.10000000149011612),
    ("+1.5", pa.float32(), 1.5),
    ("1_0", pa.float64(), None),
    ("", pa.float64(), None),
    ("TRUE", pa.bool_(), True),
    ("False", pa.bool_(), False),
    ("yes", pa.bool_(), None),
    ("2024-01-31", pa.date32(), dt.date(2024, 1, 31)),
    ("2024-01-31T23:59:59Z", pa.date32(), dt.date(2024, 1, 31)),
    ("2024-01-31 23:59:59-08:00", pa.date32(), dt.date(2024, 1, 31)),
    ("1969-12-31", pa.date32(), dt.date(1969, 12, 31)),
    ("2024-02-30", pa.date32(), None),
    ("19723", pa.date32(), None),
    ("10000-01-01", pa.date32(), None),
    ("1704067200", UTC, utc(2024, 1, 1)),
    ("1704067200.25", UTC, utc(2024, 1, 1, 0, 0, 0, 250_000)),
    ("1.7040672E9", UTC, utc(2024, 1, 1)),
    ("-1", UTC, utc(1969, 12, 31, 23, 59, 59)),
    ("1704067200000", UTC, None),
    ("2024-10-01T00:00:00Z", UTC, utc(2024, 10, 1)),
    ("2024-10-01 00:00:00", UTC, utc(2024, 10, 1)),
    ("2024-10-01T00:00:00.5Z", UTC, utc(2024, 10, 1, 0, 0, 0, 500_000)),
    ("2024-10-01T00:00:00.123456789Z", UTC, utc(2024, 10, 1, 0, 0, 0, 123_456)),
    ("2024-10-01T02:00:00+02:00", UTC, utc(2024, 10, 1)),
    ("2024-10-01T02:00:00+0200", UTC, utc(2024, 10, 1)),
    ("2024-10-01T00:00", UTC, utc(2024, 10, 1)),
    ("2024-10-01", UTC, utc(2024, 10, 1)),
    ("2024-10-01T00:00:60Z", UTC, None),
    ("2024-10-01T00:00:00+99:00", UTC, None),
    ("+10000-01-01T00:00:00Z", UTC, None),
    ("-0001-01-01T00:00:00Z", UTC, None),
    ("soon", UTC, None),
    ("2024-10-01T00:00:00", NTZ, dt.datetime(2024, 10, 1)),  # noqa: DTZ001
    ("2024-10-01T00:00:00Z", NTZ, dt.datetime(2024, 10, 1)),  # noqa: DTZ001
    ("2024-10-01T00:00:00+01:00", NTZ, None),
    ("1.5", pa.decimal128(5, 2), Decimal("1.50")),
    ("1E+2", pa.decimal128(5, 2), Decimal("100.00")),
    ("1.005", pa.decimal128(5, 2), None),
    ("1000", pa.decimal128(5, 2), None),
    ("NaN", pa.decimal128(5, 2), None),
    ("9" * 38, pa.decimal128(38, 0), Decimal("9" * 38)),
    ("", pa.string(), ""),
    ("x", pa.binary(), None),
    (None, pa.int64(), None),
]


@pytest.mark.parametrize(("text", "arrow_type", "value"), READ)
def test_texts_of_others_are_read(text: str | None, arrow_type: pa.DataType, value: Any) -> None:
    assert from_text(text, arrow_type) == value
    column = column_from_text(pa.array([text, None], pa.string()), arrow_type)
    assert column.type == arrow_type
    assert column.to_pylist() == [value, None]
    mixed = column_from_text(pa.chunked_array([["?!"], [text]], pa.string()), arrow_type)
    assert mixed.to_pylist() == ["?!" if arrow_type == pa.string() else None, value]


def test_nan_is_read() -> None:
    assert math.isnan(from_text("NaN", pa.float64()))
    assert math.isnan(column_from_text(pa.array(["NaN"]), pa.float32())[0].as_py())


@pytest.mark.parametrize(
    ("text", "lower", "upper"),
    [
        ("2024-10-01T00:00:05.250000Z", (5, 0), (5, 999_999)),
        ("2024-10-01T00:00:05Z", (5, 0), (5, 999_999)),
        ("2024-10-01T00:00:05.5Z", (5, 0), (5, 999_999)),
        ("1727740805", (5, 0), (5, 999_999)),
        ("2024-10-01T00:00Z", (0, 0), (59, 999_999)),
        ("2024-10-01T02:00+02:00", (0, 0), (59, 999_999)),
    ],
)
def test_a_timestamp_bound_covers_what_it_may_stand_for(text: str, lower: Any, upper: Any) -> None:
    texts = pa.array([text, None])
    assert column_from_text(texts, UTC, bound="lower").to_pylist() == [utc(2024, 10, 1, 0, 0, *lower), None]
    assert column_from_text(texts, UTC, bound="upper").to_pylist() == [utc(2024, 10, 1, 0, 0, *upper), None]


def test_a_date_as_a_timestamps_maximum_covers_the_day() -> None:
    assert column_from_text(pa.array(["2024-10-01"]), NTZ, bound="upper").to_pylist() == [
        dt.datetime(2024, 10, 1, 23, 59, 59, 999_999)  # noqa: DTZ001
    ]


def test_timestamps_before_1970_are_widened_the_right_way() -> None:
    texts = pa.array(["1969-12-31T23:59:59.750000Z"])
    assert column_from_text(texts, UTC, bound="lower").to_pylist() == [utc(1969, 12, 31, 23, 59, 59)]
    assert column_from_text(texts, UTC, bound="upper").to_pylist() == [utc(1969, 12, 31, 23, 59, 59, 999_999)]


def test_years_beyond_9999_have_no_text() -> None:
    assert timestamp_text(2**63 - 1, UTC) is None
    assert timestamp_text(-(2**63), NTZ) is None
    assert timestamp_text(253402300799999999, UTC) == "9999-12-31T23:59:59.999999Z"
    assert from_text("0001-01-01T00:00:00+18:00", UTC) is None
    assert from_text("9999-12-31T23:59:59-18:00", UTC) is None


def test_types_without_order_have_no_text_form() -> None:
    for arrow_type in (pa.binary(), pa.struct([("a", pa.int8())]), pa.list_(pa.int8()), pa.timestamp("ns"), pa.null()):
        assert not has_text_form(arrow_type)
        assert column_from_text(pa.array(["x"]), arrow_type).to_pylist() == [None]


ROUND_TRIPS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.float32(): st.floats(allow_nan=False, width=32),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(),
    UTC: st.datetimes(timezones=st.just(dt.UTC)),
    NTZ: st.datetimes(),
    pa.decimal128(38, 10): st.decimals(
        places=10, allow_nan=False, allow_infinity=False, min_value=-(10**15), max_value=10**15
    ),
    pa.string(): st.text(),
}


@pytest.mark.parametrize("arrow_type", ROUND_TRIPS, ids=str)
@settings(max_examples=examples(50), deadline=None)
@given(data=st.data())
def test_texts_round_trip(arrow_type: pa.DataType, data: st.DataObject) -> None:
    values = data.draw(st.lists(ROUND_TRIPS[arrow_type], min_size=1, max_size=4))
    texts = [to_text(value, arrow_type) for value in values]
    assert [from_text(text, arrow_type) for text in texts] == values
    if pa.types.is_floating(arrow_type):
        assert [math.copysign(1, from_text(text, arrow_type)) for text in texts] == [
            math.copysign(1, v) for v in values
        ]
    assert column_from_text(pa.array(texts, pa.string()), arrow_type).to_pylist() == values


@settings(max_examples=examples(100), deadline=None)
@given(st.text(alphabet="0123456789+-:.TZ eE_xnaif", max_size=30), st.sampled_from(list(ROUND_TRIPS)))
def test_no_text_is_an_error(text: str, arrow_type: pa.DataType) -> None:
    from_text(text, arrow_type)
    for bound in (None, "lower", "upper"):
        column = column_from_text(pa.array([text, "#"]), arrow_type, bound=bound)  # type: ignore[arg-type]
        assert len(column) == 2
