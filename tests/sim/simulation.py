"""One schedule: a world, its actors, its oracle, and what a scenario needs to set the stage."""

from __future__ import annotations

import logging
import random
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from indextables.core.errors import LogWarning
from indextables.core.options import Options
from indextables.core.runtime.threads import Inline
from indextables.log.actions import AddAction
from indextables.log.commit import commit
from indextables.log.conflicts import Change
from indextables.log.create_log import create_log
from indextables.log.log_cache import LogCache
from indextables.log.log_paths import LOG_DIR, checkpoint_key, version_key
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.state.checkpoint import checkpoint
from indextables.log.state.model import manifest_key, state_dir, state_key
from indextables.log.state.read import decode_state
from indextables.log.state.writing.encode_state import encode_state
from indextables.log.table_log import TableLog
from sim.oracle import Oracle
from sim.scheduler import Scheduler, show
from sim.weather import SAFETY_HOURS, Cut, Weather
from sim.world import HOUR, LOG, Request, SimClock, SimStore, Violation, World

if TYPE_CHECKING:
    from sim.process import Actor

SCHEMA = '{"type":"struct","fields":[{"name":"part","type":"string","nullable":true,"metadata":{}}]}'
PARTS = ("a", "b", "c")

Form = Literal["shared", "directory", "bare"]
FORMS: tuple[Form, ...] = ("shared", "directory", "bare")
"""How a state may name a manifest: `manifests/…`, as ours do, `state-v…/…`, or by its name in the state's own directory."""


@dataclass
class Quota:
    """What a schedule must contain at least; writers go on until it is there."""

    commits: int = 0
    faults: int = 0
    cleanups: int = 0
    deaths: int = 0


@dataclass
class Outcome:
    """What became of a schedule."""

    scenario: str
    seed: int
    cut: Cut
    counts: Counter[str]
    trace: list[tuple[Any, ...]] = field(repr=False)
    fired: list[str] = field(repr=False)
    actors: tuple[str, ...] = ()
    violation: Violation | None = None

    def lines(self) -> list[str]:
        return [show(entry) for entry in self.trace]


