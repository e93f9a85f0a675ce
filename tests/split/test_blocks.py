"""Rows that are read one by one out of pieces that are kept: the same rows, whether a piece lies ready or not."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import SplitError
from indextables.split.rows import block_cache
from indextables.split.rows import row_reader as rows_module
from indextables.split.rows.block_cache import BLOCK_ROWS, Blocks
from indextables.split.rows.row_reader import Rows
from split.bundle_support import make, open_rows

COUNT = 11 * BLOCK_ROWS + 17
"""More blocks than are read for a few rows, and one that is not full."""
EDGES = [edge + by for edge in range(0, COUNT, BLOCK_ROWS) for by in (-1, 0, 1) if edge + by >= 0] + [COUNT - 1]


def table() -> pa.Table:
    numbers = np.arange(COUNT)
    return pa.table(
        {
            "n": pa.array(numbers, pa.int64()),
            "few": pa.array(numbers % 5, pa.int8(), mask=numbers % 7 == 0),
            "text": pa.array([f"text {n % 1000}" for n in range(COUNT)], pa.string(), mask=numbers % 3 == 0),
            "real": pa.array(numbers / 7, pa.float64()),
            "at": pa.array(numbers * 1_000_003, pa.timestamp("us", "UTC")),
        }
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, Any, pa.Table]:
    folder, rows = tmp_path_factory.mktemp("blocks"), table()
    return folder, *make(folder, rows), rows


@pytest.fixture
def kept() -> Iterator[Blocks]:
    with keeping(Blocks()) as fresh:
        yield fresh


@contextmanager
def keeping(blocks: Blocks) -> Iterator[Blocks]:
    """While entered, this process keeps its blocks there."""
    before, block_cache.BLOCKS.value = block_cache.BLOCKS.value, blocks
    try:
        yield blocks
    finally:
        block_cache.BLOCKS.value = before


@given(
    questions=st.lists(
        st.tuples(
            st.sets(st.integers(0, COUNT - 1) | st.sampled_from(EDGES), min_size=1, max_size=60),
            st.sampled_from([("n",), ("text", "few"), ("at", "real", "text", "n", "few")]),
        ),
        min_size=1,
        max_size=6,
    ),
    room=st.sampled_from([0, 200_000, 1 << 27]),
)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_are_those_of_the_table(
    questions: list[tuple[set[int], tuple[str, ...]]],
    room: int,
    written: tuple[Path, str, Any, pa.Table],
) -> None:
    folder, key, sealed, expected = written
    rows = open_rows(folder, key, sealed)
    with keeping(Blocks(most_bytes=room)):
        check_questions(rows, questions, expected)


def check_questions(rows: Rows, questions: list[tuple[set[int], tuple[str, ...]]], expected: pa.Table) -> None:
    for picked, names in questions:
        numbers = np.array(sorted(picked))
        wanted = expected.select(names).take(pa.array(numbers)).combine_chunks()
        found = rows.take(numbers, names)
        found.validate(full=True)
        assert found.combine_chunks() == wanted
        values = rows.values(numbers, names)
        if values is not None:
            stored = rows.selection(names)
            assert stored.restored(stored.columns(values), len(values)).to_pylist() == wanted.to_pylist()


def test_a_second_question_reads_nothing(written: tuple[Path, str, Any, pa.Table], kept: Blocks) -> None:
    folder, key, sealed, _ = written
    rows = open_rows(folder, key, sealed)
    picked = np.array([3, 4, BLOCK_ROWS, COUNT - 1])
    first = rows.values(picked, ["n", "text"])
    assert len(kept) == 3
    rows.selection(["n", "text"]).scans[0] = SimpleNamespace()  # whoever asks it is told that it is none
    assert rows.values(picked, ["n", "text"]) == first
    with pytest.raises(SplitError, match="no attribute 'execute'"):
        rows.values([5 * BLOCK_ROWS], ["n", "text"])
    again = open_rows(folder, key, sealed)
    assert again.values(picked, ["n", "text"]) == first
    assert len(kept) == 3
    assert again.values(picked, ["n"]) == [{"n": int(row)} for row in picked]
    assert len(kept) == 6, "other columns are other pieces"


def test_many_places_are_taken_at_once_unless_they_lie_ready(
    written: tuple[Path, str, Any, pa.Table], kept: Blocks
) -> None:
    folder, key, sealed, _ = written
    rows = open_rows(folder, key, sealed)
    everywhere = np.arange(0, COUNT, BLOCK_ROWS)
    assert len(everywhere) > rows_module._FEW_BLOCKS
    assert rows.values(everywhere, ["n"]) is None
    assert len(kept) == 0
    assert rows.values(everywhere[:3], ["n"]) is not None
    assert rows.values(everywhere[3:6], ["n"]) is not None
    assert rows.values(everywhere[6:9], ["n"]) is not None
    assert rows.values(everywhere, ["n"]) == [{"n": int(row)} for row in everywhere]
    assert rows.values(np.arange(0, 2 * (rows_module._FEW_ROWS + 1), 2), ["n"]) is None


def test_blocks_are_kept_when_they_are_asked_for_again(written: tuple[Path, str, Any, pa.Table], kept: Blocks) -> None:
    """To take some rows takes half the time of reading their blocks, which is worth the time for rows that are met again."""
    folder, key, sealed, expected = written
    rows = open_rows(folder, key, sealed)
    some, names = np.arange(0, COUNT, BLOCK_ROWS)[:5], ["n", "text"]
    wanted = expected.select(names).take(pa.array(some)).combine_chunks()
    assert rows.values(some, names) is None
    assert rows.values(some, names) is None, "whoever cannot have single values takes the rows, and only that counts"
    assert rows.take(some, names).combine_chunks() == wanted
    assert len(kept) == 0
    assert rows.values(some + 7, ["n"]) is None, "other columns are other blocks"
    assert rows.values(some + 7, names) is not None, "other rows of the same blocks"
    assert len(kept) == 5
    assert rows.take(some, names).combine_chunks() == wanted


def test_many_blocks_that_are_asked_for_again_are_taken(written: tuple[Path, str, Any, pa.Table], kept: Blocks) -> None:
    folder, key, sealed, _ = written
    rows = open_rows(folder, key, sealed)
    everywhere = np.arange(0, COUNT, BLOCK_ROWS)
    for _ in range(3):
        assert rows.take(everywhere, ["n"]).column(0).to_pylist() == everywhere.tolist()
    assert len(kept) == 0


def test_splits_of_the_same_place_are_told_apart(tmp_path: Path, kept: Blocks) -> None:
    for number in range(3):
        key, sealed = make(tmp_path, pa.table({"n": [number * 10, number * 10 + 1]}))
        (tmp_path / key).rename(tmp_path / "same.split")
        assert open_rows(tmp_path, "same.split", sealed).values([1], ["n"]) == [{"n": number * 10 + 1}]
    assert len(kept) == 3


def test_many_threads(written: tuple[Path, str, Any, pa.Table]) -> None:
    folder, key, sealed, _ = written
    rows = open_rows(folder, key, sealed)

    def work(seed: int) -> list[bool]:
        generator = np.random.default_rng(seed)
        questions = [np.sort(generator.choice(COUNT, 5, replace=False)) for _ in range(40)]
        return [rows.take(picked, ["text", "n"]).column("n").to_pylist() == picked.tolist() for picked in questions]

    with keeping(Blocks(most_bytes=300_000)), ThreadPoolExecutor(6) as pool:
        assert all(right for each in pool.map(work, range(6)) for right in each)


def test_no_more_is_kept_than_fits() -> None:
    kept = Blocks(most_bytes=100, largest=60)
    for mark in range(5):
        kept.put(mark, SimpleNamespace(nbytes=40))
        kept.put(mark, SimpleNamespace(nbytes=40))
        kept.get(0)
    assert [mark for mark in range(5) if kept.get(mark) is not None] == [0, 4]
    kept.put("large", SimpleNamespace(nbytes=61))
    assert kept.get("large") is None
    assert len(kept) == 2
