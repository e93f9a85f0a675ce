"""Random damages to logs: a check names each that anybody could notice, a repair brings every row back, nothing is deleted."""

from __future__ import annotations

import warnings

import pytest

from effort import EFFORT
from table.fsck_support import findings, repaired
from table.log_damage import KINDS, Damage, History, Kind, damaged, history
from table.merge_support import table_in
from table.written_support import rows_of

FEW, ALL = 60, 500
SEEDS = range(FEW if EFFORT == 1 else ALL * EFFORT)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", range(0, len(SEEDS), 20))
def test_damages(block: int, kind: Kind) -> None:
    run(SEEDS[block : block + 20][KINDS.index(kind) :: len(KINDS)], kind)


@pytest.mark.stress
@pytest.mark.parametrize("kind", KINDS)
def test_five_hundred_damages(kind: Kind) -> None:
    run(range(FEW, FEW + ALL), kind)


def run(seeds: range, kind: Kind) -> None:
    past = history(kind)
    for seed in seeds:
        damage = damaged(past, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(past, damage, f"seed {seed} of {kind}: {'; '.join(damage.done)}")


def check(past: History, damage: Damage, where: str) -> None:
    store = damage.store
    before = store.bytes()
    named = {path for _, _, path in findings(store)}
    assert store.bytes() == before, where
    assert [wanted for wanted in damage.wanted if not wanted & named] == [], where
    answer, after = repaired(store)
    ids = rows_of(table_in(after)).column("id").to_pylist()
    assert len(ids) == len(set(ids)), where
    if answer.status == "success":
        assert answer.source_version is not None
        assert set(ids) == past.rows[answer.source_version], where
    else:
        ever = frozenset().union(*past.rows.values())
        assert past.rows[past.newest] <= set(ids) <= ever, (where, answer.message)
    table_in(after).append(table_in(after).scan(limit=1).read_all())
    assert table_in(after).count() == len(ids) + min(len(ids), 1), where
