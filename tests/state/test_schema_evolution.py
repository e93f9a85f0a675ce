"""§9 of the plan: files of older and of later writers. Fields are found by name; ids are written as the format has them."""

from __future__ import annotations

import copy
import io
from typing import Any

import fastavro
import pytest

from indextables.log.avro.manifest import read_manifest, write_manifest
from indextables.log.avro.schemas import FILE_ENTRY
from indextables.log.state.read import decode_state
from indextables.log.state.writing.encode_state import encode_state
from state.support import (
    OPTIONAL,
    ORIGINAL_FILE_ENTRY,
    ORIGINAL_STATE,
    SEED_FIELDS,
    as_entries,
    avro_bytes,
    avro_header,
    entry,
    files_of,
    full_entry,
)

BOTH_READERS = pytest.mark.parametrize("count", [3, 1010])
OURS = {
    "companionSourceFiles": 150,
    "companionDeltaVersion": 151,
    "companionFastFieldMode": 152,
    "docMappingJson": 160,
    "timeRangeStart": 161,
    "timeRangeEnd": 162,
    "tags": 163,
    "deleteOpstamp": 164,
    "hotcacheStartOffset": 165,
    "hotcacheLength": 166,
}


def seed_schema() -> dict[str, Any]:
    """The format's own schema: 18 fields."""
    schema = copy.deepcopy(ORIGINAL_FILE_ENTRY)
    schema["fields"] = [field for field in schema["fields"] if field["name"] in SEED_FIELDS]
    return schema


@BOTH_READERS
def test_add_new_field(count: int) -> None:
    """A later writer's fields are ignored, wherever they stand and whatever their type."""
    later = copy.deepcopy(FILE_ENTRY)
    point = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "double"}]}
    later["fields"].insert(0, {"name": "first", "type": "long", "field-id": 200})
    later["fields"].insert(9, {"name": "points", "type": {"type": "array", "items": point}, "field-id": 201})
    later["fields"].append({"name": "last", "type": ["null", "bytes"], "default": None, "field-id": 202})
    entries = [full_entry(number) for number in range(count)]
    extra = {"first": 7, "points": [{"x": 1.5}, {"x": -2.5}], "last": b"\x00\xff"}
    found = read_manifest("m", avro_bytes(later, [item | extra for item in entries]))
    assert as_entries(found) == entries


def test_field_id_preservation() -> None:
    data = write_manifest(files_of([entry()]), codec="null", level=1)
    fields = {field["name"]: field for field in avro_header(data)[0]["fields"]}
    ids = {name: field["field-id"] for name, field in fields.items()}
    assert ids == SEED_FIELDS | OURS
    assert len(set(ids.values())) == len(ids)
    for field in ORIGINAL_FILE_ENTRY["fields"]:
        assert fields[field["name"]]["field-id"] == field["field-id"]
        assert fields[field["name"]]["type"] == field["type"]
        assert fields[field["name"]].get("default", "none") == field.get("default", "none")


@BOTH_READERS
def test_read_old_schema_with_new_reader(count: int) -> None:
    """The 18 fields of the format, those of the original, and no more than the format demands."""
    for schema in (seed_schema(), ORIGINAL_FILE_ENTRY):
        names = [field["name"] for field in schema["fields"]]
        entries = [full_entry(number) for number in range(count)]
        found = as_entries(read_manifest("m", avro_bytes(schema, entries)))
        assert [{name: row[name] for name in names} for row in found] == [
            {name: row[name] for name in names} for row in entries
        ]
        assert {row[name] for row in found for name in OURS if name not in names} == {None}
    bare = copy.deepcopy(FILE_ENTRY)
    missing = {*OPTIONAL, "hasFooterOffsets", "dataChange", "partitionValues"}
    bare["fields"] = [field for field in bare["fields"] if field["name"] not in missing]
    entries = [entry(number) for number in range(count)]
    assert as_entries(read_manifest("m", avro_bytes(bare, entries))) == entries


def test_read_new_schema_with_old_reader() -> None:
    """A reader that knows the format's 18 fields, or the original's, reads what we write: Avro resolves the rest away."""
    entries = [full_entry(number) for number in range(50)]
    data = write_manifest(files_of(entries), codec="zstandard", level=3)
    for schema in (seed_schema(), ORIGINAL_FILE_ENTRY):
        names = [field["name"] for field in schema["fields"]]
        found = list(fastavro.reader(io.BytesIO(data), reader_schema=schema))
        assert found == [{name: row[name] for name in names} for row in entries]
    from indextables.log.state.model import ManifestItem, State

    state = State(
        3, 5, (ManifestItem("manifests/m.avro", 1, bounds={"day": ("a", "b")}),), frozenset({"x"}), {"r": "{}"}
    )
    (record,) = fastavro.reader(io.BytesIO(encode_state(state, 3)), reader_schema=ORIGINAL_STATE)
    assert record.keys() == {field["name"] for field in ORIGINAL_STATE["fields"]}
    assert record["manifests"][0]["partitionBounds"] == {"day": {"min": "a", "max": "b"}}
    assert decode_state("s", avro_bytes(ORIGINAL_STATE, [record]), 3) == state


@BOTH_READERS
def test_promote_field_type(count: int) -> None:
    """An int where we have a long, and a long where we have an int, as long as the value fits."""
    narrow = copy.deepcopy(FILE_ENTRY)
    for field in narrow["fields"]:
        if field["name"] in ("size", "modificationTime", "addedAtVersion"):
            field["type"] = "int"
        elif field["name"] == "numRecords":
            field["type"] = ["null", "int"]
        elif field["name"] == "numMergeOps":
            field["type"] = ["null", "long"]
    entries = [
        full_entry(number, modificationTime=2**31 - 1, addedAtVersion=-(2**31), numRecords=number, numMergeOps=number)
        for number in range(count)
    ]
    assert as_entries(read_manifest("m", avro_bytes(narrow, entries))) == entries
