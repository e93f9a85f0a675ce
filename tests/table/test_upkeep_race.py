"""All verbs at once, each in a process of its own: appends, overwrites, restores, merges, optimizing, purging, reading.

The model knows rows alone. Each version that a process was told of does to the rows what the process meant; every other version
may only rearrange them. Whatever a reader found at a version must be what the model has for that version.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables
from indextables import Table
from indextables.table.maintain.purge import Purged
from table.upkeep_racer import OPTIONS, REPLACED, TWO_DAYS, VERSION_ZERO, let_time_pass, rows_of

SCRIPT = Path(__file__).with_name("upkeep_racer.py")
ROLES = ["append", "append", "overwrite", "restore", "optimize", "merge", "purge", "read"]
Rows = frozenset[tuple[int, str]]
"""The rows of a version: partition and id."""


def race(directory: Path, seconds: float) -> tuple[Table, list[dict[str, Any]]]:
    """Run one process a role. Returns the table and all that the processes were told."""
    schema = pa.schema([("part", pa.int32()), ("id", pa.string()), ("message", pa.string())])
    properties = {"safetyAge.hours": 1, "indexing.typemap.message": "text"}
    url = str(directory / "table")
    Table.create(url, schema, partition_by=["part"], options={**OPTIONS, **properties})
    long_ago = time.time() - 2 * TWO_DAYS
    os.utime(directory / "table" / "_transaction_log" / VERSION_ZERO, (long_ago, long_ago))
    source = str(Path(indextables.__file__).parents[1])
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    processes = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), url, str(directory), role, str(seconds), str(seed)],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": path},
        )
        for seed, role in enumerate(ROLES)
    ]
    try:
        while len(list(directory.glob("*.jsonl"))) < len(ROLES):
            assert all(process.poll() is None for process in processes), [p.communicate()[1] for p in processes]
            time.sleep(0.05)
        (directory / "go").touch()
        for role, process in zip(ROLES, processes, strict=True):
            errors = process.communicate(timeout=seconds + 240)[1]
            assert process.returncode == 0, f"{role}: {errors}"
    finally:
        for process in processes:
            process.kill()
            process.wait()
    lines = [json.loads(line) for file in directory.glob("*.jsonl") for line in file.read_text().splitlines()]
    return Table.open(url, options=OPTIONS), lines


def model(newest: int, lines: list[dict[str, Any]]) -> list[Rows]:
    """The rows of every version from 0 on."""
    by_version: dict[int, dict[str, Any]] = {}
    for line in lines:
        if "version" in line:
            assert line["version"] not in by_version, "two processes were told that they wrote one version"
            by_version[line["version"]] = line
    versions: list[Rows] = [frozenset()]
    for number in range(1, newest + 1):
        versions.append(after(versions, by_version.get(number, {})))
    return versions


def after(versions: list[Rows], line: dict[str, Any]) -> Rows:
    before = versions[-1]
    if "append" in line:
        return before | {(line["part"], id) for id in line["append"]}
    if "overwrite" in line:
        kept = {(part, id) for part, id in before if part != REPLACED}
        return frozenset(kept | {(REPLACED, id) for id in line["overwrite"]})
    if "restore" in line:
        return versions[line["restore"]]
    return before


def check(table: Table, lines: list[dict[str, Any]]) -> Counter[str]:
    """Compare what is in the table, and what readers found, with the model. Returns how many lines of each kind there are."""
    versions = model(table.version, lines)
    found = table.scan(columns=["part", "id"]).read_all().to_pylist()
    rows = [(row["part"], row["id"]) for row in found]
    assert len(rows) == len(set(rows)), "a row is there twice"
    assert set(rows) == versions[-1]
    for line in lines:
        if "read" in line:
            assert sorted(line["ids"]) == sorted(id for _, id in versions[line["read"]]), f"version {line['read']}"
    kept = table.history().column("version").to_pylist()
    for number in kept[:: max(1, len(kept) // 10)]:
        ids = Table.open(table.url, version=number, options=OPTIONS).scan(columns=["id"]).read_all().column("id")
        assert sorted(ids.to_pylist()) == sorted(id for _, id in versions[number]), f"time travel to {number}"
    return Counter(key for line in lines for key in line)


def purge_all(table: Table, lines: list[dict[str, Any]]) -> Purged:
    """Let two days pass and purge: whatever is left must still be what the model says."""
    table.append(rows_of(["the last row"], 0))
    lines.append({"version": table.version, "append": ["the last row"], "part": 0})
    table.checkpoint()
    let_time_pass(Path(table.url), older_than=0)
    purged = table.purge(older_than=1, log_retention=1)
    check(Table.open(table.url, options=OPTIONS), lines)
    return purged


@pytest.mark.slow
def test_all_verbs_at_once(tmp_path: Path) -> None:
    table, lines = race(tmp_path, seconds=6)
    told = check(table, lines)
    assert told["append"] > 0
    assert told["read"] > 0
    purged = purge_all(table, lines)
    assert purged.transaction_logs_deleted > 0
    assert purged.orphaned_files_deleted > 0


@pytest.mark.stress
def test_all_verbs_at_once_for_a_minute(tmp_path: Path) -> None:
    table, lines = race(tmp_path, seconds=60)
    told = check(table, lines)
    print(dict(told))
    for kind in ("append", "overwrite", "restore", "optimized", "merged", "purged", "read"):
        assert told[kind] > 0, kind
    purged = purge_all(table, lines)
    assert purged.transaction_logs_deleted > 0
    assert purged.orphaned_files_deleted > 0
