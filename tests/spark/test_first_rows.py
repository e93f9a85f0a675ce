"""The first rows of a large table are read from its first splits, whichever way they are asked for.

Spark runs the first task alone, and ends it when it has its rows. Until it notices, a Python worker goes on, as far as the pipe
between the two takes what it reads: some megabytes of rows, whatever the table's size.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from indextables import Table
from indextables.spark.reading.read_options import read_options
from indextables.spark.reading.source_reader import TableReader
from indextables.spark.source import IndexTablesSource

pytestmark = pytest.mark.spark

ROWS, SPLITS, ASKED = 2_000_000, 20, 200
MOST_SPLITS = 4
"""A split has 11 MB of rows, and a pipe that Linux let grow as far as it may has 36 MB. Mostly it is one split."""
PADDING = " is what this line of the log is about, and it goes on for as long as lines of logs do"
SCHEMA = pa.schema([("part", pa.int32()), ("id", pa.int64()), ("word", pa.string())])


class CountedReader(TableReader):
    """Notes the split of each read of rows, wherever a task runs."""

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from indextables.split.bundle.bundle_reader import Pages

        notes, real = Path(f"{self._job.head.url}-reads"), Pages.read

        def noted(pages: Any, offset: int, length: int) -> memoryview:
            with notes.open("a") as file:
                file.write(f"{pages.where}\n")
            return real(pages, offset, length)

        Pages.read = noted  # type: ignore[method-assign,assignment]
        try:
            yield from super().read(partition)
        finally:
            Pages.read = real  # type: ignore[method-assign]


class CountedSource(IndexTablesSource):
    @classmethod
    def name(cls) -> str:
        return "indextables_counted"

    def reader(self, schema: StructType) -> CountedReader:
        assert self._pin is not None
        return CountedReader(read_options(self.options), *self._pin, schema)


@pytest.fixture(scope="module")
def large(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two million rows in twenty splits."""
    home = tmp_path_factory.mktemp("first") / "table"
    table = Table.create(home, SCHEMA, partition_by=["part"])
    ids = pa.array(range(ROWS), pa.int64())
    many = ROWS // SPLITS
    words = pa.array([f"word {number % 1000:03}{PADDING}" for number in range(many)])

    def batches() -> Iterator[pa.RecordBatch]:
        for part in range(SPLITS):
            columns = [pa.array([part] * many, pa.int32()), ids.slice(part * many, many), words]
            yield pa.RecordBatch.from_arrays(columns, schema=SCHEMA)

    table.append(batches())
    assert table.files().num_rows == SPLITS
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    spark.dataSource.register(CountedSource)
    return home


def taken(df: DataFrame) -> Any:
    return df.take(ASKED)


def limited(df: DataFrame) -> Any:
    return df.limit(ASKED).collect()


def selected(df: DataFrame) -> Any:
    df.createOrReplaceTempView("large")
    return df.sparkSession.sql(f"SELECT * FROM large LIMIT {ASKED}").collect()


def shown(df: DataFrame) -> Any:
    text = df._show_string(ASKED, truncate=False)  # what `show` prints
    return [[int(cell) for cell in line.split("|")[1:3]] for line in text.splitlines() if line.startswith("|0")]


@pytest.fixture
def place(large: Path, tmp_path: Path) -> Path:
    """The table under a name of the test's own: workers remember nothing of it, and what they note is about this test."""
    (tmp_path / "table").symlink_to(large)
    return tmp_path / "table"


def load(spark: SparkSession, place: Path, **options: Any) -> DataFrame:
    return spark.read.format("indextables_counted").options(**options).load(str(place))


def splits_read(place: Path) -> set[str]:
    """The splits of which rows were read, when nobody reads any more: a worker may go on after its task."""
    notes, before = Path(f"{place}-reads"), -1
    while (size := notes.stat().st_size) != before:
        before = size
        time.sleep(0.5)
    return set(notes.read_text().splitlines())


def test_reading_everything_is_noticed(spark: SparkSession, place: Path) -> None:
    """The witness of the other tests: it sees every split."""
    assert load(spark, place).selectExpr("count(id)", "max(word)").first() == (ROWS, f"word 999{PADDING}")
    assert len(splits_read(place)) == SPLITS


@pytest.mark.parametrize("way", [taken, limited, selected, shown])
def test_the_first_rows_are_read_from_the_first_splits(
    spark: SparkSession, place: Path, way: Callable[[DataFrame], Any]
) -> None:
    rows = way(load(spark, place))
    assert [(row[0], row[1]) for row in rows] == [(0, number) for number in range(ASKED)]
    assert 1 <= len(splits_read(place)) <= MOST_SPLITS


def test_the_option_reads_one_split(spark: SparkSession, place: Path) -> None:
    """It says so before anything is planned, so that nobody reads ahead."""
    assert load(spark, place, limit=ASKED).toArrow().column("id").to_pylist() == list(range(ASKED))
    assert len(splits_read(place)) == 1
