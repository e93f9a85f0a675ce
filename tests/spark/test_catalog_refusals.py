"""What has no meaning here is refused in one line. The table of the reference page, line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from indextables import Table
from spark.catalog_support import logs, refused

pytestmark = pytest.mark.spark


@pytest.fixture
def table(spark: SparkSession, url: str) -> Iterator[Table]:
    logs(spark).write.format("indextables").partitionBy("day").save(url)
    spark.sql(f"CREATE TABLE refusing USING indextables LOCATION '{url}'")
    spark.sql("CREATE TABLE plain (id INT) USING parquet")
    yield Table.open(url)
    spark.catalog.dropTempView("part")
    spark.sql("DROP TABLE plain")
    spark.sql("DROP TABLE refusing")


def test_the_page_says_what_is_refused(spark: SparkSession, table: Table, tmp_path: Path) -> None:
    url = table.url

    def sql(text: str) -> Callable[[], Any]:
        return lambda: spark.sql(text)

    def stream() -> Any:
        rate = spark.readStream.format("rate").load().writeStream.format("indextables")
        return rate.option("checkpointLocation", str(tmp_path / "c")).start(url)

    said: dict[str, list[Callable[[], Any]]] = {
        "`DELETE` of rows, `UPDATE`, `MERGE INTO`": [
            sql("DELETE FROM refusing WHERE id = 1"),
            sql("UPDATE refusing SET id = 1"),
            sql("MERGE INTO refusing t USING (SELECT 1 id) s ON t.id = s.id WHEN MATCHED THEN DELETE"),
        ],
        "`ALTER TABLE … ADD`, `DROP`, `RENAME` or `ALTER COLUMN`": [
            sql("ALTER TABLE refusing ADD COLUMN more INT"),
            sql("ALTER TABLE refusing DROP COLUMN message"),
            sql("ALTER TABLE refusing RENAME COLUMN message TO text"),
            sql("ALTER TABLE refusing ALTER COLUMN message COMMENT 'text'"),
        ],
        "`PARTITIONED BY (bucket(4, id))`, `bucketBy`": [
            sql("CREATE TABLE other (id INT) USING indextables PARTITIONED BY (bucket(4, id))"),
            lambda: logs(spark).write.format("indextables").bucketBy(2, "id").saveAsTable("other"),
        ],
        "`ALTER TABLE … ADD CONSTRAINT`, `CHECK` in `CREATE TABLE`": [
            sql("ALTER TABLE refusing ADD CONSTRAINT positive CHECK (id >= 0)"),
            sql("ALTER TABLE refusing ADD CONSTRAINT one PRIMARY KEY (id)"),
            sql("CREATE TABLE other (id INT, CONSTRAINT positive CHECK (id >= 0)) USING indextables"),
        ],
        "`CREATE TABLE … LIKE`": [
            sql("CREATE TABLE other LIKE plain USING indextables"),
            sql("CREATE TABLE IF NOT EXISTS other LIKE plain USING IndexTables"),
            sql("CREATE TABLE other LIKE refusing"),
            sql("CREATE TABLE other LIKE refusing USING parquet"),
            sql(f"CREATE TABLE indextables.`{tmp_path / 'other'}` LIKE plain"),
        ],
        "`INSERT OVERWRITE DIRECTORY … USING indextables`": [
            sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path / 'other'}' USING indextables SELECT 1 AS id"),
        ],
        '`clusterBy("id")`': [lambda: logs(spark).write.format("indextables").mode("append").clusterBy("id").save(url)],
        "`DROP TABLE` of a path without `PURGE`, `SHOW TABLES IN indextables`": [
            sql(f"DROP TABLE indextables.`{url}`"),
            sql("SHOW TABLES IN indextables"),
        ],
        "`readStream`, `writeStream`": [lambda: spark.readStream.format("indextables").load(url), stream],
    }
    page = (Path(__file__).parents[2] / "docs" / "reference" / "spark.md").read_text()
    lines = page.partition("| statement | instead |")[2].partition("\n\n")[0].splitlines()[2:]
    assert {line.split("|")[1].strip() for line in lines} == said.keys()
    for tries in said.values():
        for one in tries:
            refused(one)
    assert table.count() == 9
    assert Table.open(url).version == table.version
    assert not spark.catalog.tableExists("other")


def test_what_is_said_instead_works(spark: SparkSession, table: Table, tmp_path: Path) -> None:
    said = refused(spark.sql, "ALTER TABLE refusing ADD CONSTRAINT positive CHECK (id >= 0)")
    assert "a table has no constraints" in said
    assert "AS SELECT * FROM the other table WHERE false" in refused(
        spark.sql, "CREATE TABLE other LIKE plain USING indextables"
    )
    place = str(tmp_path / "other")
    assert place in refused(spark.sql, f"INSERT OVERWRITE DIRECTORY '{place}' USING indextables SELECT 1 AS id")
    spark.sql(f"CREATE TABLE other USING indextables LOCATION '{place}' AS SELECT * FROM plain WHERE false")
    spark.sql(f"INSERT OVERWRITE indextables.`{place}` SELECT 1 AS id")
    assert [tuple(row) for row in spark.table("other").collect()] == [(1,)]
    spark.sql("DROP TABLE other")
    spark.sql("CREATE TABLE other LIKE plain")
    assert spark.table("other").columns == ["id"]
    spark.sql("DROP TABLE other")


def test_a_view_of_a_part_is_not_the_table(spark: SparkSession, table: Table) -> None:
    for option, value in {"where": "id = 1", "query": "day:d0", "limit": "1", "versionAsOf": "1"}.items():
        spark.read.format("indextables").option(option, value).load(table.url).createOrReplaceTempView("part")
        assert option in refused(spark.sql, "DELETE FROM part")
        assert option in refused(spark.sql, "INSERT INTO part VALUES (1, 'x', 'd0')")
        writer = logs(spark).write.format("indextables").mode("append").option(option, value)
        assert option.lower() in refused(writer.save, table.url)
    assert Table.open(table.url).version == table.version


@pytest.mark.parametrize("read", ["where", "limit", "WITH"])
def test_a_view_of_a_part_of_a_named_table_is_not_the_table(spark: SparkSession, table: Table, read: str) -> None:
    if read == "WITH":
        spark.sql("SELECT * FROM refusing WITH (limit = 1)").createOrReplaceTempView("part")
    else:
        option = {"where": "id = 1", "limit": "1"}[read]
        spark.read.option(read, option).table("refusing").createOrReplaceTempView("part")
    rows = table.count()
    for statement in ("DELETE FROM part", "DELETE FROM part WHERE day = '2026-01-01'"):
        assert "partitions go from whole tables" in refused(spark.sql, statement)
    assert table.refresh().count() == rows
    spark.sql("DELETE FROM refusing")
    assert table.refresh().count() == 0


def test_changes_of_cached_rows(spark: SparkSession, table: Table) -> None:
    """Spark puts the cached rows in the place of the table. TRUNCATE and INSERT go past the cache and renew it."""
    spark.sql("CACHE TABLE refusing")
    assert "UNCACHE TABLE" in refused(spark.sql, "DELETE FROM refusing WHERE day = '2026-01-01'")
    assert "REPLACE WHERE" in refused(spark.sql, "UPDATE refusing SET id = 1")
    assert spark.table("refusing").count() == table.count() > 0
    spark.sql("TRUNCATE TABLE refusing")
    assert spark.table("refusing").count() == 0
    spark.sql("UNCACHE TABLE refusing")
    spark.sql("DELETE FROM refusing WHERE day = '2026-01-01'")
