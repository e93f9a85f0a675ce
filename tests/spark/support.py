"""Random rows, filters and groups, in SQL that Spark and we both read, over columns of every type that both compare."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from indextables import Table
from indextables.spark.reading.arrow_types import spark_schema

SCHEMA = pa.schema(
    [
        ("part", pa.string()),
        ("id", pa.int64()),
        ("tiny", pa.int8()),
        ("number", pa.int64()),
        ("ratio", pa.float32()),
        ("score", pa.float64()),
        ("flag", pa.bool_()),
        ("word", pa.string()),
        ("message", pa.string()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("wall", pa.timestamp("us")),
        ("price", pa.decimal128(7, 2)),
        ("raw", pa.binary()),
        ("s", pa.struct([("a", pa.int32()), ("b", pa.string())])),
    ]
)
_WORDS = ["", "a", "ab", "abc", "b%", "b_", "Éa", "é", "ab c", "c", "中"]
_START = dt.datetime(2024, 1, 30)  # noqa: DTZ001 - in UTC, or on a wall
SPECIAL = {"'NaN'": float("nan"), "'Infinity'": float("inf"), "'-Infinity'": float("-inf")}


def random_rows(dice: random.Random, first: int, count: int) -> pa.Table:
    """Rows with few different values, so that filters find some, and nulls in all columns but the first two."""

    def some(value: Any) -> Any:
        return None if dice.random() < 0.15 else value

    rows = []
    for number in range(first, first + count):
        at = _START + dt.timedelta(minutes=dice.randrange(0, 20_000), microseconds=dice.choice([0, 1, 999_999]))
        rows.append(
            {
                "part": dice.choice(["x", "y"]),
                "id": number,
                "tiny": some(dice.randrange(-5, 6)),
                "number": some(dice.choice([number, -number, 2**53 + 1, number * 10**12])),
                "ratio": some(dice.choice([0.0, -0.0, 0.1, 0.25, 1.5, -2.5, *SPECIAL.values()])),
                "score": some(dice.choice([0.0, -0.0, 0.1, 0.25, number / 4, -2.5, *SPECIAL.values()])),
                "flag": some(dice.random() < 0.5),
                "word": some(dice.choice(_WORDS)),
                "message": some(" ".join(dice.choices(["disk", "is", "full", "error", "of", "node"], k=4))),
                "day": some(at.date()),
                "at": some(at.replace(tzinfo=dt.UTC)),
                "wall": some(at),
                "price": some(Decimal(dice.randrange(-500, 500)).scaleb(-2)),
                "raw": some(dice.choice([b"", b"\x00", b"a", b"ab", b"\xff"])),
                "s": some({"a": some(dice.randrange(0, 4)), "b": some(dice.choice(_WORDS))}),
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)


def build_twins(spark: SparkSession, home: Path, dice: random.Random, splits: int, rows: int) -> tuple[str, str]:
    """A table of some splits in two partitions, and the same rows as Spark writes them to Parquet."""
    url, parquet = str(home / "table"), str(home / "parquet")
    table = Table.create(
        url, SCHEMA, partition_by=["part"], options={"spark.indextables.indexing.typemap.message": "text"}
    )
    whole = random_rows(dice, 0, splits * rows)
    for number in range(splits):
        table.append(whole.slice(number * rows, rows))
    spark.createDataFrame(whole, spark_schema(SCHEMA, SCHEMA.names)).coalesce(1).write.parquet(parquet)
    return url, parquet


class Questions:
    """SQL texts drawn from dice."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def filter(self, depth: int = 2) -> str:
        dice = self._dice
        if depth == 0 or dice.random() < 0.3:
            return self._leaf()
        parts = [self.filter(depth - 1) for _ in range(dice.choice([1, 2, 2, 3]))]
        if len(parts) == 1:
            return f"NOT ({parts[0]})"
        return f" {dice.choice(['AND', 'AND', 'OR'])} ".join(f"({part})" for part in parts)

    def conjunction(self) -> str:
        """Filters that Spark hands over: leaves and their opposites."""
        leaves = [self._leaf() for _ in range(self._dice.choice([1, 2, 3]))]
        return " AND ".join(f"NOT ({leaf})" if self._dice.random() < 0.2 else f"({leaf})" for leaf in leaves)

    def _leaf(self) -> str:
        dice = self._dice
        column = dice.choice([*SCHEMA.names[:-1], "s.a", "s.b", "s"])
        if column == "s" or dice.random() < 0.1:
            return f"{column} IS {dice.choice(['', 'NOT '])}NULL"
        if column in {"word", "s.b", "message", "part"} and dice.random() < 0.3:
            pattern = dice.choice(["a%", "%c", "%b%", "_", "%é%", "a_", "ab c", "%full%", "disk%", "", "%"])
            return f"{column} {dice.choice(['', 'NOT '])}LIKE '{pattern}'"
        kind = dice.random()
        if kind < 0.2:
            values = [self._literal(column) for _ in range(dice.choice([1, 2, 4]))]
            if dice.random() < 0.2:
                values.append("NULL")
            return f"{column} {dice.choice(['', 'NOT '])}IN ({', '.join(values)})"
        if kind < 0.3:
            return f"{column} BETWEEN {self._literal(column)} AND {self._literal(column)}"
        op = dice.choice(["=", "=", "<>", "<", "<=", ">", ">=", "<=>"])
        return f"{column} {op} {self._literal(column)}"

    def _literal(self, column: str) -> str:
        dice = self._dice
        moment = _START + dt.timedelta(minutes=dice.randrange(0, 20_000))
        match column:
            case "part":
                return dice.choice(["'x'", "'y'", "'z'"])
            case "id":
                return str(dice.randrange(-10, 450))
            case "tiny" | "s.a":
                return dice.choice([str(dice.randrange(-6, 7)), "300", "1.5", "2.0"])
            case "number":
                return dice.choice([str(dice.randrange(-400, 400)), str(2**53 + 1), str(2**53), "0.5"])
            case "ratio" | "score":
                special = f"CAST({dice.choice(list(SPECIAL))} AS DOUBLE)"
                return dice.choice(["0.1", "0.25D", "0", "-2.5D", "1.5", "7", special, f"{dice.randrange(0, 90) / 4}D"])
            case "flag":
                return dice.choice(["true", "false"])
            case "word" | "s.b":
                return f"'{dice.choice(_WORDS)}'"
            case "message":
                return "'disk is full of'"
            case "day":
                return f"DATE '{moment.date()}'"
            case "at":
                return f"TIMESTAMP '{moment}Z'"
            case "wall":
                return f"TIMESTAMP_NTZ '{moment}'"
            case "price":
                return dice.choice([f"{dice.randrange(-500, 500) / 100:.2f}", "0", "1.234", "-3"])
            case "raw":
                return dice.choice(["X''", "X'00'", "X'61'", "X'6162'", "X'FE'"])
        raise AssertionError(column)

    def groups(self) -> tuple[dict[str, str], dict[str, str], dict[str, str], dict[str, str]]:
        """Keys and metrics as `aggregate` takes them, and the same in Spark's words."""
        dice = self._dice
        keys = dict(dice.sample(sorted(_KEYS.items()), dice.choice([0, 1, 1, 2])))
        metrics = dict(dice.sample(sorted(_METRICS.items()), dice.choice([1, 2, 4])))
        ours = {f"k{n}": key for n, key in enumerate(keys)}, {f"m{n}": metric for n, metric in enumerate(metrics)}
        theirs = (
            {f"k{n}": keys[key] for n, key in enumerate(keys)},
            {f"m{n}": metrics[m] for n, m in enumerate(metrics)},
        )
        return *ours, *theirs