class Simulation:
    """The stage. Scenarios set it (`base`, `quick_commit`, …), add actors and let it run."""

    schema_string = SCHEMA

    def __init__(
        self,
        seed: int,
        cut: Cut,
        weather: Weather,
        *,
        retention: float = 30 * 24 * HOUR,
        quota: Quota | None = None,
        **options: object,
    ) -> None:
        self.seed = seed
        self.cut = cut
        self.rng = random.Random(f"scenario/{seed}")
        self.retention = retention
        self.quota = quota or Quota()
        self.options = Options(
            {
                "transaction.compression.enabled": False,
                "state.format": "avro" if seed % 2 else "json",
                "logRetention.duration": int(retention * 1000),
                "checkpointRetention.duration": 0,
                "state.retention.hours": 0,
                "state.retention.versions": 1,
                **options,
            }
        )
        self.world = World()
        self.scheduler = Scheduler(self.world, seed, weather, cut)
        self.oracle = Oracle(self.world, self.options, retention)
        self.scheduler.before_step = self._before_step
        self.oracle.is_sleepy = self._is_sleepy
        self.actors: list[Actor] = []
        self.counts: Counter[str] = Counter()
        clock = SimClock(self.world, self.world.carry_out, random.Random(f"setup/{seed}"))
        self.direct = TableLog(SimStore(self.world.carry_out), self.options, clock, Inline(), LogCache())
        self._running = False
        self._paths = 0
        self._staged: Snapshot | None = None

    def add(self, kind: Callable[..., Actor], name: str, **settings: Any) -> None:
        """Add an actor, unless this run leaves it out."""
        if name not in self.cut.actors:
            self.actors.append(kind(self, name, **settings))

    def run(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LogWarning)
            self._running = True
            self.scheduler.run()
            self.oracle.finish()

    def _before_step(self) -> None:
        self.oracle.check()
        quota, counts = self.quota, self.scheduler.counts
        if quota.commits and self.cut.is_whole and self.oracle.commits > quota.commits * 2 // 3:
            self.scheduler.faults.fault_urgency = 8.0 if counts["faults"] < quota.faults else 1.0
            self.scheduler.faults.death_urgency = 20.0 if counts["deaths"] < quota.deaths else 1.0

    def _is_sleepy(self) -> bool:
        sender = self.scheduler.sender
        return self._running and (sender is None or sender.slept)

    @property
    def satisfied(self) -> bool:
        """Whether the schedule has all that it must have."""
        counts, quota = self.scheduler.counts, self.quota
        return (
            self.oracle.commits >= quota.commits
            and counts["faults"] >= quota.faults
            and counts["deaths"] >= quota.deaths
            and self.counts["cleanups"] >= quota.cleanups
        )

    def writing(self) -> bool:
        """Whether some writer has not come to its end."""
        return any(actor.leads and not actor.task.done for actor in self.actors)

    def has_ended(self, name: str | None) -> bool:
        """Whether an actor has come to its end, or takes no part."""
        return all(actor.task.done for actor in self.actors if actor.name == name)

    # setting the stage, at once and without faults

    def create(self, **properties: str) -> None:
        create_log(
            self.direct,
            schema_string=self.schema_string,
            partition_columns=("part",),
            configuration={"spark.indextables.safetyAge.hours": str(SAFETY_HOURS), **properties},
        )

    def pass_time(self, seconds: float) -> None:
        self.world.now += seconds

    def new_add(self, who: str, part: str | None = None) -> AddAction:
        """A data file's entry; the file itself is still to be uploaded."""
        self._paths += 1
        part = part or PARTS[self._paths % len(PARTS)]
        path = f"part={part}/{who}{self._paths}-{self._paths:032x}.split"
        return AddAction(path, {"part": part}, size=100, modification_time=1, num_records=10)

    def quick_commit(self, *, files: int = 1, after: float = 30.0) -> Snapshot:
        """A version that appends."""
        self.pass_time(after)
        adds = tuple(self.new_add("setup") for _ in range(files))
        for add in adds:
            self.world.carry_out_put(add.path)
        change = Change(adds=adds)
        at = LogAtVersion(self.direct, self._staged or open_log(self.direct))
        self._staged = commit(at, change, operation="WRITE").snapshot
        return self._staged

    def quick_checkpoint(self) -> None:
        done = checkpoint(LogAtVersion(self.direct, self._staged or open_log(self.direct)), compact=False)
        assert done.written
        self._staged = done.snapshot

    def damage_checkpoint(self, version: int) -> None:
        """Bytes rot: the object is there, and cannot be read."""
        keys = [key for key in (checkpoint_key(version), state_key(version)) if key in self.world.objects]
        assert keys
        for key in keys:
            self.world.carry_out(Request("put", key, b'{"checkpointInfo":{"checksum":"xxh3:0"}}\n'))

    def replace_table(self, late: tuple[int, ...]) -> None:
        """Drop the table and create another in its place; then some of the old one's versions arrive once more."""
        bodies = {number: self.world.objects[version_key(number)].data for number in late}
        self.oracle.drop_begins()
        for key in [key for key in self.world.objects if key.startswith(LOG)]:
            self.world.remove(key)
        self.create()
        self._staged = None
        for number, body in bodies.items():
            self.world.carry_out(Request("create", version_key(number), body))

    def name_manifests(self, version: int, form: Form) -> None:
        """Make a state one of another writer, who puts manifests into the state's own directory."""
        if form == "shared":
            return
        objects, directory = self.world.objects, state_dir(version)
        stored = objects[state_key(version)]
        state = decode_state(state_key(version), stored.data, version)
        items = []
        for item in state.manifests:
            name = item.path.rpartition("/")[2]
            objects[f"{LOG_DIR}/{directory}/{name}"] = objects[manifest_key(item.path, version)]
            items.append(replace(item, path=name if form == "bare" else f"{directory}/{name}"))
        stored.data = encode_state(replace(state, manifests=tuple(items)), 1)
        self._staged = None

    def base(
        self, versions: int, *, checkpoints_at: tuple[int, ...] = (), every: float = 30 * 60.0, files: int = 1
    ) -> None:
        """A table with some appends."""
        self.create()
        for number in range(1, versions + 1):
            self.quick_commit(files=files, after=every)
            if number in checkpoints_at:
                self.quick_checkpoint()

    def totals(self) -> Counter[str]:
        totals = self.counts + self.scheduler.counts
        totals["commits"] = self.oracle.commits
        totals["reads"] = self.oracle.reads
        totals["ghosts"] = self.oracle.ghosts
        totals["actors"] = len(self.actors)
        totals["schedules"] = 1
        return totals


logging.getLogger("indextables").addHandler(logging.NullHandler())
