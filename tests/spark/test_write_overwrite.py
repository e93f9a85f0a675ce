"""Overwriting, exactly-once batches and optimised writes, through the source and through `write`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from indextables import Table, errors
from indextables.spark import optimize, write
from spark.write_support import ids, logs, save, splits_on_disk

pytestmark = pytest.mark.spark


def days(url: str) -> dict[str | None, int]:
    table = Table.open(url).aggregate(by="day", metrics={"n": "count"})
    return dict(zip(table.column("day").to_pylist(), table.column("n").to_pylist(), strict=True))


@pytest.fixture
def partitioned(spark: SparkSession, url: str) -> str:
    """Thirty rows, ten a day."""
    write(logs(spark, 30), url, partition_by="day")
    return url


def by_source(df: DataFrame, url: str, **options: str) -> None:
    save(df, url, "overwrite", **options)


def by_helper(df: DataFrame, url: str, **options: str) -> None:
    write(df, url, "overwrite", options=options)


both = pytest.mark.parametrize("overwrite", [by_source, by_helper])


@both
def test_overwrite_replaces_everything(spark: SparkSession, partitioned: str, overwrite: Callable[..., None]) -> None:
    overwrite(logs(spark, 3, start=100), partitioned)
    assert ids(partitioned) == [100, 101, 102]
    assert Table.open(partitioned, version=1).count() == 30
    assert Table.open(partitioned).history().column("operation").to_pylist() == ["WRITE", "WRITE", "CREATE TABLE"]


@both
def test_dynamic_overwrite_replaces_the_partitions_that_get_rows(
    spark: SparkSession, partitioned: str, overwrite: Callable[..., None]
) -> None:
    new = logs(spark, 3, start=99).where("day != '2024-01-01'")
    overwrite(new, partitioned, partitionOverwriteMode="dynamic")
    assert days(partitioned) == {"2024-01-01": 10, "2024-01-02": 1, "2024-01-03": 1}


def test_dynamic_overwrite_of_the_null_partition_and_of_an_empty_frame(spark: SparkSession, partitioned: str) -> None:
    null = spark.sql("SELECT 1000L AS id, 'x' AS message, CAST(NULL AS STRING) AS day")
    write(null, partitioned, "append")
    write(
        null.selectExpr("id + 1 AS id", "message", "day"),
        partitioned,
        "overwrite",
        options={"partitionOverwriteMode": "dynamic"},
    )
    assert days(partitioned) == {"2024-01-01": 10, "2024-01-02": 10, "2024-01-03": 10, None: 1}
    assert 1001 in ids(partitioned)
    assert 1000 not in ids(partitioned)
    done = write(logs(spark, 0), partitioned, "overwrite", options={"partitionOverwriteMode": "dynamic"})
    assert (done.written, done.reason) == (False, "the data has no rows")


def test_overwrite_by_an_empty_frame_empties_the_table(spark: SparkSession, partitioned: str) -> None:
    assert write(logs(spark, 0), partitioned, "overwrite").written
    assert ids(partitioned) == []


@both
def test_replace_where_replaces_what_it_selects(
    spark: SparkSession, partitioned: str, overwrite: Callable[..., None]
) -> None:
    new = logs(spark, 30, start=300).where("day = '2024-01-02'").limit(2)
    overwrite(new, partitioned, replaceWhere="day >= '2024-01-02'")
    assert days(partitioned) == {"2024-01-01": 10, "2024-01-02": 2}


def test_replace_where_refuses_rows_that_it_does_not_select(spark: SparkSession, partitioned: str) -> None:
    before = splits_on_disk(partitioned)
    with pytest.raises(errors.PredicateError, match=r"which .* does not select: leave such rows out"):
        write(logs(spark, 9, start=300), partitioned, "overwrite", replace_where="day = '2024-01-02'")
    with pytest.raises(PySparkException, match=r"PredicateError: row [0-9]+ of the data has day=") as caught:
        save(logs(spark, 9, start=300), partitioned, "overwrite", replaceWhere="day = '2024-01-02'")
    assert "inside" not in str(caught.value)
    with pytest.raises(errors.PredicateError, match="replaceWhere 'id = 3' asks for id, but only whole partitions"):
        write(logs(spark, 9), partitioned, "overwrite", replace_where="id = 3")
    assert ids(partitioned) == list(range(30))
    assert splits_on_disk(partitioned) == before


def test_a_batch_is_written_once(spark: SparkSession, url: str) -> None:
    for start in (0, 100):
        done = write(logs(spark, 5, start=start), url, "append", txn=("nightly", 7))
    assert (done.written, done.version) == (False, 1)
    assert done.reason == "batch 7 of nightly is in the table already"
    save(logs(spark, 5, start=200), url, txnAppId="nightly", txnVersion="7")
    assert ids(url) == [0, 1, 2, 3, 4]
    save(logs(spark, 1, start=300), url, txnAppId="nightly", txnVersion="8")
    save(logs(spark, 1, start=400), url, txnAppId="hourly", txnVersion="0")
    assert ids(url) == [0, 1, 2, 3, 4, 300, 400]
    assert splits_on_disk(url) == set(Table.open(url).files().column("path").to_pylist())


def test_a_batch_without_rows_is_noted_all_the_same(spark: SparkSession, url: str) -> None:
    write(logs(spark, 1), url)
    assert write(logs(spark, 0), url, "append", txn=("nightly", 1)).written
    assert not write(logs(spark, 5), url, "append", txn=("nightly", 1)).written


def test_two_writers_of_one_batch_write_it_once(spark: SparkSession, url: str) -> None:
    from indextables.spark.writing.write_options import parse_request

    write(logs(spark, 1), url)
    options = {"path": url, "txnAppId": "nightly", "txnVersion": "1"}
    jobs = [parse_request(options, overwrite=False).begin(logs(spark, 1).schema.json()) for _ in range(2)]
    built = [job.build(logs(spark, 4, start=10).toArrow().to_batches()) for job in jobs]
    assert jobs[0].commit(built[:1]).written
    late = jobs[1].commit(built[1:])
    assert (late.written, late.reason) == (False, "batch 1 of nightly is in the table already")
    assert ids(url) == [0, 10, 11, 12, 13]
    assert splits_on_disk(url) == set(Table.open(url).files().column("path").to_pylist())


@pytest.mark.parametrize("mode", ["balanced", "hash"])
def test_optimised_writes_make_few_splits(
    spark: SparkSession, url: str, setting: Callable[[str, str], None], mode: str
) -> None:
    setting("spark.sql.adaptive.enabled", "true")
    rows = logs(spark, 90, parts=6)
    scattered = write(rows, url + "-scattered", partition_by="day")
    assert scattered.metrics["numAddedFiles"] == 18
    options = {"write.optimizeWrite.enabled": "true", "write.optimizeWrite.distributionMode": mode}
    before = spark.conf.get("spark.sql.adaptive.advisoryPartitionSizeInBytes")
    done = write(rows, url, partition_by="day", options=options)
    assert done.metrics["numAddedFiles"] == 3
    assert ids(url) == list(range(90))
    assert spark.conf.get("spark.sql.adaptive.advisoryPartitionSizeInBytes") == before


def test_optimise_before_the_source(spark: SparkSession, url: str) -> None:
    rows = logs(spark, 30, parts=4)
    with pytest.raises(PySparkException, match="moves rows between tasks, which Spark does not let a Python source do"):
        save(rows, url, **{"spark.indextables.write.optimizeWrite.enabled": "true"})
    save(optimize(rows, ["day"], {"write.optimizeWrite.distributionMode": "hash"}), url, partitionBy="day")
    assert Table.open(url).files().num_rows == 3
