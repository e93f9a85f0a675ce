"""Every planted bug is found within 300 schedules of the scenario made for it, and for the right reason."""

from __future__ import annotations

from typing import Any

import pytest

from sim.planted import PLANTED
from sim.report import record
from sim.runner import run_many

SCHEDULES = 300


@pytest.mark.parametrize("name", PLANTED)
def test_planted_bug_is_found(name: str, record_property: Any) -> None:
    bug = PLANTED[name]
    totals, found = run_many(bug.scenario, range(SCHEDULES), planted=name)
    assert found is not None, f"{bug.about} Not found in {SCHEDULES} schedules of {bug.scenario}."
    assert found.violation is not None
    assert found.violation.kind in bug.kinds, f"found at seed {found.seed} as {found.violation}"
    totals["violations"] = 0  # of the real code
    record(record_property, totals)


def test_all_rules_are_broken_once() -> None:
    assert {bug.number for bug in PLANTED.values()} == set(range(1, 47))
    assert all(bug.about for bug in PLANTED.values())
