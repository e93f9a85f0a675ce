"""A driver that is killed while it writes.

    python kill_program.py URL between|during

`between`: the splits are uploaded, the commit has not begun. `during`: the version file is there, and nobody was told.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, NoReturn

from pyspark.sql import SparkSession

import indextables.log.commit as commit_module
from indextables.spark import install, write
from indextables.table.distributed.write_job import WriteJob

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.log.level": "OFF",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dlog4j2.level=OFF",
}


def die(*what: Any) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("nobody survives that")


def main() -> None:
    url, moment = sys.argv[1:]
    builder = SparkSession.builder.master("local[1]").appName("killed")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = install(builder.getOrCreate())
    rows = spark.sql("SELECT id, 'second' AS message FROM range(100, 150, 1, 3)")
    if moment == "between":
        WriteJob.commit = die  # type: ignore[method-assign]
    else:
        create = commit_module.create_version

        def created(*what: Any) -> NoReturn:
            create(*what)
            die()

        commit_module.create_version = created  # type: ignore[assignment]
    write(rows, url, "append", txn=("loader", 2))


if __name__ == "__main__":
    main()
