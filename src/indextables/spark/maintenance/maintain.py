"""Maintenance of a table by all machines of a cluster: `merge_splits`, `prewarm` and `compact`.

Tasks do the work, and this process plans and commits. Tasks hand in what they built in batches, each of them a commit of its own:
whatever ends the work early, what was committed stays, and what was not is files that no version names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from indextables.core.options import Options
from indextables.spark.maintenance.prewarm import prewarm
from indextables.spark.tasks import ExecutorWorkers, parallelism, run_on_executors
from indextables.table.distributed.maintenance import Checkpointed, compact_by
from indextables.table.distributed.merge_job import Merged, MergeJob, begin_merge, merge_limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BATCH_SECONDS: Final = 60.0
"""Seconds that the tasks of one commit should take together: work that ends early loses about a minute."""
_TASKS_PER_PROCESSOR: Final = 2
"""Tasks of the first commit for each processor: a slow task leaves no processor idle for long."""


def merge_splits(
    spark: SparkSession,
    url: str,
    target_size: int | str | None = None,
    where: str | None = None,
    max_dest_splits: int | None = None,
    max_source_splits_per_merge: int = 1000,
    *,
    options: Mapping[str, Any] | None = None,
) -> Merged:
    """`Table.merge_splits` by the executors: each result is made by one task. Takes and raises the same."""
    checked = Options(options)
    limits = merge_limits(checked, target_size, max_dest_splits, max_source_splits_per_merge)
    return run_merge(spark, begin_merge(str(url), checked, limits, where))


def run_merge(spark: SparkSession, job: MergeJob) -> Merged:
    """Carry out a merge that was planned. About once a minute, what is done is committed."""
    waiting = list(job.tasks)
    size = parallelism(spark) * _TASKS_PER_PROCESSOR if waiting else 0
    while waiting:
        batch, waiting = waiting[:size], waiting[size:]
        began = job.begin()
        answers = run_on_executors(spark, [task.run for task in batch])
        taken = max(job.begin() - began, 0.001)
        job.commit(answers, began)
        size = max(1, min(size * 4, round(size * _BATCH_SECONDS / taken)))
    return job.finish()


def compact(spark: SparkSession, url: str, *, options: Mapping[str, Any] | None = None) -> Checkpointed:
    """`Table.checkpoint` for a table of very many files: the executors decode the old manifests and encode the new ones.

    It pays from some millions of files on; below, `Table.checkpoint` takes less time than Spark needs to begin. Raises the same.
    """
    return compact_by(ExecutorWorkers(spark), str(url), Options(options))


__all__ = ["compact", "merge_splits", "prewarm", "run_merge"]
