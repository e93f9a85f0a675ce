"""Aggregates of a table that is too large for the driver's own answers are the same as those of a small one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from indextables import Table

pytestmark = pytest.mark.spark

DAYS, ROWS = 4, 500
LARGE = {
    "too many bytes": {"read.local.maxBytes": "1"},
    "too many rows": {"read.local.maxRows": "0"},
    "too many of both": {"read.local.maxBytes": "1", "read.local.maxRows": "0"},
    "no answers by the driver": {"read.local.enabled": "false"},
    "workers": {"read.local.enabled": "false", "read.columnar.enabled": "false"},
}
QUESTIONS = [
    "SELECT count(*) FROM t",
    "SELECT count(*), count(*) + 1 FROM t",
    "SELECT count(1) FROM t WHERE day = 'd2'",
    "SELECT count(*) FROM t WHERE day > 'd1' AND id < 1700",
    "SELECT count(*) FROM t WHERE id % 3 = 1",
    "SELECT count(*) FROM t WHERE id < 0",
    "SELECT count(*) FROM t WHERE word INDEXQUERY 'w3'",
    "SELECT count(*) FROM t WHERE word INDEXQUERY 'w3 OR w4' AND day = 'd3'",
    "SELECT count(*) FROM t WHERE word IS NULL",
    "SELECT count(word), count(DISTINCT word) FROM t",
    "SELECT count(*), sum(id), min(id), max(id), avg(id) FROM t",
    "SELECT day, count(*) FROM t GROUP BY day",
    "SELECT word, count(*), sum(id) FROM t WHERE id > 100 GROUP BY word",
    "SELECT count(*) FROM t HAVING count(*) > 10",
    "SELECT (SELECT count(*) FROM t WHERE day = 'd1') + count(*) FROM t",
    "SELECT count(*) FROM (SELECT * FROM t LIMIT 700)",
    "SELECT count(*) FROM (SELECT * FROM t UNION ALL SELECT * FROM t)",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    table = Table.create(
        tmp_path_factory.mktemp("large") / "t",
        pa.schema([("day", pa.string()), ("id", pa.int64()), ("word", pa.string())]),
        partition_by=["day"],
        options={"spark.indextables.indexing.typemap.word": "text"},
    )
    for day in range(DAYS):
        ids = range(day * ROWS, (day + 1) * ROWS)
        words = [None if number % 11 == 0 else f"w{number % 7}" for number in ids]
        table.append(pa.table({"day": [f"d{day}"] * ROWS, "id": ids, "word": words}))
    return table.url


def answers(spark: SparkSession, place: str, question: str, options: dict[str, str]) -> list[tuple[Any, ...]]:
    given = {f"spark.indextables.{key}": value for key, value in options.items()}
    spark.read.format("indextables").options(**given).load(place).createOrReplaceTempView("t")
    return sorted((tuple(row) for row in spark.sql(question).collect()), key=str)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_same_answers(spark: SparkSession, place: str, question: str) -> None:
    small = answers(spark, place, question, {})
    found = {
        name: answers(spark, place, question, {**options, "read.splitsPerTask": "1"}) for name, options in LARGE.items()
    }
    assert found == dict.fromkeys(LARGE, small)


def test_the_rows_of_a_table(spark: SparkSession, place: str) -> None:
    assert answers(spark, place, QUESTIONS[0], LARGE["too many bytes"]) == [(DAYS * ROWS,)]
