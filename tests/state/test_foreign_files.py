"""Manifests and states as other writers may make them: every codec, other orders, names, types and gaps, read by both readers.

"Both readers": up to a thousand entries are decoded here, more by DataFusion.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from indextables.core.errors import CorruptLog, UnsafePath
from indextables.log.avro import manifest as manifest_module
from indextables.log.avro.avro_file import read_container, write_container
from indextables.log.avro.manifest import read_manifest, write_manifest
from indextables.log.avro.schemas import FILE_ENTRY, STATE_MANIFEST
from indextables.log.file_entries import FILE_SCHEMA
from indextables.log.state.read import decode_state
from log.support import METADATA, START_MS, MemoryStore
from state.support import (
    CODECS,
    ORIGINAL_FILE_ENTRY,
    ORIGINAL_STATE,
    as_entries,
    avro_bytes,
    entry,
    foreign_item,
    fresh,
    full_entry,
    many_files,
    paths,
    put_foreign_state,
)

BOTH = pytest.mark.parametrize("count", [5, 1010])


def read(data: bytes) -> list[dict[str, Any]]:
    return as_entries(read_manifest("m.avro", data))


def changed(**types: Any) -> dict[str, Any]:
    """Our schema with other types for some fields."""
    schema = copy.deepcopy(FILE_ENTRY)
    for field in schema["fields"]:
        if field["name"] in types:
            field["type"] = types[field["name"]]
            field.pop("default", None)
    return schema


@BOTH
@pytest.mark.parametrize("codec", CODECS)
def test_every_codec(codec: str, count: int) -> None:
    entries = [full_entry(number) for number in range(count)]
    data = avro_bytes(FILE_ENTRY, entries, codec, sync_interval=40_000)
    assert read_container("m", data).codec == codec
    assert len(read_container("m", data).blocks) > (count > 1000)
    assert read(data) == entries


@BOTH
def test_other_order_other_namespace_other_ids(count: int) -> None:
    entries = [full_entry(number) for number in range(count)]
    schema = copy.deepcopy(FILE_ENTRY)
    random.Random(7).shuffle(schema["fields"])
    schema["namespace"] = "com.example.other"
    schema["name"] = "Entry"
    for field in schema["fields"]:
        field["field-id"] = 1000 - field["field-id"]
        field["doc"] = "something else"
        field["aliases"] = ["other_" + field["name"]]
    assert read(avro_bytes(schema, entries)) == entries
    del schema["namespace"]
    assert read(avro_bytes(schema, entries)) == entries


@BOTH
def test_unions_the_other_way_round(count: int) -> None:
    optional = {f["name"]: f["type"][::-1] for f in FILE_ENTRY["fields"] if isinstance(f["type"], list)}
    for entries in ([full_entry(n) for n in range(count)], [entry(n) for n in range(count)]):
        assert read(avro_bytes(changed(**optional), entries)) == entries


@BOTH
def test_optional_where_we_demand_and_plain_where_we_do_not(count: int) -> None:
    types = {"size": ["null", "long"], "path": ["string", "null"], "dataChange": ["boolean", "null"], "stats": "string"}
    types |= {"numRecords": "int", "addedAtVersion": ["null", "int", "long"], "partitionValues": ["null", *_text_map()]}
    entries = [full_entry(number) for number in range(count)]
    assert read(avro_bytes(changed(**types), entries)) == entries


def _text_map() -> list[Any]:
    return [{"type": "map", "values": "string"}]


@BOTH
def test_nulls_where_a_value_must_be(count: int) -> None:
    """What has a default takes it; a file without a path or a size is an error that says so."""
    nulls = changed(
        path=["null", "string"],
        size=["null", "long"],
        dataChange=["null", "boolean"],
        hasFooterOffsets=["null", "boolean"],
        partitionValues=["null", *_text_map()],
    )
    entries = [entry(number) for number in range(count)]
    absent = {"dataChange": None, "hasFooterOffsets": None, "partitionValues": None}
    assert read(avro_bytes(nulls, [item | absent for item in entries])) == entries
    for name in ("path", "size"):
        broken = [*entries[:-1], entries[-1] | {name: None}]
        with pytest.raises(CorruptLog, match=rf"m\.avro.*{name}"):
            read(avro_bytes(nulls, broken))


@BOTH
def test_null_values_in_maps(count: int) -> None:
    """A map of another writer may hold nulls: they are read, and left out when we write the entry again."""
    odd = {"type": "map", "values": ["null", "string"]}
    entries = [entry(n, partitionValues={"a": None, "b": str(n)}, minValues={"x": None}) for n in range(count)]
    found = read_manifest("m", avro_bytes(changed(partitionValues=odd, minValues=["null", odd]), entries))
    assert as_entries(found) == entries
    again = read(write_manifest(found, codec="null", level=1))
    assert [item["partitionValues"] for item in again] == [{"b": str(n)} for n in range(count)]
    assert [item["minValues"] for item in again] == [{}] * count


@BOTH
@pytest.mark.parametrize(
    ("name", "kind", "value"),
    [
        ("size", "string", "five"),
        ("path", "bytes", b"\xff\xfe"),
        ("numMergeOps", "long", 2**40),
        ("partitionValues", "string", "day=1"),
        ("splitTags", "long", 5),
        ("addedAtVersion", {"type": "array", "items": "long"}, [1]),
    ],
)
def test_a_type_that_cannot_be_meant(name: str, kind: Any, value: Any, count: int) -> None:
    records = [entry(number) | {name: value} for number in range(count)]
    with pytest.raises(CorruptLog, match=rf"m\.avro.*{name}"):
        read(avro_bytes(changed(**{name: kind}), records))


@pytest.fixture
def reading_natively_is(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], None]:
    """`reading_natively_is(function)`: what stands for DataFusion's reader for the rest of the test."""

    def do(function: Callable[..., Any]) -> None:
        monkeypatch.setattr(manifest_module, "read_with_datafusion", function)

    return do


