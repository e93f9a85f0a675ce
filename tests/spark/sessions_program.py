"""Sessions of one process, one after the other: before install, switched off, connected, new, stopped and begun again.

python sessions_program.py DIRECTORY

Writes what each step found to found.json. A process of its own, because a JVM that has the connector's classes keeps them.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from indextables import Table
from indextables.spark import install, read
from indextables.spark.connector import classes
from indextables.spark.session import status

SPLITS, ROWS, THREADS, QUESTIONS = 4, 20_000, 8, 300
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.log.level": "WARN",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}
SWITCH = "spark.indextables.connector.enabled"
CASES = (
    "own rows",
    "own rows of before",
    "own rows in a subquery",
    "other rows",
    "own rows cached",
    "other rows beside cached ones",
)
"""The rows that overwrite a table: from the table itself or from elsewhere, the last two while rows are cached."""
TASKS = {"spark.indextables.read.local.enabled": "false", "spark.indextables.read.splitsPerTask": "1"}


def create_wide(url: str) -> None:
    """One split with 40 MB of rows: more than the pipe between a worker and Spark holds."""
    table = Table.create(url, pa.schema([("id", pa.int64()), ("pad", pa.binary())]))
    table.append(pa.table({"id": range(ROWS), "pad": [b"x" * 2_000] * ROWS}))


def create(url: str) -> None:
    table = Table.create(url, pa.schema([("id", pa.int64()), ("word", pa.string())]))
    for number in range(SPLITS):
        ids = range(number * ROWS, number * ROWS + ROWS)
        table.append(pa.table({"id": ids, "word": [f"word {row % 10} and more of the line {row}" for row in ids]}))


def begin(home: Path, **settings: str) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.local.dir", str(home / "local"))
    for key, value in {**SETTINGS, "spark.sql.warehouse.dir": str(home / "warehouse"), **settings}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def load(spark: SparkSession, url: str, **options: str) -> DataFrame:
    return spark.read.format("indextables").options(**options).load(url)


def asked(spark: SparkSession, url: str) -> dict[str, Any]:
    """What a session says of a table, and who answers."""
    df = load(spark, url)
    few = df.where("id = 77").select("id")
    plan = few._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    return {
        "serving": status(spark).serving,
        "filtered": [row.id for row in few.collect()],
        "again": df.count(),
        "by": next(name for name in ("LocalTableScan", "BatchScan") if name in plan),
        "filter": "Filter" in plan,
    }


def at_once(spark: SparkSession, url: str) -> list[Any]:
    """Threads that ask one DataFrame different things: what each of them got wrong."""
    frames = [load(spark, url), load(spark, url, **TASKS)]
    wrong: list[Any] = []

    def ask(number: int) -> None:
        try:
            for turn, df in enumerate(frames * 2):
                low = number * 1000 + turn * 10
                found = df.where(f"id >= {low} AND id < {low + number + 1}").select("id").collect()
                if sorted(row.id for row in found) != list(range(low, low + number + 1)):
                    wrong.append([number, turn, len(found)])
                if df.where(f"word LIKE 'word {number}%'").count() != SPLITS * ROWS // 10:
                    wrong.append([number, turn, "count"])
        except Exception as error:
            wrong.append([number, str(error)[:300]])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


def kept(spark: SparkSession, url: str) -> dict[str, Any]:
    """How many objects both sides keep for each other before and after many questions."""
    gateway = spark.sparkContext._gateway

    def objects() -> tuple[int, int]:
        gc.collect()
        return len(gateway.gateway_property.pool), int(gateway.jvm.java.lang.Thread.activeCount())

    df = load(spark, url)
    for number in range(20):
        df.where(f"id = {number}").collect()
    before = objects()
    wrong = [number for number in range(QUESTIONS) if df.where(f"id = {number}").count() != 1]
    after = objects()
    return {"wrong": wrong, "callbacks": [before[0], after[0]], "threads": [before[1], after[1]]}


class Twice:
    """A `java.util.function.Function` of somebody else's."""

    def apply(self, text: str) -> str:
        return text * 2

    class Java:
        implements: ClassVar = ["java.util.function.Function"]


def begin_callbacks(spark: SparkSession) -> Callable[[], str]:
    """Start the server for calls of Java, as a program does that knows nothing of us. Returns a use of it."""
    gateway: Any = spark.sparkContext._gateway
    assert gateway.__dict__.get("_callback_server") is None, "nobody has started it yet"
    settings = gateway.callback_server_parameters
    settings.port, settings.daemonize, settings.daemonize_connections = 0, True, True
    gateway.start_callback_server(settings)
    server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    port = gateway.get_callback_server().get_listening_port()
    server.resetCallbackClient(server.getCallbackClient().getAddress(), port)
    return lambda: str(gateway.jvm.java.util.Optional.of(f"ab{port}").map(Twice()).get())


