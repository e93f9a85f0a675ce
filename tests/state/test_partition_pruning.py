"""§6 of the plan: manifests that cannot hold what is asked for are not read, and no others are left out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from indextables.core.predicate import parse_predicate
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.log.snapshot_files import read_files
from indextables.log.state.partition_bounds import partition_bounds
from indextables.storage.testing.counting import Counting
from log.support import PROTOCOL, MemoryStore, make_log, put_version
from state.support import (
    add,
    committed,
    entry,
    files_of,
    foreign_metadata,
    grown,
    many_files,
    put_foreign_state,
    state_of,
    stated,
    stored_entries,
    stored_state,
    table,
)

SCHEMA = pa.schema(
    [("day", pa.date32()), ("region", pa.string()), ("level", pa.int32()), ("at", pa.timestamp("us", "UTC"))]
)


def bounds(column: str, *values: str | None) -> tuple[str | None, str | None]:
    files = files_of([entry(n, partitionValues={column: v} if v is not None else {}) for n, v in enumerate(values)])
    found = partition_bounds(files, SCHEMA, [column])
    assert found is not None
    return found[column]


def asked(store: MemoryStore, where: str) -> tuple[list[str], int]:
    """The files that may match, and how many manifests were read for that."""
    counting = Counting(store)
    log = make_log(counting, {"transaction.cache.enabled": False})
    snapshot = open_log(log)
    counting.reset()
    _, files = read_files(LogAtVersion(log, snapshot), parse_predicate(where, snapshot.schema))
    assert set(counting.counts) <= {"get"}
    assert all("/manifests/" in key for key in counting.keys)
    return sorted(files["path"].to_pylist()), counting.counts["get"]


def days(count: int, *more: str) -> MemoryStore:
    """A table with one manifest a day, `d1` for the first of January, and so on."""
    store = MemoryStore()
    log = make_log(store)
    snapshot = table(log, "day", *more)
    for number in range(1, count + 1):
        values = {name: {"region": "eu" if number % 2 else "us", "level": str(number)}[name] for name in more}
        snapshot = committed(log, snapshot, [add(f"d{number}", day=f"2024-01-{number:02d}", **values)])
        snapshot = stated(log, snapshot)
    assert len(state_of(snapshot).manifests) == count
    return store


def test_partition_bounds_computation() -> None:
    assert bounds("level", "10", "9", "100", "-1") == ("-1", "100"), "as numbers, not as texts"
    assert bounds("day", "2024-02-01", "2023-12-31", "2024-01-01") == ("2023-12-31", "2024-02-01")
    assert bounds("region", "us-west", "eu", "us-east") == ("eu", "us-west")
    assert bounds("region", "\uffff", "😀") == ("\uffff", "😀"), (
        "by code point: UTF-16 would have it the other way round"
    )
    assert bounds("region", "10", "9", "1a") == ("10", "9"), "texts, though they look like numbers"
    assert bounds("at", "2024-01-01T00:00:00.500Z", "2024-01-01T00:00:00Z") == (
        "2024-01-01T00:00:00Z",
        "2024-01-01T00:00:00.500Z",
    )
    assert bounds("level", "7") == ("7", "7")


def test_partition_bounds_with_nulls() -> None:
    """A manifest with a null, or with a value that is not of the type, has no bounds, so nothing prunes it."""
    assert bounds("region", "a", None) == (None, None)
    assert bounds("region", None) == (None, None)
    assert bounds("level", "1", "one") == (None, None)
    assert bounds("level", "1", "") == (None, None)
    assert bounds("region", "a", "") == ("", "a")
    store = MemoryStore()
    log = make_log(store)
    snapshot = stated(log, committed(log, table(log, "region"), [add("a", region="eu"), add("b")]))
    snapshot = stated(log, committed(log, snapshot, [add("c", region="us")]))
    assert [item["partitionBounds"] for item in stored_state(store, 2)["manifests"]] == [
        {"region": {"min": None, "max": None}},
        {"region": {"min": "us", "max": "us"}},
    ]
    assert asked(store, "region IS NULL") == (["b"], 2), "bounds do not tell whether there are nulls"
    assert asked(store, "region = 'eu'") == (["a"], 1)
    assert asked(store, "region = 'us'") == (["c"], 2)


def test_partition_bounds_multiple_columns() -> None:
    files = files_of(
        [
            entry(1, partitionValues={"day": "2024-01-02", "region": "eu", "level": "10"}),
            entry(2, partitionValues={"day": "2024-01-01", "region": "us", "level": "9"}),
        ]
    )
    assert partition_bounds(files, SCHEMA, ["day", "region", "level"]) == {
        "day": ("2024-01-01", "2024-01-02"),
        "region": ("eu", "us"),
        "level": ("9", "10"),
    }
    assert partition_bounds(files, SCHEMA, []) is None


def test_prune_by_equality_filter() -> None:
    store = days(5)
    assert asked(store, "day = DATE '2024-01-03'") == (["d3"], 1)
    assert asked(store, "day = DATE '2024-02-03'") == ([], 0)
    assert asked(store, "day <=> DATE '2024-01-05'") == (["d5"], 1)


def test_prune_by_range_filter() -> None:
    store = days(5)
    assert asked(store, "day > DATE '2024-01-03'") == (["d4", "d5"], 2)
    assert asked(store, "day >= DATE '2024-01-03'") == (["d3", "d4", "d5"], 3)
    assert asked(store, "day < DATE '2024-01-03'") == (["d1", "d2"], 2)
    assert asked(store, "day <= DATE '2024-01-01'") == (["d1"], 1)
    assert asked(store, "day BETWEEN DATE '2024-01-02' AND DATE '2024-01-04'") == (["d2", "d3", "d4"], 3)


def test_prune_by_in_filter() -> None:
    store = days(5)
    assert asked(store, "day IN (DATE '2024-01-02', DATE '2024-01-04', DATE '2025-01-01')") == (["d2", "d4"], 2)
    assert asked(store, "day IN (DATE '2025-01-02')") == ([], 0)


def test_prune_by_and_filter() -> None:
    store = days(6, "region")
    assert asked(store, "day > DATE '2024-01-02' AND region = 'eu'") == (["d3", "d5"], 2)
    assert asked(store, "day > DATE '2024-01-02' AND day < DATE '2024-01-04' AND region = 'us'") == ([], 0)
    assert asked(store, "day = DATE '2024-01-02' AND message = 'x'") == (["d2"], 1)


def test_prune_by_or_filter() -> None:
    store = days(6, "region")
    assert asked(store, "day = DATE '2024-01-01' OR day = DATE '2024-01-06'") == (["d1", "d6"], 2)
    assert asked(store, "day = DATE '2024-01-02' OR region = 'eu'") == (["d1", "d2", "d3", "d5"], 4)
    assert asked(store, "day = DATE '2024-01-02' OR message = 'x'")[1] == 6, "one side is about something else"
    assert asked(store, "NOT (day = DATE '2024-01-02' OR region = 'eu')") == (["d4", "d6"], 2)


def _foreign(manifests: dict[str, list[dict[str, Any]]], item_bounds: dict[str, Any], column: str) -> MemoryStore:
    """A table of the original implementation, partitioned by one column."""
    store = MemoryStore()
    metadata = foreign_metadata(column)
    put_version(store, 0, PROTOCOL, metadata)
    put_foreign_state(store, 1, manifests, bounds=item_bounds, metadata=metadata)
    return store


def test_no_pruning_without_bounds() -> None:
    manifests = {
        "manifests/a.avro": [entry(1, path="a", partitionValues={"day": "2024-01-01"})],
        "manifests/b.avro": [entry(2, path="b", partitionValues={"day": "2024-01-02"})],
    }
    store = _foreign(manifests, {}, "day")
    assert asked(store, "day = DATE '2024-01-02'") == (["b"], 2)
    empty = {path: {"day": {"min": None, "max": None}} for path in manifests}
    assert asked(_foreign(manifests, empty, "day"), "day = DATE '2024-01-02'") == (["b"], 2)
    assert asked(_foreign(manifests, {path: {} for path in manifests}, "day"), "day = DATE '2024-01-02'") == (["b"], 2)


def test_no_pruning_for_unknown_column() -> None:
    """A column that is not a partition column, and bounds of a column that the table does not have."""
    store = days(3)
    assert asked(store, "message = 'x'") == (["d1", "d2", "d3"], 3)
    assert asked(store, "id > 5") == (["d1", "d2", "d3"], 3)
    manifests = {"manifests/a.avro": [entry(1, path="a", partitionValues={"day": "2024-01-01"})]}
    strange = {"manifests/a.avro": {"gone": {"min": "1", "max": "2"}}}
    assert asked(_foreign(manifests, strange, "day"), "day = DATE '2024-01-01'") == (["a"], 1)


def test_partition_pruning_effectiveness() -> None:
    """One day of a hundred, of 5,000 files in 100 manifests: one manifest is read."""
    store = MemoryStore()
    log = make_log(store, {"state.entriesPerManifest": 50})
    stated(log, grown(log, many_files(5000, days=100), "day"))
    assert len(stored_state(store, 1)["manifests"]) == 100
    found, read = asked(store, "day = DATE '2024-02-15'")
    assert (len(found), read) == (50, 1)
    found, read = asked(store, "day BETWEEN DATE '2024-02-15' AND DATE '2024-02-24'")
    assert (len(found), read) == (500, 10)
    found, read = asked(store, "id >= 0")
    assert read == 100


def test_partition_locality_sorting() -> None:
    """What came in any order lies side by side after compaction, and one partition is in one manifest."""
    store = MemoryStore()
    log = make_log(store, {"state.entriesPerManifest": 4})
    snapshot = table(log, "region", "level")
    for number in range(12):
        values = {"region": "eu" if number % 2 else "us", "level": str([10, 9, 100][number % 3])}
        snapshot = committed(log, snapshot, [add(f"f{number}", **values)])
    stated(log, snapshot)
    seen = [
        (item["partitionValues"]["region"], int(item["partitionValues"]["level"]))
        for entries in stored_entries(store, 12)
        for item in entries
    ]
    assert seen == sorted(seen)
    assert asked(store, "region = 'eu' AND level = 100")[1] == 1
    assert asked(store, "region = 'us'")[1] == 2


def test_incremental_write_partition_bounds() -> None:
    store = MemoryStore()
    log = make_log(store)
    snapshot = stated(log, committed(log, table(log, "level"), [add("a", level="3"), add("b", level="12")]))
    snapshot = committed(log, snapshot, [add("c", level="7")])
    snapshot = stated(log, committed(log, snapshot, [add("d", level="100")]))
    assert [item["partitionBounds"] for item in stored_state(store, 3)["manifests"]] == [
        {"level": {"min": "3", "max": "12"}},
        {"level": {"min": "7", "max": "100"}},
    ]
    assert asked(store, "level = 12") == (["b"], 2)
    assert asked(store, "level = 13") == ([], 1)
    assert asked(store, "level = 5") == ([], 1)


@pytest.mark.parametrize("with_bounds", ["manifests/a.avro", "manifests/b.avro"])
def test_mixed_bounds_and_no_bounds(with_bounds: str) -> None:
    manifests = {
        "manifests/a.avro": [entry(1, path="a", partitionValues={"day": "2024-01-01"})],
        "manifests/b.avro": [entry(2, path="b", partitionValues={"day": "2024-01-02"})],
    }
    day = "2024-01-01" if with_bounds.endswith("a.avro") else "2024-01-02"
    store = _foreign(manifests, {with_bounds: {"day": {"min": day, "max": day}}}, "day")
    mine, other = ("a", "b") if with_bounds.endswith("a.avro") else ("b", "a")
    assert asked(store, f"day = DATE '{day}'") == ([mine], 2)
    assert asked(store, f"day <> DATE '{day}'") == ([other], 1)


def test_partition_pruning_with_tombstones() -> None:
    store = MemoryStore()
    log = make_log(store, {"state.compaction.tombstoneThreshold": 0.9})
    snapshot = table(log, "day")
    for number in range(1, 4):
        adds = [add(f"d{number}{letter}", day=f"2024-01-{number:02d}") for letter in "abc"]
        snapshot = stated(log, committed(log, snapshot, adds))
    snapshot = stated(log, committed(log, snapshot, removes=["d2a", "d3a"]))
    assert stored_state(store, 4)["tombstones"] == ["d2a", "d3a"]
    assert asked(store, "day = DATE '2024-01-02'") == (["d2b", "d2c"], 1)
    committed(log, snapshot, [add("late", day="2024-01-02")], ["d2b"])
    counting = make_log(store)
    opened = open_log(counting)
    _, files = read_files(LogAtVersion(counting, opened), parse_predicate("day = DATE '2024-01-02'", opened.schema))
    assert sorted(files["path"].to_pylist()) == ["d2c", "late"], "and so do the versions after the state"
