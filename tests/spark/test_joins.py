"""Joins with rows that a plan has already: the table gets their keys, and the answers are those of Parquet."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from indextables import Table
from indextables.spark.reading.arrow_types import spark_schema
from spark.support import SCHEMA, build_twins, executed_plan

pytestmark = pytest.mark.spark

SPLITS, ROWS = 4, 100
KEYS = ["part", "id", "tiny", "number", "ratio", "score", "flag", "word", "day", "at", "wall", "price", "raw"]
"""Columns of every type that joins compare."""
FLOATS = ("ratio", "score")
"""Spark compares these after it made all zeros and all NaNs alike, so they are expressions to us."""
KINDS = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"]


@pytest.fixture(scope="module")
def twins(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return build_twins(spark, tmp_path_factory.mktemp("joins"), random.Random(7), SPLITS, ROWS)


@pytest.fixture(params=["tasks", "driver"])
def views(
    spark: SparkSession, twins: tuple[str, str], request: pytest.FixtureRequest, setting: Callable[[str, str], None]
) -> Iterator[str]:
    """The table as `t` and Parquet as `p`; the table is read by tasks, or by the driver where few rows come out."""
    driver = request.param == "driver"
    setting("spark.indextables.read.local.enabled", str(driver).lower())
    setting("spark.indextables.read.local.maxRows", "150")
    spark.read.format("indextables").load(twins[0]).createOrReplaceTempView("t")
    spark.read.parquet(twins[1]).createOrReplaceTempView("p")
    yield request.param
    for name in ("t", "p", "keys"):
        spark.catalog.dropTempView(name)


def local(spark: SparkSession, twins: tuple[str, str], column: str, rows: int = 5) -> None:
    """A view `keys` over rows of the plan: some values of a column and null, one value twice, and a number."""
    table = Table.open(twins[0]).scan(columns=[column]).read_all()
    values = list(dict.fromkeys(value for value in table.column(0).to_pylist() if value is not None))[:rows]
    values = [*values, values[0], None]
    kind = SCHEMA.field(column).type
    made = pa.table({"k": pa.array(values, kind), "n": pa.array(range(len(values)), pa.int32())})
    types = spark_schema(made.schema, made.schema.names)
    spark.createDataFrame(made, types).createOrReplaceTempView("keys")


def rows_of(df: DataFrame) -> list[str]:
    return sorted(str(tuple(row)) for row in df.collect())


def both(spark: SparkSession, text: str) -> tuple[DataFrame, DataFrame]:
    return spark.sql(text.format(t="t")), spark.sql(text.format(t="p"))


def same(spark: SparkSession, text: str) -> str:
    """The plan of a question to the table, whose answer is Parquet's."""
    ours, theirs = both(spark, text)
    assert rows_of(ours) == rows_of(theirs), text
    return executed_plan(ours)


@pytest.mark.parametrize("column", KEYS)
def test_keys_of_every_type(spark: SparkSession, twins: tuple[str, str], views: str, column: str) -> None:
    local(spark, twins, column)
    for kind in KINDS:
        mine = "" if "SEMI" in kind or "ANTI" in kind else ", n"
        plan = same(spark, f"SELECT t.id{mine} FROM {{t}} t {kind} keys ON t.{column} = k")
        kept = kind in ("LEFT JOIN", "FULL JOIN", "LEFT ANTI JOIN")
        if views == "tasks" and column not in FLOATS:
            assert ("of a join" in plan) is not kept, plan
            assert "dynamicpruning" not in plan, plan
        same(spark, f"SELECT n{mine and ', t.id'} FROM keys {kind} {{t}} t ON k = t.{column} AND t.id > 20")


def test_the_driver_answers_where_few_rows_fit(spark: SparkSession, twins: tuple[str, str], views: str) -> None:
    local(spark, twins, "id", 20)
    plan = same(spark, "SELECT t.*, n FROM {t} t JOIN keys ON t.id = k WHERE t.tiny IS NOT NULL")
    assert ("BatchScan indextables" in plan) is (views == "tasks"), plan


def test_keys_that_leave_most_rows_are_not_handed_over(spark: SparkSession, twins: tuple[str, str], views: str) -> None:
    local(spark, twins, "part")
    plan = same(spark, "SELECT t.id, n FROM {t} t JOIN keys ON t.part = k")
    assert ("of a join" in plan) is (views == "tasks"), plan


