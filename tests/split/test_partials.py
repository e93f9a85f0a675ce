"""Groups of rows that come in pieces: what a plain exact model says, and the same bytes however the rows are cut and ordered."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.aggregate import parse_aggregate
from indextables.split.aggregate.finish import finished
from indextables.split.aggregate.partial import condensed, partial_of
from table import aggregate_model as model

SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("second", pa.int32()),
        ("x", pa.float64()),
        ("f", pa.float32()),
        ("n", pa.int64()),
        ("i", pa.int32()),
    ]
)
BITS = st.integers(0, 2**64 - 1).map(lambda bits: float(np.uint64(bits).view(np.float64)))
DOUBLES = st.one_of(
    BITS,
    st.floats(),
    st.floats(-1e6, 1e6),
    st.sampled_from(
        [5e-324, -5e-324, 2.0**-1022, -0.0, 0.0, math.inf, -math.inf, math.nan, 1.7e308, -1.7e308, 2.0**899]
    ),
    st.none(),
)
FINITE = st.floats(-1e6, 1e6) | st.sampled_from([5e-324, 2.0**-1022, -0.0, 1e300, -1e300]) | st.none()
WHOLE = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 2**63 - 1]) | st.integers(-9, 9) | st.none()
SHORT = st.integers(-(2**31), 2**31 - 1) | st.sampled_from([-(2**31), 2**31 - 1]) | st.none()
METRICS = {
    **{
        f"{what} {name}": f"{what}({name})"
        for name in ("x", "f", "i")
        for what in ("count", "sum", "avg", "min", "max")
    },
    **{f"{what} n": f"{what}(n)" for what in ("count", "avg", "min", "max")},
    **{f"distinct {name}": f"count(distinct {name})" for name in ("key", "x", "n")},
    "rows": "count",
}
KEYS: list[list[str]] = [[], ["key"], ["second"], ["key", "second"]]


def rows_of(doubles: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    key = st.sampled_from(["a", "b", "", None])
    second = st.integers(0, 2) | st.none()
    single = doubles.map(lambda value: None if value is None else _single(value))
    return st.lists(st.tuples(key, second, doubles, single, WHOLE, SHORT), min_size=1, max_size=24)


def _single(value: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float32(value))


def batch(rows: Sequence[tuple[Any, ...]], encoded: bool) -> pa.RecordBatch:
    columns = [pa.array(values, kind) for values, kind in zip(zip(*rows, strict=True), SCHEMA.types, strict=True)]
    if encoded:
        columns[0] = columns[0].dictionary_encode()
    return pa.RecordBatch.from_arrays(columns, names=SCHEMA.names)


def answer(by: list[str], pieces: Sequence[pa.RecordBatch], metrics: dict[str, str] = METRICS) -> pa.Table:
    asked = parse_aggregate(by, metrics, SCHEMA)
    partials = (partial_of(asked, piece) for piece in pieces)
    return finished(asked, next(iter(condensed(asked, partials)), None)).combine_chunks()


def pieces_of(data: st.DataObject, rows: list[tuple[Any, ...]]) -> list[pa.RecordBatch]:
    """The rows in some order, cut into batches."""
    rows = data.draw(st.permutations(rows))
    cuts = sorted({0, len(rows), *data.draw(st.lists(st.integers(0, len(rows)), max_size=6))})
    return [batch(rows[a:b], data.draw(st.booleans())) for a, b in itertools.pairwise(cuts)]


def bytes_of(table: pa.Table) -> list[Any]:
    """The values of a table, doubles by their bits, so that NaN and -0.0 are compared, too."""
    columns = []
    for column in table.columns:
        values = column.to_pylist()
        floats = pa.types.is_floating(column.type)
        columns.append([None if v is None else np.float64(v).tobytes() for v in values] if floats else values)
    return columns


def expected(by: list[str], rows: list[tuple[Any, ...]]) -> set[str]:
    plain = [dict(zip(SCHEMA.names, row, strict=True)) for row in rows]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in plain:
        groups.setdefault(tuple(row[key] for key in by), []).append(row)
    return {
        repr([*group, *(model.same(_number(text, members)) for text in METRICS.values())])
        for group, members in groups.items()
    }


def _number(text: str, members: list[dict[str, Any]]) -> Any:
    if text == "count":
        return len(members)
    function, column = text.removesuffix(")").split("(")
    if column.startswith("distinct "):
        function, column = "count distinct", column.removeprefix("distinct ")
    return model.metric(function, column, SCHEMA.field(column).type, members)


@pytest.mark.parametrize("by", KEYS, ids=" ".join)
@pytest.mark.parametrize("doubles", [DOUBLES, FINITE], ids=["any", "finite"])
@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_pieces_in_any_order_are_the_exact_answer(
    by: list[str], doubles: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    rows = data.draw(rows_of(doubles))
    whole = answer(by, [batch(rows, data.draw(st.booleans()))])
    found = {repr([model.same(value) for value in row.values()]) for row in whole.to_pylist()}
    assert found == expected(by, rows)
    for _ in range(3):
        assert bytes_of(answer(by, pieces_of(data, rows))) == bytes_of(whole)


def test_no_rows_are_one_group_without_keys_and_none_with_keys() -> None:
    nothing = {name: 0 if text.startswith("count") else None for name, text in METRICS.items()}
    assert answer([], []).to_pylist() == [nothing]
    assert answer(["key"], []).num_rows == 0


def _exact(values: np.ndarray[Any, Any]) -> float:
    """The sum of doubles, rounded once: of whole numbers of the unit 2^-1074, which is the smallest that a double has."""
    total = 0
    for value in values.tolist():
        numerator, denominator = value.as_integer_ratio()
        total += numerator * (2**1074 // denominator)
    return float(Fraction(total, 2**1074))


@pytest.mark.parametrize("groups", [1, 7, 40_000], ids=["one group", "few groups", "more groups than rows of a piece"])
@pytest.mark.parametrize("spread", [2, 300])
def test_many_rows_at_a_time(groups: int, spread: int) -> None:
    """Batches of several pieces, the last one short."""
    random = np.random.default_rng(groups)
    count = 70_001
    x = np.ldexp(random.standard_normal(count), random.integers(-spread, spread, count))
    n = random.integers(-(2**63), 2**63 - 1, count)
    second = random.integers(0, groups, count).astype(np.int32)
    nulls = random.random(count) < 0.01
    columns = [pa.nulls(count, pa.string()), pa.array(second), pa.array(x, mask=nulls), pa.nulls(count, pa.float32())]
    rows = pa.RecordBatch.from_arrays([*columns, pa.array(n), pa.array(second)], names=SCHEMA.names)
    by = ["second"] if groups > 1 else []
    metrics = {"s": "sum(x)", "a": "avg(n)", "i": "sum(i)", "c": "count(x)"}
    found = answer(by, [rows], metrics)
    assert bytes_of(found) == bytes_of(answer(by, [rows.slice(45_000), rows.slice(0, 45_000)], metrics))
    for group in found.to_pylist()[:40]:
        mine = second == group["second"] if by else np.ones(count, np.bool_)
        kept = x[mine & ~nulls]
        assert group["c"] == len(kept)
        assert group["s"] == (_exact(kept) if len(kept) else None)
        assert group["a"] == sum(n[mine].tolist()) / int(mine.sum())
        assert group["i"] == int(second[mine].sum())
