"""Questions to which the connector that this format comes from gives wrong answers, each under a name that says so."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from indextables import Table
from spark.write_support import program_environment

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), ("level", pa.string()), ("line", pa.string())])
SPLITS, ROWS = 3, 200
START = "one line of a log that has more than thirty-two letters, "
"""What all lines have in common: more than the log's bounds hold."""


def rows_of(first: int, many: int = ROWS) -> pa.Table:
    ids = range(first, first + many)
    levels = ["error" if row % 4 == 0 else "Info" for row in ids]
    return pa.table([ids, levels, [f"{START}{row:04}" for row in ids]], schema=SCHEMA)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = str(tmp_path_factory.mktemp("original") / "logs")
    table = Table.create(url, SCHEMA)
    for number in range(SPLITS):
        table.append(rows_of(number * ROWS))
    return url


@pytest.fixture(params=["by the driver", "by tasks"])
def logs(request: pytest.FixtureRequest, spark: SparkSession, place: str) -> DataFrame:
    local = str(request.param == "by the driver").lower()
    df = spark.read.format("indextables").option("spark.indextables.read.local.enabled", local).load(place)
    df.createOrReplaceTempView("original_logs")
    return df


def test_answers_end_at_250_rows(spark: SparkSession, logs: DataFrame) -> None:
    assert len(logs.collect()) == 600
    assert len(logs.where("level = 'Info'").collect()) == 450
    assert spark.sql("SELECT count(*) FROM (SELECT DISTINCT line FROM original_logs)").first()[0] == 600
    assert len(logs.limit(300).collect()) == 300
    assert spark.sql("SELECT sum(id) FROM original_logs WHERE id >= 0").first()[0] == sum(range(600))


def test_a_filter_above_a_union_reaches_one_side(spark: SparkSession, logs: DataFrame) -> None:
    both = logs.where("id < 100").union(logs.where("id >= 500"))
    assert sorted(row.id for row in both.where("level = 'error' AND id % 50 = 0").collect()) == [0, 500]
    text = "SELECT id FROM (SELECT * FROM original_logs WHERE id < 3 UNION ALL SELECT * FROM original_logs) WHERE id IN (2, 5)"
    assert sorted(row.id for row in spark.sql(text).collect()) == [2, 2, 5]


def test_texts_of_more_than_32_characters_lose_rows(logs: DataFrame) -> None:
    assert [row.id for row in logs.where(f"line = '{START}0123'").collect()] == [123]
    assert logs.where(f"line <> '{START}0123'").count() == 599
    assert logs.where(f"line IN ('{START}0001', '{START}0599', '{START}')").count() == 2
    assert logs.selectExpr("min(line)", "max(line)").first() == (f"{START}0000", f"{START}0599")
    assert logs.where(f"line LIKE '{START}059%'").count() == 10


def test_ranges_of_texts_with_one_end_lose_rows(logs: DataFrame) -> None:
    assert logs.where(f"line > '{START}0590'").count() == 9
    assert logs.where(f"line >= '{START}'").count() == 600
    assert logs.where(f"line < '{START}0010'").count() == 10
    assert logs.where("line < 'one'").count() == 0
    assert logs.where("level > 'Info'").count() == 150, "small letters come after large ones"
    assert logs.where("level <= 'Info'").count() == 450


def test_sum_of_length_is_the_sum_of_the_column(logs: DataFrame) -> None:
    assert logs.selectExpr("sum(length(line))", "sum(length(level))").first() == (
        600 * (len(START) + 4),
        150 * 5 + 450 * 4,
    )


def test_max_of_upper_is_the_max_of_the_column(logs: DataFrame) -> None:
    assert logs.selectExpr("max(upper(level))", "min(upper(level))", "max(level)").first() == ("INFO", "ERROR", "error")
    assert logs.selectExpr("max(-id)", "min(id + 1)", "sum(id * 2)").first() == (0, 1, 2 * sum(range(600)))


def test_groups_by_an_expression_are_groups_by_its_column(spark: SparkSession, logs: DataFrame) -> None:
    text = "SELECT upper(level) AS l, id % 2 AS odd, count(*) AS n FROM original_logs GROUP BY upper(level), id % 2"
    assert sorted(tuple(row) for row in spark.sql(text).collect()) == [
        ("ERROR", 0, 150),
        ("INFO", 0, 150),
        ("INFO", 1, 300),
    ]
    assert sorted(row.l for row in spark.sql("SELECT length(level) AS l FROM original_logs GROUP BY 1").collect()) == [
        4,
        5,
    ]


def test_a_second_question_gets_the_filter_of_the_first(logs: DataFrame) -> None:
    few, others = logs.where("id < 10"), logs.where("level = 'error'")
    for _ in range(2):
        assert (few.count(), others.count(), logs.count()) == (10, 150, 600)
    assert few.intersect(others).count() == 3
    assert few.join(others.select("id"), "id").count() == 3
    assert sorted(row.id for row in few.select("id").union(others.where("id > 590").select("id")).collect()) == [
        *range(10),
        592,
        596,
    ]


WORDS = {"spark.indextables.indexing.typemap.line": "text"}


