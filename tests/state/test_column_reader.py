"""Records read in step, by the lengths in a manifest's header, are what they are one by one; and lengths that lie do no harm."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import CorruptLog, UnsafePath
from indextables.log.avro import manifest as manifest_module
from indextables.log.avro.avro_file import Container, read_container, write_container
from indextables.log.avro.column_reader import ColumnReader
from indextables.log.avro.decode_records import decode_records
from indextables.log.avro.encode_columns import RECORD_FIELD, encode_blocks
from indextables.log.avro.manifest import read_entries, read_manifest, read_records, with_records, write_manifest
from indextables.log.avro.manifest_readers import read_columns, records_as_table
from indextables.log.avro.record_lengths import LENGTHS_KEY, Irregular, can_read, pack_lengths, unpack_lengths
from indextables.log.avro.schemas import FILE_ENTRY, FILE_ENTRY_JSON
from indextables.log.avro.shared_columns import all_null, compact_columns
from indextables.log.file_entries import FILE_SCHEMA
from indextables.log.state.tombstone_filter import TombstoneFilter
from indextables.log.state.writing.compact import live_records
from indextables.log.state.writing.delta import Delta, delta_since
from indextables.log.table_log import check_path_column, check_paths
from indextables.storage.object_keys import inside_root
from log.strategies import texts
from log.support import MemoryStore, make_log
from state.strategies import entries
from state.support import (
    add,
    as_entries,
    committed,
    entry,
    files_of,
    fresh,
    full_entry,
    grown,
    many_files,
    state_of,
    stated,
)

QUICK = settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def container_of(files: pa.Table, codec: str = "null") -> Container:
    return read_container("m", write_manifest(files, codec=codec, level=1))


def in_step(container: Container, columns: Sequence[str] = FILE_SCHEMA.names, *, checked: bool = False) -> pa.Table:
    schema = pa.schema([FILE_SCHEMA.field(name) for name in columns])
    found = read_columns(container, schema, None, checked=checked)
    assert found is not None
    found.validate(full=True)
    return found


def with_lengths(container: Container, lengths: bytes | None) -> Container:
    return replace(container, metadata={} if lengths is None else {LENGTHS_KEY: lengths})


@QUICK
@given(rows=entries(min_size=1, max_size=4), repeats=st.integers(1, 3), data=st.data())
def test_in_step_is_one_by_one(rows: list[dict[str, Any]], repeats: int, data: st.DataObject) -> None:
    container = container_of(files_of(rows * repeats))
    assert in_step(container).to_pylist() == files_of(decode_records(container)).to_pylist()
    names = data.draw(st.lists(st.sampled_from(FILE_SCHEMA.names), min_size=1, unique=True))
    for checked in (False, True):
        assert (
            in_step(container, names, checked=checked).to_pylist() == files_of(rows * repeats).select(names).to_pylist()
        )


def test_numbers_of_every_length() -> None:
    numbers = sorted({sign * (1 << bit) + more for bit in range(63) for sign in (1, -1) for more in (-1, 0, 1)})
    files = files_of([entry(n, size=number) for n, number in enumerate(numbers)])
    assert in_step(container_of(files))["size"].to_pylist() == numbers
    assert in_step(container_of(files.slice(0, 1)))["size"].to_pylist() == numbers[:1], "nine bytes"


def test_maps_and_lists_of_different_sizes() -> None:
    rows = [
        entry(n, partitionValues={f"k{i}": "v" * i for i in range(n % 4)}, splitTags=["t"] * (n % 3) if n % 5 else None)
        for n in range(500)
    ]
    assert as_entries(in_step(container_of(files_of(rows)))) == rows


@pytest.mark.parametrize("count", [1, 999, 1001, 30_000])
def test_many_rows(count: int) -> None:
    files = files_of([full_entry(n) if n % 3 else entry(n) for n in range(count)])
    assert in_step(container_of(files, "zstandard")).equals(files)
    assert read_manifest("m", write_manifest(files, codec="zstandard", level=1)).equals(files)


def lies(lengths: np.ndarray[Any, Any]) -> dict[str, bytes | None]:
    shifted = lengths.copy()
    shifted[0] += 1
    shifted[1] -= 1
    return {
        "absent": None,
        "empty": b"",
        "no base64": b"!",
        "no zstd": b"AAAA",
        "too few": pack_lengths([lengths[:-1]]),
        "too many": pack_lengths([lengths, lengths[:1]]),
        "shifted": pack_lengths([shifted]),
        "one too long": pack_lengths([lengths + (np.arange(len(lengths)) == 3)]),
        "zeros": pack_lengths([np.zeros(len(lengths), np.int64)]),
        "one has all": pack_lengths([np.append(np.zeros(len(lengths) - 1, np.int64), lengths.sum())]),
        "beyond": pack_lengths([np.full(len(lengths), 2**31, np.int64)]),
    }


@pytest.mark.parametrize("lie", lies(np.ones(9, np.int64)))
@pytest.mark.parametrize("columns", [["path"], None])
def test_lengths_that_lie_are_not_believed(lie: str, columns: list[str] | None) -> None:
    files = files_of([full_entry(n) for n in range(9)])
    data = write_manifest(files, codec="null", level=1)
    container = read_container("m", data)
    lying = with_lengths(container, lies(unpack_lengths(container.metadata[LENGTHS_KEY], 9))[lie])
    assert read_columns(lying, FILE_SCHEMA, None) is None
    assert read_entries(lying, data, columns).equals(files if columns is None else files.select(columns))


@QUICK
@given(rows=entries(min_size=2, max_size=4), data=st.data())
def test_bytes_that_are_no_records(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    """Whatever stands in a block, reading it in step gives what reading it one by one gives, or gives up."""
    files = files_of(rows)
    ((count, block),) = encode_blocks(files, FILE_ENTRY)
    broken = bytearray(bytes(block))
    for _ in range(data.draw(st.integers(1, 3))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    lengths = pack_lengths([np.diff(np.frombuffer(with_records(files, []).column(0).chunk(0).buffers()[1], np.int64))])
    container = read_container(
        "m", write_container(FILE_ENTRY_JSON, "null", 1, [(count, bytes(broken))], lambda: {LENGTHS_KEY: lengths})
    )
    found = read_columns(container, FILE_SCHEMA, None)
    if found is not None:
        found.validate(full=True)
        assert found.equals(records_as_table("m", decode_records(container), FILE_SCHEMA))


@pytest.mark.parametrize("last", [0x00, 0x01, 0x02, 0x7F, 0x80])
def test_numbers_of_more_than_64_bits(last: int) -> None:
    """The tenth byte of a number holds one bit. What is above it is no number, whoever reads it."""
    files = files_of([full_entry(0) | {"size": -(2**63)}])
    ((count, block),) = encode_blocks(files, FILE_ENTRY)
    broken = bytes(block).replace(b"\xff" * 9 + b"\x01", b"\xff" * 9 + bytes([last]), 1)
    assert (broken == block) == (last == 1)
    container = read_container(
        "m",
        write_container(
            FILE_ENTRY_JSON, "null", 1, [(count, broken)], lambda: {LENGTHS_KEY: pack_lengths([np.array([len(block)])])}
        ),
    )
    found = read_columns(container, FILE_SCHEMA, None)
    if last > 1:
        assert found is None
        with pytest.raises(CorruptLog, match="m is damaged"):
            decode_records(container)
    else:
        assert found is not None
        assert found["size"].to_pylist() == [-(2**63) if last else -(2**62)]


def test_a_field_of_a_kind_that_is_not_known_here() -> None:
    later = {**FILE_ENTRY, "fields": [*FILE_ENTRY["fields"], {"name": "weight", "type": "double"}]}
    out = io.BytesIO()
    rows = [full_entry(n) | {"weight": 0.5} for n in range(3)]
    fastavro.writer(out, later, rows, metadata={LENGTHS_KEY: pack_lengths([np.ones(3, np.int64)]).decode()})
    container = read_container("m", out.getvalue())
    assert read_columns(container, FILE_SCHEMA, None) is None
    assert as_entries(read_entries(container, out.getvalue())) == [full_entry(n) for n in range(3)]


class TestSieve:
    def test_it_sees_paths_and_partitions_and_only_what_it_keeps_is_read_on(self) -> None:
        files = files_of([full_entry(n, partitionValues={"day": str(n % 7)}) for n in range(2_000)])
        data = write_manifest(files, codec="zstandard", level=1)
        seen: list[pa.Table] = []

        def sieve(some: pa.Table) -> Any:
            seen.append(some)
            days = [dict(values)["day"] for values in some["partitionValues"].to_pylist()]
            return np.flatnonzero([day == "3" for day in days])

        found = read_entries(read_container("m", data), data, None, sieve)
        assert as_entries(found) == [row for row in as_entries(files) if row["partitionValues"]["day"] == "3"]
        assert pa.concat_tables(seen).to_pylist() == files.select(["path", "partitionValues"]).to_pylist()

    @pytest.mark.parametrize("count", [10, 2_000])
    @pytest.mark.parametrize("ours", [True, False])
    @pytest.mark.parametrize("checked", [True, False])
    def test_all_nothing_and_some(self, count: int, ours: bool, checked: bool) -> None:
        files = many_files(count)
        data = write_manifest(files, codec="null", level=1)
        container = read_container("m", data)
        container = container if ours else with_lengths(container, None)
        for wanted in (None, np.zeros(0, np.int64), np.arange(0, count, 3)):
            kept = files if wanted is None else files.take(wanted)

            def sieve(some: pa.Table, kept: pa.Table = kept, wanted: Any = wanted) -> Any:
                live = set(kept["path"].to_pylist())
                rows = np.array([n for n, path in enumerate(some["path"].to_pylist()) if path in live], np.int64)
                return None if wanted is None else rows

            assert read_entries(container, data, None, sieve, checked=checked).equals(kept)

    @pytest.mark.parametrize("count", [10, 2_000])
    @pytest.mark.parametrize("checked", [True, False])
    def test_its_errors_are_raised(self, count: int, checked: bool) -> None:
        def refuse(_: pa.Table) -> Any:
            raise UnsafePath("no")

        data = write_manifest(many_files(count), codec="null", level=1)
        with pytest.raises(UnsafePath):
            read_entries(read_container("m", data), data, None, refuse, checked=checked)


class TestRecords:
    def test_moved_records_are_what_would_be_encoded(self) -> None:
        files = files_of([full_entry(n) if n % 2 else entry(n) for n in range(1_500)])
        data = write_manifest(files, codec="zstandard", level=1)
        container = read_container("m", data)
        moved = read_records(container, data, ["path", "size"])
        encoded = read_records(with_lengths(container, None), data, ["path", "size"])
        assert moved.column_names == ["path", "size", RECORD_FIELD.name]
        assert moved.equals(encoded)
        again = write_manifest(moved, codec="zstandard", level=1)
        assert read_manifest("m", again).equals(files)
        assert in_step(read_container("m", again)).equals(files)

    @pytest.mark.parametrize("ours", [True, False])
    def test_what_is_live_is_gathered(self, ours: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """From manifests with lengths and without, with tombstones, and with files added and removed since."""
        if not ours:
            monkeypatch.setattr(manifest_module, "LENGTHS_KEY", "other")
        store = MemoryStore()
        log = make_log(store, {"state.entriesPerManifest": 50})
        snapshot = stated(log, grown(log, many_files(200, days=8), "day"))
        monkeypatch.undo()
        paths = snapshot.files["path"].to_pylist()
        snapshot = stated(log, committed(log, snapshot, [add("new", day="2024-01-03")], paths[:5]))
        again = add(paths[7], day="2024-01-05", size=77)
        snapshot = committed(log, snapshot, [add("newer", day="2024-01-04"), again], [paths[9], "new"])
        delta = delta_since(state_of(snapshot), snapshot.file_set.pending())
        gathered = live_records(log, state_of(snapshot), delta)
        found = read_manifest("m", write_manifest(gathered, codec="null", level=1))
        by_path = [("path", "ascending")]
        assert found.sort_by(by_path).equals(fresh(store).files.sort_by(by_path))
        assert gathered["path"].to_pylist() == found["path"].to_pylist()

    def test_nothing_live(self) -> None:
        log = make_log(MemoryStore())
        snapshot = stated(log, grown(log, many_files(3)))
        everything = Delta(removed=set(snapshot.files["path"].to_pylist()))
        assert live_records(log, state_of(snapshot), everything).num_rows == 0


@QUICK
@given(
    dead=st.sets(texts() | st.text("ab", min_size=20, max_size=30), max_size=20),
    others=st.lists(texts() | st.text("ab", min_size=20, max_size=30), max_size=20),
)
def test_the_dead_are_found(dead: set[str], others: list[str]) -> None:
    paths = [*others, *dead, *others]
    expected = [n for n, path in enumerate(paths) if path in dead]
    chunks = pa.chunked_array([pa.array(paths[:7], pa.string()), pa.array(["?", *paths[7:]], pa.string()).slice(1)])
    assert TombstoneFilter(dead).rows(chunks).tolist() == expected
    assert bool(TombstoneFilter(dead)) == bool(dead)


@QUICK
@given(paths=st.lists(st.text("a/_.:\0\né-", max_size=6), max_size=6))
def test_paths_are_judged_alike_alone_and_together(paths: list[str]) -> None:
    def refused(check: Any, *arguments: Any) -> bool:
        try:
            check("s3://bucket/table", *arguments, "m")
        except UnsafePath:
            return True
        return False

    column = pa.chunked_array([pa.array(["..", *paths], pa.string()).slice(1)])
    outside = any(inside_root("s3://bucket/table", path) is None for path in paths)
    assert refused(check_path_column, column) == refused(check_paths, paths) == outside


def test_nothing_of_every_type() -> None:
    for field in FILE_SCHEMA:
        for rows in (0, 1, 200_000):
            column = all_null(rows, field.type)
            column.validate(full=True)
            assert column.null_count == len(column) == rows
            assert column.type == field.type
    half = files_of([entry(1), full_entry(2)])
    assert compact_columns(pa.concat_tables([half, half.slice(1)])).equals(pa.concat_tables([half, half.slice(1)]))


def test_a_block_without_records_is_irregular() -> None:
    with pytest.raises(Irregular):
        ColumnReader(FILE_ENTRY["fields"], FILE_SCHEMA).read(b"", np.zeros(0, np.int64))


@pytest.mark.parametrize("blocks", [[], [(0, b"")], [(0, b""), (0, b"")]])
def test_manifests_without_entries_are_moved(blocks: list[tuple[int, bytes]]) -> None:
    """Nobody writes them on purpose, and compaction meets them all the same."""
    more = {LENGTHS_KEY: pack_lengths([])}
    data = write_container(FILE_ENTRY_JSON, "zstandard", 3, blocks, lambda: more)
    container = read_container("m", data)
    assert read_records(container, data, ["path", "size"]).num_rows == 0
    assert read_entries(container, data).num_rows == 0


@pytest.mark.parametrize(
    ("name", "kind"),
    [("size", "string"), ("path", "long"), ("path", {"type": "map", "values": "string"}), ("dataChange", "long")],
)
def test_a_field_of_another_type_is_left_to_others(name: str, kind: Any) -> None:
    """The bytes of a text are not a number, though both could be read from the same place."""
    fields = [field | {"type": kind} if field["name"] == name else field for field in FILE_ENTRY["fields"]]
    assert can_read(FILE_ENTRY, FILE_SCHEMA)
    assert not can_read({**FILE_ENTRY, "fields": fields}, FILE_SCHEMA)
    others = pa.schema([field for field in FILE_SCHEMA if field.name != name])
    assert can_read({**FILE_ENTRY, "fields": fields}, others)
    twice = [*FILE_ENTRY["fields"], {"name": name, "type": kind}]
    assert not can_read({**FILE_ENTRY, "fields": twice}, FILE_SCHEMA)


def test_damage_in_a_large_manifest_names_it() -> None:
    """What is damaged in one of many blocks is found, whoever reads it first."""
    data = write_manifest(many_files(20_000), codec="null", level=1)
    container = read_container("m", data)
    last = container.blocks[-1]
    broken = bytearray(data)
    at = data.index(b"\x06day", last.start)
    broken[at] = 0xFE
    with pytest.raises(CorruptLog, match="m is damaged"):
        read_entries(read_container("m", bytes(broken)), bytes(broken))


@pytest.mark.parametrize("shift", [-1, 1, 5000])
def test_lengths_of_other_blocks(shift: int) -> None:
    """Lengths that add up, but not block by block."""
    files = many_files(20_000)
    data = write_manifest(files, codec="zstandard", level=1)
    container = read_container("m", data)
    lengths = np.roll(unpack_lengths(container.metadata[LENGTHS_KEY], container.count), shift)
    lying = replace(container, metadata={**container.metadata, LENGTHS_KEY: pack_lengths([lengths])})
    assert read_columns(lying, FILE_SCHEMA, None) is None
    assert read_entries(lying, data).equals(files)
