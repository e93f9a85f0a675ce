"""What is asked of Spark: SQL as people write it over our table and over Parquet, and our helpers, in one session.

All functions but the first are run by a worker, whose session lives in `_open`. Spark has two local threads, and nothing of it is
tuned but what keeps it from writing to the terminal; our table is read with what `install` sets. A search is `INDEXQUERY` over
our table, `LIKE` and `rlike` over Parquet.
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
_OTHER_WARM, _OTHER_ROUNDS = 200, 100
"""Rounds of the question without our tables that do not count, because the JVM still compiles, and rounds that do."""
_open: dict[str, Any] = {}


def open_session(data: Path, cache: Path) -> None:
    """Start Spark, name the tables, and let each kind of worker start before something is timed."""
    from pyspark import cloudpickle
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
    spark = _started(data)
    _open.update(spark=spark, data=data, cache=cache)
    install(spark)
    spark.dataSource.register(Nothing)
    _keys(spark)
    _ours().createOrReplaceTempView("ours")
    _parquet().createOrReplaceTempView("parquet")


def _started(data: Path) -> Any:
    from pyspark.sql import SparkSession

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
    return spark


def _keys(spark: Any) -> None:
    spark.range(0, 1_000).selectExpr("id * 1999 AS id").createOrReplaceTempView("keys")


def install_seconds(data: Path, class_files: Path) -> tuple[float, float]:
    """Seconds of `install` in a JVM of its own that has answered a question before, and of a second `install` there.

    Class files come from the directory, or go there, and so does the bytecode of Python, which an installed package has.
    """
    os.environ["XDG_CACHE_HOME"] = str(class_files)
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(class_files / "python")
    spark = _started(data)
    _keys(spark)
    _timed_other(spark)
    from indextables.spark import install

    found = timed(lambda: install(spark))[0], timed(lambda: install(spark))[0]
    spark.stop()
    return found


def other_seconds(data: Path) -> tuple[list[float], list[float]]:
    """Seconds of a question without our tables: in a session without `install`, and in one with it.

    Both sessions are in one JVM and asked in turns, so that both meet the same state of its compiler. What `install` adds to the
    plans of a query belongs to a session.
    """
    from indextables.spark import install

    plain = _started(data)
    _keys(plain)
    _timed_other(plain)  # a session that has begun takes no more extensions
    own = install(plain.newSession())
    _keys(own)
    found: tuple[list[float], list[float]] = ([], [])
    for number in range(_OTHER_WARM + _OTHER_ROUNDS):
        for session, seconds in zip((plain, own), found, strict=True):
            took = _timed_other(session)
            if number >= _OTHER_WARM:
                seconds.append(took)
    plain.stop()
    return found


def _timed_other(spark: Any) -> float:
    """Seconds of a question that none of our tables is in."""
    began = time.perf_counter()
    spark.sql(NATURAL["other"]).collect()
    return time.perf_counter() - began


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
    view = "ours" if subject == OURS else "parquet"
    return _open["spark"].sql(f"SELECT * FROM {view} WHERE {_condition(subject, search)}")


def _condition(subject: str, search: Search) -> str:
    kinds = {OURS: _indexquery, LIKE: _like, RLIKE: _rlike}
    level = f" AND level = '{search.level}'" if search.level else ""
    return kinds[subject](search) + level


def _indexquery(search: Search) -> str:
    match search.how:
        case "phrase":
            return f"message INDEXQUERY '\"{' '.join(search.words)}\"'"
        case "and" | "or":
            return f"message INDEXQUERY '{f' {search.how.upper()} '.join(search.words)}'"
    return f"message INDEXQUERY '{search.words[0]}'"


def _like(search: Search) -> str:
    return " AND ".join(f"message LIKE '%{text}%'" for text in _texts(search))


def _rlike(search: Search) -> str:
    return " AND ".join(f"message RLIKE '\\\\b{text}\\\\b'" for text in _texts(search))


def _texts(search: Search) -> list[str]:
    return [" ".join(search.words)] if search.how == "phrase" else list(search.words)


def _sql(text: str, subject: str, search: Search | None = None) -> Any:
    found = "true" if search is None else _condition(subject, search)
    return _open["spark"].sql(text.format(t="ours" if subject == OURS else "parquet", found=found))


# The verbs: each returns something to ask for, which is then asked again and again.


def _fetch(subject: str, search: Search) -> Callable[[], Any]:
    return lambda: _frame(subject, search).toArrow()


def _count(subject: str, search: Search) -> Callable[[], Any]:
    if subject == HELPER:
        from indextables.spark import count

        where = f"level = '{search.level}'" if search.level else None
        url = (_open["data"] / OURS).absolute().as_uri()
        return lambda: count(_open["spark"], url, where=where, query=search.text(), options=_options()).toArrow()
    return lambda: _sql("SELECT count(*) FROM {t} WHERE {found}", subject, search).collect()[0][0]


def _scan(subject: str, _search: Search | None) -> Callable[[], Any]:
    return lambda: _sql("SELECT id, status FROM {t}", subject).write.format("noop").mode("overwrite").save()


def _plan_all(subject: str, _search: Search | None) -> Callable[[], Any]:
    """All files of a table of very many, or of none. What they hold is not read."""
    return lambda: _ours(subject)._jdf.queryExecution().toRdd().getNumPartitions()


def _plan_day(subject: str, _search: Search | None) -> Callable[[], Any]:
    return lambda: _ours(subject).where("date = '1999-01-01'").toArrow()


def _nothing(subject: str, _search: Search | None) -> Callable[[], Any]:
    if subject == OURS:
        return lambda: _sql("SELECT id, message FROM {t} WHERE id < 0", OURS).toArrow()
    return lambda: _open["spark"].read.format("nothing").load().toArrow()


def _count_all(subject: str, _search: Search | None) -> Callable[[], Any]:
    """As the other counts: one row, collected."""
    return lambda: _sql("SELECT count(*) FROM {t}", subject).collect()[0][0]


def _natural(text: str) -> Callable[[str, Search | None], Callable[[], Any]]:
    """A question in SQL, of which the rows arrive as Arrow."""
    return lambda subject, search: lambda: _sql(text, subject, search).toArrow()


NATURAL = {
    "group": "SELECT level, count(*), sum(status) FROM {t} WHERE {found} GROUP BY level",
    "latest": "SELECT * FROM {t} ORDER BY ts DESC LIMIT 100",
    "point": "SELECT * FROM {t} WHERE id = 77777",
    "day": f"SELECT id, status FROM {{t}} WHERE {PARTITION} = '2026-03-03'",
    "limit": "SELECT * FROM {t} LIMIT 20",
    "join": "SELECT t.id, t.status FROM {t} t JOIN keys ON t.id = keys.id",
    "other": "SELECT count(*) FROM keys WHERE id > 5",
}
"""Questions in SQL as people write it, by a short name."""

_VERBS = {
    **{name: _natural(text) for name, text in NATURAL.items()},
    "fetch": _fetch,
    "count": _count,
    "count all": _count_all,
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


def values(verb: str, subject: str, search: Search | None) -> list[tuple[str, ...]]:
    """All values of an answer as texts, in an order of their own: Spark takes a partition of Parquet files for a date.

    Of a LIMIT without an order the number of rows, because any rows are right; of the latest rows their times, because of rows
    with equal times any are.
    """
    found = _VERBS[verb](subject, search)()
    if isinstance(found, int):
        return [(str(found),)]
    if verb == "limit":
        return [(str(found.num_rows),)]
    if verb == "latest":
        found = found.select(["ts"])
    return sorted(tuple(str(value) for value in row.values()) for row in found.to_pylist())


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
