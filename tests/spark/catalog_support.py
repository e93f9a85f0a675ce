"""What the tests of names share: a session whose tables go again, frames, and what a user sees of a mistake."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession


def logs(spark: SparkSession, rows: int = 9, start: int = 0) -> DataFrame:
    """Rows in three partitions: day is d0, d1 or d2."""
    return spark.range(start, start + rows, 1, 2).selectExpr("id", "concat('m', id) message", "concat('d', id % 3) day")


def rows(spark: SparkSession, text: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.sql(text).collect())


def one(spark: SparkSession, text: str) -> Any:
    return spark.sql(text).collect()[0][0]


def refused(what: Any, *args: Any) -> str:
    """The one line that a user sees. A page of Java is no line."""
    with pytest.raises(Exception) as caught:
        what(*args)
    assert "Py4JJavaError" not in type(caught.value).__name__, caught.value
    said = str(caught.value)
    assert "\n" not in said.strip(), said
    return said
