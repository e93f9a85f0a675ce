"""A split from one pass: rows, index, footer and statistics agree, and nothing is left after an error."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables.core.errors import IndexTablesError, ObjectExists, SchemaError, StorageError
from indextables.core.types import spark_json_to_arrow
from indextables.split.build.split_form import SplitForm
from indextables.split.build.split_writer import LocalSplit, write_split
from indextables.split.bundle import upload as upload_module
from indextables.split.bundle.bundle_reader import read_footer, verify_bundle
from indextables.split.bundle.upload import upload
from indextables.split.index.doc_mapping import DocMapping, plan_mapping
from indextables.split.index.index_files import open_index
from indextables.split.index.row_numbers import rows_of
from indextables.storage.local import LocalStore
from indextables.storage.testing.counting import Counting
from split.bundle_support import assert_same, open_rows, scanned

HEAP = 15_000_000
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("level", pa.string()),
        ("value", pa.float64()),
        ("at", pa.timestamp("us", "UTC")),
        ("message", pa.string()),
    ]
)
MAPPING = plan_mapping(SCHEMA, (), {"spark.indextables.indexing.typemap.message": "text"})


def some(rows: int, first: int = 0) -> pa.RecordBatch:
    numbers = range(first, first + rows)
    return pa.record_batch(
        [
            pa.array(numbers, pa.int64()),
            pa.array([("INFO", "ERROR", None)[number % 3] for number in numbers]),
            pa.array([number / 4 for number in numbers]),
            pa.array([number * 1_000_000 for number in numbers], pa.timestamp("us", "UTC")),
            pa.array([f"request number{number} took long" for number in numbers]),
        ],
        SCHEMA,
    )


def write(directory: Path, batches: Any, **more: Any) -> LocalSplit:
    looks = {name: more.pop(name) for name in ("schema", "mapping", "stats_columns", "stats_length") if name in more}
    form = SplitForm(**({"schema": SCHEMA, "mapping": MAPPING, "heap": HEAP} | looks))
    given: dict[str, Any] = {
        "partition_values": {"day": "2024-01-31", "host": None},
        "created_ms": 1_750_000_000_000,
    }
    return write_split(directory, batches, form, **(given | more))


def test_rows_index_and_footer_of_one_pass(tmp_path: Path) -> None:
    batches = [some(700), some(0), some(300, 700)]
    split = write(tmp_path, iter(batches), source=77, stats_columns={"id", "level"}, stats_length=3)
    assert list(tmp_path.iterdir()) == [split.path], "one file is left"
    store, key = LocalStore(tmp_path), split.path.name
    footer = read_footer(store, key, size=split.sealed.size, footer_start=split.sealed.footer_start)
    assert footer == split.sealed.footer
    verify_bundle(store, key, footer)
    assert_same(scanned(open_rows(tmp_path, key)), pa.Table.from_batches(batches))
    assert (footer.rows, footer.partition_values) == (1000, {"day": "2024-01-31", "host": None})
    assert spark_json_to_arrow(footer.schema).equals(SCHEMA)
    assert DocMapping.from_json(footer.doc_mapping) == MAPPING
    assert (footer.min_values, footer.max_values) == ({"id": "0", "level": "ERR"}, {"id": "999", "level": "ING"})
    assert footer.null_counts == {"id": 0, "level": 333, "value": 0, "at": 0, "message": 0}
    assert footer.time_range == ("1970-01-01T00:00:00.000000Z", "1970-01-01T00:16:39.000000Z")
    assert footer.created_ms == 1_750_000_000_000
    assert footer.created_by.startswith("indextables/")
    assert set(footer.engines) == {"tantivy", "vortex"}
    assert [(source.source, source.first_row, source.rows) for source in footer.sources] == [(77, 0, 1000)]


def test_the_index_inside_finds_its_rows(tmp_path: Path) -> None:
    split = write(tmp_path / "made", [some(50), some(50, 50)])
    data, index = split.path.read_bytes(), tmp_path / "index"
    index.mkdir()
    for region in split.sealed.footer.index:
        (index / region.name).write_bytes(data[region.offset : region.offset + region.length])
    opened = open_index(index, MAPPING)
    query = opened.parse_query("number73", ["message"])
    assert rows_of(opened.searcher(), query, split.sealed.footer.sources, split="it").tolist() == [73]
    assert rows_of(opened.searcher(), None, split.sealed.footer.sources, split="it").tolist() == list(range(100))


def test_columns_that_the_index_cannot_hold_are_noted(tmp_path: Path) -> None:
    odd = some(1).set_column(2, "value", pa.array([float("nan")]))
    assert write(tmp_path, [odd]).sealed.footer.inexact == ("value",)


def test_two_splits_have_two_sources(tmp_path: Path) -> None:
    first, second = (write(tmp_path, [some(1)]) for _ in range(2))
    assert first.sealed.footer.sources != second.sealed.footer.sources
    assert first.path != second.path


def test_no_rows_are_a_split_too(tmp_path: Path) -> None:
    split = write(tmp_path, [])
    assert split.sealed.footer.rows == 0
    assert scanned(open_rows(tmp_path, split.path.name)).num_rows == 0


class TestErrors:
    def test_what_the_rows_raise_passes_and_nothing_is_left(self, tmp_path: Path) -> None:
        def failing() -> Iterator[pa.RecordBatch]:
            yield some(10)
            raise KeyError("the source is gone")

        with pytest.raises(KeyError, match="the source is gone"):
            write(tmp_path, failing())
        assert list(tmp_path.iterdir()) == []

    def test_an_interrupt(self, tmp_path: Path) -> None:
        def interrupted() -> Iterator[pa.RecordBatch]:
            yield some(10)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write(tmp_path, interrupted())
        assert list(tmp_path.iterdir()) == []

    def test_a_batch_of_another_type(self, tmp_path: Path) -> None:
        other = some(3).set_column(0, "id", pa.array(["1", "2", "3"]))
        with pytest.raises(SchemaError, match="column id"):
            write(tmp_path, [some(3), other])
        assert list(tmp_path.iterdir()) == []

    def test_a_null_in_a_required_column(self, tmp_path: Path) -> None:
        columns = [pa.array([None], pa.int64()), *some(1).columns[1:]]
        with pytest.raises(SchemaError, match="column id is required, and has a null"):
            write(tmp_path, [pa.record_batch(columns, SCHEMA)])
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("size", [0, 600, 9_000])
    def test_a_full_disk(self, tmp_path: Path, size: int) -> None:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            with pytest.raises(IndexTablesError):
                write(tmp_path, [some(3000)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert list(tmp_path.iterdir()) == []

    def test_a_directory_that_cannot_be_made(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(StorageError):
            write(tmp_path / "file" / "below", [some(1)])


class TestUpload:
    @pytest.mark.parametrize(("limit", "verb"), [(1 << 20, "create"), (1000, "put")])
    def test_small_ones_are_created_and_large_ones_put(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, verb: str
    ) -> None:
        monkeypatch.setattr(upload_module, "ONE_REQUEST", limit)
        split = write(tmp_path / "local", [some(100)])
        store = Counting(LocalStore(tmp_path / "table"))
        upload(store, "splits/a.split", split.path)
        assert dict(store.counts) == {verb: 1}
        assert store.get("splits/a.split").data == split.path.read_bytes()

    def test_a_name_that_is_taken(self, tmp_path: Path) -> None:
        split = write(tmp_path / "local", [some(1)])
        store = LocalStore(tmp_path / "table")
        upload(store, "a.split", split.path)
        with pytest.raises(ObjectExists):
            upload(store, "a.split", split.path)

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(StorageError):
            upload(LocalStore(tmp_path), "a.split", tmp_path / "none")
