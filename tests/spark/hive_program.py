"""Tables in a metastore of Hive (Derby, in a directory): kept by one Spark, found by the next. The answers go to found.json."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from indextables.spark import install


def session(home: Path) -> SparkSession:
    builder = SparkSession.builder.master("local[1]").enableHiveSupport()
    for key, value in {
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.local.dir": str(home / "local"),
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "1",
    }.items():
        builder = builder.config(key, value)
    return install(builder.getOrCreate())


def main(home: Path) -> None:
    spark = session(home)
    spark.sql("CREATE TABLE t (id BIGINT, day STRING) USING indextables PARTITIONED BY (day)")
    spark.sql("INSERT INTO t VALUES (1, 'x')")
    spark.sql("CREATE TABLE c USING indextables OPTIONS ('spark.indextables.read.splitsPerTask' '3') AS SELECT 1 a")
    spark.stop()
    spark = session(home)
    found: dict[str, Any] = {
        "tables": [row.tableName for row in spark.sql("SHOW TABLES").collect()],
        "rows": [tuple(row) for row in spark.sql("SELECT * FROM t VERSION AS OF 1").collect()],
        "options": "splitsPerTask" in spark.sql("SHOW CREATE TABLE c").collect()[0][0],
    }
    spark.sql("CREATE OR REPLACE TABLE c USING indextables AS SELECT 'b' b")
    spark.sql("ALTER TABLE c RENAME TO r")
    found["replaced"] = [tuple(row) for row in spark.sql("SELECT * FROM r").collect()]
    spark.sql("DROP TABLE t")
    spark.sql("DROP TABLE r")
    found["left"] = [path.name for path in (home / "warehouse").iterdir()]
    spark.stop()
    (home / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
