"""Many processes on one local table at the same time.

What they were told is compared with the bytes on disk, read here without the code under test.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import indextables
from indextables.core.options import Options
from indextables.core.runtime.threads import Inline
from indextables.log.log_cache import LogCache
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.checkpoint import checkpoint
from indextables.log.table_log import TableLog
from indextables.storage.local import LocalStore
from log.support import append, commit_infos, live, naive_live, new_table, raw_versions

SCRIPT = Path(__file__).with_name("race_writer.py")
Lines = list[dict[str, Any]]
JSON = {"state.format": "json", "checkpoint.interval": 7, "transaction.retry.baseDelayMs": 10}
AVRO = JSON | {"state.format": "avro"}
CLEANED = AVRO | {
    "cleanup.enabled": False,
    "logRetention.duration": 3_600_000,
    "checkpointRetention.duration": 0,
    "state.retention.hours": 0,
    "state.retention.versions": 1,
    "state.gc.minManifestAgeHours": 0,
    "state.compaction.tombstoneThreshold": 0.3,
}
"""Nothing but the safety age keeps what is not needed. One process cleans up, and keeps what it deletes."""
OLD_VERSIONS = 12


def table_log(table: Path, options: Mapping[str, Any] | None = None) -> TableLog:
    return TableLog(LocalStore(table), Options(options), workers=Inline(), cache=LogCache())


def start(
    table: Path, directory: Path, writers: Sequence[str], options: Mapping[str, Any] = JSON
) -> subprocess.Popen[str]:
    directory.mkdir()
    (directory / "options.json").write_text(json.dumps(options))
    source = str(Path(indextables.__file__).parents[1])
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(table), str(directory), *writers],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )


def finish(process: subprocess.Popen[str]) -> dict[int, int]:
    """The exit codes by process id."""
    out, errors = process.communicate(timeout=3600)
    assert process.returncode == 0, errors
    assert not errors
    return {int(pid): code for pid, code in json.loads(out).items()}


def said(directory: Path) -> Lines:
    """What the writers were told. The last line of one that was killed may be cut off."""
    found = []
    for file in directory.glob("*.jsonl"):
        for line in file.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                found.append(json.loads(line))
    return found


def all_versions(table: Path, archive: Path | None) -> dict[int, Lines]:
    """What is in the log, and what was."""
    folders = [table / "_transaction_log", *([archive] if archive else [])]
    return raw_versions({f.name: f.read_bytes() for folder in folders for f in folder.iterdir() if f.is_file()})


def check(table: Path, lines: Lines, *, killed: int = 0, before: int = 0, archive: Path | None = None) -> Counter[str]:
    """Compare what the processes were told with what is on disk. Returns how often each operation was acknowledged.

    Each writer that was killed may have written one version that it could not acknowledge any more. `before`: the newest
    version when the race began. `archive`: where what was cleaned up is.
    """
    assert not [line for line in lines if "failed" in line]
    versions = all_versions(table, archive)
    assert list(versions) == list(range(len(versions))), "versions are contiguous"
    infos = commit_infos(versions)
    ids = Counter(info["txnId"] for info in infos.values())
    assert max(ids.values()) == 1, "a commit is there once"
    stamps = [infos[number]["timestamp"] for number in versions]
    assert stamps == sorted(set(stamps)), "timestamps grow"

    acknowledged = {line["txnId"]: line for line in lines if line.get("written")}
    assert acknowledged.keys() <= ids.keys(), "an acknowledged commit was lost"
    for txn_id, line in acknowledged.items():
        info, actions = infos[line["version"]], versions[line["version"]]
        assert info["txnId"] == txn_id
        assert [action["add"]["path"] for action in actions if "add" in action] == line["adds"]
    written = ids.keys() - {infos[number]["txnId"] for number in range(before + 1)}
    unknown = written - acknowledged.keys()
    assert len(unknown) <= killed, "a commit that was refused is in the log"

    final = naive_live(versions)
    removed_at = {
        action["remove"]["path"]: n for n, actions in versions.items() for action in actions if "remove" in action
    }
    for line in acknowledged.values():
        for path in line["adds"]:
            assert path in final or removed_at[path] > line["version"]
    for number, actions in versions.items():
        before = naive_live(versions, number - 1).keys()
        removed = {action["remove"]["path"] for action in actions if "remove" in action}
        assert removed <= before, f"version {number} removes what is not live"
        if infos[number]["operation"] == "OVERWRITE":
            assert removed == before, f"overwrite {number} left something over"

    for line in lines:
        if "read" in line:
            assert sorted(line["paths"]) == sorted(naive_live(versions, line["read"])), f"version {line['read']}"
    snapshot = open_log(table_log(table))
    assert snapshot.version == max(versions)
    assert live(snapshot) == final.keys()
    assert snapshot.base is not None
    assert snapshot.base > 0
    return Counter(infos[line["version"]]["operation"] for line in acknowledged.values())


def race(table: Path, directory: Path, sizes: dict[str, tuple[int, int]], options: Mapping[str, Any] = JSON) -> None:
    new_table(table_log(table))
    writers = [f"{role}:{count}" for role, (processes, count) in sizes.items() for _ in range(processes)]
    codes = finish(start(table, directory, writers, options))
    assert set(codes.values()) == {0}
    lines = said(directory)
    assert len(lines) == sum(processes * count for processes, count in sizes.values())
    told = check(table, lines)
    for role in ("APPEND", "OVERWRITE", "UPDATE"):
        assert told[role] > 0, told


@pytest.mark.parametrize("options", [JSON, AVRO], ids=["json", "avro"])
def test_race(tmp_path: Path, options: Mapping[str, Any]) -> None:
    race(
        tmp_path / "table",
        tmp_path / "said",
        {"append": (6, 8), "overwrite": (2, 6), "update": (2, 6), "remove": (1, 8)},
        options,
    )


@pytest.mark.stress
@pytest.mark.parametrize("options", [JSON, AVRO], ids=["json", "avro"])
def test_race_in_full_size(tmp_path: Path, options: Mapping[str, Any]) -> None:
    race(
        tmp_path / "table",
        tmp_path / "said",
        {"append": (16, 50), "overwrite": (4, 50), "update": (2, 50), "remove": (2, 50)},
        options,
    )


BUSY = {"TooManyConflicts", "FilesChanged", "nothing to remove"}
"""What writers may be told when others were faster."""


def old_table(table: Path) -> None:
    """Versions and states that are two days old, on a table whose safety age is an hour."""
    log = table_log(table, CLEANED)
    snapshot = new_table(log, configuration={"spark.indextables.safetyAge.hours": "1"})
    for number in range(1, OLD_VERSIONS + 1):
        snapshot = append(log, snapshot, f"old{number}").snapshot
        if number % 3 == 0:
            snapshot = checkpoint(LogAtVersion(log, snapshot), compact=number % 2 == 0).snapshot
    then = time.time() - 2 * 86_400
    for file in (table / "_transaction_log").rglob("*"):
        if file.is_file():
            then += 1
            os.utime(file, (then, then))


def race_with_cleaners(
    tmp_path: Path, sizes: dict[str, tuple[int, int]], age_seconds: float | None = None
) -> tuple[Counter[str], int]:
    """Writers, slow readers, checkpointers that compact and a process that cleans up: how many states, how many deletions."""
    table, directory = tmp_path / "table", tmp_path / "said"
    old_table(table)
    roles = [f"{role}:{count}" for role, (processes, count) in sizes.items() for _ in range(processes)]
    codes = finish(start(table, directory, roles, CLEANED | {"age_seconds": age_seconds}))
    assert set(codes.values()) == {0}
    lines = said(directory)
    assert len(lines) == sum(processes * count for processes, count in sizes.values())
    told = check(table, lines, before=OLD_VERSIONS, archive=directory / "archive")
    assert told["APPEND"] > 0
    assert {line["refused"] for line in lines if "refused" in line} <= BUSY
    assert not [line["failed"] for line in lines if "failed" in line]
    assert any("read" in line and line["read"] > OLD_VERSIONS for line in lines)
    check_states(table, all_versions(table, directory / "archive"))
    return Counter(line["kind"] for line in lines if "kind" in line), sum(line.get("deleted", 0) for line in lines)


def check_states(table: Path, versions: dict[int, Lines]) -> None:
    """Every state that is there can be read with all its manifests, and says what its version says."""
    numbers = [int(path.name[7:]) for path in (table / "_transaction_log").glob("state-v*") if any(path.iterdir())]
    assert numbers
    for number in numbers:
        snapshot = open_log(table_log(table), number, whole=True)
        assert snapshot.base == number
        assert live(snapshot) == naive_live(versions, number).keys()


def test_race_with_cleaners(tmp_path: Path) -> None:
    sizes = {
        "append": (4, 8),
        "overwrite": (1, 4),
        "remove": (1, 6),
        "sum-up": (2, 8),
        "clean": (1, 8),
        "read": (2, 10),
    }
    kinds, deleted = race_with_cleaners(tmp_path, sizes)
    assert kinds["compacted"] > 0
    assert deleted > OLD_VERSIONS


@pytest.mark.stress
def test_race_with_cleaners_in_full_size(tmp_path: Path) -> None:
    """What is twenty seconds old counts as two days old: clean-up goes on behind those who are at work."""
    sizes = {"append": (8, 150), "overwrite": (1, 20), "remove": (2, 100)}
    sizes |= {"sum-up": (2, 400), "clean": (1, 300), "read": (3, 400)}
    kinds, deleted = race_with_cleaners(tmp_path, sizes, age_seconds=20)
    assert kinds["compacted"] > 0
    assert kinds["incremental"] > 0
    assert deleted > 100


def kill_some(tmp_path: Path, writers: int, victims: int, after_lines: int) -> None:
    table, directory = tmp_path / "table", tmp_path / "said"
    new_table(table_log(table))
    process = start(table, directory, ["append:400"] * (writers - 1) + ["overwrite:400"])
    try:
        state = table / "_transaction_log" / "_last_checkpoint"
        while len(said(directory)) < after_lines or not state.exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        pids = json.loads((directory / "pids").read_text())
        killed = random.sample(pids, victims)
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
            time.sleep(random.random() * 0.02)
        told = len(said(directory))
        while len(said(directory)) < told + writers:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        for pid in set(pids) - set(killed):
            os.kill(pid, signal.SIGKILL)
        codes = finish(process)
    finally:
        process.kill()
    assert set(codes.values()) == {-signal.SIGKILL}
    check(table, said(directory), killed=writers)

    log = table_log(table)
    snapshot = open_log(log)
    following = append(log, snapshot, "later")
    assert following.snapshot.version == snapshot.version + 1
    assert live(open_log(table_log(table))) == live(snapshot) | {"later"}


def test_killed_writers_leave_a_table(tmp_path: Path) -> None:
    kill_some(tmp_path, writers=5, victims=3, after_lines=25)


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(20))
def test_killed_writers_leave_a_table_every_time(tmp_path: Path, seed: int) -> None:
    random.seed(seed)
    kill_some(tmp_path, writers=12, victims=8, after_lines=40 + 5 * seed)
