"""Two executors as processes of their own: where tasks run, and what travels to them. Writes what each step found as JSON.

python places_program.py DIRECTORY
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from indextables import Table
from indextables.spark import install
from indextables.spark.connector.bridge import VERBS

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.log.level": "OFF",
    "spark.sql.session.timeZone": "UTC",
    "spark.default.parallelism": "5",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "20",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.ui.showConsoleProgress": "false",
    "spark.indextables.read.local.enabled": "false",
    "spark.indextables.read.splitsPerTask": "1",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dlog4j2.level=OFF",
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dlog4j2.level=OFF",
}
SPLITS, ROWS = 6, 50
SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.int32())])


def executor() -> int:
    """The Java process that this Python worker belongs to: the parent of the daemon that forked it."""
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])


def build(url: str) -> None:
    table = Table.create(url, SCHEMA, partition_by=["day"])
    for number in range(SPLITS):
        ids = range(number * ROWS, number * ROWS + ROWS)
        table.append(pa.table([ids, [number] * ROWS], schema=SCHEMA))


def same_places(spark: SparkSession, home: Path) -> dict[str, Any]:
    """Which executor reads which split, in questions one after the other."""
    url = str(home / "places")
    build(url)

    def named(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            splits = {value // ROWS for value in batch.column(0).to_pylist()}
            time.sleep(0.1)
            yield pa.RecordBatch.from_pydict({"split": sorted(splits), "process": [executor()] * len(splits)})

    df = spark.read.format("indextables").load(url).select("id")
    found = []
    for _ in range(4):
        rows = df.mapInArrow(named, "split long, process long").collect()
        found.append({str(row.split): row.process for row in sorted(rows)})
        time.sleep(0.5)
    return {"found": found, "executors": len(set(found[0].values()))}


def by_partition(spark: SparkSession, home: Path) -> dict[str, Any]:
    """A join by partition: the partitions with their keys stay in the driver, Spark's own ones travel."""
    left, right = str(home / "left"), str(home / "right")
    build(left)
    build(right)
    one, two = (spark.read.format("indextables").load(url) for url in (left, right))
    joined = one.join(two.withColumnRenamed("id", "other"), "day").where("abs(id - other) < 1")
    plan = joined._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    return {"rows": sorted(row.id for row in joined.collect()), "exchange": "Exchange" in plan}


def processors(spark: SparkSession, home: Path) -> dict[str, Any]:
    """What the planner is told of the cluster, which has other processors than this process."""
    told, tasks = [], VERBS["tasks"]
    VERBS["tasks"] = lambda asked: told.append([asked["processors"], len(asked["executors"])]) or tasks(asked)  # type: ignore[func-returns-value]
    try:
        rows = len(spark.read.format("indextables").load(str(home / "places")).collect())
    finally:
        VERBS["tasks"] = tasks
    return {"told": told, "rows": rows}


def main() -> None:
    home = Path(sys.argv[1])
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("places")
    settings = SETTINGS | {"spark.local.dir": str(home / "local"), "spark.sql.warehouse.dir": str(home / "warehouse")}
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = install(builder.getOrCreate())
    found = {step.__name__: step(spark, home) for step in (same_places, by_partition, processors)}
    (home / "found.json").write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()
