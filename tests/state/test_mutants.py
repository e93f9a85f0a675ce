"""The mutants still fit the sources; and, under stress, each of them is killed."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from pathlib import Path

import pytest

import indextables
from state.mutants import MUTANTS, PACKAGE, Mutant, mutate, run, workshop

HERE = Path(__file__).parent


@functools.cache
def parsed(module: str) -> ast.AST:
    return ast.parse((HERE / module).read_text())


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.id)
def test_the_text_of_each_mutant_occurs_exactly_once(mutant: Mutant) -> None:
    text = (PACKAGE / mutant.file).read_text()
    assert text.count(mutant.old) == 1
    mutated = mutate(mutant, text)
    assert mutated != text
    ast.parse(mutated)


def test_ids_are_unique_and_tests_exist() -> None:
    assert [each for each, count in Counter(mutant.id for mutant in MUTANTS).items() if count > 1] == []
    for mutant in MUTANTS:
        assert mutant.kills
        for test in mutant.kills:
            module, *names = test.split("::")
            tree: ast.AST = parsed(module)
            for name in names:
                found = [n for n in ast.iter_child_nodes(tree) if getattr(n, "name", None) == name]
                assert found, test
                tree = found[0]


@pytest.mark.stress
@pytest.mark.timeout(7200)
def test_every_mutant_is_killed() -> None:
    with workshop() as copy:
        verdicts = [run(mutant, copy) for mutant in MUTANTS]
    survived = {verdict.mutant.id: verdict.passed for verdict in verdicts if not verdict.killed}
    assert survived == {}
    assert Path(indextables.__file__).is_relative_to(PACKAGE), "these tests themselves run against the real sources"
