"""A session that is asked for long, by many threads, cancelled and killed: nothing is wrong, nothing is left, nothing hangs.

`make spark-endurance` runs these, with a directory for temporary files that nobody else uses. They print their figures.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from indextables import Table
from indextables.spark.connector import bridge
from indextables.spark.connector.planning import planner
from spark.write_support import program_environment

pytestmark = [pytest.mark.spark, pytest.mark.stress]

SECONDS = float(os.environ.get("ENDURANCE_SECONDS", "60"))
"""How long threads ask."""
QUESTIONS = int(os.environ.get("ENDURANCE_QUESTIONS", "500"))
"""How many queries must leave nothing behind."""
THREADS = 8
SPLITS, ROWS = 4, 5_000
CANCELLED_SECONDS = 2.0
"""A cancelled query ends in so many seconds."""
GONE_SECONDS = 10.0
"""The JVM of a killed Python process is gone in so many seconds."""
MORE_HEAP, MORE_MEMORY = 30 << 20, 40 << 20
"""Bytes that the JVM's heap and the Python process may grow by: Spark keeps a line on each of the last thousand queries."""
TASKS = {"spark.indextables.read.local.enabled": "false"}
PROGRAM = Path(__file__).with_name("endurance_program.py")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = str(tmp_path_factory.mktemp("endurance") / "lines")
    schema = pa.schema([("id", pa.int64()), ("half", pa.int64()), ("word", pa.string()), ("line", pa.string())])
    table = Table.create(url, schema, options={"spark.indextables.indexing.typemap.line": "text"})
    for number in range(SPLITS):
        ids = range(number * ROWS, number * ROWS + ROWS)
        lines = [f"line {row} of word{row % 10}" for row in ids]
        table.append(pa.table([ids, [row % 2 for row in ids], [f"w{row % 10}" for row in ids], lines], schema=schema))
    return url


def questions(frame: DataFrame, number: int) -> Iterator[tuple[str, Any, Any]]:
    """Queries of one frame, what they find, and what they should."""
    low = number * 37 % (SPLITS * ROWS - 20)
    digit = number % 10
    tenth = SPLITS * ROWS // 10
    rows = frame.where(f"id >= {low} AND id < {low + 7}").select("id").collect()
    yield "rows", sorted(row.id for row in rows), list(range(low, low + 7))
    yield "search", frame.where(f"line INDEXQUERY 'word{digit} AND line'").count(), tenth
    groups = frame.where(f"word = 'w{digit}'").groupBy("half").count().collect()
    yield "groups", [tuple(row) for row in groups], [(digit % 2, tenth)]
    top = frame.orderBy("id", ascending=False).select("id").limit(3).collect()
    yield "top", [row.id for row in top], [SPLITS * ROWS - 1 - at for at in range(3)]


def test_eight_threads_ask_one_session(spark: SparkSession, place: str) -> None:
    frames = [spark.read.format("indextables").options(**options).load(place) for options in ({}, TASKS)]
    end = time.monotonic() + SECONDS
    wrong: list[str] = []
    asked = [0] * THREADS

    def ask(thread: int) -> None:
        number = thread
        while time.monotonic() < end and not wrong:
            try:
                for what, found, wanted in questions(frames[number % 8 == 7], number):
                    asked[thread] += 1
                    if found != wanted:
                        wrong.append(f"thread {thread}, {what} of {number}: {found} instead of {wanted}")
            except Exception as error:
                wrong.append(f"thread {thread}, {number}: {error}")
            number += THREADS + 1

    threads = [threading.Thread(target=ask, args=(number,), name=f"asking-{number}") for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS + 60)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    assert wrong == []
    assert min(asked) > 0, "every thread gets its turn"
    print(f"\n{sum(asked)} queries of {THREADS} threads in {SECONDS:.0f} s, {min(asked)} to {max(asked)} each")


def kept(spark: SparkSession) -> dict[str, int]:
    """What both processes hold, after both collected their garbage."""
    gateway = spark.sparkContext._gateway
    for _ in range(3):
        gc.collect()
        gateway.jvm.System.gc()
        time.sleep(0.3)
    heap = gateway.jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage()
    local = Path(spark.conf.get("spark.local.dir"))
    return {
        "callback objects": len(gateway.gateway_property.pool),
        "java objects of python": int(gateway.java_gateway_server.getGateway().getBindings().size()),
        "python threads": threading.active_count(),
        "java threads": int(gateway.jvm.java.lang.Thread.activeCount()),
        "open files": len(list(Path("/proc/self/fd").iterdir())),
        "temporary files": len(list(Path(tempfile.gettempdir()).iterdir())),
        "files of spark": sum(len(files) for _, _, files in os.walk(local)),
        "java heap": int(heap.getUsed()),
        "python memory": int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
    }


