"""Writes and maintenance in a Connect session, whose client has no Java at hand. Leaves what it found in DIRECTORY/found.json.

python connect_program.py DIRECTORY
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

from indextables import Table
from indextables.spark import compact, install, merge_jobs, merge_splits, prewarm, status, write

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.log.level": "OFF",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dlog4j2.level=OFF",
}


def ids(url: str) -> list[int]:
    return sorted(Table.open(url).scan(columns=["id"]).read_all().column("id").to_pylist())


def refused(call: Any, *what: Any, **more: Any) -> str:
    try:
        call(*what, **more)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was wrong"


def searched(spark: SparkSession, url: str) -> dict[str, Any]:
    """Words, functions, snippets, statements of Spark's that are refused: what an installed session has."""
    spark.sql(f"CREATE TABLE IF NOT EXISTS named USING indextables LOCATION '{url}'")
    snippet = "SELECT indextables_snippet(message).text FROM named WHERE message INDEXQUERY '17'"
    return {
        "words": [row.id for row in spark.sql("SELECT id FROM named WHERE message INDEXQUERY '17'").collect()],
        "functions": spark.table("named").where("indexquery(message, 'request') AND id < 3").count(),
        "words of a frame": spark.table("named").where("message INDEXQUERY '17 OR 18'").count(),
        "snippet": spark.sql(snippet).collect()[0][0],
        "misplaced": refused(spark.sql("SELECT indexquery(message, '17') FROM named").collect),
        "update": refused(spark.sql, "UPDATE named SET id = 1"),
    }


def overwritten(spark: SparkSession, home: Path) -> list[Any]:
    """A table that is overwritten with its own rows while somebody else appends one."""
    url, marker = str(home / "own"), home / "once"
    Table.create(url, pa.schema([("id", pa.int64())])).append(pa.table({"id": [1, 2, 3]}))

    def late(_: int) -> bool:
        if not marker.exists():
            marker.touch()
            Table.open(url).append(pa.table({"id": [77]}))
        return True

    spark.udf.register("late", late, "boolean")
    spark.sql(f"CREATE TABLE own USING indextables LOCATION '{url}'")
    said = refused(spark.sql, "INSERT OVERWRITE own SELECT id FROM own WHERE id < 3 AND late(id)")
    return [said, ids(url)]


def main() -> None:
    home = Path(sys.argv[1])
    url = str(home / "table")
    builder = SparkSession.builder.remote("local[2]")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = install(builder.getOrCreate())
    rows = spark.sql("SELECT id, concat('request ', id) AS message, id % 2 AS half FROM range(0, 40, 1, 4)")
    more = spark.sql("SELECT id, concat('request ', id) AS message, id % 2 AS half FROM range(40, 60, 1, 2)")
    options = {"mergeOnWrite.enabled": "true", "mergeOnWrite.async.enabled": "false", "mergeOnWrite.minSplits": "12"}
    found: dict[str, Any] = {"session": type(spark).__module__, "serving": status(spark).serving}
    done = write(rows, url, partition_by="half", options={"indexing.typemap.message": "text"})
    found["written"] = [done.version, done.metrics["numAddedFiles"], done.metrics["numAddedRecords"]]
    more.write.format("indextables").mode("append").option("txnAppId", "a").option("txnVersion", "1").save(url)
    found["again"] = write(more, url, "append", txn=("a", 1)).reason
    found["rows"] = ids(url)
    merged = merge_splits(spark, url, where="half = 0")
    found["merged"] = [merged.sources, merged.results, merged.rows]
    found["warm"] = sum(machine.fetched for machine in prewarm(spark, url).values())
    found["compacted"] = compact(spark, url).kind
    found["exists"] = refused(write, rows, url)
    found["types"] = refused(write, spark.sql("SELECT 'x' AS id"), url, "append")
    found["partition"] = refused(write, rows, url, "overwrite", replace_where="half = 0")
    source = spark.sql("SELECT 'x' AS id").write.format("indextables").mode("append")
    found["source"] = refused(source.save, url)
    write(rows, url, "overwrite", options=options | {"mergeOnWrite.minSplits": "8"})
    found["jobs"] = [[job["status"], job["sourceSplits"]] for job in merge_jobs(url).to_pylist()]
    found["overwritten"] = ids(url)
    found["searched"] = spark.read.format("indextables").option("query", "message:17").load(url).count()
    found["sql"] = searched(spark, url)
    found["statements"] = spark.sql("DESCRIBE INDEXTABLES STATE named").count()
    found["own rows"] = overwritten(spark, home)
    second = install(ConnectSession.builder.remote("sc://localhost").create())
    found["second client"] = [status(second).serving, searched(second, url)]
    second.client.release_session()  # its stop() would stop the server
    second.client.close()
    (home / "found.json").write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()
