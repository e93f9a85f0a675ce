"""Small splits merged after a write that leaves too many of them: `mergeOnWrite.enabled`.

By default the merge runs beside whatever the program does next. After `indextables.spark.write` it is a thread of the program,
and the work is done by executors; a program that ends waits for it. The commit of `df.write.format("indextables")` is called by
Spark without a session, and with the pure Python source in a process that ends right away, so there the merge is a process of its
own on that machine. A thread waits for the end of that process, as every parent has to.
With `mergeOnWrite.async.enabled=false` the write waits in both cases.

The write has happened by then. Whatever becomes of the merge is said in the log and by `merge_jobs()`, and never fails it.
"""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from indextables.core import options as opt
from indextables.core.options import Options
from indextables.spark.maintenance.merge_jobs import Job, begin_job, end_job
from indextables.table.distributed.merge_job import Merged, MergeJob, begin_merge, merge_limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from indextables.table.distributed.write_job import Commit, WriteJob

logger = logging.getLogger("indextables")

_SECRETS = ("PYTHON_WORKER_FACTORY_SECRET", "PYTHON_WORKER_FACTORY_SOCK_DIR", "PYTHON_WORKER_FACTORY_PORT")


def after_write(spark: SparkSession, job: WriteJob, done: Commit) -> None:
    """What follows a write through `indextables.spark.write`."""
    if not _wanted(job, done):
        return
    from indextables.spark.maintenance.maintain import run_merge

    run = partial(_merge, job.log.url, job.log.options, done.version, partial(run_merge, spark))
    if job.log.options[opt.MERGE_ON_WRITE_ASYNC_ENABLED]:
        threading.Thread(target=run, name="indextables-merge-on-write").start()
    else:
        run()


def after_source_write(job: WriteJob, done: Commit, *, lives_on: bool) -> None:
    """What follows a write through the data source. With `lives_on` False this process ends right after the commit."""
    if not _wanted(job, done):
        return
    what = (job.log.url, job.log.options, done.version)
    if not job.log.options[opt.MERGE_ON_WRITE_ASYNC_ENABLED]:
        _merge(*what, partial(run_here, lives_on=lives_on))
        return
    environment = {key: value for key, value in os.environ.items() if key not in _SECRETS}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "indextables.spark.maintenance.merge_on_write"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        assert process.stdin is not None
        with process.stdin as pipe:
            pipe.write(pickle.dumps(what))
        threading.Thread(target=process.wait, name="indextables-merge-waits", daemon=True).start()
    except OSError as error:
        logger.warning("table %s: the merge after version %d did not begin: %s", job.log.url, done.version, error)


def run_here(job: MergeJob, *, lives_on: bool = True) -> Merged:
    """Carry out a merge without Spark, one result after the other, each committed when it is there.

    With `lives_on` False this process ends right after the merge, and no purge follows.
    """
    for task in job.tasks:
        began = job.begin()
        job.commit([task.run()], began)
    return job.finish(lives_on=lives_on)


def _wanted(job: WriteJob, done: Commit) -> bool:
    return done.written and job.log.options[opt.MERGE_ON_WRITE_ENABLED]


def _merge(url: str, options: Options, version: int, run: Callable[[MergeJob], Merged]) -> None:
    """Merge if there is enough to merge. Never raises: the write has happened."""
    noted: Job | None = None
    try:
        plan = begin_merge(url, options, merge_limits(options))
        if plan.sources < options[opt.MERGE_ON_WRITE_MIN_SPLITS]:
            return
        noted = begin_job(url, version)
        if noted is None:
            logger.info("table %s: another merge is running, none is begun after version %d", url, version)
            return
        _note(noted, run(plan))
    except Exception as error:  # noqa: BLE001 - best effort, as everything that follows a commit
        logger.warning("table %s: the merge after version %d failed: %s", url, version, error)
        if noted is not None:
            end_job(noted, "FAILED", str(error).partition("\n")[0])


def _note(job: Job, merged: Merged) -> None:
    job.version, job.source_splits, job.result_splits = merged.version, merged.sources, merged.results
    job.rows, job.bytes_before, job.bytes_after = merged.rows, merged.bytes_before, merged.bytes_after
    end_job(job, "COMPLETED" if merged.written else "NOTHING TO DO")


def main() -> None:
    """The process that merges after a write through the data source."""
    url, options, version = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - from our own parent
    _merge(url, options, version, run_here)


if __name__ == "__main__":
    main()
