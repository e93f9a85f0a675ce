"""Purges that follow writes and merges of this process: what is due goes, and no write fails because of a purge."""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import StoreUnavailable
from indextables.core.options import Options
from indextables.core.types import arrow_to_spark_json
from indextables.table.distributed.merge_job import begin_merge, merge_limits
from indextables.table.distributed.write_job import begin_write
from indextables.table.maintain import purge_on_write

SCHEMA = pa.schema([("id", pa.int64())])
EVERY_WRITE = {"purgeOnWrite.enabled": "true", "purgeOnWrite.triggerAfterWrites": "1"}
EVERY_THIRD = {"purgeOnWrite.enabled": "true", "purgeOnWrite.triggerAfterWrites": "3"}


def rows(number: int) -> pa.Table:
    return pa.table({"id": [number]})


def orphan(where: Path, name: str = "orphan", days: float = 30) -> Path:
    """A split that no version names, so many days old."""
    path = where / "splits" / f"split-{name}.split"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"orphan")
    moment = time.time() - days * 86_400
    os.utime(path, (moment, moment))
    return path


def wait_for_purges() -> None:
    for thread in threading.enumerate():
        if thread.name == "indextables-purge-on-write":
            thread.join(60)
            assert not thread.is_alive()


@pytest.mark.parametrize(
    "options", [{}, {"purgeOnWrite.triggerAfterWrites": "1"}, {"purgeOnWrite.enabled": "true"}], ids=str
)
def test_is_off_unless_asked_for(tmp_path: Path, options: dict[str, str]) -> None:
    table = Table.create(tmp_path / "t", SCHEMA, options=options)
    left = orphan(tmp_path / "t")
    for number in range(4):
        table.append(rows(number))
    wait_for_purges()
    assert left.exists()


def test_after_so_many_writes(tmp_path: Path) -> None:
    table = Table.create(tmp_path / "t", SCHEMA, options=EVERY_THIRD)
    old, young = orphan(tmp_path / "t"), orphan(tmp_path / "t", "young", days=5)
    for number in range(2):
        table.append(rows(number))
    wait_for_purges()
    assert old.exists()
    table.overwrite(rows(2))
    wait_for_purges()
    assert not old.exists()
    assert young.exists(), "purgeOnWrite.splitRetentionHours is a week"
    again = orphan(tmp_path / "t", "again")
    for number in range(2):
        table.append(rows(number))
    wait_for_purges()
    assert again.exists(), "the count begins anew"
    table.commit_files(properties={"owner": "me"})
    wait_for_purges()
    assert not again.exists()
    assert sorted(table.scan().read_all()["id"].to_pylist()) == [0, 1, 2]


def test_with_retentions_of_its_own(tmp_path: Path) -> None:
    options = {**EVERY_THIRD, "purgeOnWrite.splitRetentionHours": "100", "purge.defaultRetentionHours": "1000"}
    table = Table.create(tmp_path / "t", SCHEMA, options=options)
    young = orphan(tmp_path / "t", "young", days=5)
    for number in range(3):
        table.append(rows(number))
    wait_for_purges()
    assert not young.exists()


@pytest.mark.parametrize("trigger", ["true", "false"])
def test_after_a_merge(tmp_path: Path, trigger: str) -> None:
    options = {"purgeOnWrite.enabled": "true", "purgeOnWrite.triggerAfterMerge": trigger}
    table = Table.create(tmp_path / "t", SCHEMA, options=options)
    old = orphan(tmp_path / "t")
    for number in range(4):
        table.append(rows(number))
    table.merge_splits()
    wait_for_purges()
    assert old.exists() == (trigger == "false")
    assert table.count() == 4


def test_after_a_merge_that_followed_a_write(tmp_path: Path) -> None:
    options = {
        "purgeOnWrite.enabled": "true",
        "mergeOnWrite.enabled": "true",
        "mergeOnWrite.async.enabled": "false",
        "mergeOnWrite.minSplits": "4",
    }
    table = Table.create(tmp_path / "t", SCHEMA, options=options)
    old = orphan(tmp_path / "t")
    for number in range(4):
        table.append(rows(number))
    wait_for_purges()
    assert not old.exists()
    assert Table.open(tmp_path / "t").count() == 4


def write_by_tasks(url: Path, number: int, options: dict[str, str], *, lives_on: bool = True) -> None:
    """A write that travels to a task and back, as those of Spark do."""
    job = begin_write(str(url), arrow_to_spark_json(SCHEMA), Options(options), mode="append")
    built = pickle.loads(pickle.dumps(job)).build(rows(number).to_batches())
    assert pickle.loads(pickle.dumps(job)).commit([built], lives_on=lives_on).written


def test_after_writes_that_many_processes_do(tmp_path: Path) -> None:
    Table.create(tmp_path / "t", SCHEMA)
    old = orphan(tmp_path / "t")
    for number in range(2):
        write_by_tasks(tmp_path / "t", number, EVERY_THIRD)
    wait_for_purges()
    assert old.exists()
    write_by_tasks(tmp_path / "t", 2, EVERY_THIRD)
    wait_for_purges()
    assert not old.exists()
    assert Table.open(tmp_path / "t").count() == 3