def test_the_two_readers_agree(reading_natively_is: Callable[[Callable[..., Any]], None]) -> None:
    """Whatever DataFusion reads, decoding record by record reads the same."""
    entries = [full_entry(n) if n % 3 else entry(n) for n in range(1010)]
    files = [avro_bytes(schema, entries, codec) for codec in CODECS for schema in (FILE_ENTRY, ORIGINAL_FILE_ENTRY)]
    natively = [read_manifest("m", data) for data in files]

    def refuse(*_: Any) -> None:
        return None

    reading_natively_is(refuse)
    for data, table in zip(files, natively, strict=True):
        assert read_manifest("m", data).equals(table)


def test_the_native_reader_is_used_for_large_files_only(
    reading_natively_is: Callable[[Callable[..., Any]], None],
) -> None:
    calls: list[int] = []
    natively = manifest_module.read_with_datafusion

    def spy(data: bytes, container: Any, *rest: Any) -> Any:
        calls.append(container.count)
        return natively(data, container, *rest)

    reading_natively_is(spy)
    for count in (1000, 1001):
        read_manifest("m", avro_bytes(FILE_ENTRY, as_entries(many_files(count))))
        read_manifest("m", write_manifest(many_files(count), codec="zstandard", level=3))
    assert calls == [1001], "ours say how long their records are, and are read by that"


def test_a_reader_that_loses_rows_has_not_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """DataFusion takes a damaged file for a shorter one. What it returns is counted, and read again where it is too little."""
    import datafusion

    files = many_files(1500)
    data = avro_bytes(FILE_ENTRY, as_entries(files))
    stream = datafusion.DataFrame.execute_stream
    calls: list[str] = []

    def shorter(frame: Any) -> Iterator[Any]:
        calls.append("shorter")
        return (batch for number, batch in enumerate(stream(frame)) if number)

    def broken(_: Any) -> Iterator[Any]:
        calls.append("broken")
        raise RuntimeError("planned")

    for other in (shorter, broken):
        monkeypatch.setattr(datafusion.DataFrame, "execute_stream", other)
        assert read_manifest("m", data).equals(files)
    assert calls == ["shorter", "broken"]


@pytest.mark.parametrize(
    "schema",
    [
        b'"string"',
        b"[]",
        b"{}",
        b'{"type":"record","name":"x"}',
        b'{"type":"record","name":"x","fields":5}',
        b'{"type":"record","name":"x","fields":[1]}',
        b'{"type":"record","name":"x","fields":[{}]}',
        b'{"type":"record","name":"x","fields":[{"name":"size","type":"long"}]}',
        b'{"type":"record","name":"x","fields":[{"name":"path"}]}',
        b'{"type":"record","name":"x","fields":[{"name":"path","type":"unheard-of"}]}',
        b'{"type":"record","name":"x","fields":[{"name":"path","type":{"type":"enum","name":"e","symbols":3}}]}',
        b'{"type":"record","name":"x","fields":[{"name":"path","type":' + b'{"type":"array","items":' * 500 + b'"long"',
        b"not JSON",
        b"",
        b"\xff",
    ],
)
def test_a_schema_that_is_none(schema: bytes) -> None:
    text = schema + b"}" * (schema.count(b"{") - schema.count(b"}")) if b'"array"' in schema else schema
    text = text[:-1] + b"]}" if b'"array"' in schema else text
    for count in (1, 2000):
        with pytest.raises(CorruptLog, match=r"m\.avro"):
            read(write_container(text, "null", 1, [(count, b"\x02a" * count)]))


