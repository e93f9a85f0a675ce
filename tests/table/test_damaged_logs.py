"""Random damages to logs: a check names each that anybody could notice, a repair brings every row back, and nothing is deleted."""

from __future__ import annotations

import os
import warnings

import pytest

from effort import EFFORT
from table.fsck_support import findings, repaired, swapped, table_in
from table.log_damage import damaged, history
from table.written_support import rows_of

FEW, ALL = 60, 500
SEEDS = range(FEW if EFFORT == 1 else ALL * EFFORT)


@pytest.mark.parametrize("json", [False, True], ids=["states", "json"])
@pytest.mark.parametrize("block", range(0, len(SEEDS), 10))
def test_damages(block: int, json: bool) -> None:
    run(SEEDS[block : block + 10][json::2], json=json)


@pytest.mark.stress
@pytest.mark.skipif(bool(os.environ.get("EFFORT")), reason="the ordinary test has more of them then")
def test_five_hundred_damages() -> None:
    run(range(FEW, ALL), json=False)
    run(range(ALL, ALL + 100), json=True)


def run(seeds: range, *, json: bool) -> None:
    past = history(json=json)
    for seed in seeds:
        damage = damaged(past, seed)
        where = f"seed {seed}: {'; '.join(damage.done)}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(damage.store, damage.wanted, past.rows, past.newest, where)


def check(store, wanted, rows, newest, where) -> None:  # type: ignore[no-untyped-def]
    before = store.bytes()
    named = {path for _, _, path in findings(store)}
    assert store.bytes() == before, where
    assert [keys for keys in wanted if not keys & named] == [], where
    answer, after = repaired(store)
    ids = rows_of(table_in(after)).column("id").to_pylist()
    assert len(ids) == len(set(ids)), where
    if answer.status == "success":
        assert answer.source_version is not None
        assert set(ids) == rows[answer.source_version], where
    else:
        assert set(ids) == rows[newest], (where, answer.message)
    table_in(after).append(table_in(after).scan(limit=1).read_all())
    assert table_in(swapped(store)).count() == len(ids)
