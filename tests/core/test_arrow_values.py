"""Arrays and scalars of `arrow_values` equal those of `pa.array` and `pa.scalar`, and so do their errors."""

from __future__ import annotations

import datetime as dt
import math
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from indextables.core.arrow_values import (
    FALSE_SCALAR,
    TRUE_SCALAR,
    ZERO_FLOAT_SCALAR,
    ZERO_SCALAR,
    array_of,
    array_of_numbers,
    columns_of_rows,
    empty_table,
    numpy_of,
    repeated,
    scalar_of,
    table_of_rows,
)

TEXT_MAP = pa.map_(pa.string(), pa.string())
HIGHLIGHTS = pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32())]))

ZONES = st.sampled_from(
    [None, dt.UTC, dt.timezone(dt.timedelta(hours=-7, minutes=-30)), dt.timezone.max, dt.timezone.min]
)
TEXTS = st.text("ab\x00\x7f\x80é\u0800\uffff🙂", max_size=5)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-999, max_value=999)

VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    **{
        kind: st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        for kind, bits in [(pa.int8(), 8), (pa.int16(), 16), (pa.int32(), 32), (pa.int64(), 64)]
    },
    **{
        kind: st.integers(0, (1 << bits) - 1)
        for kind, bits in [(pa.uint8(), 8), (pa.uint16(), 16), (pa.uint32(), 32), (pa.uint64(), 64)]
    },
    pa.float64(): st.floats(),
    pa.float32(): st.floats(),
    pa.bool_(): st.booleans(),
    pa.string(): TEXTS,
    pa.large_string(): TEXTS,
    pa.binary(): st.binary(max_size=5),
    pa.large_binary(): st.binary(max_size=5),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(timezones=ZONES),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=ZONES),
    pa.timestamp("us", "Europe/Berlin"): st.datetimes(timezones=ZONES),
    pa.timestamp("ms", "UTC"): st.integers(-(2**63), 2**63 - 1),
    pa.decimal128(5, 2): DECIMALS,
    pa.decimal128(38, 38): st.decimals(
        allow_nan=False, allow_infinity=False, places=38, min_value=0, max_value=Decimal("0.9")
    ),
    pa.decimal256(76, 2): DECIMALS,
    pa.list_(pa.int64()): st.lists(st.none() | st.integers(-9, 9), max_size=3),
    HIGHLIGHTS: st.lists(st.fixed_dictionaries({"start": st.integers(0, 9), "end": st.integers(0, 9)}), max_size=3),
    TEXT_MAP: st.lists(st.tuples(TEXTS, st.none() | TEXTS), max_size=3) | st.dictionaries(TEXTS, TEXTS, max_size=3),
    pa.struct([("a", pa.int64()), ("b", pa.string())]): st.fixed_dictionaries(
        {}, optional={"a": st.none() | st.integers(-9, 9), "b": TEXTS, "other": TEXTS}
    ),
    pa.struct([]): st.just({}),
    pa.null(): st.none(),
    pa.time64("us"): st.times(),
    pa.dictionary(pa.int32(), pa.string()): TEXTS,
}
"""Types, and values that they can hold."""

NOON = dt.datetime(2024, 2, 29, 12)  # noqa: DTZ001 - without a zone
STRANGE: list[Any] = [
    True, 0, 1, -1, 2**31, 2**63, 2**64, 0.5, 1.0, math.nan, math.inf, 1e300, "", "text", "\ud800", b"bytes", b"\xff",
    Decimal("1.5"), Decimal("1.500"), Decimal("NaN"), Decimal("1E+3"), Decimal("1E-99"), Decimal(10) ** 80,
    dt.date(2024, 2, 29), NOON, NOON.replace(tzinfo=dt.UTC), dt.datetime.max.replace(tzinfo=dt.timezone.min),
    dt.timedelta(1), dt.time(12), [], [1], ["a"], (1, 2), [("a", "b")], [("a",)], [(None, "b")], ["ab"], {}, {"a": 1},
    {"a": "b"}, {"b": "x", "a": None}, {"start": 1}, [{"start": 1, "end": None}], np.int64(7), np.float64(7.5), np.str_("n"),
    np.bool_(True), np.datetime64("2024-02-29"), object,
]  # fmt: skip
"""Values that fit some types and not others. Whatever `pa.array` does with each of them is right."""


