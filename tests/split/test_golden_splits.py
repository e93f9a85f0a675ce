"""Splits of every format that was ever released are read, rows and index."""

from __future__ import annotations

from pathlib import Path

import pytest

from indextables.core.predicate import parse_predicate
from indextables.split.bundle.bundle_reader import read_footer, verify_bundle
from indextables.split.cache.index_cache import IndexCache
from indextables.split.plan.costs import COSTS
from indextables.split.reader import SplitReader
from indextables.storage.local import LocalStore
from split.bundle_support import exact
from split.golden_support import FOLDER, GOLDEN, SCHEMA, rows
from split.reader_support import EVERY_INDEX, brute_force, costs_of, reader

PREDICATES = [
    "id = 7",
    "id >= 55",
    "flag",
    "double = 0.0",
    "double > 1e300",
    "name = '日本語'",
    "name LIKE 'na%'",
    "name IS NULL",
    "at < TIMESTAMP '1970-01-01 00:00:00Z'",
    "day IN (DATE '2024-02-29', DATE '2024-03-01')",
    "price BETWEEN 1 AND 5",
    "small < 0 OR name = ''",
]


@pytest.fixture(params=GOLDEN)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, SplitReader]:
    return request.param, reader(FOLDER, request.param, None, SCHEMA, IndexCache(tmp_path / "cache", 1 << 30))


def test_every_checksum_fits(golden: tuple[str, SplitReader]) -> None:
    store = LocalStore(FOLDER)
    verify_bundle(store, golden[0], read_footer(store, golden[0]))


def test_rows(golden: tuple[str, SplitReader]) -> None:
    name, split = golden
    wanted = rows(*GOLDEN[name])
    batches = list(split.scan(SCHEMA.names))
    assert all(batch.schema == SCHEMA for batch in batches)
    for column in SCHEMA.names:
        assert [value for batch in batches for value in exact(batch.column(column))] == exact(wanted.column(column))


@pytest.mark.parametrize("where", PREDICATES)
@pytest.mark.parametrize("indexed", [True, False])
def test_predicates(golden: tuple[str, SplitReader], where: str, indexed: bool) -> None:
    """Also by the index, which such small splits are normally not asked for."""
    name, split = golden
    predicate = parse_predicate(where, SCHEMA)
    wanted = brute_force(rows(*GOLDEN[name]), predicate).column("id").to_pylist()
    with costs_of(EVERY_INDEX if indexed else COSTS):
        assert [n for batch in split.scan(["id"], predicate) for n in batch.column("id").to_pylist()] == wanted
        assert split.count(predicate) == len(wanted)
