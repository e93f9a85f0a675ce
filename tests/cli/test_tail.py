"""`indextables tail`: the last rows, and new ones as commits add them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from cli.support import log_rows, ok, program, run, write_csv
from indextables import Table
from indextables.cli.errors import NOT_FOUND, NOTHING_FOUND, OK, USAGE
from indextables.cli.stop import STOP, Stop


def test_the_last_rows(logs: Path) -> None:
    expected = [row[0] for row in log_rows(500)]
    assert [row["ts"] for row in ok("tail", logs, "--json").rows] == expected[-10:]
    few = ok("tail", logs, "-n", 2, "-c", "ts,host", "--no-header").cells
    assert [cells[0] for cells in few] == expected[-2:]
    found = ok("tail", logs, "-q", "refused", "-w", "ms > 900", "-n", 3, "--json").rows
    model = [row for row in log_rows(500) if "refused" in row[-1] and int(row[5]) > 900]
    assert [row["ts"] for row in found] == [row[0] for row in model[-3:]]
    assert run("tail", logs, "-q", "zebra").code == NOTHING_FOUND
    assert run("tail", f"{logs}-not").code == NOT_FOUND
    assert run("tail", logs, "-f", "--interval", 0).code == USAGE
    assert "2026-03-01" in run("tail", logs, "-n", 1, terminal=True).out


@pytest.mark.parametrize("output", ["json", "tsv", "table"])
def test_new_rows_as_they_come(t: str, waiting_is: Callable[..., None], output: str) -> None:
    """Commits between two looks, a merge among them; Ctrl-C is a usual end, with no word about it."""
    table = Table.create(t, "n long, m string")
    table.append(pa.table({"n": [1, 2], "m": ["a", "b"]}))
    steps = iter(
        (
            lambda: table.append(pa.table({"n": [3], "m": ["c"]})),
            lambda: None,
            lambda: table.merge_splits(),
            lambda: (
                table.append(pa.table({"n": [4], "m": ["long " * 50]})),
                table.append(pa.table({"n": [5], "m": ["e"]})),
            ),
            lambda: STOP.ask(signal.SIGINT),
        )
    )

    def wait(stop: Stop, _: float) -> None:
        next(steps)()
        stop.check()

    waiting_is(wait)
    result = run("tail", t, "-n", 1, "--follow", "-o", output)
    assert (result.code, result.err) == (OK, "")
    if output == "json":
        assert [row["n"] for row in result.rows] == [2, 3, 4, 5]
    elif output == "tsv":
        assert [cells[0] for cells in result.cells] == ["n", "2", "3", "4", "5"]
    else:
        lines = result.out.splitlines()
        assert [line.split()[0] for line in lines] == ["n", "2", "3", "4", "5"]
        assert max(map(len, lines)) <= 100


@pytest.mark.slow
def test_a_real_program_that_follows(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", log_rows(30))
    ok("import", tmp_path / "t", path)
    process = program("tail", tmp_path / "t", "-n", 1, "-f", "--interval", 0.1, "--json", stdin=subprocess.DEVNULL)
    assert process.stdout is not None
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    first = json.loads(process.stdout.readline())
    ok("import", tmp_path / "t", write_csv(tmp_path / "b.csv", log_rows(2, seed=7)))
    second, third = (json.loads(process.stdout.readline()) for _ in range(2))
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    watchdog.cancel()
    assert [first["ts"], second["ts"], third["ts"]] == [log_rows(30)[-1][0], *(row[0] for row in log_rows(2, seed=7))]
    assert (process.returncode, out, err) == (OK, b"", b"")


def test_waiting_ends_when_somebody_asks() -> None:
    stop = Stop()
    threading.Timer(0.2, stop.ask, [signal.SIGINT]).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        stop.wait(30)
    assert time.monotonic() - began < 10
