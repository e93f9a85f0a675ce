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

from typing import Any

from indextables.spark.frames import aggregate as aggregate
from indextables.spark.frames import count as count
from indextables.spark.frames import read as read
from indextables.spark.session import install as install

_ELSEWHERE = {
    "compact": "indextables.spark.maintain",
    "merge_jobs": "indextables.spark.jobs",
    "merge_splits": "indextables.spark.maintain",
    "optimize": "indextables.spark.balance",
    "prewarm": "indextables.spark.maintain",
    "write": "indextables.spark.save",
}


def __getattr__(name: str) -> Any:
    """Names whose modules are loaded when they are first used."""
    if name in _ELSEWHERE:
        from importlib import import_module

        return getattr(import_module(_ELSEWHERE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
