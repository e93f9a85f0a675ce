import datetime as dt
import json
import math

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import SchemaError
from indextables.split.index import json_documents as feed_module
from indextables.split.index.doc_mapping import LONGEST_TERM, plan_mapping
from indextables.split.index.json_documents import Feed

UTC = dt.UTC


def fed(batch, properties=None, rows=None):
    feed = Feed(plan_mapping(batch.schema, (), properties or {}), source=-5)
    documents = [line if isinstance(line, dict) else json.loads(line) for line in feed.lines(batch)]
    for number, document in enumerate(documents):
        assert document.pop("_source") == -5
        assert document.pop("_row") == number
    assert feed.rows == batch.num_rows
    return documents, feed.inexact


def column(values, arrow, properties=None):
    """The values of one column as the index is given them, None where it is given none."""
    documents, inexact = fed(pa.RecordBatch.from_arrays([pa.array(values, arrow)], names=["c"]), properties)
    assert all(set(document) <= {"c"} for document in documents)
    return [document.get("c") for document in documents], inexact == {"c"}


@given(st.lists(st.none() | st.text(), max_size=20))
def test_strings_arrive_as_they_are(values):
    assert column(values, pa.string()) == (values, False)


def test_every_character_that_json_escapes():
    values = [chr(code) for code in range(0x100)] + ['"\\\\"', "\\u0041", "a\0b\nc", "🙂", "\u2028", "\ufffe", ""]
    assert column(values, pa.string()) == (values, False)
    for value in values:
        assert column([value], pa.string(), {"indexing.typemap.c": "text"}) == ([value], False)


def test_the_bytes_of_other_rows_do_not_matter():
    values = pa.array(["plain", 'a "quoted" one', "plain"])
    assert column(values.slice(0, 1), None) == (["plain"], False)
    assert column(values.slice(1, 1), None) == (['a "quoted" one'], False)
    assert column(values.slice(2), None) == (["plain"], False)