@pytest.fixture(scope="module")
def searchable(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Every second line has the word disk, the others node; every third has full, the others slow."""
    url = str(tmp_path_factory.mktemp("original") / "words")
    table = Table.create(url, SCHEMA, options=WORDS)
    for first in range(0, SPLITS * ROWS, ROWS):
        rows = rows_of(first)
        lines = [
            f"{('disk', 'node')[row % 2]} {'slow' if row % 3 else 'full'} {row}" for row in range(first, first + ROWS)
        ]
        table.append(rows.set_column(2, "line", pa.array(lines)))
    return url


@pytest.fixture(params=["by the driver", "by tasks"])
def words(request: pytest.FixtureRequest, spark: SparkSession, searchable: str) -> DataFrame:
    local = str(request.param == "by the driver").lower()
    df = spark.read.format("indextables").option("spark.indextables.read.local.enabled", local).load(searchable)
    df.createOrReplaceTempView("original_words")
    return df


def ids_of(spark: SparkSession, text: str) -> list[int]:
    return sorted(row.id for row in spark.sql(text).collect())


def test_two_searches_in_one_statement_are_taken_for_one(spark: SparkSession, words: DataFrame) -> None:
    disk, full = "line INDEXQUERY 'disk'", "line INDEXQUERY 'full'"
    assert ids_of(spark, f"SELECT id FROM original_words WHERE {disk} AND {full}") == list(range(0, 600, 6))
    assert words.where(f"{disk} OR {full}").count() == 400
    assert words.where(f"{disk} AND NOT {full}").count() == 200
    both = [f"(SELECT count(*) FROM original_words WHERE {found})" for found in (disk, full, f"{full} AND id < 100")]
    assert spark.sql(f"SELECT {', '.join(both)}").first() == (300, 200, 34)
    joined = f"SELECT a.id FROM original_words a JOIN original_words b ON a.id = b.id WHERE a.{disk} AND b.{full}"
    assert ids_of(spark, joined) == list(range(0, 600, 6))
    union = f"SELECT id FROM original_words WHERE {full} UNION ALL SELECT id FROM original_words WHERE {disk}"
    assert ids_of(spark, union) == sorted([*range(0, 600, 3), *range(0, 600, 2)])


def test_a_search_beside_a_join_with_parquet_searches_parquet(
    spark: SparkSession, words: DataFrame, tmp_path: Path
) -> None:
    words.where("id < 50").selectExpr("id", "'disk full' AS line").write.parquet(str(tmp_path / "other"))
    spark.read.parquet(str(tmp_path / "other")).createOrReplaceTempView("original_other")
    both = "line INDEXQUERY 'disk AND full'"
    text = f"SELECT w.id FROM original_words w JOIN original_other o ON w.id = o.id WHERE w.{both}"
    assert ids_of(spark, text) == list(range(0, 50, 6))
    assert ids_of(spark, text.replace("w.id = o.id", "w.id = o.id AND o.line = 'disk full'")) == list(range(0, 50, 6))
    left = f"SELECT o.id, w.id AS found FROM original_other o LEFT JOIN (SELECT * FROM original_words WHERE {both}) w"
    rows = spark.sql(f"{left} ON o.id = w.id").collect()
    assert sorted(row.id for row in rows) == list(range(50))
    assert sorted(row.found for row in rows if row.found is not None) == list(range(0, 50, 6))
    with pytest.raises(PySparkException, match="can only be a condition on a column of an indextables table"):
        spark.sql(text.replace("w.line", "o.line")).collect()


def test_a_search_or_something_that_cannot_be_pushed_loses_rows(spark: SparkSession, words: DataFrame) -> None:
    wanted = sorted({*range(0, 600, 6), *range(0, 600, 4)})
    both = "line INDEXQUERY 'disk AND full'"
    assert sorted(row.id for row in words.where(f"{both} OR level = 'error'").collect()) == wanted
    with pytest.raises(PySparkException, match="can only be a condition on a column"):
        words.where(f"{both} OR upper(level) = 'ERROR'").collect()
    found = f"id IN (SELECT id FROM original_words WHERE {both})"
    assert ids_of(spark, f"SELECT id FROM original_words WHERE {found} OR upper(level) = 'ERROR'") == wanted
    assert words.where(f"{both} AND upper(level) = 'ERROR'").count() == 50


APPEND = """
import sys
import pyarrow as pa
from indextables import Table
table = Table.open(sys.argv[1])
table.append(pa.table({"id": [600], "level": ["error"], "line": ["new"]}, table.schema))
"""


def test_another_process_s_commit_is_not_seen(spark: SparkSession, url: str) -> None:
    Table.create(url, SCHEMA).append(rows_of(0, 10))
    assert spark.read.format("indextables").load(url).count() == 10
    for number in (11, 12):
        subprocess.run(
            [sys.executable, "-c", APPEND, url], env=program_environment(Path(url).parent), check=True, timeout=240
        )
        fresh = spark.read.format("indextables").load(url)
        assert fresh.count() == number
        assert fresh.where("id = 600").count() == number - 10


def test_a_table_that_is_removed_and_created_again_shows_its_old_rows(spark: SparkSession, url: str) -> None:
    Table.create(url, SCHEMA).append(rows_of(0, 10))
    old = spark.read.format("indextables").load(url)
    assert old.count() == 10
    shutil.rmtree(url)
    Table.create(url, SCHEMA).append(rows_of(100, 3))
    new = spark.read.format("indextables").load(url)
    assert sorted(row.id for row in new.collect()) == [100, 101, 102]
    assert new.where("id < 100").count() == 0
    with pytest.raises(PySparkException, match="TableReplaced: "):
        old.count()
