"""A restore to any version that the history promises gives the files, and so the rows, that the version had.

A dict of versions is kept beside the table. Appends, overwrites, dropped partitions, merges, states, restores, truncations and
clean-ups come in any order and at any distance; two handles take turns, so that one of them is often out of date.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables import Table
from indextables.core.errors import VersionNotFound
from indextables.log.actions import AddAction
from indextables.log.cleanup import clean_up
from indextables.log.commit import commit
from indextables.log.conflicts import Change, Replace, Rewrite
from indextables.log.history import open_at
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot_files import read_files
from indextables.log.state.collect import collect_manifests
from indextables.table.handle import TableHandle
from log.support import HOUR, MemoryStore, add, make_log, new_table

PARTS = "ab"
OPTIONS = {"checkpoint.enabled": False, "state.retention.versions": 1, "logRetention.duration": 10**12}

Step = tuple[str, int, int]
steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["append", "append", "overwrite", "drop", "merge", "state", "restore", "restore", "truncate", "clean"]
        ),
        st.integers(0, 20),
        st.sampled_from([0, 0, 1, 30, 100]),
    ),
    min_size=3,
    max_size=14,
)


@dataclass
class Model:
    """A table with two handles, and what each of its versions had."""

    store: MemoryStore = field(default_factory=MemoryStore)
    files: dict[int, frozenset[str]] = field(default_factory=dict)
    floor: int = 0
    made: int = 0

    def __post_init__(self) -> None:
        new_table(self.log(), partition_columns=("day",), configuration={"spark.indextables.safetyAge.hours": "24"})
        self.tables = [self.opened(), self.opened()]
        self.files[0] = frozenset()

    def log(self) -> Any:
        return make_log(self.store, OPTIONS)

    def opened(self) -> Table:
        log = self.log()
        return Table(TableHandle(log, open_log(log)))

    @property
    def newest(self) -> int:
        return max(self.files)

    def new_file(self, part: str) -> AddAction:
        self.made += 1
        path = f"day={part}/{self.made}.split"
        self.store.put(path, b"x" * 100)
        return add(path, partition_values={"day": part})

    def had(self, files: frozenset[str]) -> None:
        self.files[self.newest + 1] = files

    def do(self, step: Step) -> None:
        verb, number, hours = step
        self.store.clock.advance(hours * HOUR)
        now, part, table = self.files[self.newest], PARTS[number % 2], self.tables[number % 2]
        inside = frozenset(path for path in now if path.startswith(f"day={part}/"))
        match verb:
            case "append":
                new = self.new_file(part)
                table.commit_files([new])
                self.had(now | {new.path})
            case "overwrite":
                new = self.new_file(part)
                handle = self.opened()
                log = self.log()
                commit(TableHandle(log, open_log(log)), Change((new,), replace=Replace()), operation="WRITE")
                assert handle.version == self.newest
                self.had(frozenset({new.path}))
            case "drop":
                done = table.drop_partitions(f"day = '{part}'")
                assert done.splits_removed == len(inside)
                if inside:
                    self.had(now - inside)
            case "merge":
                self.merge(sorted(inside)[:2], part, now)
            case "state":
                if self.newest:
                    table.checkpoint()
                    if table.version > self.newest:  # an empty version carries the state
                        self.had(now)
            case "restore":
                self.restore(table, number % (self.newest + 1), now)
            case "truncate":
                done = table.truncate_time_travel()
                if done.checkpoint_version > self.newest:
                    self.had(now)
                    self.floor = self.newest
            case "clean":
                log = self.log()
                handle = TableHandle(log, open_log(log))
                clean_up(handle)
                collect_manifests(handle)

    def merge(self, sources: list[str], part: str, now: frozenset[str]) -> None:
        if len(sources) < 2:
            return
        result = self.new_file(part)
        log = self.log()
        change = Change(rewrites=(Rewrite(tuple(sources), (result,), data_change=False),))
        commit(TableHandle(log, open_log(log)), change, operation="MERGE SPLITS")
        self.had((now - set(sources)) | {result.path})

    def restore(self, table: Table, version: int, now: frozenset[str]) -> None:
        if version < self.floor:
            with pytest.raises(VersionNotFound, match=f"the oldest is {self.floor}"):
                table.restore(version=version)
            return
        done = table.restore(version=version)
        wanted = self.files[version]
        assert (done.files_added, done.files_removed) == (len(wanted - now), len(now - wanted))
        assert done.status == ("no_action" if wanted == now else "success")
        if wanted != now:
            self.had(wanted)
        assert done.version == self.newest

    def check(self) -> None:
        """Every version that is promised has its files; no other one can be opened."""
        for version, files in self.files.items():
            log = self.log()
            if version < self.floor:
                with pytest.raises(VersionNotFound, match=f"the oldest is {self.floor}"):
                    open_at(log, version=version)
                continue
            found = read_files(TableHandle(log, open_at(log, version=version)), None)[1].column("path").to_pylist()
            assert sorted(found) == sorted(files), version
        assert self.opened().version == self.newest


@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
def test_every_version_that_is_promised_can_be_restored(script: list[Step]) -> None:
    model = Model()
    for step in script:
        model.do(step)
        model.check()
    for version in range(model.floor, model.newest + 1):
        model.restore(model.tables[0], version, model.files[model.newest])
        model.check()
