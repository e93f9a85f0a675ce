"""Searches in SQL: infix words, functions, scores; what they find, what is handed over, and what is refused in one line."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from effort import examples
from indextables import Table
from spark.support import executed_plan

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [("day", pa.string()), ("id", pa.int64()), ("level", pa.string()), ("message", pa.string()), ("ms", pa.int32())]
)
WORDS = ("disk", "full", "timeout", "retry", "error")


def _rows(day: int) -> pa.Table:
    dice = random.Random(day)
    texts = [None if dice.random() < 0.1 else " ".join(dice.choices(WORDS, k=dice.randrange(1, 5))) for _ in range(60)]
    return pa.table(
        [
            [f"2026-01-0{day}"] * 60,
            pa.array(range(day * 100, day * 100 + 60), pa.int64()),
            [dice.choice(["ERROR", "INFO", None]) for _ in range(60)],
            texts,
            pa.array([dice.choice([None, 1, 50, 900]) for _ in range(60)], pa.int32()),
        ],
        schema=SCHEMA,
    )


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three days of log lines, of which some have no message."""
    place = str(tmp_path_factory.mktemp("search") / "logs")
    options = {"spark.indextables.indexing.typemap.message": "text"}
    table = Table.create(place, SCHEMA, partition_by=["day"], options=options)
    for day in (1, 2, 3):
        table.append(_rows(day))
    return place


@pytest.fixture
def logs(spark: SparkSession, url: str, tmp_path: Path) -> DataFrame:
    """The table as a view `logs`, the same rows as Parquet `plain`, and a function that finds words there."""
    frame = spark.read.format("indextables").load(url)
    frame.createOrReplaceTempView("logs")
    frame.write.mode("overwrite").parquet(str(tmp_path / "plain"))
    spark.read.parquet(str(tmp_path / "plain")).createOrReplaceTempView("plain")

    def has(text: str | None, words: str) -> bool | None:  # in here, so that it travels by value
        """Whether a text has all words of `a AND b`, or one of `a OR b`."""
        if text is None:
            return None
        found = set(text.split())
        return any(set(part.split(" AND ")) <= found for part in words.split(" OR "))

    spark.udf.register("has", has, "boolean")
    return frame


CONDITIONS = [
    ("message INDEXQUERY 'disk'", "has(message, 'disk')"),
    ("message indexquery 'disk AND full'", "has(message, 'disk AND full')"),
    ("indexquery(message, 'disk OR retry')", "has(message, 'disk OR retry')"),
    ("INDEXQUERY(message, 'disk')", "has(message, 'disk')"),
    ("message TEXTSEARCH 'timeout'", "has(message, 'timeout')"),
    ("level FIELDMATCH 'ERROR'", "level = 'ERROR'"),
    ("NOT message INDEXQUERY 'disk'", "NOT has(message, 'disk')"),
    ("message NOT INDEXQUERY 'disk'", "NOT has(message, 'disk')"),
    ("message INDEXQUERY 'disk' AND ms > 40", "has(message, 'disk') AND ms > 40"),
    ("message INDEXQUERY 'disk' OR ms > 40", "has(message, 'disk') OR ms > 40"),
    ("message INDEXQUERY 'disk' OR message INDEXQUERY 'retry'", "has(message, 'disk') OR has(message, 'retry')"),
    (
        "message INDEXQUERY 'disk' AND NOT (message INDEXQUERY 'full' OR ms IS NULL)",
        "has(message, 'disk') AND NOT (has(message, 'full') OR ms IS NULL)",
    ),
    ("(message INDEXQUERY 'disk') IS NULL", "message IS NULL"),
    ("message INDEXQUERY 'disk' AND upper(level) = 'INFO'", "has(message, 'disk') AND upper(level) = 'INFO'"),
    ("logs.message INDEXQUERY 'disk'", "has(message, 'disk')"),
    ("`message` INDEXQUERY 'disk'", "has(message, 'disk')"),
    ("message/* here */INDEXQUERY--now\n'disk'", "has(message, 'disk')"),
    ('message INDEXQUERY "disk"', "has(message, 'disk')"),
    ("message INDEXQUERY r'disk'", "has(message, 'disk')"),
    ("message INDEXQUERY 'disk' AND message <> 'x INDEXQUERY ''y'''", "has(message, 'disk')"),
]
STATEMENTS = [
    "SELECT id, message FROM {t} WHERE {found}",
    "SELECT count(*), sum(ms), max(message) FROM {t} WHERE {found}",
    "SELECT day, level, count(*) n FROM {t} WHERE {found} GROUP BY day, level",
    "SELECT id FROM {t} WHERE {found} ORDER BY ms DESC NULLS LAST, id LIMIT 7",
    "WITH some AS (SELECT * FROM {t} WHERE {found}) SELECT a.id, b.level FROM some a JOIN some b ON a.id = b.id + 1",
    "SELECT id FROM {t} WHERE day = '2026-01-02' AND ({found}) UNION ALL SELECT ms FROM {t} WHERE ms > 10",
    "SELECT p.id FROM plain p WHERE EXISTS (SELECT 1 FROM {t} WHERE {found} AND {t}.id = p.id)",
    "SELECT p.key, id FROM (SELECT id AS key FROM plain) p LEFT JOIN {t} ON p.key = {t}.id AND ({found})",
    "SELECT id FROM {t} WHERE id IN (SELECT id FROM {t} WHERE {found}) AND ms = 1",
]


