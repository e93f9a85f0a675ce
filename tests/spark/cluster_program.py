"""Two executors as processes of their own, and what is done to them. Prints one JSON object: what each step found.

python cluster_program.py DIRECTORY
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import InheritableThread
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from indextables import Table
from indextables.spark import compact, count, install, merge_splits, prewarm, write
from indextables.spark.connector.planning import planner
from indextables.spark.writing import write_frame

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.log.level": "OFF",
    "spark.speculation": "true",
    "spark.task.maxFailures": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dlog4j2.level=OFF",
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dlog4j2.level=OFF",
}


def logs(spark: SparkSession, rows: int, parts: int) -> DataFrame:
    text = sql.concat(sql.lit("request "), sql.col("id").cast("string"))
    return spark.range(0, rows, 1, parts).select("id", text.alias("message"), (sql.col("id") % 2).alias("half"))


def ids(url: str) -> list[int]:
    return sorted(Table.open(url).scan(columns=["id"]).read_all().column("id").to_pylist())


def orphans(url: str) -> int:
    live = set(Table.open(url).files().column("path").to_pylist())
    return len({str(path.relative_to(url)) for path in Path(url).rglob("*.split")} - live)


def executor() -> int:
    """The Java process that this Python worker belongs to: the parent of the daemon that forked it."""
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])


def buckets(spark: SparkSession, url: str) -> list[list[Any]]:
    """Buckets that Spark computes, on executors that do not have the functions' classes."""
    rows = spark.read.format("indextables").load(url).where("id + 0 < 150")
    found = rows.selectExpr("indextables_histogram(id, 100) AS k", "indextables_range(id, 50, 120) AS r")
    return [list(row) for row in found.groupBy("k", "r").count().sort("k", "r").collect()]


def both_executors(spark: SparkSession, home: Path) -> dict[str, Any]:
    url = str(home / "together")

    def named(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        time.sleep(0.3)  # long enough for the other executor to take a task
        yield from batches
        Path(home, f"executor-{executor()}").touch()

    rows = logs(spark, 200, 6)
    written = write(rows.mapInArrow(named, rows.schema), url, partition_by="half")
    rows.write.format("indextables").mode("append").save(url)
    read = spark.read.format("indextables").load(url)
    found = {
        "executors": len(list(home.glob("executor-*"))),
        "written": written.metrics["numAddedFiles"],
        "read": sorted(row.id for row in read.select("id").collect()),
        "searched": read.where("half = 1").count(),
        "counted": count(spark, url).first()[0],
        "buckets": buckets(spark, url),
        "buckets_of_a_new_session": buckets(spark.newSession(), url),
    }
    merged = merge_splits(spark, url)
    warm = prewarm(spark, url)
    state = compact(spark, url)
    found |= {
        "merged": [merged.sources, merged.results, merged.rows],
        "warm": sum(done.fetched for done in warm.values()),
        "compacted": state.kind,
        "after": ids(url),
    }
    return found


def statements(spark: SparkSession, home: Path) -> dict[str, Any]:
    """Statements that ask executors, and a query that is cancelled while the driver answers it."""
    url = str(home / "statements")
    write(logs(spark, 40, 4), url)
    read = spark.read.format("indextables").option("spark.indextables.read.local.enabled", "false").load(url)
    scanned = len(read.collect())
    stats = spark.sql("DESCRIBE INDEXTABLES STORAGE STATS").collect()
    roles = spark.sql("DESCRIBE INDEXTABLES ENVIRONMENT").select("role").distinct().collect()
    warm = spark.sql(f"PREWARM INDEXTABLES CACHE '{url}'").collect()
    begun = spark.sql(f"PREWARM INDEXTABLES CACHE '{url}' ASYNC MODE").collect()
    waited = spark.sql("WAIT FOR INDEXTABLES PREWARM JOBS").collect()
    cache = spark.sql("DESCRIBE INDEXTABLES DISK CACHE").collect()
    merged = spark.sql(f"MERGE SPLITS '{url}'").collect()
    return {
        "executors": sorted({row.executor_id for row in stats}),
        "scanned": scanned,
        "requests": sum(row.requests for row in stats if row.executor_id != "driver"),
        "bytes_fetched": sum(row.bytes_fetched for row in stats if row.executor_id != "driver"),
        "splits_cached": [row.splits_cached for row in cache if row.executor_id != "driver"],
        "roles": sorted(row.role for row in roles),
        "warm": [[row.splits_prewarmed, row.status] for row in warm],
        "begun": [row.status for row in begun],
        "waited": [[row.status, row.error_message] for row in waited],
        "merged": [[row.sources, row.results, row.rows] for row in merged],
        "cancelled": cancelled(spark, url),
    }


def cancelled(spark: SparkSession, url: str) -> str:
    """What a query says whose job group was cancelled while the driver answered it."""
    said: list[str] = []
    answer_here = planner.answer_here

    def slow(plan: Any) -> Any:
        time.sleep(8)
        return answer_here(plan)

    def run() -> None:
        spark.sparkContext.setJobGroup("group", "to be cancelled")
        try:
            said.append(str(spark.read.format("indextables").load(url).where("id = 5").collect()))
        except Exception as error:
            said.append(str(error))

    planner.answer_here = slow
    try:
        thread = InheritableThread(target=run)
        thread.start()
        time.sleep(3)
        spark.sparkContext.cancelJobGroup("group")
        thread.join(3)
    finally:
        planner.answer_here = answer_here
    return said[0] if said else "the query goes on"


def executor_killed_during_write(spark: SparkSession, home: Path) -> dict[str, Any]:
    url = str(home / "executor-killed")
    victim = home / "victim"

    def slow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if 0 in batch.column(0).to_pylist() and not victim.exists():
                half = victim.with_suffix(".half")
                half.write_text(str(executor()))
                half.rename(victim)
                time.sleep(120)  # it is killed by then

    killed: list[int] = []

    def kill() -> None:
        while not victim.exists():
            time.sleep(0.02)
        killed.append(int(victim.read_text()))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    rows = logs(spark, 100, 4)
    done = write(rows.mapInArrow(slow, rows.schema), url)
    killer.join(10)
    return {"killed": len(killed), "rows": ids(url), "version": done.version}


def worker_killed_after_upload(spark: SparkSession, home: Path) -> dict[str, Any]:
    """The first attempt of a task dies when its splits are in the store, and Spark tries it again."""
    url, marker = str(home / "worker-killed"), home / "died"
    real = write_frame.build_task

    def dying(job: Any, names: list[str]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
        task = real(job, names)

        def build(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            built = list(task(batches))
            from pyspark import TaskContext

            context = TaskContext.get()
            if context is not None and context.partitionId() == 1 and context.attemptNumber() == 0:
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield from built

        return build

    write_frame.build_task = dying
    try:
        done = write(logs(spark, 100, 4), url)
    finally:
        write_frame.build_task = real
    return {"died": marker.exists(), "rows": ids(url), "orphans": orphans(url), "files": done.metrics["numAddedFiles"]}


def main() -> None:
    home = Path(sys.argv[1])
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("cluster")
    settings = SETTINGS | {"spark.local.dir": str(home / "local"), "spark.sql.warehouse.dir": str(home / "warehouse")}
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = install(builder.getOrCreate())
    steps = (both_executors, statements, worker_killed_after_upload, executor_killed_during_write)
    found = {step.__name__: step(spark, home) for step in steps}
    (home / "found.json").write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()
