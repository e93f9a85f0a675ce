"""Compaction leaves manifests alone that it would write again as they are, and nobody can tell from what is live."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import LogWarning
from indextables.log.actions import AddAction
from indextables.log.file_entries import files_table
from indextables.log.snapshot import Snapshot
from indextables.log.state.model import State
from indextables.log.state.write import StateWritten, fragments
from indextables.log.state.writing.delta import Delta
from indextables.log.state.writing.manifest_reuse import reusable_manifests
from log.support import MemoryStore, make_log
from state.support import (
    add,
    committed,
    fresh,
    grown,
    naive_live,
    paths,
    state_of,
    stated,
    stored_state,
    table,
    written,
)

QUICK = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])

MOST = 10
OPTIONS = {"state.entriesPerManifest": MOST, "state.compaction.maxManifests": 1000}
DAYS = 40
NAME = "0123456789abcdef0123456789abcdef"


def day(number: int) -> str:
    return f"2024-{1 + number // 28:02d}-{1 + number % 28:02d}"


def files(per_day: int = 2, **fields: Any) -> list[AddAction]:
    return [add(f"{day(n)}-{k}", day=day(n), size=1 + n, **fields) for n in range(DAYS) for k in range(per_day)]


def started(store: MemoryStore, adds: list[AddAction], *columns: str) -> Snapshot:
    """A table whose newest version is a compacted state of these files."""
    log = make_log(store, OPTIONS)
    return stated(log, committed(log, table(log, *columns), adds), compact=True)


def compacted(store: MemoryStore, adds: list[AddAction], removes: list[str] = ()) -> tuple[State, StateWritten]:  # type: ignore[assignment]
    """The state before and the one after some files were added and removed, by a process that knows nothing."""
    log = make_log(store, OPTIONS)
    snapshot = fresh(store, OPTIONS)
    before = state_of(snapshot)
    done = written(log, committed(log, snapshot, adds, removes), compact=True)
    assert done.kind == "compacted"
    check(store, done.state)
    return before, done


def check(store: MemoryStore, state: State) -> None:
    """Counts are exact, nothing is dead, nothing is there twice, and manifests are sorted and full."""
    live = naive_live(store, state.version)
    assert state.tombstones == frozenset()
    assert state.num_files == len(live) == sum(item.num_entries for item in state.manifests)
    assert state.total_bytes == sum(item["size"] for item in live.values())
    assert all(item.live_entry_count == item.num_entries <= MOST for item in state.manifests)
    assert not any(item.tombstone_count or item.may_repeat for item in state.manifests)
    snapshot = fresh(store, OPTIONS)
    assert paths(snapshot) == sorted(live)
    columns = snapshot.metadata.partition_columns
    if columns:
        bounds = [(item.bounds or {})[columns[0]] for item in state.manifests]
        known = [pair for pair in bounds if None not in pair]
        assert known == bounds[: len(known)], "what has no value comes last"
        assert all(low[1] <= high[0] for low, high in pairwise(known)), bounds


def stayed(before: State, after: State) -> list[int]:
    """Which manifests of a state the other one has too."""
    names = {item.path for item in after.manifests}
    return [number for number, item in enumerate(before.manifests) if item.path in names]


@pytest.mark.parametrize("count", [1, 6])
def test_files_of_one_partition_touch_one_manifest(count: int) -> None:
    """Also where they would be enough for a manifest of their own."""
    store = MemoryStore()
    started(store, files(), "day")
    before, done = compacted(store, [add(f"new{n}", day=day(12)) for n in range(count)])
    lows = [(item.bounds or {})["day"][0] or "" for item in before.manifests]
    touched = max(number for number, low in enumerate(lows) if low <= day(12))
    assert len(before.manifests) == 8
    assert stayed(before, done.state) == [number for number in range(8) if number != touched]
    assert fragments(done.state, make_log(store, OPTIONS).options) == 0


@pytest.mark.parametrize("number", [-1, DAYS])
def test_files_before_the_first_or_behind_the_last_join_a_neighbour(number: int) -> None:
    store = MemoryStore()
    started(store, files(), "day")
    before, done = compacted(store, [add("new", day="2023-12-31" if number < 0 else day(number))])
    assert stayed(before, done.state) == (list(range(1, 8)) if number < 0 else list(range(7)))
    assert fragments(done.state, make_log(store, OPTIONS).options) == 0


def test_enough_new_files_need_no_neighbour() -> None:
    store = MemoryStore()
    started(store, files(), "day")
    before, done = compacted(store, [add(f"new{n}", day=day(DAYS)) for n in range(6)])
    assert stayed(before, done.state) == list(range(8))
    assert done.state.manifests[-1].num_entries == 6


def test_what_is_removed_is_gone_and_the_rest_stays() -> None:
    store = MemoryStore()
    started(store, files(), "day")
    before, done = compacted(store, [], [f"{day(0)}-0", f"{day(39)}-1"])
    assert stayed(before, done.state) == list(range(1, 7))
    assert done.state.num_files == 78


def test_tombstones_of_the_base_take_their_manifests_with_them() -> None:
    store = MemoryStore()
    log = make_log(store, OPTIONS | {"state.compaction.tombstoneThreshold": 0.9})
    stated(log, committed(log, started(store, files(), "day"), [], [f"{day(20)}-0"]))
    assert stored_state(store, 2)["tombstones"] == [f"{day(20)}-0"]
    before, done = compacted(store, [add("new", day=day(1))])
    assert len(stayed(before, done.state)) == 6
    assert f"{day(20)}-0" not in naive_live(store, 3)


@pytest.mark.parametrize("between", [False, True])
def test_a_path_that_is_added_again_is_there_once(between: bool) -> None:
    """In another partition, under a name that nobody would look for; in the same state, or in an incremental one before."""
    store = MemoryStore()
    path = f"{NAME}.split"
    snapshot = started(store, [*files(), add(path, day=day(3), size=7)], "day")
    again = [add(path, day=day(30), size=77)]
    if between:
        log = make_log(store, OPTIONS)
        stated(log, committed(log, fresh(store, OPTIONS), again))
        assert any(item.may_repeat for item in state_of(fresh(store, OPTIONS)).manifests)
        again = []
    before, done = compacted(store, again)
    live = naive_live(store, done.state.version)
    assert live[path]["size"] == 77
    assert len(live) == snapshot.files.num_rows
    assert 0 < len(stayed(before, done.state)) < 8


def test_without_partitions() -> None:
    store = MemoryStore()
    log = make_log(store, OPTIONS)
    stated(log, committed(log, table(log), [f"f{n:02d}" for n in range(75)]), compact=True)
    before, done = compacted(store, [add("new")], ["f00"])
    gone = {number for number, item in enumerate(before.manifests) if item.num_entries < 5}
    assert len(stayed(before, done.state)) == len(before.manifests) - len(gone) - 1


def test_two_partition_columns() -> None:
    store = MemoryStore()
    adds = [add(f"{n}-{k}", day=day(n), region=f"r{k}") for n in range(20) for k in range(5)]
    started(store, adds, "day", "region")
    before, done = compacted(store, [add("new", day=day(7), region="r9")])
    assert len(stayed(before, done.state)) == len(before.manifests) - 1


def test_a_value_of_no_type_and_none_at_all() -> None:
    """Such a file may belong anywhere, and a manifest that has one has no bounds."""
    store = MemoryStore()
    started(store, files(), "day")
    before, done = compacted(store, [add("none"), add("odd", day="soon")])
    assert stayed(before, done.state) == list(range(7))
    before, done = compacted(store, [add("new", day=day(1))])
    assert stayed(before, done.state) == []


def test_other_schemas_are_still_given_one_name() -> None:
    """More schemas than the threshold: all files are looked at, and none stay."""
    store = MemoryStore()
    started(store, files(), "day")
    options = OPTIONS | {"state.schema.renormalizeThreshold": 0}
    log = make_log(store, options)
    snapshot = fresh(store, options)
    before = state_of(snapshot)
    texts = {"a": '[{"name":"x","type":"i64"}]'}
    snapshot = committed(log, replace(snapshot, registry=texts), [add("new", day=day(1), doc_mapping_ref="a")])
    done = written(log, replace(snapshot, registry=texts), compact=True)
    assert stayed(before, done.state) == []


def test_a_manifest_that_was_damaged_is_noticed() -> None:
    """Manifests that stay are looked at: what is damaged is not named again."""
    store = MemoryStore()
    started(store, files(), "day")
    log = make_log(store, OPTIONS)
    snapshot = fresh(store, OPTIONS)
    key = f"_transaction_log/{state_of(snapshot).manifests[-1].path}"
    broken = bytearray(store.objects[key].data)
    broken[-20] ^= 1
    store.put(key, bytes(broken))
    snapshot = committed(log, snapshot, [add("new", day=day(1))])
    with pytest.warns(LogWarning, match="is damaged"):
        done = written(log, snapshot, compact=True)
    assert stayed(state_of(snapshot), done.state) == []
    check(store, done.state)
    assert done.state.num_files == 81


KINDS = st.sampled_from(["day", "region", "level", ""])


@QUICK
@given(data=st.data())
def test_any_history(data: st.DataObject) -> None:
    """Whatever is added, removed and added again between compactions: what is live is, once, and manifests are sorted."""
    store = MemoryStore()
    column = data.draw(KINDS)
    values = {
        "day": [day(n) for n in range(12)],
        "region": ["a", "B", "é", "", "z" * 9],
        "level": ["-3", "7", "10", "100"],
    }
    log = make_log(store, OPTIONS | {"state.entriesPerManifest": 4})
    snapshot = table(log, *([column] if column else []))
    model: dict[str, int] = {}
    for number in range(data.draw(st.integers(2, 5))):
        names = data.draw(st.sets(st.integers(0, 60).map(lambda n: f"{n:032x}"), max_size=15))
        removes = data.draw(st.sets(st.sampled_from(sorted(model)), max_size=4)) - names if model else set()
        adds = []
        for name in sorted(names):
            value = data.draw(st.none() | st.sampled_from(values[column])) if column else None
            adds.append(add(name, size=number + 1, **({} if value is None else {column: value})))
        snapshot = committed(log, fresh(store) if number else snapshot, adds, sorted(removes))
        model = {path: size for path, size in model.items() if path not in removes} | dict.fromkeys(names, number + 1)
        done = written(log, snapshot, compact=data.draw(st.booleans()))
        live = {path: item["size"] for path, item in naive_live(store, done.state.version).items()}
        assert live == model
        assert sorted(fresh(store).files["path"].to_pylist()) == sorted(model)
        if done.kind == "compacted":
            assert done.state.total_bytes == sum(model.values())
            assert done.state.num_files == len(model)


def test_grown_tables_share_what_stays() -> None:
    """A table that was never committed file by file, as a check that the state alone is enough."""
    store = MemoryStore()
    log = make_log(store, OPTIONS)
    adds = files()
    stated(log, grown(log, files_table(adds, [1] * len(adds), [1] * len(adds)), "day"), compact=True)
    before, done = compacted(store, [add("new", day=day(5))])
    assert len(stayed(before, done.state)) == 7


def test_nothing_stays_where_a_partition_column_has_another_type() -> None:
    """Texts and numbers have other bounds: "1000" lies between "1" and "2", and 1000 does not."""
    store = MemoryStore()
    snapshot = started(store, files(), "day")
    state, log = state_of(snapshot), make_log(store, OPTIONS)
    assert reusable_manifests(log, state, Delta(), snapshot.schema, ["day"], MOST) is not None
    texts = pa.schema([pa.field(field.name, pa.string()) for field in snapshot.schema])
    assert reusable_manifests(log, state, Delta(), texts, ["day"], MOST) is None
