"""`ls`, `partitions`, `prewarm`, `purge`, `optimize` and `drop`."""

from __future__ import annotations

import io
import os
import pty
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.support import log_rows, ok, run, write_csv
from cli.test_stop import stopped_at
from indextables import Table
from indextables.cli.errors import NOT_FOUND, OK, TERMINATED, USAGE
from indextables.cli.maintaining.upkeep_verbs import seconds_of
from indextables.cli.stop import Stop
from indextables.log.log_paths import version_key


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """A table by host, of eight commits."""
    rows = log_rows(80)
    for number in range(8):
        path = write_csv(tmp_path / "a.csv", rows[number * 10 : number * 10 + 10])
        ok("import", tmp_path / "home" / "days", path, *(("--partition-by", "host") if number == 0 else ()))
    return tmp_path / "home" / "days"


def test_tables_below_a_place(days: Path, logs: Path) -> None:
    Table.create(days.parent / "other", "n long")
    (days.parent / "deep" / "broken" / "_transaction_log").mkdir(parents=True)
    (days.parent / "deep" / "broken" / version_key(0)).write_bytes(b"{")
    first, broken, second = ok("ls", days.parent, "--json").rows
    assert (first["table"], first["version"], first["rows"], first["files"]) == ("days", 8, 80, 32)
    assert (first["partitionBy"], first["url"], first["error"]) == (["host"], str(days), None)
    assert first["bytes"] == sum(path.stat().st_size for path in days.rglob("*.split"))
    assert (second["table"], second["rows"], second["version"]) == ("other", 0, 0)
    assert (broken["table"], broken["rows"]) == ("deep/broken", None)
    assert "broken" in broken["error"]
    shown = ok("ls", days.parent).cells
    assert shown[0] == ["table", "version", "rows", "files", "bytes", "committed"]
    assert [cells[0] for cells in ok("ls", days, "--no-header").cells] == ["."]
    (days.parent / "empty").mkdir()
    assert ok("ls", days.parent / "empty", "--json").out == ""
    missing = run("ls", days.parent / "nothing")
    assert (missing.code, missing.out) == (NOT_FOUND, "")
    assert f"there is no directory {days.parent / 'nothing'}" in missing.err
    assert "days" in run("ls", days.parent, terminal=True, width=80).out


def test_partitions(days: Path) -> None:
    rows = ok("partitions", days, "--json").rows
    assert [(row["host"], row["files"], row["rows"], row["version"]) for row in rows] == [
        (f"node-{number}", 8, 20, 8) for number in range(4)
    ]
    assert ok("partitions", days, "--version", 1, "--json").rows[0]["files"] == 1
    assert ok("partitions", days).cells[0][:4] == ["host", "files", "rows", "bytes"]


def test_prewarm(days: Path, tmp_path: Path) -> None:
    cache = ("--option", f"cache.disk.directory={tmp_path / 'cache'}")
    told = ok("prewarm", days, "--where", "host = 'node-1'", *cache, "--json").json
    assert (told["splits_prewarmed"], told["status"], told["segments"]) == (8, "success", "TERM_DICT,POSTINGS")
    again = ok("prewarm", days, *cache, "-o", "table").out
    assert again == "24 indexes fetched, 8 were there already\n"


def test_prewarm_of_parts_and_columns(days: Path, tmp_path: Path) -> None:
    cache = ("--option", f"cache.disk.directory={tmp_path / 'cache'}", "--json")
    parts = ("--segments", "term,positions", "--fields", "message,host", "--parallelism", 2)
    told = ok("prewarm", days, *parts, *cache).json
    assert (told["segments"], told["fields"], told["splits_prewarmed"]) == ("TERM_DICT,POSITIONS", "message,host", 32)
    wrong = run("prewarm", days, "--segments", "terms", *cache)
    assert (wrong.code, "segment 'terms' does not exist" in wrong.error["message"]) == (USAGE, True)
    assert "nothing_here" in run("prewarm", days, "--fields", "nothing_here", *cache).error["message"]
    small = ("--option", "cache.disk.maxBytes=20K", "-o", "table")
    assert "left out: the cache (cache.disk.maxBytes) is too small" in ok("prewarm", days, *small).out


def orphan(table: Path, days_old: int) -> Path:
    """A data file that no version names, of some age."""
    path = table / "splits" / f"split-{days_old}.split"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"nobody names it")
    old = time.time() - days_old * 86400
    os.utime(path, (old, old))
    return path


def test_purge(days: Path) -> None:
    old, young = orphan(days, 30), orphan(days, 1)
    said = ok("purge", days, "--dry-run", "--json").json
    assert (said["status"], said["orphaned_files_found"], said["paths"]) == ("dry_run", 1, ["splits/split-30.split"])
    assert "splits/split-30.split" in ok("purge", days, "--dry-run", "-o", "table").out
    assert ok("purge", days, "--older-than", "60d", "--json").json["status"] == "no_action"
    done = ok("purge", days, "--json").json
    assert (done["status"], done["orphaned_files_deleted"], done["dry_run"]) == ("success", 1, False)
    assert (old.exists(), young.exists()) == (False, True)
    assert ok("count", days).out == "80\n"
    assert run("purge", days, "--older-than", "soon").code == USAGE
    assert run("purge", days, "--older-than", "0").code == USAGE


