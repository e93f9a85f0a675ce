"""What became of merges that follow writes: one small file for each, in a directory that all processes of a user share.

The merge of a write runs beside it, in a thread of the program or in a process of its own, and its caller may be gone before it
ends. So what is known of it is on disk: `merge_jobs()` tells it, in the same program or in another one on the same machine.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec
import pyarrow as pa

from indextables.table.distributed.opening import full_url

logger = logging.getLogger("indextables")

Status = Literal["RUNNING", "COMPLETED", "NOTHING TO DO", "FAILED", "LOST"]

_MOST_KEPT: Final = 200
"""Files of merges that are kept, the newest ones: some days of a busy table, and less than a megabyte."""
SCHEMA: Final = pa.schema(
    [
        ("jobId", pa.string()),
        ("table", pa.string()),
        ("status", pa.string()),
        ("startedAt", pa.timestamp("ms", "UTC")),
        ("endedAt", pa.timestamp("ms", "UTC")),
        ("afterVersion", pa.int64()),
        ("version", pa.int64()),
        ("sourceSplits", pa.int64()),
        ("resultSplits", pa.int64()),
        ("rows", pa.int64()),
        ("bytesBefore", pa.int64()),
        ("bytesAfter", pa.int64()),
        ("error", pa.string()),
    ]
)


class Job(msgspec.Struct, rename="camel"):
    """A merge that follows a write, as its file says."""

    job_id: str
    table: str
    after_version: int
    """The version that the write made."""
    started_at: int
    """Milliseconds since 1970."""
    process: int
    machine: str
    status: Status = "RUNNING"
    ended_at: int | None = None
    version: int | None = None
    """The version that the table is at after the merge."""
    source_splits: int = 0
    result_splits: int = 0
    rows: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    error: str | None = None


def merge_jobs(table: str | None = None) -> pa.Table:
    """The merges that followed writes from this machine, newest first: of one table, however its place is written, or of all."""
    place = None if table is None else full_url(table)
    found = sorted(_all(), key=lambda job: job.started_at, reverse=True)
    rows = [msgspec.to_builtins(job) for job in found if place is None or job.table == place]
    return pa.Table.from_pylist([{name: row[name] for name in SCHEMA.names} for row in rows], schema=SCHEMA)


def begin_job(table: str, after_version: int) -> Job | None:
    """Write down that a merge begins; None where one of the table is running already."""
    if any(job.table == table and job.status == "RUNNING" for job in _all()):
        return None
    job = Job(uuid.uuid4().hex, table, after_version, _now(), os.getpid(), socket.gethostname())
    _save(job)
    _forget_old()
    return job


def end_job(job: Job, status: Status, error: str | None = None) -> None:
    """Write down how the merge ended."""
    job.status, job.ended_at, job.error = status, _now(), error
    _save(job)


def jobs_directory() -> Path:
    """The directory with a file for each merge."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    with contextlib.suppress(RuntimeError, OSError):
        home = base if base.is_absolute() else Path("~/.cache").expanduser()
        directory = home / "indextables-jobs"
        directory.mkdir(parents=True, exist_ok=True)
        return directory
    directory = Path(tempfile.gettempdir()) / f"indextables-jobs-{os.geteuid()}"
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory


def _all() -> Iterator[Job]:
    for path in jobs_directory().glob("*.json"):
        try:
            job = msgspec.json.decode(path.read_bytes(), type=Job)
        except (OSError, msgspec.MsgspecError) as error:
            logger.info("%s says nothing of a merge: %s", path, error)
            continue
        if job.status == "RUNNING" and job.machine == socket.gethostname() and not _alive(job.process):
            job.status, job.error = "LOST", "its process ended before it did"
        yield job


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _save(job: Job) -> None:
    """Write a merge's file in one step, so that nobody reads half of the file."""
    path = jobs_directory() / f"{job.job_id}.json"
    half = path.with_suffix(f".{os.getpid()}")
    half.write_bytes(msgspec.json.encode(job))
    half.replace(path)


def _forget_old() -> None:
    files = sorted(jobs_directory().glob("*.json"), key=lambda path: path.stat().st_mtime)
    for path in files[:-_MOST_KEPT]:
        path.unlink(missing_ok=True)


def _now() -> int:
    return time.time_ns() // 1_000_000
