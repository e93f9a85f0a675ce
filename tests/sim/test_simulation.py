"""Many schedules over the real code: none may break a rule, each has what a schedule must have, each can be replayed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from sim.report import record
from sim.runner import run
from sim.scenarios import GENERAL_QUOTA, SCENARIOS
from sim.shrink import explain, from_text, shrink, to_text
from sim.simulation import Outcome
from sim.weather import Cut

BLOCKS, BLOCK = 10, 30
STRESS_BLOCKS, STRESS_BLOCK = 200, 100


def simulate(scenario: str, seeds: Iterable[int], record_property: Any) -> None:
    totals: Counter[str] = Counter()
    for seed in seeds:
        outcome = run(scenario, seed)
        totals += outcome.counts
        if outcome.violation is not None:
            record(record_property, totals)
            pytest.fail(explain(outcome), pytrace=False)
        if scenario == "general":
            check_contents(outcome)
    record(record_property, totals)


def check_contents(outcome: Outcome) -> None:
    counts, quota = outcome.counts, GENERAL_QUOTA
    assert counts["actors"] >= 4, outcome
    assert counts["commits"] >= quota.commits == 30, outcome
    assert counts["faults"] >= quota.faults == 5, outcome
    assert counts["cleanups"] >= quota.cleanups == 1, outcome
    assert counts["deaths"] >= quota.deaths == 1, outcome


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_schedule_breaks_a_rule(block: int, record_property: Any) -> None:
    simulate("general", range(block * BLOCK, (block + 1) * BLOCK), record_property)


@pytest.mark.stress
@pytest.mark.parametrize("block", range(STRESS_BLOCKS))
def test_no_schedule_breaks_a_rule_at_length(block: int, record_property: Any) -> None:
    first = 1_000_000 + block * STRESS_BLOCK
    simulate("general", range(first, first + STRESS_BLOCK), record_property)


@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name != "general"])
def test_the_real_code_survives_the_scenarios_made_for_bugs(scenario: str, record_property: Any) -> None:
    simulate(scenario, range(3), record_property)


@pytest.mark.stress
@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name != "general"])
def test_the_real_code_survives_the_scenarios_made_for_bugs_at_length(scenario: str, record_property: Any) -> None:
    simulate(scenario, range(300), record_property)


@pytest.mark.parametrize("scenario", ["general", "rows", "merges"])
def test_a_seed_replays_to_the_same_trace(scenario: str) -> None:
    for seed in (3, 4):
        first, second = run(scenario, seed), run(scenario, seed)
        assert len(first.trace) > (200 if scenario == "general" else 50)
        assert first.lines() == second.lines()
        assert first.counts == second.counts


REPLAYED = ("general", 5), ("rows", 5), ("merges", 7)


def digests() -> str:
    """What a process makes of some seeds."""
    traces = ("\n".join(run(scenario, seed).lines()) for scenario, seed in REPLAYED)
    return " ".join(hashlib.sha256(trace.encode()).hexdigest() for trace in traces)


def test_a_seed_replays_in_another_process_whatever_its_hash_seed_is() -> None:
    here = digests()
    code = "from sim.test_simulation import digests; print(digests())"
    tests = Path(__file__).parent.parent
    for hash_seed in ["2"]:
        paths = os.pathsep.join([str(tests), str(tests.parent / "src")])
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": paths}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == here


def test_different_seeds_are_different_schedules() -> None:
    assert len({tuple(run("race", seed).lines()) for seed in range(10)}) == 10


def test_a_violation_is_shrunk_and_replays_from_its_command_line() -> None:
    outcome = next(found for seed in range(300) if (found := run("race", seed, planted="no-read-back")).violation)
    small = shrink(outcome, "no-read-back", runs=120)
    assert outcome.violation is not None
    assert small.violation is not None
    assert small.violation.kind == outcome.violation.kind
    assert len(small.trace) < len(outcome.trace)
    again = run("race", outcome.seed, from_text(to_text(small.cut)), "no-read-back")
    assert again.lines() == small.lines()
    assert str(again.violation) == str(small.violation)
    assert f"replay race {outcome.seed}" in explain(outcome, "no-read-back", runs=5)


def test_cuts_survive_the_command_line() -> None:
    cut = Cut(actors=frozenset("AB"), faults=frozenset({"A#3/late"}), operations=2, jumps=False, salt=7)
    assert from_text(to_text(cut)) == cut
    assert from_text(to_text(Cut())) == Cut()