@pytest.mark.parametrize("how", ["driver", "tasks"])
def test_a_search_finds_what_a_function_over_parquet_finds(
    spark: SparkSession, logs: DataFrame, url: str, setting: Callable[[str, str], None], how: str
) -> None:
    assert logs.columns == SCHEMA.names
    dice = random.Random(how)
    pairs = [(ours, theirs, text) for ours, theirs in CONDITIONS for text in STATEMENTS]
    if how == "tasks":
        setting("spark.indextables.read.local.enabled", "false")
        spark.read.format("indextables").load(url).createOrReplaceTempView("logs")
    for ours, theirs, text in dice.sample(pairs, min(len(pairs), examples(40))):
        if "IS NULL" in ours and "LEFT JOIN" in text:
            continue  # only Spark decides what is null after an outer join
        asked = text.format(t="logs", found=ours)
        model = text.format(t="plain2", found=theirs.replace("logs.", ""))
        spark.table("plain").createOrReplaceTempView("plain2")
        assert _values(spark.sql(asked)) == _values(spark.sql(model)), asked


def _values(frame: DataFrame) -> tuple[list[str], list[str]]:
    return [kind for _, kind in frame.dtypes], sorted(map(repr, map(tuple, frame.collect())))


def test_dataframes_have_searches_too(spark: SparkSession, logs: DataFrame) -> None:
    expected = spark.sql("SELECT id FROM plain WHERE has(message, 'disk') AND ms > 10").count()
    assert expected > 10
    assert logs.where("message INDEXQUERY 'disk'").where("ms > 10").count() == expected
    assert logs.where(sql.expr("message INDEXQUERY 'disk'") & (sql.col("ms") > 10)).count() == expected
    assert logs.filter(sql.expr("indexquery(message, 'disk') AND ms > 10")).count() == expected
    assert (
        spark.sql("SELECT id FROM logs WHERE message INDEXQUERY :words AND ms > 10", {"words": "disk"}).count()
        == expected
    )


def test_all_columns_are_searched_where_none_is_named(spark: SparkSession, logs: DataFrame) -> None:
    expected = spark.sql("SELECT id FROM plain WHERE has(message, 'disk OR error')").count()
    assert logs.where("_indexall INDEXQUERY 'disk OR ERROR'").count() == expected
    assert logs.where("indexqueryall('disk OR ERROR')").count() == expected
    assert logs.where("INDEXQUERYALL('disk OR ERROR') AND id < 0").count() == 0


