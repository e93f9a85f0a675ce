"""Records read by their layouts are what they are in step, one by one, and for fastavro; and damage is never taken for values."""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import CorruptLog
from indextables.log.avro import alike as alike_module
from indextables.log.avro import manifest as manifest_module
from indextables.log.avro.alike import Alike, promising
from indextables.log.avro.avro_file import Container, read_container, write_container
from indextables.log.avro.column_reader import Lockstep
from indextables.log.avro.decode_records import decode_records
from indextables.log.avro.manifest import read_entries, read_records, write_manifest
from indextables.log.avro.record_lengths import LENGTHS_KEY, Irregular, can_read, pack_lengths, unpack_lengths
from indextables.log.avro.schemas import FILE_ENTRY
from indextables.log.file_entries import FILE_SCHEMA
from log.strategies import INT32, INT64, texts
from state.strategies import entries
from state.support import CODECS, entry, files_of, full_entry, many_files

QUICK = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])

Record = dict[str, Any]

KINDS: dict[str, tuple[Any, pa.DataType, st.SearchStrategy[Any]]] = {
    "string": ("string", pa.string(), texts()),
    "long": ("long", pa.int64(), INT64),
    "int": ("int", pa.int32(), INT32),
    "boolean": ("boolean", pa.bool_(), st.booleans()),
    "map": (
        {"type": "map", "values": "string"},
        pa.map_(pa.string(), pa.string()),
        st.dictionaries(texts(), texts(), max_size=3),
    ),
    "array": ({"type": "array", "items": "string"}, pa.list_(pa.string()), st.lists(texts(), max_size=3)),
}


@st.composite
def schemas(draw: st.DrawFn) -> tuple[dict[str, Any], pa.Schema]:
    """A record of some fields, and what they are in Arrow."""
    fields: list[dict[str, Any]] = []
    columns: list[pa.Field] = []
    for number in range(draw(st.integers(1, 6))):
        kind, arrow, _ = KINDS[draw(st.sampled_from(sorted(KINDS)))]
        optional = draw(st.booleans())
        fields.append({"name": f"f{number}", "type": ["null", kind] if optional else kind})
        columns.append(pa.field(f"f{number}", arrow))
    return {"type": "record", "name": "R", "fields": fields}, pa.schema(columns)


def values(schema: dict[str, Any]) -> st.SearchStrategy[Record]:
    drawn = {}
    for field in schema["fields"]:
        optional = isinstance(field["type"], list)
        kind = field["type"][1] if optional else field["type"]
        strategy = KINDS[kind["type"] if isinstance(kind, dict) else kind][2]
        drawn[field["name"]] = st.none() | strategy if optional else strategy
    return st.fixed_dictionaries(drawn)


def encoded(schema: dict[str, Any], records: list[Record]) -> tuple[bytes, np.ndarray[Any, Any]]:
    """The records as fastavro writes them, and how long each is."""
    parsed = fastavro.parse_schema(schema)
    parts = []
    for record in records:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, record)
        parts.append(out.getvalue())
    return b"".join(parts), np.array([len(part) for part in parts], np.int64)


def container_of(schema: dict[str, Any], count: int, block: bytes) -> Container:
    return read_container("m", write_container(json.dumps(schema).encode(), "null", 1, [(count, block)]))


def rows_of(columns: dict[str, pa.Array], wanted: pa.Schema) -> list[Record]:
    """Columns as records, found valid and of the types that were asked for."""
    for name, column in columns.items():
        column.validate(full=True)
        assert column.type == wanted.field(name).type
    rows: list[Record] = pa.table({name: columns[name] for name in wanted.names}).to_pylist()
    for row in rows:
        for field in wanted:
            if pa.types.is_map(field.type) and row[field.name] is not None:
                row[field.name] = dict(row[field.name])
    return rows


