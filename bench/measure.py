"""Subjects in processes of their own, measured in turns.

Each subject keeps its own process, so that its peak memory is its own and no garbage collector pays for another's heap. The
rounds go around all subjects: whatever else the machine does meanwhile meets each of them. A ratio is taken within a round,
and the median of the rounds is reported with the middle half of them.
"""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

_SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Spread:
    """The middle of some measurements, and the quarter points around it."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        low, _, high = quantiles(values, n=4, method="inclusive")
        return cls(median(values), low, high)


class Worker:
    """A process that does what it is asked, one call at a time."""

    def __init__(self) -> None:
        self._here, there = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(there,), daemon=True)
        self._process.start()
        there.close()

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self._here.send((function, arguments))
        worked, result = self._here.recv()
        if not worked:
            raise RuntimeError(f"{function.__name__} failed:\n{result}")
        return result

    def close(self) -> None:
        self._here.close()
        self._process.join(30)


def _serve(connection: Any) -> None:
    import traceback

    while True:
        try:
            function, arguments = connection.recv()
        except EOFError:
            return
        try:
            connection.send((True, function(*arguments)))
        except Exception:
            connection.send((False, traceback.format_exc()))


def once(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call in a fresh process."""
    worker = Worker()
    try:
        return worker.call(function, *arguments)
    finally:
        worker.close()


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    gc.collect()
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def peak_mb() -> float:
    """The most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# What workers run. A handle lives in its worker's `_open`.

_open: dict[str, Any] = {}


def open_handle(module: str, where: Path) -> int:
    handle = _open["handle"] = importlib.import_module(module).Handle(where)
    return int(handle.live())


def commit(first: int, count: int) -> float:
    handle = _open["handle"]
    return timed(handle.commit, handle.prepare(first, count))[0]


def refresh(repeats: int) -> float:
    handle = _open["handle"]
    return timed(lambda: [handle.refresh() for _ in range(repeats)])[0] / repeats


def live_and_peak() -> tuple[int, float]:
    return int(_open["handle"].live()), peak_mb()


@dataclass(frozen=True)
class Cold:
    """An opening in a process that had only imported the library."""

    open_s: float
    files_s: float
    files: int
    peak_mb: float
    before_mb: float


def cold(module: str, where: Path) -> Cold:
    subject = importlib.import_module(module)
    before = peak_mb()
    open_s, opened = timed(subject.cold_open, where)
    files_s, count = timed(subject.cold_files, opened)
    return Cold(open_s, open_s + files_s, count, peak_mb(), before)


def rounds(count: int, turns: Mapping[str, Callable[[int], Any]]) -> dict[str, list[Any]]:
    """Take turns, after a first round that does not count. Dirty pages are written out before each turn."""
    results: dict[str, list[Any]] = {name: [] for name in turns}
    for number in range(count + 1):
        for name, turn in turns.items():
            os.sync()
            result = turn(number)
            if number:
                results[name].append(result)
    return results


def bare_commit(folder: Path) -> float:
    """The least that a durable commit can cost here: a small file, synced, and its directory, synced."""
    folder.mkdir(exist_ok=True)

    def write() -> None:
        fd = os.open(folder / f"{time.time_ns()}", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.write(fd, b"x" * 5_000)
        os.fsync(fd)
        os.close(fd)
        fd = os.open(folder, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)

    return timed(write)[0]


def syncs_per_commit(module: str, where: Path) -> int | None:
    """How many fsync calls a commit makes, by strace; None where that is not to be had."""
    strace = shutil.which("strace")
    if strace is None:
        return None
    counts = []
    for commits in (1, 3):
        trace = where.parent / f"{where.name}.{commits}.trace"
        watched = "trace=fsync,fdatasync,sync_file_range,syncfs,sync,msync"
        command = [strace, "-f", "-qq", "-o", str(trace), "-e", watched, sys.executable, __file__, module, str(where)]
        done = subprocess.run([*command, str(commits)], capture_output=True, text=True, check=False)
        if done.returncode:
            return None
        counts.append(sum("sync(" in line for line in trace.read_text().splitlines()))
    return (counts[1] - counts[0]) // 2


def _commit_a_few(module: str, where: Path, commits: int) -> None:
    open_handle(module, where)
    for number in range(commits):
        commit(50_000_000 + time.time_ns() % 10**9 * 1_000 + number * 100, 100)


if __name__ == "__main__":
    _commit_a_few(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
