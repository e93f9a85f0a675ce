"""Tasks on a local master are read by the driver's own Python: their errors, their end, and whom they listen to."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import InheritableThread
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from indextables import Table
from indextables.core.errors import SplitError
from indextables.spark.connector import driver_tasks
from indextables.spark.connector.planning.worker import ReadPartition
from spark.conftest import MASTER
from spark.support import java

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not MASTER.startswith("local["), reason="executors read their tasks with workers of Python"),
]

SPLITS, ROWS = 30, 2_000
SOON = 2.0
"""Seconds after which a cancelled query must have ended."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = str(tmp_path_factory.mktemp("driver") / "t")
    table = Table.create(url, pa.schema([("id", pa.int64()), ("word", pa.string())]))
    for number in range(SPLITS):
        ids = list(range(number * ROWS, number * ROWS + ROWS))
        table.append(pa.table({"id": ids, "word": [f"w{n % 7}" for n in ids]}))
    return url


def by_tasks(spark: SparkSession, place: str, **options: str) -> DataFrame:
    return spark.read.format("indextables").options(**{LOCAL: "false"}, **options).load(place)


LOCAL = "spark.indextables.read.local.enabled"
Batches = Iterator[pa.RecordBatch]


@pytest.fixture
def instead_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str, Any], None]:
    """`instead_of(thing, name, other)`: for the rest of the test the thing has another attribute of this name."""

    def put(thing: Any, name: str, other: Any) -> None:
        monkeypatch.setattr(thing, name, other)

    return put


@pytest.fixture
def patched(instead_of: Any) -> Callable[[Callable[[Batches], Batches]], list[int]]:
    """Every task's batches go through a function. Gives the processes that read."""

    def patch(through: Callable[[Batches], Batches]) -> list[int]:
        own, processes = ReadPartition.batches, []

        def batches(self: ReadPartition, data: bytes) -> Batches:
            processes.append(os.getpid())
            return through(own(self, data))

        instead_of(ReadPartition, "batches", batches)
        return processes

    return patch


def test_no_worker_of_python_reads(spark: SparkSession, place: str, patched: Any) -> None:
    readers = patched(lambda batches: batches)
    assert by_tasks(spark, place).where("word = 'w3'").selectExpr("sum(id)").first()[0] == sum(range(3, 60_000, 7))
    assert set(readers) == {os.getpid()}


def test_a_task_that_fails_in_the_middle_gives_no_rows(spark: SparkSession, place: str, patched: Any) -> None:
    def through(batches: Batches) -> Batches:
        yield next(batches)
        raise SplitError("the store went away: try again")

    patched(through)
    with pytest.raises(PySparkException) as caught:
        by_tasks(spark, place).collect()
    lines = [line for line in str(caught.value).splitlines() if line.strip()]
    assert lines[1:] == ["indextables.errors.SplitError: the store went away: try again"]


def test_a_line_that_breaks_is_no_end(spark: SparkSession, place: str, instead_of: Any) -> None:
    """Where Python takes a broken line for the end, Java misses rows and says so."""

    def send(_read: Any, _task: bytes, _out: Any) -> int:
        return 5

    instead_of(driver_tasks, "_send", send)
    with pytest.raises(Exception, match=r"indextables: a task ended after 0 rows|Unexpected end of input"):
        by_tasks(spark, place).collect()


def test_python_that_never_comes_is_an_error(spark: SparkSession, place: str, instead_of: Any) -> None:
    def refused(_self: socket.socket, _place: str) -> None:
        raise ConnectionRefusedError("nobody listens")

    instead_of(driver_tasks.socket.socket, "connect", refused)
    with pytest.raises(PySparkException, match=r"\.socket cannot be reached: nobody listens"):
        by_tasks(spark, place).collect()