def test_optimize_purges_what_is_due(days: Path) -> None:
    old = orphan(days, 30)
    said = {row["step"]: row for row in ok("optimize", days, "--dry-run", "--json").rows}
    assert (said["purge"]["status"], old.exists()) == ("dry_run", True)
    done = {row["step"]: row for row in ok("optimize", days, "--json").rows}
    assert (done["purge"]["status"], done["purge"]["reason"]) == ("success", "1 object past retention")
    assert (done["purge"]["before"], done["purge"]["after"]) == ("1 object due", "0 objects due")
    assert not old.exists()
    assert ok("count", days).out == "80\n"


def test_optimize(days: Path) -> None:
    options = ("--option", "mergeOnWrite.minSplits=4")
    said = ok("optimize", days, "--dry-run", *options, "--json").rows
    assert (said[0]["step"], said[0]["status"]) == ("merge", "dry_run")
    assert Table.open(days).version == 8
    done = ok("optimize", days, *options, "--json").rows
    assert (done[0]["status"], done[0]["message"]) == ("success", "32 files became 4")
    assert list(done[0]) == ["step", "reason", "status", "before", "after", "duration_ms", "message"]
    assert ok("optimize", days, *options).cells[1][:2] == ["merge", "no_action"]
    assert ok("count", days).out == "80\n"
    assert run("optimize", days, "--every", "soon").code == USAGE
    assert run("optimize", days, "--every", "0s").code == USAGE


def test_optimize_again_and_again(days: Path, waiting_is: Callable[..., None]) -> None:
    waited: list[float] = []

    def wait(stop: Stop, seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 2:
            stop.ask(signal.SIGINT)
        stop.check()

    waiting_is(wait)
    result = run("optimize", days, "--every", "1m", "--json")
    assert (result.code, result.err) == (OK, "")
    assert len([row for row in result.rows if row["step"] == "merge"]) == 2
    assert all(0 <= seconds <= 60 for seconds in waited)


def test_a_round_that_fails_does_not_end_the_loop(days: Path, waiting_is: Callable[..., None]) -> None:
    log, away = days / "_transaction_log", days / "away"
    waits = iter([lambda: log.rename(away), lambda: away.rename(log), None])

    def wait(stop: Stop, seconds: float) -> None:
        del seconds
        then = next(waits)
        if then is None:
            stop.ask(signal.SIGINT)
        else:
            then()
        stop.check()

    waiting_is(wait)
    result = run("optimize", days, "--every", "1m", "--json")
    assert (result.code, result.err) == (OK, "")
    steps = ["merge", "compact", "purge"]
    assert [row["step"] for row in result.rows] == [*steps, "optimize", *steps]
    failed = result.rows[3]
    assert (failed["status"], str(days) in failed["message"]) == ("failed", True)


def test_a_loop_over_no_table_does_not_begin(days: Path) -> None:
    (days / "_transaction_log").rename(days / "away")
    assert run("optimize", days, "--every", "1m").code == NOT_FOUND


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15m", 900), ("1h", 3600), ("0.5", 0.5), ("2D", 172800)])
def test_times_between_two_rounds(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


def test_an_optimize_that_is_stopped_changes_nothing(days: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {*days.rglob("*.split")}
    for place in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 1000):
        result = stopped_at(place, monkeypatch, "optimize", days, "--option", "mergeOnWrite.minSplits=4")
        if result.code == OK:
            break
        assert result.code == TERMINATED
        assert result.err == "error: terminated: what was merged and committed before stays, and no row changed\n"
        assert ok("count", days).out == "80\n"
        if Table.open(days).version == 8:
            assert {*days.rglob("*.split")} == files, place
    assert place > 2
    assert result.code == OK


def test_a_table_that_was_dropped_in_part_is_dropped_again(days: Path) -> None:
    (days / "_transaction_log" / "00000000000000000000.json").unlink()
    for state in (days / "_transaction_log").glob("state-v*"):
        shutil.rmtree(state)
    (days / "_transaction_log" / "_last_checkpoint").unlink(missing_ok=True)
    told = ok("drop", days, "--yes", "--json").json
    assert (told["dropped"], told["rows"]) == (True, None)
    assert not days.exists()


def test_drop(days: Path) -> None:
    (days / "notes.txt").write_text("mine")
    refused = run("drop", days)
    assert (refused.code, "give --yes" in refused.err, "80 rows in 32 files" in refused.err) == (USAGE, True, True)
    assert ok("count", days).out == "80\n"
    told = ok("drop", days, "--yes", "--json").json
    assert (told["dropped"], told["rows"]) == (True, 80)
    assert [path.name for path in days.iterdir()] == ["notes.txt"]
    assert run("drop", days, "--yes").code == NOT_FOUND


@pytest.mark.parametrize(
    ("typed", "dropped"), [("y\n", True), ("yes\n", True), ("n\n", False), ("\n", False), ("Y\n", True)]
)
def test_a_person_is_asked(days: Path, typed: str, dropped: bool) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, typed.encode())
    with io.TextIOWrapper(io.FileIO(theirs), encoding="utf-8") as typing:
        result = run("drop", days, stdin=typing, terminal=True)
    os.close(ours)
    assert result.code == OK
    assert f"drop {days}, 80 rows in 32 files? It cannot be brought back. [y/N] " in result.err
    assert ("dropped" if dropped else "stays as it is") in result.out
    assert (days / "_transaction_log").exists() is not dropped
