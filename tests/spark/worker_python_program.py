"""A first user's script: a session on this machine, and a table read and written in it. Prints the number of rows it counted.

Then the script installs the format in a second session, and in a session that begins after the first one has ended.

python worker_python_program.py DIRECTORY
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from indextables import Table
from indextables.spark import install


def main() -> None:
    home = Path(sys.argv[1])
    url = str(home / "table")
    table = Table.create(url, pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1, 2, 3]}))
    builder = (
        SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
    )
    builder = builder.config("spark.local.dir", str(home / "local")).config("spark.driver.bindAddress", "127.0.0.1")
    spark = install(builder.config("spark.driver.host", "127.0.0.1").getOrCreate())
    rows = spark.read.format("indextables").load(url)
    rows.write.format("indextables").mode("append").save(url)
    other = install(spark.newSession())
    assert other.sql(f"SELECT id FROM indextables.`{url}` WHERE id INDEXQUERY '2'").count() == 2
    spark.stop()
    spark = install(builder.getOrCreate())
    print(spark.read.format("indextables").load(url).count())
    spark.stop()


if __name__ == "__main__":
    main()