def outcome(make: Callable[[], Any]) -> Any:
    """What was made, to the last bit, or the error."""
    try:
        made = make()
    except Exception as error:
        return type(error), str(error)
    made.validate()
    plain = made.view(pa.int64()) if pa.types.is_timestamp(made.type) else made  # Python has fewer years
    return type(made), made.type, len(made), made.null_count, repr(plain.to_pylist())


@st.composite
def typed_values(draw: st.DrawFn) -> tuple[pa.DataType, list[Any]]:
    kind = draw(st.sampled_from(list(VALUES)))
    values = draw(st.lists(VALUES[kind] | st.none() if draw(st.booleans()) else VALUES[kind], max_size=12))
    return kind, values * draw(st.sampled_from([1, 1, 1, 30]))


@given(typed_values())
def test_an_array_equals_that_of_arrow(typed: tuple[pa.DataType, list[Any]]) -> None:
    kind, values = typed
    assert outcome(lambda: array_of(values, kind)) == outcome(lambda: pa.array(values, kind))
    array_of(values, kind).validate(full=True)


@given(typed_values(), st.lists(st.sampled_from(STRANGE), min_size=1, max_size=2))
def test_values_that_may_not_fit_have_the_outcome_of_arrow(
    typed: tuple[pa.DataType, list[Any]], strange: list[Any]
) -> None:
    kind, values = typed
    values = [*values, *strange]
    assert outcome(lambda: array_of(values, kind)) == outcome(lambda: pa.array(values, kind))


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_one_strange_value_has_the_outcome_of_arrow(kind: pa.DataType) -> None:
    for value in STRANGE:
        ours, theirs = (outcome(lambda value=value, make=make: make([value], kind)) for make in (array_of, pa.array))
        assert ours == theirs, repr(value)


@given(typed_values())
def test_a_scalar_equals_that_of_arrow(typed: tuple[pa.DataType, list[Any]]) -> None:
    kind, values = typed
    for value in [None, *values[:3]]:
        ours, theirs = scalar_of(value, kind), pa.scalar(value, kind)
        assert type(ours) is type(theirs)
        assert outcome(lambda ours=ours: pa.repeat(ours, 1)) == outcome(lambda theirs=theirs: pa.repeat(theirs, 1))


NUMBERS = npst.arrays(
    st.sampled_from(["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", ">i8", "M8[us]"]),
    st.integers(0, 20),
)


@given(NUMBERS, st.data())
def test_numbers_equal_those_of_arrow(numbers: npt.NDArray[Any], data: st.DataObject) -> None:
    step = data.draw(st.sampled_from([1, 2, -1]))
    numbers = numbers[::step]
    mask = data.draw(st.none() | npst.arrays(np.bool_, len(numbers)))
    assert outcome(lambda: array_of_numbers(numbers, mask)) == outcome(lambda: pa.array(numbers, mask=mask))


@given(typed_values(), st.data())
def test_numpy_arrays_equal_those_of_arrow(typed: tuple[pa.DataType, list[Any]], data: st.DataObject) -> None:
    kind, values = typed
    array = pa.array(values, kind)
    begin = data.draw(st.integers(0, len(array)))
    array = array.slice(begin, data.draw(st.integers(0, len(array) - begin)))
    cut = data.draw(st.integers(0, len(array)))
    for given_values in (array, pa.chunked_array([array], kind), pa.chunked_array([array[:cut], array[cut:]], kind)):
        ours, theirs = numpy_of(given_values), array.to_numpy(zero_copy_only=False)
        assert (ours.dtype, repr(ours.tolist())) == (theirs.dtype, repr(theirs.tolist()))
    assert numpy_of(pa.chunked_array([], kind)).tolist() == []


def test_numbers_of_arrow_are_neither_copied_nor_changed() -> None:
    array = pa.array([1, 2, 3])[1:]
    numbers = numpy_of(array)
    assert numbers.ctypes.data == array.buffers()[1].address + 8
    with pytest.raises(ValueError, match="read-only"):
        numbers[0] = 7


def test_masked_and_square_arrays_have_the_outcome_of_arrow() -> None:
    for numbers in (np.ma.masked_array([1, 2], [True, False]), np.zeros((2, 2), np.int64)):
        assert outcome(lambda some=numbers: array_of_numbers(some)) == outcome(lambda some=numbers: pa.array(some))


