"""A query that the driver answers itself ends when it is cancelled, and so does the work in Python."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark import InheritableThread
from pyspark.sql import SparkSession

from indextables import Table
from indextables.core.errors import WorkCancelled
from indextables.core.runtime.cancellation import cancellable, checked
from indextables.spark.connector import bridge
from indextables.split.reader import SplitReader

pytestmark = pytest.mark.spark

SPLITS, SECONDS_OF_A_SPLIT = 40, 0.2
SOON = 2.0
"""Seconds after which a cancelled query must have ended."""
CANCELS: dict[str, Callable[[SparkSession], Any]] = {
    "interruptAll": lambda spark: spark.interruptAll(),
    "cancelJobsWithTag": lambda spark: spark.sparkContext.cancelJobsWithTag("theirs"),
    "cancelJobGroup": lambda spark: spark.sparkContext.cancelJobGroup("group"),
    "cancelAllJobs": lambda spark: spark.sparkContext.cancelAllJobs(),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = str(tmp_path_factory.mktemp("cancelled") / "t")
    table = Table.create(url, pa.schema([("id", pa.int64()), ("word", pa.string())]))
    for number in range(SPLITS):
        table.append(pa.table({"id": [number, -number], "word": ["a", "b"]}))
    return url


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Every split takes a while to count. Gives the times at which a split was begun."""
    counted, own = [], SplitReader.count

    def count(self: SplitReader, *given: Any) -> int:
        counted.append(time.monotonic())
        time.sleep(SECONDS_OF_A_SPLIT)
        return own(self, *given)

    monkeypatch.setattr(SplitReader, "count", count)
    monkeypatch.setattr("indextables.table.read.parallelism.SerialPhase.should_parallelise", lambda self: False)
    return counted


def begun(spark: SparkSession, place: str, said: list[Any]) -> threading.Thread:
    """A query that takes the driver eight seconds."""

    def run() -> None:
        spark.sparkContext.setJobGroup("group", "to be cancelled")
        spark.sparkContext.addJobTag("theirs")
        frame = spark.read.format("indextables").load(place)
        try:
            said.append(frame.where("word = 'a'").count())
        except Exception as error:
            said.append(error)

    thread = InheritableThread(target=run)
    thread.start()
    return thread


def wait_for_the_job(spark: SparkSession, thread: threading.Thread) -> None:
    """Wait until the job runs that stands for the answer: Spark cancels jobs, and a busy machine starts one late."""
    while thread.is_alive() and not spark.sparkContext.statusTracker().getActiveJobsIds():
        time.sleep(0.05)


@pytest.mark.parametrize("how", CANCELS)
def test_a_cancelled_answer_ends_soon(spark: SparkSession, place: str, slow: list[float], how: str) -> None:
    said: list[Any] = []
    thread = begun(spark, place, said)
    wait_for_the_job(spark, thread)
    assert thread.is_alive(), said
    start = time.monotonic()
    CANCELS[how](spark)
    thread.join(20)
    took = time.monotonic() - start
    assert said, "the query goes on"
    assert "cancelled" in str(said[0])
    assert len(str(said[0]).splitlines()) == 1, said[0]
    assert took < SOON
    time.sleep(2 * SECONDS_OF_A_SPLIT)
    at = len(slow)
    assert slow[-1] < start + SOON
    time.sleep(3 * SECONDS_OF_A_SPLIT)
    assert len(slow) == at < SPLITS, "Python stopped counting"


def test_an_answer_that_nobody_cancels_is_given(spark: SparkSession, place: str, slow: list[float]) -> None:
    """The job that stands for the answer ends with it, and is the only one."""
    said: list[Any] = []
    thread = begun(spark, place, said)
    thread.join(60)
    assert said == [SPLITS]
    tracker = spark.sparkContext.statusTracker()
    end = time.monotonic() + 5
    while tracker.getActiveJobsIds() and time.monotonic() < end:
        time.sleep(0.05)
    assert tracker.getActiveJobsIds() == []


def test_a_quick_answer_has_no_job(spark: SparkSession, place: str) -> None:
    spark.sparkContext.setJobGroup("quick", "no job")
    try:
        assert spark.read.format("indextables").load(place).where("word = 'a'").count() == SPLITS
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert spark.sparkContext.statusTracker().getJobIdsForGroup("quick") == []


def test_work_is_checked_wherever_its_items_are_taken() -> None:
    with cancellable() as work:
        items = checked(iter(range(10)))
    assert next(items) == 0
    work.cancel()
    with pytest.raises(WorkCancelled, match="ask again"):
        next(items)
    assert list(checked([1, 2])) == [1, 2]


def test_a_number_that_nobody_knows_is_nothing_to_cancel() -> None:
    assert bridge.cancel({"number": 10**9}) == []
