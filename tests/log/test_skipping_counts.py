"""Files that questions did not have to look at are counted once, by what ruled them out, and all of them add up."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from forked import true_in_child
from indextables.core.predicate import parse_predicate
from indextables.log.pruning.few_files import MOST_FILES
from indextables.log.pruning.file_pruning import prune_files, pruned
from indextables.log.pruning.skipping_counts import SKIPPING, Skipped, SkippingCounts, SkippingTotals
from indextables.log.snapshot import Snapshot
from log.file_tables import files_table
from log.support import MemoryStore, make_log
from state.support import committed, fresh, grown, many_files, stated

SCHEMA = pa.schema([("day", pa.int64()), ("zone", pa.string()), ("id", pa.int64()), ("name", pa.string())])
PARTITIONS = ["day", "zone"]


@pytest.fixture(autouse=True)
def counted() -> Iterator[None]:
    SKIPPING.value.reset()
    yield
    SKIPPING.value.reset()


def a_file(number: int, day: int | None, zone: str | None, low: int, high: int) -> dict[str, Any]:
    values = {name: str(value) for name, value in {"day": day, "zone": zone}.items() if value is not None}
    return {
        "path": f"f{number}",
        "partitionValues": values,
        "minValues": {"id": str(low)},
        "maxValues": {"id": str(high)},
        "numRecords": 10,
    }


def asked(snapshot: Snapshot, where: str) -> tuple[int, Skipped]:
    """How many files a question leaves, and what was counted for it."""
    before = SKIPPING.value.totals()
    kept = snapshot.select_files(parse_predicate(where, snapshot.schema)).num_rows
    now = SKIPPING.value.totals()
    assert now.questions == before.questions + 1
    assert now.kept == before.kept + kept
    gone, was = now.skipped, before.skipped
    return kept, Skipped(
        gone.by_partition - was.by_partition,
        gone.by_bounds - was.by_bounds,
        gone.by_block - was.by_block,
        gone.by_manifest - was.by_manifest,
    )


@pytest.mark.parametrize("copies", [1, 40], ids=["a handful of files", "many files"])
@pytest.mark.parametrize(
    ("where", "kept", "by_partition", "by_bounds"),
    [
        ("day = 1", 2, 2, 0),
        ("day = 9", 0, 4, 0),
        ("id < 10", 1, 0, 3),
        ("day = 1 AND id < 10", 1, 2, 1),
        ("day = 1 OR id < 10", 2, 0, 2),
        ("day >= 1", 4, 0, 0),
        ("zone = 'b' AND day = 1 AND id > 10", 1, 3, 0),
        ("name = 'x'", 4, 0, 0),
    ],
)
def test_what_ruled_a_file_out(copies: int, where: str, kept: int, by_partition: int, by_bounds: int) -> None:
    entries = [(1, "a", 0, 9), (1, "b", 10, 19), (2, "a", 20, 29), (2, "b", 30, 39)]
    files = files_table([a_file(number, *entry) for number in range(copies) for entry in entries])
    found, skipped = pruned(files, parse_predicate(where, SCHEMA), SCHEMA, PARTITIONS)
    assert found.num_rows == kept * copies
    assert skipped == Skipped(by_partition * copies, by_bounds * copies)


LEAVES = st.one_of(
    st.builds("day {} {}".format, st.sampled_from(["=", "<", ">=", "<>"]), st.integers(0, 3)),
    st.builds("zone {} '{}'".format, st.sampled_from(["=", "<", ">"]), st.sampled_from("abc")),
    st.builds("id {} {}".format, st.sampled_from(["=", "<", ">="]), st.integers(0, 40)),
    st.sampled_from(["day IS NULL", "zone IS NOT NULL", "name = 'x'", "id IN (3, 17)", "day IN (1, 2)"]),
)
WHERES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=5,
)
FILES = st.lists(
    st.tuples(st.none() | st.integers(0, 3), st.none() | st.sampled_from("abc"), st.integers(0, 30), st.integers(0, 9)),
    max_size=8,
)


@given(entries=FILES, where=WHERES, copies=st.sampled_from([1, 20]))
@settings(max_examples=examples(400), deadline=None)
def test_the_naive_count_agrees(entries: list[tuple[Any, ...]], where: str, copies: int) -> None:
    files = files_table(
        [a_file(number, day, zone, low, low + width) for number, (day, zone, low, width) in enumerate(entries * copies)]
    )
    predicate = parse_predicate(where, SCHEMA)
    found, skipped = pruned(files, predicate, SCHEMA, PARTITIONS)
    by_partition_alone = prune_files(files.select(["path", "partitionValues"]), predicate, SCHEMA, PARTITIONS)
    naive = Skipped(files.num_rows - by_partition_alone.num_rows, by_partition_alone.num_rows - found.num_rows)
    assert skipped.files == naive.files
    if files.num_rows <= MOST_FILES and any(None in entry[:2] for entry in entries):
        assert skipped.by_partition <= naive.by_partition, "of a handful of files the bounds may be looked at first"
    else:
        assert skipped == naive


class TestStates:
    def test_manifests_that_are_passed_over(self) -> None:
        store = MemoryStore()
        log = make_log(store, {"state.entriesPerManifest": 50})
        stated(log, grown(log, many_files(5000, days=100), "day"))
        snapshot = fresh(store)
        for _ in range(2):  # the second answer comes from memory, and counts the same
            assert asked(snapshot, "day = DATE '2024-02-15'") == (50, Skipped(by_manifest=4950))

    def test_blocks_that_are_passed_over(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        stated(log, grown(log, many_files(30_000, days=300), "day"), compact=True)
        snapshot = fresh(store)
        kept, skipped = asked(snapshot, "day = DATE '2024-02-15'")
        assert kept == 100
        assert skipped.by_manifest == skipped.by_bounds == 0
        assert skipped.by_block > 15_000
        assert skipped.by_block + skipped.by_partition == 29_900

    def test_tombstones_are_no_files(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        snapshot = stated(log, grown(log, many_files(100, days=10), "day"))
        gone = snapshot.files.column("path").to_pylist()[:7]
        stated(log, committed(log, snapshot, removes=gone))
        kept, skipped = asked(fresh(store), "day = DATE '2024-01-01'")
        assert kept + skipped.files == 93

    def test_versions_after_the_state_count_too(self) -> None:
        store = MemoryStore()
        log = make_log(store, {"state.entriesPerManifest": 10})
        snapshot = stated(log, grown(log, many_files(100, days=10), "day"))
        later = many_files(20, days=2, start=100)
        committed(log, snapshot, later.column("path").to_pylist())
        assert asked(fresh(store), "day = DATE '2024-01-01'") == (10, Skipped(by_partition=20, by_manifest=90))

    def test_a_list_that_is_known_is_counted_like_any_list(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        snapshot = stated(log, grown(log, many_files(100, days=10), "day"))
        assert snapshot.files.num_rows == 100
        assert asked(snapshot, "day = DATE '2024-01-01'") == (10, Skipped(by_partition=90))


def test_a_question_without_a_filter_is_not_counted() -> None:
    log = make_log(MemoryStore())
    assert grown(log, many_files(10)).select_files(None).num_rows == 10
    assert SKIPPING.value.totals() == SkippingTotals()


def test_totals() -> None:
    counts = SkippingCounts()
    assert (counts.totals().considered, counts.totals().share) == (0, 0.0)
    counts.add(1, Skipped(1, 2, 3, 4))
    counts.add(9, Skipped())
    totals = counts.totals()
    assert (totals.questions, totals.kept, totals.considered, totals.share) == (2, 10, 20, 0.5)
    assert counts.reset() == totals
    assert counts.totals() == SkippingTotals()


def test_threads_lose_no_question() -> None:
    counts, together = SkippingCounts(), threading.Barrier(8)

    def work(_: int) -> None:
        together.wait()
        for _ in range(500):
            counts.add(2, Skipped(1, 1, 1, 1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert counts.totals() == SkippingTotals(4_000, 8_000, Skipped(4_000, 4_000, 4_000, 4_000))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_counts_its_own() -> None:
    SKIPPING.value.add(1, Skipped(1))
    assert true_in_child(lambda: SKIPPING.value.totals() == SkippingTotals())