def left(df: DataFrame) -> int:
    """Rows of a task that goes on when Spark has them: nobody tells the task of the limit, as Spark filters itself."""
    return len(df.where(sql.expr("hash(id, pad) <> 7")).take(5))


def abandoned(spark: SparkSession, url: str) -> dict[str, Any]:
    """Readers that Spark leaves early, because it has its rows. A task gives no more rows than the limit says, if it knows."""
    df = load(spark, url, **TASKS)
    rows = load(spark, url, **TASKS, **{"spark.indextables.read.columnar.enabled": "false"})
    df.show(3)
    df.createOrReplaceTempView("lines")
    limited = [len(spark.sql(f"SELECT * FROM lines LIMIT {rows}").collect()) for rows in (1, 50)]
    return {
        "taken": len(df.where("id >= 10").take(5)),
        "limited": limited,
        "first": df.first().id,
        "left": [left(df), left(rows), left(read(spark, url))],
    }


def appended_to(url: str) -> Callable[..., Any]:
    """A function that is always true. The first call appends a row to a table, as somebody else would."""

    def late(_: int) -> bool:
        if Table.open(url).version == 1:
            Table.open(url).append(pa.table({"id": [77]}))
        return True

    return sql.udf(late, "boolean", useArrow=False)


def overwrites(spark: SparkSession, home: Path, name: str) -> dict[str, str]:
    """How overwrites end while somebody else appends, in a session that began before `install` or has none."""
    said: dict[str, str] = {}
    for case in CASES:
        url = str(home / f"{name} {case}")
        Table.create(url, pa.schema([("id", pa.int64())])).append(pa.table({"id": [1, 2, 3]}))
        own, others = load(spark, url), spark.range(10, 15, 1, 1)
        if case == "own rows cached":
            own.cache().count()
        rows = (own if case.startswith("own") else others).where(appended_to(url)("id"))
        if case == "own rows of before":
            Table.open(url).append(pa.table({"id": [77]}))
        if case == "own rows in a subquery":
            own.createOrReplaceTempView("own")
            rows = others.where(appended_to(url)("id")).where("id > (SELECT max(id) FROM own)")
        try:
            rows.write.format("indextables").mode("overwrite").save(url)
            said[case] = "written"
        except Exception as error:
            said[case] = "FilesChanged" if "FilesChanged" in str(error) else str(error)[:300]
        said[f"{case}, ids"] = str(sorted({row["id"] for row in Table.open(url).scan().read_all().to_pylist()}))
    spark.catalog.clearCache()
    return said


def main() -> None:
    home = Path(sys.argv[1])
    url = str(home / "table")
    create(url)
    create_wide(f"{url}-wide")
    found: dict[str, Any] = {}

    def step(name: str, do: Callable[[], Any]) -> None:
        found[name] = do()
        (home / "found.json").write_text(json.dumps(found))

    spark = begin(home)
    step("without_install", lambda: asked(spark, url))
    spark.conf.set(SWITCH, "false")
    step("switched_off", lambda: asked(install(spark), url))
    step("left_by_source", lambda: left(load(spark, f"{url}-wide")))
    spark.conf.set(SWITCH, "true")
    classes.jar_path(classes.sources(), spark.version).write_bytes(b"PK\3\4 and then the disk was full")
    by_others = begin_callbacks(spark)
    before = by_others()
    early = spark.newSession()
    early.range(3).count()
    step("connected", lambda: asked(install(spark), url))
    step("callbacks", lambda: [before, by_others()])
    step("overwrites_of_an_early_session", lambda: overwrites(early, home, "early"))
    other = spark.newSession()
    step("new_session", lambda: asked(other, url))
    step("new_session_installed", lambda: asked(install(other), url))
    step("at_once", lambda: at_once(spark, url))
    step("kept", lambda: kept(spark, url))
    step("abandoned", lambda: abandoned(spark, f"{url}-wide"))
    spark.stop()
    again = begin(home)
    step("begun_again", lambda: asked(again, url))
    step("overwrites_of_a_session_begun_again", lambda: overwrites(again, home, "again"))
    step("begun_again_installed", lambda: asked(install(again), url))
    step("by_tasks_again", lambda: load(again, url, **TASKS).where("id < 5").count())
    again.stop()


if __name__ == "__main__":
    main()
