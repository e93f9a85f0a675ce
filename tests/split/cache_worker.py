"""A process that uses the disk cache: `python cache_worker.py <role> <arguments as JSON>`.

ask     one split, with a fetch that writes a line to a log and takes its time
hang    begins to fetch a split, says so, and never ends
storm   leases, checks, opens, searches and flushes until its time is over; one line of JSON at the end
die     for every call to the file system: a child that is killed right before or after it, and a look at what it left
"""

from __future__ import annotations

import json
import os
import pickle
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from indextables.split.bundle.footer import Region
from indextables.split.cache.cache_entry import Wanted, verify_files
from indextables.split.cache.gate import COUNT
from indextables.split.cache.index_cache import IndexCache
from split.cache_support import Split, bundle, plain

CALLS = ("open", "write", "pwrite", "mkdir", "rename", "link", "unlink", "rmdir", "utime", "ftruncate", "close")


def opened(place: str, max_bytes: int) -> IndexCache:
    return IndexCache(Path(place), max_bytes, scratch=Path(place).parent / "scratch", sparse_from=1)


def ask(place: str, log: str, seconds: float) -> None:
    split = plain(1)

    def fetch(regions: Sequence[Region]) -> list[bytes]:
        with Path(log).open("a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(seconds)
        return split.fetch(regions)

    cache = opened(place, 1 << 20)
    print("ready", flush=True)
    sys.stdin.readline()
    with cache.acquire(split.key, split.regions, fetch) as lease:
        counts = cache.statistics()
        print(json.dumps({"right": split.is_in(lease.directory), "hits": counts.hits, "waits": counts.waits}))


def hang(place: str) -> None:
    split = plain(1)

    def fetch(regions: Sequence[Region]) -> list[bytes]:
        print("fetching", flush=True)
        time.sleep(3600)
        raise AssertionError

    opened(place, 1 << 20).acquire(split.key, split.regions, fetch)


def storm(place: str, splits: str, max_bytes: int, seed: int, seconds: float) -> None:
    import tantivy  # type: ignore[import-untyped]

    from split.cache_support import phrase, term

    known: list[tuple[Split, int, list[int]]] = pickle.loads(Path(splits).read_bytes())
    chance = random.Random(seed)
    cache = opened(place, max_bytes)
    held: list[Any] = []
    done = 0
    print("ready", flush=True)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        split, ones, pairs = chance.choice(known)
        sparse = chance.random() < 0.5
        lease = split.lease(cache, without_positions=sparse)
        assert sparse or lease.positions
        if lease.positions:
            assert split.is_in(lease.directory)
        index = tantivy.Index.open(str(lease.directory))
        assert len(term(index, "word1")) == ones
        if lease.positions:
            assert phrase(index, ["word1", "word2"]) == pairs
        held.append((lease, index, ones))
        chance.shuffle(held)
        while len(held) > 3 or (held and chance.random() < 0.3):
            lease, index, ones = held.pop()
            lease.release()
            assert len(term(index, "word1")) == ones
        if chance.random() < 0.02:
            cache.flush()
        done += 1
    for lease, _, _ in held:
        lease.release()
    counts = cache.statistics()
    print(json.dumps({"done": done, "misses": counts.misses, "damaged": counts.damaged, "uncached": counts.uncached}))


def killed_at(nth: int, after: bool, root: str) -> None:
    """Let the n-th call to the file system be the last one of this process."""
    count = 0

    def wrap(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **named: Any) -> Any:
            nonlocal count
            if isinstance(args[0], int) or str(args[0]).startswith(root):
                count += 1
                if count == nth:
                    if after:
                        call(*args, **named)
                    os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **named)

        return wrapped

    for name in CALLS:
        setattr(os, name, wrap(getattr(os, name)))


def die(root: str) -> None:
    """A split enters a full cache whose oldest entry has to leave, sparse first, then whole; killed at every step."""
    old = plain(1, 1500)
    new = bundle({"a.idx": bytes(range(200)) * 4, "b.pos": bytes(range(90)) * 10}, "new", ends={"b.pos": 10})
    killed = 0
    for nth in range(1, 1000):
        ended = []
        for after in (False, True):
            place = f"{root}/{nth}-{after}"
            old.lease(opened(place, 2000)).release()
            child = os.fork()
            if child == 0:
                killed_at(nth, after, root)
                cache = opened(place, 2000)
                for sparse in (True, False):
                    new.lease(cache, without_positions=sparse).release()
                os._exit(0)
            ended.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            check_remains(Path(place) / "splits-1", (old, new))
            shutil.rmtree(place)
        killed += ended.count(-signal.SIGKILL)
        if ended == [0, 0]:
            print(json.dumps({"killed": killed}))
            return
        assert set(ended) <= {0, -signal.SIGKILL}, ended
    raise AssertionError("there was no end to the calls")


def check_remains(root: Path, splits: Sequence[Split]) -> None:
    """Whatever has an entry's name is whole; the next process finds its way."""
    wanted = {
        each.name: each
        for split in splits
        for each in (
            Wanted.full(split.key, split.regions),
            Wanted.without_positions(split.key, split.regions, split.tails),
        )
    }
    entries = [path.name for path in (root / "entries").iterdir()]
    assert all(verify_files(root / "entries" / name, wanted[name]) for name in entries)
    count, _ = COUNT.unpack((root / "gate").read_bytes())
    assert count >= sum(wanted[name].bytes for name in entries), "a count is never too low"
    cache = opened(str(root.parent), 2000)
    assert not [*(root / "rooms").iterdir(), *(root / "fetching").iterdir()], "what the dead left is swept"
    for split in (*splits, *splits):
        with split.lease(cache) as lease:
            assert lease.cached
            assert split.is_in(lease.directory)
            assert cache.statistics().bytes <= 2000
    count, _ = COUNT.unpack((root / "gate").read_bytes())
    assert cache.statistics().bytes <= count <= 2000


if __name__ == "__main__":
    {"ask": ask, "hang": hang, "storm": storm, "die": die}[sys.argv[1]](*json.loads(sys.argv[2]))
