"""Verbs that take long say how far they are, or that they are at it, and Ctrl-C leaves the table as it was."""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.support import Result, log_rows, ok, run, write_csv
from cli.test_stop import stopped_at
from indextables import Table
from indextables.cli.errors import OK, TERMINATED
from indextables.cli.render import progress
from indextables.storage.local import LocalStore

ROWS = 80
LOG_OBJECTS = 5
"""What the log of `template` holds: version 0 with the schema, and four commits."""


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


@pytest.fixture
def lines_come_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that reports nothing has a line every 20 milliseconds."""
    for seconds, value in {"_LINE_EVERY": 0.02, "_LOOKED_EVERY": 0.01}.items():
        monkeypatch.setattr(progress, seconds, value)


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
        (("repair", "{logs}"), r"repairing: ([\d,]+) objects looked at", LOG_OBJECTS + 16),
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
    assert counts(result, r"purging: ([\d,]+) objects looked at") == [1000 + read for read in range(LOG_OBJECTS + 1)]
    assert counts(result, r"purging: ([\d,]+) of 1,200 files")[-1] == 1200
    assert "1,200 of 1,200 files, 100%" in result.err


@pytest.mark.usefixtures("every_line")
def test_a_check_counts_the_log_before_the_rows(logs: Path) -> None:
    lines = ok("fsck", logs).err.splitlines()
    assert lines[0] == f"checking: {LOG_OBJECTS} objects looked at"
    assert lines[-1].startswith(f"checking: {ROWS} of {ROWS} rows")


@pytest.mark.parametrize(
    ("command", "label"),
    [
        (("checkpoint", "{logs}"), "summing up the log"),
        (("restore", "{logs}", "--version", "1"), "restoring"),
        (("truncate-time-travel", "{logs}"), "giving up old versions"),
        (("drop-partitions", "{logs}", "--where", "host = 'node-1'"), "dropping partitions"),
        (("drop", "{logs}", "--yes"), "dropping"),
        (("purge", "{logs}"), "purging"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
@pytest.mark.usefixtures("lines_come_soon")
def test_a_verb_that_reports_nothing_for_long(
    logs: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], label: str
) -> None:
    line = re.compile(rf"^{label}: .*\b\d+ s$", re.MULTILINE)
    slow(monkeypatch, lambda: line.search(sys.stderr.text) is not None)
    result = ok(*(word.format(logs=logs) for word in command))
    assert line.search(result.err)
    assert all(said.startswith(f"{label}: ") for said in result.err.splitlines())
    assert not [thread for thread in threading.enumerate() if thread.name == "indextables-progress"]


def test_a_verb_that_reports_nothing_for_long_on_a_terminal(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow(monkeypatch, lambda: "summing up the log" in sys.stderr.text)
    assert "summing up the log" in run("checkpoint", logs, terminal=True).err


@pytest.mark.usefixtures("lines_come_soon")
def test_programs_that_read_json_get_no_lines(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow(monkeypatch, lambda: True, seconds=0.1)
    assert ok("checkpoint", logs, "--json").err == ""


def slow(monkeypatch: pytest.MonkeyPatch, said: Callable[[], bool], seconds: float = 0.0) -> None:
    """The first time that a verb lists objects it waits for what the command says, at most half a minute."""
    waited: list[bool] = []
    real = LocalStore.list

    def listing(store: LocalStore, *arguments: Any, **named: Any) -> Any:
        at_it = any(frame.name in ("execute", "drop_table_at") for frame in traceback.extract_stack())
        if at_it and not waited:
            waited.append(True)
            time.sleep(seconds)
            until = time.monotonic() + 30
            while not said() and time.monotonic() < until:
                time.sleep(0.005)
        return real(store, *arguments, **named)

    monkeypatch.setattr(LocalStore, "list", listing)


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
