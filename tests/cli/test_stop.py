"""Ctrl-C, and other ways to ask a program to end: it ends, with its own exit code, and nothing stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.support import Result, log_rows, ok, program, run, write_csv
from indextables import Table
from indextables.cli import stop
from indextables.cli.errors import HUNG_UP, INTERRUPTED, OK, TERMINATED
from indextables.cli.stop import STOP, Stop, Stopped


def stopped_at(place: int, monkeypatch: pytest.MonkeyPatch, *arguments: object, **more: Any) -> Result:
    """Run a command line, with a signal just before it asks for the n-th time whether there was one."""
    asked = 0
    usual = Stop.check

    def check(self: Stop) -> None:
        nonlocal asked
        asked += 1
        if asked == place:
            self.ask(signal.SIGTERM)
        usual(self)

    with monkeypatch.context() as patch:
        patch.setattr(Stop, "check", check)
        patch.setattr(STOP, "signal", 0)
        return run(*arguments, **more)


@pytest.mark.parametrize("way", ["file", "pipe"])
def test_an_import_that_is_stopped_leaves_nothing(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch, blocks_of: Callable[[int], None], way: str
) -> None:
    """A new table, stopped wherever it can be: no table, no directory, no temporary file."""
    blocks_of(1 << 14)
    path = write_csv(tmp_path / "a.csv", log_rows(300))
    here = {*tmp_path.iterdir()}
    arguments = (path,) if way == "file" else ("-", "--format", "csv")
    for place in range(1, 100):
        table = tmp_path / "deep" / "t"
        result = stopped_at(
            place, monkeypatch, "import", table, *arguments, "--partition-by", "host", stdin=path.read_bytes()
        )
        assert not list(disk.iterdir()), place
        if result.code == OK:
            break
        assert (result.code, result.out) == (TERMINATED, ""), place
        assert result.err == "error: terminated: nothing was imported\n"
        assert {*tmp_path.iterdir()} == here, place
    assert 10 < place < 99
    assert Table.open(table).count() == 300


def test_a_table_that_is_there_stays_as_it_is(tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_csv(tmp_path / "a.csv", log_rows(20))
    ok("import", tmp_path / "t", path)
    files = {*(tmp_path / "t").rglob("*")}
    for place in range(1, 100):
        result = stopped_at(place, monkeypatch, "import", tmp_path / "t", path, "--json")
        assert not list(disk.iterdir())
        if result.code == OK:
            break
        assert result.error == {
            "type": "Stopped",
            "message": "terminated: nothing was imported",
            "exitCode": TERMINATED,
        }
        assert {*(tmp_path / "t").rglob("*")} == files, place
    assert place > 3
    assert Table.open(tmp_path / "t").count() == 40


def test_a_command_that_reads_says_that_it_was_interrupted(logs: Path, counting_is: Callable[..., None]) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    counting_is(interrupted)
    result = run("count", logs)
    assert (result.code, result.out, result.err) == (INTERRUPTED, "", "error: interrupted\n")
    assert run("count", logs, "--json").error["exitCode"] == INTERRUPTED


def test_what_a_signal_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(stop.time, "monotonic", lambda: now)
    reads, writes = Stop(), Stop()
    writes.patient = True
    assert not reads.overdue
    reads.check()
    for asked in (reads, writes):
        asked.ask(signal.SIGHUP)
        with pytest.raises(Stopped, match="hung up"):
            asked.check()
        assert (asked.code, asked.overdue) == (HUNG_UP, False)
    now += 0.9
    writes.ask(signal.SIGINT)
    assert (reads.overdue, writes.overdue) == (True, False)
    now += 0.2
    writes.ask(signal.SIGINT)
    assert (writes.overdue, writes.code) == (True, HUNG_UP)
    assert [reads.say(), reads.say()] == [True, False], "said once, by the command or by who leaves it behind"
    reads.begin()
    assert reads.say()


SLEEPS = """
import sys, time
from indextables.cli.stop import STOP, watched
def work():
    STOP.patient = sys.argv[1] == "writes"
    print("ready", flush=True)
    time.sleep(60)
sys.exit(watched(work, "{}, {}\\n".format))
"""


@pytest.mark.parametrize(("kind", "signals"), [("reads", 1), ("writes", 2)])
def test_work_that_does_not_end_is_left_behind(kind: str, signals: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SLEEPS, kind], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for number in range(signals):
            if number:
                time.sleep(1.1)
                assert process.poll() is None, "a command that changes something is waited for"
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (INTERRUPTED, "interrupted, 130\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "word", "rows"),
    [(signal.SIGINT, INTERRUPTED, "interrupted", 100), (signal.SIGTERM, TERMINATED, "terminated", 200_000)],
)
def test_a_real_signal(tmp_path: Path, number: int, code: int, word: str, rows: int) -> None:
    """To a program that waits for more rows: all that came were read, or not nearly."""
    (tmp_path / "disk").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "disk")}
    process = program("import", tmp_path / "t", "-", "-f", "jsonl", stdin=subprocess.PIPE, env=environment)
    assert process.stdin is not None
    process.stdin.write(b'{"n": 1, "message": "a b c"}\n' * rows)
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not list((tmp_path / "disk").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(60) == code, "with its input still open"
    out, err = process.communicate()
    assert (out, err.decode()) == (b"", f"error: {word}: nothing was imported\n")
    assert [path.name for path in tmp_path.rglob("*")] == ["disk"]
