"""`prewarm`: the indexes of a table on the local disks of all machines, before somebody asks for them.

Spark does not let a Python source say where a task should run, so any machine may be asked for any split, and each gets all of
them, as far as its cache can hold them. There is a task for each processor. Those of one machine share its cache, and each begins
at another split: what a neighbour has fetched already is only looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from indextables.core.options import Options
from indextables.spark.tasks import parallelism, run_on_executors
from indextables.table.distributed.maintenance import Prewarmed, plan_prewarm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def prewarm(
    spark: SparkSession,
    url: str,
    where: str | None = None,
    *,
    segments: Sequence[str] | None = None,
    fields: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> dict[str, Prewarmed]:
    """Bring the indexes of all splits, or of those that may hold rows for which `where` (SQL) is true, to every machine.

    `segments` and `fields` mean what they mean in `Table.prewarm`. Returns what was done on each machine, by its name. Raises
    TableNotFound, PredicateError, OptionError, SchemaError, ForeignTable, SplitError.
    """
    task = plan_prewarm(str(url), Options(options), where, segments, fields)
    if task is None:
        return {}
    tasks = parallelism(spark)
    by_machine: dict[str, list[Prewarmed]] = {}
    for machine, done in run_on_executors(spark, [partial(task.run, number / tasks) for number in range(tasks)]):
        by_machine.setdefault(machine, []).append(done)
    return {machine: _sum_of_machine(parts) for machine, parts in by_machine.items()}


def _sum_of_machine(parts: Sequence[Prewarmed]) -> Prewarmed:
    """What all tasks of one machine did. Each task has looked at all splits."""
    fetched = sum(part.fetched for part in parts)
    present = max(0, parts[0].fetched + parts[0].present - fetched)
    return replace(parts[0], fetched=fetched, present=present, duration_ms=max(part.duration_ms for part in parts))
