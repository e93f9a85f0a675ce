"""§1 of the plan: reading manifests. The files are fastavro's, so that reading is not tested with our own writing."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import fastavro
import pyarrow.compute as pc
import pytest

from indextables.core.errors import CorruptLog
from indextables.core.predicate import parse_predicate
from indextables.core.runtime.threads import Pool
from indextables.log.avro.manifest import read_manifest, write_manifest
from indextables.log.avro.schemas import FILE_ENTRY
from indextables.log.file_entries import FILE_SCHEMA
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.log.snapshot_files import read_files
from indextables.log.state.load_manifest import load_manifest
from indextables.storage.testing.counting import Counting
from log.support import MemoryStore, make_log
from state.support import (
    OPTIONAL,
    SEED_FIELDS,
    add,
    as_entries,
    avro_bytes,
    committed,
    entry,
    fresh,
    full_entry,
    many_files,
    state_of,
    stated,
    table,
)

SMALL_AND_LARGE = pytest.mark.parametrize("count", [1, 7, 1000, 1001])
"""Up to a thousand entries are read by our own reader, more by DataFusion."""


def read(entries: list[dict[str, Any]], codec: str = "zstandard") -> list[dict[str, Any]]:
    found = read_manifest("m.avro", avro_bytes(FILE_ENTRY, entries, codec))
    assert found.schema.equals(FILE_SCHEMA)
    return as_entries(found)


def test_read_empty_manifest() -> None:
    assert read([]) == []


def test_read_single_entry() -> None:
    assert read([entry(5)]) == [entry(5)]


def test_read_multiple_entries() -> None:
    for count in (1000, 1500):
        entries = [entry(number) for number in range(count)]
        assert read(entries) == entries


@SMALL_AND_LARGE
def test_read_all_fields(count: int) -> None:
    entries = [full_entry(number) for number in range(count)]
    assert {name for name, value in entries[0].items() if value is None} == set()
    assert entries[0].keys() >= SEED_FIELDS.keys()
    found = read(entries)
    for ours, theirs in zip(found, entries, strict=True):
        assert ours == theirs


@SMALL_AND_LARGE
def test_read_nullable_fields(count: int) -> None:
    """Every optional field is null where it is null, also where its neighbours are not."""
    entries = [
        full_entry(number, **{name: None for place, name in enumerate(OPTIONAL) if (number >> place % 8) % 2})
        for number in range(count)
    ]
    assert read(entries) == entries
    assert read([entry(number) for number in range(count)])[0] == entry(0)


@SMALL_AND_LARGE
def test_read_with_partition_values(count: int) -> None:
    values = ["2024-01-31", "", "a=b/c", "münchen", "😀\U0010ffff", "__HIVE_DEFAULT_PARTITION__", "\u2028\n\x00"]
    entries = [
        entry(number, partitionValues={"day": values[number % len(values)], "région": values[number % 3]})
        for number in range(count)
    ]
    assert read(entries) == entries


@SMALL_AND_LARGE
def test_read_with_empty_partition_values(count: int) -> None:
    found = read_manifest("m.avro", avro_bytes(FILE_ENTRY, [entry(number) for number in range(count)]))
    assert found["partitionValues"].to_pylist() == [[]] * count
    assert found["partitionValues"].null_count == 0


def test_read_large_manifest() -> None:
    files = many_files(100_000, days=30)
    data = write_manifest(files, codec="zstandard", level=3)
    assert read_manifest("m.avro", data).equals(files)
    some = read_manifest("m.avro", data, ["size", "path"])
    assert some.column_names == ["size", "path"]
    assert some.equals(files.select(["size", "path"]))


def test_read_corrupted_manifest() -> None:
    """A byte that changed is noticed wherever it stands: the state knows the checksum."""
    store = MemoryStore()
    log = make_log(store)
    snapshot = stated(log, committed(log, table(log), [f"f{number}" for number in range(20)]))
    (item,) = state_of(snapshot).manifests
    key = f"_transaction_log/{item.path}"
    whole = store.objects[key].data
    assert load_manifest(log, 1, item, ["path"]).num_rows == 20
    for position in range(0, len(whole), 17):
        store.put(key, whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(CorruptLog, match=item.path):
            load_manifest(log, 1, item, ["path"])


def test_read_truncated_manifest() -> None:
    """Cut off anywhere, also behind a whole block, a manifest is an error, and never a shorter one."""
    store = MemoryStore()
    log = make_log(store)
    snapshot = stated(log, committed(log, table(log), ["f1", "f2", "f3"]))
    (item,) = state_of(snapshot).manifests
    key = f"_transaction_log/{item.path}"
    whole = store.objects[key].data
    for length in range(len(whole)):
        store.put(key, whole[:length])
        with pytest.raises(CorruptLog, match=item.path):
            load_manifest(log, 1, item, ["path"])
    entries = [entry(number) for number in range(2500)]
    blocks = avro_bytes(FILE_ENTRY, entries, "null", sync_interval=50_000)
    ends = [block.offset + block.size for block in fastavro.block_reader(io.BytesIO(blocks))][:-1]
    assert len(ends) == 3
    bare = replace(item, num_entries=2500, length=None, checksum=None)
    store.put(key, blocks)
    assert load_manifest(log, 1, bare, ["path"]).num_rows == 2500
    for end in ends:
        store.put(key, blocks[:end])
        assert read_manifest(key, blocks[:end]).num_rows < 2500, "a shorter file, and whole as far as it can tell"
        with pytest.raises(CorruptLog, match=item.path):
            load_manifest(log, 1, bare, ["path"])


def test_parallel_manifest_read() -> None:
    """Eight manifests are read side by side, and no more at a time than is allowed."""
    store = MemoryStore()
    log = make_log(store, {"state.entriesPerManifest": 2})
    snapshot = stated(log, committed(log, table(log), [f"f{number}" for number in range(16)]))
    assert len(state_of(snapshot).manifests) == 8
    for parallelism, rounds in ((8, 1), (4, 2), (1, 8)):
        slow = Counting(store, latency_seconds=0.25)  # long against the start of a thread, on a busy machine too
        options = {"state.read.parallelism": parallelism, "checkpoint.parallelism": parallelism}
        reader = open_log(make_log(slow, options, workers=Pool()))
        slow.reset()
        assert reader.files.num_rows == 16
        assert slow.counts == {"get": 8}
        assert slow.rounds == rounds


def test_filter_by_added_at_version() -> None:
    """Every file knows the version that added it, through incremental states and through a compacted one."""
    store = MemoryStore()
    log = make_log(store)
    snapshot = table(log)
    for number in range(1, 7):
        snapshot = committed(log, snapshot, [f"f{number}"])
        if number % 2 == 0:
            snapshot = stated(log, snapshot, compact=number == 6)
        found = fresh(store).files
        versions = dict(zip(found["path"].to_pylist(), found["addedAtVersion"].to_pylist(), strict=True))
        assert versions == {f"f{n}": n for n in range(1, number + 1)}
        newer = found.filter(pc.greater(found["addedAtVersion"], number - 2))
        assert sorted(newer["path"].to_pylist()) == [f"f{n}" for n in range(max(number - 1, 1), number + 1)]


def test_filter_by_added_at_timestamp() -> None:
    store = MemoryStore()
    log = make_log(store)
    snapshot = table(log)
    times = {}
    for number in range(1, 7):
        store.clock.advance(10)
        snapshot = committed(log, snapshot, [f"f{number}"])
        times[f"f{number}"] = snapshot.timestamp
        if number % 2 == 0:
            snapshot = stated(log, snapshot, compact=number == 6)
        found = fresh(store).files
        assert dict(zip(found["path"].to_pylist(), found["addedAtTimestamp"].to_pylist(), strict=True)) == times
        newer = found.filter(pc.greater(found["addedAtTimestamp"], times["f1"]))
        assert newer.num_rows == number - 1
    assert len(set(times.values())) == 6


def test_filter_by_partition() -> None:
    """A question about one partition reads the one manifest that has it."""
    store = MemoryStore()
    log = make_log(store)
    snapshot = stated(log, committed(log, table(log, "day"), [add("a", day="2024-01-01")]))
    snapshot = stated(log, committed(log, snapshot, [add("b", day="2024-01-02")]))
    names = [item.path for item in state_of(snapshot).manifests]
    counting = Counting(store)
    reader = make_log(counting)
    opened = open_log(reader)
    counting.reset()
    _, found = read_files(LogAtVersion(reader, opened), parse_predicate("day = DATE '2024-01-02'", opened.schema))
    assert found["path"].to_pylist() == ["b"]
    assert counting.keys == (f"_transaction_log/{names[1]}",)
