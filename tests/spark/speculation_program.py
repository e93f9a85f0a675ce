"""A cluster of two hosts with speculation on, and tasks whose first attempt hangs. Writes what it found as JSON.

    python speculation_program.py DIRECTORY

Spark runs no copy of a task on a host that has an attempt of it already, and all executors of a `local-cluster` are on one. So
this starts a master and two workers of its own, on two addresses of the loopback.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from indextables import Table
from indextables.spark import install, write
from indextables.spark.writing import write_frame

HOSTS = ("127.0.0.1", "127.0.0.2")
ROWS, PARTS, SLOW = 100, 4, 1
"""Rows, tasks, and which of them hangs."""
HANGS_SECONDS = 150
JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.log.level": "OFF",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "500ms",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.quantile": "0.5",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": f"{JAVA} -Dlog4j2.level=OFF",
    "spark.executor.extraJavaOptions": f"{JAVA} -Dlog4j2.level=OFF",
}


@contextmanager
def service(home: Path, name: str, host: str, *words: str) -> Iterator[Path]:
    """A process of Spark's own, and the file that it writes its log to."""
    log = home / f"{name}.log"
    root = Path(pyspark.__file__).parent
    own = {
        "SPARK_HOME": str(root),
        "SPARK_LOCAL_IP": host,
        "SPARK_MASTER_OPTS": f"{JAVA} -Dspark.master.rest.enabled=false",
        "SPARK_WORKER_OPTS": JAVA,
        "SPARK_DAEMON_MEMORY": "256m",
    }
    with log.open("w") as sink:
        process = subprocess.Popen(
            [str(root / "bin" / "spark-class"), *words, "--host", host, "--webui-port", "0"],
            env={**os.environ, **own},
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
    try:
        yield log
    finally:
        process.terminate()
        process.wait(30)


def said(log: Path, pattern: str) -> str:
    """What a service says once it has begun."""
    deadline = time.monotonic() + 120
    while (found := re.search(pattern, log.read_text())) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{log} says nothing of {pattern}: {log.read_text()[-2000:]}")
        time.sleep(0.1)
    return found[1]


@contextmanager
def cluster(home: Path) -> Iterator[str]:
    """The place of a master with two workers on two hosts, one processor each."""
    with ExitStack() as stack:
        package = "org.apache.spark.deploy"
        log = stack.enter_context(service(home, "master", HOSTS[0], f"{package}.master.Master", "--port", "0"))
        place = said(log, r"Starting Spark master at (spark://\S+)")
        for number, host in enumerate(HOSTS):
            words = ("--cores", "1", "--memory", "512m", "--work-dir", str(home / f"worker-{number}"), place)
            name = f"worker-{number}"
            said(
                stack.enter_context(service(home, name, host, f"{package}.worker.Worker", *words)),
                r"(Successfully registered) with master",
            )
        yield place


def hang_once(home: Path) -> None:
    """Called in a task: notes the attempt, and does not return from the first one of the slow task.

    A later attempt waits for the first one's note: on a busy machine the copy of a task can be here before the task itself.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None or context.partitionId() != SLOW:
        return
    attempt = context.attemptNumber()
    (home / f"attempt-{attempt}").touch()
    if attempt == 0:
        time.sleep(HANGS_SECONDS)
    deadline = time.monotonic() + HANGS_SECONDS / 2
    while not (home / "attempt-0").exists() and time.monotonic() < deadline:
        time.sleep(0.05)


def logs(spark: SparkSession) -> DataFrame:
    text = sql.concat(sql.lit("request "), sql.col("id").cast("string"))
    return spark.range(0, ROWS, 1, PARTS).select("id", text.alias("message"))


def outcome(home: Path, url: str, seconds: float) -> dict[str, Any]:
    table = Table.open(url)
    live = set(table.files().column("path").to_pylist())
    there = {str(path.relative_to(url)) for path in Path(url).rglob("*.split")}
    return {
        "attempts": sorted(path.name for path in home.glob("attempt-*")),
        "in_time": seconds < HANGS_SECONDS,
        "rows": sorted(table.scan(columns=["id"]).read_all().column("id").to_pylist()),
        "live": len(live),
        "missing": len(live - there),
        "orphans": len(there - live),
        "counted": table.count(),
    }


def hangs_after_its_upload(spark: SparkSession, home: Path) -> dict[str, Any]:
    """`write`, whose slow task has its splits in the store when its copy begins."""
    url, real = str(home / "table"), write_frame.build_task

    def hanging(job: Any, names: list[str]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
        task = real(job, names)

        def build(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            built = list(task(batches))
            hang_once(home)
            yield from built

        return build

    write_frame.build_task = hanging
    began = time.monotonic()
    try:
        write(logs(spark), url)
    finally:
        write_frame.build_task = real
    return outcome(home, url, time.monotonic() - began)


def hangs_before_its_upload(spark: SparkSession, home: Path) -> dict[str, Any]:
    """The data source, whose slow task waits for its rows."""
    url = str(home / "table")

    def slow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        hang_once(home)

    rows = logs(spark)
    began = time.monotonic()
    rows.mapInArrow(slow, rows.schema).write.format("indextables").mode("append").save(url)
    return outcome(home, url, time.monotonic() - began)


def main() -> None:
    home = Path(sys.argv[1])
    with cluster(home) as place:
        builder = SparkSession.builder.master(place).appName("speculation")
        own = {"spark.local.dir": str(home / "local"), "spark.sql.warehouse.dir": str(home / "warehouse")}
        for key, value in (SETTINGS | own).items():
            builder = builder.config(key, value)
        spark = install(builder.getOrCreate())
        found = {}
        for step in (hangs_after_its_upload, hangs_before_its_upload):
            (home / step.__name__).mkdir()
            found[step.__name__] = step(spark, home / step.__name__)
        spark.stop()
    (home / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
