"""Rows as hashes, and two sides of rows that cancel each other: beside plain Python values and `Counter`."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import SchemaError, StorageError
from indextables.table.changes.difference import RowMarks, remaining
from indextables.table.changes.hash_store import HashStore
from indextables.table.changes.row_hashes import row_hashes
from table.changes.changes_support import texts
from table.strategies import tables


def hashes_of(table: pa.Table, seed: int = 7) -> list[bytes]:
    return [row.tobytes() for batch in table.to_batches() for row in row_hashes(batch, seed)]


def agree(table: pa.Table) -> None:
    """Rows have equal hashes exactly where they are equal."""
    rows, hashes = texts(table), hashes_of(table)
    assert len(rows) == len(hashes)
    assert len(set(zip(rows, hashes, strict=True))) == len(set(rows)) == len(set(hashes))


@given(st.data())
@settings(max_examples=examples(60), deadline=None)
def test_hashes_are_equal_where_rows_are(data: st.DataObject) -> None:
    table, _ = data.draw(tables((), min_size=1, max_size=6))
    table = pa.concat_tables([table, table.slice(1), table]).combine_chunks()
    agree(table)
    for name in table.column_names:
        agree(table.select([name]))
    start = data.draw(st.integers(0, table.num_rows - 1))
    assert hashes_of(table.slice(start)) == hashes_of(table)[start:]
    assert hashes_of(table.slice(start, 1)) == hashes_of(table)[start : start + 1]


NAN = [struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in (0x7FF8000000000001, 0xFFF0000000000001)]
ENTRIES = pa.map_(pa.string(), pa.list_(pa.float64()))
ALIKE: list[tuple[pa.DataType, list[Any]]] = [
    (pa.float64(), [0.0, -0.0]),
    (pa.float64(), [float("nan"), *NAN]),
    (pa.float32(), [float("nan"), -float("nan")]),
    (pa.list_(pa.float64()), [[0.0, NAN[0]], [-0.0, NAN[1]]]),
    (pa.struct([("x", pa.float32())]), [{"x": 0.0}, {"x": -0.0}]),
    (ENTRIES, [[("a", [0.0]), ("b", None)], [("b", None), ("a", [-0.0])]]),
    (pa.list_(ENTRIES), [[[("a", []), ("b", [])], None], [[("b", []), ("a", [])], None]]),
]
DIFFERENT: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int64(), [None, 0, 1, 256]),
    (pa.bool_(), [None, False, True]),
    (pa.string(), [None, "", "\0", "a", "a\0"]),
    (pa.binary(), [None, b"", b"\0", b"\0\0"]),
    (pa.list_(pa.string()), [None, [], [None], [""], ["", ""], ["ab"], ["a", "b"]]),
    (pa.list_(pa.list_(pa.int8())), [None, [], [None], [[]], [[], []], [[None]], [[0]], [[0], []], [[], [0]]]),
    (
        pa.struct([("x", pa.int8()), ("y", pa.int8())]),
        [None, {}, {"x": 0}, {"y": 0}, {"x": 1, "y": 2}, {"x": 2, "y": 1}],
    ),
    (ENTRIES, [None, [], [("a", None)], [("a", [])], [("", [])], [("a", []), ("b", [])], [("a", []), ("a", [])]]),
    (pa.month_day_nano_interval(), [None, (0, 0, 0), (1, 0, 0), (0, 30, 0), (0, 0, 1)]),
    (pa.duration("us"), [None, 0, 1]),
    (pa.time64("ns"), [None, 0, 1]),
    (pa.timestamp("ns", "UTC"), [None, 0, 1]),
    (pa.decimal128(38, 2), [None, 0, 1, -1, 10**35]),
    (pa.null(), [None]),
    (pa.struct([]), [None, {}]),
]


@pytest.mark.parametrize(("kind", "values"), ALIKE, ids=lambda value: str(value)[:40])
def test_values_that_are_equal(kind: pa.DataType, values: list[Any]) -> None:
    assert len(set(hashes_of(pa.table({"c": pa.array(values, kind)})))) == 1


@pytest.mark.parametrize(("kind", "values"), DIFFERENT, ids=lambda value: str(value)[:40])
def test_values_that_are_different(kind: pa.DataType, values: list[Any]) -> None:
    array = pa.array(values, kind)
    hashes = hashes_of(pa.table({"c": array}))
    assert len(set(hashes)) == len(values)
    for place in range(len(values)):
        assert hashes_of(pa.table({"c": array.slice(place)})) == hashes[place:]


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_texts_have_one_hash_however_they_are_stored(kind: pa.DataType) -> None:
    plain = pa.array([None, "", "a", "long enough to lie outside of a view", "a"])
    stored = plain.dictionary_encode() if pa.types.is_dictionary(kind) else plain.cast(kind)
    assert hashes_of(pa.table({"c": stored})) == hashes_of(pa.table({"c": plain}))
    assert hashes_of(pa.table({"c": stored.slice(2)})) == hashes_of(pa.table({"c": plain.slice(2)}))
    nulls = pa.nulls(3, pa.string())
    stored = nulls.dictionary_encode() if pa.types.is_dictionary(kind) else nulls.cast(kind)
    assert hashes_of(pa.table({"c": stored})) == hashes_of(pa.table({"c": nulls}))


def test_columns_do_not_run_into_each_other() -> None:
    kinds = [("a", pa.string()), ("b", pa.string())]
    table = pa.table([["ab", "a", "", None], ["c", "bc", "abc", "abc"]], schema=pa.schema(kinds))
    assert len(set(hashes_of(table))) == 4
    assert set(hashes_of(table)).isdisjoint(hashes_of(table, seed=8)), "each seed has hashes of its own"


def test_a_type_that_has_no_lines_is_named() -> None:
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    with pytest.raises(SchemaError, match=r"values of type sparse_union.* cannot be compared"):
        hashes_of(pa.table({"c": union}))


KEYS = [(0, 0), (0, 1), (1, 0), (2**64 - 1, 2**63), (2**63, 2**64 - 1)]
sides = st.lists(st.lists(st.sampled_from(range(len(KEYS))), max_size=9), max_size=4)


def naive(removed: list[int], added: list[int]) -> tuple[list[int], list[int]]:
    """The places of the rows that remain: of equal rows the last ones."""
    found = []
    for mine, others in ((removed, added), (added, removed)):
        left, kept = Counter(others), []
        for place, key in enumerate(mine):
            left[key] -= 1
            if left[key] < 0:
                kept.append(place)
        found.append(kept)
    return found[0], found[1]


@given(sides, sides, st.sampled_from([1, 2, 3, 7, 100]), st.integers(0, 5))
@settings(max_examples=examples(300), deadline=None)
def test_rows_cancel_one_for_one(
    tmp_path_factory: pytest.TempPathFactory, removed: list[list[int]], added: list[list[int]], chunk: int, more: int
) -> None:
    both = [[key for part in side for key in part] for side in (removed, added)]
    store = HashStore(len(both[0]) + len(both[1]) + more, tmp_path_factory.mktemp("hashes"), chunk)
    for side, parts in ((0, removed), (1, added)):
        for part in parts:
            store.add(side, np.array([KEYS[key] for key in part], np.uint64).reshape(-1, 2))
    store.close()
    marks = remaining(store)
    found = [marks[side].between(0, len(both[side])).tolist() for side in (0, 1)]
    assert found == list(naive(*both))


@given(st.sets(st.integers(0, 40)), st.integers(0, 41), st.integers(0, 41))
def test_marks(rows: set[int], begin: int, end: int) -> None:
    marks = RowMarks(41)
    for some in (sorted(rows)[::2], sorted(rows)[1::2]):
        marks.mark(np.array(some, np.int64))
    begin, end = min(begin, end), max(begin, end)
    assert marks.between(begin, end).tolist() == [row - begin for row in sorted(rows) if begin <= row < end]


def test_hashes_that_cannot_be_kept_are_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "0-0").mkdir()
    (tmp_path / "1-0").mkdir()
    store = HashStore(2, tmp_path, 1)
    with pytest.raises(StorageError):
        store.add(0, np.array([(0, 0), (1, 1)], np.uint64))
