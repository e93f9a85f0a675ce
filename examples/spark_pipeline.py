"""A pipeline in Spark: JSON logs become a table that is partitioned by day, and a search in it is joined with another table.

    python examples/spark_pipeline.py

It needs PySpark (`pip install 'indextables[spark]'`) and Java 17 or newer, makes its own logs, and leaves nothing behind.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from indextables.spark import install, merge_splits, write

LINES = int(os.environ.get("PIPELINE_LINES", "20000"))
DAYS = 3
FIRST_DAY = datetime(2026, 3, 2, tzinfo=UTC)
SERVICES = (("checkout", "payments"), ("search", "discovery"), ("cart", "payments"), ("login", "identity"))
MESSAGES = (
    ("INFO", "request served in {ms} ms"),
    ("INFO", "user {user} logged in"),
    ("WARN", "retrying connection to db-{shard} after reset by peer"),
    ("ERROR", "connection to db-{shard} timed out after {ms} ms"),
)


def make_logs(directory: Path, lines: int, first_day: int, days: int) -> None:
    """Write a file of JSON lines for each day, as a log collector does."""
    directory.mkdir()
    chance = random.Random(first_day)
    for day in range(first_day, first_day + days):
        with (directory / f"{day}.json").open("w") as file:
            for _ in range(lines // days):
                at = FIRST_DAY + timedelta(days=day, seconds=chance.randrange(86_400))
                level, text = chance.choices(MESSAGES, weights=(80, 15, 4, 1))[0]
                values = {"ms": chance.randrange(9000), "user": chance.randrange(500), "shard": chance.randrange(4)}
                line = {"ts": at.isoformat(), "level": level, "service": chance.choice(SERVICES)[0]}
                file.write(json.dumps(line | {"message": text.format(**values)}) + "\n")


def read_logs(spark: SparkSession, directory: Path) -> DataFrame:
    """The logs as rows, with the day that each belongs to."""
    lines = spark.read.schema("ts TIMESTAMP, level STRING, service STRING, message STRING").json(str(directory))
    return lines.withColumn("day", sql.to_date("ts"))


def run(spark: SparkSession, home: Path) -> None:
    """The pipeline itself."""
    url, first, late = str(home / "logs-table"), home / "first", home / "late"
    make_logs(first, LINES, 0, DAYS)
    make_logs(late, LINES // 10, DAYS - 1, 1)

    # 1. write: one split per day and task, the message indexed for full-text search
    written = write(
        read_logs(spark, first),
        url,
        partition_by="day",
        txn=("nightly-load", 1),  # running this step again writes nothing
        options={"indexing.typemap.message": "text", "write.optimizeWrite.enabled": "true"},
    )
    print(
        f"version {written.version}: {written.metrics['numAddedRecords']:,} rows in {written.metrics['numAddedFiles']} splits"
    )

    # 2. what came in late, through the data source; and the small splits of that day put together
    read_logs(spark, late).write.format("indextables").mode("append").save(url)
    merged = merge_splits(spark, url)
    print(f"merged {merged.sources} splits into {merged.results}")

    # 3. search and join in SQL: the index and the log answer the search, the level and the day
    spark.sql(f"CREATE TABLE logs USING indextables LOCATION '{url}'")
    spark.createDataFrame(SERVICES, "service STRING, team STRING").createOrReplaceTempView("owners")
    spark.sql("""
        SELECT team, count(*) AS timeouts
        FROM logs JOIN owners USING (service)
        WHERE message INDEXQUERY '"timed out" AND connection' AND level = 'ERROR' AND day >= DATE'2026-03-03'
        GROUP BY team ORDER BY team
    """).show()

    # 4. groups: from the index, without a job
    spark.sql("SELECT level, count(*) AS lines FROM logs GROUP BY level ORDER BY level").show()

    # 5. the table as it was before the late lines
    before = spark.sql("SELECT count(*) FROM logs VERSION AS OF 1").first()[0]
    print(f"{before:,} lines at version 1")
    spark.sql("DROP TABLE logs")


def main() -> None:
    """A session on this machine, and the pipeline in a directory that is gone afterwards."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("pipeline")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    install(spark)
    with tempfile.TemporaryDirectory(prefix="indextables-pipeline-") as home:
        run(spark, Path(home))
    spark.stop()


if __name__ == "__main__":
    main()