def test_a_number_that_no_column_holds() -> None:
    schema = {
        "type": "record",
        "name": "x",
        "fields": [f for f in FILE_ENTRY["fields"] if f["name"] in ("path", "size")],
    }
    for body in (b"\x02a" + b"\xff" * 9 + b"\x7f", b"\x02a" + b"\xff" * 11 + b"\x01"):
        with pytest.raises(CorruptLog, match=r"m\.avro"):
            read(write_container(json.dumps(schema).encode(), "null", 1, [(1, body)]))


STATE: dict[str, Any] = {
    "formatVersion": 1,
    "stateVersion": 3,
    "createdAt": START_MS,
    "numFiles": 1,
    "totalBytes": 101,
    "manifests": [foreign_item("manifests/m.avro", [entry(1)])],
    "tombstones": [],
    "schemaRegistry": {},
    "protocolVersion": 4,
    "metadata": json.dumps(METADATA),
}


class TestStates:
    @pytest.mark.parametrize("codec", CODECS)
    def test_every_codec(self, codec: str) -> None:
        state = decode_state("s", avro_bytes(ORIGINAL_STATE, [STATE], codec), 3)
        assert (state.version, state.num_files, state.manifests[0].path) == (3, 1, "manifests/m.avro")

    def test_later_fields_other_order_other_namespace(self) -> None:
        schema = copy.deepcopy(STATE_MANIFEST)
        schema["fields"].reverse()
        schema["namespace"] = "org.other"
        schema["fields"].append({"name": "later", "type": {"type": "map", "values": "double"}, "default": {}})
        record = STATE | {"later": {"x": 1.5}, "transactions": [{"appId": "a", "version": 2, "lastUpdated": None}]}
        state = decode_state("s", avro_bytes(schema, [record]), 3)
        assert state.transactions["a"].version == 2
        assert state.metadata is not None

    def test_without_what_is_optional(self) -> None:
        needed = {"stateVersion", "manifests"}
        schema = copy.deepcopy(ORIGINAL_STATE)
        schema["fields"] = [field for field in schema["fields"] if field["name"] in needed]
        state = decode_state("s", avro_bytes(schema, [STATE]), 3)
        assert (state.tombstones, state.registry, state.metadata, state.protocol_version) == (frozenset(), {}, None, 4)

    @pytest.mark.parametrize(
        "path", ["../m.avro", "manifests/../../x.avro", "/etc/m.avro", "s3://other/m.avro", "", "state-v1/../../m"]
    )
    def test_a_manifest_outside_the_log_is_refused(self, path: str) -> None:
        record = STATE | {"manifests": [foreign_item(path, [])]}
        with pytest.raises(CorruptLog, match="outside the log"):
            decode_state("s", avro_bytes(ORIGINAL_STATE, [record]), 3)

    @pytest.mark.parametrize("path", ["../x.split", "/etc/passwd", "s3://other/x", "_transaction_log/x", ""])
    def test_a_data_file_outside_the_table_is_refused(self, path: str) -> None:
        store = MemoryStore()
        put_foreign_state(store, 1, {"manifests/m.avro": [entry(1, path=path)]})
        with pytest.raises(UnsafePath):
            _ = fresh(store).files

    @pytest.mark.parametrize(
        "change",
        [
            {"stateVersion": 4},
            {"formatVersion": 7},
            {"metadata": "{"},
            {"metadata": "[]"},
            {"metadata": '{"metaData": {}}'},
        ],
    )
    def test_what_is_no_state_of_this_number(self, change: dict[str, Any]) -> None:
        with pytest.raises(CorruptLog, match="file-name"):
            decode_state("file-name", avro_bytes(ORIGINAL_STATE, [STATE | change]), 3)

    def test_no_record_and_two_records(self) -> None:
        for records in ([], [STATE, STATE]):
            with pytest.raises(CorruptLog, match="records, not one"):
                decode_state("s", avro_bytes(ORIGINAL_STATE, records), 3)
        with pytest.raises(CorruptLog):
            decode_state("s", avro_bytes(FILE_ENTRY, [entry(1)]), 3)

    def test_one_path_twice_the_last_counts(self) -> None:
        store = MemoryStore()
        first = [entry(1, path="x"), entry(2, path="y")]
        put_foreign_state(store, 1, {"manifests/a.avro": first, "manifests/b.avro": [entry(9, path="x")]})
        assert paths(fresh(store)) == ["x", "y"]
        assert sorted(fresh(store).files["size"].to_pylist()) == [102, 109]
        assert fresh(store).files.schema.equals(FILE_SCHEMA)
