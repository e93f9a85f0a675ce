"""Random queries: the same rows, names and types as from Parquet, through Spark, whoever answers and however the session is set.

Every query is asked of the driver (small answers need no job) and of tasks, and either of both, where answers above some rows go
to tasks, or of the pure Python source: twice each, with other filters asked of the same DataFrame in between. The number of a
query decides its text and its cell of the matrix: zone, ANSI, adaptive execution, who answers third, whose the second table is.
Searches are compared with a Python function over Parquet; the Python source has none in SQL.

`make spark-matrix` asks 600 queries of one machine and of a cluster, and prints which cells they covered; every run of the
tests asks the first few. A failure names the number of the query: `PARQUET_QUERY=17` asks that one alone.
"""

from __future__ import annotations

import itertools
import math
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import VariantVal

from indextables import Table
from indextables.spark import write
from indextables.spark.reading.arrow_types import spark_schema
from spark import query_filters
from spark.query_filters import LENGTHS, MADE, SCHEMA, has, rows_of_every_type, written_for_us
from spark.query_grammar import Queries, Query
from spark.support import executed_plan

pytestmark = pytest.mark.spark

QUERIES = int(os.environ.get("MATRIX_QUERIES", "30"))
"""How many queries are asked: those of a minute, unless the environment says more."""
TOGETHER = 10
"""Queries of one test: a test has a time limit."""
SEED = 20_260_117
SPLITS, ROWS = 4, 90
ZONES = ["UTC", "America/New_York", "Asia/Kathmandu"]
WAYS = {
    "driver": {},
    "tasks": {"spark.indextables.read.local.enabled": "false"},
    "mixed": {"spark.indextables.read.local.maxRows": "30"},
}
"""Who answers: the driver everything, tasks everything, the driver up to 30 rows."""
PYTHON = "python"
"""The way of the pure Python source, to which Spark hands nothing over."""
TEXT = {"spark.indextables.indexing.typemap.message": "text"}


@dataclass(frozen=True)
class Cell:
    """How a session is set, who answers besides the driver and tasks, and whether the second table is ours or Parquet."""

    zone: str
    ansi: str
    adaptive: str
    way: str
    second: str


CELLS = [
    Cell(*parts)
    for parts in itertools.product(ZONES, ["true", "false"], ["true", "false"], ["mixed", PYTHON], ["ours", "parquet"])
]


def cell_of(number: int) -> Cell:
    """Cells in an order that differs from round to round, so that every shape of a query comes to every cell."""
    turn, place = divmod(number, len(CELLS))
    return random.Random(SEED + turn).sample(CELLS, len(CELLS))[place]


@dataclass
class Coverage:
    """What was asked, for the last lines of a run."""

    master: str
    queries: int = 0
    answers: int = 0
    searches: int = 0
    errors: int = 0
    by_tasks: int = 0
    by_python: int = 0
    cells: Counter[Cell] = field(default_factory=Counter)
    shapes: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        least, most = (min(self.cells.values(), default=0), max(self.cells.values(), default=0))
        found = (
            f"  {len(self.cells)} of {len(CELLS)} cells, {least} to {most} queries each; {self.searches} queries with searches, "
            f"{self.errors} that fail alike, {self.by_tasks} answers by tasks, {self.by_python} by the Python source"
        )
        lines = [
            f"{self.queries} queries, {self.answers} answers of {self.master}: {len(self.differences)} differences",
            found,
            "  " + ", ".join(f"{name} {count}" for name, count in sorted(self.shapes.items())),
        ]
        for name in ("zone", "ansi", "adaptive", "way", "second"):
            held: Counter[str] = Counter()
            for cell, count in self.cells.items():
                held[getattr(cell, name)] += count
            lines.append(f"  {name}: " + ", ".join(f"{value} {count}" for value, count in sorted(held.items())))
        return "\n".join(lines)


class Twins:
    """Two tables, one partitioned and one not, each here and in Parquet, as views of one session."""

    def __init__(self, spark: SparkSession, home: Path, python_source: str) -> None:
        self.spark = spark
        self.coverage = Coverage(spark.sparkContext.master)
        dice = random.Random(SEED)
        self.frames: dict[str, DataFrame] = {}
        made = [f"{text} AS {name}" for name, text in MADE.items()]
        for name, partitions, splits in (("t", ["part"], SPLITS), ("u", [], 2)):
            whole = rows_of_every_type(dice, 0, splits * ROWS)
            url, parquet = str(home / name), str(home / f"{name}.parquet")
            rows = spark.createDataFrame(whole, spark_schema(SCHEMA, SCHEMA.names)).coalesce(1).selectExpr("*", *made)
            for text, kind in LENGTHS.items():
                rows = rows.withMetadata(text, {"__CHAR_VARCHAR_TYPE_STRING": kind})
            rows.write.parquet(parquet)
            for number in range(splits):
                part = rows.where(f"id >= {number * ROWS} AND id < {(number + 1) * ROWS}")
                write(part, url, "append", partition_by=partitions, options=TEXT)
            assert Table.open(url).count() == whole.num_rows
            for way, options in WAYS.items():
                self.frames[f"{way}_{name}"] = spark.read.format("indextables").options(**options).load(url)
            self.frames[f"{PYTHON}_{name}"] = spark.read.format(python_source).load(url)
            self.frames[f"parquet_{name}"] = spark.read.parquet(parquet)
        for view, frame in self.frames.items():
            frame.createOrReplaceTempView(view)
        cloudpickle.register_pickle_by_value(query_filters)
        spark.udf.register("has", has, "boolean")

    def ask(self, text: str, t: str, u: str) -> DataFrame:
        searched = "".join(name for name, by in (("t", t), ("u", u)) if by != "parquet")
        return self.spark.sql(written_for_us(text, searched).replace("{t}", f"{t}_t").replace("{u}", f"{u}_u"))


