"""Merges that follow writes of this process: few splits are left, no row is lost, and no write fails because of a merge."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import StoreUnavailable
from indextables.table.maintain import merge_on_write

SCHEMA = pa.schema([("id", pa.int64()), ("message", pa.string())])
WAITING = {"mergeOnWrite.enabled": "true", "mergeOnWrite.async.enabled": "false", "mergeOnWrite.minSplits": "4"}
BESIDE = {"mergeOnWrite.enabled": "true", "mergeOnWrite.minSplits": "4"}


def rows(number: int, count: int = 5) -> pa.Table:
    numbers = range(number * count, (number + 1) * count)
    return pa.table([list(numbers), [f"disk {each} is full" for each in numbers]], SCHEMA)


def made(where: Path, options: dict[str, str]) -> Table:
    return Table.create(where, SCHEMA, options={"indexing.typemap.message": "text", **options})


def check(where: Path, appends: int) -> int:
    """Every row is there once, and found. Returns the number of splits."""
    table = Table.open(where)
    assert sorted(table.scan(columns=["id"]).read_all()["id"].to_pylist()) == list(range(5 * appends))
    assert table.count(query="disk") == 5 * appends
    assert table.count(query=f'"disk {5 * appends - 1}"') == 1
    return table.files().num_rows


def wait_for_merges() -> None:
    for thread in threading.enumerate():
        if thread.name == "indextables-merge-on-write":
            thread.join(60)
            assert not thread.is_alive()


def operations(where: Path) -> list[str]:
    return Table.open(where).history()["operation"].to_pylist()


def test_is_off_by_default(tmp_path: Path) -> None:
    table = made(tmp_path / "t", {})
    for number in range(12):
        table.append(rows(number))
    assert check(tmp_path / "t", 12) == 12


def test_many_small_appends_leave_few_splits(tmp_path: Path) -> None:
    table = made(tmp_path / "t", WAITING)
    for number in range(70):
        table.append(rows(number))
    assert check(tmp_path / "t", 70) <= 3 * 4, "at most three splits are left of each size, and a few that came since"
    merges = operations(tmp_path / "t").count("MERGE SPLITS")
    assert 10 <= merges <= 20
    assert max(Table.open(tmp_path / "t").files()["numMergeOps"].to_pylist()) <= 4, (
        "a split has grown fourfold each time"
    )


def test_merges_run_beside_appends(tmp_path: Path) -> None:
    table = made(tmp_path / "t", BESIDE)
    for number in range(40):
        table.append(rows(number))
    wait_for_merges()
    assert check(tmp_path / "t", 40) < 30
    assert "MERGE SPLITS" in operations(tmp_path / "t")


def test_overwrites_are_followed_too(tmp_path: Path) -> None:
    table = made(tmp_path / "t", WAITING | {"mergeOnWrite.minSplits": "2"})
    table.append(rows(0))
    table.overwrite(rows(0))
    table.append(rows(1))
    table.append(rows(2))
    assert check(tmp_path / "t", 3) < 3


def test_one_merge_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path / "t", BESIDE | {"mergeOnWrite.minSplits": "2"})
    go_on, begun = threading.Event(), []

    def slow(handle: Any) -> list[Any]:
        begun.append(handle.version)
        go_on.wait(60)
        return []

    monkeypatch.setattr(merge_on_write, "groups_of_like_size", slow)
    try:
        for number in range(10):
            table.append(rows(number))
    finally:
        go_on.set()
    wait_for_merges()
    assert len(begun) == 1
    table.append(rows(10))
    table.append(rows(11))
    wait_for_merges()
    assert len(begun) == 2, "the next one begins once the first has ended"


@pytest.mark.parametrize("options", [WAITING, BESIDE])
def test_a_merge_that_fails_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, options: dict[str, str]
) -> None:
    def fail(*_: Any) -> None:
        raise StoreUnavailable("the store does not answer")

    monkeypatch.setattr(merge_on_write.Merge, "build", fail)
    table = made(tmp_path / "t", options)
    with caplog.at_level(logging.WARNING, "indextables"):
        for number in range(9):
            assert table.append(rows(number)).written
        wait_for_merges()
    assert "failed: the store does not answer" in caplog.text
    assert check(tmp_path / "t", 9) == 9


def test_a_program_that_ends_waits_for_its_merge(tmp_path: Path) -> None:
    code = f"""
import pyarrow as pa
from indextables import Table
schema = pa.schema([("id", pa.int64()), ("message", pa.string())])
table = Table.create({str(tmp_path / "t")!r}, schema, options={{**{BESIDE!r}, "indexing.typemap.message": "text"}})
for number in range(4):
    ids = list(range(number * 5, number * 5 + 5))
    table.append(pa.table([ids, [f"disk {{each}} is full" for each in ids]], schema))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert check(tmp_path / "t", 4) == 1
