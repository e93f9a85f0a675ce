"""restore, truncate-time-travel, drop-partitions and clone, as they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.support import ok, run
from indextables import Table
from indextables.cli.errors import NOT_FOUND, OK, USAGE


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """A table with two partitions, the second one from version 2 on."""
    (tmp_path / "a.csv").write_text("id,day\n1,mon\n2,mon\n")
    (tmp_path / "b.csv").write_text("id,day\n3,tue\n")
    ok("import", tmp_path / "days", tmp_path / "a.csv", "--partition-by", "day")
    ok("import", tmp_path / "days", tmp_path / "b.csv")
    return tmp_path / "days"


def test_restore(days: Path) -> None:
    found = ok("restore", days, "--version", 1, "--json").json
    assert (found["status"], found["version"], found["restored_version"], found["files_removed"]) == (
        "success",
        3,
        1,
        1,
    )
    assert ok("count", days).out == "2\n"
    again = ok("restore", days, "--version", 1)
    assert "the files of version 1 are live already" in again.out + again.err
    assert ok("restore", days, "--timestamp", "2100-01-01", "--json").json["status"] == "no_action"


@pytest.mark.parametrize("arguments", [(), ("--version", 1, "--timestamp", "2100-01-01")])
def test_restore_needs_one_place_to_go_back_to(days: Path, arguments: tuple[object, ...]) -> None:
    result = run("restore", days, *arguments)
    assert (result.code, "--version or --timestamp" in result.err) == (USAGE, True)


def test_a_version_that_is_not_there(days: Path) -> None:
    assert run("restore", days, "--version", 9).code == NOT_FOUND


def test_truncate_time_travel(days: Path) -> None:
    preview = ok("truncate-time-travel", days, "--dry-run", "--json").json
    assert (preview["status"], preview["checkpoint_version"], Table.open(days).version) == ("dry_run", 3, 2)
    done = ok("truncate-time-travel", days, "--json").json
    assert (done["status"], done["checkpoint_version"], done["files_preserved"]) == ("success", 3, 2)
    gone = run("count", days, "--version", 1)
    assert (gone.code, "the oldest is 3" in gone.err) == (NOT_FOUND, True)


def test_drop_partitions(days: Path) -> None:
    found = ok("drop-partitions", days, "--where", "day = 'mon'", "--json").json
    assert (found["status"], found["partitions_dropped"], found["splits_removed"]) == ("success", 1, 1)
    assert ok("count", days).out == "1\n"
    assert run("drop-partitions", days).code == USAGE
    assert run("drop-partitions", days, "--where", "id = 3").code == USAGE


def test_clone(days: Path, tmp_path: Path) -> None:
    found = ok("clone", days, tmp_path / "copy", "--version", 1, "--json").json
    copy = Table.open(tmp_path / "copy")
    assert (found["version"], found["source_version"], found["files"], copy.count()) == (1, 1, 1, 2)
    assert (found["table_path"], found["source_path"]) == (copy.url, str(days))
    assert copy.id != Table.open(days).id
    earlier = ok("clone", days, tmp_path / "other", "--timestamp", "2100-01-01", "-o", "table").out
    size = sum(Table.open(tmp_path / "other").files().column("size").to_pylist())
    assert earlier == f"{days}, version 2, copied to {tmp_path / 'other'}: 2 files, {size:,} bytes\n"
    assert run("clone", days, tmp_path / "copy").code != OK
    assert run("clone", days).code == USAGE
