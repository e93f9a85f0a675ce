"""§2 of the plan: writing manifests. What we write is read back by fastavro."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.runtime.threads import Inline
from indextables.log.avro.encode_columns import encode_blocks
from indextables.log.avro.manifest import read_manifest, write_manifest
from indextables.log.avro.schemas import FILE_ENTRY
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.write import write_state
from log.support import FakeClock, MemoryStore, add, make_log
from state.support import (
    OPTIONAL,
    as_entries,
    avro_header,
    avro_records,
    blocks_of,
    committed,
    entry,
    files_of,
    fresh,
    full_entry,
    grown,
    many_files,
    paths,
    peak_of,
    stored_state,
    table,
    written,
)
from tables import handle_of, on_store

T = TypeVar("T")

MIB = 1 << 20


def write(entries: list[dict[str, Any]], codec: str = "zstandard") -> list[dict[str, Any]]:
    return avro_records(write_manifest(files_of(entries), codec=codec, level=3))


def test_write_empty_manifest() -> None:
    data = write_manifest(files_of([]), codec="zstandard", level=3)
    assert avro_records(data) == []
    assert blocks_of(data) == []
    assert avro_header(data) == (FILE_ENTRY, "zstandard")


def test_write_single_entry() -> None:
    assert write([entry(5)]) == [entry(5)]


def test_write_multiple_entries() -> None:
    """More than fits into one block, and more than is encoded at a time."""
    entries = [entry(number) for number in range(12_000)]
    data = write_manifest(files_of(entries), codec="zstandard", level=3)
    assert avro_records(data) == entries
    assert sum(blocks_of(data)) == 12_000
    assert len(blocks_of(data)) == 2


def test_write_all_fields() -> None:
    for count in (1, 1500):
        entries = [full_entry(number) for number in range(count)]
        assert None not in entries[0].values()
        assert write(entries) == entries
        assert as_entries(read_manifest("m", write_manifest(files_of(entries), codec="null", level=1))) == entries


def test_write_nullable_fields() -> None:
    """All null, none null, and both in turn: three ways to encode a column."""
    assert write([entry(number) for number in range(5)]) == [entry(number) for number in range(5)]
    mixed = [full_entry(number, **dict.fromkeys(OPTIONAL[number % 3 :: 3])) for number in range(300)]
    assert write(mixed) == mixed


def test_write_with_zstd_compression() -> None:
    files = many_files(2000)
    light, heavy = (write_manifest(files, codec="zstandard", level=level) for level in (1, 19))
    plain = write_manifest(files, codec="null", level=1)
    assert avro_header(light)[1] == avro_header(heavy)[1] == "zstandard"
    assert len(light) < len(plain) / 4
    assert len(heavy) < len(plain) / 4
    assert len(heavy) < len(light)
    assert avro_records(light) == avro_records(heavy) == avro_records(plain) == as_entries(files)


def test_write_with_snappy_compression() -> None:
    files = many_files(5000)
    data = write_manifest(files, codec="snappy", level=1)
    assert avro_header(data)[1] == "snappy"
    assert len(data) < len(write_manifest(files, codec="null", level=1)) / 2
    assert avro_records(data) == as_entries(files)


def test_write_with_no_compression() -> None:
    """For debugging: the paths can be seen with the naked eye."""
    data = write_manifest(files_of([entry(1)]), codec="null", level=1)
    assert avro_header(data)[1] == "null"
    assert entry(1)["path"].encode() in data
    assert avro_records(data) == [entry(1)]
    with pytest.raises(ValueError, match="lzma"):
        write_manifest(files_of([entry(1)]), codec="lzma", level=1)


def test_write_large_manifest() -> None:
    """Writing takes the memory of a few blocks and of the file, whatever the number of entries."""
    small, large = many_files(20_000, days=30), many_files(200_000, days=30)
    data, few = peak_of(lambda: write_manifest(small, codec="zstandard", level=3))
    more, many = peak_of(lambda: write_manifest(large, codec="zstandard", level=3))
    assert few - 2 * len(data) < 12 * MIB
    assert many - 2 * len(more) < 12 * MIB
    assert large.nbytes > 36 * MIB
    assert read_manifest("m", more).equals(large)


def test_write_streaming_append() -> None:
    """Blocks come one by one, each of about a mebibyte, long before the last row was looked at."""
    files = many_files(100_000)
    blocks = encode_blocks(files, FILE_ENTRY)
    _, peak = peak_of(lambda: next(blocks))
    assert peak < 12 * MIB
    sizes = [data.size for _, data in encode_blocks(files, FILE_ENTRY)]
    assert max(sizes) <= MIB
    assert sum(count for count, _ in encode_blocks(files, FILE_ENTRY)) == 100_000
    long = files_of([entry(1), entry(2, stats="x" * 3 * MIB), entry(3), entry(4, stats="y" * 2 * MIB)])
    alone = [(count, data.size > MIB) for count, data in encode_blocks(long, FILE_ENTRY)]
    assert alone == [(1, False), (1, True), (1, False), (1, True)]


def test_manifest_file_size_estimation() -> None:
    """Nothing is estimated: manifests are cut by the number of their entries, and a state knows the exact length of each."""
    store = MemoryStore()
    log = make_log(store, {"state.entriesPerManifest": 1000})
    state = written(log, grown(log, many_files(2500))).state
    assert [item.num_entries for item in state.manifests] == [834, 833, 833], "as even as can be"
    for item in stored_state(store, 1)["manifests"]:
        stored = store.objects[f"_transaction_log/{item['path']}"].data
        assert item["length"] == len(stored)
        assert item["numEntries"] == len(avro_records(stored))


def test_concurrent_writes() -> None:
    """Eight writers of one state: each writes manifests of its own, one state counts, and its manifests are whole."""
    store = MemoryStore()
    log = make_log(store, {"state.entriesPerManifest": 3})
    snapshot = committed(log, table(log), [f"f{number}" for number in range(20)])
    results: list[Any] = []

    def work(number: int) -> None:
        clock = FakeClock(seed=number)
        clock.seconds = store.clock.seconds
        own = make_log(store, {"state.entriesPerManifest": 3}, clock=clock)
        results.append(write_state(LogAtVersion(own, snapshot)))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.ours for result in results].count(True) == 1
    assert len([key for key in store.objects if "/manifests/" in key]) == 8 * 7
    assert paths(fresh(store)) == sorted(f"f{number}" for number in range(20))
    (winner,) = [result.state for result in results if result.ours]
    assert all(result.state == winner for result in results)


class Travelling(Inline):
    """Runs calls of plain functions as another process would get them, and keeps what travelled."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def together(
        self, calls: Sequence[Callable[[], T]], *, limit: int | None = None, timeout_seconds: float | None = None
    ) -> list[T]:
        if not all(isinstance(call, partial) for call in calls):
            return super().together(calls, limit=limit, timeout_seconds=timeout_seconds)
        sent = [pickle.dumps(call) for call in calls]
        self.sent += sent
        return [pickle.loads(text)() for text in sent]


def test_what_writes_a_manifest_travels_without_the_table(tmp_path: Path) -> None:
    """A handle has all files of its version: a process that writes some of them into a manifest must not get the handle."""
    created = Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]), options={"state.entriesPerManifest": 3})
    created.commit_files([add(f"f{number}") for number in range(7)])
    workers = Travelling()
    done = write_state(handle_of(on_store(created, workers=workers)))
    assert done is not None
    assert [item.num_entries for item in done.state.manifests] == [3, 2, 2]
    assert len(workers.sent) == 3
    assert not [text for text in workers.sent if b"Snapshot" in text or b"TableHandle" in text]
    assert sorted(Table.open(tmp_path / "t").files()["path"].to_pylist()) == [f"f{number}" for number in range(7)]
