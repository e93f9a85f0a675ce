"""Verbs that take long say how far they are, and Ctrl-C leaves the table as it was: merge, clone, purge, prewarm, repair."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.support import Result, log_rows, ok, run, write_csv
from cli.test_stop import stopped_at
from indextables import Table
from indextables.cli.errors import OK, TERMINATED
from indextables.cli.render import progress

ROWS = 80


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table by host, of four commits and 16 files."""
    place = tmp_path_factory.mktemp("long")
    rows = log_rows(ROWS)
    for number in range(4):
        path = write_csv(place / "a.csv", rows[number * 20 : number * 20 + 20])
        ok("import", place / "logs", path, *(("--partition-by", "host") if number == 0 else ()))
    return place / "logs"


@pytest.fixture
def logs(template: Path, tmp_path: Path) -> Path:
    """The same table for one test."""
    shutil.copytree(template, tmp_path / "logs")
    return tmp_path / "logs"


@pytest.fixture
def every_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each report of progress is a line."""
    monkeypatch.setattr(progress, "_LINE_EVERY", 0)


def orphans(table: Path, count: int) -> list[Path]:
    """Data files that no version names, a month old."""
    (table / "splits").mkdir(exist_ok=True)
    old = time.time() - 30 * 86400
    paths = [table / "splits" / f"split-{number}.split" for number in range(count)]
    for path in paths:
        path.write_bytes(b"nobody names it")
        os.utime(path, (old, old))
    return paths


def counts(result: Result, pattern: str) -> list[int]:
    """The numbers of progress lines."""
    return [int(number.replace(",", "")) for number in re.findall(pattern, result.err)]


@pytest.mark.usefixtures("every_line")
@pytest.mark.parametrize(
    ("command", "lines", "most"),
    [
        (("merge", "{logs}"), r"merging: ([\d,]+) of 80 rows", ROWS),
        (("clone", "{logs}", "{logs}-copy"), r"copying: ([\d,]+) of 80 rows", ROWS),
        (("prewarm", "{logs}"), r"prewarming: ([\d,]+) of 16 files", 16),
        (("repair", "{logs}"), r"repairing: ([\d,]+) objects looked at", 16),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_progress_moves(logs: Path, tmp_path: Path, command: tuple[str, ...], lines: str, most: int) -> None:
    cache = ("--option", f"cache.disk.directory={tmp_path / 'cache'}")
    told = counts(ok(*(word.format(logs=logs) for word in command), *cache), lines)
    assert told == sorted(told)
    assert len(set(told)) > 2
    assert told[-1] == most


@pytest.mark.usefixtures("every_line")
def test_a_purge_counts_what_it_lists_and_what_it_deletes(logs: Path) -> None:
    orphans(logs, 1200)
    result = ok("purge", logs)
    assert counts(result, r"purging: ([\d,]+) objects looked at") == [1000]
    assert counts(result, r"purging: ([\d,]+) of 1,200 files")[-1] == 1200
    assert "1,200 of 1,200 files, 100%" in result.err


def test_a_bar_on_a_terminal_is_gone_before_a_warning(logs: Path) -> None:
    lines = run("repair", logs, terminal=True).err.split("\n")
    warned = [line for line in lines if "warning: 16 splits are in the new log" in line]
    assert len(warned) == 1
    assert "repairing" in "".join(lines)
    assert "repairing" not in warned[0].rpartition("\x1b[2K")[2], "the warning has a line of its own"


def each_stop(monkeypatch: pytest.MonkeyPatch, *command: object) -> Iterator[Result]:
    """The results of a command that is stopped wherever it asks, until it is not stopped any more. There are some."""
    stops = 0
    for place in (1, 2, 3, 4, 6, 9, 14, 20, 1000):
        result = stopped_at(place, monkeypatch, *command)
        if result.code == OK:
            break
        stops += 1
        assert (result.code, result.out) == (TERMINATED, ""), place
        yield result
    assert result.code == OK
    assert stops > 1


def test_a_merge_that_is_stopped(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sorted(Table.open(logs).scan().read_all().column("message").to_pylist())
    for result in each_stop(monkeypatch, "merge", logs):
        assert result.err == "error: terminated: what was merged and committed before stays, and no row changed\n"
        table = Table.open(logs)
        assert sorted(table.scan().read_all().column("message").to_pylist()) == before
        live = {logs / path for path in table.files().column("path").to_pylist()}
        if table.version == 4:
            assert {*logs.rglob("*.split")} == live, "what was built and not committed is gone"
    assert ok("count", logs).out == f"{ROWS}\n"
    assert Table.open(logs).files().num_rows == 4


def test_a_clone_that_is_stopped(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = logs.parent / "copy"
    for result in each_stop(monkeypatch, "clone", logs, copy):
        assert result.err == "error: terminated: there is no table at the new place\n"
        assert not list(copy.rglob("*.split"))
        assert not list(copy.rglob("*.json"))
    assert ok("count", copy).out == f"{ROWS}\n"


def test_a_purge_that_is_stopped(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = orphans(logs, 2500)
    live = {path for path in logs.rglob("*.split") if path not in paths}
    for result in each_stop(monkeypatch, "purge", logs, "--option", "purge.parallelism=1"):
        assert result.err == "error: terminated: what was deleted before stays deleted, and no row changed\n"
        assert live <= {*logs.rglob("*.split")}
        assert ok("count", logs).out == f"{ROWS}\n"
    assert {*logs.rglob("*.split")} == live


def test_a_repair_that_is_stopped(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = {path: path.read_bytes() for path in logs.rglob("*") if path.is_file()}
    new = logs.parent / "new-log"
    for result in each_stop(monkeypatch, "repair", logs, "--to", new):
        assert result.err == "error: terminated: the table is as it was, and a new log may be incomplete\n"
        assert {path: path.read_bytes() for path in logs.rglob("*") if path.is_file()} == old
    assert {path: path.read_bytes() for path in logs.rglob("*") if path.is_file()} == old
    assert list(new.glob("*.json"))


def test_a_prewarm_that_is_stopped_and_done_again(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ("--option", f"cache.disk.directory={logs.parent / 'cache'}")
    for result in each_stop(monkeypatch, "prewarm", logs, *cache):
        assert result.err == "error: terminated: what was fetched stays\n"
    assert ok("prewarm", logs, *cache, "-o", "table").out == "0 indexes fetched, 16 were there already\n"