@pytest.fixture(scope="module")
def twins(spark: SparkSession, python_source: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel("CRITICAL")  # queries that fail alike are no news
    before = spark.conf.get("spark.sql.timeType.enabled")
    spark.conf.set("spark.sql.timeType.enabled", "true")
    twins = Twins(spark, tmp_path_factory.mktemp("queries"), python_source)
    yield twins
    for view in twins.frames:
        spark.catalog.dropTempView(view)
    spark.conf.set("spark.sql.timeType.enabled", before)
    print(f"\n{twins.coverage}", file=sys.__stderr__)


def test_columns_are_what_they_should_be(twins: Twins) -> None:
    """Each way sees texts of one length as Spark sees those of Parquet: filled up with spaces."""
    for way in (*WAYS, PYTHON, "parquet"):
        rows = (
            twins.frames[f"{way}_t"].where("word = 'ab'").selectExpr("code", "short", "nocase = 'AB'", "doc").collect()
        )
        assert {tuple(row)[:3] for row in rows} == {("ab  ", "ab", True)}, way
        assert any(isinstance(row.doc, VariantVal) for row in rows), way


def numbers_of(batch: int) -> list[int]:
    chosen = os.environ.get("PARQUET_QUERY")
    if chosen is not None:
        return [int(chosen)] if batch == 0 else []
    return list(range(batch * TOGETHER, min(QUERIES, (batch + 1) * TOGETHER)))


@pytest.mark.parametrize("batch", range(math.ceil(QUERIES / TOGETHER)))
def test_queries(twins: Twins, setting: Callable[[str, str], None], batch: int) -> None:
    by_tasks: list[bool] = []
    differences = []
    for number in numbers_of(batch):
        try:
            by_tasks += ask_all(twins, setting, number)
        except AssertionError as difference:
            differences.append(str(difference))
        except Exception as error:
            differences.append(f"query {number}, {cell_of(number)}: {type(error).__name__}: {str(error)[:500]}")
    twins.coverage.differences += differences
    assert not differences, "\n\n".join(differences)
    assert len(by_tasks) < 4 or sum(by_tasks) * 2 >= len(by_tasks), "most queries of tasks run some"


def ask_all(twins: Twins, setting: Callable[[str, str], None], number: int) -> list[bool]:
    """Ask one query of everyone who answers in its cell. True for each that tasks were to answer, and did."""
    dice, cell, by_tasks = random.Random(SEED + number), cell_of(number), []
    query = Queries(dice).query(number)
    setting("spark.sql.session.timeZone", cell.zone)
    setting("spark.sql.ansi.enabled", cell.ansi)
    setting("spark.sql.adaptive.enabled", cell.adaptive)
    wanted = answer(twins.ask(query.text, "parquet", "parquet"))
    count(twins.coverage, number, cell, query, wanted)
    third = "mixed" if "has_" in query.text else cell.way
    for ours in ("driver", "tasks", third):
        other = ours if cell.second == "ours" else "parquet"
        where = f"query {number} by {ours}, the second table by {other}, {cell}: {query.text}"
        frame = twins.ask(query.text, ours, other)
        check(answer(frame), wanted, query, twins, where)
        tasks = wanted.failed is None and runs_tasks(frame)
        if ours == "driver":
            assert not tasks, where
        elif ours == "tasks" and wanted.failed is None:
            by_tasks.append(tasks)
        twins.coverage.by_tasks += tasks and ours != PYTHON
        twins.coverage.by_python += ours == PYTHON
        between = Queries(dice).filter()
        mine, theirs = (twins.frames[f"{name}_t"].where(between).count() for name in (ours, "parquet"))
        assert mine == theirs, f"after query {number} by {ours}: count of {between}"
        check(answer(frame), wanted, query, twins, f"again, {where}")
        twins.coverage.answers += 2
    return by_tasks


def count(coverage: Coverage, number: int, cell: Cell, query: Query, wanted: Answer) -> None:
    coverage.queries += 1
    coverage.cells[cell] += 1
    coverage.shapes[Queries(random.Random(0)).shape(number)] += 1
    coverage.searches += "has_" in query.text
    coverage.errors += wanted.failed is not None


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
    if isinstance(value, VariantVal):
        return f"variant {value.toJson()}"
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