@pytest.mark.parametrize("letter", ["a", "é", "🙂"])
def test_strings_that_tantivy_would_drop_are_left_out_and_noted(letter):
    size = len(letter.encode())
    fits = letter * (LONGEST_TERM // size) + "a" * (LONGEST_TERM % size)
    assert column([fits, None], pa.string()) == ([fits, None], False)
    assert column([fits + "a", "b"], pa.string()) == ([None, "b"], True)
    assert column([["b", fits + "a"], [fits + "a"]], pa.list_(pa.string())) == ([["b"], None], True)
    assert column([fits + "a"], pa.string(), {"indexing.typemap.c": "text"}) == ([fits + "a"], False)


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_longs(values):
    assert column(values, pa.int64()) == (values, False)


def test_other_numbers():
    assert column([-128, 127, None], pa.int8()) == ([-128, 127, None], False)
    assert column([True, False, None], pa.bool_()) == ([1, 0, None], False)
    assert column([-719162, 2**31 - 1, -(2**31)], pa.int32())[0] == [-719162, 2**31 - 1, -(2**31)]
    days = pa.array([-(2**31), 0, 2**31 - 1, None], pa.int32()).cast(pa.date32())
    assert column(days, None) == ([-(2**31), 0, 2**31 - 1, None], False)
    for zone in (None, "UTC"):
        moments = pa.array([-(2**63), 0, 2**63 - 1, None], pa.int64()).cast(pa.timestamp("us", zone))
        assert column(moments, None) == ([-(2**63), 0, 2**63 - 1, None], False)


def exactly(given_values, found):
    for value, seen in zip(given_values, found, strict=True):
        if value is None or not math.isfinite(value):
            assert seen is None
        else:
            assert seen == value
            assert math.copysign(1, seen) == math.copysign(1, value + 0.0)


@given(st.lists(st.none() | st.floats(), max_size=20))
def test_doubles(values):
    found, inexact = column(values, pa.float64())
    exactly(values, found)
    assert inexact == any(value is not None and not math.isfinite(value) for value in values)


@given(st.lists(st.none() | st.floats(width=32), max_size=20))
def test_floats(values):
    found, _ = column(values, pa.float32())
    exactly(values, found)


@given(st.lists(st.none() | st.lists(st.none() | st.floats(), max_size=4), max_size=8))
def test_arrays_of_doubles(lists):
    found, inexact = column(lists, pa.list_(pa.float64()))
    for values, seen in zip(lists, found, strict=True):
        exactly([value for value in values or () if value is not None and math.isfinite(value)], seen or [])
        assert seen != []
    assert inexact == any(v is not None and not math.isfinite(v) for values in lists for v in values or ())


def test_a_double_in_json_is_one_exact_division_away():
    numbers = np.random.default_rng(1).random(2_000)
    texts, done = feed_module._float_texts(numbers)
    assert done.mean() > 0.99
    for text, number in zip(texts.filter(pa.array(done)).to_pylist(), numbers[done], strict=True):
        whole, power = text.split("e")
        assert int(whole) < 2**64
        assert float(int(whole)) == int(whole)
        assert abs(int(power)) <= 22
        assert float(text) == number


@given(st.lists(st.none() | st.lists(st.none() | st.text(max_size=3), max_size=4), max_size=8), st.integers(0, 8))
def test_arrays_of_strings_in_any_slice(lists, start):
    array = pa.array(lists, pa.list_(pa.string())).slice(start)
    wanted = [[value for value in values or () if value is not None] or None for values in lists[start:]]
    assert column(array, None) == (wanted, False)


def test_arrays_of_other_types():
    assert column([[1, None], []], pa.list_(pa.int32())) == ([[1], None], False)
    assert column([[True, False]], pa.list_(pa.bool_())) == ([[1, 0]], False)
    assert column([[dt.date(1970, 1, 2)]], pa.list_(pa.date32())) == ([[1]], False)
    assert column([[1, None], None], pa.list_(pa.int32(), 2)) == ([[1], None], False)


def test_addresses():
    texts = ["1.2.3.4", "::FFFF:1.2.3.4", "2001:DB8:0::1", "fe80::1%eth0", "01.2.3.4", "1.2.3", " 1.2.3.4", "", None]
    found, inexact = column(texts, pa.string(), {"indexing.typemap.c": "ip"})
    assert found == ["1.2.3.4", "::ffff:102:304", "2001:db8::1", None, None, None, None, None, None]
    assert inexact
    assert column([*texts[:3], None], pa.string(), {"indexing.typemap.c": "ip"})[1] is False


NESTED = pa.struct(
    [
        ("s", pa.string()),
        ("n", pa.int64()),
        ("f", pa.float64()),
        ("b", pa.bool_()),
        ("d", pa.date32()),
        ("t", pa.timestamp("us", "UTC")),
        ("x", pa.decimal128(5, 2)),
        ("raw", pa.binary()),
        ("list", pa.list_(pa.struct([("k", pa.int32())]))),
        ("map", pa.map_(pa.int32(), pa.string())),
        ("odd", pa.map_(pa.binary(), pa.string())),
    ]
)


def test_nested_values():
    value = {
        "s": 'a"b',
        "n": -(2**63),
        "f": -0.0,
        "b": True,
        "d": dt.date(1970, 1, 3),
        "t": dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
        "x": msgspec.convert("1.50", type=__import__("decimal").Decimal),
        "raw": b"\xff",
        "list": [{"k": 1}, None, {"k": None}],
        "map": [(1, "one"), (2, None)],
        "odd": [(b"\xff", "x")],
    }
    wanted = {
        "s": 'a"b',
        "n": -(2**63),
        "f": 0.0,
        "b": True,
        "d": 2,
        "t": 1_000_000,
        "x": "1.50",
        "list": [{"k": 1}, {}],
        "map": {"1": "one"},
    }
    rows = pa.array([None, value, {}, None, value], NESTED)
    assert column(rows, None) == ([None, wanted, {}, None, wanted], False)
    assert column(rows.slice(3), None) == ([None, wanted], False)
    assert column(pa.array([[value, None], [], None], pa.list_(NESTED)), None) == ([[wanted], None, None], False)


def test_maps_in_any_slice():
    maps = pa.array([[("a", 1)], None, [], [("b", None), ("c", 3)]], pa.map_(pa.string(), pa.int64()))
    assert column(maps, None) == ([{"a": 1}, None, {}, {"c": 3}], False)
    assert column(maps.slice(2), None) == ([{}, {"c": 3}], False)


@given(st.lists(st.floats(), max_size=5))
def test_nested_doubles(values):
    found, inexact = column([{"f": value} for value in values], pa.struct([("f", pa.float64())]))
    exactly(values, [document.get("f") for document in found])
    assert inexact == any(not math.isfinite(value) for value in values)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def without_nulls(value):
    if isinstance(value, dict):
        cleaned = {key: without_nulls(part) for key, part in value.items() if not {"\0", "\1"} & set(key)}
        return {key: part for key, part in cleaned.items() if part is not None}
    if isinstance(value, list):
        return [part for part in map(without_nulls, value) if part is not None]
    return value + 0.0 if isinstance(value, float) else value


@given(st.lists(st.dictionaries(st.text(), JSON, max_size=3), min_size=1, max_size=3))
def test_json_texts(objects):
    found, _ = column([json.dumps(value) for value in objects], pa.string(), {"indexing.typemap.c": "json"})
    assert found == [without_nulls(value) for value in objects]
    found, _ = column([[json.dumps(v) for v in objects]], pa.list_(pa.string()), {"indexing.typemap.c": "json"})
    assert found == [[without_nulls(value) for value in objects]]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", None),
        ("null", None),
        ("5", None),
        ("[{}]", None),
        ('{"a":1', None),
        ('{"a":NaN}', None),
        ('{"a":"\\ud800"}', None),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, None),
        ('{"a":1,"b\\u0000c":2}', {"a": 1}),
        ('{"a":1,"' + "k" * 65_400 + '":2}', {"a": 1}),
        ('{"a":1,"b":' + "9" * 400 + "}", {"a": 1}),
        ('{"a":1,"b":' + '{"b":' * 110 + "1" + "}" * 111, "deep"),
    ],
)
def test_json_that_the_index_cannot_hold_is_noted(text, kept):
    (found,), inexact = column([text], pa.string(), {"indexing.typemap.c": "json"})
    assert inexact
    if kept == "deep":
        assert found["a"] == 1
    else:
        assert found == kept