def test_strangers_cannot_reach_a_task(spark: SparkSession, place: str, patched: Any, instead_of: Any) -> None:
    modes: list[int] = []

    def through(batches: Batches) -> Batches:
        modes.append(stat.S_IMODE(sockets[-1].parent.stat().st_mode))
        yield from batches

    sockets: list[Path] = []
    own = driver_tasks._task

    def task(line: socket.socket, where: str) -> Any:
        sockets.append(Path(where))
        return own(line, where)

    patched(through)
    instead_of(driver_tasks, "_task", task)
    assert by_tasks(spark, place).selectExpr("count(id)").first()[0] == SPLITS * ROWS
    assert set(modes) == {0o700}
    assert not any(path.exists() for path in sockets)
    sockets[0].parent.rmdir()  # as those do who tidy /tmp
    assert by_tasks(spark, place).selectExpr("count(id)").first()[0] == SPLITS * ROWS


def test_a_failure_is_told_though_a_forked_child_holds_the_line(
    spark: SparkSession, place: str, instead_of: Any
) -> None:
    children: list[subprocess.Popen[bytes]] = []

    def send(_read: Any, _task: bytes, out: Any) -> int:
        children.append(subprocess.Popen(["sleep", "60"], pass_fds=[out.raw.fileno()]))
        raise SplitError("the store went away: try again")

    instead_of(driver_tasks, "_send", send)
    start = time.monotonic()
    try:
        with pytest.raises(PySparkException, match="the store went away: try again"):
            by_tasks(spark, place).collect()
        assert time.monotonic() - start < 20
    finally:
        for child in children:
            child.kill()
            child.wait()


@pytest.mark.parametrize("how", ["cancelJobGroup", "cancelAllJobs"])
def test_a_cancelled_task_ends_soon(
    spark: SparkSession, place: str, patched: Any, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    taken: list[float] = []

    def slowly(batches: Batches) -> Batches:
        for batch in batches:
            taken.append(time.monotonic())
            time.sleep(0.3)
            yield batch

    patched(slowly)
    said: list[Any] = []

    def run() -> None:
        spark.sparkContext.setJobGroup("group", "to be cancelled")
        try:
            said.append(by_tasks(spark, place).collect())
        except Exception as error:
            said.append(error)

    thread = InheritableThread(target=run)
    thread.start()
    while not taken and thread.is_alive():
        time.sleep(0.05)
    start = time.monotonic()
    if how == "cancelJobGroup":
        spark.sparkContext.cancelJobGroup("group")
    else:
        spark.sparkContext.cancelAllJobs()
    thread.join(20)
    assert time.monotonic() - start < SOON
    assert isinstance(said[0], Exception)
    assert "cancelled" in str(said[0])
    time.sleep(1)
    at = len(taken)
    time.sleep(1)
    assert len(taken) == at, "Python goes on reading"
    assert not caplog.records


def test_a_limit_ends_the_task_and_its_line(
    spark: SparkSession, place: str, patched: Any, caplog: pytest.LogCaptureFixture
) -> None:
    ended = threading.Event()

    def through(batches: Batches) -> Batches:
        try:
            for batch in batches:
                yield batch
                time.sleep(0.05)
        finally:
            ended.set()

    patched(through)
    assert len(by_tasks(spark, place).where("length(word) = 2").take(5)) == 5
    assert ended.wait(20)
    time.sleep(0.5)  # an error of Python would be logged after the reading ended
    assert not caplog.records


def test_lines_and_memory_are_given_back(spark: SparkSession, place: str) -> None:
    by_tasks(spark, place).collect()
    jvm, _ = java(spark)
    allocator = jvm.org.apache.spark.sql.util.ArrowUtils.rootAllocator()
    memory, files = allocator.getAllocatedMemory(), open_files()
    for number in range(20):
        frame = by_tasks(spark, place)
        assert len(frame.where(f"id % 1000 = {number}").collect()) == SPLITS * ROWS // 1_000
        frame.where("length(word) = 2").take(1)
        assert frame.selectExpr("sum(id)").first()[0] == sum(range(SPLITS * ROWS))  # planned by a new thread of Spark's
    assert allocator.getAllocatedMemory() <= memory
    assert open_files() <= files + 5


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