NESTED = {
    "through projections": "SELECT a.x, n FROM (SELECT id + 0 AS y, id AS x FROM {t} WHERE tiny > 0) a JOIN keys ON x = k",
    "a union": "SELECT i FROM (SELECT id AS i FROM {t} WHERE flag UNION ALL SELECT id FROM {t} WHERE tiny > 0) JOIN keys ON i=k",
    "groups": "SELECT g.id, c FROM (SELECT id, count(DISTINCT word) AS c FROM {t} GROUP BY id) g JOIN keys ON g.id = k",
    "a semi join below": "SELECT a.id, n FROM {t} a LEFT SEMI JOIN {t} b ON a.tiny = b.number JOIN keys ON a.id = k",
    "an outer join below": "SELECT a.id, b.id, n FROM {t} a LEFT JOIN {t} b ON a.number = b.id JOIN keys ON a.id = k",
    "the padded side below": "SELECT a.id, b.id, n FROM {t} a LEFT JOIN {t} b ON a.number = b.id JOIN keys ON b.id = k",
    "two keys": "SELECT t.id, n FROM {t} t JOIN keys ON t.id = k AND t.tiny = n",
    "a wider key": "SELECT t.id FROM {t} t JOIN (VALUES (1), (2), (null)) v(i) ON t.id = i",
    "in a subquery": "SELECT id FROM {t} WHERE id IN (SELECT k FROM keys WHERE n < 3)",
    "not in": "SELECT id FROM {t} WHERE id NOT IN (SELECT k FROM keys WHERE n < 3)",
    "exists": "SELECT id FROM {t} t WHERE EXISTS (SELECT 1 FROM keys WHERE k = t.id) OR t.tiny = 2",
    "a null is a key": "SELECT t.id, n FROM {t} t JOIN keys ON t.id <=> k",
    "a limit": "SELECT count(*) FROM (SELECT id FROM {t} ORDER BY id LIMIT 300) a JOIN keys ON a.id = k",
    "a window": "SELECT a.id, a.r FROM (SELECT id, row_number() OVER (ORDER BY id) AS r FROM {t}) a JOIN keys ON a.id = k",
    "a range": "SELECT t.id, r.id FROM {t} t JOIN range(3, 90, 7) r ON t.id = r.id",
    "a counted range": "SELECT t.id FROM {t} t JOIN (SELECT id * 3 AS i FROM range(50) WHERE id > 7) r ON t.id = i",
    "no keys": "SELECT t.id FROM {t} t JOIN (SELECT k FROM keys WHERE n < 0) ON t.id = k",
    "null alone": "SELECT t.id FROM {t} t RIGHT JOIN (SELECT k, n FROM keys WHERE k IS NULL) ON t.id = k",
    "of either side": "SELECT t.id, a.n FROM keys a JOIN {t} t ON a.k = t.id JOIN keys b ON b.k = t.id AND a.n = b.n",
    "a table twice": "SELECT a.id FROM {t} a JOIN keys ON a.id = k UNION ALL SELECT a.id FROM {t} a",
    "a key that fails": "SELECT t.id FROM {t} t JOIN keys ON t.id = try_divide(k, n)",
}


@pytest.mark.parametrize("name", NESTED)
def test_what_stands_between(spark: SparkSession, twins: tuple[str, str], views: str, name: str) -> None:
    assert views
    local(spark, twins, "id", 9)
    same(spark, NESTED[name])


def test_a_column_that_is_computed_is_not_a_column(spark: SparkSession, twins: tuple[str, str], views: str) -> None:
    local(spark, twins, "id", 9)
    plan = same(spark, "SELECT a.y FROM (SELECT id + 1 AS y FROM {t}) a JOIN keys ON y = k")
    assert views == "driver" or "of a join" not in plan, plan


def test_a_frame_that_is_in_a_plan_twice_is_filtered_once(spark: SparkSession, twins: tuple[str, str]) -> None:
    local(spark, twins, "id", 9)
    options = {"spark.indextables.read.local.enabled": "false"}
    whole = spark.read.format("indextables").options(**options).load(twins[0]).select("id")
    joined = whole.join(spark.table("keys"), whole.id == spark.table("keys").k).select("id")
    assert whole.union(joined).count() == SPLITS * ROWS + 10
    assert whole.exceptAll(joined.distinct()).count() == SPLITS * ROWS - 9
    assert whole.count() == SPLITS * ROWS


def test_a_join_of_an_answer_of_ours(spark: SparkSession, tmp_path: Path, twins: tuple[str, str]) -> None:
    """A search that finds few rows is rows of the plan, and its keys reach the other table."""
    url = str(tmp_path / "words")
    schema = pa.schema([("k", pa.int64()), ("note", pa.string())])
    other = Table.create(url, schema, options={"spark.indextables.indexing.typemap.note": "text"})
    other.append(pa.table([range(100), [f"note {n % 10} of many" for n in range(100)]], schema=schema))
    notes = spark.read.format("indextables").load(url).where("note INDEXQUERY '7'")
    whole = spark.read.format("indextables").option("spark.indextables.read.local.maxRows", "50").load(twins[0])
    joined = whole.join(notes, whole.id == notes.k).select("id", "note")
    assert sorted(row.id for row in joined.collect()) == list(range(7, 100, 10))
    assert "BatchScan" not in executed_plan(joined), executed_plan(joined)


@pytest.mark.parametrize("keys", [101, 20_000])
def test_too_many_keys_stay_with_spark(spark: SparkSession, views: str, keys: int) -> None:
    plan = same(spark, f"SELECT t.id FROM {{t}} t JOIN (SELECT id FROM range({keys})) r ON t.id = r.id")
    assert views == "driver" or "of a join" not in plan, plan


def test_rows_that_python_lists_are_not_here_while_spark_plans(spark: SparkSession, twins: tuple[str, str]) -> None:
    """`createDataFrame` of a list is a job of its own; of Arrow or pandas it is rows of the plan."""
    options: dict[str, Any] = {"spark.indextables.read.local.enabled": "false"}
    whole = spark.read.format("indextables").options(**options).load(twins[0]).select("id")
    listed = spark.createDataFrame([(1,), (7,)], "k long")
    assert sorted(row.id for row in whole.join(listed, whole.id == listed.k).collect()) == [1, 7]
    given = spark.createDataFrame(pa.table({"k": [1, 7]}))
    joined = whole.join(given, whole.id == given.k)
    assert "2 keys of a join for id" in executed_plan(joined), executed_plan(joined)


def test_arrays_are_joined_as_ever(spark: SparkSession, url: str) -> None:
    """Spark makes a filter of the keys of any column that takes filters, and refuses its own filter of arrays."""
    spark.range(100).selectExpr("id", "array(id % 4) AS tags").write.format("indextables").save(url)
    options = {"spark.indextables.read.local.enabled": "false"}
    spark.read.format("indextables").options(**options).load(url).createOrReplaceTempView("tagged")
    assert spark.sql("SELECT * FROM tagged JOIN (VALUES (array(1L))) v(a) ON tagged.tags = v.a").count() == 25
    spark.catalog.dropTempView("tagged")