def test_numbers_beyond_64_bits_are_doubles_in_json():
    found, inexact = column(['{"a":123456789012345678901234567890}'], pa.string(), {"indexing.typemap.c": "json"})
    assert (found, inexact) == ([{"a": 123456789012345678901234567890.0}], False)


def test_columns_without_a_field_are_not_fed():
    batch = pa.RecordBatch.from_pydict({"a": [b"x"], "b": [1]}, pa.schema([("a", pa.binary()), ("b", pa.int8())]))
    assert fed(batch) == ([{"b": 1}], set())


def test_rows_are_numbered_on(monkeypatch):
    for limit, value in {"_CHUNK_ROWS": 10, "_CHUNK_BYTES": 60}.items():
        monkeypatch.setattr(feed_module, limit, value)
    batch = pa.RecordBatch.from_pydict({"a": [f"value {number}" for number in range(35)]})
    feed = Feed(plan_mapping(batch.schema, (), {}), source=1)
    for start in (0, 35):
        documents = [json.loads(line) for line in feed.lines(batch)]
        assert [document["_row"] for document in documents] == list(range(start, start + 35))
        assert [document["a"] for document in documents] == batch.column(0).to_pylist()


def test_bytes_that_are_no_text():
    broken = pa.array([b"ok", b"\xff"]).view(pa.string())
    batch = pa.RecordBatch.from_arrays([pa.array(["a", "b"]), broken], names=["fine", "broken"])
    with pytest.raises(SchemaError, match="column broken holds bytes that are not valid UTF-8"):
        fed(batch)


@settings(max_examples=examples(15))
@given(st.integers(0, 3), st.integers(0, 3))
def test_empty_pieces(start, length):
    schema = pa.schema([("a", pa.string()), ("b", pa.list_(pa.float64())), ("c", NESTED), ("d", pa.float64())])
    batch = pa.RecordBatch.from_pylist([{"a": "x"}, {"b": [1.0]}, {"d": 0.1}], schema).slice(start, length)
    documents, inexact = fed(batch)
    assert len(documents) == batch.num_rows
    assert not inexact
