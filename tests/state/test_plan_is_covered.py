"""Every name of the test plan has a test, or a reason why it has none; and every such test has a mutant that it fails on."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from state.mutants import MUTANTS
from state.plan import EXCEPTIONS, MODULES, PLAN, function_name

HERE = Path(__file__).parent


def functions(module: str) -> set[str]:
    tree = ast.parse((HERE / module).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("section", sorted(PLAN))
def test_every_name_has_a_test_or_a_reason(section: int) -> None:
    there = functions(MODULES[section])
    for name in PLAN[section]:
        assert (function_name(name) in there) != (name in EXCEPTIONS), name


@pytest.mark.parametrize("section", sorted(PLAN))
def test_every_test_of_the_plan_is_killed_by_a_mutant(section: int) -> None:
    killed = {test for mutant in MUTANTS for test in mutant.kills}
    for name in PLAN[section]:
        if name not in EXCEPTIONS:
            assert f"{MODULES[section]}::{function_name(name)}" in killed, name


def test_the_plan_is_whole() -> None:
    assert {section: len(names) for section, names in PLAN.items()} == {
        1: 16,
        2: 14,
        3: 10,
        4: 8,
        5: 14,
        6: 16,
        7: 12,
        8: 8,
        9: 6,
        11: 8,
        13: 7,
    }
    assert set(EXCEPTIONS) <= {name for names in PLAN.values() for name in names}
    assert all(len(reason) > 20 for reason in EXCEPTIONS.values())


def test_names() -> None:
    assert function_name("testReadEmptyManifest") == "test_read_empty_manifest"
    assert function_name("testCompactionPerformance70K") == "test_compaction_performance_70k"
    assert function_name("testUpgradeFromV2ToV4") == "test_upgrade_from_v2_to_v4"
