"""Running a schedule, and many."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable

from sim.cheap import cheap_splits
from sim.scenarios import SCENARIOS
from sim.simulation import Outcome, Simulation
from sim.speed import decoded_once
from sim.weather import Cut
from sim.world import Violation


def run(scenario: str, seed: int, cut: Cut | None = None, planted: str | None = None) -> Outcome:
    """One schedule of a scenario, with one planted bug or with the code as it is."""
    cut = cut or Cut()
    with contextlib.ExitStack() as stack:
        stack.enter_context(decoded_once())
        stack.enter_context(cheap_splits())
        if planted is not None:
            from sim.planted import plant

            stack.enter_context(plant(planted))
        sim = SCENARIOS[scenario](seed, cut)
        violation: Violation | None = None
        try:
            sim.run()
        except Violation as found:
            violation = found
        return _outcome(scenario, seed, cut, sim, violation)


def _outcome(scenario: str, seed: int, cut: Cut, sim: Simulation, violation: Violation | None) -> Outcome:
    totals = sim.totals()
    totals["violations"] = int(violation is not None)
    return Outcome(
        scenario=scenario,
        seed=seed,
        cut=cut,
        counts=totals,
        trace=sim.scheduler.trace,
        fired=sim.scheduler.faults.fired,
        actors=tuple(actor.name for actor in sim.actors),
        violation=violation,
    )


def run_many(scenario: str, seeds: Iterable[int], planted: str | None = None) -> tuple[Counter[str], Outcome | None]:
    """Schedules until one breaks a rule: the totals, and that one."""
    totals: Counter[str] = Counter()
    for seed in seeds:
        outcome = run(scenario, seed, planted=planted)
        totals += outcome.counts
        if outcome.violation is not None:
            return totals, outcome
    return totals, None
