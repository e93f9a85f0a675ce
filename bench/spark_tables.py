"""What is asked of Spark: our source and our helpers, and `LIKE` and `rlike` over Parquet, in one session.

All functions but the first are run by a worker, whose session lives in `_open`. Spark has two local threads, and nothing of it is
tuned but what keeps it from writing to the terminal; our table is read with what `install` sets.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import measure
import pyarrow as pa
import pyarrow.compute as pc
from measure import timed
from report import OURS
from search_data import Search
from split_data import PARTITION, SCHEMA
from split_tables import PARQUET, size_of

LIKE = "parquet LIKE"
RLIKE = "parquet rlike"
EMPTY = "empty source"
HELPER = "helper"
_ENOUGH_S = 1.5
_MOST_REPEATS = 9
_open: dict[str, Any] = {}


def open_session(data: Path, cache: Path) -> None:
    """Start Spark, name the tables, and let each kind of worker start before something is timed."""
    from pyspark import cloudpickle
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource, DataSourceReader

    from indextables.spark import install

    class Nothing(DataSource):
        """The least that a source in Python can be."""

        @classmethod
        def name(cls) -> str:
            return "nothing"

        def schema(self) -> str:
            return "id BIGINT, message STRING"

        def reader(self, schema: Any) -> DataSourceReader:  # noqa: ARG002 - called by Spark
            return _no_rows()

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # Spark's processes do not find this module
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", False)
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "3g")
        .config("spark.driver.maxResultSize", "2g")
        .config("spark.ui.showConsoleProgress", False)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(data / "warehouse"))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    install(spark)
    spark.dataSource.register(Nothing)
    _open.update(spark=spark, data=data, cache=cache)


def _no_rows() -> Any:
    from pyspark.sql.datasource import DataSourceReader

    class NoRows(DataSourceReader):
        def partitions(self) -> list[Any]:
            return []

        def read(self, partition: Any) -> Iterator[Any]:  # noqa: ARG002 - called by Spark
            yield from ()

    return NoRows()


def _options() -> dict[str, str]:
    return {"spark.indextables.cache.disk.directory": str(_open["cache"])}


def _ours(table: str = OURS, **options: str) -> Any:
    url = (_open["data"] / table).absolute().as_uri()
    return _open["spark"].read.format("indextables").options(**_options(), **options).load(url)


def _parquet() -> Any:
    return _open["spark"].read.parquet(str(_open["data"] / PARQUET))


def _frame(subject: str, search: Search) -> Any:
    level = f"level = '{search.level}'" if search.level else None
    if subject == OURS:
        return _ours(query=search.text(), **({"where": level} if level else {}))
    frame = _parquet().where(_like(search) if subject == LIKE else _rlike(search))
    return frame.where(level) if level else frame


def _like(search: Search) -> str:
    return " AND ".join(f"message LIKE '%{text}%'" for text in _texts(search))


def _rlike(search: Search) -> str:
    return " AND ".join(f"message RLIKE '\\\\b{text}\\\\b'" for text in _texts(search))


def _texts(search: Search) -> list[str]:
    return [" ".join(search.words)] if search.how == "phrase" else list(search.words)


# The verbs: each returns something to ask for, which is then asked again and again.


def _fetch(subject: str, search: Search) -> Callable[[], Any]:
    return lambda: _frame(subject, search).toArrow()


def _count(subject: str, search: Search) -> Callable[[], Any]:
    if subject == HELPER:
        from indextables.spark import count

        where = f"level = '{search.level}'" if search.level else None
        url = (_open["data"] / OURS).absolute().as_uri()
        return lambda: count(_open["spark"], url, where=where, query=search.text(), options=_options()).toArrow()
    return lambda: _frame(subject, search).count()


def _scan(subject: str, _search: Search | None) -> Callable[[], Any]:
    frame = (lambda: _ours(columns="id,status")) if subject == OURS else lambda: _parquet().select("id", "status")
    return lambda: frame().write.format("noop").mode("overwrite").save()


def _plan_all(subject: str, _search: Search | None) -> Callable[[], Any]:
    """All files of a table of very many, or of none. What they hold is not read."""
    return lambda: _ours(subject)._jdf.queryExecution().toRdd().getNumPartitions()


def _plan_day(subject: str, _search: Search | None) -> Callable[[], Any]:
    return lambda: _ours(subject, where="date = '1999-01-01'").toArrow()


def _nothing(subject: str, _search: Search | None) -> Callable[[], Any]:
    if subject == OURS:
        return lambda: _ours(columns="id,message", where="id < 0").toArrow()
    return lambda: _open["spark"].read.format("nothing").load().toArrow()


_VERBS = {
    "fetch": _fetch,
    "count": _count,
    "scan": _scan,
    "plan all": _plan_all,
    "plan day": _plan_day,
    "nothing": _nothing,
}


def answer(verb: str, subject: str, search: Search) -> Any:
    """What is found, in a form that can be compared: all values of all rows, or how many there are."""
    found = _VERBS[verb](subject, search)()
    if verb == "count":
        return found if isinstance(found, int) else found.column(0)[0].as_py()
    ordered = found.select(SCHEMA.names).set_column(
        SCHEMA.names.index(PARTITION), PARTITION, found.column(PARTITION).cast(SCHEMA.field(PARTITION).type)
    )
    ordered = ordered.cast(SCHEMA).sort_by("id")
    ids = hashlib.sha256(pc.cast(ordered.column("id"), pa.int64()).combine_chunks().to_numpy().tobytes())
    return ordered.num_rows, ids.hexdigest(), hashlib.sha256(repr(ordered.to_pydict()).encode()).hexdigest()


def time_answers(verb: str, subject: str, search: Search | None) -> float:
    """The median of some answers to one question."""
    ask = _VERBS[verb](subject, search)
    seconds = [timed(ask)[0]]
    while sum(seconds) < _ENOUGH_S and len(seconds) < _MOST_REPEATS:
        start = time.perf_counter()
        ask()
        seconds.append(time.perf_counter() - start)
    return median(seconds)


def append(number: int) -> tuple[float, int]:
    """Write all rows through Spark into a new table. Returns the seconds and its bytes."""
    url = _open["data"] / f"appended-{number}"

    def write() -> None:
        (
            _parquet()
            .write.format("indextables")
            .mode("append")
            .option("partitionBy", PARTITION)
            .option("spark.indextables.indexing.typemap.message", "text")
            .save(url.absolute().as_uri())
        )

    seconds, _ = timed(write)
    return seconds, size_of(url)


def rows_of(number: int) -> int:
    from indextables import Table

    return Table.open(_open["data"] / f"appended-{number}").count()


def build_empty(where: Path) -> None:
    """A table like those of the states, without a file."""
    from workload import PARTITION, SCHEMA

    from indextables import Table

    Table.create(where, SCHEMA, partition_by=[PARTITION]).checkpoint()


def peak_mb() -> float:
    """The most memory of the driver's Python process."""
    return measure.peak_mb()
