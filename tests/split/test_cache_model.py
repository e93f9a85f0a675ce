"""The disk cache against a naive model: what is on disk after any sequence of leases, returns, flushes and restarts."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from effort import examples
from indextables.split.cache.cache_entry import Wanted
from indextables.split.cache.index_cache import IndexCache, Lease
from split.cache_support import plain

SPLITS = [plain(number, size) for number, size in enumerate((10, 90, 100, 100, 100, 200, 300, 2000))]
SPLITS += [plain(number, 100, table="file:///other") for number in range(2)]
NAMES = [Wanted.full(split.key, split.regions).name for split in SPLITS]
SPLIT = st.sampled_from(range(len(SPLITS)))


class Cache(RuleBasedStateMachine):
    """Several caches on one directory act as several processes. The model is a list of splits, oldest use first.

    A use ends with the last lease of a process.
    """

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.caches: list[IndexCache] = []
        self.used: list[int] = []
        self.leases: list[tuple[int, Lease]] = []
        self.owners: dict[Lease, IndexCache] = {}

    @initialize(bound=st.sampled_from([0, 250, 400, 600]), processes=st.integers(1, 3))
    def begin(self, bound: int, processes: int) -> None:
        self.bound = bound
        self.caches = [self.opened() for _ in range(processes)]

    def opened(self) -> IndexCache:
        return IndexCache(self.place / "cache", self.bound, scratch=self.place / "scratch")

    def teardown(self) -> None:
        for _, lease in self.leases:
            lease.release()
        shutil.rmtree(self.place)

    @rule(number=SPLIT, who=st.integers(0, 2))
    def use(self, number: int, who: int) -> None:
        self.acquire(number, who)
        self.give_back(len(self.leases) - 1)

    @rule(numbers=st.permutations(range(len(SPLITS))), who=st.integers(0, 2))
    def use_many(self, numbers: list[int], who: int) -> None:
        for number in numbers[:6]:
            self.use(number, who)

    @rule(number=SPLIT, who=st.integers(0, 2))
    def acquire(self, number: int, who: int) -> None:
        cache, split = self.caches[who % len(self.caches)], SPLITS[number]
        before = len(split.fetched)
        lease = split.lease(cache)
        assert lease.cached
        assert split.is_in(lease.directory)
        assert (len(split.fetched) > before) == (number not in self.used), "fetched exactly when it was not there"
        if number not in self.used:
            self.make_room(split.bytes)
            self.used.append(number)
        self.leases.append((number, lease))
        self.owners[lease] = cache
        time.sleep(2e-6)

    def held(self) -> list[tuple[int, IndexCache]]:
        return [(number, self.owners[lease]) for number, lease in self.leases]

    def make_room(self, size: int) -> None:
        in_use = {number for number, _ in self.leases}
        for number in list(self.used):
            if sum(SPLITS[each].bytes for each in self.used) + size <= self.bound:
                break
            if number not in in_use:
                self.used.remove(number)

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        self.give_back(data.draw(st.integers(0, len(self.leases) - 1)))

    def give_back(self, at: int) -> None:
        number, lease = self.leases.pop(at)
        cache = self.owners.pop(lease)
        lease.release()
        if (number, cache) not in self.held():
            self.used.remove(number)
            self.used.append(number)
            self.make_room(0)
        time.sleep(2e-6)

    @precondition(lambda self: len(self.used) > 3)
    @rule(table=st.sampled_from([None, SPLITS[0].key.table, "file:///other"]), who=st.integers(0, 2))
    def flush(self, table: str | None, who: int) -> None:
        in_use = {number for number, _ in self.leases}
        aimed = [number for number in self.used if table in (None, SPLITS[number].key.table)]
        stays = [number for number in aimed if number in in_use]
        assert self.caches[who % len(self.caches)].flush(table) == (len(aimed) - len(stays), len(stays))
        self.used = [number for number in self.used if number not in aimed or number in stays]

    @precondition(lambda self: len(self.caches) < 3)
    @rule()
    def another_process(self) -> None:
        self.caches.append(self.opened())

    @invariant()
    def what_is_on_disk(self) -> None:
        if not self.caches:
            return
        root = self.place / "cache" / "splits-1"
        assert {path.name for path in (root / "entries").iterdir()} == {NAMES[number] for number in self.used}
        assert not list((root / "rooms").iterdir())
        assert not list((root / "fetching").iterdir())
        in_use = sum(SPLITS[number].bytes for number in {number for number, _ in self.leases})
        found = self.caches[0].statistics()
        assert found.entries == len(self.used)
        assert found.bytes == sum(SPLITS[number].bytes for number in self.used) <= max(self.bound, in_use)


Cache.TestCase.settings = settings(max_examples=examples(25), stateful_step_count=25, deadline=None)
TestCache = Cache.TestCase