def test_numbers_are_not_copied() -> None:
    numbers = np.arange(3)
    assert array_of_numbers(numbers).buffers()[1].address == numbers.ctypes.data


@given(st.lists(st.integers(0, 3), max_size=9))
def test_scalars_become_an_array(places: list[int]) -> None:
    scalars = [pa.scalar(text, pa.string()) for text in ("a", None, "a", "é")]
    chosen = [scalars[place] for place in places]
    assert outcome(lambda: repeated(chosen, pa.string())) == outcome(lambda: pa.array(chosen, pa.string()))


@given(st.lists(st.fixed_dictionaries({"a": st.none() | st.integers(-9, 9), "b": st.none() | TEXTS}), max_size=5))
def test_rows_become_columns(rows: list[dict[str, Any]]) -> None:
    schema = pa.schema([pa.field("b", pa.string()), pa.field("a", pa.int64(), nullable=False)])
    assert table_of_rows(rows, schema).equals(pa.Table.from_pylist(rows, schema), check_metadata=True)
    assert columns_of_rows(rows, [schema.field("a")]) == [pa.array([row["a"] for row in rows], pa.int64())]


def test_an_empty_table_equals_that_of_arrow() -> None:
    schema = pa.schema([pa.field(f"c{number}", kind, metadata={"a": "b"}) for number, kind in enumerate(VALUES)])
    assert empty_table(schema).equals(schema.empty_table(), check_metadata=True)
    empty_table(schema).validate(full=True)


def test_constants_are_what_their_names_say() -> None:
    assert TRUE_SCALAR.equals(pa.scalar(True))
    assert FALSE_SCALAR.equals(pa.scalar(False))
    assert ZERO_SCALAR.equals(pa.scalar(0))
    assert ZERO_FLOAT_SCALAR.equals(pa.scalar(0.0))


@pytest.mark.parametrize("length", [0, 2, 1 << 30])
@pytest.mark.parametrize("times", [1, 2, 200])
def test_texts_that_count_their_length_in_another_way_are_left_to_arrow(length: int, times: int) -> None:
    """A text of two gigabytes is one of them, without taking two gigabytes."""

    class Text(str):
        __slots__ = ()

        def __len__(self) -> int:
            return length

    for kind in (pa.string(), pa.large_string()):
        made = array_of([Text("a")] * times, kind)
        made.validate(full=True)
        assert made.to_pylist() == ["a"] * times


_FRESH = """
import datetime as dt, sys
from decimal import Decimal
import numpy as np, pyarrow as pa
from indextables.core.arrow_values import array_of, array_of_numbers, empty_table, numpy_of, repeated, scalar_of
moment = dt.datetime(2024, 2, 29, tzinfo=dt.UTC)
text_map = pa.map_(pa.string(), pa.string())
for values, kind in [
    ([1, None], pa.int8()), ([1, None], pa.uint64()), ([0.5, None], pa.float32()), ([True, None], pa.bool_()),
    (["a", None], pa.string()), (["é"] * 200, pa.large_string()), ([b"a", None], pa.binary()), ([moment.date()], pa.date32()),
    ([moment, None], pa.timestamp("us", "UTC")), ([5], pa.timestamp("ms")), ([Decimal("1.5"), None], pa.decimal128(5, 2)),
    ([[1], None], pa.list_(pa.int64())), ([[("a", None)], None], text_map), ([{"a": "b"}], text_map),
    ([{"a": 1}, None], pa.struct([("a", pa.int64())])), ([None], pa.int64()), ([], pa.string()),
]:
    array_of(values, kind)
    scalar_of(values[0] if values else None, kind)
    empty_table(pa.schema([("a", kind)]))
numbers = np.arange(5)
array_of_numbers(numbers, numbers > 2)
numpy_of(array_of_numbers(numbers > 2))
numpy_of(pa.chunked_array([array_of_numbers(numbers)] * 2))
numpy_of(array_of(["a", None], pa.string()))
repeated([scalar_of("a", pa.string()), scalar_of(None, pa.string())], pa.string())
assert "pandas" not in sys.modules
pa.array([1])
assert "pandas" in sys.modules, "or this shows nothing: pa.array does not load pandas"
"""


@pytest.mark.skipif(find_spec("pandas") is None, reason="needs pandas")
def test_no_array_loads_pandas() -> None:
    subprocess.run([sys.executable, "-c", _FRESH], check=True)
