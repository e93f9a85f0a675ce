"""Rows that lie side by side, which are read in a way of their own: the same rows as by any other way."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from indextables.split import rows as rows_module
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


def test_a_run_over_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "_FILE_BYTES", 1 << 17)
    flat = table().drop_columns(["list", "bytes"])
    key, sealed = make(tmp_path, flat)
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
