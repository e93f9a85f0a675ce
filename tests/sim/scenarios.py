"""The scenarios: `general` draws everything; the others are small and made for one kind of trouble each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sim.actors import Checkpointer, Cleaner, Creator, Dropper, Exactly, Reader, Truncator, Writer
from sim.simulation import Quota, Simulation
from sim.weather import CALM, Cut, Weather
from sim.world import DAY, HOUR, MINUTE, chance

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
        seed, cut, weather, retention=retention, quota=GENERAL_QUOTA, **{"checkpoint.multipart.maxActionsPerPart": parts}
    )
    versions = int(pick(seed, "versions", 2, 3, 5))
    checkpointed = tuple(n for n in range(1, versions + 1) if chance(seed, "checkpointed", n) < 0.4)
    sim.base(versions, checkpoints_at=checkpointed, every=pick(seed, "every", 30 * MINUTE, 7 * HOUR))
    sim.add(Writer, "A")
    sim.add(Writer, "B", dawdle=0.1)
    sim.add(Exactly, "E")
    sim.add(Checkpointer, "K", operations=10)
    sim.add(Cleaner, "C", operations=8)
    sim.add(Reader, "R", operations=12)
    if chance(seed, "second cleaner") < 0.3:
        sim.add(Cleaner, "D", operations=5)
    if chance(seed, "second checkpointer") < 0.3:
        sim.add(Checkpointer, "L", operations=5)
    if chance(seed, "stale reader") < 0.5:
        sim.add(Reader, "S", operations=8, stale=pick(seed, "staleness", 0, 300))
    if chance(seed, "dropper") < 0.25:
        sim.add(Dropper, "X", operations=1)
    elif chance(seed, "creator") < 0.2:
        sim.add(Creator, "N", operations=3)
    if chance(seed, "truncator") < 0.2:
        sim.add(Truncator, "T", operations=1)
    return sim
