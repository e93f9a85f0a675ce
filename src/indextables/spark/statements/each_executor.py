"""Figures of every executor: the same statement, run in the Python processes of each of them.

    statement ──▶ this process          executor_id driver
              └─▶ a task a processor ──▶ one answer for each process ──▶ rows with the executor's id and host, or sums

Where the session has no executors besides the driver, as on a local master, the statement asks this process alone. Spark starts
Python processes when tasks need them and ends idle ones, so figures are those of the processes that a round of tasks reaches.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from indextables.spark.tasks import parallelism, run_on_executors
from indextables.sql import commands as c
from indextables.sql.executor import execute
from indextables.sql.table_ref import TableRef

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from indextables.table import Table

PER_PROCESS: Final[frozenset[type]] = frozenset(
    {
        c.DescribeDiskCache,
        c.DescribeStorageStats,
        c.DescribeEnvironment,
        c.DescribePrewarmJobs,
        c.DescribeProfiler,
        c.DescribeProfilerCache,
        c.EnableProfiler,
        c.DisableProfiler,
        c.ResetProfiler,
        c.ResetProfilerCache,
        c.FlushDiskCache,
        c.FlushSearcherCache,
    }
)
"""Statements about the processes that they run in. Files are skipped while a query is planned, by the driver alone."""
_HOLD_SECONDS: Final = 0.2
"""Seconds that a task stays after its answer: a processor that is done sooner would take the task of its neighbour."""
_SUMS: Final = {"calls": "sum", "total_ms": "sum", "min_us": "min", "max_us": "max", "hits": "sum", "misses": "sum"}
"""How numbers of several processes become one, by column. `cleared_entries` and `host_count` have rules of their own."""


def has_executors(spark: SparkSession) -> bool:
    """True if tasks of a session run on executors besides the driver, by the session's master."""
    master = str(spark.conf.get("spark.master", "local"))
    return master.startswith("local-cluster") or not master.startswith("local")


def with_executors(spark: SparkSession, command: c.Command, options: Mapping[str, Any], here: pa.Table) -> pa.Table:
    """The answer of this process, `here`, and those of all executors: rows under each other, or sums where no row has a host."""
    if not has_executors(spark):
        return here
    answers = run_on_executors(spark, [partial(_in_worker, command, dict(options))] * parallelism(spark))
    workers = {(executor, host, process): rows for executor, host, process, rows in answers}
    parts = [here]
    parts += [
        _named(rows, executor, host) for (executor, host, _), rows in sorted(workers.items(), key=lambda one: one[0])
    ]
    if {"executor_id", "host"} & set(here.column_names):
        return pa.concat_tables(parts)
    if "host_count" in here.column_names:
        hosts = {host for _, host, _ in workers} | {socket.gethostname()}
        return _with(here.slice(0, 1), "host_count", len(hosts))
    if "cleared_entries" in here.column_names:
        return _cleared(parts)
    return summed(parts)


def _in_worker(command: c.Command, options: dict[str, Any]) -> tuple[str, str, int, pa.Table]:
    """What a worker says: its executor, its host, its process and the rows of its answer."""
    rows = execute(command, _no_table, options).table
    time.sleep(_HOLD_SECONDS)
    return executor_id(), socket.gethostname(), os.getpid(), rows


def _no_table(table: TableRef) -> Table:
    raise AssertionError(f"a statement about figures names no table, and not {table}")


def executor_id() -> str:
    """The id of the executor that began this process, out of the command lines of its ancestors; else the host's name."""
    process = os.getppid()
    while process > 1:
        try:
            words = Path(f"/proc/{process}/cmdline").read_text(errors="replace").split("\0")
            parent = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
        if "--executor-id" in words[:-1]:
            return words[words.index("--executor-id") + 1]
        process = parent
    return socket.gethostname()


def _named(rows: pa.Table, executor: str, host: str) -> pa.Table:
    """The rows of a worker, with the id and the host of its executor, where the answer has such columns."""
    for name, value in {"executor_id": executor, "host": host, "role": "executor"}.items():
        if name in rows.column_names:
            rows = _with(rows, name, value)
    return rows


def _with(rows: pa.Table, name: str, value: Any) -> pa.Table:
    place = rows.column_names.index(name)
    return rows.set_column(place, rows.field(place), pa.array([value] * rows.num_rows, rows.field(place).type))


def _cleared(parts: Sequence[pa.Table]) -> pa.Table:
    """What all processes let go, as one row."""
    gone = sum(sum(part.column("cleared_entries").to_pylist()) for part in parts)
    row = _with(_with(parts[0], "cleared_entries", gone), "status", "success" if gone else "no_action")
    return _with(row, "message", f"{gone} entries were let go in {len(parts)} processes")


def summed(parts: Sequence[pa.Table]) -> pa.Table:
    """Add the numbers of all processes: a row for each section of the profiler, or for each cache."""
    together, schema = pa.concat_tables(parts), parts[0].schema
    keys = [name for name in ("section", "category", "cache") if name in schema.names]
    numbers = [(name, how) for name, how in _SUMS.items() if name in schema.names]
    grouped = together.group_by(keys, use_threads=False).aggregate(numbers)
    rows = [
        {**{key: row[key] for key in keys}, **{name: row[f"{name}_{how}"] for name, how in numbers}}
        for row in grouped.to_pylist()
    ]
    for row in rows:
        if "calls" in row:
            row["avg_us"] = row["total_ms"] * 1000 / row["calls"] if row["calls"] else None
        if "hits" in row:
            asked = row["hits"] + row["misses"]
            row["hit_rate"] = row["hits"] / asked if asked else None
    return pa.Table.from_pylist(rows, schema=schema)


__all__ = ["PER_PROCESS", "executor_id", "has_executors", "summed", "with_executors"]
