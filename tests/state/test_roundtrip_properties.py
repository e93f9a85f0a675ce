"""Arrow → Avro → Arrow gives back what went in, whatever it is and however the table lies in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.log.avro.avro_file import encode_long, read_long
from indextables.log.avro.encode_columns import encode_blocks, varints
from indextables.log.avro.encode_record import encode_record
from indextables.log.avro.manifest import read_manifest, write_manifest
from indextables.log.avro.schemas import FILE_ENTRY
from indextables.log.file_entries import FILE_SCHEMA
from log.strategies import INT64
from state.strategies import entries
from state.support import as_entries, avro_bytes, avro_records, entry, files_of, full_entry, many_files

QUICK = settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
CODECS = st.sampled_from(["zstandard", "snappy", "null"])


def there_and_back(files: pa.Table, codec: str = "zstandard") -> pa.Table:
    return read_manifest("m", write_manifest(files, codec=codec, level=1))


@QUICK
@given(rows=entries(max_size=4), codec=CODECS)
def test_a_few_entries(rows: list[dict[str, Any]], codec: str) -> None:
    files = files_of(rows)
    found = there_and_back(files, codec)
    assert found.equals(files)
    assert as_entries(found) == rows


@settings(max_examples=examples(5), deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=entries(min_size=1, max_size=2), codec=CODECS)
def test_more_than_a_thousand_entries(rows: list[dict[str, Any]], codec: str) -> None:
    """The same entries over and over, with paths of their own, through DataFusion."""
    many = [row | {"path": f"{number}{row['path']}"} for number in range(1001) for row in rows]
    files = files_of(many)
    assert there_and_back(files, codec).equals(files)


@QUICK
@given(rows=entries(min_size=1, max_size=3), data=st.data())
def test_slices_and_chunks(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    """A table that is a window of another, in pieces of which some are empty."""
    files = files_of(rows)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    pieces = [files.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    assert there_and_back(pa.concat_tables(pieces)).equals(files)
    start = data.draw(st.integers(0, len(rows)))
    assert there_and_back(files.slice(start)).equals(files.slice(start))


def test_nothing() -> None:
    for empty in (FILE_SCHEMA.empty_table(), files_of([]), files_of([entry(1)]).slice(1)):
        found = there_and_back(empty)
        assert found.num_rows == 0
        assert found.schema.equals(FILE_SCHEMA)


@pytest.mark.parametrize("count", [1, 500, 1100])
def test_null_values_of_maps_are_left_out(count: int) -> None:
    """Avro's maps cannot hold them, and absent means the same."""
    odd: list[dict[str, Any]] = [
        {"partitionValues": {"a": None, "b": "x", "c": None}, "minValues": {"a": None}, "tags": None},
        {"partitionValues": {}, "minValues": None, "tags": {"k": None, "l": ""}},
        {"partitionValues": {"a": "1"}, "minValues": {"a": "1", "b": None}, "tags": {}},
    ]
    found = as_entries(there_and_back(files_of([entry(n, **odd[n % 3]) for n in range(count)])))
    plain: list[dict[str, Any]] = [
        {"partitionValues": {"b": "x"}, "minValues": {}, "tags": None},
        {"partitionValues": {}, "minValues": None, "tags": {"l": ""}},
        {"partitionValues": {"a": "1"}, "minValues": {"a": "1"}, "tags": {}},
    ]
    assert found == [entry(n, **plain[n % 3]) for n in range(count)]


def test_null_maps_over_bytes_that_nobody_should_see() -> None:
    """Arrow may keep entries behind a null. They are not written."""
    maps = files_of([full_entry(n) for n in range(3)])["tags"].combine_chunks()
    hidden = pa.MapArray.from_arrays(maps.offsets, maps.keys, maps.items, mask=pa.array([False, True, False]))
    files = files_of([full_entry(n) for n in range(3)])
    files = files.set_column(files.schema.get_field_index("tags"), FILE_SCHEMA.field("tags"), hidden)
    assert [row["tags"] for row in avro_records(write_manifest(files, codec="null", level=1))] == [
        full_entry(0)["tags"],
        None,
        full_entry(2)["tags"],
    ]


@QUICK
@given(numbers=st.lists(INT64 | st.sampled_from([0, -1, 63, 64, -64, -65, 2**63 - 1, -(2**63)]), max_size=20))
def test_varints(numbers: list[int]) -> None:
    found = varints(np.array(numbers, np.int64)).to_pylist()
    assert found == [encode_long(number) for number in numbers]
    for number, data in zip(numbers, found, strict=True):
        assert read_long("x", data, 0) == (number, len(data))


@QUICK
@given(rows=entries(max_size=2))
def test_column_by_column_is_byte_for_byte_what_record_by_record_is(rows: list[dict[str, Any]]) -> None:
    blocks = b"".join(bytes(data) for _, data in encode_blocks(files_of(rows), FILE_ENTRY))
    assert blocks == b"".join(encode_record(FILE_ENTRY, row) for row in rows)


def test_our_block_is_what_fastavro_writes() -> None:
    rows = [full_entry(1), entry(2)]
    ours = b"".join(bytes(data) for _, data in encode_blocks(files_of(rows), FILE_ENTRY))
    assert ours in avro_bytes(FILE_ENTRY, rows, "null")


def test_some_columns() -> None:
    files = many_files(1500)
    data = write_manifest(files, codec="zstandard", level=1)
    for names in (["path"], ["size", "partitionValues"], ["tags", "path"]):
        assert read_manifest("m", data, names).equals(files.select(names))
        few = write_manifest(files.slice(0, 3), codec="zstandard", level=1)
        assert read_manifest("m", few, names).equals(files.slice(0, 3).select(names))
