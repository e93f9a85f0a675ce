"""Writers for the race: `python race_writer.py <table> <directory> <role>:<count> …` starts one process for each role.

The processes are forked once everything is imported, wait for each other, and then write as fast as they can. Each has a
file of its own in the directory, named after its process id, with one line per commit: what was acknowledged, and what was
refused. A line is on disk before the next commit begins.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from indextables.core.errors import CommitError, FilesChanged, MetadataChanged, TooManyConflicts
from indextables.core.options import Options
from indextables.log.actions import AddAction
from indextables.log.commit import commit
from indextables.log.conflicts import Change, MetadataUpdate, Replace
from indextables.log.refresh import open_current
from indextables.log.tablelog import TableLog
from indextables.storage.local import LocalStore
from indextables.table.table import Table

OPTIONS = {"state.format": "json", "checkpoint.interval": 7, "transaction.retry.baseDelayMs": 10}
REFUSALS = (FilesChanged, MetadataChanged, TooManyConflicts)

Line = dict[str, Any]


def appends(log: TableLog, name: str, number: int) -> Line:
    """One file. Also writes the checkpoints that fall to it."""
    path = f"splits/{name}-{number}.split"
    done = Table(log, open_current(log)).commit_files(
        [AddAction(path, size=number)], txn=(name, number), operation="APPEND"
    )
    return {"version": done.version, "txnId": done.txn_id, "adds": [path], "written": done.written}


def overwrites(log: TableLog, name: str, number: int) -> Line:
    """One file in place of all others."""
    path = f"splits/{name}-{number}.split"
    change = Change(adds=(AddAction(path, size=number),), replace=Replace())
    done = commit(log, open_current(log), change, operation="OVERWRITE")
    return {"version": done.snapshot.version, "txnId": done.txn_id, "adds": [path], "written": done.written}


def updates(log: TableLog, name: str, number: int) -> Line:
    """A property."""
    change = Change(metadata=MetadataUpdate(properties={"last": f"{name}-{number}"}))
    done = commit(log, open_current(log), change, operation="UPDATE")
    return {"version": done.snapshot.version, "txnId": done.txn_id, "adds": [], "written": done.written}


def removes(log: TableLog, name: str, number: int) -> Line:
    """A file that was live a moment ago."""
    snapshot = open_current(log)
    paths = snapshot.files.column("path").to_pylist()
    if not paths:
        return {"refused": "nothing to remove"}
    done = commit(log, snapshot, Change(removes=(random.choice(paths),)), operation="REMOVE")
    return {"version": done.snapshot.version, "txnId": done.txn_id, "adds": [], "written": done.written}


ROLES: dict[str, Callable[[TableLog, str, int], Line]] = {
    "append": appends,
    "overwrite": overwrites,
    "update": updates,
    "remove": removes,
}


def write(table: str, directory: Path, index: int, role: str, count: int) -> None:
    log = TableLog(LocalStore(table), Options(OPTIONS))
    with (directory / f"{os.getpid()}.jsonl").open("w") as acknowledgements:
        while not (directory / "go").exists():
            time.sleep(0.001)
        for number in range(count):
            try:
                line = ROLES[role](log, f"{role}{index}", number)
            except REFUSALS as error:
                line = {"refused": type(error).__name__}
            except CommitError as error:
                line = {"failed": repr(error)}
            acknowledgements.write(json.dumps(line) + "\n")
            acknowledgements.flush()
            os.fsync(acknowledgements.fileno())


def start(table: str, directory: Path, index: int, role: str, count: int) -> int:
    """Fork a writer that never returns here."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        write(table, directory, index, role, count)
        status = 0
    finally:
        sys.stderr.flush()
        if status:
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        os._exit(status)


def main(table: str, directory: Path, writers: list[str]) -> int:
    pids = []
    for index, writer in enumerate(writers):
        role, _, count = writer.partition(":")
        pids.append(start(table, directory, index, role, int(count)))
    (directory / "pids.tmp").write_text(json.dumps(pids))
    (directory / "pids.tmp").rename(directory / "pids")
    while len(list(directory.glob("*.jsonl"))) < len(pids):
        time.sleep(0.001)
    (directory / "go").touch()
    codes = {pid: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids}
    print(json.dumps(codes))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
