"""Caches take a share of the memory that the process can use: the machine's, or what a limit leaves of it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from forked import true_in_child
from indextables.core.runtime.memory import Machine, cache_bytes, share_machine
from indextables.split.open_splits import most_index_handles

GIB = 1 << 30


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine of 24 GiB without limits."""
    return Machine(24 * GIB, control_groups=tmp_path / "groups", membership=tmp_path / "membership")


def test_this_machine() -> None:
    assert 0 < Machine.here().memory_bytes <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 1 << 28 <= cache_bytes() <= 1 << 31
    assert cache_bytes() == cache_bytes(Machine.here())


@pytest.mark.parametrize(("gib", "mib"), [(1, 256), (4, 256), (8, 512), (24, 1536), (32, 2048), (512, 2048)])
def test_a_share_within_bounds(gib: int, mib: int, machine: Machine) -> None:
    assert cache_bytes(replace(machine, physical_bytes=gib * GIB)) == mib << 20


@pytest.mark.parametrize(
    ("membership", "files", "gib"),
    [
        ("0::/", {"memory.max": "8589934592\n"}, 8),
        ("0::/", {"memory.max": "max\n"}, 24),
        ("0::/a/b", {"a/b/memory.max": "max", "a/memory.max": f"{6 * GIB}", "memory.max": f"{9 * GIB}"}, 6),
        ("0::/gone/from/here", {"memory.max": f"{5 * GIB}"}, 5),
        ("4:memory:/x\n0::/", {"memory/x/memory.limit_in_bytes": f"{7 * GIB}"}, 7),
        ("4:cpu,memory:/x:y\n", {"memory/x:y/memory.limit_in_bytes": f"{7 * GIB}"}, 7),
        ("4:memory:/x\n", {"memory/memory.limit_in_bytes": "9223372036854771712"}, 24),
        ("4:cpu:/x\n", {"cpu/x/memory.limit_in_bytes": "1"}, 24),
        ("", {"memory.max": "1"}, 24),
        (None, {"memory.max": "1"}, 24),
    ],
)
def test_control_groups(membership: str | None, files: dict[str, str], gib: int, machine: Machine) -> None:
    if membership is not None:
        machine.membership.write_text(membership)
    for file, value in files.items():
        path = machine.control_groups / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value)
    assert machine.memory_bytes == gib * GIB


@pytest.mark.parametrize(
    ("membership", "files", "threads"),
    [
        ("0::/", {}, None),
        ("0::/", {"pids.max": "max"}, None),
        ("0::/a", {"a/pids.max": "1024", "pids.max": "4096"}, 1024),
        ("3:pids:/x", {"pids/x/pids.max": "512"}, 512),
    ],
)
def test_limits_of_threads(membership: str, files: dict[str, str], threads: int | None, machine: Machine) -> None:
    machine.membership.write_text(membership)
    for file, value in files.items():
        path = machine.control_groups / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value)
    assert machine.threads == threads
    handles = most_index_handles(machine)
    assert handles == (16_384 if threads is None else min(16_384, threads // 4 * 14))


def test_a_limit_of_the_process(machine: Machine) -> None:
    assert replace(machine, process_bytes=5 * GIB).memory_bytes == 5 * GIB
    assert replace(machine, process_bytes=50 * GIB).memory_bytes == 24 * GIB


def test_one_process_of_many(machine: Machine) -> None:
    def shared() -> bool:
        share_machine()
        return cache_bytes(machine) == 1 << 28

    assert true_in_child(shared)
    assert cache_bytes(machine) == 24 * GIB // 16
