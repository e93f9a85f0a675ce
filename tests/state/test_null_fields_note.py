"""What a manifest notes for its readers: which fields are null everywhere. It saves work, and must never change an answer."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from indextables.log.avro.avro_file import read_container
from indextables.log.avro.manifest import NULL_FIELDS_KEY, null_fields, read_entries, read_records, write_manifest
from indextables.log.avro.record_lengths import LENGTHS_KEY
from indextables.log.avro.shared_columns import compact_columns
from indextables.log.file_entries import FILE_SCHEMA
from state.support import entry, files_of, full_entry

NULLABLE = {field.name for field in FILE_SCHEMA if field.nullable}
MANY = 1500
"""Entries that are read by DataFusion, where the lengths of their records are not known."""


def read(files: pa.Table, *, checked: bool = True, note: bytes | None = None) -> pa.Table:
    data = write_manifest(files, codec="zstandard", level=1)
    container = read_container("m", data)
    metadata = {key: value for key, value in container.metadata.items() if key != LENGTHS_KEY}
    if note is not None:
        metadata[NULL_FIELDS_KEY] = note
    return read_entries(replace(container, metadata=metadata), data, checked=checked)


def test_fields_that_are_null_everywhere_are_noted_and_read_as_null() -> None:
    files = files_of([entry(number) for number in range(MANY)])
    noted = (
        read_container("m", write_manifest(files, codec="null", level=1)).metadata[NULL_FIELDS_KEY].decode().split(",")
    )
    assert set(noted) == {name for name in NULLABLE if files.column(name).null_count == MANY}
    assert noted, "or the test shows nothing"
    assert read(files).equals(files)


def test_one_value_is_enough_to_be_read() -> None:
    files = files_of([*(entry(number) for number in range(MANY)), full_entry(MANY)])
    assert null_fields(files) == []
    assert read(files).equals(files)


def test_a_note_that_lies_is_not_believed_in_a_file_that_was_not_checked() -> None:
    files = files_of([full_entry(number) for number in range(MANY)])
    assert read(files, checked=False, note=b"stats,numRecords").equals(files)
    assert read(files, note=b"stats").column("stats").null_count == MANY, "where it was, the note is what is read"


@pytest.mark.parametrize("note", [b"", b"path", b"size,dataChange", b"\xff\xfe", b"no such field"])
def test_a_note_of_fields_that_cannot_be_null_is_ignored(note: bytes) -> None:
    files = files_of([full_entry(number) for number in range(MANY)])
    assert read(files, note=note).equals(files)


def test_moved_records_carry_the_note() -> None:
    files = files_of([entry(number) for number in range(MANY)])
    data = write_manifest(files, codec="null", level=1)
    moved = read_records(read_container("m", data), data, ["path"], checked=True)
    assert null_fields(moved) == sorted(null_fields(files))
    again = write_manifest(moved, codec="null", level=1)
    assert read_entries(read_container("m", again), again, checked=True).equals(files)


class TestSharedKeys:
    """Map columns with the same keys in every row share them."""

    @staticmethod
    def table(rows: list[list[tuple[str, str]] | None]) -> pa.Table:
        field = FILE_SCHEMA.field("minValues")
        return pa.table([pa.array(rows, field.type)], schema=pa.schema([field]))

    def test_the_same_keys_are_kept_once(self) -> None:
        rows = [[("id", str(number)), ("level", "x")] for number in range(100)]
        first, second = compact_columns(self.table(rows)), compact_columns(self.table(rows[:60]))
        assert first.column(0).to_pylist() == rows
        assert second.column(0).to_pylist() == rows[:60]
        keys = [table.column(0).chunk(0).keys.buffers()[2].address for table in (first, second)]
        assert keys[0] == keys[1]

    @pytest.mark.parametrize(
        "rows",
        [
            [],
            [[]],
            [[], []],
            [None, None],
            [[("a", "1")], None],
            [[("a", "1")], []],
            [[("a", "1"), ("b", "2")], []],
            [[("a", "1")], [("b", "1")]],
            [[("a", "1"), ("b", "2")], [("b", "1"), ("a", "2")]],
            [[("a", "1"), ("a", "2")], [("a", "3"), ("a", "4")]],
            [[("a", "1"), ("b", "2"), ("c", "3")], [("a", "1")]],
        ],
    )
    def test_other_keys_stay_what_they_are(self, rows: list[list[tuple[str, str]] | None]) -> None:
        for _ in range(2):
            assert compact_columns(self.table(rows)).column(0).to_pylist() == rows
            sliced = self.table([[("z", "9")], *rows]).slice(1)
            assert compact_columns(sliced).column(0).to_pylist() == rows
