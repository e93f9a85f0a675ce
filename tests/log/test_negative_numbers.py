"""A log that says that a file has -5 rows, or -1 bytes, is damaged: sums over its files would be wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from indextables.core.errors import CorruptLog, SchemaError
from indextables.log.commit import commit
from indextables.log.conflicts import Change
from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.load_manifest import load_manifest
from log.support import (
    METADATA,
    PROTOCOL,
    MemoryStore,
    add,
    checkpoint_key,
    foreign_table,
    grown,
    make_log,
    new_table,
    packed,
    put_version,
    raw_add,
    refused,
    version_key,
)
from state.support import METADATA as STATE_METADATA
from state.support import entry, fresh, put_foreign_state, state_of

COUNTS = ["size", "numRecords"]
UNSUMMED = ["footerStartOffset", "hotcacheLength", "numMergeOps", "uncompressedSizeBytes"]
"""Numbers that no answer sums up. Logs that were written with -1 for "unknown" stay readable."""


@pytest.mark.parametrize("value", [-1, -5, -(2**63), "-5", -5.0])
@pytest.mark.parametrize("field", COUNTS)
def test_an_add_is_refused_with_the_file_and_the_value(field: str, value: Any) -> None:
    store = MemoryStore()
    foreign_table(store, [raw_add("good")], [raw_add("bad", **{field: value})])
    with pytest.raises(CorruptLog, match=rf"{version_key(2)}, line 1: add says that {field} is {str(value)[:2]}"):
        open_log(make_log(store))
    assert open_log(make_log(store), 1).version == 1


@pytest.mark.parametrize("field", UNSUMMED)
def test_numbers_that_nobody_sums_up_may_be_unknown(field: str) -> None:
    store = MemoryStore()
    foreign_table(store, [raw_add("odd", **{field: -1})])
    assert open_log(make_log(store)).files[field].to_pylist() == [-1]


@pytest.mark.parametrize("field", COUNTS)
def test_zero_is_a_number_of_things(field: str) -> None:
    store = MemoryStore()
    foreign_table(store, [raw_add("good", **{field: 0})])
    assert open_log(make_log(store)).files.num_rows == 1


def test_times_may_be_before_1970() -> None:
    store = MemoryStore()
    foreign_table(store, [raw_add("old", modificationTime=-5)])
    assert open_log(make_log(store)).files["modificationTime"].to_pylist() == [-5]


def test_a_json_checkpoint() -> None:
    store = MemoryStore()
    log = make_log(store, {"state.format": "json"})
    write_checkpoint(LogAtVersion(log, grown(log, 2)))
    lines = [PROTOCOL, METADATA, raw_add("f1"), raw_add("f2", numRecords=-5)]
    store.put(checkpoint_key(2), packed(b"\n".join(json.dumps(line).encode() for line in lines), "plain"))
    for number in (1, 2):
        del store.objects[version_key(number)]
    with pytest.warns(UserWarning, match="numRecords is -5"), pytest.raises(CorruptLog, match="repair"):
        open_log(make_log(store))


@pytest.mark.parametrize(("field", "value"), [("numRecords", -5), ("size", -1)])
def test_a_manifest(field: str, value: int) -> None:
    store = MemoryStore()
    put_version(store, 0, PROTOCOL, STATE_METADATA)
    entries = [entry(1, path="f1"), entry(1, path="f2", **{field: value})]
    put_foreign_state(store, 1, {"manifests/manifest-1.avro": entries}, metadata=STATE_METADATA)
    snapshot = fresh(store)
    (item,) = state_of(snapshot).manifests
    with pytest.raises(CorruptLog, match=rf"manifest-1.avro says that {field} of a file is {value}"):
        load_manifest(make_log(store), 1, item, ["path", field])
    with pytest.raises(CorruptLog, match=rf"manifest-1.avro says that {field} of a file is {value}"):
        _ = snapshot.files


@pytest.mark.parametrize("field", ["size", "num_records"])
def test_nobody_can_write_one(field: str) -> None:
    store = MemoryStore()
    log = make_log(store)
    snapshot = new_table(log)
    with refused(store, SchemaError, "'bad'"):
        commit(LogAtVersion(log, snapshot), Change(adds=(add("bad", **{field: -1}),)), operation="WRITE")
