"""`df.write.save(url)` in every mode, and what streams are told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamWriter

from indextables import Table
from spark.catalog_support import logs, refused
from spark.write_support import ids

pytestmark = pytest.mark.spark


def test_every_mode(spark: SparkSession, url: str) -> None:
    logs(spark).write.format("indextables").save(url)
    assert "there is a table at" in refused(logs(spark).write.format("indextables").save, url)
    logs(spark, 100).write.format("indextables").mode("ignore").save(url)
    assert ids(url) == list(range(9))
    logs(spark, 2, start=20).write.format("indextables").mode("append").save(url)
    assert ids(url) == [*range(9), 20, 21]
    logs(spark, 2).write.format("indextables").mode("overwrite").save(url)
    assert ids(url) == [0, 1]


@pytest.mark.parametrize("mode", ["error", "ignore", "append", "overwrite"])
def test_every_mode_makes_a_table(spark: SparkSession, url: str, mode: str) -> None:
    logs(spark).write.format("indextables").mode(mode).partitionBy("day").save(url)
    assert ids(url) == list(range(9))
    assert Table.open(url).partition_columns == ("day",)


def test_partition_by_must_fit_the_table(spark: SparkSession, url: str) -> None:
    logs(spark).write.format("indextables").partitionBy("day").save(url)
    logs(spark, 1, start=9).write.format("indextables").mode("append").partitionBy("day").save(url)
    again = logs(spark).write.format("indextables").mode("append")
    assert "is partitioned by day" in refused(again.partitionBy("id").save, url)
    assert "sortWithinPartitions" in refused(logs(spark).write.format("indextables").clusterBy("id").save, url)
    assert ids(url) == list(range(10))


def test_a_save_that_fails_leaves_nothing(spark: SparkSession, url: str) -> None:
    bad = spark.range(0, 10, 1, 1).selectExpr("id", "1 / (id - 5) x")
    for mode in ("error", "ignore", "append", "overwrite"):
        with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
            bad.write.format("indextables").mode(mode).save(url)
        assert not Path(url).exists()


def test_a_schema_may_be_given_to_a_load(spark: SparkSession, url: str) -> None:
    logs(spark).write.format("indextables").save(url)
    assert spark.read.format("indextables").schema("message STRING").load(url).columns == ["message"]


def test_streams_are_refused_in_one_line(spark: SparkSession, url: str, tmp_path: Path) -> None:
    logs(spark).write.format("indextables").save(url)
    assert "does not support streamed reading" in refused(spark.readStream.format("indextables").load, url)
    stream = spark.readStream.format("rate").load().writeStream.format("indextables")
    assert "foreachBatch" in refused(stream.option("checkpointLocation", str(tmp_path / "c")).start, url)


def ends(stream: DataStreamWriter) -> str:
    """What Spark says of a stream that begins and ends at once. Its line goes before a page of Spark's own about every stream."""
    with pytest.raises(PySparkException) as caught:
        stream.start().awaitTermination(120)
    said, _, page = str(caught.value).partition("=== Streaming Query ===")
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith(" SQLSTATE")]
    assert len(lines) == 1, said
    assert "Traceback" not in page
    return lines[0]


def test_the_python_source_refuses_streams_in_one_line(
    spark: SparkSession, python_source: str, url: str, tmp_path: Path
) -> None:
    logs(spark).write.format("indextables").save(url)
    read = spark.readStream.format(python_source).load(url).writeStream.format("memory").queryName("refused")
    assert re.search(
        r"IndexTablesError: tables are not read as streams: .*spark\.read",
        ends(read.option("checkpointLocation", str(tmp_path / "read"))),
    )
    rate = spark.readStream.format("rate").load().selectExpr("value AS id", "'m' AS message", "'d' AS day")
    write = rate.writeStream.format(python_source).option("path", url)
    assert re.search(
        r"IndexTablesError: streams are not written with this format: .*foreachBatch",
        ends(write.option("checkpointLocation", str(tmp_path / "write"))),
    )
    assert ids(url) == list(range(9))


@pytest.mark.parametrize("mode", ["error", "ignore", "append", "overwrite"])
def test_the_python_source_gives_no_names(spark: SparkSession, python_source: str, mode: str) -> None:
    with pytest.raises(
        PySparkException, match=r"OptionError: a write needs the place of its table: .*\.save"
    ) as caught:
        logs(spark).write.format(python_source).mode(mode).saveAsTable("nameless")
    lines = [line for line in str(caught.value).splitlines() if line.strip() and "SQLSTATE" not in line]
    assert len(lines) == 1, str(caught.value)
    assert not spark.catalog.tableExists("nameless")


def test_a_connect_client_has_names_too(remote: SparkSession, url: str) -> None:
    remote.range(5).write.format("indextables").save(url)
    assert remote.sql(f"SELECT count(*) FROM indextables.`{url}`").collect()[0][0] == 5
    remote.range(5, 7).write.format("indextables").saveAsTable("of_a_client")
    remote.sql("INSERT INTO of_a_client VALUES (9)")
    assert [row[0] for row in remote.sql("SELECT id FROM of_a_client ORDER BY id").collect()] == [5, 6, 9]
    remote.sql("DROP TABLE of_a_client")
