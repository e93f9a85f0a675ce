"""Random queries: the same rows, names and types as from Parquet, through Spark, whoever answers and however the session is set.

Every query is asked of the driver (small answers need no job) and of tasks, or of both where answers above some rows go to tasks,
twice each, with other filters asked of the same DataFrame in between. A failure names the number of the query:
`PARQUET_QUERY=17` asks that one alone.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from effort import EFFORT
from indextables import Table
from indextables.spark.reading.arrow_types import spark_schema
from spark.query_grammar import SCHEMA, Queries, Query, rows_of_every_type
from spark.support import executed_plan

pytestmark = pytest.mark.spark

QUERIES, BATCHES, SEED = 150 * EFFORT, 10, 20_260_117
SPLITS, ROWS = 4, 90
ZONES = ["UTC", "America/New_York", "Asia/Kathmandu"]
WAYS = {
    "driver": {},
    "tasks": {"spark.indextables.read.local.enabled": "false"},
    "mixed": {"spark.indextables.read.local.maxRows": "30"},
}
"""Who answers: the driver everything, tasks everything, the driver up to 30 rows."""
TEXT = {"spark.indextables.indexing.typemap.message": "text"}


class Twins:
    """Two tables, one partitioned and one not, each here and in Parquet, as views of one session."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self.spark = spark
        dice = random.Random(SEED)
        self.frames: dict[str, DataFrame] = {}
        for name, partitions, splits in (("t", ["part"], SPLITS), ("u", [], 2)):
            whole = rows_of_every_type(dice, 0, splits * ROWS)
            url, parquet = str(home / name), str(home / f"{name}.parquet")
            table = Table.create(url, SCHEMA, partition_by=partitions, options=TEXT)
            for number in range(splits):
                table.append(whole.slice(number * ROWS, ROWS))
            spark.createDataFrame(whole, spark_schema(SCHEMA, SCHEMA.names)).coalesce(1).write.parquet(parquet)
            for way, options in WAYS.items():
                self.frames[f"{way}_{name}"] = spark.read.format("indextables").options(**options).load(url)
            self.frames[f"parquet_{name}"] = spark.read.parquet(parquet)
        for view, frame in self.frames.items():
            frame.createOrReplaceTempView(view)

    def ask(self, text: str, t: str, u: str) -> DataFrame:
        return self.spark.sql(text.replace("{t}", f"{t}_t").replace("{u}", f"{u}_u"))