def test_many_queries_leave_nothing_behind(spark: SparkSession, place: str) -> None:
    frames = [spark.read.format("indextables").options(**options).load(place) for options in ({}, TASKS)]

    def ask(numbers: range) -> None:
        for number in numbers:
            for what, found, wanted in questions(frames[number % 4 == 3], number):
                assert found == wanted, what

    ask(range(40))
    before = kept(spark)
    ask(range(40, 40 + QUESTIONS // 4))
    after = kept(spark)
    print(f"\n{QUESTIONS // 4 * 4} queries:", {name: (before[name], after[name]) for name in before})
    slack = {
        "java objects of python": 20,
        "python threads": 4,
        "java threads": 8,
        "open files": 8,
        "temporary files": 8,
        "files of spark": 40,
        "java heap": MORE_HEAP,
        "python memory": MORE_MEMORY,
    }
    grown = {name: (before[name], after[name]) for name in before if after[name] > before[name] + slack.get(name, 0)}
    assert grown == {}


def cancelled(spark: SparkSession, ask: Callable[[], Any], cancel: Callable[[], Any], begun: float) -> float:
    """Seconds from the cancelling of a query to its error."""
    said: list[BaseException | None] = []

    def run() -> None:
        spark.sparkContext.setJobGroup("endless", "to be cancelled", interruptOnCancel=True)
        spark.sparkContext.addJobTag("endless")
        try:
            ask()
            said.append(None)
        except Exception as error:
            said.append(error)

    from pyspark import InheritableThread

    thread = InheritableThread(target=run)
    thread.start()
    time.sleep(begun)
    assert thread.is_alive(), f"the query ended by itself: {said}"
    start = time.monotonic()
    cancel()
    thread.join(30)
    took = time.monotonic() - start
    spark.sparkContext.cancelAllJobs()
    assert said, "the query goes on"
    assert said[0] is not None, f"the query had its answer after {took:.1f} s"
    assert "cancel" in str(said[0]).lower() or "interrupt" in str(said[0]).lower(), said
    return took


CANCELS: dict[str, Callable[[SparkSession], Any]] = {
    "interruptAll": lambda spark: spark.interruptAll(),
    "cancelJobsWithTag": lambda spark: spark.sparkContext.cancelJobsWithTag("endless"),
    "cancelJobGroup": lambda spark: spark.sparkContext.cancelJobGroup("endless"),
}


@pytest.mark.parametrize("how", CANCELS)
def test_a_cancelled_query_of_tasks_ends_soon(spark: SparkSession, place: str, how: str) -> None:
    frame = spark.read.format("indextables").options(**TASKS).load(place)
    endless = (
        frame.alias("a").crossJoin(frame.alias("b")).crossJoin(frame.alias("c")).groupBy("a.word", "b.word", "c.id")
    )
    took = cancelled(spark, lambda: endless.count().collect(), lambda: CANCELS[how](spark), 3)
    print(f"\n{how}: a query of tasks ended after {took:.2f} s")
    assert took < CANCELLED_SECONDS
    assert frame.where("id = 5").count() == 1


@pytest.mark.parametrize("how", CANCELS)
def test_a_cancelled_query_of_the_driver_ends_soon(
    spark: SparkSession, place: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver computes the answer while Spark plans, and a job stands for it that can be cancelled."""
    answer_here, released = planner.answer_here, threading.Event()

    def slow(plan: Any) -> Any:
        released.wait(6)
        return answer_here(plan)

    frame = spark.read.format("indextables").load(place)
    monkeypatch.setattr(planner, "answer_here", slow)
    try:
        took = cancelled(spark, lambda: frame.where("id = 5").collect(), lambda: CANCELS[how](spark), 1)
    finally:
        released.set()
    print(f"\n{how}: a query of the driver ended after {took:.2f} s")
    assert took < CANCELLED_SECONDS


@pytest.mark.parametrize("who", ["driver", "tasks"])
def test_an_error_in_python_is_one_line(
    spark: SparkSession, place: str, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(asked: Any) -> Any:
        raise ValueError("one line\nand another")

    monkeypatch.setitem(bridge.VERBS, "plan" if who == "driver" else "tasks", broken)
    frame = spark.read.format("indextables").options(**({} if who == "driver" else TASKS)).load(place)
    with pytest.raises(PySparkException) as error:
        frame.where("id = 5").collect()
    lines = str(error.value).strip().splitlines()
    assert len(lines) == 1, lines
    assert "ValueError" in lines[0]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("doing", ["tasks", "driver"])
def test_the_java_of_a_killed_python_ends(tmp_path: Path, place: str, doing: str) -> None:
    """Java, its Python workers and its queries are gone soon after the Python process that began them."""
    errors = tmp_path / "errors.txt"
    with errors.open("wb") as said:
        program = subprocess.Popen(
            [sys.executable, str(PROGRAM), place, doing, str(tmp_path)],
            env=program_environment(tmp_path),
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
    pids: list[int] = []
    try:
        found = tmp_path / "processes.json"
        end = time.monotonic() + 120
        while not found.exists():
            assert program.poll() is None, errors.read_text()[-2000:]
            assert time.monotonic() < end, "the program does not begin"
            time.sleep(0.1)
        pids = [pid for pid in json.loads(found.read_text()) if alive(pid)]
        assert pids, "Java runs"
    finally:
        program.send_signal(signal.SIGKILL)
        start = time.monotonic()
        program.wait(10)
    while any(map(alive, pids)) and time.monotonic() < start + 60:
        time.sleep(0.05)
    took = time.monotonic() - start
    print(f"\nkilled while {doing} answer: {len(pids)} processes gone after {took:.2f} s")
    assert not [pid for pid in pids if alive(pid)]
    assert took < GONE_SECONDS
