"""Groups and sums of whole columns: the same as a dictionary of groups and exact fractions."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.split.aggregate import group_codes
from indextables.split.aggregate.exact_sums import Layer, double_sums, whole_sums
from indextables.split.aggregate.group_codes import GroupCodes, different_values

KEYS = st.sampled_from(["a", "b", "", None, "ä"])
DOUBLES = (
    st.floats(allow_nan=False, allow_infinity=False, min_value=-(2.0**890), max_value=2.0**890)
    | st.sampled_from([0.1, -0.1, 1e300 / 2**100, 5e-324, -5e-324, 2.0**52 + 0.5, -0.0, 1e16, 1.0, -1e16])
    | st.none()
)
WHOLE = st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5) | st.none()


def encoded(values: list[Any], how: str) -> Any:
    """Texts as they are, as a dictionary, or as a dictionary that has a value twice and a null."""
    array = pa.array(values, pa.string())
    if how == "plain":
        return array
    known = array.dictionary_encode(null_encoding="encode" if how == "null inside" else "mask")
    if how == "twice":
        dictionary = pa.concat_arrays([known.dictionary, known.dictionary, pa.nulls(1, pa.string())])
        numbers = pa.array(
            [
                None if number is None else number + len(known.dictionary) * (place % 2)
                for place, number in enumerate(known.indices.to_pylist())
            ],
            pa.int32(),
        )
        return pa.DictionaryArray.from_arrays(numbers, dictionary)
    return known


HOW = st.sampled_from(["plain", "dictionary", "null inside", "twice"])


@given(st.data())
@settings(max_examples=examples(150), deadline=None)
def test_groups_are_those_of_a_dictionary(data):
    count = data.draw(st.integers(1, 3))
    rows = data.draw(st.lists(st.tuples(*[KEYS] * count), min_size=1, max_size=20))
    columns = {f"k{n}": encoded([row[n] for row in rows], data.draw(HOW)) for n in range(count)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_codes, "_MOST_CELLS", data.draw(st.sampled_from([0, 3, 1 << 20])))
        groups = GroupCodes.of(columns, len(rows))
    found = list(zip(*(values.to_pylist() for values in groups.keys.values()), strict=True))
    assert len(found) == len(set(found)) == groups.groups
    assert [found[code] for code in groups.codes.tolist()] == rows
    assert groups.count().tolist() == [rows.count(group) for group in found]


def total_of(layers: list[Layer], group: int) -> Fraction:
    """The sum of a group, exactly."""
    return sum((int(layer.sums[group]) * Fraction(2) ** (layer.exponent - 53) for layer in layers), Fraction())


@given(st.lists(st.tuples(KEYS, DOUBLES, WHOLE), min_size=1, max_size=30), st.booleans())
@settings(max_examples=examples(400), deadline=None)
def test_sums_lose_nothing(rows, keyed):
    keys, doubles, wholes = (list(column) for column in zip(*rows, strict=True))
    groups = GroupCodes.of({"k": pa.array(keys, pa.string())}, len(rows)) if keyed else GroupCodes.one("k", len(rows))
    names = groups.keys["k"].to_pylist()
    expected: dict[Any, Fraction] = defaultdict(Fraction)
    total: dict[Any, int] = defaultdict(int)
    for key, double, whole in rows:
        expected[key if keyed else None] += Fraction(double or 0)
        total[key if keyed else None] += whole or 0
    layers = double_sums(groups, pa.array(doubles, pa.float64()))
    assert layers is not None
    found = [total_of(layers, number) for number in range(groups.groups)]
    assert dict(zip(names, found, strict=True)) == expected
    high, low = whole_sums(groups, pa.array(wholes, pa.int64()))
    sums = [(int(a) << 32) + int(b) for a, b in zip(high, low, strict=True)]
    assert dict(zip(names, sums, strict=True)) == total


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 2.0**901, -(2.0**1000)])
def test_what_has_no_layers_is_left_to_others(value):
    assert double_sums(GroupCodes.one("k", 2), pa.array([1.0, value])) is None


def test_many_rows_have_few_layers():
    rng = np.random.default_rng(5)
    numbers = rng.lognormal(3, 2, 65_536)
    layers = double_sums(GroupCodes.one("k", len(numbers)), pa.array(numbers))
    assert layers is not None
    assert len(layers) <= 4
    assert total_of(layers, 0) == sum(map(Fraction, numbers.tolist()))


@pytest.mark.parametrize("groups", [1, 3, 40_000], ids=["one group", "few groups", "more groups than rows of a piece"])
@pytest.mark.parametrize("below", [0, 21, 35, 36, 37, 72])
def test_the_largest_sums_that_layers_can_have(groups: int, below: int) -> None:
    """Many doubles of one sign, all but one of them just below a power of two: where a layer ends, begins, and between."""
    random = np.random.default_rng(below)
    numbers = np.ldexp(1 - random.random(80_001) / 1024, -below)
    numbers[0] = 1 - 2.0**-53
    keys = np.arange(len(numbers)) % groups if groups < 4 else np.minimum(np.arange(len(numbers)), groups - 1)
    codes = GroupCodes.of({"k": pa.array(keys)}, len(keys)) if groups > 1 else GroupCodes.one("k", len(keys))
    layers = double_sums(codes, pa.array(numbers))
    assert layers is not None
    expected: dict[int, int] = defaultdict(int)
    for key, number in zip(keys.tolist(), numbers.tolist(), strict=True):
        expected[key if groups > 1 else 0] += int(number * 2.0**200)
    assert [total_of(layers, number) * 2**200 for number in range(codes.groups)] == list(expected.values())


@given(st.lists(st.integers(-100, 100) | st.integers(-(2**63), 2**63 - 1), max_size=30) | st.lists(WHOLE, max_size=10))
@settings(max_examples=examples(150), deadline=None)
def test_different_whole_numbers(values):
    for array in (pa.array(values, pa.int64()), pa.chunked_array([pa.array(values, pa.int64())] * 2)):
        found = different_values(array).to_pylist()
        assert len(found) == len(set(found))
        assert set(found) == set(values)


@given(st.lists(KEYS, max_size=12), HOW)
@settings(max_examples=examples(60), deadline=None)
def test_different_texts(values, how):
    found = different_values(encoded(values, how)).to_pylist()
    assert len(found) == len(set(found))
    assert set(found) == set(values)
