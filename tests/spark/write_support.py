"""What the tests of writing share: frames of log lines, and what is in a table afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

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


def found_by(program: str, home: Path) -> dict[str, Any]:
    """What a program of this folder found out in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name(program)), str(home)],
        env=program_environment(home),
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answers: dict[str, Any] = json.loads((home / "found.json").read_text())
    return answers