_KEYS = {
    "part": "part",
    "word": "word",
    "tiny": "tiny",
    "flag": "flag",
    "day": "day",
    "ratio": "ratio",
    "price": "price",
    "s.b": "s.b",
    "date_histogram(at, 'hour')": "date_trunc('HOUR', at)",
    "date_histogram(day, 'month')": "CAST(trunc(day, 'MONTH') AS DATE)",
    "histogram(tiny, 3)": "CAST(floor(tiny / 3) * 3 AS BIGINT)",
    "range(price, 0, 2.5)": "CASE WHEN price < 0 THEN '< 0' WHEN price < 2.5 THEN '[0, 2.5)' WHEN price >= 2.5 THEN '>= 2.5' END",
}
_METRICS = {
    "count": "count(*)",
    "count(word)": "count(word)",
    "count(distinct tiny)": "count(DISTINCT tiny)",
    "count(distinct score)": "count(DISTINCT score)",
    "count(distinct s.b)": "count(DISTINCT s.b)",
    "sum(tiny)": "sum(tiny)",
    "avg(tiny)": "avg(tiny)",
    "sum(id)": "sum(id)",
    "avg(id)": "avg(id)",
    "sum(price)": "sum(price)",
    "avg(price)": "avg(price)",
    "min(number)": "min(number)",
    "max(number)": "max(number)",
    "min(at)": "min(at)",
    "max(wall)": "max(wall)",
    "min(word)": "min(word)",
    "max(day)": "max(day)",
    "max(score)": "max(score)",
    "min(ratio)": "min(ratio)",
    "min(price)": "min(price)",
    "max(flag)": "max(flag)",
    "min(s.a)": "min(s.a)",
}


def query_execution(df: DataFrame) -> Any:
    """Spark's own object for a query: its plans, before and after each step."""
    return df._jdf.queryExecution()  # type: ignore[operator]


def executed_plan(df: DataFrame) -> str:
    """The plan that Spark carries out, as `explain` prints it."""
    return str(query_execution(df).executedPlan().toString())


def java(spark: SparkSession) -> tuple[Any, Any]:
    """The packages of the driver's Java, and the gateway to it."""
    context: Any = spark.sparkContext
    return context._jvm, context._gateway
