"""Tables from PySpark: `format("indextables")` for batch reads and writes, and helpers for what its API does not offer.

    from indextables.spark import install
    install(spark)
    spark.read.format("indextables").option("query", "message:timeout").load(url)

session.py        `install(spark)`: what a session has to know of us
worker_python.py  the Python that Spark's workers run
source.py         the data source that Spark calls for `format("indextables")`
tasks.py          calls that run on executors
errors.py         in a worker: our errors leave it as one line
worker_garbage.py in a worker: the garbage collector leaves alone what is loaded
worker_pipe.py    in a worker: a pipe that Spark closed early is no error
worker_errors.py  on the driver: our errors are found again in the text that Spark made of them
reading/          options, filters, types and tasks of a read
writing/          options, tasks and the commit of a write
connector/        Spark's planner hands filters, columns, limits and groups over: Java in the driver, decisions in Python
maintenance/      merges, compaction and prewarming by executors
statements/       our statements in `spark.sql`

Everything that touches a table goes through `indextables.table.distributed`, which knows nothing of Spark.

Spark calls the source in processes of its own: one creates it, one plans, others read. Each imports what it needs when it needs
it, and nothing that was opened in one is used in another.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from indextables.spark.maintenance.maintain import compact as compact
    from indextables.spark.maintenance.maintain import merge_splits as merge_splits
    from indextables.spark.maintenance.maintain import prewarm as prewarm
    from indextables.spark.maintenance.merge_jobs import merge_jobs as merge_jobs
    from indextables.spark.reading.frames import aggregate as aggregate
    from indextables.spark.reading.frames import count as count
    from indextables.spark.reading.frames import read as read
    from indextables.spark.session import builder as builder
    from indextables.spark.session import configure as configure
    from indextables.spark.session import install as install
    from indextables.spark.session import status as status
    from indextables.spark.writing.distribution import optimize as optimize
    from indextables.spark.writing.write_frame import write as write

_MODULES = {
    "aggregate": "reading.frames",
    "builder": "session",
    "compact": "maintenance.maintain",
    "configure": "session",
    "count": "reading.frames",
    "install": "session",
    "merge_jobs": "maintenance.merge_jobs",
    "merge_splits": "maintenance.maintain",
    "optimize": "writing.distribution",
    "prewarm": "maintenance.maintain",
    "read": "reading.frames",
    "status": "session",
    "write": "writing.write_frame",
}

__all__ = [*_MODULES]  # noqa: PLE0604 - they are texts


def __getattr__(name: str) -> Any:
    """Names whose modules are loaded when they are first used: a worker that reads has no need of what writes."""
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
