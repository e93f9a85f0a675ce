"""Merges that follow writes: when they begin, who waits for them, and what is known of them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from forked import in_child
from indextables import Table
from indextables.spark import merge_jobs, write
from indextables.spark.maintenance.merge_jobs import Job, begin_job, end_job, jobs_directory
from spark.write_support import ids, logs, save

pytestmark = pytest.mark.spark

ON = {"mergeOnWrite.enabled": "true", "mergeOnWrite.minSplits": "4"}
WAIT = {**ON, "mergeOnWrite.async.enabled": "false"}


def jobs(url: str) -> list[dict[str, Any]]:
    return merge_jobs(url).to_pylist()


def ended(url: str) -> dict[str, Any]:
    """The newest merge of the table, once it is over."""
    limit = time.monotonic() + 90
    while time.monotonic() < limit:
        found = jobs(url)
        if found and found[0]["status"] != "RUNNING":
            return found[0]
        time.sleep(0.05)
    raise AssertionError(f"no merge of {url} ended: {jobs(url)}")


def test_a_write_of_many_splits_is_followed_by_a_merge(spark: SparkSession, url: str) -> None:
    done = write(logs(spark, 12, parts=6), url, options=ON)
    assert done.metrics["numAddedFiles"] == 6
    job = ended(url)
    assert (job["status"], job["sourceSplits"], job["resultSplits"], job["rows"]) == ("COMPLETED", 6, 1, 12)
    assert (job["afterVersion"], job["version"], job["error"]) == (1, 2, None)
    assert job["endedAt"] >= job["startedAt"]
    assert Table.open(url).files().num_rows == 1
    assert ids(url) == list(range(12))


def test_too_few_splits_are_left_alone(spark: SparkSession, url: str) -> None:
    write(logs(spark, 12, parts=3), url, options=WAIT)
    assert jobs(url) == []
    assert Table.open(url).files().num_rows == 3
    write(logs(spark, 2, start=12, parts=1), url, "append", options=WAIT)
    assert [job["sourceSplits"] for job in jobs(url)] == [4]
    assert Table.open(url).files().num_rows == 1


def test_the_source_merges_in_a_process_of_its_own(spark: SparkSession, url: str) -> None:
    save(logs(spark, 12, parts=6), url, **ON)
    job = ended(url)
    assert (job["status"], job["sourceSplits"], job["rows"]) == ("COMPLETED", 6, 12)
    assert ids(url) == list(range(12))


def test_a_merge_that_fails_does_not_fail_the_write(
    spark: SparkSession, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*what: object) -> object:
        raise OSError("the disk is full\nand a page about it")

    monkeypatch.setattr("indextables.spark.maintenance.maintain.run_on_executors", broken)
    assert write(logs(spark, 12, parts=6), url, options=WAIT).written
    assert [(job["status"], job["error"]) for job in jobs(url)] == [("FAILED", "the disk is full")]
    assert ids(url) == list(range(12))


@pytest.fixture
def own_jobs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return jobs_directory()


def test_one_merge_of_a_table_at_a_time(own_jobs: Path) -> None:
    first = begin_job("/here", 1)
    assert first is not None
    assert begin_job("/here", 2) is None
    assert begin_job("/there", 2) is not None
    end_job(first, "COMPLETED")
    assert begin_job("/here", 3) is not None
    assert [job["afterVersion"] for job in jobs("file:///here/")] in ([3, 1], [1, 3])
    assert sorted(path.suffix for path in own_jobs.iterdir()) == [".json"] * 3


def test_a_merge_whose_process_is_gone_is_lost(own_jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child = int(in_child(lambda: str(os.getpid())))
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: child)
        assert isinstance(begin_job("/here", 1), Job)
    assert [(job["status"], job["error"]) for job in jobs("file:///here/")] == [
        ("LOST", "its process ended before it did")
    ]
    assert begin_job("/here", 2) is not None


def test_old_jobs_are_forgotten_and_nonsense_is_ignored(own_jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indextables.spark.maintenance.merge_jobs._MOST_KEPT", 3)
    (own_jobs / "half.json").write_text("{")
    for number in range(5):
        job = begin_job(f"/table-{number}", 1)
        assert job is not None
        end_job(job, "FAILED", "why")
    assert merge_jobs().num_rows == 3
