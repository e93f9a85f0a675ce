"""Rows that lie side by side, which are read in a way of their own: the same rows as by any other way."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from split.bundle_support import make, open_rows

COUNT = 30_000
"""More than Vortex keeps in one chunk."""


def table() -> pa.Table:
    numbers = range(COUNT)
    return pa.table(
        {
            "n": pa.array(numbers, pa.int64()),
            "small": pa.array([None if n % 7 == 0 else n % 100 for n in numbers], pa.int8()),
            "text": pa.array([None if n % 5 == 0 else f"text {n}" * (n % 4) for n in numbers], pa.string()),
            "real": pa.array([n / 7 for n in numbers], pa.float64()),
            "flag": pa.array([None if n % 11 == 0 else n % 2 == 0 for n in numbers], pa.bool_()),
            "at": pa.array([n * 1_000_003 for n in numbers], pa.timestamp("us", "UTC")),
            "day": pa.array([n % 20_000 for n in numbers], pa.date32()),
            "list": pa.array([[n] * (n % 3) for n in numbers], pa.list_(pa.field("element", pa.int64()))),
            "bytes": pa.array([b"x" * (n % 9) for n in numbers], pa.binary()),
        }
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, Any, pa.Table]:
    folder, rows = tmp_path_factory.mktemp("runs"), table()
    return folder, *make(folder, rows), rows


RUNS = [(0, 1), (COUNT - 1, COUNT), (8_191, 8_193), (8_192, 16_384), (100, 20_000), (0, COUNT), (17, 17)]


@pytest.mark.parametrize(
    "columns", [["n"], ["text", "small"], ["flag", "real", "at", "day", "text"], None, [], ["n", "n"]]
)
def test_a_run_is_read(columns: list[str] | None, written: tuple[Path, str, Any, pa.Table]) -> None:
    folder, key, sealed, expected = written
    rows = open_rows(folder, key, sealed)
    names = expected.schema.names if columns is None else columns
    for begin, end in RUNS:
        found = rows.take(np.arange(begin, end), names)
        assert found.num_rows == end - begin
        assert found.schema.names == names
        found.validate(full=True)
        for index, name in enumerate(names):
            assert (
                found.column(index).combine_chunks() == expected.column(name).slice(begin, end - begin).combine_chunks()
            )


def test_a_run_over_several_files(tmp_path: Path) -> None:
    flat = table().drop_columns(["list", "bytes"])
    key, sealed = make(tmp_path, flat, file_bytes=1 << 17)
    assert len(sealed.footer.parts) > 3
    rows = open_rows(tmp_path, key, sealed)
    for begin, end in RUNS:
        assert (
            rows.take(np.arange(begin, end), flat.schema.names).combine_chunks()
            == flat.slice(begin, end - begin).combine_chunks()
        )


def test_many_threads_share_a_prepared_scan(written: tuple[Path, str, Any, pa.Table]) -> None:
    folder, key, sealed, _ = written
    rows = open_rows(folder, key, sealed)
    wrong: list[Any] = []

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        for _ in range(30):
            begin = int(generator.integers(0, COUNT - 100))
            run = np.arange(begin, begin + int(generator.integers(1, 100)))
            if rows.take(run, ["n", "text"]).column(0).to_pylist() != run.tolist():
                wrong.append(run)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_few_rows_are_those_of_the_table(written: tuple[Path, str, Any, pa.Table]) -> None:
    folder, key, sealed, expected = written
    rows = open_rows(folder, key, sealed)
    flat = [name for name in expected.schema.names if name not in {"list", "bytes"}]
    generator = np.random.default_rng(1)
    for names in (flat, ["text"], ["day", "n"], expected.schema.names):
        for count in range(1, 9):
            for _ in range(3):
                picked = np.sort(generator.choice(COUNT, count, replace=False))
                found = rows.take(picked, names)
                found.validate(full=True)
                assert found.combine_chunks() == expected.select(names).take(pa.array(picked)).combine_chunks()


def test_a_single_row_keeps_every_bit(tmp_path: Path) -> None:
    bits = [0x7FF8000000000001, 0xFFF8000000000000 - 2**64, 0x7FF0000000000000, -(2**63), 1, 0x7FEFFFFFFFFFFFFF]
    values = pa.array(bits * 10, pa.int64()).view(pa.float64())
    key, sealed = make(tmp_path, pa.table({"x": values, "text": ["\0 ä 𝄞"] * 60, "n": [2**63 - 1] * 60}))
    rows = open_rows(tmp_path, key, sealed)
    for row in range(60):
        found = rows.take(np.array([row]), ["x", "text", "n"])
        assert found.column("x").combine_chunks().view(pa.int64()).to_pylist() == [bits[row % 6]]
        assert found.column("text").to_pylist() == ["\0 ä 𝄞"]
        assert found.column("n").to_pylist() == [2**63 - 1]


def test_a_few_rows_far_away_are_read_at_once(tmp_path: Path) -> None:
    """From a store that is no local disk each read takes its time, so rows are not asked for one by one."""
    flat = table().drop_columns(["list", "bytes"])
    key, sealed = make(tmp_path, flat)
    rows = open_rows(tmp_path, key, sealed)
    rows._near = False
    picked = np.array([5, 9_000, 20_000])
    assert rows.take(picked, flat.schema.names).combine_chunks() == flat.take(pa.array(picked)).combine_chunks()
    assert not rows.selection(flat.schema.names).scans


def test_a_few_rows_of_columns_with_odd_names(tmp_path: Path) -> None:
    names = [
        "driver's",
        'say "hi"',
        "back\\slash",
        "a\tb",
        "line\nend",
        "\ufefffirst",
        "wide\u00a0space",
        "\u200bnone",
        "plain",
    ]
    table = pa.table({name: pa.array([100 * n + row for row in range(20)]) for n, name in enumerate(names)})
    rows = open_rows(tmp_path, *make(tmp_path, table))
    for order in (names, names[::-1]):
        assert rows.take([3, 11], order).to_pydict() == table.select(order).take([3, 11]).to_pydict()
        assert rows.values([3, 11], order) == table.select(order).take([3, 11]).to_pylist()
