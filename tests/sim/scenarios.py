"""The scenarios: `general` draws everything; the others are small and made for one kind of trouble each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sim.actors import Checkpointer, Cleaner, Creator, Dropper, Purger, Reader, SlowPurger, Truncator
from sim.restorers import Restorer, TimeTruncator
from sim.row_writers import RowsSimulation, RowWriter
from sim.simulation import FORMS, Quota, Simulation
from sim.weather import CALM, Cut, Weather
from sim.world import DAY, HOUR, MINUTE, chance
from sim.writers import Exactly, Writer

Scenario = Callable[[int, Cut], Simulation]
SCENARIOS: dict[str, Scenario] = {}

GENERAL_QUOTA = Quota(commits=30, faults=5, cleanups=1, deaths=1)


def scenario(build: Scenario) -> Scenario:
    SCENARIOS[build.__name__] = build
    return build


def pick(seed: int, what: str, *choices: float) -> float:
    return choices[int(chance(seed, what) * len(choices))]


@scenario
def general(seed: int, cut: Cut) -> Simulation:
    """Everything at once: at least 4 actors, 30 commits, 5 faults, a clean-up and a death."""
    retention = pick(seed, "retention", HOUR, 30 * HOUR, 3 * DAY)
    weather = Weather(
        patience=pick(seed, "patience", 5 * MINUTE, 30 * MINUTE, 3 * HOUR),
        mutations=pick(seed, "mutations", 0.04, 0.08, 0.15),
        freezes=pick(seed, "freezes", 0.0, 0.003, 0.01),
        jumps_rate=pick(seed, "jumps", 0.005, 0.02),
    )
    parts = 3 if chance(seed, "parts") < 0.2 else None
    sim = Simulation(
        seed,
        cut,
        weather,
        retention=retention,
        quota=GENERAL_QUOTA,
        **{
            "checkpoint.multipart.maxActionsPerPart": parts,
            "state.compaction.tombstoneThreshold": pick(seed, "tombstones", 0.1, 0.3, 0.9),
            "state.compaction.maxManifests": int(pick(seed, "manifests", 3, 20)),
            "state.entriesPerManifest": int(pick(seed, "entries", 2, 50_000)),
        },
    )
    versions = int(pick(seed, "versions", 2, 4, 8))
    checkpointed = tuple(n for n in range(1, versions + 1) if chance(seed, "checkpointed", n) < 0.4)
    sim.base(versions, checkpoints_at=checkpointed, every=pick(seed, "every", 30 * MINUTE, 7 * HOUR))
    if checkpointed and seed % 2:
        sim.name_manifests(checkpointed[-1], FORMS[int(chance(seed, "form") * len(FORMS))])
    sim.pass_time(pick(seed, "idle", 0, 0, DAY, 4 * DAY))
    sim.add(Writer, "A")
    sim.add(Writer, "B", dawdle=0.1)
    sim.add(Exactly, "E", app_id="app")
    if chance(seed, "zombie") < 0.2:
        sim.add(Exactly, "F", app_id="app", operations=8)
    sim.add(Checkpointer, "K", operations=10)
    sim.add(Cleaner, "C", operations=8)
    sim.add(Reader, "R", operations=12)
    if chance(seed, "second cleaner") < 0.3:
        sim.add(Cleaner, "D", operations=5)
    if chance(seed, "second checkpointer") < 0.3:
        other = "json" if seed % 2 else "avro"
        sim.add(Checkpointer, "L", operations=5, state_format=other if chance(seed, "mixed") < 0.5 else None)
    if chance(seed, "stale reader") < 0.5:
        sim.add(Reader, "S", operations=8, stale=pick(seed, "staleness", 0, 300))
    if chance(seed, "dropper") < 0.25:
        sim.add(Dropper, "X", operations=1)
    elif chance(seed, "creator") < 0.2:
        sim.add(Creator, "N", operations=3)
    if chance(seed, "truncator") < 0.2:
        sim.add(Truncator, "T", operations=1)
    return sim


@scenario
def race(seed: int, cut: Cut) -> Simulation:
    """Writers that overwrite, remove and set properties, each planning on what it read a while ago."""
    weather = replace(CALM, mutations=0.15, late_answers=0.2, jumps_rate=0.02, jumps=(MINUTE, 9 * MINUTE))
    sim = Simulation(seed, cut, weather)
    sim.base(2)
    kinds = ("append", "overwrite", "replace", "remove", "set")
    for name in "AB":
        sim.add(Writer, name, operations=4, hold=0.5, kinds=kinds)
    sim.add(Checkpointer, "K", operations=1)
    return sim


@scenario
def exactly(seed: int, cut: Cut) -> Simulation:
    """An exactly-once writer whose answers get lost, and who starts again without knowing how far it came."""
    weather = replace(CALM, mutations=0.15, reads=0.03, deaths=0.01, late_answers=0.1)
    sim = Simulation(seed, cut, weather)
    sim.base(1)
    sim.add(Exactly, "E", operations=5, app_id="app")
    if seed % 2:
        sim.add(Exactly, "F", operations=3, app_id="app")
    sim.add(Writer, "B", operations=2)
    sim.add(Checkpointer, "K", operations=1)
    return sim


@scenario
def handles(seed: int, cut: Cut) -> Simulation:
    """Handles that nobody used for a day, writers that sleep for days, while others write, sum up and clean up."""
    weather = replace(
        CALM,
        mutations=0.03,
        freezes=0.03,
        naps=(11 * MINUTE, 13 * HOUR, 26 * HOUR, 4 * DAY),
        jumps_rate=0.05,
        jumps=(MINUTE, 61 * MINUTE, 13 * HOUR, 25 * HOUR),
    )
    sim = Simulation(seed, cut, weather, retention=HOUR)
    sim.base(2, checkpoints_at=(1,))
    sim.add(Writer, "A", operations=2, kinds=("append",), hold=0.8, early=True)
    sim.add(Reader, "R", operations=3, travels=0.0, alone=True, early=True)
    for _ in range(int(pick(seed, "versions", 0, 2, 3))):
        sim.quick_commit(after=HOUR)
    sim.quick_checkpoint()
    sim.pass_time(pick(seed, "idle", 0, 13 * HOUR, 25 * HOUR))
    sim.add(Writer, "B", operations=4, kinds=("append",))
    sim.add(Checkpointer, "K", operations=3, alone=True)
    sim.add(Cleaner, "C", operations=3, alone=True)
    return sim


@scenario
def sleeper(seed: int, cut: Cut) -> Simulation:
    """One process sleeps for days in the middle of what it does, wherever that is; all others are quick."""
    who, low, high = (("A", 3, 7), ("R", 1, 4), ("A", 3, 7), ("K", 1, 12))[seed % 4]
    call = low + int(chance(seed, "call") * (high - low + 1))
    weather = replace(
        CALM,
        mutations=0.02,
        late_answers=0.2,
        sleeper=(who, call, pick(seed, "nap", 2 * DAY, 4 * DAY, 8 * DAY)),
        jumps_rate=0.08,
        jumps=(61 * MINUTE, 25 * HOUR),
    )
    sim = Simulation(seed, cut, weather, retention=HOUR)
    sim.base(2, checkpoints_at=(1,))
    sim.add(Writer, "A", operations=1, kinds=("append",), hold=0.5, early=True)
    sim.add(Reader, "R", operations=2, travels=0.0, alone=True, early=True)
    if who == "R":
        sim.quick_commit(after=HOUR)
    sim.add(Writer, "B", operations=5, kinds=("append",))
    sim.add(Checkpointer, "K", operations=6, alone=True)
    sim.add(Cleaner, "C", operations=6, alone=True)
    return sim


@scenario
def thin(seed: int, cut: Cut) -> Simulation:
    """Two clean-ups, of which one stands still before it deletes, of a log with many checkpoints that cross the retention."""
    weather = replace(CALM, deletes=0.2, freezes=0.1, naps=(2 * HOUR,), jumps_rate=0.02, jumps=(31 * MINUTE, 2 * HOUR))
    sim = Simulation(seed, cut, weather, retention=30 * HOUR)
    every = pick(seed, "every", 1.5 * HOUR, 2.5 * HOUR)
    sim.base(18, checkpoints_at=tuple(range(1, 19)), every=every)
    sim.pass_time(pick(seed, "idle", 0, 4 * HOUR, 9 * HOUR))
    sim.add(Cleaner, "C", operations=3, alone=True)
    sim.add(Cleaner, "D", operations=3, alone=True)
    return sim


@scenario
def pointer(seed: int, cut: Cut) -> Simulation:
    """Checkpointers, of which a slow one sets the pointer back for a day, and a clean-up that leaves old states."""
    weather = replace(
        CALM,
        mutations=0.1,
        freezes=0.03,
        naps=(61 * MINUTE, 13 * HOUR),
        jumps_rate=0.05,
        jumps=(61 * MINUTE, 25 * HOUR),
    )
    sim = Simulation(seed, cut, weather, retention=HOUR, **{"state.retention.hours": 500})
    sim.base(2, checkpoints_at=(1,))
    sim.add(Checkpointer, "K", operations=1, hold=1.0, alone=True, early=True)
    for _ in range(3):
        sim.quick_commit(after=HOUR)
    sim.quick_checkpoint()
    sim.add(Checkpointer, "L", operations=1, alone=True)
    sim.add(Writer, "A", operations=3, kinds=("append", "overwrite"))
    sim.add(Cleaner, "C", operations=3, alone=True)
    sim.add(Reader, "R", operations=2, travels=0.0, alone=True)
    return sim


@scenario
def recreate(seed: int, cut: Cut) -> Simulation:
    """Somebody creates the table while it is being cleaned up."""
    weather = replace(CALM, jumps_rate=0.02, jumps=(MINUTE, 61 * MINUTE), mutations=0.03)
    sim = Simulation(seed, cut, weather, retention=HOUR)
    sim.base(3, checkpoints_at=(3,))
    sim.pass_time(2 * DAY)
    sim.add(Writer, "A", operations=2)
    sim.add(Cleaner, "C", operations=2, alone=True)
    sim.add(Creator, "N", operations=2, alone=True)
    return sim


@scenario
def travel(seed: int, cut: Cut) -> Simulation:
    """A table that lay idle gets new versions and checkpoints, and is cleaned up: its past stays readable."""
    weather = replace(CALM, jumps_rate=0.05, jumps=(MINUTE, 61 * MINUTE, 13 * HOUR, 25 * HOUR), mutations=0.03)
    sim = Simulation(seed, cut, weather, retention=3 * DAY)
    sim.base(3, checkpoints_at=(1,), every=13 * HOUR)
    sim.pass_time(pick(seed, "idle", HOUR, 2 * DAY, 5 * DAY))
    sim.add(Writer, "A", operations=5)
    sim.add(Checkpointer, "K", operations=4, alone=True)
    sim.add(Cleaner, "C", operations=4, alone=True)
    sim.add(Cleaner, "D", operations=2, alone=True)
    sim.add(Reader, "R", operations=4, travels=0.8, alone=True)
    return sim


@scenario
def damaged(seed: int, cut: Cut) -> Simulation:
    """A checkpoint that cannot be read, where a clean-up looks for its floor."""
    weather = replace(CALM, jumps_rate=0.03, jumps=(MINUTE, 61 * MINUTE, 25 * HOUR), mutations=0.03)
    sim = Simulation(seed, cut, weather, retention=HOUR)
    sim.base(4, checkpoints_at=(1, 3), every=13 * HOUR)
    sim.damage_checkpoint(3)
    sim.pass_time(DAY)
    sim.add(Writer, "A", operations=3)
    sim.add(Checkpointer, "K", operations=1, alone=True)
    sim.add(Cleaner, "C", operations=3, alone=True)
    return sim


@scenario
def drop(seed: int, cut: Cut) -> Simulation:
    """The table is dropped and created again under writers, checkpointers, cleaners and readers of the old one."""
    weather = replace(
        CALM, mutations=0.12, late_answers=0.1, freezes=0.01, naps=(2 * MINUTE, 3 * HOUR, 25 * HOUR), jumps_rate=0.03
    )
    sim = Simulation(seed, cut, weather, retention=30 * HOUR)
    sim.base(3, checkpoints_at=(2,) if seed % 2 else ())
    sim.add(Dropper, "X", operations=1, alone=True)
    sim.add(Writer, "A", operations=5, hold=0.6)
    sim.add(Writer, "B", operations=5, hold=0.6, kinds=("append",))
    sim.add(Checkpointer, "K", operations=3, hold=0.4)
    sim.add(Cleaner, "C", operations=2)
    sim.add(Reader, "R", operations=5)
    return sim


@scenario
def successor(seed: int, cut: Cut) -> Simulation:
    """The same within a minute: what processes remember of the old table is fresh, and late versions come at once."""
    weather = replace(CALM, mutations=0.15, late_answers=0.1)
    sim = Simulation(seed, cut, weather)
    sim.base(3)
    sim.add(Dropper, "X", operations=1, alone=True)
    sim.add(Writer, "A", operations=5, hold=0.3, kinds=("append", "remove", "set"), early=True)
    sim.add(Writer, "B", operations=5, hold=0.3, kinds=("append", "remove"))
    sim.add(Reader, "R", operations=6, travels=0.3)
    return sim


@scenario
def cached(seed: int, cut: Cut) -> Simulation:
    """Processes that remember what they read."""
    weather = replace(CALM, mutations=0.05, jumps_rate=0.01, jumps=(MINUTE,))
    sim = Simulation(seed, cut, weather)
    sim.base(2)
    sim.add(Writer, "A", operations=3)
    sim.add(Writer, "B", operations=3, hold=0.0)
    sim.add(Reader, "R", operations=4)
    return sim


@scenario
def unanswered(seed: int, cut: Cut) -> Simulation:
    """Writers whose store answers so rarely that they cannot learn what became of their commits."""
    weather = replace(CALM, mutations=0.35, reads=0.1, jumps_rate=0.02, jumps=(MINUTE, 12 * MINUTE, 61 * MINUTE))
    sim = Simulation(seed, cut, weather)
    sim.base(1)
    sim.add(Writer, "A", operations=4, kinds=("append",))
    sim.add(Writer, "B", operations=4, kinds=("append", "replace"))
    return sim


@scenario
def aliens(seed: int, cut: Cut) -> Simulation:
    """A table in whose log versions of its predecessor landed late, above its own; it grows, and is cleaned up."""
    weather = replace(CALM, mutations=0.03, jumps_rate=0.06, jumps=(61 * MINUTE, 7 * HOUR, 13 * HOUR))
    sim = Simulation(seed, cut, weather, retention=30 * HOUR)
    sim.base(5)
    sim.replace_table(late=(3, 4, 5) if seed % 3 else (4,))
    sim.quick_commit()
    sim.quick_checkpoint()
    sim.pass_time(pick(seed, "idle", 0, 13 * HOUR, 25 * HOUR))
    sim.add(Writer, "A", operations=6, kinds=("append", "replace"))
    sim.add(Checkpointer, "K", operations=5, alone=True)
    sim.add(Cleaner, "C", operations=5, alone=True)
    sim.add(Reader, "R", operations=3, alone=True)
    return sim


# Avro states: every seed is odd there, which makes them the format.


@scenario
def collected(seed: int, cut: Cut) -> Simulation:
    """Checkpointers at work while manifests are collected."""
    weather = replace(CALM, mutations=0.03, late_answers=0.2, jumps_rate=0.02, jumps=(MINUTE, 61 * MINUTE, 25 * HOUR))
    sim = Simulation(2 * seed + 1, cut, weather, retention=HOUR)
    sim.base(2, checkpoints_at=(1,))
    sim.add(Writer, "A", operations=3)
    sim.add(Checkpointer, "K", operations=4, alone=True)
    sim.add(Checkpointer, "L", operations=3, hold=0.6, alone=True)
    sim.add(Cleaner, "C", operations=4, alone=True)
    return sim


@scenario
def poisoned(seed: int, cut: Cut) -> Simulation:
    """A checkpointer sleeps until its manifests are collected, and then writes the state that names them."""
    seed = 2 * seed + 1
    asleep = ("K", 9 + int(chance(seed, "call") * 6), 4 * DAY)
    weather = replace(CALM, mutations=0.02, sleeper=asleep, jumps_rate=0.05, jumps=(61 * MINUTE, 25 * HOUR))
    sim = Simulation(seed, cut, weather, retention=HOUR)
    sim.base(2, checkpoints_at=(1,))
    sim.add(Checkpointer, "K", operations=1, alone=True)
    sim.add(Cleaner, "C", operations=5, alone=True)
    sim.add(Writer, "A", operations=2, kinds=("append",))
    sim.add(Writer, "B", operations=2, kinds=("append",), hold=0.0, after="K")
    sim.add(Checkpointer, "L", operations=2, compact=0.1, alone=True, after="B")
    return sim


@scenario
def states(seed: int, cut: Cut) -> Simulation:
    """Manifests of several files each, of which most are removed: states with tombstones, compacted in part and as a whole."""
    weather = replace(CALM, mutations=0.05, late_answers=0.1, jumps_rate=0.02, jumps=(61 * MINUTE, 13 * HOUR))
    sim = Simulation(2 * seed + 1, cut, weather, retention=HOUR, **{"state.compaction.tombstoneThreshold": 0.3})
    sim.base(3, checkpoints_at=(1, 2, 3), files=4)
    sim.add(Writer, "A", operations=6, kinds=("remove", "remove", "remove", "append"))
    sim.add(Checkpointer, "K", operations=6, compact=0.1, alone=True)
    sim.add(Cleaner, "C", operations=2, alone=True)
    sim.add(Reader, "R", operations=3, alone=True)
    return sim


@scenario
def forms(seed: int, cut: Cut) -> Simulation:
    """States that name their manifests in each of the three ways, on a table that others go on with and clean up."""
    weather = replace(CALM, mutations=0.03, jumps_rate=0.03, jumps=(61 * MINUTE, 25 * HOUR))
    sim = Simulation(2 * seed + 1, cut, weather, retention=HOUR)
    sim.base(3, checkpoints_at=(1, 2))
    sim.name_manifests(2, FORMS[seed % 3])
    sim.pass_time(pick(seed, "idle", HOUR, 2 * DAY))
    sim.add(Writer, "A", operations=2)
    sim.add(Checkpointer, "K", operations=2, compact=0.1, alone=True)
    sim.add(Cleaner, "C", operations=3, alone=True)
    sim.add(Reader, "R", operations=2, alone=True)
    return sim


@scenario
def rotten(seed: int, cut: Cut) -> Simulation:
    """A state that cannot be read, where manifests are collected."""
    weather = replace(CALM, mutations=0.03, jumps_rate=0.03, jumps=(61 * MINUTE, 25 * HOUR))
    sim = Simulation(2 * seed + 1, cut, weather, retention=HOUR)
    sim.base(5, checkpoints_at=(1, 3, 5), every=13 * HOUR)
    sim.damage_checkpoint(3)
    sim.pass_time(pick(seed, "idle", 2 * HOUR, 2 * DAY))
    sim.add(Writer, "A", operations=2)
    sim.add(Checkpointer, "K", operations=2, alone=True)
    sim.add(Cleaner, "C", operations=3, alone=True)
    return sim


@scenario
def slow(seed: int, cut: Cut) -> Simulation:
    """Readers open a state that is days old, and read its manifests while it is succeeded, compacted and cleaned up."""
    weather = replace(CALM, mutations=0.02, late_answers=0.2, jumps_rate=0.05, jumps=(61 * MINUTE, 3 * HOUR))
    sim = Simulation(2 * seed + 1, cut, weather, retention=HOUR)
    sim.base(2, checkpoints_at=(1, 2))
    sim.pass_time(2 * DAY)
    sim.add(Reader, "R", operations=3, travels=0.0, alone=True)
    sim.add(Reader, "S", operations=3, travels=0.0, alone=True)
    sim.add(Writer, "A", operations=4)
    sim.add(Checkpointer, "K", operations=4, compact=0.6, alone=True)
    sim.add(Cleaner, "C", operations=4, alone=True)
    return sim


# purge: a writer stands still for less than half the safety age between its last look at its uploads and its commit's landing


PURGING = replace(CALM, network=8 * HOUR, naps=(2 * MINUTE, 11 * MINUTE, 2 * HOUR))


@scenario
def purges(seed: int, cut: Cut) -> Simulation:
    """Slow writers, lost answers, checkpoints of both formats, clean-ups, a dropped time travel, and two who purge."""
    weather = replace(
        PURGING,
        mutations=0.08,
        deletes=0.15,
        reads=0.005,
        deaths=0.003,
        freezes=0.01,
        late_answers=0.1,
        jumps_rate=0.06,
        jumps=(MINUTE, 31 * MINUTE, 61 * MINUTE, 13 * HOUR, 25 * HOUR),
    )
    retention = pick(seed, "retention", HOUR, 30 * HOUR, 3 * DAY)
    parts = 2 if chance(seed, "parts") < 0.4 else None
    sim = Simulation(seed, cut, weather, retention=retention, **{"checkpoint.multipart.maxActionsPerPart": parts})
    sim.base(
        3, checkpoints_at=(2,) if chance(seed, "checkpointed") < 0.5 else (), every=pick(seed, "every", HOUR, 13 * HOUR)
    )
    sim.pass_time(pick(seed, "idle", 0, DAY, 4 * DAY))
    sim.add(Writer, "A", operations=6, dawdle=0.4)
    sim.add(Writer, "B", operations=6, kinds=("append", "overwrite", "replace", "merge"), dawdle=0.4)
    other = "json" if seed % 2 else "avro"
    sim.add(Checkpointer, "K", operations=4, alone=True)
    sim.add(Checkpointer, "L", operations=2, alone=True, state_format=other if chance(seed, "mixed") < 0.5 else None)
    sim.add(Cleaner, "C", operations=3, alone=True)
    sim.add(Purger, "P", operations=5, alone=True)
    sim.add(Purger, "Q", operations=3, alone=True)
    sim.add(Reader, "R", operations=4, alone=True)
    if chance(seed, "truncator") < 0.3:
        sim.add(Truncator, "T", operations=1)
    if chance(seed, "dropper") < 0.1:
        sim.add(Dropper, "X", operations=1)
    return sim


@scenario
def in_parts(seed: int, cut: Cut) -> Simulation:
    """A table whose files only a JSON checkpoint in parts names, cleaned up and purged."""
    weather = replace(PURGING, mutations=0.03, jumps_rate=0.05, jumps=(61 * MINUTE, 13 * HOUR, 25 * HOUR))
    options = {"checkpoint.multipart.maxActionsPerPart": 1 + seed % 2}
    sim = Simulation(2 * seed, cut, weather, retention=HOUR, **options)
    sim.base(4, checkpoints_at=(4,), files=2)
    sim.pass_time(2 * DAY)
    sim.add(Writer, "A", operations=3)
    sim.add(Checkpointer, "K", operations=2, alone=True)
    sim.add(Purger, "P", operations=4, alone=True)
    sim.add(Reader, "R", operations=2, alone=True)
    return sim


@scenario
def overwritten(seed: int, cut: Cut) -> Simulation:
    """Readers open a version that is overwritten, summed up, cleaned up and purged while they read."""
    weather = replace(
        PURGING, mutations=0.02, late_answers=0.1, jumps_rate=0.08, jumps=(31 * MINUTE, 61 * MINUTE, 3 * HOUR)
    )
    sim = Simulation(seed, cut, weather, retention=HOUR)
    sim.base(3, every=HOUR)
    sim.pass_time(2 * DAY)
    sim.add(Reader, "R", operations=3, travels=0.0, alone=True)
    sim.add(Writer, "A", operations=4, kinds=("overwrite", "replace", "remove", "append"))
    sim.add(Checkpointer, "K", operations=4, compact=0.7, alone=True)
    sim.add(Purger, "P", operations=6, alone=True)
    return sim


@scenario
def sleepy_purge(seed: int, cut: Cut) -> Simulation:
    """A purge sleeps in the middle of what it does, for hours or days; all others are quick, and write both formats."""
    call = 3 + int(chance(seed, "call") * 45)
    asleep = ("P", call, pick(seed, "nap", 3 * HOUR, 2 * DAY, 4 * DAY))
    weather = replace(PURGING, sleeper=asleep, jumps_rate=0.1, jumps=(61 * MINUTE, 25 * HOUR))
    sim = Simulation(seed, cut, weather, retention=HOUR)
    sim.base(3, checkpoints_at=(2,), every=HOUR)
    sim.pass_time(2 * DAY)
    sim.add(Purger, "P", operations=2, alone=True)
    sim.add(Writer, "A", operations=5, kinds=("append", "append", "replace"))
    sim.add(Checkpointer, "K", operations=4, hold=0.0, alone=True)
    sim.add(Checkpointer, "L", operations=3, hold=0.0, alone=True, state_format="json" if seed % 2 else "avro")
    sim.add(Cleaner, "C", operations=6, alone=True)
    return sim


@scenario
def vanishing(seed: int, cut: Cut) -> Simulation:
    """A purge stands still for hours while it reads the log, and versions that it has listed are cleaned up."""
    call = 30 + int(chance(seed, "call") * 15)
    weather = replace(PURGING, sleeper=("P", call, 5 * HOUR), jumps_rate=0.25, jumps=(31 * MINUTE, 61 * MINUTE))
    sim = Simulation(seed, cut, weather, retention=HOUR)
    sim.base(4, checkpoints_at=(1,), every=HOUR)
    sim.pass_time(2 * DAY)
    sim.add(SlowPurger, "P", operations=1, alone=True)
    sim.add(Writer, "A", operations=3, kinds=("append",))
    sim.add(Checkpointer, "K", operations=2, hold=0.0, alone=True, after="A")
    sim.add(Cleaner, "C", operations=8, alone=True, after="A")
    return sim


# rows: the verbs of a table, with their uploads


@scenario
def rows(seed: int, cut: Cut) -> Simulation:
    """Rows are appended and replaced, and their splits merged, by processes that die, sleep and lose answers."""
    weather = replace(
        CALM,
        mutations=0.15,
        deletes=0.2,
        reads=0.02,
        deaths=0.004,
        freezes=0.006,
        naps=(2 * MINUTE, 11 * MINUTE, 13 * HOUR, 25 * HOUR),
        late_answers=0.2,
        jumps_rate=0.02,
        jumps=(MINUTE, 12 * MINUTE, 61 * MINUTE),
    )
    sim = RowsSimulation(seed, cut, weather, **{"checkpoint.interval": 6, "indexWriter.threads": 1 + seed % 2})
    sim.stage(1)
    sim.add(RowWriter, "A", operations=4)
    sim.add(RowWriter, "B", operations=4)
    sim.add(RowWriter, "M", operations=2, kinds=("merge",))
    sim.add(Reader, "R", operations=2)
    return sim


@scenario
def aged(seed: int, cut: Cut) -> Simulation:
    """Rows are written and merged by processes that sleep for days, while the log is summed up and cleaned up."""
    weather = replace(
        CALM,
        mutations=0.05,
        deletes=0.1,
        freezes=0.02,
        naps=(11 * MINUTE, 13 * HOUR, 25 * HOUR, 4 * DAY),
        late_answers=0.1,
        jumps_rate=0.05,
        jumps=(MINUTE, 61 * MINUTE, 13 * HOUR, 25 * HOUR),
    )
    sim = RowsSimulation(seed, cut, weather, retention=HOUR, **{"checkpoint.interval": 2})
    sim.stage(2, damaged=chance(seed, "damaged") < 0.3)
    sim.add(RowWriter, "A", operations=4, hold=0.8)
    sim.add(RowWriter, "M", operations=3, kinds=("merge", "merge", "append"), hold=0.8)
    sim.add(Cleaner, "C", operations=4, alone=True)
    sim.add(Reader, "R", operations=2, alone=True)
    return sim


@scenario
def replaced(seed: int, cut: Cut) -> Simulation:
    """The table is dropped and created again under processes that write and merge rows."""
    weather = replace(CALM, mutations=0.1, deletes=0.1, reads=0.02, late_answers=0.1)
    sim = RowsSimulation(seed, cut, weather)
    sim.stage(2, damaged=chance(seed, "damaged") < 0.5)
    sim.add(Dropper, "X", operations=1, alone=True)
    sim.add(RowWriter, "A", operations=4)
    sim.add(RowWriter, "M", operations=3, kinds=("merge", "append"))
    return sim


@scenario
def silent(seed: int, cut: Cut) -> Simulation:
    """Rows are written to a store that answers so rarely that nobody can learn what became of a commit, or of a delete."""
    weather = replace(CALM, mutations=0.5, deletes=0.6, reads=0.25, late_answers=0.1)
    sim = RowsSimulation(seed, cut, weather)
    sim.stage(1)
    sim.add(RowWriter, "A", operations=4, kinds=("append", "append", "overwrite"))
    sim.add(RowWriter, "B", operations=4, kinds=("append", "replace", "merge"))
    return sim


@scenario
def merges(seed: int, cut: Cut) -> Simulation:
    """Two processes merge the same splits, of which one may be damaged, while others replace them."""
    weather = replace(CALM, mutations=0.12, deletes=0.2, reads=0.03, deaths=0.003, late_answers=0.1)
    sim = RowsSimulation(seed, cut, weather, **{"checkpoint.interval": 6, "indexWriter.threads": 1 + seed % 2})
    sim.stage(4, damaged=chance(seed, "damaged") < 0.5)
    sim.add(RowWriter, "M", operations=2, kinds=("merge",))
    sim.add(RowWriter, "N", operations=2, kinds=("merge",))
    sim.add(RowWriter, "A", operations=3, kinds=("append", "append", "overwrite", "replace"))
    return sim


@scenario
def restores(seed: int, cut: Cut) -> Simulation:
    """Versions are restored while others write, merge, sum up, clean up and truncate."""
    weather = replace(
        CALM,
        mutations=0.1,
        reads=0.02,
        deaths=0.003,
        freezes=0.01,
        naps=(11 * MINUTE, 13 * HOUR, 25 * HOUR),
        late_answers=0.1,
        jumps_rate=0.03,
        jumps=(MINUTE, 61 * MINUTE, 13 * HOUR),
    )
    sim = Simulation(seed, cut, weather, retention=pick(seed, "retention", HOUR, 3 * DAY))
    sim.base(4, checkpoints_at=(2,))
    sim.add(Restorer, "Z", operations=5)
    sim.add(Restorer, "Y", operations=3)
    sim.add(Writer, "A", operations=4, kinds=("append", "overwrite", "replace", "merge", "remove"))
    sim.add(TimeTruncator, "T", operations=2)
    sim.add(Checkpointer, "K", operations=2)
    sim.add(Cleaner, "C", operations=3)
    sim.add(Reader, "R", operations=2)
    return sim


@scenario
def restored_and_purged(seed: int, cut: Cut) -> Simulation:
    """Old versions are restored while others clean them up and purge what they named."""
    weather = replace(
        PURGING,
        mutations=0.06,
        reads=0.01,
        deaths=0.003,
        freezes=0.01,
        late_answers=0.1,
        jumps_rate=0.08,
        jumps=(MINUTE, 31 * MINUTE, 61 * MINUTE, 13 * HOUR),
    )
    sim = Simulation(seed, cut, weather, retention=pick(seed, "retention", HOUR, 30 * HOUR, 3 * DAY))
    sim.base(4, checkpoints_at=(2,), every=pick(seed, "every", HOUR, 13 * HOUR))
    sim.pass_time(pick(seed, "idle", 0, DAY, 4 * DAY))
    sim.add(Restorer, "Z", operations=5)
    sim.add(Restorer, "Y", operations=3)
    sim.add(Writer, "A", operations=5, kinds=("append", "overwrite", "replace", "merge", "remove"), dawdle=0.3)
    sim.add(Checkpointer, "K", operations=3, alone=True)
    sim.add(Cleaner, "C", operations=3, alone=True)
    sim.add(Purger, "P", operations=5, alone=True)
    sim.add(Purger, "Q", operations=3, alone=True)
    if chance(seed, "truncator") < 0.3:
        sim.add(TimeTruncator, "T", operations=1)
    return sim