def test_scores_rank_rows_as_the_table_does(spark: SparkSession, logs: DataFrame, url: str) -> None:
    best = logs.where("message INDEXQUERY 'disk AND full'").select("id", "_score").orderBy(sql.desc("_score")).limit(5)
    found = [(row["id"], row["_score"]) for row in best.collect()]
    expected = Table.open(url).search("message:(disk AND full)", columns=["id"], limit=5)
    assert found == list(zip(expected.column("id").to_pylist(), expected.column("_score").to_pylist(), strict=True))
    assert "LocalTableScan" in executed_plan(best)
    everything = logs.where("message INDEXQUERY 'disk'").select("id", "_score").collect()
    assert all(row["_score"] > 0 for row in everything)
    assert len(everything) == logs.where("message INDEXQUERY 'disk'").count()


SCORED = [
    "SELECT id, _score FROM {t} WHERE {found} ORDER BY _score DESC LIMIT 5",
    "SELECT id FROM {t} WHERE {found} ORDER BY _score DESC LIMIT 5",
    "SELECT id, _score FROM {t} WHERE {found} ORDER BY _score LIMIT 5",
    "SELECT id, _score FROM {t} WHERE {found} ORDER BY _score DESC, id LIMIT 5 OFFSET 2",
    "SELECT id, _score FROM {t} WHERE {found} ORDER BY id DESC LIMIT 3",
    "SELECT id, _score FROM {t} WHERE {found} ORDER BY ms DESC NULLS LAST, id DESC LIMIT 4 OFFSET 1",
    "SELECT id FROM {t} WHERE {found} ORDER BY ms DESC NULLS LAST, id DESC LIMIT 4",
    "SELECT level, round(_score, 3) FROM {t} WHERE {found} AND ms > 10 ORDER BY id DESC LIMIT 5",
]
"""First rows by scores, and by columns with scores beside them."""


@pytest.mark.parametrize("text", SCORED)
@pytest.mark.parametrize("how", ["driver", "tasks"])
def test_first_rows_with_scores(
    spark: SparkSession, url: str, setting: Callable[[str, str], None], text: str, how: str
) -> None:
    """Compared with Spark's own order of all rows and their scores."""
    if how == "tasks":
        setting("spark.indextables.read.local.enabled", "false")
    found = "message INDEXQUERY 'disk OR full'"
    asked = spark.sql(text.format(t=f"indextables.`{url}`", found=found))
    spark.sql(f"SELECT *, _score FROM indextables.`{url}` WHERE {found}").cache().createOrReplaceTempView("scored")
    try:
        wanted = spark.sql(text.format(t="scored", found="true"))
        if "DESC LIMIT" in text and "_score DESC" in text:  # equal scores come in any order
            column = "_score" if "_score FROM" in text else "id"
            ours, theirs = ([row[column] for row in frame.collect()] for frame in (asked, wanted))
            scores = {row.id: row["_score"] for row in spark.table("scored").collect()}
            assert [scores.get(value, value) for value in ours] == [scores.get(value, value) for value in theirs]
        else:
            assert asked.collect() == wanted.collect()
    finally:
        spark.catalog.uncacheTable("scored")
        spark.catalog.dropTempView("scored")


def test_the_best_rows_alone_are_read(spark: SparkSession, url: str, told: list[str]) -> None:
    best = "SELECT id FROM indextables.`{url}` WHERE message INDEXQUERY 'disk' ORDER BY _score DESC LIMIT 5"
    plan = executed_plan(spark.sql(best.format(url=url)))
    assert plan.startswith("LocalTableScan"), plan
    assert "5 rows by the driver" in told[-1]


