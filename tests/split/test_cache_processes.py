"""The disk cache between processes: one download, takeover from the dead, and kill -9 at every step and at any moment."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tantivy  # type: ignore[import-untyped]

import indextables
from indextables.split.cache.cache_entry import Wanted, verify_files
from indextables.split.cache.index_cache import IndexCache
from split.cache_support import phrase, plain, real_split, term

SCRIPT = Path(__file__).with_name("cache_worker.py")


def start(role: str, *arguments: Any) -> subprocess.Popen[str]:
    path = os.pathsep.join((str(Path(indextables.__file__).parents[1]), str(SCRIPT.parents[1])))
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), role, json.dumps([str(a) if isinstance(a, Path) else a for a in arguments])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )


def end(process: subprocess.Popen[str], say: str | None = None) -> Any:
    out, errors = process.communicate(say, timeout=600)
    assert process.returncode == 0, errors
    assert not errors
    return json.loads(out.splitlines()[-1])


def say_go(*processes: subprocess.Popen[str]) -> None:
    """Let processes that wait for it begin, all at the same time."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def leftovers(place: Path) -> list[str]:
    return [path.name for part in ("rooms", "fetching") for path in (place / "splits-1" / part).iterdir()]


def test_one_download_for_many_processes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    processes = [start("ask", tmp_path / "cache", log, 0.5) for _ in range(5)]
    say_go(*processes)
    answers = [end(process) for process in processes]
    assert all(answer["right"] for answer in answers)
    assert len(log.read_text().splitlines()) == 1
    assert sum(answer["hits"] for answer in answers) == 4
    assert not leftovers(tmp_path / "cache")


def test_who_waits_takes_over_from_the_dead(tmp_path: Path) -> None:
    place, log = tmp_path / "cache", tmp_path / "log"
    dying = start("hang", place)
    assert dying.stdout is not None
    assert dying.stdout.readline() == "fetching\n"
    waiting = start("ask", place, log, 0)
    say_go(waiting)
    time.sleep(0.5)
    assert waiting.poll() is None
    assert not log.exists()
    kill(dying)
    assert end(waiting) == {"right": True, "hits": 0, "waits": 0}
    assert len(leftovers(place)) == 1, "the room of the dead"
    IndexCache(place, 1 << 20)
    assert not leftovers(place)


def test_who_is_stopped_does_not_stop_the_others(tmp_path: Path) -> None:
    place = tmp_path / "cache"
    stopped = start("hang", place)
    assert stopped.stdout is not None
    assert stopped.stdout.readline() == "fetching\n"
    stopped.send_signal(signal.SIGSTOP)
    split = plain(1)
    with split.lease(IndexCache(place, 1 << 20, patience_seconds=0.2)) as lease:
        assert lease.cached
        assert split.is_in(lease.directory)
    kill(stopped)


@pytest.mark.slow
def test_killed_at_every_step(tmp_path: Path) -> None:
    answer = end(start("die", tmp_path))
    assert answer["killed"] > 100


def run_storm(tmp_path: Path, *, workers: int, kills: int, seconds: float) -> None:
    place, known = tmp_path / "cache", []
    for seed in range(6):
        where = tmp_path / f"index-{seed}"
        split = real_split(where, seed=seed, documents=100 + 80 * seed)
        index = tantivy.Index.open(str(where))
        known.append((split, len(term(index, "word1")), phrase(index, ["word1", "word2"])))
    (tmp_path / "splits").write_bytes(pickle.dumps(known))
    bound = sum(split.bytes for split, _, _ in known) // 2
    chance = random.Random(kills)
    seeds = iter(range(10_000))

    def another() -> subprocess.Popen[str]:
        return start("storm", place, tmp_path / "splits", bound, next(seeds), seconds)

    running = [another() for _ in range(workers)]
    for _ in range(kills):
        victim = running.pop(0)
        assert victim.stdout is not None
        assert victim.stdout.readline() == "ready\n"
        time.sleep(chance.random() * 0.4)
        assert victim.poll() is None, victim.communicate()
        kill(victim)
        running.append(another())
    answers = [end(process) for process in running]
    assert all(answer["done"] > 10 for answer in answers), answers
    assert not any(answer["damaged"] or answer["uncached"] for answer in answers), answers
    assert sum(answer["misses"] for answer in answers) > 0
    cache = IndexCache(place, bound)
    assert not leftovers(place)
    assert cache.statistics().bytes <= bound
    wanted = {
        each.name: each
        for split, _, _ in known
        for each in (
            Wanted.full(split.key, split.regions),
            Wanted.without_positions(split.key, split.regions, split.tails),
        )
    }
    for entry in (place / "splits-1" / "entries").iterdir():
        assert verify_files(entry, wanted[entry.name])


@pytest.mark.stress
def test_a_long_storm_with_kills(tmp_path: Path) -> None:
    run_storm(tmp_path, workers=4, kills=500, seconds=20)
