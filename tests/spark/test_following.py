"""`read.following.enabled`: a DataFrame that is asked again reads the newest version. Without the option it stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from indextables import Table
from indextables.spark import read
from indextables.spark.connector.planning import following
from spark.catalog_support import one, refused
from spark.support import executed_plan

pytestmark = pytest.mark.spark

FOLLOW = "spark.indextables.read.following.enabled"
TASKS = {"spark.indextables.read.local.enabled": "false"}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = Table.create(
        str(tmp_path / "t"), pa.schema([("id", pa.int64()), ("day", pa.string())]), partition_by=["day"]
    )
    more(table, 1)
    return table


def more(table: Table, first: int) -> None:
    table.append(pa.table({"id": [first, first + 1], "day": ["a", "b"]}))


def loaded(spark: SparkSession, table: Table, **options: str) -> DataFrame:
    return spark.read.format("indextables").options(**options).load(table.url)


def ids(frame: DataFrame) -> list[int]:
    return sorted(row[0] for row in frame.select("id").collect())


@pytest.mark.parametrize("tasks", [{}, TASKS])
def test_a_dataframe_stays_unless_it_follows(spark: SparkSession, table: Table, tasks: dict[str, str]) -> None:
    stays = loaded(spark, table, **tasks)
    follows = loaded(spark, table, **tasks, **{"read.following.enabled": "true"})
    assert ids(stays) == ids(follows) == [1, 2]
    more(table, 3)
    assert (ids(stays), ids(follows)) == ([1, 2], [1, 2, 3, 4])
    assert (stays.count(), follows.count()) == (2, 4)
    assert (stays.where("id > 2").count(), follows.where("id > 2").count()) == (0, 2)
    assert follows.groupBy("day").count().orderBy("day").collect() == [("a", 2), ("b", 2)]


def test_the_session_says_it_for_loads_names_and_views(
    spark: SparkSession, table: Table, setting: Callable[[str, str], None]
) -> None:
    before = loaded(spark, table)
    setting(FOLLOW, "true")
    frames = [loaded(spark, table), spark.table(f"indextables.`{table.url}`")]
    frames[0].createOrReplaceTempView("followed")
    unwilling = loaded(spark, table, **{FOLLOW: "false"})
    more(table, 3)
    assert [ids(frame) for frame in frames] == [[1, 2, 3, 4]] * 2
    assert one(spark, "SELECT max(id) FROM followed") == 4
    assert ids(before) == ids(unwilling) == [1, 2]


def test_a_named_version_stays(spark: SparkSession, table: Table, setting: Callable[[str, str], None]) -> None:
    setting(FOLLOW, "true")
    by_option = loaded(spark, table, versionAsOf="1")
    by_name = spark.sql(f"SELECT * FROM indextables.`{table.url}` VERSION AS OF 1")
    more(table, 3)
    assert ids(by_option) == ids(by_name) == [1, 2]


@pytest.mark.parametrize("option", ["read.following.enabled", FOLLOW])
def test_a_named_table_takes_the_option(spark: SparkSession, table: Table, option: str) -> None:
    frame = spark.read.option(option, "true").table(f"indextables.`{table.url}`")
    more(table, 3)
    assert ids(frame) == [1, 2, 3, 4]


@pytest.mark.parametrize("tasks", [{}, TASKS])
def test_all_references_of_a_query_read_one_version(
    spark: SparkSession, table: Table, tasks: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody commits after each version that the planner pins. A self join, a union and a subquery see none of it by halves."""
    frame = loaded(spark, table, **tasks, **{FOLLOW: "true"})
    other = loaded(spark, table, **tasks, **{FOLLOW: "true", "where": "day = 'a'"})
    frame.createOrReplaceTempView("moving")
    pin, added = following.pin_version, [10]

    def pin_and_commit(*given: Any) -> Any:
        handle = pin(*given)
        more(table, added[0])
        added[0] += 2
        return handle

    monkeypatch.setattr(following, "pin_version", pin_and_commit)
    half = other.select("id", "day")
    assert ids(frame.join(half, "id", "left_semi")) == [1]
    now = len(ids(frame))
    assert frame.unionAll(frame).count() == 2 * (now + 2)
    text = "SELECT count(*) = (SELECT count(*) FROM moving) FROM moving a JOIN moving b USING (id)"
    assert one(spark, text) is True
    assert added[0] == 10 + 2 * 4, "each query pins the table once"


def test_other_columns_are_an_error_of_one_line(spark: SparkSession, table: Table) -> None:
    frame = loaded(spark, table, **{FOLLOW: "true"})
    spark.sql(f"REPLACE TABLE indextables.`{table.url}` PARTITIONED BY (id) AS SELECT 5 id, 'x' more")
    said = refused(frame.count)
    assert "has other columns since this DataFrame was loaded" in said
    assert "load it anew" in said
    assert loaded(spark, table).count() == 1


def test_a_table_that_was_created_again_is_an_error(spark: SparkSession, table: Table) -> None:
    frame = loaded(spark, table, **{FOLLOW: "true"})
    spark.sql(f"DROP TABLE indextables.`{table.url}` PURGE")
    spark.sql(f"CREATE TABLE indextables.`{table.url}` AS SELECT 5L id, 'x' day")
    assert "was dropped and created again since it was loaded" in refused(frame.count)


def test_what_was_overwritten_from_the_newest_version_loses_nothing(spark: SparkSession, table: Table) -> None:
    """The rows come from version 2, so the append of version 2 is no conflict, although the DataFrame was loaded at version 1."""
    frame = loaded(spark, table, **{FOLLOW: "true"})
    more(table, 3)
    frame.write.format("indextables").mode("overwrite").save(table.url)
    assert ids(loaded(spark, table)) == [1, 2, 3, 4]


def test_explain_names_the_version_that_is_read(spark: SparkSession, table: Table) -> None:
    frame = loaded(spark, table, **TASKS, **{FOLLOW: "true"})
    more(table, 3)
    plan = executed_plan(frame.select("id"))
    assert "newest version" in plan
    assert "version 2;" in plan


def test_what_cannot_follow_says_so(spark: SparkSession, table: Table, python_source: str) -> None:
    with pytest.raises(Exception, match="only DataFrames of the connector move on"):
        spark.read.format(python_source).option(FOLLOW, "true").load(table.url)
    with pytest.raises(ValueError, match="only DataFrames of the connector move on"):
        read(spark, table.url, options={FOLLOW: "true"})
    assert "expected" in refused(
        loaded(spark, table).sparkSession.read.format("indextables").option(FOLLOW, "x").load, table.url
    )
