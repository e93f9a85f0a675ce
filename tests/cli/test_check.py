"""fsck, verify and repair: what they print, and how they end."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cli.support import ok, run
from indextables.cli.errors import CONFLICT, NOT_FOUND, NOTHING_FOUND, OK, USAGE

LOG = "_transaction_log"


@pytest.fixture
def copy(logs: Path, tmp_path: Path) -> Path:
    """The table of all tests, to be damaged."""
    shutil.copytree(logs, tmp_path / "logs")
    return tmp_path / "logs"


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def test_a_table_that_is_whole(logs: Path) -> None:
    assert ok("fsck", logs, "--json").rows == []
    assert ok("fsck", logs).cells == [["severity", "kind", "path", "message"]]
    assert ok("verify", logs, "--no-header").out == ""


def test_a_damaged_file(copy: Path) -> None:
    split = next((copy / "splits").iterdir())
    flip(split)
    for command in ("fsck", "verify"):
        result = run(command, copy, "--json")
        assert result.code == NOTHING_FOUND
        (row,) = result.rows
        assert (row["severity"], row["kind"]) == ("error", "split_damaged")
        assert row["path"] == f"splits/{split.name}"
    shown = run("fsck", copy, terminal=True, NO_COLOR="1")
    assert shown.code == NOTHING_FOUND
    assert "split_damaged" in shown.out
    assert "1 finding" in shown.err


def test_a_warning_is_no_failure(copy: Path) -> None:
    (copy / "splits" / "split-nobody.split").write_bytes(b"x")
    result = run("fsck", copy, "--json")
    assert (result.code, [row["kind"] for row in result.rows]) == (OK, ["split_orphaned"])
    assert ok("verify", copy, "--json").rows == []


def test_a_table_that_cannot_be_opened(copy: Path) -> None:
    flip(copy / LOG / f"{1:020d}.json")
    assert run("count", copy).code not in (OK, NOTHING_FOUND)
    result = run("fsck", copy, "--json")
    assert result.code == NOTHING_FOUND
    assert ("version_damaged", f"{LOG}/{1:020d}.json") in [(row["kind"], row["path"]) for row in result.rows]


def test_repair_in_place(copy: Path) -> None:
    ok("checkpoint", copy)
    flip(next((copy / LOG).glob("state-v*")) / "_manifest.avro")
    assert run("fsck", copy).code == NOTHING_FOUND
    repaired = run("fsck", copy, "--repair", "--json")
    assert repaired.code == OK
    assert any(row["message"].startswith("repaired, ") for row in repaired.rows)
    assert run("fsck", copy).code == OK
    assert ok("count", copy).out == "500\n"


def test_a_new_log(copy: Path) -> None:
    flip(copy / LOG / f"{2:020d}.json")
    answer = ok("repair", copy, "--json").json
    assert list(answer) == [
        *(
            "source_path",
            "target_path",
            "source_version",
            "total_splits",
            "valid_splits",
            "missing_splits",
            "status",
            "message",
        )
    ]
    assert answer["status"] == "partial"
    subprocess.run(answer["message"].partition("run: ")[2], shell=True, check=True)
    assert ok("count", copy).out == "500\n"
    assert ok("count", copy, "-q", "timeout").out == "100\n"
    assert run("fsck", copy).code == OK


def test_a_new_log_elsewhere(copy: Path, tmp_path: Path) -> None:
    told = ok("repair", copy / LOG, "--to", tmp_path / "new", "--output", "table")
    assert told.out == f"{tmp_path / 'new'} is the new log, with 2 of 2 files\n"
    assert "warning: 2 splits are in the new log. While nobody reads or writes the table, run: if test -e " in told.err
    assert (tmp_path / "new" / f"{0:020d}.json").exists()
    assert run("repair", copy, "--to", tmp_path / "new").code == CONFLICT
    assert run("repair", copy, "--to", copy / LOG).code == USAGE


def test_nothing_to_check_or_repair(tmp_path: Path) -> None:
    for command in ("fsck", "verify", "repair"):
        assert run(command, tmp_path / "none").code == NOT_FOUND