@pytest.fixture(scope="module")
def twins(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    twins = Twins(spark, tmp_path_factory.mktemp("queries"))
    yield twins
    for view in twins.frames:
        spark.catalog.dropTempView(view)


def numbers_of(batch: int) -> list[int]:
    chosen = os.environ.get("PARQUET_QUERY")
    return [number for number in range(batch, QUERIES, BATCHES) if chosen in (None, str(number))]


@pytest.mark.parametrize("batch", range(BATCHES))
def test_queries(twins: Twins, setting: Callable[[str, str], None], batch: int) -> None:
    by_tasks = []
    for number in numbers_of(batch):
        dice = random.Random(SEED + number)
        query = Queries(dice).query(number)
        setting("spark.sql.session.timeZone", dice.choice(ZONES))
        setting("spark.sql.ansi.enabled", dice.choice(["true", "false"]))
        setting("spark.sql.adaptive.enabled", dice.choice(["true", "false"]))
        wanted = answer(twins.ask(query.text, "parquet", "parquet"))
        for ours in ("driver", dice.choice(["tasks", "tasks", "mixed"])):
            other = dice.choice([ours, ours, "parquet"])
            where = f"query {number} by {ours}, the second table by {other}: {query.text}"
            frame = twins.ask(query.text, ours, other)
            check(answer(frame), wanted, query, twins, where)
            if ours == "driver":
                assert not runs_tasks(frame), where
            elif ours == "tasks":
                by_tasks.append(runs_tasks(frame))
            between = Queries(dice).filter()
            mine, theirs = (twins.frames[f"{name}_t"].where(between).count() for name in (ours, "parquet"))
            assert mine == theirs, f"after query {number} by {ours}: count of {between}"
            check(answer(frame), wanted, query, twins, f"again, {where}")
    assert len(by_tasks) < 4 or sum(by_tasks) * 2 >= len(by_tasks), "most queries of tasks run some"


def runs_tasks(frame: DataFrame) -> bool:
    """True if the plan has a scan of ours. Spark calls those of Parquet FileScan."""
    return "BatchScan" in executed_plan(frame)


class Answer:
    """Names, types and rows; or the class of the error that Spark raised."""

    def __init__(self, frame: DataFrame, rows: list[Row]) -> None:
        self.schema = frame.schema
        self.rows = [tuple(row) for row in rows]
        self.failed: str | None = None


def answer(frame: DataFrame) -> Answer:
    try:
        return Answer(frame, frame.collect())
    except PySparkException as error:
        failed = Answer(frame, [])
        failed.failed = error.getCondition() or str(error)
        return failed


def check(found: Answer, wanted: Answer, query: Query, twins: Twins, where: str) -> None:
    assert found.failed == wanted.failed, where
    assert found.schema == wanted.schema, where
    assert len(found.rows) == len(wanted.rows), where
    if query.any_rows is not None:
        every = [told(tuple(row)) for row in twins.ask(query.any_rows, "parquet", "parquet").collect()]
        mine = [told(row) for row in found.rows]
        assert len(set(mine)) == len(mine), where
        assert set(mine) <= set(every), where
        return
    rough = [name in query.rough for name in found.schema.names]
    exact = [place for place, unsure in enumerate(rough) if not unsure]
    zeros = {place for place, name in enumerate(found.schema.names) if name.startswith("f") or query.keys == 1}
    mine, theirs = ([sides(row, exact, zeros, query) for row in answer.rows] for answer in (found, wanted))
    if query.keys is None:
        mine, theirs = sorted(mine, key=lambda pair: pair[0]), sorted(theirs, key=lambda pair: pair[0])
    assert [pair[0] for pair in mine] == [pair[0] for pair in theirs], where
    if any(rough):
        near = all(alike(one, two) for (_, one), (_, two) in zip(mine, theirs, strict=True))
        assert near or sorted(map(rounded, mine)) == sorted(map(rounded, theirs)), where


def sides(row: tuple[Any, ...], exact: list[int], zeros: set[int], query: Query) -> tuple[str, list[Any]]:
    """What must be the same, as a text, and sums of floats."""
    certain = [one_zero(row[place]) if place in zeros else row[place] for place in exact][: query.keys]
    return told(certain), [value for place, value in enumerate(row) if place not in exact]


def one_zero(value: Any) -> Any:
    """Of -0.0 and 0.0 Spark takes the first one that it meets as the smallest or the largest: tasks meet them in any order."""
    return 0.0 if value == 0 and isinstance(value, float) else value


def told(value: Any) -> str:
    """A value as a text that differs where values differ. Maps have no order."""
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{told(key)}: {told(held)}" for key, held in value.items())) + "}"
    if isinstance(value, (list, tuple)):
        names = getattr(value, "__fields__", ())
        return f"{type(value).__name__}{names}[" + ", ".join(told(part) for part in value) + "]"
    return repr(value)


def alike(one: list[Any], two: list[Any]) -> bool:
    return all(
        a == b
        or (a is not None and b is not None and (math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or (a != a and b != b)))
        for a, b in zip(one, two, strict=True)
    )


def rounded(pair: tuple[str, list[Any]]) -> str:
    """Where groups have equal certain columns, their rough ones find each other by their first digits."""
    return pair[0] + told([None if value is None else f"{value:.6g}" for value in pair[1]])