@QUICK
@given(data=st.data())
def test_any_schema_and_records(data: st.DataObject) -> None:
    """Alike, in step, by fastavro: one answer."""
    schema, wanted = data.draw(schemas())
    some = data.draw(st.lists(values(schema), min_size=1, max_size=6))
    records = data.draw(st.lists(st.sampled_from(some), min_size=1, max_size=30))
    block, lengths = encoded(schema, records)
    assert can_read(schema, wanted)
    assert rows_of(Alike(schema["fields"], wanted).read(block, lengths), wanted) == records
    assert rows_of(Lockstep(schema["fields"], wanted).read(block, lengths), wanted) == records
    names = data.draw(st.lists(st.sampled_from(wanted.names), min_size=1, unique=True))
    part = pa.schema([wanted.field(name) for name in names])
    found = rows_of(Alike(schema["fields"], part).read(block, lengths), part)
    assert found == [{name: record[name] for name in names} for record in records]


@QUICK
@given(data=st.data())
def test_any_damage(data: st.DataObject) -> None:
    """Whatever stands in a block and whatever its lengths say: what one by one gives, or nothing."""
    schema, wanted = data.draw(schemas())
    some = data.draw(st.lists(values(schema), min_size=1, max_size=4))
    records = data.draw(st.lists(st.sampled_from(some), min_size=2, max_size=12))
    block, lengths = encoded(schema, records)
    broken = bytearray(block)
    for _ in range(data.draw(st.integers(0, 3)) if broken else 0):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        first, second = data.draw(st.permutations(range(len(lengths))))[:2]
        more = data.draw(st.integers(-3, 3))
        lengths[first] += more
        lengths[second] -= more
    reader = Alike(schema["fields"], wanted)
    try:
        found = rows_of(reader.read(bytes(broken), lengths), wanted)
    except Irregular:
        return
    assert found == decode_records(container_of(schema, len(records), bytes(broken)))


@QUICK
@given(data=st.data())
def test_a_sieve(data: st.DataObject) -> None:
    """Rows that it drops are gone, from all columns, and it sees the early fields of all rows."""
    schema, wanted = data.draw(schemas())
    some = data.draw(st.lists(values(schema), min_size=1, max_size=6))
    records = data.draw(st.lists(st.sampled_from(some), min_size=1, max_size=20))
    keep = data.draw(st.none() | st.sets(st.integers(0, len(records) - 1)).map(sorted))
    early = data.draw(st.lists(st.sampled_from(wanted.names), min_size=1, unique=True))
    part = pa.schema([wanted.field(name) for name in early])
    block, lengths = encoded(schema, records)
    seen: list[list[Record]] = []

    def sieve(table: pa.Table) -> Any:
        seen.append(rows_of({name: table[name].combine_chunks() for name in early}, part))
        return None if keep is None else np.array(keep, np.int64)

    columns = Alike(schema["fields"], wanted, early, sieve).read(block, lengths)
    kept = records if keep is None else [records[number] for number in keep]
    assert (rows_of(columns, wanted) if columns else []) == kept
    assert seen == [[{name: record[name] for name in early} for record in records]]


@QUICK
@given(rows=entries(min_size=1, max_size=7), repeats=st.integers(1, 3), data=st.data())
def test_entries_and_their_records(rows: list[Record], repeats: int, data: st.DataObject) -> None:
    files = files_of(rows * repeats)
    container = read_container("m", write_manifest(files, codec="null", level=1))
    lengths = unpack_lengths(container.metadata[LENGTHS_KEY], container.count)
    ((_, block),) = container.records()
    found = Alike(FILE_ENTRY["fields"], FILE_SCHEMA).read(block, lengths)
    assert pa.table([found[name] for name in FILE_SCHEMA.names], schema=FILE_SCHEMA).equals(files)


def test_layouts_of_earlier_blocks_are_used_again() -> None:
    """Also where the later block has nothing else, or none of it, or where two threads find the same ones."""
    files = files_of([full_entry(n) if n % 3 else entry(n) for n in range(900)])
    blocks = [files.slice(0, 300), files.slice(300, 300).filter(pa.array([n % 3 > 0 for n in range(300)])), files]
    reader = Alike(FILE_ENTRY["fields"], FILE_SCHEMA)

    def read(some: pa.Table) -> pa.Table:
        container = read_container("m", write_manifest(some, codec="null", level=1))
        block = b"".join(data for _, data in container.records())
        columns = reader.read(block, unpack_lengths(container.metadata[LENGTHS_KEY], container.count))
        return pa.table([columns[name] for name in FILE_SCHEMA.names], schema=FILE_SCHEMA)

    for some in blocks:
        assert read(some).equals(some)
    with ThreadPoolExecutor(4) as pool:
        for some, found in zip(blocks * 4, pool.map(read, blocks * 4), strict=True):
            assert found.equals(some)


