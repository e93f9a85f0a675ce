"""Jobs of this process: what runs now, and what ran last.

    with JOBS.value.begin("merge", url, total=12) as job: ──▶ job.advance() … ──▶ completed, or failed with the error
                                                                    │
    another thread: JOBS.value.listed("merge"), .wait("prewarm") ◀──┘

A job that runs is always listed. Of those that ended the newest ones are, at most `_MOST_ENDED`. A forked child has no jobs: the
threads that work on them are its parent's.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Literal, Self, TypeAlias

from indextables.core.runtime.process_state import ProcessLocal

Kind: TypeAlias = Literal["merge", "prewarm"]
Status: TypeAlias = Literal["RUNNING", "COMPLETED", "FAILED"]

_MOST_ENDED: Final = 200
"""Jobs that ended and are kept, the newest ones: a day of a busy table, in some tens of kilobytes."""
_LONGEST_ERROR: Final = 1_000
"""Characters of an error that are kept. Errors have one line, but a watcher of a caller may raise anything."""


@dataclass(frozen=True)
class Job:
    """A job as it stood when somebody looked."""

    job_id: str
    kind: Kind
    table: str
    """The URL of the table."""
    status: Status
    total: int
    """Parts of the job: groups of a merge, splits of a prewarm."""
    completed: int
    total_batches: int | None
    """Rounds in which the parts are done; None where nobody knows."""
    completed_batches: int
    duration_ms: int
    error: str | None = None

    @property
    def progress_percent(self) -> float:
        """How much of the job is done, from 0 to 100. A job without parts is done when it has completed."""
        if self.total:
            return 100.0 * min(self.completed, self.total) / self.total
        return 100.0 if self.status == "COMPLETED" else 0.0


class RunningJob:
    """A job while it runs. Leaving its context ends the job: it completed, or failed with the exception."""

    def __init__(self, jobs: Jobs, kind: Kind, table: str, total: int, total_batches: int | None) -> None:
        self.job_id = uuid.uuid4().hex
        self._jobs = jobs
        self._kind: Kind = kind
        self._table = table
        self._total = total
        self._total_batches = total_batches
        self._completed = 0
        self._completed_batches = 0
        self._began = time.monotonic()

    def plan(self, total: int) -> None:
        """Say of how many parts the job is, where that was not known when it began."""
        with self._jobs.changed:
            self._total = total

    def advance(self, parts: int = 1) -> None:
        """Say that this many more parts are done."""
        with self._jobs.changed:
            self._completed += parts

    def end_batch(self) -> None:
        """Say that one more round is done."""
        with self._jobs.changed:
            self._completed_batches += 1

    def seen(self, status: Status = "RUNNING", error: str | None = None) -> Job:
        """The job as it stands now."""
        taken = int((time.monotonic() - self._began) * 1000)
        return Job(
            self.job_id,
            self._kind,
            self._table,
            status,
            self._total,
            self._completed,
            self._total_batches,
            self._completed_batches,
            taken,
            error,
        )

    def end(self, error: str | None = None) -> None:
        """End the job: it completed, or failed with an error. A job that has ended stays as it is."""
        self._jobs.end(
            self, "COMPLETED" if error is None else "FAILED", None if error is None else error[:_LONGEST_ERROR]
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(None if error is None else str(error) or type(error).__name__)


class Jobs:
    """The jobs of one process. Safe to use from many threads."""

    def __init__(self, most_ended: int = _MOST_ENDED) -> None:
        self.changed = threading.Condition()
        """Held while a job changes, and notified when one ends."""
        self._running: dict[str, RunningJob] = {}
        self._ended: deque[Job] = deque(maxlen=most_ended)

    def begin(self, kind: Kind, table: str, *, total: int = 0, total_batches: int | None = None) -> RunningJob:
        """A job that runs from now on. The caller uses it as a context."""
        job = RunningJob(self, kind, table, total, total_batches)
        with self.changed:
            self._running[job.job_id] = job
        return job

    def end(self, job: RunningJob, status: Status, error: str | None) -> None:
        """Keep a job as one that ended."""
        with self.changed:
            if self._running.pop(job.job_id, None) is not None:
                self._ended.append(job.seen(status, error))
                self.changed.notify_all()

    def listed(self, kind: Kind, table: str | None = None, job_id: str | None = None) -> list[Job]:
        """Jobs of a kind, of one table or of all, newest first: those that run, then those that ended."""
        with self.changed:
            running = [job.seen() for job in reversed(self._running.values())]
            found = [*running, *reversed(self._ended)]
        return [
            job for job in found if job.kind == kind and table in (None, job.table) and job_id in (None, job.job_id)
        ]

    def wait(
        self, kind: Kind, table: str | None = None, job_id: str | None = None, timeout_seconds: float | None = None
    ) -> list[Job]:
        """The jobs of `listed`, once those that run now have ended, or after `timeout_seconds` as they are then.

        Jobs that begin meanwhile are not waited for.
        """
        waited = {job.job_id for job in self.listed(kind, table, job_id) if job.status == "RUNNING"}
        with self.changed:
            self.changed.wait_for(lambda: not waited & self._running.keys(), timeout_seconds)
        return self.listed(kind, table, job_id)


JOBS: Final[ProcessLocal[Jobs]] = ProcessLocal(Jobs)
"""The jobs of this process."""

__all__ = ["JOBS", "Job", "Jobs", "RunningJob"]
