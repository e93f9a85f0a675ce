"""A table that is overwritten with what was computed from it: rows that others add meanwhile are never lost without a word."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as sql

from indextables import Table
from spark.catalog_support import logs, one, refused, rows

pytestmark = pytest.mark.spark
LATE = {"id": 1_000, "message": "late", "day": "d0"}
"""The row that somebody else appends while the statement runs."""


def meanwhile(url: str, marker: Path, row: dict[str, object]) -> Column:
    """A column that is always true. The first row that computes it appends a row to the table, as another process would."""

    @sql.udf("boolean", useArrow=False)
    def append_once(_: int) -> bool:
        try:
            marker.touch(exist_ok=False)
        except FileExistsError:
            return True
        table = Table.open(url)
        table.append(pa.Table.from_pylist([row], schema=table.schema))
        return True

    return append_once("id")


@pytest.fixture
def table(spark: SparkSession, url: str) -> str:
    """Nine rows in the partitions d0, d1 and d2, by the name of their place."""
    logs(spark).write.format("indextables").partitionBy("day").save(url)
    return f"indextables.`{url}`"


@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_an_append_to_what_is_replaced_is_a_conflict(
    spark: SparkSession, url: str, table: str, tmp_path: Path, mode: str
) -> None:
    spark.table(table).where(meanwhile(url, tmp_path / "once", LATE)).createOrReplaceTempView("kept")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", mode)
    try:
        said = refused(spark.sql, f"INSERT OVERWRITE {table} SELECT * FROM kept")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
        spark.catalog.dropTempView("kept")
    assert "FilesChanged" in said
    assert "the new rows were computed from version 1, and version 2 changed rows" in said
    assert one(spark, f"SELECT count(*) FROM {table}") == 10
    spark.sql(f"INSERT OVERWRITE {table} SELECT id, upper(message), day FROM {table}")
    assert (1_000, "LATE", "d0") in rows(spark, f"SELECT * FROM {table}")
    assert one(spark, f"SELECT count(*) FROM {table}") == 10


def test_an_append_to_another_partition_is_none(spark: SparkSession, url: str, table: str, tmp_path: Path) -> None:
    other = LATE | {"day": "d2"}
    spark.table(table).where(meanwhile(url, tmp_path / "once", other)).createOrReplaceTempView("kept")
    spark.sql(f"INSERT INTO {table} REPLACE WHERE day = 'd0' SELECT id, upper(message), day FROM kept WHERE day = 'd0'")
    spark.catalog.dropTempView("kept")
    found = rows(spark, f"SELECT * FROM {table}")
    assert len(found) == 10
    assert (0, "M0", "d0") in found
    assert (1_000, "late", "d2") in found


def test_a_query_that_reads_elsewhere_replaces_what_is_there(
    spark: SparkSession, url: str, table: str, tmp_path: Path
) -> None:
    """As ever: the overwrite comes after the append that somebody else made."""
    logs(spark, 3).where(meanwhile(url, tmp_path / "once", LATE)).createOrReplaceTempView("fresh")
    spark.sql(f"INSERT OVERWRITE {table} SELECT * FROM fresh")
    spark.catalog.dropTempView("fresh")
    assert one(spark, f"SELECT count(*) FROM {table}") == 3


def test_an_older_version_is_restored(spark: SparkSession, url: str, table: str) -> None:
    """A query that names an older version wants what came later to be gone."""
    logs(spark, 3, 100).write.format("indextables").mode("append").save(url)
    spark.sql(f"INSERT OVERWRITE {table} SELECT * FROM {table} VERSION AS OF 1")
    assert one(spark, f"SELECT count(*) FROM {table}") == 9


def test_a_table_that_is_replaced_by_its_own_rows(spark: SparkSession, url: str, table: str, tmp_path: Path) -> None:
    spark.table(table).where(meanwhile(url, tmp_path / "once", LATE)).createOrReplaceTempView("kept")
    said = refused(
        spark.sql,
        f"CREATE OR REPLACE TABLE {table} PARTITIONED BY (day) AS SELECT id, day, length(message) AS size FROM kept",
    )
    spark.catalog.dropTempView("kept")
    assert "FilesChanged" in said
    assert one(spark, f"SELECT count(*) FROM {table}") == 10
    assert spark.table(table).columns == ["id", "message", "day"]


def test_a_table_that_only_a_subquery_reads(spark: SparkSession, url: str, table: str, tmp_path: Path) -> None:
    """The rows of the subquery are a part of the plan before the rule that looks for tables sees it."""
    logs(spark, 30).where(meanwhile(url, tmp_path / "once", LATE)).createOrReplaceTempView("fresh")
    said = refused(
        spark.sql,
        f"INSERT OVERWRITE {table} SELECT * FROM fresh WHERE id > (SELECT count(*) FROM {table} WHERE id < 4)",
    )
    spark.catalog.dropTempView("fresh")
    assert "FilesChanged" in said
    assert one(spark, f"SELECT count(*) FROM {table}") == 10


class TestSessionsThatBeginAfterInstall:
    """Such a session shares the extensions of the application, and calls no install of its own."""

    def test_an_append_to_what_is_replaced_is_a_conflict(
        self, spark: SparkSession, url: str, table: str, tmp_path: Path
    ) -> None:
        other = spark.newSession()
        other.table(table).where(meanwhile(url, tmp_path / "once", LATE)).createOrReplaceTempView("kept")
        said = refused(other.sql, f"INSERT OVERWRITE {table} SELECT * FROM kept")
        assert "FilesChanged" in said
        assert "the new rows were computed from version 1, and version 2 changed rows" in said
        assert one(other, f"SELECT count(*) FROM {table}") == 10

    def test_cached_rows_are_of_the_version_that_was_cached(self, spark: SparkSession, url: str, table: str) -> None:
        other = spark.newSession()
        kept = other.read.format("indextables").load(url).cache()
        assert kept.count() == 9
        logs(spark, 1, 50).write.format("indextables").mode("append").save(url)
        said = refused(kept.where("id < 3").write.format("indextables").mode("overwrite").save, url)
        kept.unpersist()
        assert "FilesChanged" in said
        assert one(spark, f"SELECT count(*) FROM {table}") == 10

    def test_a_query_that_reads_elsewhere_replaces_what_is_there(
        self, spark: SparkSession, url: str, table: str, tmp_path: Path
    ) -> None:
        other = spark.newSession()
        logs(other, 3).where(meanwhile(url, tmp_path / "once", LATE)).createOrReplaceTempView("fresh")
        other.sql(f"INSERT OVERWRITE {table} SELECT * FROM fresh")
        assert one(other, f"SELECT count(*) FROM {table}") == 3

    def test_rows_are_not_changed_one_by_one(self, spark: SparkSession, table: str) -> None:
        other = spark.newSession()
        assert "REPLACE WHERE" in refused(other.sql, f"UPDATE {table} SET id = 1")
        assert one(other, f"SELECT count(*) FROM {table}") == 9


class TestVersionsThatTheCallerNames:
    @pytest.mark.parametrize("mode", ["append", "overwrite"])
    def test_rows_that_changed_since_are_a_conflict(self, spark: SparkSession, url: str, table: str, mode: str) -> None:
        fresh = logs(spark, 3, 100).write.format("indextables").mode(mode)
        logs(spark, 1, 50).write.format("indextables").mode("append").save(url)
        said = refused(fresh.option("ifVersion", 1).save, url)
        assert "FilesChanged" in said
        assert "computed from version 1, and version 2 changed rows" in said
        assert one(spark, f"SELECT count(*) FROM {table}") == 10
        fresh.option("ifVersion", 2).save(url)
        assert one(spark, f"SELECT count(*) FROM {table}") == {"append": 13, "overwrite": 3}[mode]

    def test_rows_that_change_meanwhile_are_one_where_that_is_asked_for(
        self, spark: SparkSession, url: str, table: str, tmp_path: Path
    ) -> None:
        late = logs(spark, 3).where(meanwhile(url, tmp_path / "once", LATE))
        writer = late.write.format("indextables").mode("overwrite")
        assert "FilesChanged" in refused(writer.option("ifChanged", "error").save, url)
        assert one(spark, f"SELECT count(*) FROM {table}") == 10

    def test_rows_that_change_meanwhile_are_replaced_where_that_is_asked_for(
        self, spark: SparkSession, url: str, table: str, tmp_path: Path
    ) -> None:
        kept = spark.table(table).where(meanwhile(url, tmp_path / "once", LATE))
        kept.write.format("indextables").mode("overwrite").option("ifChanged", "replace").save(url)
        assert one(spark, f"SELECT count(*) FROM {table}") == 9

    @pytest.mark.parametrize(
        ("mode", "options"),
        [
            ("overwrite", {"ifVersion": "x"}),
            ("overwrite", {"ifVersion": "-1"}),
            ("overwrite", {"ifChanged": "maybe"}),
            ("overwrite", {"ifChanged": "error", "ifVersion": "1"}),
            ("append", {"ifChanged": "error"}),
        ],
    )
    def test_what_is_refused(
        self, spark: SparkSession, url: str, table: str, mode: str, options: dict[str, str]
    ) -> None:
        said = refused(logs(spark, 3).write.format("indextables").mode(mode).options(**options).save, url)
        assert "OptionError" in said
        assert one(spark, f"SELECT count(*) FROM {table}") == 9
