"""One process of the race of all verbs: `python upkeep_racer.py <table> <directory> <role> <seconds> <seed>`.

The process waits for the file `go`, then repeats its role until its time is over. Each verb that returned is one JSON line in
a file of the process: which version the verb committed, and what that version did to the rows. A reader writes which version it
read, and the rows that it found. What was refused is a line too.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from indextables import Table
from indextables.errors import CommitError, VersionNotFound

OPTIONS: Final = {
    "logRetention.duration": 3_600_000,
    "checkpoint.interval": 5,
    "checkpointRetention.duration": 0,
    "state.retention.hours": 0,
    "state.retention.versions": 1,
    "state.gc.minManifestAgeHours": 0,
    "purge.retentionCheckEnabled": False,
    "transaction.retry.baseDelayMs": 10,
    "transaction.retry.maxAttempts": 100,
}
"""Nothing but the safety age keeps what is not needed, and writers have patience."""
OLD_SECONDS: Final = 20.0
"""Seconds after which an object counts as two days old. Every write of the race must be shorter."""
TWO_DAYS: Final = 2 * 86_400.0
VERSION_ZERO: Final = f"{0:020d}.json"
REPLACED: Final = 3
"""The partition that is overwritten again and again. Rows are appended to the others and to this one."""

Line = dict[str, Any]


def rows_of(ids: list[str], part: int) -> pa.Table:
    return pa.table({"part": pa.array([part] * len(ids), pa.int32()), "id": ids, "message": [f"row {i}" for i in ids]})


class Racer:
    """A role's table and its own chance."""

    def __init__(self, url: str, name: str, seed: int) -> None:
        self.table = Table.open(url, options=OPTIONS)
        self.name = name
        self.random = random.Random(seed)
        self.number = 0

    def new_ids(self) -> list[str]:
        self.number += 1
        return [f"{self.name}-{self.number}-{n}" for n in range(self.random.randint(1, 20))]

    def append(self) -> Line:
        ids, part = self.new_ids(), self.random.randrange(4)
        done = self.table.append(rows_of(ids, part))
        return {"version": done.version, "append": ids, "part": part}

    def overwrite(self) -> Line:
        ids = self.new_ids()
        done = self.table.overwrite(rows_of(ids, REPLACED), where=f"part = {REPLACED}", if_changed="replace")
        time.sleep(self.random.random() * 0.3)
        return {"version": done.version, "overwrite": ids}

    def restore(self) -> Line:
        time.sleep(self.random.random())
        newest = self.table.refresh().version
        target = max(0, newest - self.random.randint(1, 12))
        try:
            done = self.table.restore(version=target)
        except VersionNotFound as error:
            return {"refused": str(error)}
        if done.status == "no_action":
            return {"same": target}
        return {"version": done.version, "restore": target}

    def optimize(self) -> Line:
        self.table.optimize()
        return {"optimized": self.table.version}

    def merge(self) -> Line:
        done = self.table.merge_splits(target_size="1M")
        time.sleep(self.random.random() * 0.2)
        return {"merged": done.results}

    def purge(self) -> Line:
        root = Path(self.table.url)
        (root / "part=0" / "splits").mkdir(parents=True, exist_ok=True)
        (root / "part=0" / "splits" / f"split-{uuid.UUID(int=self.random.getrandbits(128))}.split").write_bytes(
            b"left behind"
        )
        let_time_pass(root)
        done = self.table.refresh().purge(older_than=1, log_retention=1)
        time.sleep(0.5)
        return {"purged": done.orphaned_files_deleted, "versions": done.transaction_logs_deleted}

    def read(self) -> Line:
        table = self.table.refresh()
        version = table.version
        ids = table.scan(columns=["id"]).read_all().column("id").to_pylist()
        return {"read": version, "ids": ids, "count": Table.open(table.url, options=OPTIONS).count(query="row")}


def let_time_pass(root: Path, older_than: float = OLD_SECONDS) -> None:
    """Make objects that are older than some seconds look two days older. Version 0 stays as it is: its time is the table's."""
    now = time.time()
    for file in root.rglob("*"):
        try:
            age = now - file.stat().st_mtime
            if file.is_file() and older_than < age < TWO_DAYS and file.name != VERSION_ZERO:
                os.utime(file, (now - age - TWO_DAYS, now - age - TWO_DAYS))
        except FileNotFoundError:
            continue  # somebody deleted the object meanwhile


def main(url: str, directory: Path, role: str, seconds: float, seed: int) -> int:
    racer = Racer(url, f"{role}{seed}", seed)
    work: Callable[[], Line] = getattr(racer, role)
    with (directory / f"{role}-{seed}.jsonl").open("w") as lines:
        while not (directory / "go").exists():
            time.sleep(0.01)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                line = work()
            except CommitError as error:
                line = {"refused": f"{type(error).__name__}: {error}"}
            lines.write(json.dumps(line) + "\n")
            lines.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], float(sys.argv[4]), int(sys.argv[5])))