@pytest.mark.parametrize(("options", "lives_on"), [({}, True), (EVERY_WRITE, False)], ids=["not asked for", "it ends"])
def test_none_after_writes_of_a_process_that_ends(tmp_path: Path, options: dict[str, str], lives_on: bool) -> None:
    Table.create(tmp_path / "t", SCHEMA)
    old = orphan(tmp_path / "t")
    write_by_tasks(tmp_path / "t", 1, options, lives_on=lives_on)
    wait_for_purges()
    assert old.exists()


@pytest.mark.parametrize(
    ("options", "lives_on", "purges"),
    [
        ({"purgeOnWrite.enabled": "true"}, True, True),
        ({"purgeOnWrite.enabled": "true"}, False, False),
        ({"purgeOnWrite.enabled": "true", "purgeOnWrite.triggerAfterMerge": "false"}, True, False),
        ({}, True, False),
    ],
    ids=["asked for", "it ends", "not after merges", "not asked for"],
)
def test_after_a_merge_that_many_processes_do(
    tmp_path: Path, options: dict[str, str], lives_on: bool, purges: bool
) -> None:
    table = Table.create(tmp_path / "t", SCHEMA)
    for number in range(4):
        table.append(rows(number))
    old, checked = orphan(tmp_path / "t"), Options(options)
    job = begin_merge(table.url, checked, merge_limits(checked))
    began = job.begin()
    job.commit([pickle.loads(pickle.dumps(task)).run() for task in job.tasks], began)
    assert job.finish(lives_on=lives_on).results == 1
    wait_for_purges()
    assert old.exists() != purges
    assert Table.open(table.url).count() == 4


def test_none_after_a_merge_of_nothing(tmp_path: Path) -> None:
    table = Table.create(tmp_path / "t", SCHEMA)
    table.append(rows(1))
    old, options = orphan(tmp_path / "t"), Options({"purgeOnWrite.enabled": "true"})
    assert begin_merge(table.url, options, merge_limits(options)).finish().results == 0
    wait_for_purges()
    assert old.exists()


@pytest.fixture
def purging_is(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], None]:
    """`purging_is(function)`: what a purge after a write does for the rest of the test."""

    def do(function: Callable[..., Any]) -> None:
        monkeypatch.setattr(purge_on_write, "purge", function)

    return do


def failing(*_arguments: Any, **_more: Any) -> None:
    raise StoreUnavailable("no answer")


def test_a_purge_that_fails_is_a_line_in_the_log(
    tmp_path: Path, purging_is: Callable[[Callable[..., Any]], None], caplog: pytest.LogCaptureFixture
) -> None:
    purging_is(failing)
    table = Table.create(tmp_path / "t", SCHEMA, options=EVERY_THIRD)
    for number in range(6):
        assert table.append(rows(number)).written
        wait_for_purges()
    told = [record for record in caplog.records if "the purge after version" in record.getMessage()]
    assert [record.levelno for record in told] == [logging.WARNING] * 2, "and the next one is not held up"
    assert "the purge after version 3 failed: no answer" in told[0].getMessage()
    assert table.count() == 6


def test_a_retention_that_is_too_short_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = Table.create(tmp_path / "t", SCHEMA, options={**EVERY_THIRD, "purgeOnWrite.txLogRetentionHours": "1"})
    for number in range(3):
        table.append(rows(number))
    wait_for_purges()
    assert "log_retention of a purge is 1 hours, less than spark.indextables.purge.minRetentionHours=24" in caplog.text


def test_no_thread_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(*_arguments: Any, **_more: Any) -> Any:
        raise RuntimeError("can't start new thread")

    table = Table.create(tmp_path / "t", SCHEMA, options=EVERY_THIRD)
    old = orphan(tmp_path / "t")
    table.append(rows(0))
    table.append(rows(1))
    with monkeypatch.context() as patched:
        patched.setattr(purge_on_write.threading, "Thread", refuse)
        assert table.append(rows(2)).written
    assert "did not begin: can't start new thread" in caplog.text
    for number in range(3):
        table.append(rows(number))
    wait_for_purges()
    assert not old.exists()


def test_one_at_a_time(tmp_path: Path, purging_is: Callable[[Callable[..., Any]], None]) -> None:
    began, go_on = threading.Event(), threading.Event()
    running: list[str] = []

    def slow(*_arguments: Any, **_more: Any) -> Any:
        running.append("purge")
        began.set()
        assert go_on.wait(60)
        return real(*_arguments, **_more)

    real = purge_on_write.purge
    purging_is(slow)
    table = Table.create(tmp_path / "t", SCHEMA, options={**EVERY_THIRD, "purgeOnWrite.triggerAfterWrites": "1"})
    table.append(rows(0))
    assert began.wait(60)
    table.append(rows(1))
    table.append(rows(2))
    go_on.set()
    wait_for_purges()
    assert running == ["purge"]
    table.append(rows(3))
    wait_for_purges()
    assert len(running) == 2


def test_a_program_that_ends_waits_for_the_purge(tmp_path: Path) -> None:
    Table.create(tmp_path / "t", SCHEMA)
    old = orphan(tmp_path / "t")
    code = (
        "import sys, pyarrow as pa; from indextables import Table; "
        "Table.open(sys.argv[1], options={'purgeOnWrite.enabled': True, 'purgeOnWrite.triggerAfterWrites': 1})"
        ".append(pa.table({'id': [1]}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "t")], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not old.exists()
