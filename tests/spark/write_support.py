"""What the tests of writing share: frames of log lines, and what is in a table afterwards."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

import indextables
from indextables import Table


def logs(spark: SparkSession, rows: int, *, start: int = 0, parts: int = 2) -> DataFrame:
    numbers = spark.range(start, start + rows, 1, parts)
    return numbers.select(
        sql.col("id"),
        sql.concat(sql.lit("request "), sql.col("id").cast("string"), sql.lit(" failed")).alias("message"),
        sql.concat(sql.lit("2024-01-0"), (sql.col("id") % 3 + 1).cast("string")).alias("day"),
    )


def save(df: DataFrame, url: str, mode: str = "append", **options: object) -> None:
    df.write.format("indextables").mode(mode).options(**options).save(url)


def ids(url: str, **question: str) -> list[int]:
    return sorted(Table.open(url).scan(columns=["id"], **question).read_all().column("id").to_pylist())


def splits_on_disk(url: str) -> set[str]:
    return {str(path.relative_to(url)) for path in Path(url).rglob("*.split")}


def program_environment(home: Path) -> dict[str, str]:
    """Everything below a directory, and this very package."""
    source = str(Path(indextables.__file__).parents[1])
    own = {
        "PYTHONPATH": source,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "XDG_CACHE_HOME": str(home / "cache"),
        "SPARK_WORKER_DIR": str(home / "workers"),
        "PYTHONWARNINGS": "ignore",
    }
    return {**os.environ, **own}
