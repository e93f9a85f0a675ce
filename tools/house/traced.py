"""Follows append, search and a read task of Spark from module to module, and prints the walks as JSON.

A program of its own: `walks.py` runs it with the tree to measure on Python's path. A module counts if a function in it is called,
on whichever thread. An edge is a call from a module into another one. The table has three partitions on a local disk, and
every verb was done before, so that imports and first-time work are not counted.
"""

from __future__ import annotations

import datetime as dt
import importlib
import json
import os
import pickle
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

import indextables
from indextables import Table
from indextables.core.options import Options
from indextables.core.predicate import parse_predicate

_PACKAGE = f"{Path(indextables.__file__).parent}/"
_OPTIONS = {"spark.indextables.indexing.typemap.message": "text"}
_SCHEMA = pa.schema([("day", pa.date32()), ("id", pa.int64()), ("level", pa.string()), ("message", pa.string())])


def _module(code_file: str) -> str | None:
    """The module of the package that a code object's file is; None for any other file."""
    if not code_file.startswith(_PACKAGE):
        return None
    return code_file[len(_PACKAGE) : -len(".py")].replace("/", ".").removesuffix(".__init__")


class Walk:
    """The modules and edges of the calls that a profiler reports."""

    def __init__(self) -> None:
        self.modules: dict[str, None] = {}
        self.edges: set[tuple[str, str]] = set()

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        """Take in an event of `sys.setprofile`."""
        module = _module(frame.f_code.co_filename) if event == "call" else None
        if module is None:
            return
        self.modules.setdefault(module)
        caller = frame.f_back
        while caller is not None and _module(caller.f_code.co_filename) is None:
            caller = caller.f_back
        before = "<caller>" if caller is None else _module(caller.f_code.co_filename)
        if before is not None and before != module:
            self.edges.add((before, module))


def walk(verb: Callable[[], object]) -> dict[str, Any]:
    """Trace a verb on all threads that it starts."""
    traced = Walk()
    threading.setprofile(traced.profile)
    sys.setprofile(traced.profile)
    try:
        verb()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {"modules": list(traced.modules), "edges": sorted(traced.edges)}


def rows(day: int, count: int = 2000) -> pa.Table:
    """Rows of a partition."""
    columns = {
        "day": pa.array([dt.date(2026, 1, day)] * count, pa.date32()),
        "id": list(range(count)),
        "level": ["ERROR" if number % 10 == 0 else "INFO" for number in range(count)],
        "message": [f"disk {number} is full of {number % 7} things" for number in range(count)],
    }
    return pa.table(columns, schema=_SCHEMA)


def plan_in_first_tree(url: str) -> Any:
    """Tasks of a read as the tree of commit aa4b016 plans them."""
    return _plan_by_scan(importlib.import_module("indextables.table.scan_tasks"), url)


def _plan_by_scan(tasks: Any, url: str) -> Any:
    log = tasks.open_table_log(url, Options(_OPTIONS))
    snapshot = tasks.pin(log)
    scan = tasks.make_scan(log, snapshot, ["id", "message"], parse_predicate("id < 50", snapshot.schema), "disk")
    return tasks.plan_tasks(log, snapshot, scan).tasks


def plan(url: str) -> Any:
    """Tasks of a read as this tree plans them."""
    tasks = importlib.import_module("indextables.table.distributed.read_tasks")
    if hasattr(tasks, "make_scan"):
        return _plan_by_scan(tasks, url)
    opening = importlib.import_module("indextables.table.open_table")
    requests = importlib.import_module("indextables.table.read.request")
    handle = opening.pin_version(url, Options(_OPTIONS))
    where = parse_predicate("id < 50", handle.schema)
    request = requests.make_request(handle, "reading", columns=["id", "message"], where=where, query="disk")
    return tasks.plan_tasks(handle, request).tasks


def main() -> None:
    """Make a table, do every verb twice and trace the second time."""
    first_tree = not Path(_PACKAGE, "table", "distributed").is_dir()
    with tempfile.TemporaryDirectory(prefix="house-") as folder:
        os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
        url = f"{folder}/table"
        table = Table.create(url, _SCHEMA, partition_by=["day"], options=_OPTIONS)
        table.append(rows(1))
        table.append(rows(2))
        walks = {"append": walk(lambda: table.append(rows(3)))}
        for _ in range(2):
            table.search("disk 7", limit=5)
        walks["search"] = walk(lambda: table.search("disk 7", limit=5))
        for _ in range(3):
            table.append(rows(1, 300))
        table.merge_splits()
        sent = pickle.dumps((plan_in_first_tree if first_tree else plan)(url))

        def read() -> None:
            for task in pickle.loads(sent):
                for _ in task.batches():
                    pass

        read()
        walks["task"] = walk(read)
    sys.stdout.write(json.dumps(walks))


if __name__ == "__main__":
    main()
