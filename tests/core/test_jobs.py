"""Jobs of a process: begun, advanced, ended, listed and waited for."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from forked import true_in_child
from indextables.core.runtime.jobs import JOBS, Jobs

forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def test_a_job_that_completes() -> None:
    jobs = Jobs()
    with jobs.begin("merge", "t", total=4, total_batches=2) as job:
        job.advance()
        job.advance(2)
        job.end_batch()
        (seen,) = jobs.listed("merge")
        assert (seen.status, seen.completed, seen.total, seen.completed_batches) == ("RUNNING", 3, 4, 1)
        assert seen.progress_percent == 75.0
        job.advance()
        job.end_batch()
    (seen,) = jobs.listed("merge")
    assert (seen.job_id, seen.status, seen.completed, seen.error) == (job.job_id, "COMPLETED", 4, None)
    assert (seen.total_batches, seen.completed_batches, seen.progress_percent) == (2, 2, 100.0)


@pytest.mark.parametrize(
    ("error", "text"),
    [(ValueError("the disk is full"), "the disk is full"), (KeyboardInterrupt(), "KeyboardInterrupt")],
)
def test_a_job_that_fails(error: BaseException, text: str) -> None:
    jobs = Jobs()
    with pytest.raises(type(error)), jobs.begin("prewarm", "t", total=2):
        raise error
    (seen,) = jobs.listed("prewarm")
    assert (seen.status, seen.error, seen.progress_percent) == ("FAILED", text, 0.0)


def test_a_long_error_is_cut() -> None:
    jobs = Jobs()
    with pytest.raises(ValueError, match="x"), jobs.begin("prewarm", "t"):
        raise ValueError("x" * 100_000)
    assert jobs.listed("prewarm")[0].error == "x" * 1_000


def test_a_job_ends_once() -> None:
    jobs = Jobs()
    job = jobs.begin("merge", "t")
    job.end("given up")
    job.end()
    assert [(seen.status, seen.error) for seen in jobs.listed("merge")] == [("FAILED", "given up")]


def test_a_job_without_parts_is_done_when_it_completed() -> None:
    jobs = Jobs()
    job = jobs.begin("merge", "t")
    assert jobs.listed("merge")[0].progress_percent == 0.0
    job.end()
    assert jobs.listed("merge")[0].progress_percent == 100.0


def test_jobs_are_listed_by_kind_table_and_id_newest_first() -> None:
    jobs = Jobs()
    with jobs.begin("merge", "a") as first, jobs.begin("merge", "b") as second:
        pass
    third = jobs.begin("merge", "a")
    other = jobs.begin("prewarm", "a")
    assert [job.job_id for job in jobs.listed("merge")] == [third.job_id, first.job_id, second.job_id]
    assert [job.job_id for job in jobs.listed("merge", "a")] == [third.job_id, first.job_id]
    assert [job.job_id for job in jobs.listed("merge", "b", second.job_id)] == [second.job_id]
    assert jobs.listed("merge", "a", second.job_id) == []
    assert [job.job_id for job in jobs.listed("prewarm")] == [other.job_id]


def test_old_jobs_are_forgotten_and_running_ones_never() -> None:
    jobs = Jobs(most_ended=3)
    running = jobs.begin("merge", "running")
    for number in range(10):
        with jobs.begin("merge", f"t{number}"):
            pass
    assert [job.table for job in jobs.listed("merge")] == ["running", "t9", "t8", "t7"]
    running.end()


def test_a_wait_ends_with_the_jobs_that_ran_when_it_began() -> None:
    jobs, go_on = Jobs(), threading.Event()

    def work(table: str) -> None:
        with jobs.begin("prewarm", table, total=1) as job:
            go_on.wait(30)
            job.advance()

    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(work, table) for table in ("a", "b")]
        while len(jobs.listed("prewarm")) < 2:
            time.sleep(0.001)
        waiting = pool.submit(jobs.wait, "prewarm", "a")
        assert {job.status for job in jobs.wait("prewarm", timeout_seconds=0.01)} == {"RUNNING"}
        assert not waiting.done()
        go_on.set()
        assert [(job.table, job.status, job.completed) for job in waiting.result(30)] == [("a", "COMPLETED", 1)]
        for each in running:
            each.result(30)
    later = jobs.begin("prewarm", "a")
    assert [job.status for job in jobs.wait("prewarm", "b", timeout_seconds=30)] == ["COMPLETED"]
    later.end()


@forks
def test_a_forked_child_has_no_jobs_and_can_wait_and_begin() -> None:
    job = JOBS.value.begin("prewarm", "parent's table")
    before = JOBS.value

    def child() -> bool:
        none = JOBS.value.wait("prewarm", "parent's table", timeout_seconds=5) == [] and JOBS.value is not before
        with JOBS.value.begin("prewarm", "child's table"):
            pass
        return none and [each.table for each in JOBS.value.listed("prewarm")] == ["child's table"]

    with before.changed:  # a lock of the parent that the child must not wait for
        assert true_in_child(child)
    job.end()
