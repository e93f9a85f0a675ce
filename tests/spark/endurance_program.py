"""A session that answers an endless query until it is killed.

    python endurance_program.py URL tasks|driver DIRECTORY

Writes the numbers of the processes that it began, Java and Python workers, to processes.json when the query runs.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from indextables.spark import install
from indextables.spark.connector.planning import planner

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.log.level": "OFF",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dlog4j2.level=OFF",
}


def descendants(pid: int) -> list[int]:
    """The processes that a process began, and those that these began."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
    found, new = [], [pid]
    while new:
        new = [child for child, parent in parents.items() if parent in new]
        found += new
    return found


def main() -> None:
    url, doing, home = sys.argv[1:]
    builder = SparkSession.builder.master("local[2]").appName("killed").config("spark.local.dir", f"{home}/local")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = install(builder.getOrCreate())
    options = {"spark.indextables.read.local.enabled": "false"} if doing == "tasks" else {}
    frame = spark.read.format("indextables").options(**options).load(url)
    if doing == "driver":

        def endless(plan: Any) -> Any:
            time.sleep(600)

        planner.answer_here = endless  # type: ignore[assignment]
        query = frame.where("id = 5")
    else:
        pairs = frame.alias("a").crossJoin(frame.alias("b"))
        query = pairs.crossJoin(frame.alias("c")).groupBy("a.word", "b.word", "c.id").count()
    threading.Thread(target=query.collect, daemon=True).start()
    time.sleep(6)
    started = Path(home, "processes.part")
    started.write_text(json.dumps(descendants(os.getpid())))
    started.rename(Path(home, "processes.json"))
    time.sleep(600)


if __name__ == "__main__":
    main()
