"""Tables USING indextables in Spark's own catalog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.datasource import DataSource, DataSourceReader

from indextables import Table
from indextables.spark import builder, configure, install, status
from spark.catalog_support import logs, one, refused, rows

pytestmark = pytest.mark.spark


@pytest.fixture
def shop(spark: SparkSession) -> Iterator[str]:
    """A database of its own, which goes with all its tables."""
    spark.sql("CREATE DATABASE shop")
    spark.sql("USE shop")
    yield str(Path(spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:")) / "shop.db")
    spark.sql("USE default")
    spark.sql("DROP DATABASE shop CASCADE")


def shown(spark: SparkSession) -> list[tuple[object, ...]]:
    """The tables that SHOW TABLES lists, without views that other tests of the session left."""
    return [row for row in rows(spark, "SHOW TABLES") if not row[2]]


def test_the_session_has_both_catalogs(spark: SparkSession) -> None:
    assert str(status(spark)) == f"connector, because the driver of Spark {spark.version} took it"
    assert spark.conf.get("spark.sql.catalog.spark_catalog") == "indextables.SessionTables"


def test_a_managed_table_lives_in_the_warehouse(spark: SparkSession, shop: str) -> None:
    spark.sql("CREATE TABLE t (id BIGINT, message STRING, day STRING) USING indextables PARTITIONED BY (day)")
    spark.sql("INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'y')")
    assert rows(spark, "SELECT * FROM shop.t") == [(1, "a", "x"), (2, "b", "y")]
    assert Table.open(f"{shop}/t").version == 1
    assert shown(spark) == [("shop", "t", False)]
    assert rows(spark, "SHOW PARTITIONS t") == [("day=x",), ("day=y",)]
    assert rows(spark, "SHOW PARTITIONS t PARTITION (day = 'x')") == [("day=x",)]
    said = {row.col_name: row.data_type for row in spark.sql("DESCRIBE EXTENDED t").collect()}
    assert (said["Type"], said["Provider"]) == ("MANAGED", "indextables")
    assert "LOCATION" not in one(spark, "SHOW CREATE TABLE t")
    assert rows(spark, "SHOW COLUMNS IN t") == [("day",), ("id",), ("message",)]
    spark.sql("DROP TABLE t")
    assert not Path(shop, "t").exists()
    assert shown(spark) == []


def test_texts_of_a_length(spark: SparkSession, shop: str, url: str) -> None:
    """CHAR and VARCHAR as over Parquet: lengths are checked, CHAR is padded, DESCRIBE says the types."""
    columns = "v VARCHAR(3) COMMENT 'short', c CHAR(3), inner STRUCT<a: VARCHAR(2), b: ARRAY<CHAR(2)>>, id INT"
    spark.sql(f"CREATE TABLE other ({columns}) USING parquet")
    spark.sql(f"CREATE TABLE named ({columns}) USING indextables")
    spark.sql(f"CREATE TABLE indextables.`{url}` ({columns})")
    for table in ("other", "named", f"indextables.`{url}`"):
        spark.sql(f"INSERT INTO {table} VALUES ('abc', 'x', struct('xy', array('q')), 1), ('ab   ', 'y', NULL, 2)")
        for values in ("'abcd', 'x', NULL", "'abc', 'abcd', NULL", "'abc', 'x', struct('xyz', array())"):
            with pytest.raises(Exception, match="EXCEED_LIMIT_LENGTH"):
                spark.sql(f"INSERT INTO {table} VALUES ({values}, 3)")
        assert rows(spark, f"DESCRIBE {table}") == rows(spark, "DESCRIBE other")
        for question in (
            "SELECT * FROM {}",
            "SELECT id FROM {} WHERE c = 'x'",
            "SELECT c, count(*) FROM {} GROUP BY c",
        ):
            assert rows(spark, question.format(table)) == rows(spark, question.format("other")), question
    assert "v VARCHAR(3)" in one(spark, "SHOW CREATE TABLE named")
    spark.sql("CREATE TABLE copied USING indextables AS SELECT * FROM named")
    assert rows(spark, "DESCRIBE copied") == rows(spark, "DESCRIBE other")
    spark.sql("CREATE OR REPLACE TABLE copied (v VARCHAR(9), p CHAR(2)) USING indextables PARTITIONED BY (p)")
    assert rows(spark, "DESCRIBE copied")[-1][:2] == ("v", "varchar(9)")
    spark.sql("INSERT INTO copied VALUES ('long text', 'a')")
    assert rows(spark, "SHOW PARTITIONS copied") == [("p=a ",)]
    spark.sql("ALTER TABLE copied DROP PARTITION (p = 'a')")
    assert rows(spark, "SELECT * FROM copied") == []
    spark.sql(f"CREATE TABLE again ({columns}) USING indextables LOCATION '{url}'")
    said = refused(
        spark.sql, f"CREATE TABLE wider ({columns.replace('(3)', '(4)')}) USING indextables LOCATION '{url}'"
    )
    assert "has the columns v varchar(3), c char(3), " in said
    assert "the statement v varchar(4), c char(4), " in said


def test_a_table_that_exists_gets_a_name(spark: SparkSession, shop: str, url: str) -> None:
    logs(spark).write.format("indextables").partitionBy("day").save(url)
    spark.sql(f"CREATE TABLE t USING indextables LOCATION '{url}'")
    assert one(spark, "SELECT count(*) FROM t") == 9
    assert url in one(spark, "SHOW CREATE TABLE t")
    spark.sql("DROP TABLE t PURGE")
    assert Table.open(url).count() == 9
    spark.sql(f"CREATE TABLE t (id BIGINT, message STRING, day STRING) USING indextables LOCATION '{url}'")
    assert one(spark, "SELECT count(*) FROM t") == 9
    spark.sql("DROP TABLE t")
    for text, said in {
        "(id BIGINT)": "leave the columns out",
        "(id BIGINT, message STRING, day STRING) PARTITIONED BY (id)": "leave PARTITIONED BY out",
    }.items():
        columns, _, by = text.partition(" PARTITIONED")
        by = f" PARTITIONED{by}" if by else ""
        assert said in refused(spark.sql, f"CREATE TABLE t {columns} USING indextables{by} LOCATION '{url}'")
    assert "names no columns" in refused(spark.sql, f"CREATE TABLE t USING indextables LOCATION '{url}x'")
    assert shown(spark) == []


def test_time_travel_and_hidden_tables_of_a_name(spark: SparkSession, shop: str) -> None:
    spark.sql("CREATE TABLE t USING indextables AS SELECT 1 id")
    spark.sql("INSERT INTO t VALUES (2)")
    assert rows(spark, "SELECT * FROM t VERSION AS OF 1") == [(1,)]
    assert rows(spark, "SELECT * FROM t TIMESTAMP AS OF current_timestamp()") == [(1,), (2,)]
    for name in ("t", "shop.t", "spark_catalog.shop.t"):
        assert rows(spark, f"SELECT version FROM {name}.history") == [(0,), (1,), (2,)]
        assert rows(spark, f"SELECT version, change, numRecords FROM {name}.changes") == [(1, "add", 1), (2, "add", 1)]
    assert one(spark, "SELECT count(*) FROM t.files VERSION AS OF 1") == 1
    assert rows(spark, "SELECT version, change FROM t.changes VERSION AS OF 1") == [(1, "add")]
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("SELECT * FROM nothing.files")
    spark.sql("CREATE TABLE files USING indextables AS SELECT 7 id")
    assert rows(spark, "SELECT * FROM shop.files") == [(7,)]


@pytest.mark.parametrize("place", ["name", "path"])
def test_save_as_table_in_every_mode(spark: SparkSession, shop: str, url: str, place: str) -> None:
    name = "t" if place == "name" else f"indextables.`{url}`"

    def save(mode: str, rows: int = 9) -> None:
        logs(spark, rows).write.format("indextables").mode(mode).partitionBy("day").saveAsTable(name)

    save("error")
    assert one(spark, f"SELECT count(*) FROM {name}") == 9
    with pytest.raises(Exception, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        save("error")
    save("ignore", 100)
    assert one(spark, f"SELECT count(*) FROM {name}") == 9
    save("append")
    assert one(spark, f"SELECT count(*) FROM {name}") == 18
    save("overwrite", 3)
    assert one(spark, f"SELECT count(*) FROM {name}") == 3
    assert one(spark, f"SELECT count(*) FROM {name} VERSION AS OF 2") == 18


def test_save_as_table_makes_a_table_in_every_mode(spark: SparkSession, shop: str) -> None:
    for mode in ("error", "ignore", "append", "overwrite"):
        logs(spark).write.format("indextables").mode(mode).option(
            "spark.indextables.indexing.typemap.message", "text"
        ).saveAsTable(mode)
        assert spark.read.option("query", "message:m4").table(mode).count() == 1


def test_save_as_table_at_a_place(spark: SparkSession, shop: str, url: str) -> None:
    logs(spark).write.format("indextables").option("path", url).saveAsTable("t")
    assert Table.open(url).count() == 9
    logs(spark, 2).write.format("indextables").mode("overwrite").option("path", url).saveAsTable("t")
    assert one(spark, "SELECT count(*) FROM t") == 2
    elsewhere = logs(spark).write.format("indextables").mode("overwrite").option("path", f"{url}x")
    assert "DROP TABLE first" in refused(elsewhere.saveAsTable, "t")
    spark.sql("DROP TABLE t")
    assert "gives it a name" in refused(logs(spark).write.format("indextables").option("path", url).saveAsTable, "t")
    logs(spark, 3).write.format("indextables").mode("overwrite").option("path", url).saveAsTable("t")
    assert one(spark, "SELECT count(*) FROM t") == 3


@pytest.mark.parametrize("place", ["name", "path"])
def test_write_to(spark: SparkSession, shop: str, url: str, place: str) -> None:
    name = "t" if place == "name" else f"indextables.`{url}`"
    by_day = logs(spark).writeTo(name).using("indextables").partitionedBy(sql.col("day"))
    by_day.create()
    with pytest.raises(Exception, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        by_day.create()
    logs(spark, 3, start=100).writeTo(name).append()
    assert one(spark, f"SELECT count(*) FROM {name}") == 12
    logs(spark, 9).where("day = 'd1'").writeTo(name).overwritePartitions()
    assert rows(spark, f"SELECT day, count(*) FROM {name} GROUP BY day") == [("d0", 4), ("d1", 3), ("d2", 4)]
    logs(spark, 9).where("day = 'd2' AND id < 3").writeTo(name).overwrite(sql.col("day") == "d2")
    assert rows(spark, f"SELECT day, count(*) FROM {name} GROUP BY day") == [("d0", 4), ("d1", 3), ("d2", 1)]
    by_day.replace()
    assert one(spark, f"SELECT count(*) FROM {name}") == 9
    by_day.createOrReplace()
    assert one(spark, f"SELECT count(*) FROM {name} VERSION AS OF 2") == 12
    assert "selects rows" in refused(logs(spark).writeTo(name).overwrite, sql.col("id") == 1)


def test_inserts_that_overwrite(spark: SparkSession, shop: str, setting: object) -> None:
    logs(spark).write.format("indextables").partitionBy("day").saveAsTable("t")
    spark.sql("INSERT OVERWRITE t PARTITION (day = 'd0') VALUES (50, 'fifty')")
    assert rows(spark, "SELECT id FROM t WHERE day = 'd0'") == [(50,)]
    assert one(spark, "SELECT count(*) FROM t") == 7
    spark.sql("INSERT INTO t REPLACE WHERE day IN ('d0', 'd1') SELECT 60, 'sixty', 'd1'")
    assert rows(spark, "SELECT id FROM t WHERE day <> 'd2'") == [(60,)]
    said = refused(spark.sql, "INSERT INTO t REPLACE WHERE day = 'd0' SELECT 60, 'sixty', 'd1'")
    assert "does not select: leave such rows out" in said
    assert "selects rows" in refused(spark.sql, "INSERT INTO t REPLACE WHERE id = 60 SELECT 60, 'sixty', 'd1'")
    setting("spark.sql.sources.partitionOverwriteMode", "dynamic")  # type: ignore[operator]
    spark.sql("INSERT OVERWRITE t SELECT 70, 'seventy', 'd1'")
    assert rows(spark, "SELECT day, count(*) FROM t GROUP BY day") == [("d1", 1), ("d2", 3)]
    setting("spark.sql.sources.partitionOverwriteMode", "static")  # type: ignore[operator]
    spark.sql("INSERT OVERWRITE t SELECT * FROM t WHERE id <> 70")
    assert rows(spark, "SELECT day, count(*) FROM t GROUP BY day") == [("d2", 3)]
    logs(spark, 2).write.mode("overwrite").insertInto("t")
    assert one(spark, "SELECT count(*) FROM t") == 2


def test_rows_that_go(spark: SparkSession, shop: str) -> None:
    logs(spark).write.format("indextables").partitionBy("day").saveAsTable("t")
    spark.sql("DELETE FROM t WHERE day = 'd0' OR day > 'd1'")
    assert rows(spark, "SELECT DISTINCT day FROM t") == [("d1",)]
    assert one(spark, "SELECT count(*) FROM t VERSION AS OF 1") == 9
    assert "REPLACE WHERE of a partition (day)" in refused(spark.sql, "DELETE FROM t WHERE id = 4")
    assert "REPLACE WHERE" in refused(spark.sql, "UPDATE t SET message = 'x' WHERE id = 4")
    merge = "MERGE INTO t USING (SELECT 4 id) s ON t.id = s.id WHEN MATCHED THEN DELETE"
    assert "REPLACE WHERE" in refused(spark.sql, merge)
    assert one(spark, "SELECT count(*) FROM t") == 3
    logs(spark).writeTo("t").append()
    spark.sql("ALTER TABLE t DROP PARTITION (day = 'd1')")
    spark.sql("TRUNCATE TABLE t PARTITION (day = 'd0')")
    assert rows(spark, "SELECT id FROM t") == [(2,), (5,), (8,)]
    spark.sql("TRUNCATE TABLE t")
    assert rows(spark, "SELECT id FROM t") == []
    spark.sql("INSERT INTO t VALUES (1, 'a', 'd0')")
    spark.sql("DELETE FROM t")
    assert rows(spark, "SELECT id FROM t") == []
    versions = one(spark, "SELECT max(version) FROM t.history")
    spark.sql("DELETE FROM t WHERE day = 'd0'")
    assert one(spark, "SELECT max(version) FROM t.history") == versions
    assert "selects rows" in refused(spark.sql, "DELETE FROM t WHERE indexquery(day, 'd1')")
    refused(spark.sql, "DELETE FROM t WHERE indexqueryall('d1')")
    spark.sql("CREATE TABLE whole USING indextables AS SELECT 1 id")
    assert "INSERT OVERWRITE of the table" in refused(spark.sql, "DELETE FROM whole WHERE id = 1")


def test_partitions_of_other_types_and_of_nothing(spark: SparkSession, shop: str) -> None:
    spark.sql("CREATE TABLE t (id INT, day DATE, `odd, name` INT) USING indextables PARTITIONED BY (day, `odd, name`)")
    spark.sql(
        "INSERT INTO t VALUES (1, DATE '2026-03-01', 1), (2, NULL, 2), (3, DATE '2026-03-02', NULL), (4, NULL, NULL)"
    )
    assert one(spark, "SELECT count(*) FROM t.partitions") == 4
    assert rows(spark, "SELECT partition.day IS NULL, sum(rows) FROM t.partitions GROUP BY 1") == [
        (False, 2),
        (True, 2),
    ]
    assert len(rows(spark, "SHOW PARTITIONS t")) == 4
    assert len(rows(spark, "SHOW PARTITIONS t PARTITION (day = DATE '2026-03-01')")) == 1
    spark.sql("INSERT OVERWRITE t PARTITION (day = '2026-03-01', `odd, name` = 1) VALUES (10)")
    assert rows(spark, "SELECT id FROM t") == [(2,), (3,), (4,), (10,)]
    spark.sql("DELETE FROM t WHERE day IS NULL AND `odd, name` = 2")
    assert rows(spark, "SELECT id FROM t") == [(3,), (4,), (10,)]
    spark.sql("ALTER TABLE t DROP PARTITION (day = DATE '2026-03-01', `odd, name` = 1)")
    spark.sql("DELETE FROM t WHERE day IS NOT NULL")
    assert rows(spark, "SELECT id FROM t") == [(4,)]


def test_names_change_and_stay(spark: SparkSession, shop: str) -> None:
    spark.sql("CREATE TABLE t USING indextables TBLPROPERTIES (team = 'blue') AS SELECT 1 id")
    spark.sql("ALTER TABLE t RENAME TO u")
    assert rows(spark, "SELECT * FROM u") == [(1,)]
    assert Table.open(f"{shop}/u").properties == {"team": "blue"}
    spark.sql("ALTER TABLE u SET TBLPROPERTIES (team = 'red')")
    assert rows(spark, "SHOW TBLPROPERTIES u ('team')") == [("team", "red")]
    assert "REPLACE TABLE" in refused(spark.sql, "ALTER TABLE u ADD COLUMN more INT")
    assert "does not change the location" in refused(spark.sql, "ALTER TABLE u SET LOCATION '/elsewhere'")
    spark.sql("CREATE VIEW v AS SELECT id + 1 AS next FROM u")
    assert rows(spark, "SELECT * FROM v") == [(2,)]
    other = spark.newSession()
    assert rows(other, "SELECT * FROM shop.u") == [(1,)]
    assert one(other, f"SELECT count(*) FROM indextables.`{shop}/u`") == 1


def test_a_name_without_its_table(spark: SparkSession, shop: str, url: str) -> None:
    logs(spark).write.format("indextables").save(url)
    spark.sql(f"CREATE TABLE t USING indextables LOCATION '{url}'")
    spark.sql(f"DROP TABLE indextables.`{url}` PURGE")
    assert "DROP TABLE takes the name away" in refused(spark.sql, "SELECT * FROM t")
    spark.sql("DROP TABLE t")
    assert shown(spark) == []


def test_a_name_that_cannot_be_kept_takes_its_table_along(spark: SparkSession, shop: str) -> None:
    with pytest.raises(Exception, match=r"(?i)name"):
        spark.sql("CREATE TABLE `a b` USING indextables AS SELECT 1 id")
    assert not Path(shop, "a b").exists()


def test_replace_by_a_name(spark: SparkSession, shop: str) -> None:
    spark.sql("CREATE TABLE t USING indextables AS SELECT 1 id")
    spark.sql("CREATE OR REPLACE TABLE t USING indextables AS SELECT 'x' word, 2 two")
    assert rows(spark, "SELECT * FROM t") == [("x", 2)]
    assert rows(spark, "SELECT * FROM t VERSION AS OF 1") == [(1,)]
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("REPLACE TABLE u (id INT) USING indextables")
    spark.sql("CREATE OR REPLACE TABLE u (id INT, two INT DEFAULT 2) USING indextables")
    spark.sql("INSERT INTO u (id) VALUES (1)")
    assert rows(spark, "SELECT * FROM u") == [(1, 2)]
    spark.sql("CREATE TABLE p USING parquet AS SELECT 1 id")
    assert "another format" in refused(spark.sql, "CREATE OR REPLACE TABLE p USING indextables AS SELECT 1 id")


def test_tables_of_other_formats_are_as_before(spark: SparkSession, shop: str) -> None:
    class Numbers(DataSource):
        @classmethod
        def name(cls) -> str:
            return "shop_numbers"

        def schema(self) -> str:
            return "n INT"

        def reader(self, schema: object) -> DataSourceReader:
            class Reader(DataSourceReader):
                def read(self, partition: object) -> Iterator[tuple[int]]:
                    yield from ((1,), (2,))

            return Reader()

    spark.dataSource.register(Numbers)
    spark.sql("CREATE TABLE n USING shop_numbers")
    assert rows(spark, "SELECT * FROM n") == [(1,), (2,)]
    logs(spark).write.saveAsTable("p")
    spark.sql("INSERT INTO p SELECT * FROM p")
    assert one(spark, "SELECT count(*) FROM p") == 18
    with pytest.raises(Exception, match=r"(?i)time travel"):
        spark.sql("SELECT * FROM p VERSION AS OF 1")
    spark.sql("DROP TABLE p")


def test_another_format_keeps_the_catalog(spark: SparkSession) -> None:
    other = spark.newSession()
    other.conf.set("spark.sql.catalog.spark_catalog", "org.example.Catalog")
    install(other)
    assert other.conf.get("spark.sql.catalog.spark_catalog") == "org.example.Catalog"
    assert "spark.sql.catalog.spark_catalog is org.example.Catalog, so tables have no names there" in str(status(other))


def test_a_builder_installs(spark: SparkSession, url: str) -> None:
    again = builder().getOrCreate()
    assert status(again).serving == "connector"
    assert configure(SparkSession.Builder())._options == {"spark.sql.catalog.indextables": "indextables.PathCatalog"}


def test_without_names_it_is_said_at_once(spark: SparkSession) -> None:
    other = spark.newSession()
    other.conf.set("spark.sql.catalog.spark_catalog", "builtin")
    assert "spark.sql.catalog.spark_catalog" in refused(other.sql, "CREATE TABLE t (id INT) USING indextables")
    frame = other.range(3)
    assert "spark.sql.catalog.spark_catalog" in refused(frame.write.format("indextables").saveAsTable, "t")
