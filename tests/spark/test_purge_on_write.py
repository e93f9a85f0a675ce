"""Purges that follow writes of Spark: which ways of writing they follow."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from indextables import Table
from indextables.spark import merge_splits, write
from spark.write_support import ids, logs, save

pytestmark = pytest.mark.spark

ON = {"spark.indextables.purgeOnWrite.enabled": "true", "spark.indextables.purgeOnWrite.triggerAfterWrites": "1"}


@pytest.fixture
def old(spark: SparkSession, url: str) -> Path:
    """A split that no version names, a month old, in a table of a few splits."""
    write(logs(spark, 12, parts=3), url, partition_by="day")
    path = Path(url) / "splits" / "split-orphan.split"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"orphan")
    moment = time.time() - 30 * 86_400
    os.utime(path, (moment, moment))
    return path


def purged(path: Path) -> bool:
    """Whether the orphan is gone when no purge runs any more."""
    for thread in threading.enumerate():
        if thread.name == "indextables-purge-on-write":
            thread.join(60)
            assert not thread.is_alive()
    return not path.exists()


@pytest.mark.parametrize("way", ["write", "save", "insert", "delete", "merge"])
def test_a_purge_follows(spark: SparkSession, url: str, old: Path, way: str) -> None:
    for key, value in ON.items():
        spark.conf.set(key, value)
    try:
        more = logs(spark, 3, start=12)
        more.createOrReplaceTempView("more")
        if way == "write":
            write(more, url, "append", options=ON)
        elif way == "save":
            save(more, url)
        elif way == "insert":
            spark.sql(f"INSERT INTO indextables.`{url}` SELECT * FROM more")
        elif way == "delete":
            spark.sql(f"DELETE FROM indextables.`{url}` WHERE day = '2024-01-01'")
        else:
            assert merge_splits(spark, url, options=ON).results > 0
        assert purged(old)
    finally:
        for key in ON:
            spark.conf.unset(key)
    assert ids(url) == {
        "delete": [number for number in range(12) if number % 3],
        "merge": list(range(12)),
    }.get(way, list(range(15)))


def test_none_follows_unless_asked_for(spark: SparkSession, url: str, old: Path) -> None:
    write(logs(spark, 3, start=12), url, "append")
    save(logs(spark, 3, start=15), url)
    assert not purged(old)


def test_none_follows_a_write_of_the_python_source(
    spark: SparkSession, url: str, old: Path, python_source: str
) -> None:
    """The process that commits ends right after the commit, and would kill a purge."""
    logs(spark, 3, start=12).write.format(python_source).mode("append").options(**ON).save(url)
    time.sleep(1)
    assert not purged(old)
    assert Table.open(url).count() == 15