COPIED = [
    "SELECT a.id FROM texts a JOIN raw b ON a.message = b.message WHERE a.message INDEXQUERY 'disk'",
    "SELECT a.id FROM texts a JOIN raw b ON a.message = b.message WHERE a.message TEXTSEARCH 'disk'",
    "SELECT a.id FROM texts a JOIN other b ON a.message = b.message WHERE a.message INDEXQUERY 'disk'",
    "SELECT b.id FROM other b LEFT SEMI JOIN texts a ON a.message = b.message AND a.message INDEXQUERY 'disk'",
    "SELECT b.id FROM raw b JOIN texts a ON a.message = b.message WHERE a.message INDEXQUERY 'disk' AND b.id < 3",
    "SELECT a.id FROM texts a WHERE a.message IN (SELECT message FROM raw) AND a.message INDEXQUERY 'disk'",
    "SELECT a.id FROM texts a JOIN texts b ON a.message = b.message WHERE a.message INDEXQUERY 'disk' AND b.id > 0",
]
"""Joins in which Spark infers conditions of one column for the other."""


@pytest.mark.parametrize("text", COPIED)
def test_a_search_is_not_copied_along_an_equality(spark: SparkSession, tmp_path: Path, text: str) -> None:
    """`raw` has the same texts, not cut into words, and `other` is Parquet."""
    schema = pa.schema([("id", pa.int64()), ("message", pa.string())])
    rows = pa.table([[1, 2, 3], ["disk full", "disk slow", "node"]], schema=schema)
    for name, options in (("texts", {"spark.indextables.indexing.typemap.message": "text"}), ("raw", {})):
        Table.create(str(tmp_path / name), schema, options=options).append(rows)
        spark.read.format("indextables").load(str(tmp_path / name)).createOrReplaceTempView(name)
    spark.table("texts").write.parquet(str(tmp_path / "other"))
    spark.read.parquet(str(tmp_path / "other")).createOrReplaceTempView("other")
    assert sorted(row.id for row in spark.sql(text).collect()) == [1, 2]


REFUSED = [
    ("SELECT message INDEXQUERY 'x' FROM logs", "can only be a condition on a column of an indextables table"),
    (
        "SELECT id FROM plain WHERE message INDEXQUERY 'x'",
        "can only be a condition on a column of an indextables table",
    ),
    ("SELECT id FROM logs WHERE message INDEXQUERY 'x' OR length(message) > 3", "can only be a condition on a column"),
    ("SELECT id FROM logs WHERE message INDEXQUERY '(x'", "parenthesis"),
    ("SELECT id FROM logs WHERE message INDEXQUERY 'nope:x'", "nope"),
    ("SELECT id FROM logs WHERE level TEXTSEARCH 'x'", "FIELDMATCH"),
    ("SELECT id FROM logs WHERE message FIELDMATCH 'x'", "TEXTSEARCH"),
    ("SELECT id FROM logs WHERE indexquery(message, level)", "a text that is written in the query"),
    ("SELECT id FROM logs WHERE indexquery(upper(message), 'x')", "searches a column of the table, not an expression"),
    ("SELECT id FROM logs WHERE indexquery(message)", "takes a column and a text"),
    ("SELECT id FROM logs WHERE message INDEXQUERY", "PARSE_SYNTAX_ERROR"),
]


@pytest.mark.parametrize(("text", "said"), REFUSED, ids=range(len(REFUSED)))
def test_what_no_index_can_answer_is_an_error_of_one_line(
    spark: SparkSession, logs: DataFrame, text: str, said: str
) -> None:
    assert logs is not None
    with pytest.raises(PySparkException) as error:
        spark.sql(text).collect()
    first = str(error.value).strip().splitlines()
    assert said in str(error.value)
    if "PARSE_SYNTAX_ERROR" not in said:
        assert len(first) == 1, first


def test_a_score_without_a_search_is_an_error(logs: DataFrame) -> None:
    with pytest.raises(PySparkException, match="give a query"):
        logs.select("_score").collect()


def test_infix_words_in_views_and_explain(spark: SparkSession, logs: DataFrame) -> None:
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW disks AS SELECT id, ms FROM logs WHERE message INDEXQUERY 'disk'")
    assert spark.table("disks").count() == logs.where("message INDEXQUERY 'disk'").count()
    text = spark.sql("EXPLAIN SELECT id FROM logs WHERE message INDEXQUERY 'disk' AND ms > 10").collect()[0][0]
    assert "LocalTableScan" in text