def test_layouts_of_one_width() -> None:
    """Records that are as long as each other need not be alike: in the first block, and in one that follows."""
    files = files_of([entry(n % 9, partitionValues={"k": "vv"} if n % 4 else {"kk": "v"}) for n in range(80)])
    container = read_container("m", write_manifest(files, codec="null", level=1))
    lengths = unpack_lengths(container.metadata[LENGTHS_KEY], container.count)
    ((_, block),) = container.records()
    reader = Alike(FILE_ENTRY["fields"], FILE_SCHEMA)
    assert len(set(lengths.tolist())) == 1
    for _ in range(2):
        columns = reader.read(block, lengths)
        assert pa.table([columns[name] for name in FILE_SCHEMA.names], schema=FILE_SCHEMA).equals(files)


def test_too_many_layouts_are_given_up() -> None:
    many = alike_module._SOME_LAYOUTS + 1
    files = files_of([entry(n, partitionValues={f"k{n}": "v"}) for n in range(many)])
    data = write_manifest(files, codec="null", level=1)
    container = read_container("m", data)
    lengths = unpack_lengths(container.metadata[LENGTHS_KEY], many)
    ((_, block),) = container.records()
    with pytest.raises(Irregular, match=f"{many} layouts among {many} records"):
        Alike(FILE_ENTRY["fields"], FILE_SCHEMA).read(block, lengths)
    assert read_entries(container, data).equals(files)
    assert promising(lengths)
    assert not promising(np.arange(many))
    assert not promising(np.zeros(0, np.int64))
    assert not promising(np.array([1 << 16]))


@pytest.mark.parametrize("lengths", [[], [0], [0, 0], [1], [-1, 1], [1 << 40]])
@pytest.mark.parametrize("block", [b"", b"\0"])
def test_nothing_and_lengths_of_nothing(lengths: list[int], block: bytes) -> None:
    with pytest.raises(Irregular):
        Alike(FILE_ENTRY["fields"], FILE_SCHEMA).read(block, np.array(lengths, np.int64))


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


@pytest.fixture
def only_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other reader helps."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("another reader was asked")

    for name in ("Lockstep", "_read_natively", "decode_records"):
        monkeypatch.setattr(manifest_module, name, refuse)


def varied(count: int) -> pa.Table:
    """Files of a dozen layouts, some of them with texts that are not ASCII."""
    return files_of([full_entry(n % 50) if n % 3 else entry(n) for n in range(count)])


@pytest.mark.usefixtures("only_alike")
@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != "deflate"])
def test_large_manifests_of_ours_need_no_other_reader(codec: str) -> None:
    files = varied(20_000)
    data = write_manifest(files, codec=codec, level=1)
    container = read_container("m", data)
    assert len(container.blocks) > 4, "several are read at once"
    assert read_entries(container, data).equals(files)
    moved = read_records(container, data, ["path", "size"])
    assert moved.select(["path", "size"]).equals(files.select(["path", "size"]))
    again = write_manifest(moved, codec=codec, level=1)
    assert read_entries(read_container("m", again), again).equals(files)


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
    assert manifest_module._read_in_step(lying, FILE_SCHEMA, None, alike=True) is None
    assert read_entries(lying, data).equals(files)


def test_some_records_are_tried_before_all_are_compared() -> None:
    """Hundreds of layouts are given up at once, and not one by one."""
    files = files_of([entry(n % 9, partitionValues={f"k{n % 500:03d}": "v"}) for n in range(4_000)])
    data = write_manifest(files, codec="null", level=1)
    container = read_container("m", data)
    lengths = unpack_lengths(container.metadata[LENGTHS_KEY], container.count)
    block = b"".join(part for _, part in container.records())
    with pytest.raises(Irregular, match="33 layouts among some 64 records"):
        Alike(FILE_ENTRY["fields"], FILE_SCHEMA).read(block, lengths)
    assert read_entries(container, data).equals(files)
