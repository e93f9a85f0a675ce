"""Processes for the race: `python race_writer.py <table> <directory> <role>:<count> …` starts one process for each role.

The processes are forked once everything is imported, wait for each other, and then write as fast as they can. Each has a
file of its own in the directory, named after its process id, with one line per commit: what was acknowledged, and what was
refused. A line is on disk before the next commit begins. Options are in the directory's `options.json`.

Besides the writers there are processes that sum the log up, that clean it up, and that read slowly. What clean-up deletes is
kept in `archive`, so that the whole history can be looked at afterwards.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from indextables.core.errors import CommitError, FilesChanged, MetadataChanged, StorageError, TooManyConflicts
from indextables.core.options import Options
from indextables.log.actions import AddAction
from indextables.log.cleanup import clean_up
from indextables.log.commit import commit
from indextables.log.conflicts import Change, MetadataUpdate, Replace
from indextables.log.open_snapshot import open_log
from indextables.log.refresh import open_current
from indextables.log.snapshot import LogAtVersion
from indextables.log.snapshot_files import read_files
from indextables.log.state.checkpoint import checkpoint
from indextables.log.state.collect import collect_manifests
from indextables.log.table_log import TableLog
from indextables.storage.local import LocalStore
from indextables.table.handle import TableHandle
from indextables.table.table import Table

LOG = "_transaction_log"
VERSION_ZERO = f"{0:020d}.json"
TWO_DAYS = 2 * 86_400.0
REFUSALS = (FilesChanged, MetadataChanged, TooManyConflicts)

Line = dict[str, Any]


def appends(log: TableLog, name: str, number: int) -> Line:
    """One file. Also writes the checkpoints that fall to it."""
    path = f"splits/{name}-{number}.split"
    done = Table(TableHandle(log, open_current(log))).commit_files(
        [AddAction(path, size=number)], txn=(name, number), operation="APPEND"
    )
    return {"version": done.version, "txnId": done.txn_id, "adds": [path], "written": done.written}


def overwrites(log: TableLog, name: str, number: int) -> Line:
    """One file in place of all others."""
    path = f"splits/{name}-{number}.split"
    change = Change(adds=(AddAction(path, size=number),), replace=Replace())
    done = commit(LogAtVersion(log, open_current(log)), change, operation="OVERWRITE")
    return {"version": done.snapshot.version, "txnId": done.txn_id, "adds": [path], "written": done.written}


def updates(log: TableLog, name: str, number: int) -> Line:
    """A property."""
    change = Change(metadata=MetadataUpdate(properties={"last": f"{name}-{number}"}))
    done = commit(LogAtVersion(log, open_current(log)), change, operation="UPDATE")
    return {"version": done.snapshot.version, "txnId": done.txn_id, "adds": [], "written": done.written}


def removes(log: TableLog, name: str, number: int) -> Line:
    """A file that was live a moment ago."""
    snapshot = open_current(log)
    paths = snapshot.files.column("path").to_pylist()
    if not paths:
        return {"refused": "nothing to remove"}
    done = commit(LogAtVersion(log, snapshot), Change(removes=(random.choice(paths),)), operation="REMOVE")
    return {"version": done.snapshot.version, "txnId": done.txn_id, "adds": [], "written": done.written}


def sums_up(log: TableLog, name: str, number: int) -> Line:
    """A state or checkpoint, every other one compacted."""
    done = checkpoint(LogAtVersion(log, open_current(log)), compact=number % 2 == 1)
    time.sleep(0.02)
    return {"state": done.snapshot.version, "kind": done.kind if done.written else "none"}


def cleans_up(log: TableLog, name: str, number: int) -> Line:
    """Version files, states and manifests that may go."""
    assert isinstance(log.store, Archiving)
    log.store.let_time_pass()
    reports = [clean_up(LogAtVersion(log, open_current(log))), collect_manifests(LogAtVersion(log, open_current(log)))]
    time.sleep(0.02)
    return {"deleted": sum(len(report.deleted) for report in reports)}


def reads(log: TableLog, name: str, number: int) -> Line:
    """A version whose files are read a good while after it was opened."""
    snapshot = open_current(log) if number % 2 else open_log(log)
    time.sleep(random.random() * 0.1)
    found, table = read_files(LogAtVersion(log, snapshot), None)
    return {"read": found.version, "paths": table.column("path").to_pylist()}


class Archiving(LocalStore):
    """Keeps what is deleted, and makes what is older than some seconds look two days older."""

    def __init__(self, table: str, archive: Path, age_seconds: float | None) -> None:
        super().__init__(table)
        self._log = Path(table) / LOG
        self._archive = archive
        self._age_seconds = age_seconds
        archive.mkdir(exist_ok=True)

    def delete(self, keys: Sequence[str]) -> dict[str, StorageError]:
        for key in keys:
            kept = self._archive / key.removeprefix(f"{LOG}/").replace("/", "+")
            if (self._log.parent / key).exists() and not kept.exists():
                kept.hardlink_to(self._log.parent / key)
        return super().delete(keys)

    def let_time_pass(self) -> None:
        """By the clock of this store, everything that is not new. Version 0 stays as it is: it says which table this is."""
        if self._age_seconds is None:
            return
        now = time.time()
        for file in [*self._log.glob("0*.json"), *self._log.glob("*/*.avro")]:
            age = now - file.stat().st_mtime
            if self._age_seconds < age < TWO_DAYS and file.name != VERSION_ZERO:
                os.utime(file, (now - age - TWO_DAYS, now - age - TWO_DAYS))


ROLES: dict[str, Callable[[TableLog, str, int], Line]] = {
    "append": appends,
    "overwrite": overwrites,
    "update": updates,
    "remove": removes,
    "sum-up": sums_up,
    "clean": cleans_up,
    "read": reads,
}


def write(table: str, directory: Path, index: int, role: str, count: int) -> None:
    options = json.loads((directory / "options.json").read_text())
    age_seconds = options.pop("age_seconds", None)
    log = TableLog(Archiving(table, directory / "archive", age_seconds), Options(options))
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
