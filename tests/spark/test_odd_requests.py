"""Requests that are odd, and were once answered wrongly or with a page of somebody else's words."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from pyspark.sql import SparkSession

from indextables import Table
from indextables.core.errors import OptionError
from indextables.spark import read, write
from spark.write_support import ids, logs

pytestmark = pytest.mark.spark
ADVISORY = "spark.sql.adaptive.advisoryPartitionSizeInBytes"


def test_no_columns_are_refused_because_rows_would_be_lost(spark: SparkSession, url: str) -> None:
    write(logs(spark, 9), url)
    with pytest.raises(OptionError, match="columns names no column"):
        read(spark, url, columns=[])
    with pytest.raises(Exception, match="columns names no column"):
        spark.read.format("indextables").option("columns", "").load(url).count()


def test_names_with_dots_and_quotes_are_written(spark: SparkSession, url: str) -> None:
    df = spark.sql("SELECT id, id + 1 AS `a.b`, named_struct('b', id) AS a, id * 2 AS `x``y` FROM range(6)")
    write(df, url)
    rows = sorted(Table.open(url).scan().read_all().to_pylist(), key=lambda row: row["id"])
    assert rows == [{"id": n, "a.b": n + 1, "a": {"b": n}, "x`y": n * 2} for n in range(6)]


def test_modes_in_any_letter_case(spark: SparkSession, url: str) -> None:
    write(logs(spark, 3), url, "Append")  # type: ignore[arg-type]
    assert ids(url) == [0, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"txn": "a"}, "txn is 'a', expected the name of a writer"),
        ({"options": {"partitionOverwriteMode": True}}, "partitionOverwriteMode is True"),
        ({"options": {"replaceWher": "day = 1"}}, "did you mean replaceWhere"),
    ],
)
def test_what_is_wrong_is_said(spark: SparkSession, url: str, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        write(logs(spark, 3), url, "overwrite", **arguments)


def test_only_frames_are_written(url: str) -> None:
    with pytest.raises(OptionError, match="a DataFrame of Spark, not NoneType"):
        write(None, url)  # type: ignore[arg-type]


def test_writes_side_by_side_leave_the_session_as_it_was(spark: SparkSession, url: str) -> None:
    before = spark.conf.get(ADVISORY, None)
    options = {"write.optimizeWrite.enabled": "true", "write.optimizeWrite.targetSplitSize": "2M"}
    frame = logs(spark, 20)
    write(frame, url, options=options)
    threads = [
        threading.Thread(target=write, args=(frame, url, "append"), kwargs={"options": options}) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids(url)) == 80
    assert spark.conf.get(ADVISORY, None) == before
