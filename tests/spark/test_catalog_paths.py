"""The catalog `indextables`: the name of a table is its path."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from indextables import Table
from spark.catalog_support import logs, one, refused, rows
from spark.support import executed_plan

pytestmark = pytest.mark.spark


@pytest.fixture
def name(url: str) -> str:
    return f"indextables.`{url}`"


@pytest.fixture
def filled(spark: SparkSession, url: str, name: str) -> str:
    logs(spark).write.format("indextables").partitionBy("day").save(url)
    return name


def test_a_path_is_a_name(spark: SparkSession, filled: str) -> None:
    assert one(spark, f"SELECT count(*) FROM {filled}") == 9
    assert rows(spark, f"SELECT id FROM {filled} WHERE message = 'm4' AND day = 'd1'") == [(4,)]
    assert spark.table(filled).where("id > 6").count() == 2


def test_no_table_at_a_path(spark: SparkSession, name: str) -> None:
    assert "TableNotFound: there is no table at" in refused(spark.sql, f"SELECT * FROM {name}")
    assert "indextables.`s3://bucket/logs`" in refused(spark.sql, "SELECT * FROM indextables.logs")
    assert "names no place" in refused(spark.sql, "CREATE TABLE indextables.logs (id INT)")
    assert not spark.catalog.tableExists(name)


def test_older_versions_by_number_and_by_time(spark: SparkSession, filled: str) -> None:
    time.sleep(0.01)
    between = one(spark, "SELECT CAST(current_timestamp() AS STRING)")
    time.sleep(0.01)
    spark.sql(f"INSERT INTO {filled} VALUES (100, 'late', 'd0')")
    assert one(spark, f"SELECT count(*) FROM {filled}") == 10
    assert one(spark, f"SELECT count(*) FROM {filled} VERSION AS OF 1") == 9
    assert one(spark, f"SELECT count(*) FROM {filled} TIMESTAMP AS OF '{between}'") == 9
    assert spark.read.option("versionAsOf", 0).table(filled).count() == 0
    assert "version 9 does not exist" in refused(spark.sql, f"SELECT * FROM {filled} VERSION AS OF 9")
    assert "expected a whole number" in refused(spark.sql, f"SELECT * FROM {filled} VERSION AS OF 'x'")
    assert "ask for a later time" in refused(spark.sql, f"SELECT * FROM {filled} TIMESTAMP AS OF '2000-01-01'")


def test_a_frame_stays_at_its_version(spark: SparkSession, filled: str) -> None:
    before = spark.table(filled)
    spark.sql(f"INSERT INTO {filled} VALUES (100, 'late', 'd0')")
    assert before.count() == 9
    assert spark.table(filled).count() == 10


def test_a_table_is_created_by_a_statement(spark: SparkSession, url: str, name: str) -> None:
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT NOT NULL COMMENT 'a number', message STRING, day DATE) PARTITIONED BY (day) "
        "COMMENT 'lines' TBLPROPERTIES ('spark.indextables.indexing.typemap.message' = 'text', team = 'blue')"
    )
    table = Table.open(url)
    assert table.partition_columns == ("day",)
    assert not table.schema.field("id").nullable
    assert table.properties == {
        "comment": "lines",
        "team": "blue",
        "spark.indextables.indexing.typemap.message": "text",
    }
    spark.sql(f"INSERT INTO {name} SELECT 1, 'disk full', DATE '2026-03-01'")
    assert spark.read.option("query", "message:full").table(name).count() == 1
    said = {row.col_name: row.data_type for row in spark.sql(f"DESCRIBE EXTENDED {name}").collect()}
    assert said["Location"] == url
    assert said["Comment"] == "lines"
    assert said["Type"] == "EXTERNAL"
    assert "team=blue" in said["Table Properties"]
    text = one(spark, f"SHOW CREATE TABLE {name}")
    assert "PARTITIONED BY (day)" in text
    assert "'team' = 'blue'" in text
    assert rows(spark, f"SHOW PARTITIONS {name}") == [("day=2026-03-01",)]


def test_a_location_may_repeat_the_path(spark: SparkSession, url: str, name: str) -> None:
    spark.sql(f"CREATE TABLE {name} (id INT) USING indextables LOCATION '{url}'")
    assert Table.open(url).schema.names == ["id"]


def test_a_table_that_exists_is_not_created_again(spark: SparkSession, filled: str) -> None:
    with pytest.raises(Exception, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        spark.sql(f"CREATE TABLE {filled} (id INT)")
    spark.sql(f"CREATE TABLE IF NOT EXISTS {filled} (id INT)")
    spark.sql(f"CREATE TABLE IF NOT EXISTS {filled} AS SELECT 1 id")
    assert one(spark, f"SELECT count(*) FROM {filled}") == 9


def test_statements_that_no_table_can_follow(spark: SparkSession, name: str, filled: str) -> None:
    other = name.replace("table`", "other`")
    for text, said in {
        f"CREATE TABLE {other} (id INT) PARTITIONED BY (bucket(4, id))": "partitioned by columns, not by bucket(4, id)",
        f"CREATE TABLE {other} (id INT) USING parquet": "not USING parquet",
        f"CREATE TABLE {other} (id INT) LOCATION '/elsewhere'": "leave LOCATION out",
        f"CREATE TABLE {other} (id INT) TBLPROPERTIES ('spark.indextables.aws.region' = 'x')": "into OPTIONS",
        f"CREATE TABLE {other} (id INT) OPTIONS (colour 'red')": "unknown option colour",
        f"CREATE TABLE {other} (id INT) TBLPROPERTIES ('indexing.typemap.nope' = 'text')": "nope",
        f"DROP TABLE {filled}": "PURGE if that is meant",
        f"ALTER TABLE {filled} ADD COLUMN more INT": "REPLACE TABLE … AS SELECT",
        f"ALTER TABLE {filled} DROP COLUMN message": "REPLACE TABLE … AS SELECT",
        f"ALTER TABLE {filled} RENAME TO other": "cannot be renamed",
        f"ALTER TABLE {filled} ADD PARTITION (day = 'd7')": "INSERT INTO the table",
        "SHOW TABLES IN indextables": "SHOW TABLES lists it",
    }.items():
        assert said in refused(spark.sql, text), text
    assert not spark.catalog.tableExists(other)


def test_properties_are_set_and_dropped_in_the_log(spark: SparkSession, url: str, filled: str) -> None:
    spark.sql(f"ALTER TABLE {filled} SET TBLPROPERTIES (team = 'blue')")
    assert Table.open(url).properties == {"team": "blue"}
    assert rows(spark, f"SHOW TBLPROPERTIES {filled}") == [("team", "blue")]
    spark.sql(f"ALTER TABLE {filled} UNSET TBLPROPERTIES (team)")
    assert Table.open(url).properties == {}
    assert "safetyAge" in refused(
        spark.sql, f"ALTER TABLE {filled} SET TBLPROPERTIES ('spark.indextables.safetyAge.hours' = '0')"
    )


def test_drop_purge_deletes_the_table_and_nothing_else(spark: SparkSession, url: str, filled: str) -> None:
    (Path(url) / "note.txt").write_text("mine")
    spark.sql(f"DROP TABLE {filled} PURGE")
    assert [path.name for path in Path(url).iterdir()] == ["note.txt"]
    assert not spark.catalog.tableExists(filled)
    spark.sql(f"DROP TABLE IF EXISTS {filled} PURGE")
    logs(spark, 3).write.format("indextables").save(url)
    assert one(spark, f"SELECT count(*) FROM {filled}") == 3


def test_hidden_tables(spark: SparkSession, url: str, filled: str) -> None:
    spark.sql(f"DELETE FROM {filled} WHERE day = 'd0'")
    assert one(spark, f"SELECT sum(numRecords) FROM {filled}.files") == 6
    assert rows(spark, f"SELECT version, operation FROM {filled}.history") == [
        (0, "CREATE TABLE"),
        (1, "WRITE"),
        (2, "DELETE"),
    ]
    assert rows(spark, f"SELECT partition.day, rows FROM {filled}.partitions") == [("d1", 3), ("d2", 3)]
    assert rows(spark, f"SELECT version, change, sum(numRecords) FROM {filled}.changes GROUP BY ALL") == [
        (1, "add", 9),
        (2, "remove", None),
    ]
    assert one(spark, f"SELECT sum(numRecords) FROM {filled}.files VERSION AS OF 1") == 9
    plan = executed_plan(spark.sql(f"SELECT path FROM {filled}.files"))
    assert "LocalTableScan" in plan
    spark.sql(f"CREATE TABLE {filled.replace('table`', 'whole`')} AS SELECT 1 id")
    assert rows(spark, f"SELECT files, rows FROM {filled.replace('table`', 'whole`')}.partitions") == [(1, 1)]


def test_a_failed_select_leaves_no_table(spark: SparkSession, url: str, name: str) -> None:
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        spark.sql(f"CREATE TABLE {name} AS SELECT id, 1 / (id - 5) x FROM range(0, 10, 1, 1)")
    assert not Path(url).exists()
    spark.sql(f"CREATE TABLE {name} AS SELECT id FROM range(10)")
    assert one(spark, f"SELECT count(*) FROM {name}") == 10


def test_a_failed_replacement_leaves_the_table_as_it_was(spark: SparkSession, filled: str) -> None:
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        spark.sql(
            f"REPLACE TABLE {filled} PARTITIONED BY (day) AS SELECT 1 / (id - 5) x, 'd' day FROM range(0, 10, 1, 1)"
        )
    assert one(spark, f"SELECT count(*) FROM {filled}") == 9
    assert one(spark, f"SELECT max(version) FROM {filled}.history") == 1


def test_replace_keeps_the_history(spark: SparkSession, url: str, filled: str) -> None:
    spark.sql(f"REPLACE TABLE {filled} PARTITIONED BY (day) AS SELECT id * 2 twice, day FROM {filled} WHERE id > 5")
    assert rows(spark, f"SELECT * FROM {filled}") == [(12, "d0"), (14, "d1"), (16, "d2")]
    assert one(spark, f"SELECT sum(id) FROM {filled} VERSION AS OF 1") == 36
    Table.open(url).checkpoint()
    assert rows(spark, f"SELECT * FROM {filled}") == [(12, "d0"), (14, "d1"), (16, "d2")]
    assert one(spark, f"SELECT sum(id) FROM {filled} VERSION AS OF 1") == 36
    spark.sql(f"INSERT INTO {filled} VALUES (18, 'd0')")
    assert one(spark, f"SELECT count(*) FROM {filled} WHERE twice >= 16") == 2
    spark.sql(f"REPLACE TABLE {filled} (id INT, day STRING) PARTITIONED BY (day)")
    assert rows(spark, f"SELECT id FROM {filled}") == []


def test_replace_changes_the_partition_columns(spark: SparkSession, url: str, filled: str) -> None:
    """Each statement says which partition columns the table has from then on, none included. Older versions keep theirs."""
    spark.sql(f"REPLACE TABLE {filled} PARTITIONED BY (third) AS SELECT id, message, id % 3 third FROM {filled}")
    assert Table.open(url).partition_columns == ("third",)
    assert rows(spark, f"SHOW PARTITIONS {filled}") == [("third=0",), ("third=1",), ("third=2",)]
    assert rows(spark, f"SELECT id FROM {filled} WHERE third = 2") == [(2,), (5,), (8,)]
    spark.sql(f"DELETE FROM {filled} WHERE third = 1")
    spark.sql(f"INSERT INTO {filled} VALUES (20, 'm20', 2)")
    Table.open(url).checkpoint()
    assert one(spark, f"SELECT sum(id) FROM {filled} WHERE third = 2") == 35
    spark.sql(f"CREATE OR REPLACE TABLE {filled} (id INT)")
    assert Table.open(url).partition_columns == ()
    spark.sql(f"INSERT INTO {filled} VALUES (1)")
    assert rows(spark, f"SELECT * FROM {filled}") == [(1,)]
    for version, day in [(1, "day = 'd2'"), (2, "third = 2")]:
        assert rows(spark, f"SELECT id FROM {filled} VERSION AS OF {version} WHERE {day}") == [(2,), (5,), (8,)]
