"""Tables from PySpark: `format("indextables")` for batch reads and writes, and helpers for what its API does not offer.

    from indextables.spark import install
    install(spark)
    spark.read.format("indextables").option("query", "message:timeout").load(url)

session.py      install(spark)
source.py       the data source that Spark calls
options.py      what `.option(…)` may say
reader.py       planning a read, and reading one of its parts
filters.py      Spark's filters as predicates
arrow_types.py  the table's types as Spark wants them
frames.py       read, count and aggregate as DataFrames, without the planner's detours
writer.py       the writer of the source: which process does what
save.py         write: all modes, and an answer
balance.py      optimize: rows of one partition together before they are written
maintain.py     merge_splits, prewarm and compact as Spark tasks
merge_on_write.py, jobs.py   merges that follow a write, and what became of them
errors.py       our errors leave a worker as one line
failures.py     our errors found again in what Spark made of them

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
    from indextables.spark.session import install as install
    from indextables.spark.writing.distribution import optimize as optimize
    from indextables.spark.writing.write_frame import write as write

_MODULES = {
    "aggregate": "reading.frames",
    "compact": "maintenance.maintain",
    "count": "reading.frames",
    "install": "session",
    "merge_jobs": "maintenance.merge_jobs",
    "merge_splits": "maintenance.maintain",
    "optimize": "writing.distribution",
    "prewarm": "maintenance.maintain",
    "read": "reading.frames",
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
